"""What it costs to rank a wrong class above a right one: D(y, z) >= 0, first the right class, D(y, y) = 0.

With A_y the places of class y (`taxonomy.terminals`: its ancestors, itself, its own place if it is above others)::

    half         1/2 |A_y ^ A_z|             the default; siblings are at 1 on a tree
    distance     |A_y ^ A_z|                 on a tree the edges between the two
    normalised   1/2 (|A_y - A_z| / |A_y| + |A_z - A_y| / |A_z|)       for classes at different depths
    zero_one     1 for y != z
    subscription c_minus vol(A_y - A_z) + c_plus vol(A_z - A_y)        volumes of nodes, costs of misses and alarms

All of these are sums over places, D(y, z) = n_y sum_(A_y - A_z) miss + n_z sum_(A_z - A_y) extra: no matrix is
needed. A matrix of the user's own is taken as it is. After Cai and Hofmann (2007).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus.errors import ParameterError, nearest
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.terminals import terminals
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["PAIR_COSTS", "PairCost", "check_pair_cost", "pair_cost"]

PAIR_COSTS = ("half", "distance", "normalised", "zero_one", "subscription")


@dataclass(frozen=True)
class PairCost:
    """Costs of pairs of classes: sums over places, or a matrix (n_classes x n_classes).

    ``pattern`` (n_classes x n_places, CSR of ones) are the places; ``miss`` and ``extra`` have one entry per place,
    ``scale`` (n_y above) one per class. Where ``matrix`` is not empty it is the cost.
    """

    pattern: CSR
    miss: FloatArray
    extra: FloatArray
    scale: FloatArray
    matrix: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def n_classes(self) -> int:
        return int(self.pattern.shape[0])

    def row(self, y: int) -> FloatArray:
        """D(y, z) for all z (n_classes)."""
        if self.matrix.size:
            return self.matrix[y]
        A = self.pattern
        own = np.zeros(A.shape[1])
        own[A.indices[A.indptr[y] : A.indptr[y + 1]]] = 1.0
        missed = self.miss @ own - A @ (self.miss * own)
        cost: FloatArray = self.scale[y] * missed + self.scale * (A @ (self.extra * (1.0 - own)))
        cost[y] = 0.0
        return cost

    def dense(self) -> FloatArray:
        """All costs, n_classes x n_classes; for few classes."""
        return np.array([self.row(y) for y in range(self.n_classes)])


def check_pair_cost(cost: object) -> None:
    """Refuse what is neither a name nor a matrix."""
    if isinstance(cost, str):
        if cost not in PAIR_COSTS:
            raise ParameterError(
                f"cost={cost!r}; expected one of {', '.join(PAIR_COSTS)}, or a matrix{nearest(cost, PAIR_COSTS)}"
            )
    elif not hasattr(cost, "shape") or len(cost.shape) != 2:
        given = type(cost).__name__
        raise ParameterError(f"cost is a {given}; expected one of {', '.join(PAIR_COSTS)}, or a matrix.")


def pair_cost(
    taxonomy: Taxonomy,
    classes: IntArray,
    cost: str | npt.ArrayLike = "half",
    *,
    volumes: FloatArray | None = None,
    c_minus: float = 1.0,
    c_plus: float = 1.0,
) -> PairCost:
    """Costs of pairs of classes, given by node numbers.

    ``cost`` is a name of the module docstring, or a matrix (n_nodes x n_nodes, right class first). ``volumes`` (one per
    node, default 1), ``c_minus`` and ``c_plus`` belong to "subscription".

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> classes = np.array([tax.index(name) for name in ("AA", "AB", "B")])
    >>> pair_cost(tax, classes).row(0).tolist(), pair_cost(tax, classes, "zero_one").row(0).tolist()
    ([0.0, 1.0, 1.5], [0.0, 1.0, 1.0])
    """
    check_pair_cost(cost)
    n_classes = len(classes)
    if not isinstance(cost, str):
        return _given(taxonomy, classes, cost)
    if cost == "zero_one":
        half = np.full(n_classes, 0.5)
        return PairCost(sparse.csr_array(sparse.identity(n_classes, format="csr")), half, half, np.ones(n_classes))
    found = terminals(taxonomy, classes)
    unit = np.ones(len(found.nodes))
    scale = np.ones(n_classes)
    if cost == "normalised":
        scale = 1.0 / np.maximum(found.sizes, 1)
    if cost == "subscription":
        weights = unit if volumes is None else _volumes(taxonomy, volumes)[found.nodes]
        return PairCost(found.pattern, c_minus * weights, c_plus * weights, scale)
    factor = 1.0 if cost == "distance" else 0.5
    return PairCost(found.pattern, factor * unit, factor * unit, scale)


def _volumes(taxonomy: Taxonomy, volumes: object) -> FloatArray:
    given = np.asarray(volumes, dtype=np.float64)
    if given.shape != (taxonomy.n_nodes,) or not np.isfinite(given).all() or (given < 0).any():
        raise ParameterError(
            f"volumes has shape {given.shape}; expected {taxonomy.n_nodes} finite numbers of at least 0, one per node."
        )
    return given


def _given(taxonomy: Taxonomy, classes: IntArray, matrix: npt.ArrayLike) -> PairCost:
    D = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
    n = taxonomy.n_nodes
    if D.shape != (n, n):
        raise ParameterError(f"The matrix of costs has shape {D.shape}; expected {n} x {n}, one row for each node.")
    if not np.isfinite(D).all() or (D < 0).any() or np.diag(D).any():
        raise ParameterError("A matrix of costs has finite entries of at least 0, and zeros on its diagonal.")
    classes, q = np.asarray(classes), len(classes)
    nothing = np.zeros(q)
    D = np.ascontiguousarray(D[np.ix_(classes, classes)])
    return PairCost(sparse.csr_array(sparse.identity(q, format="csr")), nothing, nothing, nothing, D)
