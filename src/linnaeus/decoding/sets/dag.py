"""The k best closed sets on a DAG: by minimum cuts where rules only leave nodes out or in, else by integer programming.

With scores of branching the best set is that of a relaxation to trees (`relaxed_sets`) where this is
certain, else likewise.

Best set: one cut; a set that may not be empty holds some top, so each top is forced in turn. More sets by Lawler's
partition: given the best set U of a part of all closed sets, the rest of the part splits by the first node, in the
order of numbers, at which a set differs from U. Nodes before it are as in U, so a node can be added only if its
parents are in U; each piece is again a cut with some nodes left out and some forced in. Forced nodes get a weight
above the sum of all others, which double precision holds.

Scores of branching on a DAG through trees: a bound that often is the answer itself (Lagrangian relaxation).

Every node keeps its first parent, and under each other parent q of c hangs a ghost, a leaf that stands for c there. The
best set of that tree, by `branching_sets`, is at least as good as that of the DAG, whatever multipliers lambda move
score from nodes to their ghosts:

    s_c - sum of its lambda,   s_ghost = lambda;     lambda -= step (ghost chosen - node chosen)

Where each ghost is chosen with its node and only with it, the set is one of the DAG, and so its best.

The best closed sets on a DAG under any rules and scores of branching, by a small integer program (HiGHS).

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

import heapq
from collections.abc import Iterable
from itertools import count

import numpy as np

from linnaeus.decoding.base import Hierarchy, positions
from linnaeus.decoding.rules import NO_BOUND, BoundRules
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["IntegerSets", "on_dag", "relaxed_sets"]

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


_AT_ONCE = 256


def on_dag(
    U: FloatArray,
    taxonomy: Taxonomy,
    nodes: IntArray,
    k: int,
    rules: BoundRules,
    edges: Hierarchy,
    table: FloatArray | None = None,
    E: FloatArray | None = None,
) -> tuple[CSR, FloatArray, BoolArray]:
    """Sets (k rows for each document), their scores (n_docs x k), and whether they are proved to be the best."""
    n = taxonomy.n_nodes
    weights = np.zeros((len(U), n))
    weights[:, nodes] = U
    if taxonomy.root is not None:
        weights[:, taxonomy.root] = 0.0
    found: list[list[tuple[IntArray, float]]] = [[] for _ in weights]
    proved = np.ones(len(U), dtype=bool)
    if E is not None:
        ends = np.zeros((len(U), n))
        ends[:, nodes] = E
        found, proved = _with_ends(weights, ends, k, taxonomy, rules, edges, table)
        return *_stacked(found, k, n), proved
    if table is not None:
        found, proved = _with_branching(weights, k, rules, edges, table)
        return *_stacked(found, k, n), proved
    cuts = MinimumCuts(taxonomy, edges, rules)
    todo = np.arange(len(U))
    if k == 1 or not rules.masks_only:
        found = [[best] if best is not None else [] for best in cuts.best(weights)]
        ok = np.array([not f or bool(cuts.obeyed(f[0][0])) for f in found], dtype=bool)
        todo = todo[~ok] if k == 1 else todo
    if len(todo) and not rules.masks_only:
        program = IntegerSets(edges, rules)
        for d in todo.tolist():
            found[d], proved[d] = program.best(weights[d], k)
    elif k > 1:
        found = [cuts.ranked(w, k) for w in weights]
    return *_stacked(found, k, n), proved


def _with_ends(
    weights: FloatArray,
    ends: FloatArray,
    k: int,
    taxonomy: Taxonomy,
    rules: BoundRules,
    edges: Hierarchy,
    table: FloatArray | None,
) -> tuple[list[list[tuple[IntArray, float]]], BoolArray]:
    """By a cut over nodes alone where ends add nothing and its set loses nothing by them; else by integer program."""
    found: list[list[tuple[IntArray, float]]] = [[] for _ in weights]
    certain = np.zeros(len(weights), dtype=bool)
    if k == 1 and table is None:
        cuts = MinimumCuts(taxonomy, edges, rules)
        bounded = (ends <= 0).all(axis=1)
        for d, best in zip(np.flatnonzero(bounded).tolist(), cuts.best(weights[bounded]), strict=True):
            if best is not None and bool(cuts.obeyed(best[0])):
                labels = taxonomy.frontier(_one_set(best[0], taxonomy)).indices
                certain[d] = not ends[d, labels].any()
                found[d] = [best]
    proved = np.ones(len(weights), dtype=bool)
    program = None if certain.all() else IntegerSets(edges, rules, table, ends=True)
    for d in np.flatnonzero(~certain).tolist():
        assert program is not None
        found[d], proved[d] = program.best(weights[d], k, ends[d])
    return found, proved


def _one_set(members: IntArray, taxonomy: Taxonomy) -> CSR:
    return pattern(np.array([0, len(members)]), members.astype(np.int32), taxonomy.n_nodes)


def _with_branching(
    weights: FloatArray, k: int, rules: BoundRules, edges: Hierarchy, table: FloatArray
) -> tuple[list[list[tuple[IntArray, float]]], BoolArray]:
    """By a relaxation to trees where it happens to be exact, else by integer programming."""
    found: list[list[tuple[IntArray, float]]] = [[] for _ in weights]
    certain = np.zeros(len(weights), dtype=bool)
    if k == 1 and not rules.counts:
        sets, scores, certain = relaxed_sets(weights, rules, edges, table)
        for d in np.flatnonzero(certain).tolist():
            found[d] = [(sets[d], float(scores[d]))] if scores[d] > -np.inf else []
    proved = np.ones(len(weights), dtype=bool)
    program = None if certain.all() else IntegerSets(edges, rules, table)
    for d in np.flatnonzero(~certain).tolist():
        assert program is not None
        found[d], proved[d] = program.best(weights[d], k)
    return found, proved


def _stacked(found: list[list[tuple[IntArray, float]]], k: int, n: int) -> tuple[CSR, FloatArray]:
    scores = np.full((len(found), k), -np.inf)
    sets: list[IntArray] = []
    for d, row in enumerate(found):
        scores[d, : len(row)] = [value for _, value in row]
        sets += [members for members, _ in row] + [np.empty(0, dtype=np.int32)] * (k - len(row))
    indices = np.concatenate([np.empty(0, dtype=np.int32), *sets]).astype(np.int32)
    return pattern(pointers(np.array([len(s) for s in sets], dtype=np.int64)), indices, n), scores


class MinimumCuts:
    """Best closed sets under masks, many at a time."""

    def __init__(self, taxonomy: Taxonomy, edges: Hierarchy, rules: BoundRules) -> None:
        self.taxonomy, self.edges, self.rules = taxonomy, edges, rules
        self.position = positions(taxonomy, np.arange(taxonomy.n_nodes, dtype=np.int32))
        self.not_empty = bool(rules.least[-1] > 0)

    def obeyed(self, members: IntArray) -> BoolArray:
        return self.rules.obeyed(_one_set(members, self.taxonomy), self.edges)

    def best(self, weights: FloatArray) -> list[tuple[IntArray, float] | None]:
        """(members, value) of the best set of every row, None where there is none."""
        return (
            [self._best_of(w) for w in weights] if self.not_empty else self._solve(weights, self._nobody(len(weights)))
        )

    def _nobody(self, n_rows: int) -> BoolArray:
        return np.zeros((n_rows, self.taxonomy.n_nodes), dtype=bool)

    def _best_of(self, w: FloatArray) -> tuple[IntArray, float] | None:
        """The best set that is not empty: the best one, or the best with one of the tops."""
        (best,) = self._solve(w[None], self._nobody(1))
        if best is None or len(best[0]):
            return best
        tops = self.edges.tops[self.rules.allowed[self.edges.tops]]
        forced = self._nobody(len(tops))
        forced[np.arange(len(tops)), tops] = True
        sets = [s for s in self._solve(np.repeat(w[None], len(tops), axis=0), forced) if s is not None]
        return max(sets, key=lambda s: s[1], default=None)

    def ranked(self, w: FloatArray, k: int) -> list[tuple[IntArray, float]]:
        """The k best sets of one document."""
        n, order = self.taxonomy.n_nodes, count()
        found: list[tuple[IntArray, float]] = []
        out, held = self._nobody(1)[0], self._nobody(1)[0]
        heap: list[tuple[float, int, IntArray, BoolArray, BoolArray, int]] = []
        (first,) = self._solve(w[None], held[None])
        if first is not None:
            heap = [(-first[1], next(order), first[0], held, out, 0)]
        while heap and len(found) < k:
            negative, _, members, held, out, start = heapq.heappop(heap)
            if len(members) or not self.not_empty:
                found.append((members, -negative))
            inside = np.zeros(n, dtype=bool)
            inside[members] = True
            pieces = [v for v in range(start, n) if self._can_differ(v, inside, held, out)]
            for i in range(0, len(pieces), _AT_ONCE):
                part = pieces[i : i + _AT_ONCE]
                helds, outs = self._pieces(part, inside, held, out, start)
                weights = np.where(outs, -np.inf, w)
                for v, h, o, solved in zip(part, helds, outs, self._solve(weights, helds), strict=True):
                    if solved is not None:
                        heapq.heappush(heap, (-solved[1], next(order), solved[0], h, o, v + 1))
        return found

    def _can_differ(self, v: int, inside: BoolArray, held: BoolArray, out: BoolArray) -> bool:
        if not self.rules.allowed[v] or held[v] or out[v]:
            return False
        if inside[v]:
            return not self.rules.forced[v]
        above = self.edges.parent_indices[self.edges.parent_indptr[v] : self.edges.parent_indptr[v + 1]]
        return bool(inside[above].all())

    def _pieces(
        self, part: list[int], inside: BoolArray, held: BoolArray, out: BoolArray, start: int
    ) -> tuple[BoolArray, BoolArray]:
        """For each v: nodes from ``start`` to before v as they are, v the other way."""
        helds, outs = np.repeat(held[None], len(part), axis=0), np.repeat(out[None], len(part), axis=0)
        for row, v in enumerate(part):
            helds[row, start:v] |= inside[start:v]
            outs[row, start:v] |= ~inside[start:v]
            helds[row, v], outs[row, v] = not inside[v], inside[v]
        return helds, outs

    def _solve(self, weights: FloatArray, held: BoolArray) -> list[tuple[IntArray, float] | None]:
        """Best sets with the nodes of ``held`` and those that rules force, without those that rules leave out."""
        from linnaeus._kernels.max_flow import best_closures

        rules = self.rules
        if (rules.forced & ~rules.allowed).any():
            return [None] * len(weights)
        W = np.where(rules.allowed, weights, -np.inf)
        forced = held | rules.forced
        reach = 1.0 + np.where(np.isfinite(W), np.abs(W), 0.0).sum(axis=1, keepdims=True)
        lifted = np.ascontiguousarray(np.where(forced, W + reach, W))
        indptr, indices = best_closures(lifted, self.position, *self.edges[:5])
        answers: list[tuple[IntArray, float] | None] = []
        for d in range(len(W)):
            members = indices[indptr[d] : indptr[d + 1]]
            complete = int(forced[d][members].sum()) == int(forced[d].sum())
            answers.append((members, float(W[d, members].sum())) if complete else None)
        return answers


STEPS = 60


def relaxed_sets(
    weights: FloatArray, rules: BoundRules, edges: Hierarchy, table: FloatArray
) -> tuple[list[IntArray], FloatArray, BoolArray]:
    """Sets of every document, their scores, and which of them are certainly the best.

    ``weights`` are of all nodes (n_docs x n_nodes); rules do not bound the number of labels.
    """
    from scipy import sparse

    from linnaeus._kernels.branching import branching_sets

    n = weights.shape[1]
    sets: list[IntArray] = [np.empty(0, dtype=np.int32)] * len(weights)
    scores, certain = np.full(len(weights), -np.inf), np.zeros(len(weights), dtype=bool)
    if (rules.forced & ~rules.allowed).any():
        return sets, scores, ~certain
    indptr, children, origin = _ghost_tree(edges, rules.allowed)
    g = len(origin)
    position = np.arange(n + g, dtype=np.int32)
    forced = np.concatenate([rules.forced, rules.forced[origin], [False]]).astype(np.uint8)
    grown = np.vstack([table[:-1], np.zeros((g, table.shape[1])), table[-1:]])
    usable = np.where(np.isfinite(weights), np.abs(weights), 0.0)
    size = 0.5 * usable.mean(axis=1, keepdims=True) if n else np.zeros((len(weights), 1))
    shift, never = np.zeros((len(weights), g)), np.isneginf(weights[:, origin])
    back = sparse.csr_array((np.ones(g), (np.arange(g), origin)), shape=(g, n))
    todo = np.arange(len(weights))
    for step in range(STEPS if g else 1):
        S = np.hstack([weights[todo] - shift[todo] @ back, np.where(never[todo], -np.inf, shift[todo])])
        rows, indices, values = branching_sets(S, position, indptr, children, grown, forced, np.empty((len(S), 0)))
        chosen = np.zeros(S.shape, dtype=bool)
        chosen[row_numbers(rows), indices] = True
        apart = chosen[:, n:].astype(np.int8) - chosen[:, origin]
        agreed = ~apart.any(axis=1)
        for at in np.flatnonzero(agreed).tolist():
            sets[todo[at]] = np.flatnonzero(chosen[at, :n]).astype(np.int32)
        scores[todo[agreed]], certain[todo[agreed]] = values[agreed], True
        if agreed.all():
            break
        shift[todo] -= size[todo] / np.sqrt(1.0 + step) * apart
        todo = todo[~agreed]
    return sets, scores, certain


def _ghost_tree(edges: Hierarchy, allowed: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Children of every node, of ghosts and, last, of what stands above the tops; and whose ghosts they are."""
    n = len(allowed)
    child = row_numbers(edges.parent_indptr)
    first = np.concatenate([[True], child[1:] != child[:-1]]) if len(child) else np.zeros(0, dtype=bool)
    usable = allowed[child] & allowed[edges.parent_indices]
    ghost = ~first & usable
    origin = child[ghost].astype(np.int64)
    tops = edges.tops[allowed[edges.tops]]
    g = len(origin)
    of_nodes, of_ghosts = edges.parent_indices[first & usable], edges.parent_indices[ghost]
    parents = np.concatenate([of_nodes, of_ghosts, np.full(len(tops), n + g)])
    below = np.concatenate([child[first & usable], n + np.arange(g), tops])
    order = np.argsort(parents, kind="stable")
    indptr = pointers(np.bincount(parents, minlength=n + g + 1)).astype(np.int64)
    return indptr, below[order].astype(np.int32), origin
