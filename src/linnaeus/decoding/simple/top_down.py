"""Greedy descent: from the tops downwards, keep the children with a score above theta.

Where no child of a kept node is above theta, the best one is taken (``leaf_mandatory``) or the path stops. Fast and not
exact: an error high up cannot be corrected below, and only scores of children of kept nodes are looked at.

On a DAG a node is open only when all its parents are kept, or, with ``parents="any"``, when one of them is; the answer
then gets its other ancestors at the end. First everything open above theta is kept; then every kept node without a kept
child takes its best open child, all of them at once (so that the numbering of nodes does not matter), and so on until
nothing changes. Where all parents are asked for, a kept internal node of a DAG may end without a child: none was open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import (
    Decoder,
    SetWeights,
    Theta,
    as_given,
    by_suppression,
    hierarchy,
    in_blocks,
    lowered,
    plain_theta,
    positions,
    scored_inner,
    theta_per_node,
)
from linnaeus.errors import DataError, check_choice
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["TopDown"]


@dataclass(frozen=True)
class TopDown(Decoder):
    """Descend from the tops, keeping children above theta, or else the best child.

    Parameters
    ----------
    theta : object, default=0.0
        One threshold, or one for each node of the taxonomy; infinity keeps only the best child of every node.
    leaf_mandatory : bool, default=True
        Take the best child where none is above theta; False lets paths stop anywhere.
    parents : str, default="all"
        "all" or "any": how many parents of a node must be kept before the node can be.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> S = [[1.0, -1.0, -0.5, -0.2]]                   # A, B, AA, AB
    >>> tax.labels(TopDown()(S, tax)), tax.labels(TopDown(leaf_mandatory=False)(S, tax))
    ([['A', 'AB']], [['A']])
    """

    name: ClassVar[str] = "top_down"
    theta: Theta = 0.0
    leaf_mandatory: bool = True
    parents: str = "all"

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", plain_theta(self.theta))
        check_choice("parents", self.parents, ("all", "any"))

    @property
    def single(self) -> bool:
        return self.leaf_mandatory and self.theta == np.inf

    @property
    def may_be_empty(self) -> bool:
        return not self.leaf_mandatory

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """A set loses the margins of the decisions on its way down that would have to be different."""
        S, nodes = as_given(S, taxonomy, columns)
        M = self.descent_margins(S, taxonomy, nodes, at_top=self.leaf_mandatory)
        Y = self(S, taxonomy, nodes)
        return SetWeights(by_suppression(M, Y, taxonomy, nodes), self.end_weights(Y, taxonomy, nodes))

    def descent_margins(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray, *, at_top: bool) -> FloatArray:
        """Scores less thresholds, which fall where the best child is taken although it does not pass.

        ``at_top`` says whether this holds at the top; below it holds with ``leaf_mandatory``.
        """
        M = S - theta_per_node(self.theta, taxonomy)[columns]
        return lowered(M, S, taxonomy, columns, at_top=at_top, inside=self.leaf_mandatory)

    def end_weights(self, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray | None:
        """Minus infinity at nodes where no path may end, if there are any; Y are the answers."""
        if not self.leaf_mandatory:
            return None
        inner = scored_inner(hierarchy(taxonomy), positions(taxonomy, columns))[columns]
        stopped = taxonomy.frontier(Y)[:, columns].toarray() > 0
        return np.where(inner & ~stopped, -np.inf, 0.0)

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
        """Minus what the scores of a path lack to the best of their families, over the best path to every end."""
        S, nodes = as_given(S, taxonomy, columns)
        edges, place = hierarchy(taxonomy), positions(taxonomy, nodes)
        inner = scored_inner(edges, place)
        reached = np.full(S.shape, -np.inf)
        n_parents = np.diff(edges.parent_indptr)
        tops = place[edges.tops]
        _take(reached, S, 0.0, tops[tops >= 0])
        for p in np.flatnonzero(place >= 0).tolist():  # parents come before their children
            below = edges.child_indices[edges.child_indptr[p] : edges.child_indptr[p + 1]]
            below = below[n_parents[below] == 1] if self.parents == "all" else below  # the others never open
            at = place[below]
            if not len(at[at >= 0]):
                inner[p] = False
            _take(reached, S, reached[:, [place[p]]], at[at >= 0])
        reached[:, inner[nodes]] = -np.inf
        return reached

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        from linnaeus._kernels.descent import descend

        edges, position = hierarchy(taxonomy), positions(taxonomy, columns)
        if len(S) and not (position[edges.tops] >= 0).any():
            raise DataError("TopDown starts at the top nodes, but none of them has a score; score internal nodes too.")
        theta = theta_per_node(self.theta, taxonomy)
        n_parents = np.diff(edges.parent_indptr).astype(np.int32)
        arrays = (*edges[:4], edges.tops, n_parents if self.parents == "all" else np.minimum(n_parents, 1))
        Y = in_blocks(lambda rows: descend(rows, position, theta, *arrays, self.leaf_mandatory), S, taxonomy.n_nodes)
        Y.sort_indices()
        return Y if self.parents == "all" else taxonomy.close(Y)


def _take(reached: FloatArray, S: FloatArray, above: FloatArray | float, at: IntArray) -> None:
    """Continue to the columns of one family, where this path is better than those before."""
    if len(at):
        own = S[:, at]
        best = own.max(axis=1, keepdims=True)
        reached[:, at] = np.maximum(reached[:, at], above + own - np.where(np.isfinite(best), best, 0.0))
