"""Documents with their labels, as they were read.

A data set holds n_docs documents in exactly one of three shapes: a matrix ``X`` (n_docs x n_features, CSR or dense,
NaN for a missing value), text ``fields`` (name -> n_docs strings), or ``sequences`` (n_docs strings). Labels are kept
as the names that the file gives; `Dataset.indicator` turns them into 0/1 rows over a taxonomy. Every document remembers
the line it stood on, so that a message about it can say where to look.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.errors import DataError, ParameterError, UnknownLabelError, nearest, place
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, IntArray, Matrix, is_sparse

__all__ = ["UNLABELLED", "Dataset", "columns_line", "concatenate", "keep_labelled", "prepare_labels", "shown_columns"]

UNLABELLED = ("error", "drop", "keep")  # documents without a label
SHOWN = 8  # columns of one role that a line names
SHAPES = ("X", "fields", "sequences")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Documents and their labels.

    Parameters
    ----------
    X : matrix of features, n_docs x n_features; or
    fields : texts (and categorical values) by field name, each a list of n_docs strings; or
    sequences : one string per document.
    labels : label names per document; None where the file has none.
    ids : name of each document.
    taxonomy : the taxonomy, where the file carries one or the reader was given one.
    feature_names : names of the columns of X.
    source : file the documents come from; ``files`` names one per document where there are several.
    lines : line number of each document.
    split : part each document belongs to ("train", "test", ...), where the file says so.
    label_places : where the labels of each document stand, if not where the document stands.
    extra : further columns of the file, one value per document.
    columns : what each column of the file was read as: role (text, sequence, features, labels, id, categorical, split,
        ignored) -> names of the columns. Empty for formats without columns.
    notes : what the reader could not be sure of, such as ``{"header": "none recognised"}``.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a goal", "a vote"]}, labels=[["Sports"], ["Politics"]])
    >>> len(data), data.kind, data.documents
    (2, 'text', ['a goal', 'a vote'])
    >>> data.indicator(Taxonomy.flat(["Politics", "Sports"])).toarray().tolist()
    [[0, 1], [1, 0]]
    """

    X: Matrix | None = None
    fields: Mapping[str, list[str]] | None = None
    sequences: list[str] | None = None
    labels: list[list[str]] | None = None
    ids: list[str] | None = None
    taxonomy: Taxonomy | None = None
    feature_names: list[str] | None = None
    source: str | None = None
    files: list[str] | None = None
    lines: IntArray | None = None
    split: list[str] | None = None
    label_places: list[str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [name for name in SHAPES if getattr(self, name) is not None]
        if len(given) != 1 or self.fields == {}:
            raise DataError(f"A data set has exactly one of X, fields, sequences; got {', '.join(given) or 'none'}.")
        for name, column in self._per_document():
            if len(column) != len(self):
                raise DataError(f"{name} has {len(column):,} entries for {len(self):,} documents.")
        if self.feature_names is not None and self.X is not None and len(self.feature_names) != self.X.shape[1]:
            raise DataError(f"{len(self.feature_names):,} feature names were given for {self.X.shape[1]:,} features.")

    def _per_document(self) -> list[tuple[str, Any]]:
        """Everything that has one entry per document, apart from X and sequences."""
        named = [(name, getattr(self, name)) for name in ("labels", "ids", "files", "lines", "split", "label_places")]
        named += [(f"field {name!r}", column) for name, column in (self.fields or {}).items()]
        named += [(f"column {name!r}", column) for name, column in self.extra.items()]
        return [(name, column) for name, column in named if column is not None]

    def __len__(self) -> int:
        if self.X is not None:
            return int(self.X.shape[0])
        if self.fields is not None:
            return len(next(iter(self.fields.values())))
        return len(self.sequences or [])

    def __repr__(self) -> str:
        return f"Dataset({self.kind}, {len(self):,} documents, {self.source or 'in memory'})"

    @property
    def kind(self) -> str:
        """ "sparse", "dense", "text" or "sequence"."""
        if self.X is not None:
            return "sparse" if sparse.issparse(self.X) else "dense"
        return "text" if self.fields is not None else "sequence"

    @property
    def documents(self) -> Any:
        """What a model or pipeline is given: X, the sequences, the texts, or several fields by name."""
        if self.fields is None:
            return self.X if self.X is not None else self.sequences
        return next(iter(self.fields.values())) if len(self.fields) == 1 else dict(self.fields)

    def take(self, rows: Any) -> Dataset:
        """The documents at ``rows`` (numbers, or a mask), in that order.

        Examples
        --------
        >>> Dataset(sequences=["AC", "GT", "TT"], ids=["a", "b", "c"]).take([2, 0]).ids
        ['c', 'a']
        """
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if len(rows) != len(self):
                raise DataError(f"A mask of {len(rows):,} entries was given for {len(self):,} documents.")
            rows = np.flatnonzero(rows)
        rows = rows.astype(np.int64)
        values: dict[str, Any] = {
            name: _take(getattr(self, name), rows)
            for name in ("X", "sequences", "labels", "ids", "files", "lines", "split", "label_places")
        }
        values["fields"] = None if self.fields is None else {k: _take(v, rows) for k, v in self.fields.items()}
        values["extra"] = {k: _take(v, rows) for k, v in self.extra.items()}
        return replace(self, **values)

    def place(self, document: int) -> str:
        """Where a document stands, for messages: ``docs.jsonl:17``, or its number (from 0) in a file without lines."""
        if self.files is None:
            source, number, alone = self.source, document, False
        else:
            source, number = self.files[document], self.files[:document].count(self.files[document])
            alone = self.files.count(source) == 1
        if self.lines is not None:
            return place(source, int(self.lines[document]))
        if source is None:
            return f"document {number}"
        return source if alone else f"{source}, document {number}"

    # -- labels --------------------------------------------------------------------------------------------------------

    def unknown_labels(self, taxonomy: Taxonomy) -> Counter[str]:
        """How often each label occurs that is not a node of the taxonomy.

        Examples
        --------
        >>> data = Dataset(sequences=["AC", "GT"], labels=[["x", "y"], ["x"]])
        >>> data.unknown_labels(Taxonomy.flat(["y"]))
        Counter({'x': 2})
        """
        counts = Counter(label for row in self._given_labels() for label in row)
        return Counter({label: n for label, n in counts.items() if taxonomy.find(label) is None})

    def indicator(self, taxonomy: Taxonomy | None = None, *, unknown: str = "error") -> CSR:
        """The labels as n_docs x n_nodes CSR of 0/1, columns as in ``taxonomy.names``.

        Parameters
        ----------
        taxonomy : default is the data set's own.
        unknown : "error" names the labels that are not nodes, the place of the first and the nearest node; "drop"
            leaves them out and warns how many there were; "replace" reads deprecated ids that have one replacement as
            this, and is an error for others.
        """
        if unknown not in ("error", "drop", "replace"):
            raise ParameterError(f"unknown must be 'error', 'drop' or 'replace'; got {unknown!r}.")
        taxonomy = taxonomy if taxonomy is not None else self.taxonomy
        if taxonomy is None:
            raise DataError("A taxonomy is needed to turn labels into 0/1 rows; the data set carries none.")
        missing = self.unknown_labels(taxonomy)
        if unknown == "replace":
            missing = Counter({x: n for x, n in missing.items() if taxonomy.find(x, replace=True) is None})
        if missing and unknown != "drop":
            raise UnknownLabelError(self._unknown_message(taxonomy, missing))
        if missing:
            total = sum(len(row) for row in self._given_labels())
            warnings.warn(
                f"{missing.total():,} of {total:,} labels were dropped: {len(missing):,} names are not in the taxonomy "
                f"({_most_frequent(missing)}).",
                stacklevel=2,
            )
        return taxonomy.indicator(self._given_labels(), unknown="replace" if unknown == "replace" else "drop")

    def _given_labels(self) -> list[list[str]]:
        if self.labels is None:
            raise DataError(f"The documents of {self.source or 'this data set'} have no labels.")
        return self.labels

    def _unknown_message(self, taxonomy: Taxonomy, missing: Counter[str]) -> str:
        first, label = next(
            (i, label) for i, row in enumerate(self._given_labels()) for label in row if label in missing
        )
        hint = taxonomy.hint(label)
        where = self.place(first) if self.label_places is None else self.label_places[first]
        message = f"Label {label!r} ({where}) is not in the taxonomy{hint or '.'}"
        if len(taxonomy.displayed_as(label)):
            message += " A SKOS taxonomy takes display labels if it is read with names='label' (--names label)."
        if "header" in self.notes and self.lines is not None and self.lines[first] == 1:
            message += " If line 1 names the columns, use --header (in Python header=True)."
        if len(missing) > 1:
            message += (
                f" In all {len(missing):,} names with {missing.total():,} occurrences are unknown, "
                f"most often {_most_frequent(missing)}."
            )
        return message


def _most_frequent(counts: Counter[str], n: int = 5) -> str:
    shown = ", ".join(f"{label!r} ({count:,})" for label, count in counts.most_common(n))
    return shown + (" and others" if len(counts) > n else "")


def _take(column: Any, rows: IntArray) -> Any:
    if column is None or hasattr(column, "shape"):
        return column if column is None else column[rows]
    return [column[i] for i in rows.tolist()]


# -- several files ----------------------------------------------------------------------------------------------------


def concatenate(parts: Sequence[Dataset]) -> Dataset:
    """One data set out of several of the same kind, such as a training and a validation file.

    Sparse matrices are widened to the widest; a text field that one part lacks is empty there. Ids and other
    columns are kept where every part has them; labels must be in all parts or in none.

    Examples
    --------
    >>> one, two = Dataset(sequences=["A", "C"], source="x"), Dataset(sequences=["G", "T"], source="y")
    >>> both = concatenate([one, two])
    >>> both.documents, both.place(2)
    (['A', 'C', 'G', 'T'], 'y, document 0')
    """
    if not parts:
        raise DataError("At least one data set is needed.")
    if len(parts) == 1:
        return parts[0]
    kinds = {part.kind for part in parts}
    if len(kinds) > 1:
        named = ", ".join(f"{part.source}: {part.kind}" for part in parts)
        raise DataError(f"Files of one data set must hold the same kind of documents; got {named}.")
    with_labels = [part.labels is not None for part in parts]
    if any(with_labels) and not all(with_labels):
        lacking = parts[with_labels.index(False)].source
        raise DataError(f"{lacking} has no labels, but {parts[with_labels.index(True)].source} has.")
    values: dict[str, Any] = {
        name: _joined(parts, name) for name in ("sequences", "labels", "ids", "split", "label_places")
    }
    values["X"] = _joined_matrix(parts)
    values["fields"] = _joined_fields(parts)
    values["taxonomy"] = _common_taxonomy(parts)
    names = [part.feature_names for part in parts]
    if all(n == names[0] for n in names):
        values["feature_names"] = names[0]
    elif values["X"] is not None and parts[0].kind == "dense":
        raise DataError(f"The features of {parts[0].source} and of the other files have different names.")
    values["source"] = ", ".join(dict.fromkeys(part.source or "?" for part in parts))
    values["files"] = [name for part in parts for name in part.files or [part.source or "?"] * len(part)]
    if all(part.lines is not None for part in parts):
        values["lines"] = np.concatenate([part.lines for part in parts if part.lines is not None])
    shared = set(parts[0].extra).intersection(*(part.extra for part in parts))
    values["extra"] = {
        k: np.concatenate([np.asarray(part.extra[k]) for part in parts]) for k in parts[0].extra if k in shared
    }
    roles = dict.fromkeys(role for part in parts for role in part.columns)
    values["columns"] = {
        role: tuple(dict.fromkeys(name for part in parts for name in part.columns.get(role, ()))) for role in roles
    }
    values["notes"] = {name: note for part in parts for name, note in part.notes.items()}
    return Dataset(**values)


def _joined(parts: Sequence[Dataset], name: str) -> Any:
    columns = [getattr(part, name) for part in parts]
    return None if any(column is None for column in columns) else [value for column in columns for value in column]


def _joined_matrix(parts: Sequence[Dataset]) -> Matrix | None:
    matrices = [part.X for part in parts]
    if matrices[0] is None:
        return None
    widths = [X.shape[1] for X in matrices if X is not None]
    if parts[0].kind == "sparse":
        widened = [
            sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], max(widths)))
            for X in matrices
            if is_sparse(X)
        ]
        return sparse.csr_array(sparse.vstack(widened))
    if min(widths) != max(widths):
        raise DataError(
            f"Files of one data set must have the same number of features; got {min(widths)} and {max(widths)}."
        )
    return np.concatenate([X for X in matrices if X is not None])


