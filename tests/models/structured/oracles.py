"""What the max-margin Markov tree is measured against: all labellings, tried one by one, and a generic solver.

A tree is a list of parents (-1 above the root), a labelling a tuple of 0 and 1. With psi(y) the 0/1 vector that says
which label pair every edge has, documents known by their Gram matrix K, and i's true labelling y_i,

    primal           min_{w, xi}  1/2 |w|^2 + C sum_i xi_i,       xi_i >= l(y_i, y) - <w, d_iy> for every y
    over labellings   max_{a >= 0}  sum a_iy l(y_i, y) - 1/2 |sum a_iy d_iy|^2,    sum_y a_iy <= C
    over marginals   the same in mu_e(i, u) = sum of a_iy over labellings that have the pair u on edge e

with d_iy = phi(x_i) (x) (psi(y_i) - psi(y)), for any psi and any loss: orthogonal edge features, partial paths, any set
of competing labellings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from linnaeus import Taxonomy

Labelling = tuple[int, ...]

# Tree A: 0 above 1 and 2, 1 above 3. Tree B: the same with one more child of 1.
TREE_A = [-1, 0, 0, 1]
TREE_B = [-1, 0, 0, 1, 1]


def taxonomy_of(parents: Sequence[int]) -> Taxonomy:
    """The tree as a taxonomy without a root that says nothing: every node, the top one too, has to be decided."""
    edges = [(f"n{p}", f"n{v}") for v, p in enumerate(parents) if p >= 0]
    return Taxonomy.from_edges(edges, nodes=[f"n{v}" for v in range(len(parents))], root=None)


# -- labellings and losses ---------------------------------------------------------------------------------------------


def labellings(parents: Sequence[int], *, consistent: bool = False) -> list[Labelling]:
    found = list(product([0, 1], repeat=len(parents)))
    return [y for y in found if not consistent or is_consistent(parents, y)]


def is_consistent(parents: Sequence[int], y: Labelling) -> bool:
    return all(y[p] >= y[v] for v, p in enumerate(parents) if p >= 0)


def weights_of_nodes(parents: Sequence[int], scaling: str) -> np.ndarray:
    """c_j of the tree alone: the top has 1."""
    k = len(parents)
    if scaling == "uniform":
        return np.ones(k)
    if scaling == "sibling":
        c = np.ones(k)
        for v, p in enumerate(parents):
            if p >= 0:
                c[v] = c[p] / sum(q == p for q in parents)
        return c
    return np.array([sum(j in path(parents, v) for v in range(k)) / k for j in range(k)])


def path(parents: Sequence[int], v: int) -> list[int]:
    """The node and everything above it."""
    return [v] if parents[v] < 0 else [v, *path(parents, parents[v])]


def loss(parents: Sequence[int], cost: str, c: np.ndarray, y: Labelling, u: Labelling) -> float:
    """``zero_one``, ``symmetric``, ``h`` (no mistake at any ancestor), ``hierarchical`` (none at the parent)."""
    wrong = [a != b for a, b in zip(y, u, strict=True)]
    if cost == "zero_one":
        return float(any(wrong))
    above = {
        "symmetric": lambda v: [],
        "h": lambda v: path(parents, v)[1:],
        "hierarchical": lambda v: [parents[v]] if parents[v] >= 0 else [],
    }[cost]
    return float(sum(c[v] for v in range(len(parents)) if wrong[v] and not any(wrong[a] for a in above(v))))


def edge_pairs(parents: Sequence[int], y: Labelling) -> list[int]:
    """u_e(y) = 2 [label of the parent] + [label of the child] for every node; above a top stands a label 1."""
    return [2 * (y[p] if p >= 0 else 1) + y[v] for v, p in enumerate(parents)]


def psi(parents: Sequence[int], y: Labelling, *, above_root: bool) -> np.ndarray:
    """k x 4: which pair the edge above every node has; the top has none unless a node is put above it."""
    found = np.zeros((len(parents), 4))
    found[np.arange(len(parents)), edge_pairs(parents, y)] = 1
    if not above_root:
        found[[v for v, p in enumerate(parents) if p < 0]] = 0
    return found


def psi_paths(y: Labelling) -> np.ndarray:
    """k: whether a node and all above it are on, for consistent labellings."""
    return np.array(y, dtype=float)


# -- a generic solver --------------------------------------------------------------------------------------------------


def solve_qp(P: Any, q: Any, G: Any, h: Any, A: Any = None, b: Any = None) -> tuple[np.ndarray, float]:
    """min 1/2 x'Px + q'x over Gx <= h, Ax = b, by a primal-dual interior point method: (x, value)."""
    P, q, G, h = (np.asarray(part, dtype=float) for part in (P, q, G, h))
    n, m = len(q), len(h)
    A, b = (np.zeros((0, n)), np.zeros(0)) if A is None else _independent(np.asarray(A, float), np.asarray(b, float))
    x, nu, s, z = np.zeros(n), np.zeros(len(b)), np.maximum(h, 1.0), np.ones(m)
    for _ in range(100):
        r_d, r_p, r_e = P @ x + q + G.T @ z + A.T @ nu, G @ x + s - h, A @ x - b
        mu, W = s @ z / m, z / s
        if m * mu < 5e-8 and max(np.abs(r).max(initial=0) for r in (r_d, r_p, r_e)) < 1e-8:
            return x, float(0.5 * x @ P @ x + q @ x)
        # A little added to the diagonal: optima need not be unique, and only the direction depends on it.
        top = P + G.T @ (W[:, None] * G) + 1e-10 * np.eye(n)
        KKT = np.block([[top, A.T], [A, np.zeros((len(b), len(b)))]])

        def step(r_c: Any, KKT: Any = KKT, s: Any = s, z: Any = z, r: Any = (r_d, r_p, r_e)) -> Any:
            moved = np.linalg.solve(KKT, np.concatenate([-r[0] - G.T @ ((z * r[1] - r_c) / s), -r[2]]))
            ds = -r[1] - G @ moved[:n]
            return moved[:n], moved[n:], ds, -(r_c + z * ds) / s

        _, _, ds, dz = step(s * z)
        room = min(_room(s, ds), _room(z, dz))
        centred = ((s + room * ds) @ (z + room * dz) / m / mu) ** 3 * mu
        dx, dnu, ds, dz = step(s * z + ds * dz - centred)
        room = 0.99 * min(_room(s, ds), _room(z, dz))
        x, nu, s, z = x + room * dx, nu + room * dnu, s + room * ds, z + room * dz
    raise AssertionError(f"the interior point method did not converge: mu={mu:g}")


def _independent(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same equations without those that follow from others."""
    U, sizes, V = np.linalg.svd(A, full_matrices=False)
    kept = sizes > 1e-10
    return V[kept], (U.T @ b)[kept] / sizes[kept]


