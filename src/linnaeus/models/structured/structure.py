"""What a model of this family knows of the taxonomy: which scores there are, and what labellings they favour.

A structure says how wide the rows of scores are (F, n_docs x width), makes the blocks that are trained, and reads
scores of new documents. Trees are in `tree`, DAGs in `closures`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from linnaeus.models.structured.blocks import Blocks
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Structure"]


class Structure(ABC):
    """Base; see the module docstring.

    Attributes
    ----------
    nodes : numbers of the nodes, the order of the columns of `margins` and `node_weights`.
    width, columns : of the rows of scores, see `faces`.
    """

    nodes: IntArray
    width: int
    columns: int

    @abstractmethod
    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray, **options: Any) -> Blocks:
        """The blocks of documents with closed label sets Y.

        ``weights`` are those of all nodes of the taxonomy, C those of the documents; ``options`` go to the blocks.
        """

    @abstractmethod
    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        """Best labelling with a node less best labelling without it, n_docs x len(nodes); above 0: in the best one."""

    @abstractmethod
    def node_weights(self, F: FloatArray) -> FloatArray:
        """U, n_docs x len(nodes): a consistent labelling scores the sum of U over its nodes, and a constant."""

    def decisive(self, F: FloatArray) -> FloatArray:
        """Scores above 0 at the nodes of the best labelling; cheaper than margins, where those are expensive."""
        return self.margins(F)
