"""Documents of any kind: how many there are, some of them, and documents with the suggestions of other tools.

`SuggestedDocuments` are documents beside what other tools have suggested for them, so that a `Mixture` can take such
suggestions as a source: rows of both are taken together, wherever some of the documents are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np

from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Array, IntArray

__all__ = ["SuggestedDocuments", "n_documents", "take_documents"]

D = TypeVar("D")


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
