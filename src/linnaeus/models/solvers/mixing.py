"""Weights with which several sources are mixed at every node, each pulled towards the weights of its parents.

A pair (d, v) is a document and a node; z_dv (one number per source, and a constant 1) are what the sources say about
it, y_dv whether it is true. With w_v of every vertex of the taxonomy, equal weights e = (1/S, ..., 1/S, 0) and S the
number of sources:

    min_W  1/2 sum_{v, parents p} |w_v - w_p|^2_S + 1/2 |w_root - e|^2_S + C sum_dv c_d loss(w_v'z_dv, y_dv)

    |u|^2_S = S (u_1^2 + ... + u_S^2) + u_0^2,  so that a source given twice shares the weight that it would have alone
    loss    log(1 + e^t) - y t for label sets; the soft-max over the pairs of a document where it has one label

The regulariser is 1/2 <U, A U> with U = W - e and A the Laplacian of the links (plus 1 at the root) times diag(S, ..,
S, 1). The losses join the terms of one vertex in small blocks, so A plus these blocks is a sparse matrix as large as
the taxonomy: factorised, it solves the Newton system of label sets, and preconditions conjugate gradients for the
soft-max, which also joins the nodes of a document. The objective is A-strongly convex, so that

    P(W) - min P <= 1/2 <g, A^-1 g>

certifies every solution by its gradient g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linnaeus.models.solvers.cg import Which, conjugate_gradients, line_search, whole_dot
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["MixingProblem", "MixingSolution", "Pulls", "pulls_of"]

_PRODUCTS = 100


@dataclass(frozen=True)
class Pulls:
    """Which vertices pull at each other.

    Attributes
    ----------
    vertices : ndarray of int
        Node numbers of the vertices, -1 for an artificial root above several tops.
    laplacian : sparse array of shape (n_vertices, n_vertices)
        The Laplacian of the links, plus 1 where a vertex is pulled towards equal weights.
    """

    vertices: IntArray
    laplacian: CSR


def pulls_of(taxonomy: Taxonomy, nodes: IntArray) -> Pulls:
    """Links between nodes, what is above them, and a root.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B", "BB"]])
    >>> pulls = pulls_of(tax, tax.leaves)
    >>> tax.names[pulls.vertices[1:]].tolist(), pulls.vertices[0].item()
    (['A', 'B', 'AA', 'BB'], -1)
    >>> pulls.laplacian.toarray()[0].tolist()
    [3.0, -1.0, -1.0, 0.0, 0.0]
    """
    from scipy import sparse

    graph = taxonomy.kind == "graph"
    reached = np.arange(taxonomy.n_nodes) if graph else np.unique(taxonomy.ancestor_matrix[nodes].indices)
    child = row_numbers(taxonomy.parent_indptr)
    pairs = np.column_stack([child, taxonomy.parent_indices])
    pairs = pairs[pairs[:, 0] > pairs[:, 1]] if graph else pairs[np.isin(child, reached)]
    if taxonomy.root is None:
        tops = _centres(taxonomy) if graph else reached[np.diff(taxonomy.parent_indptr)[reached] == 0]
        pairs = np.concatenate([pairs, np.column_stack([tops, np.full(len(tops), -1)])])
        reached = np.concatenate([[-1], reached])
    else:
        reached = np.union1d(reached, [taxonomy.root])
    u, v = np.searchsorted(reached, pairs).T
    n = len(reached)
    links = sparse.coo_array((np.ones(len(u)), (u, v)), shape=(n, n))
    links = links + links.T
    degree = np.asarray(links.sum(axis=1)).ravel()
    degree[np.searchsorted(reached, -1 if taxonomy.root is None else taxonomy.root)] += 1
    return Pulls(reached.astype(np.int32), sparse.csr_array(sparse.diags_array(degree) - links))


def _centres(taxonomy: Taxonomy) -> IntArray:
    """The vertex of most links of every component of an undirected graph."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n, indptr = taxonomy.n_nodes, taxonomy.parent_indptr
    ones = np.ones(len(taxonomy.parent_indices))
    adjacency = sparse.csr_array((ones, taxonomy.parent_indices, indptr), shape=(n, n))
    component = connected_components(adjacency, directed=False)[1]
    order = np.lexsort((-np.diff(indptr), component))
    return np.asarray(order[np.unique(component[order], return_index=True)[1]])


class MixingSolution(NamedTuple):
    """Weights (n_vertices x n_sources + 1, the constant last), the objective and a bound on how far it is from the
    smallest one, and the number of steps.
    """

    weights: FloatArray
    objective: float
    gap: float
    n_iter: int
    converged: bool


