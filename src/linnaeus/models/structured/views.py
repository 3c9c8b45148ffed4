"""Spaces of scores in which labellings are vectors: score(y) = <f, psi(y)>.

A view reads rows of scores as the faces keep them (n_docs x width) and says what labellings make of them:

    scores(F)         rows of scores in the space of psi, n_docs x size
    vectors(labels)   psi(y) of every document's labelling, n_docs x size
    pairs(f)          the same scores as scores of pairs, for the oracles of `labelings`
    rows(D)           coefficients in the space of psi as rows of the faces

`EdgeView` has one coordinate for each labelling of each edge of a tree, `PathView` one for each node, on where the node
and with it all nodes above it are on, `GraphView` the edges of any graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from linnaeus.models.structured.labelings import PairLabelings
from linnaeus.models.structured.layout import Layout
from linnaeus.models.structured.tree import edge_scores
from linnaeus.typing import BoolArray, FloatArray

__all__ = ["EdgeView", "GraphView", "PathView", "View", "compressed", "padded_width", "tree_labelings"]

_LINE = 16  # columns of a row come in whole cache lines


class View(ABC):
    """Base; see the module docstring."""

    labelings: PairLabelings

    @abstractmethod
    def scores(self, F: FloatArray) -> FloatArray: ...

    @abstractmethod
    def vectors(self, labels: BoolArray) -> FloatArray: ...

    @abstractmethod
    def pairs(self, f: FloatArray) -> FloatArray: ...

    @abstractmethod
    def rows(self, D: FloatArray) -> FloatArray: ...


class EdgeView(View):
    """Edges of a tree; rows leave out the column of every edge that follows from the others."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.labelings = layout, tree_labelings(layout)

    def scores(self, F: FloatArray) -> FloatArray:
        return edge_scores(F, self.layout).reshape(len(F), -1)

    def vectors(self, labels: BoolArray) -> FloatArray:
        return self.labelings.indicators(labels).reshape(len(labels), -1)

    def pairs(self, f: FloatArray) -> FloatArray:
        return f.reshape(len(f), -1, 4)

    def rows(self, D: FloatArray) -> FloatArray:
        return compressed(D.reshape(len(D), -1, 4), self.layout)


class PathView(View):
    """Partial paths of a tree: a node's score counts where the node is on; labellings are consistent."""

    def __init__(self, layout: Layout) -> None:
        self.n, self.labelings = layout.n, tree_labelings(layout)

    def scores(self, F: FloatArray) -> FloatArray:
        return np.asarray(F[:, : self.n], dtype=np.float64)

    def vectors(self, labels: BoolArray) -> FloatArray:
        return labels.astype(np.float64)

    def pairs(self, f: FloatArray) -> FloatArray:
        H = np.zeros((*f.shape, 4))
        H[:, :, 3] = f
        return H

    def rows(self, D: FloatArray) -> FloatArray:
        return np.pad(D, ((0, 0), (0, padded_width(self.n) - self.n)))


class GraphView(View):
    """Edges of any graph, all four columns of each."""

    def __init__(self, labelings: PairLabelings) -> None:
        self.labelings, self.size = labelings, 4 * len(labelings.first)

    def scores(self, F: FloatArray) -> FloatArray:
        return np.asarray(F[:, : self.size], dtype=np.float64)

    def vectors(self, labels: BoolArray) -> FloatArray:
        return self.labelings.indicators(labels).reshape(len(labels), -1)

    def pairs(self, f: FloatArray) -> FloatArray:
        return f.reshape(len(f), -1, 4)

    def rows(self, D: FloatArray) -> FloatArray:
        return np.pad(D, ((0, 0), (0, padded_width(self.size) - self.size)))


def padded_width(size: int) -> int:
    """Columns of a row that holds ``size`` scores.

    Examples
    --------
    >>> padded_width(3), padded_width(32)
    (16, 32)
    """
    return -(-size // _LINE) * _LINE


def tree_labelings(layout: Layout) -> PairLabelings:
    """The labellings of a tree; pair p is the edge above node p."""
    counted = layout.tied.astype(bool)
    return PairLabelings(layout.n, layout.parent, np.arange(layout.n), counted, layout.consistent, tree=True)


def compressed(D: FloatArray, layout: Layout) -> FloatArray:
    """Coefficients of all edges (n_docs x n x 4, each edge summing to 0) as rows: the inverse of `tree.edge_scores`."""
    kept = [2, 3] if layout.consistent else [0, 2, 3]
    rows = np.zeros((len(D), layout.width))
    rows[:, : layout.n * layout.columns] = D[:, :, kept].reshape(len(D), -1)
    return rows