def _joined_fields(parts: Sequence[Dataset]) -> dict[str, list[str]] | None:
    if parts[0].fields is None:
        return None
    names = dict.fromkeys(name for part in parts for name in part.fields or {})
    return {n: [text for part in parts for text in (part.fields or {}).get(n) or [""] * len(part)] for n in names}


def _common_taxonomy(parts: Sequence[Dataset]) -> Taxonomy | None:
    found = [part.taxonomy for part in parts if part.taxonomy is not None]
    if any(taxonomy != found[0] for taxonomy in found[1:]):
        raise DataError(f"The files {', '.join(part.source or '?' for part in parts)} carry different taxonomies.")
    return found[0] if found else None


# -- documents without labels ------------------------------------------------------------------------------------------
# A few empty cells in a table of codes, read as documents of no label, teach a model to answer nothing. So they are
# counted, and the user says whether they are an error, left out or kept.


def keep_labelled(data: Dataset, unlabelled: str = "error") -> Dataset:
    """The data set without documents that have no label.

    Parameters
    ----------
    data : Dataset
        Documents with labels.
    unlabelled : {"error", "drop", "keep"}, default="error"
        "error" refuses them with their number and the place of the first, "drop" leaves them out and notes their number
        in ``data.notes``, "keep" returns the data set as it is.

    Returns
    -------
    data : Dataset
        The documents that remain.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a goal", "a vote"]}, labels=[["Sports"], []])
    >>> kept = keep_labelled(data, "drop")
    >>> kept.documents, kept.notes
    (['a goal'], {'unlabelled': '1 of 2 documents dropped'})
    """
    if data.labels is None:
        _check_choice(unlabelled)
        return data
    return _kept(data, np.array([bool(row) for row in data.labels]), unlabelled)