@dataclass
class MixingProblem:
    """What the sources say about pairs, and the truth.

    Parameters
    ----------
    Z : ndarray of shape (n_pairs, n_sources)
        What the sources say, as log-odds.
    truth : ndarray of float
        Ndarray of shape (n_pairs,) 1 where the pair is true, else 0.
    vertex : ndarray of int, shape (n_pairs,)
        The place of the pair's node among the vertices of ``pulls``.
    weight : ndarray of shape (n_pairs,)
        C times the weight of the document.
    pulls : Pulls
        Pulls Which vertices pull at each other.
    starts : ndarray of int or None, default=None
        First pair of every document, for the soft-max over its pairs; None for label sets.
    """

    Z: FloatArray
    truth: FloatArray
    vertex: IntArray
    weight: FloatArray
    pulls: Pulls
    starts: IntArray | None = None

    def __post_init__(self) -> None:
        from scipy import sparse
        from scipy.sparse.linalg import splu

        self.Z = np.column_stack([self.Z, np.ones(len(self.Z))])
        self.n_terms, self.n_vertices = self.Z.shape[1], self.pulls.laplacian.shape[0]
        n_sources = self.n_terms - 1
        self.equal = np.append(np.full(n_sources, 1 / n_sources), 0.0)
        self.scale = np.append(np.full(n_sources, float(n_sources)), 1.0)
        self.regulariser = sparse.kron(self.pulls.laplacian, sparse.diags_array(self.scale), format="csc")
        self._inverse: Callable[[FloatArray], FloatArray] = splu(sparse.csc_array(self.pulls.laplacian)).solve
        if self.starts is not None:
            self.document = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.Z))))

    def solve(self, tol: float = 1e-6, max_iter: int = 100) -> MixingSolution:
        """Newton's method until the certified gap is ``tol`` of the objective, or of a millionth of all weights where
        the sources are right about everything.
        """
        least = 1e-6 * float(self.weight.sum())
        U = np.zeros((self.n_vertices, self.n_terms))
        t = self._scores(U + self.equal)
        value = self._loss(t)
        for iteration in range(max_iter + 1):
            probability = self._probabilities(t)
            AU = self._pulled(U)
            objective = 0.5 * float(whole_dot(U, AU)) + value
            G = AU + self._by_vertex(self.weight * (probability - self.truth))
            gap = 0.5 * float(whole_dot(G, self._inverse(G) / self.scale))
            if gap <= tol * max(objective, least) or iteration == max_iter:
                break
            V = self._direction(G, probability)
            tV = self._scores(V)
            step = self._step(V, G, AU, t, tV, value)
            if not step:  # rounding leaves no descent: the gap stands as certified
                break
            U, t = U + step * V, t + step * tV
            value = self._loss(t)
        return MixingSolution(U + self.equal, objective, gap, iteration, bool(gap <= tol * max(objective, least)))

    def _step(self, V: FloatArray, G: FloatArray, AU: FloatArray, t: FloatArray, tV: FloatArray, value: float) -> float:
        """Length of the step along V, whose scores are tV; 0 where rounding leaves no descent."""
        linear, bend = whole_dot(V, AU), whole_dot(V, self._pulled(V))

        def rise(length: FloatArray, _: Which) -> FloatArray:
            return length * linear + 0.5 * length**2 * bend + self._loss(t + length * tV) - value

        return float(line_search(rise, np.atleast_1d(whole_dot(G, V)))[0])

    def _direction(self, G: FloatArray, probability: FloatArray) -> FloatArray:
        """The Newton direction: exact for label sets, whose Hessian is what preconditions; else to a tenth."""
        from scipy.sparse.linalg import splu

        starts = self.starts
        curvature = self.weight * probability * (1 if starts is not None else 1 - probability)
        matrix = self._with_blocks(curvature)

        def product(v: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
            if starts is None:
                return matrix @ v, None
            u = self._scores(v.reshape(G.shape))
            mean = np.add.reduceat(probability * u, starts)[self.document]
            return self.regulariser @ v + self._by_vertex(curvature * (u - mean)).ravel(), None

        x = conjugate_gradients(product, -G.ravel(), max_products=_PRODUCTS, precondition=splu(matrix).solve).x
        return x.reshape(G.shape)

    def _with_blocks(self, curvature: FloatArray) -> CSR:
        """The regulariser plus, for every vertex, the sum of curvature z z' over its pairs."""
        from scipy import sparse

        terms = self.n_terms
        blocks = np.empty((self.n_vertices, terms, terms))
        for i in range(terms):
            weighted = curvature * self.Z[:, i]
            for j in range(i + 1):
                blocks[:, i, j] = blocks[:, j, i] = np.bincount(self.vertex, weighted * self.Z[:, j], self.n_vertices)
        place = np.arange(self.n_vertices)
        diagonal = sparse.bsr_array((blocks, place, np.arange(self.n_vertices + 1)))
        return sparse.csc_array(self.regulariser + diagonal)

    def _scores(self, W: FloatArray) -> FloatArray:
        """w_v'z of every pair."""
        t = self.Z[:, 0] * W[self.vertex, 0]
        for i in range(1, self.n_terms):
            t += self.Z[:, i] * W[self.vertex, i]
        return t

    def _by_vertex(self, r: FloatArray) -> FloatArray:
        """The sum of r z over the pairs of every vertex."""
        columns = [np.bincount(self.vertex, r * self.Z[:, i], self.n_vertices) for i in range(self.n_terms)]
        return np.column_stack(columns)

    def _pulled(self, U: FloatArray) -> FloatArray:
        return np.asarray(self.pulls.laplacian @ U) * self.scale

    def _probabilities(self, t: FloatArray) -> FloatArray:
        from scipy.special import expit

        if self.starts is None:
            return np.asarray(expit(t))
        E = np.exp(t - np.maximum.reduceat(t, self.starts)[self.document])
        return np.asarray(E / np.add.reduceat(E, self.starts)[self.document])

    def _loss(self, t: FloatArray) -> float:
        if self.starts is None:
            return float(self.weight @ (np.logaddexp(0.0, t) - self.truth * t))
        high = np.maximum.reduceat(t, self.starts)
        norm = high + np.log(np.add.reduceat(np.exp(t - high[self.document]), self.starts))
        return float((self.weight * self.truth) @ (norm[self.document] - t))
