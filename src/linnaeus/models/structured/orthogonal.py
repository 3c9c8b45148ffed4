"""Orthogonal transfer as a saddle point: weights, dual variables of the documents, signs of the node pairs.

    min_W  1/2 sum_jk K_jk |w_j'w_k|  +  sum_i c_i max(0, max over (a, b) of 1 - (w_a - w_b)'x_i)

with W (n_nodes x n_features), a among the nodes of document i and b among a's siblings that are not. Since
|t| = max over |r| <= 1 of r t, the first term is the largest 1/2 tr(W'(K o r)W) over symmetric r with r_jj = 1. With
M(r) = K o r and G = sum_i g_i x_i' (g_i = c_i sum of alpha_ab (e_a - e_b), sum alpha <= 1) the dual is

    D(alpha, r) = sum_i c_i sum alpha_ab - 1/2 tr(G' M(r)^-1 G),      W = M(r)^-1 G

concave in both together. So two kinds of steps in turn: every document moves towards its most violated pair, as far as
D rises (block-coordinate Frank-Wolfe with pairwise steps, where its part of the gap is large); then r goes to its
optimum (L-BFGS-B, from the Gram matrix of G alone). The gap is a sum of parts that are never negative:

    P - D = sum_i [ c_i max(0, worst violation) - (c_i sum alpha - g_i'W x_i) ]  +  1/2 sum K |w_j'w_k| - 1/2 tr(W'M W)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.typing import FloatArray, IntArray

__all__ = ["Orthogonal", "pair_weights"]

_NONE = (-1, -1)  # the pair that costs nothing
_LOOKS = 4
_TURN = 0.02  # part of the gap from which the signs are worth a step


def pair_weights(below: list[IntArray], transfer: float) -> FloatArray:
    """K for nodes with descendants ``below``: a node's pairs share ``transfer`` evenly, its own weight outweighs them.

    K_jj = 1 + sum_k K_jk makes the regulariser strongly convex, however the signs of the pairs fall out.

    Examples
    --------
    >>> pair_weights([np.array([1, 2]), np.array([], int), np.array([], int)], 1.0).tolist()
    [[2.0, 0.5, 0.5], [0.5, 1.5, 0.0], [0.5, 0.0, 1.5]]
    """
    K = np.zeros((len(below), len(below)))
    for j, descendants in enumerate(below):
        if len(descendants):
            K[j, descendants] = K[descendants, j] = transfer / len(descendants)
    K[np.diag_indices(len(K))] = 1 + K.sum(axis=1)
    return K


@dataclass
class Orthogonal:
    """Documents X (n_docs x n_features, dense), the nodes of each (n_docs x n_nodes, 0/1), families, K, weights c."""

    X: FloatArray
    member: FloatArray
    families: list[IntArray]
    K: FloatArray
    c: FloatArray
    seed: int = 0
    g: FloatArray = field(init=False)  # n_docs x n_nodes
    total: FloatArray = field(init=False)  # sum alpha of every document
    r: FloatArray = field(init=False)
    objective: float = np.inf
    gap: float = np.inf
    n_iter: int = 0

    def __post_init__(self) -> None:
        n = len(self.K)
        self.g, self.total, self.r = np.zeros((len(self.X), n)), np.zeros(len(self.X)), np.zeros((n, n))
        self.alpha: list[dict[tuple[int, int], float]] = [{_NONE: 1.0} for _ in self.X]
        self.squares = np.einsum("ij,ij->i", self.X, self.X)
        self.pairs = np.nonzero(np.triu(self.K, 1))

    def run(self, tol: float, max_iter: int, clock: Clock) -> bool:
        """Until the gap is ``tol`` of the objective; False if it is not."""
        rng = np.random.default_rng(self.seed)
        self._invert()
        while True:
            parts, objective = self._measure()
            curved = self._curved()
            self.objective, self.gap = objective, float(parts.sum()) + curved
            if self.gap <= tol * self.objective or self.n_iter >= max_iter or clock.over:
                return self.gap <= tol * self.objective
            self.n_iter += 1
            open_ = np.flatnonzero(parts > 0.2 * tol * self.objective / len(parts))
            self._visit(rng.permutation(open_))
            if curved > _TURN * self.gap or self.n_iter == 1:
                self._turn()
            else:
                self._invert()  # rounding does not add up

    # -- documents -----------------------------------------------------------------------------------------------------

    def _worst(self, S: FloatArray, rows: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
        """(largest 1 - (s_a - s_b), its a, its b) of some documents, by their scores S."""
        violation = np.full(len(rows), -np.inf)
        first, second = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        every = np.arange(len(rows))
        for family in self.families:
            inside = self.member[np.ix_(rows, family)] > 0
            own = np.where(inside, S[:, family], np.inf)  # the weakest of the document's nodes
            other = np.where(inside, -np.inf, S[:, family])
            a, b = own.argmin(axis=1), other.argmax(axis=1)
            found = 1 - own[every, a] + other[every, b]
            better = found > violation
            violation[better] = found[better]
            first[better], second[better] = family[a[better]], family[b[better]]
        return violation, first, second

    def _visit(self, rows: IntArray) -> None:
        """Some steps for each document: weight goes from its least violated pair in use to the most violated one."""
        W, inverse = self.W, self.inverse
        for i in rows.tolist():
            x, squares, c, alpha = self.X[i], self.squares[i], self.c[i], self.alpha[i]
            if not squares:
                continue
            s = W @ x
            for _ in range(_LOOKS):
                violation, worst = self._worst_of(s, i)
                if violation <= 0:
                    violation, worst = 0.0, _NONE
                least = min(alpha, key=lambda pair: _violation(s, pair))
                gain = c * (violation - _violation(s, least))
                if gain <= 1e-10 * c or worst == least:
                    break
                step = np.zeros(len(s))
                _add(step, worst, c)
                _add(step, least, -c)
                moved = inverse @ step
                t = min(alpha[least], gain / max(squares * float(step @ moved), 1e-300))
                alpha[worst] = alpha.get(worst, 0.0) + t
                alpha[least] -= t
                if alpha[least] <= 0:
                    del alpha[least]
                self.g[i] += t * step
                W += np.outer(t * moved, x)
                s = s + t * squares * moved
            self.total[i] = 1 - alpha.get(_NONE, 0.0)

    def _worst_of(self, s: FloatArray, i: int) -> tuple[float, tuple[int, int]]:
        best, pair = -np.inf, _NONE
        for a, rivals in self.rivals[i]:
            b = int(rivals[s[rivals].argmax()])
            if 1 - s[a] + s[b] > best:
                best, pair = float(1 - s[a] + s[b]), (a, b)
        return best, pair

    @cached_property
    def rivals(self) -> list[list[tuple[int, IntArray]]]:
        """For every document its nodes, each with the siblings that it must beat."""
        family_of = {int(node): family for family in self.families for node in family}
        found = []
        for inside in self.member:
            pairs = [(a, family_of[a][inside[family_of[a]] == 0]) for a in np.flatnonzero(inside).tolist()]
            found.append([(a, rivals) for a, rivals in pairs if len(rivals)])
        return found

    # -- signs of the pairs --------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """r to its optimum for the documents' pull G."""
        from scipy.optimize import minimize

        j, k = self.pairs
        G = self.g.T @ self.X
        gram = G @ G.T

        def value(r: FloatArray) -> tuple[float, FloatArray]:
            M = self._metric(r)
            inverse = np.linalg.inv(M)
            turned = inverse @ gram @ inverse
            return 0.5 * float(np.einsum("ij,ji->", inverse, gram)), -self.K[j, k] * turned[j, k]

        if len(j):
            scale = max(value(self.r[j, k])[0], 1e-300)
            found = minimize(
                lambda r: tuple(part / scale for part in value(r)), self.r[j, k], jac=True, method="L-BFGS-B",
                bounds=[(-1, 1)] * len(j), options={"maxiter": 20, "ftol": 1e-12, "gtol": 1e-9},
            )  # fmt: skip
            self.r[j, k] = found.x
        self._invert(G)

    def _metric(self, r: FloatArray) -> FloatArray:
        M = np.diag(np.diag(self.K)).astype(float)
        j, k = self.pairs
        M[j, k] = M[k, j] = self.K[j, k] * r
        return M

    def _invert(self, G: FloatArray | None = None) -> None:
        self.M = self._metric(self.r[self.pairs])
        self.inverse = np.linalg.inv(self.M)
        self.W = self.inverse @ (self.g.T @ self.X if G is None else G)

    # -- the certificate -----------------------------------------------------------------------------------------------

    def _measure(self) -> tuple[FloatArray, float]:
        """(the documents' parts of the gap, P)."""
        S = self.X @ self.W.T
        violation = self._worst(S, np.arange(len(S)))[0]
        loss = self.c * np.maximum(violation, 0)
        parts = loss - self.c * self.total + np.einsum("ij,ij->i", self.g, S)
        return np.maximum(parts, 0), self._regulariser() + float(loss.sum())

    def _regulariser(self) -> float:
        return 0.5 * float((self.K * np.abs(self.W @ self.W.T)).sum())

    def _curved(self) -> float:
        """What the signs r are away from those of the products."""
        return max(0.0, self._regulariser() - 0.5 * float((self.M * (self.W @ self.W.T)).sum()))


def _violation(s: FloatArray, pair: tuple[int, int]) -> float:
    return 0.0 if pair == _NONE else float(1 - s[pair[0]] + s[pair[1]])


def _add(step: FloatArray, pair: tuple[int, int], weight: float) -> None:
    if pair != _NONE:
        step[pair[0]] += weight
        step[pair[1]] -= weight