def prepare_labels(
    data: Dataset, taxonomy: Taxonomy, *, unknown: str = "error", unlabelled: str = "error"
) -> tuple[Dataset, CSR]:
    """Documents with their labels as 0/1 rows over a taxonomy, ready for training.

    Parameters
    ----------
    data : Dataset
        Documents with labels.
    taxonomy : Taxonomy
        Where the labels stand.
    unknown : str, default="error"
        What happens to labels that are not in the taxonomy, see `Dataset.indicator`.
    unlabelled : {"error", "drop", "keep"}, default="error"
        What happens to documents without a label, also those whose only label was dropped, see `keep_labelled`.

    Returns
    -------
    data : Dataset
        The documents that remain.
    Y : CSR array of shape (n_docs, n_nodes)
        Their labels.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a goal", "a vote"]}, labels=[["Sports"], []])
    >>> kept, Y = prepare_labels(data, Taxonomy.flat(["Sports"]), unlabelled="drop")
    >>> len(kept), Y.toarray().tolist()
    (1, [[1]])
    """
    _check_choice(unlabelled)
    Y = data.indicator(taxonomy, unknown=unknown)
    labelled = np.diff(Y.indptr) > 0
    return _kept(data, labelled, unlabelled), Y if unlabelled == "keep" else Y[np.flatnonzero(labelled)]


