"""Documents of any kind: how many there are, some of them, and all as columns by field, whatever they were given as.

    ["a text", "another"]                             one field
    [{"title": "a", "abstract": "b"}, ...]            records
    {"title": ["a", ...], "abstract": ["b", ...]}     fields by name
    pandas or polars data frames                      one field per column
    pandas or polars series, arrays, tuples           one field, whatever the index

Every column is a list with one value per document.

`packed` strings are arrays, as model folders keep them: all UTF-8 bytes in one, and the offset where each begins.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from linnaeus.data.dataset import n_documents, take_documents
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.features.analysis import Analyser
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import Array, IntArray, ObjectArray

__all__ = [
    "DocumentTransformer",
    "TermTransformer",
    "check_fields",
    "columns_of",
    "default_features",
    "field_of",
    "field_weights",
    "is_missing",
    "n_documents",
    "one_field",
    "packed",
    "plain_parameters",
    "take_documents",
    "takes_sequences",
    "texts_of",
    "unpacked",
    "values_of",
]

TEXT = "text"  # the name of plain strings where nothing else names them


def takes_sequences(kernel: object) -> bool:
    """Whether a kernel of a model takes sequences as they are, without features."""
    return hasattr(kernel, "unit") and hasattr(kernel, "alphabet")


def columns_of(
    documents: object, weights: Collection[str] = (), kinds: Collection[str] = ()
) -> dict[str, list[object]]:
    """Documents as columns by name; plain strings are the only field, whatever its name in ``weights``.

    Examples
    --------
    >>> columns_of([{"title": "a"}, {"title": "b", "year": 1990}])
    {'title': ['a', 'b'], 'year': [None, 1990]}
    """
    if isinstance(documents, (str, bytes)):
        raise DataError("A list of documents is expected; got a single string.")
    if hasattr(documents, "columns") and hasattr(documents, "__getitem__"):  # pandas, polars
        names = [str(name) for name in documents.columns]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise DataError(f"The data frame has {names.count(repeated)} columns with the name {repeated!r}.")
        return {str(name): list(documents[name]) for name in documents.columns}
    if isinstance(documents, Mapping):
        return _fields(documents)
    rows = one_field(documents)
    if any(isinstance(row, Mapping) for row in rows):
        return _records(rows)
    return {next(iter(weights)) if len(weights) == 1 and not kinds else TEXT: rows}


def one_field(documents: object) -> list[object]:
    """The documents of a list, tuple, one-dimensional array or series, in their order whatever the index.

    Examples
    --------
    >>> one_field(np.array(["a", "b"], dtype=object))
    ['a', 'b']
    """
    if isinstance(documents, Iterator):
        raise DataError(
            f"The documents are a {type(documents).__name__}, which can be read only once; expected a list, such as "
            "list(documents)."
        )
    shape = getattr(documents, "shape", None)
    if shape is not None and len(shape) != 1:
        raise DataError(
            f"Documents are strings, records or fields by name; got {type(documents).__name__} of shape {shape}."
        )
    if isinstance(documents, (set, frozenset)) or not hasattr(documents, "__iter__"):
        raise DataError(f"Documents are strings, records or fields by name; got {type(documents).__name__}.")
    return list(documents)


def _fields(documents: Mapping[object, object]) -> dict[str, list[object]]:
    for name, column in documents.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
            raise DataError(
                f"Field {name!r} is a single {type(column).__name__}; expected one value per document, such as "
                "[value] for one document."
            )
    columns = {str(name): one_field(column) for name, column in documents.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"Fields have different lengths: {lengths}.")
    return columns


def _records(rows: list[object]) -> dict[str, list[object]]:
    records: list[Mapping[object, object]] = []
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"Document {i} is {_shown(row)}, but other documents are records with fields.")
        records.append(row)
    names = dict.fromkeys(name for record in records for name in record)
    return {str(name): [record.get(name) for record in records] for name in names}


def field_of(columns: Mapping[str, list[object]], name: str) -> list[object]:
    """One column by name, or an error that names those that exist."""
    if name not in columns:
        raise DataError(
            f"The documents have no field {name!r}; they have {', '.join(map(repr, columns))}{nearest(name, columns)}"
        )
    return columns[name]


def check_fields(name: str, given: object) -> None:
    """Refuse fields that are not names, or not names with their weights.

    Parameters
    ----------
    name : str
        The parameter, for the message.
    given : object
        Its value.
    """
    weights = given.values() if isinstance(given, Mapping) else ()
    good = all(isinstance(w, numbers.Real) and np.isfinite(float(w)) for w in weights)
    names = [] if given is None or isinstance(given, str) else given
    if not isinstance(names, Iterable) or not good or not all(isinstance(field, str) for field in names):
        raise ParameterError(f"{name} must be names of fields, or a dict of names with their weights; got {given!r}.")


def field_weights(names: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Weights by field, of names with their weights or of names alone.

    Examples
    --------
    >>> field_weights({"title": 2}), field_weights(["title"])
    ({'title': 2.0}, {'title': 1.0})
    """
    if isinstance(names, str):
        names = [names]
    return {k: float(v) for k, v in names.items()} if isinstance(names, Mapping) else dict.fromkeys(names, 1.0)


