"""Reading documents for a saved model: shared by `predict`, `evaluate`, `explain`, `learn` and `calibrate`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linnaeus.answering.documents import fields_of, main_field, reading_features, texts_dataset
from linnaeus.cli.common import Reading, kind_words, note
from linnaeus.cli.training import MANY_SEEN, feature_0_share, no_labels
from linnaeus.errors import DataError, ParameterError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from linnaeus.answering.documents import SavedModel
    from linnaeus.data import Dataset
    from linnaeus.features.text import TextFeatures

__all__ = [
    "documents_for",
    "fit_to",
    "labelled_documents",
    "note_seen",
    "shown_text",
    "texts_for",
]

_EXPECTED = 10  # warn if a feature is absent although at least this number of documents should have it


def _about(model: SavedModel) -> Mapping[str, Any]:
    """How a pipeline was trained; nothing is known of a model without features."""
    about: Mapping[str, Any] = getattr(model, "about_", {})
    return about


def documents_for(model: SavedModel, paths: list[str], reading: Reading, *, labelled: bool = True) -> Dataset:
    """Read documents of the kind that the model was trained on; ``labelled=False`` leaves out their labels."""
    from linnaeus.data.dataset import concatenate

    features = reading_features(model)
    if hasattr(features, "kinds_") and features.kinds_:
        reading = replace(reading, categorical=reading.categorical or list(features.kinds_))
    parts = [_read_like(model, path, reading, labelled=labelled) for path in paths]
    return fit_to(model, concatenate(parts if labelled else [replace(part, labels=None) for part in parts]))


def note_seen(model: SavedModel, documents: Dataset, effect: str) -> None:
    """Warn if many of the documents equal training documents, estimated from the sketch that the model keeps.

    ``effect`` says what holds if they are copies; short texts may be equal without being copies.
    """
    from linnaeus.data.splits import share_seen

    seen = _about(model).get("document_sketch")
    if not isinstance(seen, list):
        return
    share = share_seen(documents, seen)
    if share >= MANY_SEEN:
        words = "word for word " if documents.fields is not None else ""
        note(
            f"warning: about {share:.0%} of the documents of {documents.source} are {words}equal to training documents"
            f"; unless they are new documents that happen to be equal, {effect}"
        )


def labelled_documents(model: SavedModel, path: str, reading: Reading) -> Dataset:
    """Documents with gold labels; deprecated labels, which the model never answers, are replaced."""
    documents = documents_for(model, [path], reading)
    if documents.labels is None:
        raise no_labels(documents)
    labels, replaced = model.taxonomy_.replaced(documents.labels)
    notes = dict(documents.notes)
    if replaced:
        notes["replaced"] = f"{replaced.total():,} deprecated labels by their replacements"
    return replace(documents, labels=labels, notes=notes)


def _read_like(model: SavedModel, path: str, reading: Reading, *, labelled: bool) -> Dataset:
    """Read a file with the text, label and id columns that the model was trained on, where the file has them."""
    features = reading_features(model)
    about = _about(model)
    text = list(features.weights_) if hasattr(features, "weights_") else about.get("text")
    labels = [str(name) for name in about.get("labels", ())]
    try:
        return reading.read(
            [path], model.taxonomy_, usual_text=text, usual_labels=labels, usual_id=about.get("id"), labelled=labelled
        )
    except DataError as error:
        if not text or not any(f"has no text {what}" in str(error) for what in ("column", "field")):
            raise
        columns = ", ".join(map(repr, text))
        raise DataError(f"{error} (the model was trained on the text {columns})") from error


def _by_name(model: SavedModel, data: Dataset) -> Dataset:
    """Dense features in the order of the training file, by name."""
    from linnaeus.data.matrices import is_sparse

    wanted, given = getattr(model, "feature_names_", None), data.feature_names
    X = data.X
    if is_sparse(X) or X is None or wanted is None or given is None or list(wanted) == list(given):
        return data
    missing = [name for name in wanted if name not in set(given)]
    if missing:
        hint = nearest(missing[0], given)
        raise DataError(f"{data.source} has no column {missing[0]!r}, which the model was trained on{hint}")
    position = {name: i for i, name in enumerate(given)}
    return replace(data, X=X[:, [position[name] for name in wanted]], feature_names=list(wanted))


def fit_to(model: SavedModel, data: Dataset) -> Dataset:
    """Documents as the model takes them: of the right kind, and sparse ones as wide as the training data."""
    from scipy import sparse

    from linnaeus.data.matrices import is_sparse
    from linnaeus.features.documents import takes_sequences

    features = reading_features(model)
    strings = ("text", "sequence")
    kinds: dict[str, tuple[str, ...]] = dict.fromkeys(("TextFeatures", "HashedText", "SpectrumFeatures"), strings)
    kinds |= dict.fromkeys(("DenseFeatures", "SideBySide"), ("dense",))
    wanted = kinds.get(type(features).__name__)
    if takes_sequences(getattr(model.estimator, "kernel_", None)) or model.estimator.takes_documents:
        wanted = strings
    if wanted is None and data.kind in ("text", "sequence"):
        raise DataError(
            f"{data.source} holds {kind_words(data.kind)}; the model was trained on numbers. Convert them first, in "
            "the same way (`linnaeus data convert --features FOLDER`, of converted training texts or of a model)."
        )
    if wanted and data.kind not in wanted:
        learned = " or ".join(map(kind_words, wanted))
        raise DataError(f"{data.source} holds {kind_words(data.kind)}; the model was trained on {learned}.")
    if data.kind == "sequence" and len(getattr(features, "weights_", ())) > 1:
        fields = ", ".join(map(repr, features.weights_))
        raise DataError(f"{data.source} holds sequences; the model was trained on texts with the fields {fields}.")
    data = _by_name(model, data)
    if data.fields is not None and hasattr(features, "weights_"):
        data = replace(data, fields=_fields_of(features, data.fields))
    mapped = getattr(model, "features_", None)  # a kernel map knows how wide its input is, if there is one
    n_features = getattr(model.estimator if mapped is None else mapped, "n_features_in_", None)
    X = data.X
    _warn_of_numbering(model, data)
    if X is None or not is_sparse(X) or X.shape[1] == n_features or n_features is None:
        return data
    if X.nnz and X.indices.max() >= n_features:
        raise DataError(
            f"{data.source} has feature {X.indices.max()}; the model was trained on {n_features:,} features."
        )
    # Sparse files name only the features that occur.
    widened = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return replace(data, X=widened, feature_names=None)


def _warn_of_numbering(model: SavedModel, data: Dataset) -> None:
    """Warn if one of the training file and this file seems to number features from 0, and the other from 1."""
    trained, given = _about(model).get("feature_0_share"), feature_0_share(data)
    if not isinstance(trained, float) or given is None:
        return
    if trained == 0 < given:
        note(
            f"warning: {data.source} has feature 0, which no training document has; does it number features from 0, "
            "and the training file from 1?"
        )
    elif given == 0 and trained * len(data) >= _EXPECTED:
        note(
            f"warning: no document of {data.source} has feature 0, which {trained:.0%} of the training documents have; "
            "does it number features from 1, and the training file from 0?"
        )


def texts_for(model: SavedModel, texts: list[str]) -> Dataset:
    """Texts of the command line as documents of the kind that the model was trained on."""
    documents, fields = texts_dataset(model, texts), fields_of(model)
    if documents is None:
        raise ParameterError("--document takes a text, but the model was trained on vectors; give them as a file.")
    if fields is not None and len(fields) > 1:
        main = main_field(reading_features(model))
        others = ", ".join(repr(name) for name in fields if name != main)
        note(f"note: the text is taken as the field {main!r}; {others} is taken as empty")
    return replace(documents, source="--document")


def shown_text(documents: Dataset, i: int, most: int = 1000) -> str | None:
    """The beginning of the text or sequence of a document; None for vectors."""
    if documents.fields is not None:
        return " | ".join(filter(None, (values[i].strip() for values in documents.fields.values())))[:most]
    return None if documents.sequences is None else documents.sequences[i][:most]


def _fields_of(features: TextFeatures, given: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The fields that the model knows: a single unnamed text is its main field, missing fields are empty."""
    wanted = [*features.weights_, *features.kinds_]
    if not set(wanted) & set(given) and len(given) == 1:
        given = {main_field(features): next(iter(given.values()))}
    if not set(features.weights_) & set(given):
        return dict(given)  # no field matches: the error of the features names the missing fields
    n_docs = len(next(iter(given.values())))
    for name in wanted:
        if name not in given:
            note(f"note: the documents have no field {name!r}, which the model was trained on; it is taken as empty")
    return {name: given.get(name, [""] * n_docs) for name in wanted}
