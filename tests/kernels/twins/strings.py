"""Readable twins of `strings`: same names, same arguments, same answers; the tests' oracles."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["gap_weighted", "piece_gram"]


def piece_gram(a_indptr: Any, a_indices: Any, a_data: Any, b_indptr: Any, b_indices: Any, b_data: Any, K: Any) -> None:
    K[:] = 0
    for i in range(K.shape[0]):
        for e in range(a_indptr[i], a_indptr[i + 1]):
            column = slice(b_indptr[a_indices[e]], b_indptr[a_indices[e] + 1])
            K[i, b_indices[column]] += a_data[e] * b_data[column]


def gap_weighted(codes: Any, offsets: Any, T: Any, decay: float, scratch: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        s = codes[offsets[i] : offsets[i + 1]]
        for lane in range(T.shape[1]):
            out[i, :, lane] = _levels(s, T[:, lane], out.shape[1], decay)


def _levels(s: Any, t: Any, p: int, decay: float) -> Any:
    """K_1 .. K_p; R[a, b] sums over the subsequences of s[:a] and t[:b], weighted up to the ends of both."""
    R = np.ones((len(s) + 1, len(t) + 1))
    K = np.zeros(p)
    for level in range(p):
        above, R = R, np.zeros_like(R)
        for a in range(len(s)):
            r = 0.0
            for b in range(len(t)):
                hit = above[a, b] if s[a] == t[b] else 0.0
                K[level] += hit
                r = decay * r + hit
                R[a + 1, b + 1] = decay * R[a, b + 1] + r
    return K
