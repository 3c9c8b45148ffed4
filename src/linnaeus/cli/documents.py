"""Documents through a saved model: what `predict`, `evaluate` and `explain` share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linnaeus.cli.console import note
from linnaeus.cli.options import Reading
from linnaeus.cli.training import no_labels, takes_sequences
from linnaeus.errors import DataError, ParameterError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from linnaeus.data import Dataset
    from linnaeus.typing import IntArray

__all__ = [
    "documents_for",
    "feature_0_share",
    "fit_to",
    "known_terms",
    "labelled_documents",
    "note_seen",
    "reading_features",
    "shown_text",
    "texts_for",
]

_EXPECTED = 10  # documents with a feature from which its absence is worth a warning
_MANY_SEEN = 0.2  # share of the documents from which a warning is given


def reading_features(model: Any) -> Any:
    """The features that take documents as they were read: those before a kernel map, where there is one."""
    features: Any = getattr(model, "features_", None)
    return features.features_ if hasattr(features, "vectors") else features


def documents_for(model: Any, paths: list[str], reading: Reading, *, labelled: bool = True) -> Dataset:
    """Read documents of the kind that the model was trained on; labels are left out if they do not matter."""
    from linnaeus.data.dataset import concatenate

    features = reading_features(model)
    if hasattr(features, "kinds_") and features.kinds_:
        reading = replace(reading, categorical=reading.categorical or list(features.kinds_))
    parts = [_read_like(model, path, reading, labelled=labelled) for path in paths]
    return fit_to(model, concatenate(parts if labelled else [replace(part, labels=None) for part in parts]))


def note_seen(model: Any, documents: Dataset, effect: str) -> None:
    """Warn where many of the documents are training documents of the model, as far as its sketch of them tells."""
    from linnaeus.data.duplicates import share_seen

    about = getattr(model, "about_", {})
    seen, n_seen = about.get("document_sketch"), about.get("documents")
    if not isinstance(seen, list) or not isinstance(n_seen, int):
        return
    share = share_seen(documents, seen, n_seen)
    if share >= _MANY_SEEN:
        note(f"warning: about {share:.0%} of the documents of {documents.source} are training documents; {effect}")


def labelled_documents(model: Any, path: str, reading: Reading) -> Dataset:
    """Documents to compare answers with; deprecated labels, which no answer can hold, are read as their replacement."""
    documents = documents_for(model, [path], reading)
    if documents.labels is None:
        raise no_labels(documents)
    labels, replaced = model.taxonomy_.replaced(documents.labels)
    notes = dict(documents.notes)
    if replaced:
        notes["replaced"] = f"{replaced.total():,} deprecated labels by their replacements"
    return replace(documents, labels=labels, notes=notes)


def _read_like(model: Any, path: str, reading: Reading, *, labelled: bool) -> Dataset:
    """Read a file with the text, label and id columns that the model was trained on, where the file has them."""
    features = reading_features(model)
    text = list(features.weights_) if hasattr(features, "weights_") else None
    about = getattr(model, "about_", {})
    labels = [str(name) for name in about.get("labels", ())]
    return reading.read(
        [path], model.taxonomy_, usual_text=text, usual_labels=labels, usual_id=about.get("id"), labelled=labelled
    )


def _by_name(model: Any, data: Dataset) -> Dataset:
    """Dense features in the order of the training file, by name."""
    from linnaeus.typing import is_sparse

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


def fit_to(model: Any, data: Dataset) -> Dataset:
    """Documents as the model takes them: of the right kind, and sparse ones as wide as the training data."""
    from scipy import sparse

    from linnaeus.typing import is_sparse

    features = reading_features(model)
    strings = ("text", "sequence")
    kinds = {"TextFeatures": strings, "SpectrumFeatures": strings, "DenseFeatures": ("dense",)}
    wanted = kinds.get(type(features).__name__)
    if takes_sequences(getattr(model.estimator, "kernel_", None)):
        wanted = strings
    if wanted is None and data.kind in ("text", "sequence"):
        raise DataError(
            f"{data.source} holds {data.kind} documents; the model was trained on numbers. Convert them first, in the "
            "same way (`linnaeus data convert --features MODEL`)."
        )
    if wanted and data.kind not in wanted:
        raise DataError(f"{data.source} holds {data.kind} documents; the model was trained on {' or '.join(wanted)}.")
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


def feature_0_share(documents: Dataset) -> float | None:
    """Share of sparse documents that have feature 0: files that number their features from 1 have none."""
    from linnaeus.typing import is_sparse

    X = documents.X
    if X is None or not is_sparse(X) or not X.shape[0]:
        return None
    return float((X.indices == 0).sum()) / int(X.shape[0])


def _warn_of_numbering(model: Any, data: Dataset) -> None:
    """Warn where training documents and these seem to number their features from 0 and from 1."""
    trained, given = getattr(model, "about_", {}).get("feature_0_share"), feature_0_share(data)
    if not isinstance(trained, float) or given is None:
        return
    if trained == 0 < given:
        note(
            f"warning: {data.source} has feature 0, which no training document has: does it number features from 0, "
            "and the training file from 1?"
        )
    elif given == 0 and trained * len(data) >= _EXPECTED:
        note(
            f"warning: no document of {data.source} has feature 0, which {trained:.0%} of the training documents have: "
            "does it number features from 1, and the training file from 0?"
        )


def texts_for(model: Any, texts: list[str]) -> Dataset:
    """Texts of the command line as documents of the kind that the model was trained on."""
    from linnaeus.data import Dataset

    features = reading_features(model)
    if hasattr(features, "weights_"):
        field, others = main_field(features), [*features.weights_, *features.kinds_]
        others.remove(field)
        if others:
            note(f"note: the text is taken as the field {field!r}; {', '.join(map(repr, others))} is taken as empty")
        return Dataset(fields={field: texts, **{name: [""] * len(texts) for name in others}}, source="--document")
    kernel = getattr(model.estimator, "kernel_", None)
    if type(features).__name__ == "SpectrumFeatures" or takes_sequences(kernel):
        return Dataset(sequences=[_known_case(model, text) for text in texts], source="--document")
    raise ParameterError("--document is a text, and the model was trained on vectors; give them as a file.")


def _known_case(model: Any, text: str) -> str:
    """A sequence in upper case where the model knows more of it so: residues are read in upper case from files."""
    if not hasattr(model, "known_terms") or text == text.upper():
        return text
    known = model.known_terms([text, text.upper()])
    return text.upper() if known[1] > known[0] else text


def shown_text(documents: Dataset, i: int, most: int = 1000) -> str | None:
    """The beginning of the text or sequence of a document; None for vectors."""
    if documents.fields is not None:
        return " | ".join(filter(None, (values[i].strip() for values in documents.fields.values())))[:most]
    return None if documents.sequences is None else documents.sequences[i][:most]


def known_terms(model: Any, documents: Dataset) -> IntArray:
    """Features of each document that the model knows, see `Pipeline.known_terms`; ``model`` may be without features."""
    from linnaeus.models.promises import nonzero_features

    given = documents.documents
    return model.known_terms(given) if hasattr(model, "known_terms") else nonzero_features(given)


def main_field(features: Any) -> str:
    """The field that a text without a name is taken for: one with a usual name, or the first."""
    fields = list(features.weights_)
    return next((name for name in ("text", "abstract", "body", "content") if name in fields), fields[0])


def _fields_of(features: Any, given: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The fields that the model knows: a single unnamed text is its main field, fields that are missing are empty."""
    wanted = [*features.weights_, *features.kinds_]
    if not set(wanted) & set(given) and len(given) == 1:
        given = {main_field(features): next(iter(given.values()))}
    if not set(features.weights_) & set(given):
        return dict(given)  # nothing fits: the features say which fields they miss
    n_docs = len(next(iter(given.values())))
    for name in wanted:
        if name not in given:
            note(f"note: the documents have no field {name!r}, which the model was trained on; it is taken as empty")
    return {name: given.get(name, [""] * n_docs) for name in wanted}
