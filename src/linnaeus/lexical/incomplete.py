"""Labels of which a document has the telling words only, or other forms of them.

"Foster Home Care" is meant where a text says "foster care", "Patents as Topic" where it says "patents", and "Salmonella
paratyphi" where it says "paratyphoid". Words are compared by their roots, the first letters of their stems. A root r
that is not a stop word says

    i_r = log(number of labels / number of labels that have r)

about a label, and a label is incomplete in a document whose words say at least half of what all of its roots say. Few
of these labels are meant: of every document those are kept whose  covered i x covered share of i  is largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linnaeus.engine import blocks
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["IncompleteLabels", "IncompleteMatches", "root_of"]

_LETTERS = 7  # of a root; it is the whole stem of a shorter word
_SHARE = 0.5  # of the information of a label that a document has
_MOST = 10  # labels of a document
_BLOCK = 2_000  # documents


def root_of(stem: str) -> str:
    """The first letters of a stem.

    Examples
    --------
    >>> root_of("paratyphoid") == root_of("paratyphi"), root_of("lung")
    (True, 'lung')
    """
    return stem[:_LETTERS]


class IncompleteMatches(NamedTuple):
    """Labels that are incomplete in documents, sorted by document and node, each node once.

    Attributes
    ----------
    document, node, label : ndarray of int
        Numbers of documents, nodes and labels.
    information : ndarray of float
        What the words of the document say about the label.
    share : ndarray of float
        The same as a share of what all words of the label say.
    in_title : ndarray of float
        1 if all of these words stand in the title.
    """

    document: IntArray
    node: IntArray
    label: IntArray
    information: FloatArray
    share: FloatArray
    in_title: FloatArray


class IncompleteLabels:
    """The labels of a taxonomy by the roots of their words.

    Parameters
    ----------
    roots : sequence of sequences of int
        Numbers of the roots of every label, from 1 on, without those of stop words.
    node : ndarray of shape (n_labels,)
        The node of every label.

    Examples
    --------
    >>> labels = IncompleteLabels([[1, 2, 3], [2, 4], [4, 5]], np.array([7, 8, 9]))
    >>> found = labels.find(np.array([1, 3, -1]), np.array([0, 3]), np.array([1]))
    >>> found.node.tolist(), found.share.round(2).tolist(), found.in_title.tolist()
    ([7], [0.84], [0.0])
    """

    def __init__(self, roots: Sequence[Sequence[int]], node: IntArray) -> None:
        from scipy import sparse

        rows = [sorted(set(row)) for row in roots]
        indices = np.array([r for row in rows for r in row], dtype=np.int64)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        n_labels, width = len(rows), int(indices.max(initial=0)) + 1
        said = np.log(max(n_labels, 1) / np.maximum(np.bincount(indices, minlength=width), 1))
        label = np.repeat(np.arange(n_labels), lengths)
        self.node = np.asarray(node, dtype=np.int64)
        self._n_nodes = int(self.node.max(initial=0)) + 1
        self._labels_of = sparse.csr_array((said[indices], (indices, label)), shape=(width, n_labels))
        self._total = np.maximum(np.bincount(label, said[indices], minlength=n_labels), 1e-12)

    def roots_of(self, label: int) -> list[int]:
        """Numbers of the roots of a label."""
        return np.flatnonzero(self._labels_of[:, [label]].toarray()).tolist()

    def find(
        self, roots: IntArray, bounds: IntArray, title_ends: IntArray, complete: tuple[IntArray, IntArray] | None = None
    ) -> IncompleteMatches:
        """Incomplete labels, and those whose words stand anywhere in the document.

        Parameters
        ----------
        roots : ndarray of int
            Numbers of the roots of the words of documents; 0 and -1 are not words of labels.
        bounds : ndarray of shape (n_docs + 1,)
            Where every document begins.
        title_ends : ndarray of shape (n_docs,)
            Where the title of every document ends.
        complete : tuple of (ndarray of int, ndarray of int), default=None
            Documents and nodes that are left out, since a label of the node was found as a whole.

        Returns
        -------
        IncompleteMatches
            At most ten nodes of every document.
        """
        whole = np.zeros(0, dtype=np.int64) if complete is None else complete[0] * self._n_nodes + complete[1]
        parts = [
            self._find(roots, bounds, title_ends, some.start, some.stop, whole)
            for some in blocks(len(title_ends), _BLOCK)
        ]
        if not parts:
            none, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
            return IncompleteMatches(none, none, none, zero, zero, zero)
        return IncompleteMatches(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _find(
        self, roots: IntArray, bounds: IntArray, ends: IntArray, first: int, last: int, whole: IntArray
    ) -> IncompleteMatches:
        from scipy import sparse

        here = slice(int(bounds[first]), int(bounds[last]))
        known = np.flatnonzero(roots[here] > 0) + here.start
        row = np.searchsorted(bounds, known, side="right") - 1
        shape = last - first, self._labels_of.shape[0]

        def documents(chosen: IntArray) -> CSR:
            D = sparse.csr_array((np.ones(len(chosen)), (row[chosen] - first, roots[known[chosen]])), shape=shape)
            D.data[:] = 1.0
            return D

        C = (documents(np.arange(len(known))) @ self._labels_of).tocsr()
        document = np.repeat(np.arange(shape[0]), np.diff(C.indptr))
        share = C.data / self._total[C.indices]
        kept = np.flatnonzero(share >= _SHARE)
        document, label, said, share = document[kept], C.indices[kept].astype(np.int64), C.data[kept], share[kept]
        node = self.node[label]
        new = ~np.isin((document + first) * self._n_nodes + node, whole)
        document, label, said, share, node = (array[new] for array in (document, label, said, share, node))
        order = np.lexsort((label, -said * share, node, document))
        once = np.append(True, np.diff(node[order]).astype(bool) | np.diff(document[order]).astype(bool))
        order = order[once[: len(order)]]
        order = order[np.lexsort((node[order], -(said * share)[order], document[order]))]
        place = np.arange(len(order)) - np.searchsorted(document[order], document[order])
        order = order[place < _MOST]
        order = order[np.lexsort((node[order], document[order]))]
        titles = (documents(np.flatnonzero(known < ends[row])) @ self._labels_of).tocsr()
        of_title = np.asarray(titles[document[order], label[order]]).ravel() if len(order) else np.zeros(0)
        in_title = (of_title >= said[order] - 1e-9).astype(np.float64)
        return IncompleteMatches(
            document[order] + first, node[order], label[order], said[order], share[order], in_title
        )
