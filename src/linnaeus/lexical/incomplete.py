"""Labels of which a document has the telling words only, or other forms of them.

"Foster Home Care" is meant where a text says "foster care", "Patents as Topic" where it says "patents", and "Salmonella
paratyphi" where it says "paratyphoid". Words are compared by their roots, the first letters of their stems. A root r
that is not a stop word says

    i_r = log(number of labels / number of labels that have r)

about a label, and a label is incomplete in a document whose words say at least half of what all of its roots say. Few
of these labels are meant: of every document those are kept whose  covered i x covered share of i  is largest.

A label is only looked at in documents that have one of its telling roots: the rarest ones, without which the others say
less than half. Most labels have one, so that roots that many labels have cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linnaeus.engine import blocks, rows_that_fit
from linnaeus.taxonomy.closure import expanded, pointers
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["IncompleteLabels", "IncompleteMatches", "root_of"]

_LETTERS = 7  # of a root; it is the whole stem of a shorter word
_SHARE = 0.5  # of the information of a label that a document has
_MOST = 10  # labels of a document
_TABLE = 2**25  # bytes of a table of the roots of documents
_ROUNDING = 1e-9
_SLACK = 1e-6  # of a share, by which a root counts as telling in any case


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
        rows = [sorted(set(row)) for row in roots]
        indices = np.array([r for row in rows for r in row], dtype=np.int64)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        n_labels, self._width = len(rows), int(indices.max(initial=0)) + 1
        said = np.log(max(n_labels, 1) / np.maximum(np.bincount(indices, minlength=self._width), 1))
        label = np.repeat(np.arange(n_labels), lengths)
        self.node = np.asarray(node, dtype=np.int64)
        self._n_nodes = int(self.node.max(initial=0)) + 1
        self._roots, self._said, self._indptr = indices, said, pointers(lengths)
        self._total = np.maximum(np.bincount(label, said[indices], minlength=n_labels), 1e-12)
        self._index_telling_roots(label)

    def _index_telling_roots(self, label: IntArray) -> None:
        """List labels under their telling roots; ``label`` is that of every entry of the roots."""
        order = np.lexsort((self._said[self._roots], label))  # the most frequent root of every label first
        root, label = self._roots[order], label[order]
        up_to = np.cumsum(self._said[root])
        first = self._indptr[label]
        of_others = up_to - np.where(first > 0, up_to[first - 1], 0.0)  # those as frequent or more, and itself
        telling = of_others >= (_SHARE - _SLACK) * self._total[label]
        root, label = root[telling], label[telling]
        order = np.lexsort((label, root))
        self._labels_of = label[order]
        self._labels_indptr = np.searchsorted(root[order], np.arange(self._width + 1))

    @property
    def nodes(self) -> IntArray:
        """Numbers of the nodes that can be found, ascending."""
        return np.unique(self.node[self._labels_of])

    def roots_of(self, label: int) -> list[int]:
        """Numbers of the roots of a label that say something about it."""
        roots = self._roots[self._indptr[label] : self._indptr[label + 1]]
        return roots[self._said[roots] != 0].tolist()

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
        whole = np.sort(whole)
        parts = [
            self._find(roots, bounds, title_ends, some.start, some.stop, whole)
            for some in blocks(len(title_ends), rows_that_fit(self._width, _TABLE))
        ]
        if not parts:
            none, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
            return IncompleteMatches(none, none, none, zero, zero, zero)
        return IncompleteMatches(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _find(
        self, roots: IntArray, bounds: IntArray, ends: IntArray, first: int, last: int, whole: IntArray
    ) -> IncompleteMatches:
        here = slice(int(bounds[first]), int(bounds[last]))
        known = np.flatnonzero(roots[here] > 0) + here.start
        row, root = np.searchsorted(bounds, known, side="right") - 1, roots[known]
        has = np.zeros((last - first, self._width), dtype=bool)
        has[row - first, root] = True
        document, label = self._with_telling_root(has)
        said = self._said_in(has, document, label)
        share = said / self._total[label]
        kept = np.flatnonzero(share >= _SHARE)
        of_block = slice(*np.searchsorted(whole, [first * self._n_nodes, last * self._n_nodes]))
        keys = (document[kept] + first) * self._n_nodes + self.node[label[kept]]
        kept = kept[~np.isin(keys, whole[of_block])]
        document, label, said, share = document[kept], label[kept], said[kept], share[kept]
        node = self.node[label]
        order = np.lexsort((label, -said * share, node, document))
        once = np.append(True, np.diff(node[order]).astype(bool) | np.diff(document[order]).astype(bool))
        order = order[once[: len(order)]]
        order = order[np.lexsort((node[order], -(said * share)[order], document[order]))]
        place = np.arange(len(order)) - np.searchsorted(document[order], document[order])
        order = order[place < _MOST]
        order = order[np.lexsort((node[order], document[order]))]
        has[:] = False
        in_title = known < ends[row]
        has[row[in_title] - first, root[in_title]] = True
        of_title = self._said_in(has, document[order], label[order]) >= said[order] - _ROUNDING
        return IncompleteMatches(
            document[order] + first, node[order], label[order], said[order], share[order], of_title.astype(np.float64)
        )

    def _with_telling_root(self, has: BoolArray) -> tuple[IntArray, IntArray]:
        """Documents and labels of which they have a telling root, once for each, by roots of documents (rows)."""
        document, root = np.divmod(np.flatnonzero(has), has.shape[1])
        place, label = expanded(root, self._labels_indptr, self._labels_of)
        return document[place], label

    def _said_in(self, has: BoolArray, document: IntArray, label: IntArray) -> FloatArray:
        """What the roots of documents (rows of ``has``) say about labels; sums are in the order of the roots."""
        pair, root = expanded(label, self._indptr, self._roots)
        said = np.where(has[document[pair], root], self._said[root], 0.0)
        return np.bincount(pair, said, minlength=len(label)).astype(np.float64)  # integers where there are no pairs