def _kept(data: Dataset, labelled: BoolArray, unlabelled: str) -> Dataset:
    _check_choice(unlabelled)
    n_without = int((~labelled).sum())
    if unlabelled == "keep" or not n_without:
        return data
    if unlabelled == "error":
        first = int(np.argmin(labelled))
        raise DataError(
            f"{n_without:,} of {len(data):,} documents have no label, the first at {data.place(first)}; leave them out "
            f"with unlabelled='drop', or use them as documents without labels with unlabelled='keep'."
        )
    if n_without == len(data):
        raise DataError(f"None of the {len(data):,} documents of {data.source or 'this data set'} has a label.")
    notes = {**data.notes, "unlabelled": f"{n_without:,} of {len(data):,} documents dropped"}
    return replace(data.take(labelled), notes=notes)


def _check_choice(unlabelled: str) -> None:
    if unlabelled not in UNLABELLED:
        expected = ", ".join(map(repr, UNLABELLED))
        raise ParameterError(f"unlabelled={unlabelled!r}; expected {expected}{nearest(str(unlabelled), UNLABELLED)}")


# -- columns -----------------------------------------------------------------------------------------------------------


def columns_line(data: Dataset) -> str:
    """What each column was read as, in one line for people; empty for a format without columns.

    Examples
    --------
    >>> columns = {"text": ("body",), "labels": ("category",), "ignored": ("subject", "date")}
    >>> columns_line(Dataset(fields={"body": ["a goal"]}, columns=columns))
    "columns: text 'body'; labels 'category'; ignored 'subject', 'date'"
    """
    unnamed = " (no header: columns are numbered from 0)" if "header" in data.notes else ""
    return f"columns: {shown_columns(data.columns)}{unnamed}" if data.columns else ""


def shown_columns(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns by their role: ``text 'body'; labels 'category'``."""
    parts = []
    for role, names in columns.items():
        shown = ", ".join(map(repr, names[:SHOWN]))
        parts.append(f"{role} {shown}" + (f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""))
    return "; ".join(parts)
