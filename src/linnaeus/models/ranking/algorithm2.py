"""Algorithm 2 of Cai's thesis as it is written: always the document that violates its optimality most.

    repeat   i = the document of largest violation psi_i = max_p H_p - min_{p with mass} H_p;  stop if psi_i <= epsilon
             add its pair of largest H to its working set S_i
             8a  solve the problem of S_i exactly          8b  solve the problem of all working sets together
             leave pairs without mass

in the space of documents and classes: scores F (n_docs x n_classes) are brought up to date after every step, with the
Gram matrix K of documents and L = A A' of classes. A step costs n_docs x n_classes, so this is for some hundreds of
documents; `solver` is the same optimisation for many. Step 8b is 8a over all working sets until none is violated much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.models.ranking.block_qp import solve_block
from linnaeus.models.ranking.problem import RankingProblem, RankingSolution
from linnaeus.typing import FloatArray, IntArray

__all__ = ["solve_by_worst"]

_INNER = 1000  # rounds of 8b over all working sets, at most


def solve_by_worst(
    problem: RankingProblem, *, every: bool, tol: float, epsilon: float | None, max_iter: int, clock: Any = None
) -> RankingSolution:
    """Solve a problem given by its Gram matrix; ``every``: step 8b. ``max_iter`` counts as many steps as documents."""
    run = _Run(problem)
    n_docs, steps, converged = problem.rows.n_docs, 0, not len(run.trained)
    curve = []
    while not converged and steps < max_iter * n_docs:
        psi, gaps, best = run.violations()
        P, D = run.objectives()
        if steps % n_docs == 0 or gaps.sum() <= tol * P:
            curve.append((steps / n_docs, P, D))
        converged = psi.max() <= epsilon if epsilon is not None else P - D <= tol * P
        if converged or (clock is not None and clock.over):
            break
        # Where the gap is the aim, the document that adds most to it: psi may be large with next to no mass.
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


class _Run:
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
        """H of all pairs of document i (n_classes x n_classes), minus infinity for those that are none."""
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
        found = [(i, y, z, b * self.D[y, z]) for i, pairs in self.sets.items() for (y, z), b in pairs.items()]
        if not found:
            nothing = np.zeros(0, np.int32)
            return nothing, nothing, nothing, np.zeros(0)
        docs, ys, zs = (np.array(column, np.int32) for column in list(zip(*found, strict=True))[:3])
        return docs, ys, zs, np.array([row[3] for row in found])

    def objectives(self) -> tuple[float, float]:
        """P and D."""
        docs, ys, zs, alpha = self.active()
        norm = float((alpha * (self.F[docs, ys] - self.F[docs, zs])).sum())
        P = 0.5 * norm + float(self.bound @ self.losses())
        return P, float(alpha.sum()) - 0.5 * norm
