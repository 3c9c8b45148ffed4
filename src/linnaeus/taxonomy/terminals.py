"""Classes as terminal nodes: what stands above each of the labels that are to be told apart.

Ranking models compare classes with each other. A class is a label that documents carry; where a class is itself above
another one (documents "of A, but of nothing below A"), it gets a place of its own below its node, so that no class
contains another. Row y of the pattern A (n_classes x n_places, 0/1) holds the ancestors of class y, itself included,
and this own place::

    R -> a, b;  a -> aa     classes a, aa, b      places  a  b  aa  a's own
                                                  a       1  .   .    1
                                                  aa      1  .   1    .
                                                  b       .  1   .    .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, IntArray

__all__ = ["Terminals", "terminals"]


@dataclass(frozen=True)
class Terminals:
    """The pattern A of the module docstring (CSR of float64 ones, sorted rows) and what its columns stand for.

    ``nodes`` is the node of each place; ``own`` says which places were added below an inner class.
    """

    pattern: CSR
    nodes: IntArray
    own: BoolArray

    @property
    def sizes(self) -> IntArray:
        """Places of every class: on a tree its depth, the root not counted."""
        return np.diff(self.pattern.indptr)

    @property
    def shared(self) -> BoolArray:
        """Which places all classes have: they tell nothing apart."""
        return np.asarray(self.pattern.sum(axis=0)).ravel() == self.pattern.shape[0]


def terminals(taxonomy: Taxonomy, classes: IntArray) -> Terminals:
    """The places of classes, given by node numbers; the root stands above all and is left out, unless it is a class.

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
    rows = np.concatenate([np.repeat(np.arange(len(classes)), np.diff(above.indptr)), inner])
    columns = np.concatenate([place[above.indices], len(nodes) + np.arange(len(inner))])
    pattern = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(classes), len(nodes) + len(inner)))
    pattern.sort_indices()
    own = np.arange(pattern.shape[1]) >= len(nodes)
    return Terminals(pattern, np.concatenate([nodes, classes[inner]]).astype(np.int32), own)
