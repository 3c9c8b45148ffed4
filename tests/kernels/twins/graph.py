"""Readable twins of the compiled kernels: same names, same arguments, same answers; the tests' oracles."""

from __future__ import annotations

import numpy as np

IntArray = np.ndarray

__all__ = ["covered_members", "topological_depth", "upward_closure"]


def topological_depth(child_indptr: IntArray, child_indices: IntArray, n_parents: IntArray) -> IntArray:
    n = len(n_parents)
    left = n_parents.copy()
    depth = np.full(n, -1, dtype=np.int32)
    frontier, level = [v for v in range(n) if left[v] == 0], 0
    while frontier:
        following = []
        for v in frontier:
            depth[v] = level
            for c in child_indices[child_indptr[v] : child_indptr[v + 1]]:
                left[c] -= 1
                if left[c] == 0:
                    following.append(int(c))
        frontier, level = following, level + 1
    return depth


def upward_closure(
    set_indptr: IntArray, set_indices: IntArray, parent_indptr: IntArray, parent_indices: IntArray, barrier: int
) -> tuple[IntArray, IntArray]:
    rows: list[list[int]] = []
    for r in range(len(set_indptr) - 1):
        seen: set[int] = set()
        todo = [int(v) for v in set_indices[set_indptr[r] : set_indptr[r + 1]]]
        while todo:
            v = todo.pop()
            if v not in seen:
                seen.add(v)
                todo += [int(p) for p in parent_indices[parent_indptr[v] : parent_indptr[v + 1]] if p != barrier]
        rows.append(sorted(seen))
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return indptr, np.array([v for row in rows for v in row], dtype=np.int32)


def covered_members(
    set_indptr: IntArray, set_indices: IntArray, parent_indptr: IntArray, parent_indices: IntArray
) -> IntArray:
    covered = np.zeros(len(set_indices), dtype=np.uint8)
    for r in range(len(set_indptr) - 1):
        members = set_indices[set_indptr[r] : set_indptr[r + 1]]
        above: set[int] = set()
        todo = [int(p) for v in members for p in parent_indices[parent_indptr[v] : parent_indptr[v + 1]]]
        while todo:
            v = todo.pop()
            if v not in above:
                above.add(v)
                todo += [int(p) for p in parent_indices[parent_indptr[v] : parent_indptr[v + 1]]]
        covered[set_indptr[r] : set_indptr[r + 1]] = [int(v) in above for v in members]
    return covered
