"""Readable twin of `paths`: one feature and one vertex at a time, in double precision."""

from __future__ import annotations

from typing import Any

__all__ = ["descend", "join", "part"]


def join(Z: Any, features: Any, group: Any, used: Any, down: Any, U: Any, W: Any, copy: Any) -> None:
    """W[f] = U[f] + sum over the vertices of z_v times their row of ``down``, where ``used`` has their bit."""
    W[:] = U
    for f, feature in enumerate(features):
        for q, g in enumerate(group):
            for v in range(16):
                if int(used[q]) >> v & 1:
                    W[f] += float(Z[g, feature, v]) * down[q, v].astype(float)
    copy[:] = W


def part(W: Any, before: Any, inverse: Any, features: Any, group: Any, up: Any, U: Any, Z: Any, changed: Any) -> None:
    """U += (W - before) inverse, and Z by what that change adds to the vertices above."""
    for f, feature in enumerate(features):
        change = (W[f].astype(float) - before[f]) @ inverse.astype(float)
        U[f] += change
        for q, g in enumerate(group):
            Z[g, feature] += change @ up[q].astype(float)


def descend(order: Any, later_ptr: Any, later: Any, share: Any, place: Any, Z: Any, M: Any, first: int) -> None:
    """m_v = z_v + sum of share times m of the later neighbours."""
    for p in range(len(M)):
        lanes = slice((first + p) * 16, (first + p + 1) * 16)
        for k in range(len(order) - 1, -1, -1):
            v = order[k]
            M[p, v] = Z[place[v] // 16, lanes, place[v] % 16]
            for e in range(later_ptr[k], later_ptr[k + 1]):
                M[p, v] += share[e] * M[p, later[e]]
