"""What the parts of a maximum-margin model require of each other.

    Structure           what is known of the taxonomy: which scores there are and which labellings they favour
    DualBlocks          the dual variables, one block per document
    TrainingDocuments   the training documents and the weights that belong to the dual variables

D (n_docs x width) are the dual coefficients, ``columns`` independent ones for each edge (that of the last labelling of
an edge is minus their sum; 0: all are independent); F = K D (n_docs x width) are the scores of the documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

if TYPE_CHECKING:
    from typing import Self

    from linnaeus.decoding import RankedSets
    from linnaeus.decoding.rules import BoundRules
    from linnaeus.models.structured.block_ascent import BlockAscent

__all__ = ["DualBlocks", "Structure", "TrainingDocuments"]


class DualBlocks(Protocol):
    """Dual variables of the documents.

    Attributes
    ----------
    C : ndarray of shape (n_docs,)
        Weights of the documents.
    gaps : ndarray of shape (n_docs,)
        Gap of every document when it was last visited; infinity before the first visit.
    """

    @property
    def C(self) -> FloatArray: ...
    @property
    def gaps(self) -> FloatArray: ...

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        """Increase the dual in these documents and return the change of D (batch x width).

        F (batch x width) are their scores, ``gram`` (batch x batch) their kernel values; ``times`` multiplies the
        effort for each document.
        """
        ...

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        """max_y loss(y_i, y) + s (score(y) - score(y_i)) for every scale s, batch x len(scales)."""
        ...

    def linear_term(self) -> float:
        """Sum of the losses under the dual variables: dual = linear_term - |w|^2 / 2."""
        ...

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        """D of some documents."""
        ...

    def take(self, before: Self) -> None:
        """Start from the dual variables of the same documents under other weights C."""
        ...


class TrainingDocuments(Protocol):
    """Scores F = K D of the training documents, through weights or through a Gram matrix."""

    @property
    def dtype(self) -> np.dtype[np.floating]: ...

    def rows(self, batch: IntArray) -> FloatArray:
        """F of some documents, batch x width."""
        ...

    def gram(self, batch: IntArray) -> FloatArray:
        """Kernel values among some documents, batch x batch."""
        ...

    def add(self, batch: IntArray, change: FloatArray) -> None:
        """D[batch] += change."""
        ...

    def squared_norm(self) -> float:
        """|w|^2 of the weights as they are stored, dependent columns included."""
        ...

    def restart(self, D: FloatArray) -> float:
        """Start again from given coefficients, without accumulated rounding.

        Returns |w|^2 before the weights are rounded to ``dtype``.
        """
        ...

    def exact_rows(self, batch: IntArray) -> FloatArray:
        """F of some documents in double precision, from the weights as they are stored."""
        ...

    def weights(self) -> FloatArray | None:
        """Weights for new documents, n_features x width; None if only kernel values with documents score them."""
        ...


class Structure(Protocol):
    """Labellings of a taxonomy and their scores.

    Attributes
    ----------
    nodes : ndarray of int
        Numbers of the nodes, the columns of `margins`, `node_weights` and `best`.
    width, columns : int
        Of the rows of scores, see the module docstring.
    batch : int
        The number of documents that are visited at a time.
    solver : type
        The algorithm, `BlockAscent` or a subclass.
    """

    @property
    def nodes(self) -> IntArray: ...
    @property
    def width(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def solver(self) -> type[BlockAscent]: ...

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        """The blocks of documents with closed label sets Y.

        ``weights`` are those of all nodes of the taxonomy, C those of the documents.
        """
        ...

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        """The (prepared) training documents; ``bias`` is a constant feature."""
        ...

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        """Best labelling with a node minus best labelling without it, n_docs x len(nodes); above 0: in the best one."""
        ...

    def node_weights(self, F: FloatArray) -> FloatArray:
        """U, n_docs x len(nodes): a consistent labelling scores the sum of U over its nodes, and a constant."""
        ...

    def best(self, F: FloatArray, *, not_empty: bool = False) -> BoolArray:
        """The best consistent labelling, or the best one with a label, n_docs x len(nodes)."""
        ...

    def ranked(self, F: FloatArray, k: int, rules: BoundRules) -> RankedSets | None:
        """The k best labellings that the rules allow; None where `node_weights` rank them."""
        ...
