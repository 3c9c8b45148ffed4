"""The best closed sets on a DAG under any rules, by a small integer programme (HiGHS, through SciPy).

Variables x_v = 1 if v is in the set, and f_v = 1 if v is a label, that is in the set without any child:

    max  sum_v u_v x_v    x_c <= x_p on every edge
         f_v >= x_v - sum_c x_c,   f_v <= x_v,   f_v <= 1 - x_c                    labels
         sum of f_v at or below p  <= most_p,   sum of all f_v  >= least           how many
         x_v <= sum_c x_c   where v may not be the end;   sum_c x_c <= r x_v       depth, branching

One answer after the other: what was found is forbidden by  sum_{v in U} (1 - x_v) + sum_{v not in U} x_v >= 1 .
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.decoding.base import Hierarchy
from linnaeus.decoding.rules import NO_BOUND, BoundRules
from linnaeus.typing import FloatArray, IntArray

__all__ = ["IntegerSets"]

SECONDS = 20.0  # of one programme; an answer that takes longer is the best found, and not proved


class IntegerSets:
    """The constraints of one taxonomy and its rules; weights come with every document."""

    def __init__(self, edges: Hierarchy, rules: BoundRules) -> None:
        from scipy.optimize import LinearConstraint

        self.edges, self.rules = edges, rules
        self.n = len(rules.allowed)
        self._rows: list[tuple[list[int], list[float], float, float]] = []
        self._closed()
        self._ends()
        if rules.counts:
            self._labels()
        if rules.least[-1] > 0:
            self._row(range(self.n), [1.0] * self.n, 1.0, np.inf)
        self.constraints = [LinearConstraint(*self._matrix())] if self._rows else []

    def _row(self, variables: Any, factors: Any, low: float, high: float) -> None:
        self._rows.append((list(variables), list(factors), low, high))

    def _matrix(self) -> tuple[Any, FloatArray, FloatArray]:
        from scipy import sparse

        lengths = [len(row[0]) for row in self._rows]
        where = np.repeat(np.arange(len(self._rows)), lengths), np.concatenate([row[0] for row in self._rows])
        A = sparse.csr_array(
            (np.concatenate([row[1] for row in self._rows]), where), shape=(len(self._rows), 2 * self.n)
        )
        low, high = (np.array([row[i] for row in self._rows]) for i in (2, 3))
        return A, low, high

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

    def _labels(self) -> None:
        n, rules = self.n, self.rules
        for v in np.flatnonzero(rules.allowed).tolist():
            below = self._children(v)
            self._row([n + v, v, *below], [1.0, -1.0, *[1.0] * len(below)], 0.0, np.inf)
            if rules.least[-1] > 1:
                self._row([n + v, v], [1.0, -1.0], -np.inf, 0.0)
                for c in below:
                    self._row([n + v, c], [1.0, 1.0], -np.inf, 1.0)
        for p in np.flatnonzero(rules.most[:n] < NO_BOUND).tolist():
            under = rules.taxonomy.descendants(p)
            self._row(n + under, [1.0] * len(under), -np.inf, float(rules.most[p]))
        if rules.most[n] < NO_BOUND or rules.least[n] > 1:
            high = float(rules.most[n]) if rules.most[n] < NO_BOUND else np.inf
            self._row(n + np.arange(n), [1.0] * n, float(rules.least[n]), high)

    def best(self, weights: FloatArray, k: int) -> tuple[list[tuple[IntArray, float]], bool]:
        """The k best sets of one document, and whether each is proved to be."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        n, rules = self.n, self.rules
        usable = rules.allowed & (weights > -np.inf)
        upper = np.concatenate([usable, usable]).astype(np.float64)
        lower = np.concatenate([rules.forced, np.zeros(n)]).astype(np.float64)
        if (lower > upper).any():
            return [], True
        cost = np.concatenate([np.where(usable, -weights, 0.0), np.zeros(n)])
        whole = np.concatenate([np.ones(n), np.zeros(n)])  # labels follow from the sets
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
            found.append((np.flatnonzero(inside).astype(np.int32), float(weights[inside].sum())))
            signs = np.concatenate([np.where(inside, -1.0, 1.0), np.zeros(n)])
            constraints = [*constraints, LinearConstraint(signs[None], 1.0 - inside.sum(), np.inf)]
        return found, proved
