"""The best closed sets on a DAG under any rules and scores of branching, by a small integer program (HiGHS).

Variables x_v = 1 if v is in the set, and f_v = 1 if v is a label, that is in the set without any child:

    max  sum_v u_v x_v + e_v f_v       x_c <= x_p on every edge
         f_v >= x_v - sum_c x_c,   f_v <= x_v,   f_v <= 1 - x_c                    labels
         sum of f_v at or below p  <= most_p,   sum of all f_v  >= least           how many
         x_v <= sum_c x_c   where v may not be the end;   sum_c x_c <= r x_v       depth, branching

With scores b_p(k) of branching, z_pk = 1 if k children of p are chosen (last: more than R), and b_p(k) z_pk is added:

         sum_k z_pk = x_p,   sum_k k z_pk <= sum_c x_c <= sum_{k <= R} k z_pk + n_children z_p,R+1

One answer after the other: what was found is forbidden by  sum_{v in U} (1 - x_v) + sum_{v not in U} x_v >= 1 .
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linnaeus.decoding.base import Hierarchy
from linnaeus.decoding.rules import NO_BOUND, BoundRules
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["IntegerSets"]

SECONDS = 20.0  # of one program; an answer that takes longer is the best found, and not proved
_LARGEST = 1e4  # HiGHS is content with 1e-6 of the objective, whatever its size: coefficients are scaled to this


class IntegerSets:
    """The constraints of one taxonomy and its rules; weights come with every document."""

    def __init__(
        self, edges: Hierarchy, rules: BoundRules, table: FloatArray | None = None, *, ends: bool = False
    ) -> None:
        from scipy.optimize import LinearConstraint

        self.edges, self.rules = edges, rules
        self.n = len(rules.allowed)
        self.bonus: list[float] = []  # of the variables z
        self.own = np.zeros(self.n)  # scores of branching of nodes that have no children to choose
        self._rows: list[tuple[list[int], list[float], float, float]] = []
        self._closed()
        self._ends()
        if rules.counts or ends:
            self._labels(exact=ends or rules.least[-1] > 1)
        if table is not None:
            self._branching(table)
        if rules.least[-1] > 0:
            self._row(range(self.n), [1.0] * self.n, 1.0, np.inf)
        self.constraints = [LinearConstraint(*self._matrix())] if self._rows else []

    def _row(self, variables: Iterable[int], factors: Iterable[float], low: float, high: float) -> None:
        self._rows.append((list(variables), list(factors), low, high))

    def _matrix(self) -> tuple[CSR, FloatArray, FloatArray]:
        from scipy import sparse

        lengths = [len(row[0]) for row in self._rows]
        where = np.repeat(np.arange(len(self._rows)), lengths), np.concatenate([row[0] for row in self._rows])
        A = sparse.csr_array(
            (np.concatenate([row[1] for row in self._rows]), where), shape=(len(self._rows), self._width)
        )
        low, high = (np.array([row[i] for row in self._rows]) for i in (2, 3))
        return A, low, high

    @property
    def _width(self) -> int:
        return 2 * self.n + len(self.bonus)

    def _children(self, v: int) -> list[int]:
        edges = self.edges
        below = edges.child_indices[edges.child_indptr[v] : edges.child_indptr[v + 1]]
        return [int(c) for c in below if self.rules.allowed[c]]

    def _closed(self) -> None:
        parents = self.edges.parent_indices
        for v in range(self.n):
            for p in parents[self.edges.parent_indptr[v] : self.edges.parent_indptr[v + 1]].tolist():
                self._row([v, p], [1.0, -1.0], -np.inf, 0.0)

    def _ends(self) -> None:
        most = self.rules.max_children
        for v in np.flatnonzero(self.rules.allowed).tolist():
            below = self._children(v)
            if not self.rules.may_stop[v]:
                self._row([v, *below], [1.0, *[-1.0] * len(below)], -np.inf, 0.0)
            if most is not None and len(below) > most:
                self._row([*below, v], [*[1.0] * len(below), -float(most)], -np.inf, 0.0)
        tops = [int(v) for v in self.edges.tops if self.rules.allowed[v]]
        if most is not None and len(tops) > most:
            self._row(tops, [1.0] * len(tops), -np.inf, float(most))

    def _labels(self, exact: bool) -> None:
        n, rules = self.n, self.rules
        for v in np.flatnonzero(rules.allowed).tolist():
            below = self._children(v)
            self._row([n + v, v, *below], [1.0, -1.0, *[1.0] * len(below)], 0.0, np.inf)
            if exact:
                self._row([n + v, v], [1.0, -1.0], -np.inf, 0.0)
                for c in below:
                    self._row([n + v, c], [1.0, 1.0], -np.inf, 1.0)
        for p in np.flatnonzero(rules.most[:n] < NO_BOUND).tolist():
            under = rules.taxonomy.descendants(p)
            self._row(n + under, [1.0] * len(under), -np.inf, float(rules.most[p]))
        if rules.most[n] < NO_BOUND or rules.least[n] > 1:
            high = float(rules.most[n]) if rules.most[n] < NO_BOUND else np.inf
            self._row(n + np.arange(n), [1.0] * n, float(rules.least[n]), high)

    def _branching(self, table: FloatArray) -> None:
        tops = [int(v) for v in self.edges.tops if self.rules.allowed[v]]
        for p in [*np.flatnonzero(self.rules.allowed).tolist(), self.n]:
            below = tops if p == self.n else self._children(p)
            if not below and p < self.n:
                self.own[p] = table[p, 0]
            elif table[p].any():
                self._buckets(p, below, table[p])

    def _buckets(self, p: int, below: list[int], scores: FloatArray) -> None:
        """How many of the children of p are chosen, and what that scores; p = n are the tops."""
        first, K = self._width, len(scores)
        self.bonus += scores.tolist()
        z, each = list(range(first, first + K)), [float(k) for k in range(K)]
        if p < self.n:
            self._row([*z, p], [*[1.0] * K, -1.0], 0.0, 0.0)
        else:
            self._row(z, [1.0] * K, 1.0, 1.0)
        self._row([*z, *below], [*each, *[-1.0] * len(below)], -np.inf, 0.0)
        most = [*each[:-1], float(max(len(below), K - 1))]
        self._row([*z, *below], [*most, *[-1.0] * len(below)], 0.0, np.inf)

    def best(
        self, weights: FloatArray, k: int, ends: FloatArray | None = None
    ) -> tuple[list[tuple[IntArray, float]], bool]:
        """The k best sets of one document, and whether each is proved to be; ``ends`` are weights of labels."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        n, rules, bonus = self.n, self.rules, np.array(self.bonus)
        weights = weights + self.own
        usable = rules.allowed & (weights > -np.inf)
        E = np.zeros(n) if ends is None else ends
        upper = np.concatenate([usable, usable & (E > -np.inf), bonus > -np.inf]).astype(np.float64)
        lower = np.concatenate([rules.forced, np.zeros(n + len(bonus))]).astype(np.float64)
        if (lower > upper).any():
            return [], True
        parts = [np.where(usable, weights, 0.0), np.where(E > -np.inf, E, 0.0), np.where(bonus > -np.inf, bonus, 0.0)]
        cost = -np.concatenate(parts)
        cost *= _LARGEST / max(float(np.abs(cost).max(initial=0.0)), 1e-12)
        whole = np.concatenate([np.ones(n), np.zeros(n), np.ones(len(bonus))])  # labels follow from the sets
        constraints, proved = list(self.constraints), True
        found: list[tuple[IntArray, float]] = []
        for _ in range(k):
            result = milp(
                cost, integrality=whole, bounds=Bounds(lower, upper), constraints=constraints,
                options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
            )  # fmt: skip
            proved = proved and result.status in (0, 2)
            if result.x is None:
                break
            inside = result.x[:n] > 0.5
            chosen = result.x[2 * n :] > 0.5
            labels = inside & (result.x[n : 2 * n] > 0.5)
            value = float(weights[inside].sum() + (E[labels].sum() if ends is not None else 0.0) + bonus[chosen].sum())
            found.append((np.flatnonzero(inside).astype(np.int32), value))
            signs = np.concatenate([np.where(inside, -1.0, 1.0), np.zeros(n + len(bonus))])
            constraints = [*constraints, LinearConstraint(signs[None], 1.0 - inside.sum(), np.inf)]
        return sorted(found, key=lambda one: -one[1]), proved  # equals but for the tolerance come in any order
