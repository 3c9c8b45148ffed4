"""Greedy descent: from the tops downwards, keep the children with a score above theta.

Where no child of a kept node is above theta, the best one is taken (``leaf_mandatory``) or the path stops. Fast and not
exact: an error high up cannot be mended below, and only scores of children of kept nodes are looked at.

On a DAG a node is open only when all its parents are kept, or, with ``parents="any"``, when one of them is; the answer
then gets its other ancestors at the end. First everything open above theta is kept; then every kept node without a kept
child takes its best open child, all of them at once (so that the numbering of nodes does not matter), and so on until
nothing changes. Where all parents are asked for, a kept internal node of a DAG may end without a child: none was open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import Decoder, hierarchy, in_blocks, plain_theta, positions, theta_per_node
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["TopDown"]


@dataclass(frozen=True)
class TopDown(Decoder):
    """Descend from the tops, keeping children above theta, or else the best child.

    Parameters
    ----------
    theta : one threshold, or one for each node of the taxonomy; infinity keeps only the best child of every node.
    leaf_mandatory : take the best child where none is above theta; False lets paths stop anywhere.
    parents : "all" or "any": how many parents of a node must be kept before the node can be.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> S = [[1.0, -1.0, -0.5, -0.2]]                   # A, B, AA, AB
    >>> tax.labels(TopDown()(S, tax)), tax.labels(TopDown(leaf_mandatory=False)(S, tax))
    ([['A', 'AB']], [['A']])
    """

    name: ClassVar[str] = "top_down"
    theta: Any = 0.0
    leaf_mandatory: bool = True
    parents: str = "all"

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", plain_theta(self.theta))
        if self.parents not in ("all", "any"):
            hint = nearest(str(self.parents), ["all", "any"])
            raise ParameterError(f"parents={self.parents!r} is not one of 'all', 'any'{hint}")

    @property
    def single(self) -> bool:
        return self.leaf_mandatory and self.theta == np.inf

    def margins(self, S: Any, taxonomy: Taxonomy, columns: Any = None) -> FloatArray:
        """What nodes add to the log-probability of a set: scores here compare a node with its siblings only.

        A node joins with probability sigma(s_v - theta_v) once its parents have, so that a set weighs the sum over its
        members of  s_v - theta_v - sum over children c of log(1 + exp(s_c - theta_c)).  Where only the best child is
        followed, it is one of them: the log of the softmax among siblings.
        """
        nodes = np.arange(taxonomy.n_nodes) if columns is None else np.asarray(columns)
        edges, place = hierarchy(taxonomy), positions(taxonomy, nodes)
        above = np.repeat(np.arange(taxonomy.n_nodes), np.diff(edges.child_indptr))
        S = np.asarray(S, dtype=np.float64)
        if self.theta == np.inf:
            return S - _log_sum_of_siblings(S, nodes, edges.parent_indptr, edges.parent_indices)
        S = S - theta_per_node(self.theta, taxonomy)[nodes]
        U = S.copy()
        for p, c in zip(above.tolist(), edges.child_indices.tolist(), strict=True):
            if place[p] >= 0 and place[c] >= 0:
                U[:, place[p]] -= np.logaddexp(0.0, S[:, place[c]])
        return U

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


def _log_sum_of_siblings(S: FloatArray, nodes: IntArray, indptr: IntArray, parents: IntArray) -> FloatArray:
    """Of every node, the log of the sum of exp(score) over the nodes with its parents."""
    found = np.zeros_like(S)
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, v in enumerate(nodes.tolist()):
        groups.setdefault(tuple(parents[indptr[v] : indptr[v + 1]].tolist()), []).append(place)
    for group in groups.values():
        found[:, group] = np.logaddexp.reduce(S[:, group], axis=1)[:, None]
    return found
