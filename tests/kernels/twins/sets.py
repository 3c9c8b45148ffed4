"""Readable twins of `branching`, `best_changes`, `best_sets` and `smoothing`: same names, arguments and answers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

Array = np.ndarray
Entry = tuple[float, frozenset[int]]

__all__ = ["best_sets", "branching_sets", "changed_sets", "closures_within", "isotonic_forest"]


def branching_sets(
    S: Array, position: Array, indptr: Array, children: Array, table: Array, forced: Array, E: Array
) -> tuple[Array, Array, Array]:
    """The best set alone, no bounds on labels."""
    free = np.zeros(len(position) + 1, dtype=np.int32), np.ones(len(position) + 1, dtype=np.int32)
    rows, indices, scores = best_sets(S, position, indptr, children, table, forced, E, *free, 1, 1)
    return rows, indices, scores[:, 0]


def changed_sets(
    S: Array, position: Array, indptr: Array, children: Array, forced: Array, not_empty: bool, K: int
) -> tuple[Array, Array, Array]:
    """The K best sets, nothing scored but nodes."""
    table = np.zeros((len(position) + 1, 2))
    table[-1, 0] = -np.inf if not_empty else 0.0
    free = np.zeros(len(position) + 1, dtype=np.int32), np.ones(len(position) + 1, dtype=np.int32)
    return best_sets(S, position, indptr, children, table, forced, S[:, :0], *free, 1, K)


def best_sets(
    S: Array, position: Array, indptr: Array, children: Array, table: Array, forced: Array, E: Array, least: Array,
    most: Array, J: int, K: int,
) -> tuple[Array, Array, Array]:  # fmt: skip
    n, scores, rows = len(position), np.full((len(S), K), -np.inf), []
    for d, row in enumerate(S):
        lists: list[dict[int, list[Entry]]] = [{} for _ in range(n + 1)]  # entries of each node by number of labels
        for v in [*reversed(range(n)), n]:
            states: dict[tuple[int, int], list[Entry]] = {(0, 0): [(0.0, frozenset())]}
            for c in children[indptr[v] : indptr[v + 1]].tolist():
                states = _joined(states, c, lists[c], bool(forced[c]), table.shape[1] - 1, J, K)
            own = 0.0 if v == n or position[v] < 0 else float(row[position[v]])
            for (k, j), entries in states.items():
                labels = j if k or v == n else 1
                bonus = own + table[v, min(k, table.shape[1] - 1)]
                if not k and E.shape[1] and v < n and position[v] >= 0:
                    bonus += float(E[d, position[v]])
                if least[v] <= labels <= most[v] and bonus > -np.inf:
                    more = [(value + bonus, members) for value, members in entries]
                    lists[v][labels] = _best(lists[v].get(labels, []) + more, K)
        found = _best([entry for entries in lists[n].values() for entry in entries], K)
        for r, (value, members) in enumerate(found):
            scores[d, r] = value
            rows.append(sorted(members))
        rows += [[]] * (K - len(found))
    sizes = np.cumsum([0, *map(len, rows)])
    return sizes.astype(np.int64), np.array([v for row in rows for v in row], dtype=np.int32), scores


def _joined(
    states: dict[tuple[int, int], list[Entry]],
    c: int,
    below: dict[int, list[Entry]],
    forced: bool,
    B: int,
    J: int,
    K: int,
) -> dict[tuple[int, int], list[Entry]]:
    """States with and without one more child."""
    found: dict[tuple[int, int], list[Entry]] = (
        {} if forced else {key: list(entries) for key, entries in states.items()}
    )
    for (k, j), entries in states.items():
        for i, others in below.items():
            sums = [(a + b, A | B_ | {c}) for a, A in entries for b, B_ in others]
            found.setdefault((min(k + 1, B), min(j + i, J)), []).extend(sums)
    return {key: _best(entries, K) for key, entries in found.items()}


def _best(entries: list[Entry], K: int) -> list[Entry]:
    """In a tie the smaller set, then the lower numbers."""
    return sorted(entries, key=lambda entry: (-entry[0], len(entry[1]), sorted(entry[1])))[:K]


def isotonic_forest(X: Array, weight: Array, parent: Array) -> Array:
    """Split by the best upper part until none is above the mean."""
    Z, n = np.empty(X.shape), len(parent)
    for x, z in zip(X.astype(np.float64), Z, strict=True):
        waiting = [list(range(n))]
        while waiting:
            block = waiting.pop()
            mean = float((weight[block] * x[block]).sum() / weight[block].sum())
            upper = _upper(block, weight * (x - mean), parent)
            if not upper or len(upper) == len(block):
                z[block] = mean
            else:
                waiting += [sorted(upper), [v for v in block if v not in upper]]
    return Z


def _upper(block: list[int], gain: Array, parent: Array) -> set[int]:
    """The smallest best closed set inside a block of a forest."""
    inside, total = set(block), {v: float(gain[v]) for v in block}
    for v in reversed(block):
        if int(parent[v]) in inside and total[v] > 1e-12:
            total[int(parent[v])] += total[v]
    kept: set[int] = set()
    for v in block:
        if total[v] > 1e-12 and (int(parent[v]) not in inside or int(parent[v]) in kept):
            kept.add(v)
    return kept


def closures_within(S: Array, group: Array, parent_indptr: Array, parent_indices: Array) -> Array:
    """Best closed sets of a graph without the edges between groups."""
    from tests.kernels.twins.decoding import best_closures

    marks = np.zeros(S.shape, dtype=np.uint8)
    n = S.shape[1]
    for d, row in enumerate(S):
        pairs = [
            (v, int(p))
            for v in range(n)
            for p in parent_indices[parent_indptr[v] : parent_indptr[v + 1]]
            if group[d, v] == group[d, p]
        ]
        up = np.searchsorted([v for v, _ in pairs], np.arange(n + 1)).astype(np.int64)
        parents = np.array([p for _, p in pairs], dtype=np.int32)
        order = np.argsort(parents, kind="stable").astype(np.int64)
        down = np.searchsorted(parents[order], np.arange(n + 1)).astype(np.int64)
        below = np.array([v for v, _ in pairs], dtype=np.int32)[order]
        indptr, indices = best_closures(row[None], np.arange(n, dtype=np.int32), up, parents, down, below, order)
        for a, b in pairwise(indptr):
            marks[d, indices[a:b]] = 1
    return marks
