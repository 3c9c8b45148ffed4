"""What a fit is, in a few values: two fits with the same fingerprint compute the same model.

    {"model": "RRSVM", "documents": "#30000 x 47236 f4, 9c1e...", "labels": "#...", "taxonomy": "#...", "C": 1.0, ...}

Values that begin with "#" stand for content; they can be compared, not shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.typing import Matrix, is_sparse

__all__ = ["RUN_ONLY", "differences", "digest", "fingerprint"]

# How a fit runs, not what it computes.
RUN_ONLY = frozenset({"checkpoint", "engine", "max_memory", "max_time", "n_jobs", "verbose"})
_CHUNK = 2**24


def fingerprint(model: Any, problem: Problem, **more: Any) -> dict[str, Any]:
    """The fingerprint of fitting ``model`` to ``problem``: data, taxonomy and every parameter that matters.

    A seed counts when it is a number. Without one, or with a generator, any seed will do: the first is kept and used.

    Examples
    --------
    >>> from scipy import sparse
    >>> from linnaeus import OneVsRestSVM, Taxonomy
    >>> tax = Taxonomy.flat(["a", "b"])
    >>> problem = Problem(sparse.csr_array(np.eye(2)), tax.indicator(["a", "b"]), tax)
    >>> one, two = (fingerprint(OneVsRestSVM(C=C, n_jobs=2), problem) for C in (1.0, 2.0))
    >>> differences(one, two)
    ['C was 1.0 and is 2.0']
    """
    parts: dict[str, Any] = {
        "model": type(model).__name__,
        "documents": digest(problem.X),
        "labels": digest(problem.Y),
        "kind of labels": problem.codec.kind,
        "taxonomy": f"#{problem.taxonomy.fingerprint}",
        "sample_weight": None if problem.weights is None else digest(problem.weights),
    }
    for name, value in model.get_params(deep=False).items():
        if name not in RUN_ONLY and name != "taxonomy":
            parts[name] = _seed(value) if name == "random_state" else _plain(value)
    return parts | more


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two fingerprints, in words.

    Examples
    --------
    >>> differences({"documents": "#1", "tol": 0.1}, {"documents": "#2", "tol": 0.1, "learn": "closed"})
    ['the documents differ', "learn was not known and is 'closed'"]
    """
    found = []
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name, _Unknown), now.get(name, _Unknown)
        if old == new:
            continue
        if str(old).startswith("#") or str(new).startswith("#"):
            found.append(f"the {name} {'differs' if name in ('taxonomy', 'sample_weight') else 'differ'}")
        else:
            found.append(f"{name} was {_told(old)} and is {_told(new)}")
    return found


def digest(A: Matrix) -> str:
    """Shape, type and a hash of the content of a dense or CSR matrix; a memory-mapped one is read piece by piece."""
    state = hashlib.blake2b(digest_size=16)
    parts = (A.indptr, A.indices, A.data) if is_sparse(A) else (A,)
    for part in parts:
        part = np.asarray(part)
        # The width of indices depends on where they came from, their values do not.
        rows = max(1, _CHUNK // max(1, part.itemsize * int(np.prod(part.shape[1:], dtype=int))))
        for a in range(0, len(part), rows):
            piece = part[a : a + rows]
            piece = piece.astype(np.int64) if piece.dtype.kind in "iu" else piece
            state.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    shape = " x ".join(str(n) for n in A.shape)
    return f"#{shape} {np.dtype(A.dtype).str[1:]}, {state.hexdigest()}"


class _Unknown:
    pass


def _told(value: Any) -> str:
    return "not known" if value is _Unknown else repr(value)


def _seed(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, str)) else _whole(value)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, np.integer) else "a generator"


def _plain(value: Any) -> Any:
    """A parameter as JSON keeps it; arrays by their content, other objects by what they say of themselves."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return digest(value)
    if isinstance(value, Mapping):
        return [[str(key), _plain(v)] for key, v in sorted(value.items(), key=lambda item: str(item[0]))]
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
