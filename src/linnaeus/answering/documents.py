"""Documents and rules of a request, as a saved model takes them.

A document is a text (or a sequence), a mapping of fields to texts, or a vector of numbers; which of them depends on
what the model was trained on. Nodes in rules are given by name, or by a display label that only one node has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from linnaeus.errors import DataError, nearest
from linnaeus.taxonomy.closure import pointers

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.features.text import TextFeatures
    from linnaeus.models.base import TaxonomyClassifier
    from linnaeus.pipeline import Pipeline
    from linnaeus.taxonomy import Taxonomy
    from linnaeus.typing import Matrix

    SavedModel: TypeAlias = Pipeline | TaxonomyClassifier  # what a model folder holds

__all__ = [
    "as_dataset",
    "fields_of",
    "main_field",
    "named_rules",
    "node_meant",
    "reading_features",
    "texts_dataset",
]


def reading_features(model: SavedModel) -> Any:
    """The features that take documents as they were read: those before a kernel map, where there is one."""
    features: Any = getattr(model, "features_", None)
    return getattr(features, "features_", features)


def main_field(features: TextFeatures) -> str:
    """The field that an unnamed text is assigned to: one with a common name, or the first."""
    fields = list(features.weights_)
    return next((name for name in ("text", "abstract", "body", "content") if name in fields), fields[0])


def fields_of(model: SavedModel) -> list[str] | None:
    """The fields that documents of the model may have, None where they are not texts with fields."""
    features = reading_features(model)
    return [*features.weights_, *features.kinds_] if hasattr(features, "weights_") else None


def texts_dataset(model: SavedModel, texts: list[str]) -> Dataset | None:
    """Texts without field names as documents of the model; None if the model was trained on vectors."""
    from linnaeus.data import Dataset
    from linnaeus.features.documents import takes_sequences

    features, fields = reading_features(model), fields_of(model)
    if fields is not None:
        main = main_field(features)
        return Dataset(fields={name: texts if name == main else [""] * len(texts) for name in [main, *fields]})
    if model.estimator.takes_documents:
        return Dataset(fields={"text": texts})
    kernel = getattr(model.estimator, "kernel_", None)
    if type(features).__name__ == "SpectrumFeatures" or takes_sequences(kernel):
        return Dataset(sequences=[_known_case(model, text) for text in texts])
    return None


def _known_case(model: SavedModel, text: str) -> str:
    """A sequence, in upper case if the model knows more of it then; files of residues are read in upper case."""
    if not hasattr(model, "known_terms") or text == text.upper():
        return text
    known = model.known_terms([text, text.upper()])
    return text.upper() if known[1] > known[0] else text


def as_dataset(
    model: SavedModel, documents: Sequence[str | Mapping[str, str] | Sequence[float] | Mapping[int, float]]
) -> Dataset:
    """Documents of one request, as texts, fields or vectors, in the form that the model takes.

    Parameters
    ----------
    model : Pipeline or TaxonomyClassifier
        The model that is asked.
    documents : sequence of str, mapping or sequence of float
        Texts or sequences, texts by field (missing fields are empty), or vectors, sparse ones as values by position;
        all of one kind for a model of vectors, texts and fields may be mixed.

    Returns
    -------
    Dataset
        The documents, without ids.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> from linnaeus.features.text import TextFeatures
    >>> from linnaeus.pipeline import Pipeline
    >>> pipe = Pipeline(OneVsRestSVM(), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    >>> pipe.predict(as_dataset(pipe, ["purr", {"text": "a bark"}]).documents).tolist()
    ['cat', 'dog']
    """
    from linnaeus.data import Dataset

    texts = texts_dataset(model, [document if isinstance(document, str) else "" for document in documents])
    if texts is None:
        return Dataset(X=_vectors(model, documents))
    known, columns = fields_of(model), {name: list(values) for name, values in (texts.fields or {}).items()}
    if known is None and model.estimator.takes_documents and not hasattr(model.estimator, "sources_"):
        # A model of label texts takes fields of any name; the first one counts as the title.
        known = list(dict.fromkeys(name for document in documents if _has_fields(document) for name in document))
        named = {name: [""] * len(documents) for name in known}
        columns = named if all(isinstance(document, Mapping) for document in documents) and named else named | columns
    known = known or ["text"]
    for i, document in enumerate(documents):
        if isinstance(document, str):
            continue
        if not _has_fields(document):
            raise DataError(f"Document {i + 1} is a vector; the model was trained on texts or sequences.")
        if texts.sequences is not None:
            if set(document) != {"sequence"}:
                raise DataError(f"Document {i + 1} has fields; the model was trained on sequences, one string each.")
            texts.sequences[i] = _known_case(model, document["sequence"])
            continue
        if not document:
            raise DataError(f"Document {i + 1} has no field; the model was trained on {', '.join(map(repr, known))}.")
        for name, text in document.items():
            if name not in known:
                raise DataError(
                    f"Document {i + 1} has the field {name!r}; the model was trained on "
                    f"{', '.join(map(repr, known))}{nearest(name, known)}"
                )
            columns[name][i] = text
    return texts if texts.sequences is not None else Dataset(fields=columns)


def _has_fields(document: object) -> TypeGuard[Mapping[str, str]]:
    """Whether a document is a mapping of fields, rather than of positions of a sparse vector."""
    return isinstance(document, Mapping) and not any(isinstance(key, int) for key in document)


def _vectors(model: SavedModel, documents: Sequence[object]) -> Matrix:
    """Vectors of the width that the model was trained on, n_docs x n_features; sparse if one of them is given so."""
    import numpy as np
    from scipy import sparse

    features = reading_features(model)
    width = getattr(model.estimator if features is None else features, "n_features_in_", None)
    for i, document in enumerate(documents):
        by_position = isinstance(document, Mapping) and all(isinstance(key, int) for key in document)
        if not by_position and (isinstance(document, (str, Mapping)) or not isinstance(document, Sequence)):
            raise DataError(f"Document {i + 1} is a text; the model was trained on vectors of numbers.")
        if isinstance(document, Mapping):
            last = max(document, default=0)
            if width is not None and last >= width:
                raise DataError(
                    f"Document {i + 1} has a number at position {last:,}; the model was trained on vectors of "
                    f"{width:,}, at positions 0 to {width - 1:,}."
                )
        elif isinstance(document, Sequence) and width is not None and len(document) != width:
            raise DataError(
                f"Document {i + 1} has {len(document):,} numbers; the model was trained on vectors of {width:,}."
            )
    if width is None or not any(isinstance(document, Mapping) for document in documents):
        dense = np.asarray(documents, dtype=np.float64)
        X: Matrix = dense
        finite = np.isfinite(dense).all()
    else:
        rows = [_by_position(document) for document in documents]
        indptr = pointers([len(row) for row in rows])
        indices = np.array([key for row in rows for key in sorted(row)], dtype=np.int32)
        values = np.array([row[key] for row in rows for key in sorted(row)], dtype=np.float64)
        few = sparse.csr_array((values, indices, indptr.astype(np.int32)), shape=(len(rows), width))
        finite = np.isfinite(values).all()
        X = few if features is None else few.toarray()  # features of vectors scale and fill all columns
    if not finite:
        raise DataError("Vectors contain NaN or infinity; expected finite numbers.")
    return X


def _by_position(document: object) -> Mapping[int, float]:
    """The numbers of a vector that are not 0, by position."""
    if isinstance(document, Mapping):
        return document
    assert isinstance(document, Sequence)
    return {i: value for i, value in enumerate(document) if value}


def node_meant(taxonomy: Taxonomy, given: str) -> str:
    """The name of a node that is given by name, or by a display label that only one node has."""
    shown = taxonomy.displayed_as(given)
    v = int(shown[0]) if given not in taxonomy and len(shown) == 1 else taxonomy.index(given)
    return str(taxonomy.names[v])


def named_rules(rules: Mapping[str, object], taxonomy: Taxonomy) -> dict[str, object]:
    """Rules with display labels replaced by the names of their nodes."""
    return {rule: _named(value, taxonomy) for rule, value in rules.items()}


def _named(value: object, taxonomy: Taxonomy) -> object:
    if isinstance(value, Mapping):
        return {node_meant(taxonomy, node): k for node, k in value.items()}
    if not isinstance(value, list):
        return value
    if any(not isinstance(one, str) for one in value):  # candidates of each document
        known: dict[str, str] = {}
        return [None if one is None else [_looked_up(taxonomy, node, known) for node in one] for one in value]
    return "tops" if value == ["tops"] else [node_meant(taxonomy, node) for node in value]


def _looked_up(taxonomy: Taxonomy, given: str, known: dict[str, str]) -> str:
    if given not in known:
        known[given] = node_meant(taxonomy, given)
    return known[given]
