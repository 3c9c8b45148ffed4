"""Classes as terminal nodes: the ancestors of each of the labels that a model distinguishes.

Ranking models compare classes with each other. A class is a label of documents. A class that is an ancestor of another
class (documents "of A, but of nothing below A") gets an additional column of its own, as if it had a leaf below its
node, so that no class contains another. Row y of the pattern A (n_classes x n_places, 0/1) holds the ancestors of class
y, the class itself and this additional column::

    R -> a, b;  a -> aa     classes a, aa, b      places  a  b  aa  a's own
                                                  a       1  .   .    1
                                                  aa      1  .   1    .
                                                  b       .  1   .    .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.taxonomy.closure import row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, IntArray

__all__ = ["Terminals", "terminals"]


@dataclass(frozen=True)
class Terminals:
    """The pattern A of the module docstring (CSR of float64 ones, sorted rows) and the meaning of its columns.

    ``nodes`` is the node of each column; ``own`` marks the columns that were added for inner classes.
    """

    pattern: CSR
    nodes: IntArray
    own: BoolArray

    @property
    def sizes(self) -> IntArray:
        """Number of columns of every class: on a tree its depth, without the root."""
        return np.diff(self.pattern.indptr)

    @property
    def shared(self) -> BoolArray:
        """Which columns all classes share: they do not distinguish classes."""
        return np.asarray(self.pattern.sum(axis=0)).ravel() == self.pattern.shape[0]


def terminals(taxonomy: Taxonomy, classes: IntArray) -> Terminals:
    """The columns of classes, given by node numbers, without the root unless it is a class.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "a"), ("R", "b"), ("a", "aa")])
    >>> found = terminals(tax, np.array([tax.index(name) for name in ("a", "aa", "b")]))
    >>> found.pattern.toarray().astype(int).tolist(), tax.names[found.nodes].tolist()
    ([[1, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0]], ['a', 'b', 'aa', 'a'])
    """
    classes = np.asarray(classes, dtype=np.int32)
    above = sparse.csr_array(taxonomy.ancestor_matrix[classes])
    count = np.bincount(above.indices, minlength=taxonomy.n_nodes)
    nodes = np.flatnonzero(count)
    inner = np.flatnonzero(count[classes] > 1)  # another class is below
    place = np.cumsum(count > 0) - 1
    rows = np.concatenate([row_numbers(above.indptr), inner])
    columns = np.concatenate([place[above.indices], len(nodes) + np.arange(len(inner))])
    pattern = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(classes), len(nodes) + len(inner)))
    pattern.sort_indices()
    own = np.arange(pattern.shape[1]) >= len(nodes)
    return Terminals(pattern, np.concatenate([nodes, classes[inner]]).astype(np.int32), own)