def texts_of(column: Iterable[object], name: str) -> Iterator[str]:
    """One string per document; a missing value (None, NaN, NA) is an empty text, a list of tokens is joined."""
    for i, text in enumerate(column):
        if isinstance(text, str):
            yield text
        elif isinstance(text, (list, tuple)):
            yield " ".join(map(str, text))
        elif isinstance(text, np.ndarray) and text.ndim == 1:
            yield " ".join(map(str, text.tolist()))
        elif is_missing(text):
            yield ""
        else:
            raise DataError(f"Document {i} has {_shown(text)} in field {name!r}; text is expected.")


def values_of(column: Iterable[object]) -> list[list[str]]:
    """Values of a categorical field per document; a missing or empty one has none."""
    rows = []
    for value in column:
        several = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
        rows.append([str(v) for v in several if not is_missing(v) and str(v)])
    return rows


def is_missing(value: object) -> bool:
    """Whether a cell of a table holds nothing: None, NaN, NaT or the NA of pandas.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # NA of pandas is neither equal nor unequal to itself
        return True
    except ValueError:  # an array
        return False


def _shown(value: object) -> str:
    """A value for a message, shortened."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


class DocumentTransformer(TransformerMixin, BaseEstimator):
    """Base of features that are made of documents instead of matrices."""

    # Whether `known_terms` is the number of columns of a document that are not zero.
    columns_are_terms: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class TermTransformer(DocumentTransformer):
    """Base of features that are terms of text fields, and values of categorical fields."""

    fields: Mapping[str, float] | Sequence[str] | None
    categorical: Mapping[str, float] | Sequence[str]
    ngram_range: tuple[int, int]
    stop_words: str | list[str] | None
    lowercase: bool
    analyzer: str
    token_pattern: str

    def analyser(self) -> Analyser:
        """The function from a text to its terms, which can be applied to label texts as well.

        Returns
        -------
        Analyser
            Made from the parameters; it needs no fit.

        Examples
        --------
        >>> from linnaeus.features import TextFeatures
        >>> TextFeatures(analyzer="stems").analyser()("two cats")
        ['two', 'cat']
        """
        return Analyser(
            analyzer=self.analyzer,
            ngram_range=self.ngram_range,
            stop_words=self.stop_words,  # type: ignore[arg-type]  # lists become tuples there
            lowercase=self.lowercase,
            token_pattern=self.token_pattern,
        )

    def _check_terms(self) -> None:
        """Validate the parameters of terms and fields."""
        self.analyser()
        for name in ("fields", "categorical"):
            check_fields(name, getattr(self, name))

    def _fields_of(self, documents: object) -> tuple[dict[str, float], dict[str, float], dict[str, list[object]]]:
        """Weights of text fields and of categorical fields, and the documents by field."""
        kinds = field_weights(self.categorical)
        given = None if self.fields is None else field_weights(self.fields)
        columns = columns_of(documents, given or (), kinds)
        weights = {name: 1.0 for name in columns if name not in kinds} if given is None else given
        if not weights and not kinds:
            raise ParameterError(f"{type(self).__name__} needs at least one text field or categorical field.")
        return weights, kinds, columns


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of features of words, as values that model folders can hold.

    Parameters
    ----------
    parameters : dict
        What ``get_params`` returns.

    Returns
    -------
    dict
        The same with names of types and lists.

    Examples
    --------
    >>> given = {"dtype": np.float32, "fields": ("title",), "categorical": None, "ngram_range": (1, 2)}
    >>> plain_parameters({**given, "stop_words": {"the", "a"}})["stop_words"]
    ['a', 'the']
    """
    plain = {**parameters, "dtype": np.dtype(parameters["dtype"]).name, "ngram_range": list(parameters["ngram_range"])}
    for name in ("fields", "categorical"):
        value = plain[name]
        plain[name] = dict(value) if isinstance(value, Mapping) else value if value is None else list(value)
    if plain["stop_words"] is not None and not isinstance(plain["stop_words"], str):
        plain["stop_words"] = sorted(plain["stop_words"])
    return plain


def packed(terms: Iterable[str]) -> tuple[Array, IntArray]:
    """Terms as an array of bytes and an array of offsets.

    Parameters
    ----------
    terms : iterable of str
        Any strings, also with half surrogate pairs.

    Returns
    -------
    bytes : ndarray of uint8
        All terms in UTF-8, one after the other.
    offsets : ndarray of int
        Where each begins, and the total length.

    Examples
    --------
    >>> packed(["ab", "c"])[1].tolist()
    [0, 2, 3]
    """
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    offsets = pointers(list(map(len, encoded)))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpacked(terms: Array, offsets: IntArray) -> ObjectArray:
    """The inverse of `packed`.

    Parameters
    ----------
    terms : ndarray of uint8
        Bytes of all terms.
    offsets : ndarray of int
        Where each begins.

    Returns
    -------
    ndarray of str
        The terms.

    Examples
    --------
    >>> unpacked(*packed(["ab", "c"])).tolist()
    ['ab', 'c']
    """
    whole = np.asarray(terms, dtype=np.uint8).tobytes()
    bounds = np.asarray(offsets).tolist()
    found = np.empty(len(bounds) - 1, dtype=object)
    found[:] = [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
    return found


def default_features(kind: str, **options: Any) -> Any:
    """An unfitted transformer for documents of a kind ("text", "sequence", "dense"), or None where X is used as it is.

    For text these are 1 + ln tf and terms of two documents or more; for sequences counts of one to three letters; for
    dense vectors mean 0 and deviation 1.

    Parameters
    ----------
    kind : str
        "text", "sequence", "dense" or "sparse".
    **options : object
        Parameters of the transformer, which override these.

    Returns
    -------
    TextFeatures, DenseFeatures or None
        The transformer.

    Examples
    --------
    >>> default_features("text", min_df=1).fit_transform(["a cat", "a dog"]).shape
    (2, 2)
    >>> default_features("sparse") is None
    True
    """
    from linnaeus.features.dense import DenseFeatures
    from linnaeus.features.text import TextFeatures

    if kind == "text":
        return TextFeatures(**{"min_df": 2, "sublinear_tf": options.get("weighting") != "log2", **options})
    if kind == "sequence":
        usual = {"analyzer": "char", "ngram_range": (1, 3), "lowercase": False, "min_df": 2}
        usual["sublinear_tf"] = options.get("weighting") != "log2"
        return TextFeatures(**{**usual, **options})
    if kind == "dense":
        return DenseFeatures(**options)
    if kind == "sparse":
        return None
    raise ParameterError(f"Documents are 'text', 'sequence', 'dense' or 'sparse'; got {kind!r}.")
