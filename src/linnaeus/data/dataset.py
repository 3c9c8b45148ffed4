"""Documents of any kind, with their labels as they were read, or with the suggestions of other tools.

A data set holds n_docs documents in exactly one of three shapes: a matrix ``X`` (n_docs x n_features, CSR or dense,
NaN for a missing value), text ``fields`` (name -> n_docs strings), or ``sequences`` (n_docs strings). Labels are kept
as the names in the file; `Dataset.indicator` converts them to 0/1 rows over a taxonomy. The line of every document is
kept, so that messages can refer to it.

`SuggestedDocuments` are documents beside what other tools have suggested for them, so that a `Mixture` can take such
suggestions as a source: rows of both are taken together, wherever some of the documents are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus.data.matrices import is_sparse
from linnaeus.errors import DataError, ParameterError, UnknownLabelError, lost_zeros, nearest, place, warn_user
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, BoolArray, IntArray, Matrix

__all__ = [
    "UNLABELLED",
    "Dataset",
    "SuggestedDocuments",
    "columns_line",
    "concatenate",
    "keep_labelled",
    "n_documents",
    "prepare_labels",
    "shown_columns",
    "take_documents",
]

UNLABELLED = ("error", "drop", "keep")  # documents without a label
SHOWN = 8  # maximum number of columns of one role in a message
SHAPES = ("X", "fields", "sequences")

D = TypeVar("D")
S = TypeVar("S")


def n_documents(X: object) -> int:
    """Number of documents of a matrix, a data frame, a list, or fields by name."""
    if isinstance(X, Mapping):
        return len(next(iter(X.values())))
    return int(X.shape[0]) if hasattr(X, "shape") else len(cast(Sized, X))


def take_documents(X: D, rows: IntArray) -> D:
    """Some documents of a matrix, a data frame, a list, or fields by name.

    Parameters
    ----------
    X : array-like, csr_array, data frame, list or dict
        Documents.
    rows : ndarray of int
        Row numbers.

    Returns
    -------
    same type as X
        The chosen documents, in the order of ``rows``.

    Examples
    --------
    >>> take_documents({"title": ["a", "b", "c"]}, np.array([2, 0]))
    {'title': ['c', 'a']}
    """
    if isinstance(X, Mapping):
        return cast(D, {name: take_documents(values, rows) for name, values in X.items()})
    if hasattr(X, "iloc"):
        return cast(D, X.iloc[rows])
    if hasattr(X, "shape"):
        return cast(D, cast(Array, X)[rows])
    return cast(D, [cast(Sequence[object], X)[i] for i in rows])


@dataclass(frozen=True, eq=False)
class SuggestedDocuments:
    """Documents, and what other tools have suggested for them.

    Parameters
    ----------
    documents : list, dict, DataFrame, array or csr_array
        Documents, as the other sources of a mixture take them.
    suggestions : dict of sequences by the name of the source
        For every document its labels with their scores, as ``{"A": 0.9}``; an empty one where the tool suggests
        nothing, None where nothing is known of the document.

    Examples
    --------
    >>> found = SuggestedDocuments(["a goal", "a vote"], {"annif": [{"Sports": 0.9}, None]})
    >>> len(found), found[[0]].suggestions["annif"].tolist()
    (2, [{'Sports': 0.9}])
    """

    documents: Any
    suggestions: Mapping[str, Any]  # sequences as they are given, arrays of objects as they are kept

    def __post_init__(self) -> None:
        if isinstance(self.documents, SuggestedDocuments):
            raise DataError("documents have suggestions already; give all sources of suggestions at once.")
        n_docs, made = n_documents(self.documents), {}
        for name, rows in self.suggestions.items():
            if len(rows) != n_docs:
                raise DataError(f"The suggestions of {name!r} are for {len(rows):,} documents; expected {n_docs:,}.")
            made[name] = np.empty(n_docs, dtype=object)
            made[name][:] = rows
        object.__setattr__(self, "suggestions", made)

    @classmethod
    def read(
        cls,
        documents: object,
        files: Mapping[str, str | PathLike[str]],
        ids: Sequence[str] | None = None,
        *,
        taxonomy: Taxonomy | None = None,
    ) -> SuggestedDocuments:
        """Documents with the suggestions of label files.

        Parameters
        ----------
        documents : list, dict, DataFrame, array or csr_array
            Documents.
        files : dict of paths by the name of the source
            Label files in any format that `linnaeus.data.label_files` reads, or folders with a file of suggestions of
            Annif for every document.
        ids : sequence of str, default=None
            Ids of the documents, which are looked for in the files; None is for files without ids, which have one
            entry per document.
        taxonomy : Taxonomy, default=None
            The taxonomy of the labels, which settles how files are read; labels that it lacks are refused.

        Returns
        -------
        SuggestedDocuments
            The documents; those that a file does not name have no suggestions of this source.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "suggested.tsv")
        >>> _ = path.write_text("d2\\tSports\\t0.9\\nd2\\tPolitics\\t0.2\\n")
        >>> found = SuggestedDocuments.read(["a vote", "a goal"], {"annif": path}, ["d1", "d2"])
        >>> found.suggestions["annif"].tolist()
        [None, {'Sports': 0.9, 'Politics': 0.2}]
        """
        from linnaeus.data.label_files.suggestions import read_suggestions

        n_docs = n_documents(documents)
        if ids is not None and len(ids) != n_docs:
            raise DataError(f"ids has {len(ids):,} entries for {n_docs:,} documents.")
        found = {
            name: read_suggestions(path, ids, n_docs, taxonomy=taxonomy).suggestions for name, path in files.items()
        }
        return cls(documents, found)

    @property
    def shape(self) -> tuple[int]:
        """The number of documents."""
        return (n_documents(self.documents),)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> SuggestedDocuments:
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        some = {name: given[chosen] for name, given in self.suggestions.items()}
        return SuggestedDocuments(take_documents(self.documents, chosen), some)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Documents and their labels.

    Parameters
    ----------
    X : matrix of shape (n_docs, n_features), default=None
        Features; exactly one of ``X``, ``fields`` and ``sequences`` is given.
    fields : mapping of str to list of str, default=None
        Texts (and categorical values) by field name, each a list of n_docs strings.
    sequences : list of str, default=None
        One string per document.
    labels : list of list of str, default=None
        Label names per document; None if the file has no labels.
    ids : list of str, default=None
        Name of each document.
    taxonomy : Taxonomy, default=None
        The taxonomy, if the file contains one or the reader was given one.
    feature_names : list of str, default=None
        Names of the columns of X.
    source : str, default=None
        File of the documents.
    files : list of str, default=None
        File of each document if there are several.
    lines : int array, default=None
        Line number of each document.
    split : list of str, default=None
        Part of each document ("train", "test", ...), if the file names parts.
    label_places : list of str, default=None
        Place of the labels of each document in messages, if it differs from that of the document.
    extra : mapping of str to sequence, default={}
        Further columns of the file, one value per document.
    columns : mapping of str to tuple of str, default={}
        Names of the columns by role (text, sequence, features, labels, id, categorical, split, ignored). Empty for
        formats without columns.
    notes : mapping of str to str, default={}
        Uncertain decisions of the reader, such as ``{"header": "none recognised"}``.
    suggestions : mapping of str to list, default={}
        By the name of a source, what another tool suggests for each document; see `SuggestedDocuments`.

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
    extra: Mapping[str, Sequence[object] | Array] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    suggestions: Mapping[str, list[dict[str, float] | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [name for name in SHAPES if getattr(self, name) is not None]
        if len(given) != 1 or self.fields == {}:
            raise DataError(f"A data set has exactly one of X, fields, sequences; got {', '.join(given) or 'none'}.")
        for name, column in self._per_document():
            if len(column) != len(self):
                raise DataError(f"{name} has {len(column):,} entries for {len(self):,} documents.")
        if self.feature_names is not None and self.X is not None and len(self.feature_names) != self.X.shape[1]:
            raise DataError(f"{len(self.feature_names):,} feature names were given for {self.X.shape[1]:,} features.")

    def _per_document(self) -> list[tuple[str, Sized]]:
        """All columns with one entry per document, apart from X and sequences."""
        attributes = ("labels", "ids", "files", "lines", "split", "label_places")
        named: list[tuple[str, Sized | None]] = [(name, getattr(self, name)) for name in attributes]
        named += [(f"field {name!r}", column) for name, column in (self.fields or {}).items()]
        named += [(f"column {name!r}", column) for name, column in self.extra.items()]
        named += [(f"source {name!r}", column) for name, column in self.suggestions.items()]
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
        """The input of a model or pipeline: X, sequences, texts or fields by name, with suggestions if it has any."""
        return SuggestedDocuments(self._plain, self.suggestions) if self.suggestions else self._plain

    @property
    def _plain(self) -> Any:
        if self.fields is None:
            return self.X if self.X is not None else self.sequences
        return next(iter(self.fields.values())) if len(self.fields) == 1 else dict(self.fields)

    def take(self, rows: npt.ArrayLike) -> Dataset:
        """The documents at ``rows`` (numbers, or a mask), in that order.

        Examples
        --------
        >>> Dataset(sequences=["AC", "GT", "TT"], ids=["a", "b", "c"]).take([2, 0]).ids
        ['c', 'a']
        """
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            if len(chosen) != len(self):
                raise DataError(f"A mask of {len(chosen):,} entries was given for {len(self):,} documents.")
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64)
        numbers: list[int] = chosen.tolist()
        return replace(
            self,
            X=None if self.X is None else self.X[chosen],
            fields=None if self.fields is None else {k: [v[i] for i in numbers] for k, v in self.fields.items()},
            sequences=_take(self.sequences, numbers),
            labels=_take(self.labels, numbers),
            ids=_take(self.ids, numbers),
            files=_take(self.files, numbers),
            lines=None if self.lines is None else self.lines[chosen],
            split=_take(self.split, numbers),
            label_places=_take(self.label_places, numbers),
            suggestions={name: [rows[i] for i in numbers] for name, rows in self.suggestions.items()},
            extra={
                k: v[chosen] if isinstance(v, np.ndarray) else [v[i] for i in numbers] for k, v in self.extra.items()
            },
        )

    def place(self, document: int) -> str:
        """The place of a document in messages: ``docs.jsonl:17``, or its number (from 0) in a file without lines."""
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
        """Number of occurrences of each label that is not a node of the taxonomy.

        Examples
        --------
        >>> data = Dataset(sequences=["AC", "GT"], labels=[["x", "y"], ["x"]])
        >>> data.unknown_labels(Taxonomy.flat(["y"]))
        Counter({'x': 2})
        """
        counts = Counter(label for row in self._given_labels() for label in row)
        return Counter({label: n for label, n in counts.items() if taxonomy.lookup(label) is None})

    def indicator(self, taxonomy: Taxonomy | None = None, *, unknown: str = "error") -> CSR:
        """The labels as a 0/1 matrix in CSR form (n_docs x n_nodes), columns in the order of ``taxonomy.names``.

        Parameters
        ----------
        taxonomy : Taxonomy, default=None
            The taxonomy; by default that of the data set.
        unknown : {"error", "drop", "replace"}, default="error"
            What to do with labels that are not nodes: raise an error that names them, the place of the first and the
            nearest node; drop them and warn; or replace deprecated ids with exactly one replacement and raise an error
            for the others.

        Returns
        -------
        CSR matrix
            The indicator, int8.
        """
        if unknown not in ("error", "drop", "replace"):
            raise ParameterError(f"unknown must be 'error', 'drop' or 'replace'; got {unknown!r}.")
        taxonomy = taxonomy if taxonomy is not None else self.taxonomy
        if taxonomy is None:
            raise DataError("A taxonomy is needed to convert labels to 0/1 rows; the data set has none.")
        missing = self.unknown_labels(taxonomy)
        if unknown == "replace":
            missing = Counter({x: n for x, n in missing.items() if taxonomy.lookup(x, replace=True) is None})
        if missing and unknown != "drop":
            raise UnknownLabelError(self._unknown_message(taxonomy, missing))
        if missing:
            total = sum(len(row) for row in self._given_labels())
            warn_user(
                f"{missing.total():,} of {total:,} labels were dropped: {len(missing):,} "
                f"{'name is' if len(missing) == 1 else 'names are'} not in the taxonomy ({_most_frequent(missing)})."
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
            message += _display_label_advice(taxonomy, label)
        if "header" in self.notes and self.lines is not None and self.lines[first] == 1:
            message += " If line 1 names the columns, use --header (in Python header=True)."
        if len(missing) > 1:
            message += (
                f" In all {len(missing):,} names with {missing.total():,} occurrences are unknown, "
                f"most often {_most_frequent(missing)}."
            )
        return message


def _display_label_advice(taxonomy: Taxonomy, label: str) -> str:
    """What to do with documents that are labelled with display labels; `names` only where the format has it."""
    names = taxonomy._label_option
    if names == "name" and not str(taxonomy.names[taxonomy.displayed_as(label)[0]]).endswith(label):
        names = None  # nodes are not named by their paths, so that the option would change nothing
    if names is None:
        return " Label the documents with the names of nodes."
    return f" To use display labels, read the taxonomy with --names {names} (in Python names={names!r})."


def _most_frequent(counts: Counter[str], n: int = 5) -> str:
    shown = ", ".join(f"{label!r} ({count:,})" for label, count in counts.most_common(n))
    return shown + (" and others" if len(counts) > n else "")


def _take(column: Sequence[S] | None, rows: Sequence[int]) -> list[S] | None:
    return None if column is None else [column[i] for i in rows]


# -- several files ----------------------------------------------------------------------------------------------------


def concatenate(parts: Sequence[Dataset]) -> Dataset:
    """Concatenate data sets of the same kind, such as a training and a validation file.

    Sparse matrices are widened to the widest; a text field that a part lacks is empty there. Ids and other columns are
    kept if every part has them; labels must be in all parts or in none.

    Parameters
    ----------
    parts : sequence of Dataset
        At least one data set.

    Returns
    -------
    Dataset
        The documents of all parts in order.

    Examples
    --------
    >>> one, two = Dataset(sequences=["A", "C"], source="x"), Dataset(sequences=["G", "T"], source="y")
    >>> both = concatenate([one, two])
    >>> both.documents, both.place(2)
    (['A', 'C', 'G', 'T'], 'y, document 0')
    """
    if not parts:
        raise DataError("Got no data sets; expected at least one.")
    if len(parts) == 1:
        return parts[0]
    kinds = {part.kind for part in parts}
    if len(kinds) > 1:
        named = ", ".join(f"{part.source}: {part.kind}" for part in parts)
        raise DataError(f"Files of one data set must contain the same kind of documents; got {named}.")
    with_labels = [part.labels is not None for part in parts]
    if any(with_labels) and not all(with_labels):
        lacking = parts[with_labels.index(False)].source
        raise DataError(f"{lacking} has no labels, but {parts[with_labels.index(True)].source} has.")
    names = [part.feature_names for part in parts]
    same_names = all(n == names[0] for n in names)
    if not same_names and parts[0].kind == "dense":
        raise DataError(f"The features of {parts[0].source} and of the other files have different names.")
    lines = [part.lines for part in parts if part.lines is not None]
    shared = set(parts[0].extra).intersection(*(part.extra for part in parts))
    roles = dict.fromkeys(role for part in parts for role in part.columns)
    return Dataset(
        X=_joined_matrix(parts),
        fields=_joined_fields(parts),
        sequences=_joined([part.sequences for part in parts]),
        labels=_joined([part.labels for part in parts]),
        ids=_joined([part.ids for part in parts]),
        taxonomy=_common_taxonomy(parts),
        feature_names=names[0] if same_names else None,
        source=", ".join(dict.fromkeys(part.source or "?" for part in parts)),
        files=[name for part in parts for name in part.files or [part.source or "?"] * len(part)],
        lines=np.concatenate(lines) if len(lines) == len(parts) else None,
        split=_joined([part.split for part in parts]),
        label_places=_joined([part.label_places for part in parts]),
        extra={k: np.concatenate([np.asarray(part.extra[k]) for part in parts]) for k in parts[0].extra if k in shared},
        columns={
            role: tuple(dict.fromkeys(name for part in parts for name in part.columns.get(role, ()))) for role in roles
        },
        notes={name: note for part in parts for name, note in part.notes.items()},
    )


def _joined(columns: Sequence[list[S] | None]) -> list[S] | None:
    given = [column for column in columns if column is not None]
    return [value for column in given for value in column] if len(given) == len(columns) else None


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
        raise DataError(f"The files {', '.join(part.source or '?' for part in parts)} contain different taxonomies.")
    return found[0] if found else None


# -- documents without labels ------------------------------------------------------------------------------------------
# A model learns to predict nothing from empty label cells that are read as documents without labels. So they are
# counted, and the user chooses whether they are an error, dropped or kept.


def keep_labelled(data: Dataset, unlabelled: str = "error") -> Dataset:
    """The data set without documents that have no label.

    Parameters
    ----------
    data : Dataset
        Documents with labels.
    unlabelled : {"error", "drop", "keep"}, default="error"
        "error" raises an error with their number and the place of the first, "drop" removes them and adds their number
        to ``data.notes``, "keep" returns the data set unchanged.

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
        The taxonomy of the labels.
    unknown : str, default="error"
        What to do with labels that are not in the taxonomy, see `Dataset.indicator`.
    unlabelled : {"error", "drop", "keep"}, default="error"
        What to do with documents without labels, see `keep_labelled`. Documents that lose their only labels by
        ``unknown="drop"`` are left out with a warning, unless "keep" is given.

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
    _warn_of_lost_zeros(data, taxonomy)
    labelled = np.diff(Y.indptr) > 0
    if unlabelled == "error":  # those that were given without labels; the others follow from ``unknown``
        given = np.array([bool(row) for row in data.labels or ()], dtype=bool)
        _kept(data, given, unlabelled)
        n_lost = int((~labelled).sum())
        if 0 < n_lost < len(data):
            rest = "has no other label and is" if n_lost == 1 else "have no other label and are"
            warn_user(f"{n_lost:,} of {len(data):,} documents {rest} left out.")
        unlabelled = "drop"
    return _kept(data, labelled, unlabelled), Y if unlabelled == "keep" else Y[np.flatnonzero(labelled)]