def _room(value: np.ndarray, step: np.ndarray) -> float:
    down = step < 0
    return min(1.0, float((-value[down] / step[down]).min(initial=np.inf)))


# -- the problem -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A small problem: parents, Gram matrix, true labellings, loss, C, root mode, competing labellings, features."""

    parents: Sequence[int]
    K: Any
    truth: list[Labelling]
    cost: str = "symmetric"
    scaling: str = "uniform"
    C: float = 1.0
    above_root: bool = False
    consistent: bool = False
    paths: bool = False
    without_truth: bool = False  # free slack: the true labelling does not compete
    c: Any = None  # weights of nodes, where they are not those of the tree alone

    @cached_property
    def documents(self) -> np.ndarray:
        """Vectors with the Gram matrix K."""
        values, vectors = np.linalg.eigh(np.asarray(self.K, dtype=float))
        return vectors * np.sqrt(np.maximum(values, 0))

    @cached_property
    def weights(self) -> np.ndarray:
        return weights_of_nodes(self.parents, self.scaling) if self.c is None else np.asarray(self.c)

    def features(self, y: Labelling) -> np.ndarray:
        return psi_paths(y) if self.paths else psi(self.parents, y, above_root=self.above_root).ravel()

    def loss(self, y: Labelling, u: Labelling) -> float:
        return loss(self.parents, self.cost, self.weights, y, u)

    def competitors(self, i: int) -> list[Labelling]:
        found = labellings(self.parents, consistent=self.consistent or self.paths)
        return [y for y in found if not (self.without_truth and y == self.truth[i])]

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every pair of document and competitor: the document, the loss, phi(x_i) (x) (psi(y_i) - psi(y))."""
        owner, losses, rows = [], [], []
        for i, y_i in enumerate(self.truth):
            for y in self.competitors(i):
                owner.append(i)
                losses.append(self.loss(y_i, y))
                rows.append(np.outer(self.features(y_i) - self.features(y), self.documents[i]).ravel())
        return np.array(owner), np.array(losses), np.array(rows)


def primal_optimum(case: Case) -> tuple[float, np.ndarray, np.ndarray]:
    """(P*, weights over features x coordinates of documents, slacks)."""
    owner, losses, rows = case.rows
    n, m = rows.shape[1], len(case.truth)
    P = np.diag(np.append(np.ones(n), np.zeros(m)))
    q = np.append(np.zeros(n), np.full(m, case.C))
    x, value = solve_qp(P, q, -np.hstack([rows, np.eye(m)[owner]]), -losses)
    return value, x[:n].reshape(-1, case.documents.shape[1]), x[n:]


def dual_optimum(case: Case, *, equality: bool = False) -> float:
    """The dual over labellings; ``equality`` asks that all of C is used, which free slack always does."""
    owner, losses, rows = case.rows
    totals, m = np.eye(len(case.truth))[owner].T, len(case.truth)
    bounds, limits = -np.eye(len(owner)), np.zeros(len(owner))
    if equality or case.without_truth:
        return -solve_qp(rows @ rows.T, -losses, bounds, limits, totals, np.full(m, case.C))[1]
    limits = np.append(limits, np.full(m, case.C))
    return -solve_qp(rows @ rows.T, -losses, np.vstack([bounds, totals]), limits)[1]


def scores_of(case: Case, weights: np.ndarray) -> np.ndarray:
    """F: m x k x 4 (or m x k for partial paths) scores of the training documents."""
    F = case.documents @ weights.T
    return F if case.paths else F.reshape(len(F), len(case.parents), 4)


def edge_losses(case: Case) -> np.ndarray:
    """l_e[t, u] as k x 4 x 4: every node's share divided by the number of its edges, as the definition has it.

    The hierarchical loss of a node stands on its own edge alone; only a top without an edge above is shared out.
    """
    parents, c, k = case.parents, case.weights, len(case.parents)
    degree = [sum(p == v for p in parents) + (parents[v] >= 0 or case.above_root) for v in range(k)]
    table = np.zeros((k, 4, 4))
    for v, p in enumerate(parents):
        for t, u in product(range(4), repeat=2):
            (tp, tc), (up, uc) = divmod(t, 2), divmod(u, 2)
            if p < 0:
                table[v, t, u] = (
                    0.0 if not case.above_root else c[v] * (tc != uc) / (degree[v] if case.cost == "symmetric" else 1)
                )
            elif case.cost == "symmetric":
                table[v, t, u] = c[p] * (tp != up) / degree[p] + c[v] * (tc != uc) / degree[v]
            else:
                shared = c[p] * (tp != up) / degree[p] if parents[p] < 0 and not case.above_root else 0.0
                table[v, t, u] = c[v] * (tc != uc and tp == up) + shared
    return table


def marginal_optimum(case: Case, *, tie_root: bool = True) -> float:
    """The dual over edge marginals; without ``tie_root`` the edges below the top are left untied, a relaxation."""
    parents, k, m = case.parents, len(case.parents), len(case.truth)
    edges = [v for v in range(k) if parents[v] >= 0 or case.above_root]
    n = m * len(edges) * 4
    at = {(i, v, u): 4 * (i * len(edges) + e) + u for i in range(m) for e, v in enumerate(edges) for u in range(4)}
    table = edge_losses(case)
    linear, rows = np.zeros(n), np.zeros((n, k * 4, case.documents.shape[1]))
    forbidden, A = [], []
    for i in range(m):
        true = edge_pairs(parents, case.truth[i])
        for v in edges:
            for u in range(4):
                linear[at[i, v, u]] = table[v, true[v], u]
                rows[at[i, v, u], 4 * v + true[v]] += case.documents[i]
                rows[at[i, v, u], 4 * v + u] -= case.documents[i]
                if (case.consistent and u == 1) or (parents[v] < 0 and u < 2):
                    forbidden.append(at[i, v, u])
            A.append(_row(n, [at[i, v, u] for u in range(4)], [at[i, edges[0], u] for u in range(4)]))
        A += _agreements(parents, edges, at, i, n, tie_root=tie_root)
    totals = np.stack([_row(n, [at[i, edges[0], u] for u in range(4)], []) for i in range(m)])
    kept = np.setdiff1d(np.arange(n), forbidden)
    rows, linear, equations = rows.reshape(n, -1)[kept], linear[kept], np.array(A)[:, kept]
    G, h = np.vstack([-np.eye(len(kept)), totals[:, kept]]), np.append(np.zeros(len(kept)), np.full(m, case.C))
    return -solve_qp(rows @ rows.T, -linear, G, h, equations, np.zeros(len(A)))[1]


def _agreements(
    parents: Sequence[int], edges: list[int], at: dict[Any, int], i: int, n: int, *, tie_root: bool
) -> list[np.ndarray]:
    """Two edges at one node give it the same mass of label 1."""
    found = []
    for v in edges:
        p = parents[v]
        if p >= 0:
            as_parent = [at[i, v, 2], at[i, v, 3]]
            if p in edges:
                found.append(_row(n, as_parent, [at[i, p, 1], at[i, p, 3]]))
            elif tie_root:
                first = next(e for e in edges if parents[e] == p)
                found.append(_row(n, as_parent, [at[i, first, 2], at[i, first, 3]]))
    return found


def _row(n: int, plus: list[int], minus: list[int]) -> np.ndarray:
    row = np.zeros(n)
    np.add.at(row, plus, 1.0)
    np.add.at(row, minus, -1.0)
    return row


def edge_slack_optimum(case: Case) -> float:
    """One slack for every document and edge: the primal."""
    table, m = edge_losses(case), len(case.truth)
    edges = [v for v, p in enumerate(case.parents) if p >= 0 or case.above_root]
    n, r, slacks = len(case.parents) * 4, case.documents.shape[1], m * len(edges)
    G, h = [], []
    for i, y in enumerate(case.truth):
        true = edge_pairs(case.parents, y)
        for e, v in enumerate(edges):
            for u in range(2 if case.parents[v] < 0 else 0, 4):
                if case.consistent and u == 1:
                    continue
                block = np.zeros((n, r))
                block[4 * v + true[v]] += case.documents[i]
                block[4 * v + u] -= case.documents[i]
                own = np.zeros(slacks)
                own[i * len(edges) + e] = 1
                G.append(-np.append(block.ravel(), own))
                h.append(-table[v, true[v], u])
    P = np.diag(np.append(np.ones(n * r), np.zeros(slacks)))
    q = np.append(np.zeros(n * r), np.full(slacks, case.C))
    return solve_qp(P, q, np.array(G), np.array(h))[1]


# -- conditional gradient by hand --------------------------------------------------------------------------------------


@dataclass
class Step:
    """One step: the document, the labelling it moves to, q = gap, r = curvature, tau; objective and gaps after it."""

    i: int
    y: Labelling
    q: float
    r: float
    tau: float
    dual: float
    primal: float
    gaps: np.ndarray


def conditional_gradient(case: Case, order: Sequence[int]) -> list[Step]:
    """Steps from zero with exact line search in one document's block at a time, by the definitions."""
    owner, losses, rows = case.rows
    alpha, found = np.zeros(len(owner)), []
    for i in order:
        gradient = losses - rows @ (rows.T @ alpha)
        mine = np.flatnonzero(owner == i)
        best = mine[gradient[mine].argmax()]
        d = np.where(owner == i, -alpha, 0.0)
        if gradient[best] > 0:
            d[best] += case.C
        q, r = float(gradient @ d), float(((rows.T @ d) ** 2).sum())
        tau = 1.0 if r <= 0 else min(1.0, q / r)
        alpha = alpha + tau * d
        gradient, norm = losses - rows @ (rows.T @ alpha), float(((rows.T @ alpha) ** 2).sum())
        slack = np.array([max(0.0, gradient[owner == j].max()) for j in range(len(case.truth))])
        gaps = np.array([case.C * slack[j] - (alpha * gradient)[owner == j].sum() for j in range(len(slack))])
        y = case.competitors(i)[int(best - mine[0])]
        found.append(Step(i, y, q, r, tau, losses @ alpha - norm / 2, norm / 2 + case.C * float(slack.sum()), gaps))
    return found
