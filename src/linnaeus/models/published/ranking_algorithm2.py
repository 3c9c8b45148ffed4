"""Algorithm 2 of Cai's thesis as it is written: always the document that violates its optimality most.

    repeat   i = the document of largest violation psi_i = max_p H_p - min_{p with mass} H_p;  stop if psi_i <= epsilon
             add its pair of largest H to its working set S_i
             8a  solve the problem of S_i exactly          8b  solve the problem of all working sets together
             leave pairs without mass

in the space of documents and classes: scores F (n_docs x n_classes) are brought up to date after every step, with the
Gram matrix K of documents and L = A A' of classes. A step costs n_docs x n_classes, so this is for some hundreds of
documents; `models.ranking.solver` is the same optimisation for many. Step 8b is 8a over all working sets until none is
violated much. The problem of a working set is a concave quadratic over a simplex, which `solve_block` solves exactly:

    max_b  c'b - 1/2 b'Qb        b >= 0,  sum b <= C

Q (m x m) is positive semi-definite and often singular. A null pair with c = 0 and a row of zeros in Q takes the rest of
C, so that sum b = C. Active set method: on the support, go to the optimum over sum d = 0 (or along a direction without
curvature), until a b becomes 0, and drop it; then add the pair of largest gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linnaeus.engine import Clock
from linnaeus.models.ranking.solver import RankingProblem, RankingSolution
from linnaeus.typing import FloatArray, IntArray

__all__ = ["solve_block", "solve_by_worst"]

_INNER = 1000  # rounds of 8b over all working sets, at most


def solve_by_worst(
    problem: RankingProblem,
    *,
    every: bool,
    tol: float,
    epsilon: float | None,
    max_iter: int,
    clock: Clock | None = None,
    measured: Callable[[float], None] = lambda gap: None,
) -> RankingSolution:
    """Solve a problem given by its Gram matrix; ``every``: step 8b. ``max_iter`` counts as many steps as documents."""
    run = _WorkingSets(problem)
    n_docs, steps, converged = problem.rows.n_docs, 0, not len(run.trained)
    curve = []
    while not converged and steps < max_iter * n_docs:
        psi, gaps, best = run.violations()
        P, D = run.objectives()
        if steps % n_docs == 0 or gaps.sum() <= tol * P:
            curve.append((steps / n_docs, P, D))
            measured((P - D) / max(P, 1e-300))
        converged = psi.max() <= epsilon if epsilon is not None else P - D <= tol * P
        if converged or (clock is not None and clock.over):
            break
        # To close the gap, the document that adds most to it: psi may be large with almost no mass.
        i = int(np.argmax(psi if epsilon is not None else gaps))
        run.add(i, best[i])
        if every:
            run.solve_all(0.1 * float(psi[i]))
        else:
            run.solve(i)
        steps += 1
    psi, gaps, _ = run.violations()
    P, D = run.objectives()
    curve.append((steps / n_docs, P, D))
    docs, ys, zs, alpha = run.active()
    B = np.zeros(run.F.shape)
    np.add.at(B, (docs, ys), alpha)
    np.add.at(B, (docs, zs), -alpha)
    return RankingSolution(
        B @ run.L, np.zeros(run.F.shape[1]), P, max(P - D, 0.0), float(psi.max(initial=0.0)), -(-steps // n_docs),
        bool(converged), (docs, ys, zs, alpha), run.losses(), np.array(curve),
    )  # fmt: skip


class _WorkingSets:
    """F = K B L (n_docs x n_classes), and working sets of pairs (y, z) with their masses."""

    def __init__(self, problem: RankingProblem) -> None:
        rows = problem.rows
        self.K = rows.data.reshape(rows.n_docs, rows.n_docs).astype(np.float64)
        A = problem.classes.attributes
        self.L = (A @ A.T).toarray()
        self.D = problem.classes.cost.dense()
        self.bound, self.trained = problem.bound, problem.trained
        self.relevant = problem.labels.toarray() > 0
        self.F: FloatArray = np.zeros(self.relevant.shape)
        self.sets: dict[int, dict[tuple[int, int], float]] = {int(i): {} for i in self.trained}

    def H(self, i: int) -> FloatArray:
        """H of all pairs of document i (n_classes x n_classes), minus infinity where there is no pair."""
        F, right = self.F[i], self.relevant[i]
        H = self.D * (1 - F[:, None] + F)
        H[~right] = -np.inf
        H[:, right] = -np.inf
        return H

    def losses(self) -> FloatArray:
        loss = np.zeros(len(self.F))
        for i in self.sets:
            loss[i] = max(0.0, float(self.H(i).max()))
        return loss

    def violations(self) -> tuple[FloatArray, FloatArray, list[tuple[int, int]]]:
        """psi_i, the share g_i of every document in P - D, and its pair of largest H."""
        psi, gaps = np.zeros(len(self.F)), np.zeros(len(self.F))
        best = [(0, 0)] * len(self.F)
        for i, pairs in self.sets.items():
            H = self.H(i)
            y, z = np.unravel_index(int(np.argmax(H)), H.shape)
            best[i] = (int(y), int(z))
            high = max(0.0, float(H[y, z]))
            rest = max(self.bound[i] - sum(pairs.values()), 0.0)
            with_mass = [float(H[p]) for p in pairs] + ([0.0] if rest > 1e-12 * self.bound[i] else [])
            psi[i] = high - min(with_mass)
            gaps[i] = rest * high + sum(b * (high - H[p]) for p, b in pairs.items())
        return psi, gaps, best

    def add(self, i: int, pair: tuple[int, int]) -> None:
        self.sets[i].setdefault(pair, 0.0)

    def solve(self, i: int) -> None:
        """The problem of the working set of i, exactly; pairs without mass leave it."""
        pairs = self.sets[i]
        if not pairs:
            return
        ys, zs = (np.array(side) for side in zip(*pairs, strict=True))
        D, b = self.D[ys, zs], np.array(list(pairs.values()))
        L = self.L
        Q = L[np.ix_(ys, ys)] + L[np.ix_(zs, zs)] - L[np.ix_(ys, zs)] - L[np.ix_(zs, ys)]
        Q = self.K[i, i] * Q * np.outer(D, D)
        H = D * (1 - self.F[i, ys] + self.F[i, zs])
        after = solve_block(Q, H + Q @ b, float(self.bound[i]), b)
        step = (after - b) * D
        change = np.zeros(self.F.shape[1])
        np.add.at(change, ys, step)
        np.add.at(change, zs, -step)
        self.F += np.outer(self.K[:, i], change @ L)
        self.sets[i] = {p: float(mass) for p, mass in zip(pairs, after, strict=True) if mass > 0}

    def solve_all(self, violation: float) -> None:
        """The problem of all working sets, until none is violated by more."""
        for _ in range(_INNER):
            worst = 0.0
            for i, pairs in self.sets.items():
                if not pairs:
                    continue
                H = [self.D[p] * (1 - self.F[i, p[0]] + self.F[i, p[1]]) for p in pairs]
                rest = self.bound[i] - sum(pairs.values())
                low = min([h for h, b in zip(H, pairs.values(), strict=True) if b > 0], default=0.0)
                low = min(low, 0.0) if rest > 1e-12 * self.bound[i] else low
                psi = max(0.0, *H) - low
                worst = max(worst, psi)
                if psi > violation:
                    self.solve(i)
            if worst <= violation:
                return

    def active(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        pairs_with_mass = [(i, y, z, b * self.D[y, z]) for i, pairs in self.sets.items() for (y, z), b in pairs.items()]
        if not pairs_with_mass:
            nothing = np.zeros(0, np.int32)
            return nothing, nothing, nothing, np.zeros(0)
        docs, ys, zs = (np.array(column, np.int32) for column in list(zip(*pairs_with_mass, strict=True))[:3])
        return docs, ys, zs, np.array([row[3] for row in pairs_with_mass])

    def objectives(self) -> tuple[float, float]:
        """P and D."""
        docs, ys, zs, alpha = self.active()
        norm = float((alpha * (self.F[docs, ys] - self.F[docs, zs])).sum())
        P = 0.5 * norm + float(self.bound @ self.losses())
        return P, float(alpha.sum()) - 0.5 * norm


# -- the problem of a working set --------------------------------------------------------------------------------------


def solve_block(Q: FloatArray, c: FloatArray, C: float, start: FloatArray | None = None) -> FloatArray:
    """The b of the module docstring (m), from a feasible start.

    Examples
    --------
    >>> solve_block(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.5]), 10.0).round(12).tolist()
    [0.5, 0.5]
    >>> solve_block(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.5]), 0.5).round(12).tolist()
    [0.333333333333, 0.166666666667]
    """
    m = len(c)
    Q = np.pad(np.asarray(Q, dtype=np.float64), ((0, 1), (0, 1)))
    c = np.append(np.asarray(c, dtype=np.float64), 0.0)
    b = np.zeros(m + 1)
    if start is not None:
        b[:m] = start
    b[m] = max(C - b[:m].sum(), 0.0)
    tau = 1e-10 * max(1.0, float(np.abs(c).max()))
    support: IntArray = np.flatnonzero(b > 0)
    for _ in range(50 * (m + 1)):
        support = _settle(Q, c, b, support)
        g = c - Q @ b
        best = int(np.argmax(g))
        if not len(support) or g[best] - g[support].min() <= tau:
            break
        support = np.union1d(support, [best])
    return b[:m]


def _settle(Q: FloatArray, c: FloatArray, b: FloatArray, support: IntArray) -> IntArray:
    """Move b to the optimum over its support, in place; the support that is left."""
    while len(support) > 1:
        g = (c - Q @ b)[support]
        d, newton = _direction(Q[np.ix_(support, support)], g - g.mean())
        if not d.any():
            break
        falls = d < 0
        ratios = np.full(len(d), np.inf)
        ratios[falls] = -b[support][falls] / d[falls]
        step = float(ratios.min())
        if newton and step >= 1.0:
            b[support] += d
            break
        if not np.isfinite(step):
            break
        b[support] = np.maximum(b[support] + step * d, 0.0)
        b[support[int(np.argmin(ratios))]] = 0.0
        support = support[b[support] > 0]
    return support


def _direction(Q: FloatArray, g: FloatArray) -> tuple[FloatArray, bool]:
    """The Newton step within sum d = 0, or a direction of ascent without curvature where there is one."""
    m = len(g)
    P = np.eye(m) - 1.0 / m
    values, vectors = np.linalg.eigh(P @ Q @ P)
    flat = values <= 1e-12 * max(float(values[-1]), 1e-300)
    along = vectors.T @ g
    ray = P @ (vectors[:, flat] @ along[flat])
    if np.abs(ray).max() > 1e-9 * max(1.0, float(np.abs(g).max())):
        return ray, False
    return P @ (vectors[:, ~flat] @ (along[~flat] / values[~flat])), True