def _warn_of_lost_zeros(data: Dataset, taxonomy: Taxonomy) -> None:
    lost = lost_zeros({label for row in data.labels or () for label in row}, taxonomy.names.tolist())
    if lost:
        short = set(lost)
        n_docs = sum(not short.isdisjoint(row) for row in data.labels or ())
        longest = next(name for zeros in range(1, 9) if (name := "0" * zeros + lost[0]) in taxonomy)
        warn_user(
            f"No label begins with 0, but {n_docs:,} documents have labels that are such codes without their zeros: "
            f"{lost[0]!r} is perhaps {taxonomy.titled(longest)}. A spreadsheet removes leading zeros unless the column "
            "is formatted as text."
        )


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
        known = " that is in the taxonomy" if any(data.labels or ()) else ""
        raise DataError(f"None of the {len(data):,} documents of {data.source or 'this data set'} has a label{known}.")
    notes = {**data.notes, "unlabelled": f"{n_without:,} of {len(data):,} documents dropped"}
    return replace(data.take(labelled), notes=notes)


def _check_choice(unlabelled: str) -> None:
    if unlabelled not in UNLABELLED:
        expected = ", ".join(map(repr, UNLABELLED))
        raise ParameterError(f"unlabelled={unlabelled!r}; expected {expected}{nearest(str(unlabelled), UNLABELLED)}")


# -- columns -----------------------------------------------------------------------------------------------------------


def columns_line(data: Dataset) -> str:
    """The role of each column in one line for people; empty for a format without columns.

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
