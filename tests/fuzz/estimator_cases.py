"""One fuzzed case of estimator input per seed: model, taxonomy, labels, matrix, methods, and what is wrong with them.

``python -m tests.fuzz.estimator_cases FIRST STOP`` runs cases and writes one JSON line before and one after each, so
that the caller knows which case was running when the process died. Outcomes: "answer" (valid and finite), "refused"
(one of our errors), or "failure" with a traceback.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import NotFittedError

from linnaeus import Taxonomy
from linnaeus.errors import LinnaeusError
from tests.contracts.configurations import CASES, ONE_LABEL, make

N_DOCS, N_FEATURES = 14, 6

TAXONOMIES: dict[str, Callable[[], Taxonomy | None]] = {
    "tree": lambda: Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")]),
    "dag": lambda: Taxonomy.from_edges(
        [("R", "A"), ("R", "B"), ("A", "AA"), ("B", "AA"), ("A", "AB"), ("B", "BA"), ("AB", "C"), ("BA", "C")]
    ),
    "star": lambda: Taxonomy.from_edges([("R", name) for name in "ABCD"]),
    "chain": lambda: Taxonomy.from_edges([("R", "A"), ("A", "B"), ("B", "C"), ("C", "D")]),
    "graph": lambda: Taxonomy.from_edges([("A", "B"), ("B", "C"), ("C", "A"), ("C", "D")], kind="graph"),
    "flat": lambda: Taxonomy.flat(["A", "B", "C", "D"]),
    "none": lambda: None,
}

# Models that take seconds where others take milliseconds.
QUICK: dict[str, dict[str, Any]] = {
    "CorrMNL": {"n_iter": 8, "burn_in": 4, "n_chains": 1},
    "OrthogonalTransfer": {"max_iter": 5},
    "HBLR": {"max_iter": 3},
}


class Wrong(AssertionError):
    """An answer that is not valid."""


# -- matrices ----------------------------------------------------------------------------------------------------------


def _mapped(X: Any) -> Any:
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, X.toarray())
        file.flush()
        return np.load(file.name, mmap_mode="r")


def _read_only(X: Any) -> Any:
    dense = X.toarray()
    dense.flags.writeable = False
    return dense


def _read_only_sparse(X: Any) -> Any:
    X = X.copy()
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def _strided(X: Any) -> Any:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X.toarray()
    return wide[::2, ::3]


def _long_indices(X: Any) -> Any:
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _twice(X: Any) -> Any:
    """Every entry as two halves, in descending order."""
    rows = [np.repeat(X.indices[a:b][::-1], 2) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    values = [np.repeat(X.data[a:b][::-1] / 2, 2) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    return sparse.csr_array((np.concatenate(values), np.concatenate(rows), 2 * X.indptr), shape=X.shape)


def _sparse_of(dtype: Any) -> Callable[[Any], Any]:
    def made(X: Any) -> Any:
        X = X.copy()
        X.data = X.data.astype(dtype)
        return X

    return made


# All of them hold the same numbers: what a model answers must not depend on the kind.
SPARSE: dict[str, Callable[[Any], Any]] = {
    "csr_array": lambda X: X,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "coo_matrix": sparse.coo_matrix,
    "bsr_array": lambda X: sparse.bsr_array(X, blocksize=(2, 2)),
    "dia_array": sparse.dia_array,
    "lil_array": sparse.lil_array,
    "dok_matrix": sparse.dok_matrix,
    "long indices": _long_indices,
    "twice": _twice,
    "read-only": _read_only_sparse,
    **{
        f"sparse {d}": _sparse_of(d)
        for d in ("float16", "float64", "longdouble", "int8", "int64", "uint16", ">f4", "O")
    },
}
DENSE: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X.toarray().astype(np.float64),
    "matrix": lambda X: np.asmatrix(X.toarray()),
    "lists": lambda X: X.toarray().tolist(),
    "tuples": lambda X: tuple(map(tuple, X.toarray().tolist())),
    "frame": lambda X: pd.DataFrame(X.toarray(), columns=[f"f{i}" for i in range(X.shape[1])]),
    "fortran": lambda X: np.asfortranarray(X.toarray()),
    "strided": _strided,
    "read-only": _read_only,
    "mapped": _mapped,
    "masked": lambda X: np.ma.masked_array(X.toarray()),
    "reversed": lambda X: X.toarray()[:, ::-1].copy()[:, ::-1],
    **{f"dense {d}": lambda X, d=d: X.toarray().astype(d) for d in ("f2", "f4", "g", "i1", "i8", "u2", ">f8", "O")},
}


def _broken(part: str, change: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
    def made(X: Any, rng: Any) -> Any:
        X = X.copy()
        change(getattr(X, part), rng)
        return X

    return made


def _set(value: Any) -> Callable[[Any, Any], None]:
    def change(array: Any, rng: Any) -> None:
        if len(array):
            array[rng.integers(len(array))] = value

    return change


def _attribute(**parts: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def made(X: Any, rng: Any) -> Any:
        X = X.copy()
        for part, change in parts.items():
            setattr(X, part, change(getattr(X, part)))
        return X

    return made


def _damaged(kind: Any, part: str, value: Any) -> Callable[[Any, Any], Any]:
    def made(X: Any, rng: Any) -> Any:
        X = kind(X.copy())
        array = getattr(X, part)
        if len(array):
            array.flat[rng.integers(array.size)] = value
        return X

    return made


def _ragged_lil(X: Any, rng: Any) -> Any:
    X = sparse.lil_array(X)
    X.rows[0] = [*X.rows[0], 3]
    return X


def _valued(value: Any, dense: bool) -> Callable[[Any, Any], Any]:
    def made(X: Any, rng: Any) -> Any:
        with np.errstate(over="ignore"):
            X = X.astype(np.float64)
            if dense:
                X = X.toarray()
                X.flat[rng.integers(X.size)] = value
            elif len(X.data):
                X.data[rng.integers(len(X.data))] = value
        return X

    return made


HOSTILE: dict[str, Callable[[Any, Any], Any]] = {
    **{f"indptr {v}": _broken("indptr", _set(v)) for v in (-1, 1, 7, 10**6, 2**31 - 1, -(2**31))},
    **{f"indices {v}": _broken("indices", _set(v)) for v in (-1, N_FEATURES, 10**6, 2**31 - 1, -(2**31))},
    "indptr short": _attribute(indptr=lambda a: a[:-1]),
    "indptr long": _attribute(indptr=lambda a: np.append(a, a[-1])),
    "indptr first": _attribute(indptr=lambda a: np.append(1, a[1:])),
    "indptr floats": _attribute(indptr=lambda a: a.astype(float)),
    "indptr empty": _attribute(indptr=lambda a: a[:0]),
    "indptr reversed": _attribute(indptr=lambda a: a[::-1].copy()),
    "indices short": _attribute(indices=lambda a: a[: len(a) // 2]),
    "indices list": _attribute(indices=lambda a: a.tolist()),
    "data short": _attribute(data=lambda a: a[: len(a) // 2]),
    "data 2-d": _attribute(data=lambda a: a.reshape(-1, 1)),
    "all short": _attribute(data=lambda a: a[:1], indices=lambda a: a[:1]),
    "csc indices": _damaged(sparse.csc_array, "indices", 10**6),
    "csc indptr": _damaged(sparse.csc_array, "indptr", 10**6),
    "bsr indices": _damaged(lambda X: sparse.bsr_array(X, blocksize=(2, 2)), "indices", 999),
    "bsr indptr": _damaged(lambda X: sparse.bsr_array(X, blocksize=(2, 2)), "indptr", 999),
    "coo rows": _damaged(sparse.coo_matrix, "row", 10**6),
    "coo columns": _damaged(sparse.coo_matrix, "col", -5),
    "dia offsets": _damaged(sparse.dia_array, "offsets", -(10**6)),
    "lil rows": _ragged_lil,
    **{f"sparse {v}": _valued(v, False) for v in (np.nan, np.inf, 1e300, -1e300, 1e39, 1e19, 9e7, 1e-300, 1e-40)},
    **{f"dense {v}": _valued(v, True) for v in (np.nan, -np.inf, 1e300, 1e160, 1e19, 9e9, 1e-300, 5e-324)},
    "all 1e7": lambda X, rng: sparse.csr_array(X * 1e7),
    "all 1e9": lambda X, rng: X.toarray().astype(np.float64) * 1e9,
    "longdouble": lambda X, rng: X.toarray().astype(np.longdouble) * np.longdouble("1e4000"),
    "huge integers": lambda X, rng: np.full(X.shape, 2**62),
    "objects": lambda X, rng: np.full(X.shape, 10**400, dtype=object),
    "none": lambda X, rng: None,
    "string": lambda X, rng: "text",
    "texts": lambda X, rng: ["some text"] * X.shape[0],
    "series of texts": lambda X, rng: pd.Series(["some text"] * X.shape[0], index=range(5, 5 + X.shape[0])),
    "text table": lambda X, rng: pd.DataFrame({f"f{i}": ["x"] * X.shape[0] for i in range(X.shape[1])}),
    "records": lambda X, rng: [{"text": "x"}] * X.shape[0],
    "generator": lambda X, rng: (row for row in X.toarray()),
    "ragged": lambda X, rng: [[1.0] * (1 + i % 3) for i in range(X.shape[0])],
    "nothing": lambda X, rng: [],
    "no documents": lambda X, rng: X[:0],
    "no documents, dense": lambda X, rng: X[:0].toarray(),
    "no features": lambda X, rng: X[:, :0],
    "no features, dense": lambda X, rng: X[:, :0].toarray(),
    "one document": lambda X, rng: X[:1],
    "one document, matrix": lambda X, rng: sparse.csr_matrix(X[:1]),
    "one document, dense": lambda X, rng: X[:1].toarray(),
    "one dimension": lambda X, rng: X.toarray()[0],
    "one dimension, sparse": lambda X, rng: sparse.coo_array(X.toarray()[0]),
    "three dimensions": lambda X, rng: X.toarray()[None],
    "a number": lambda X, rng: 3.0,
    "zeros": lambda X, rng: X * 0,
    "empty": lambda X, rng: sparse.csr_array(X.shape),
    "empty, dense": lambda X, rng: np.zeros(X.shape),
    "equal rows": lambda X, rng: np.ones(X.shape),
    "complex": lambda X, rng: X.toarray() + 1j,
    "complex, sparse": lambda X, rng: X * 1j,
    "dates": lambda X, rng: np.zeros(X.shape, dtype="datetime64[s]"),
    "structured": lambda X, rng: np.zeros(X.shape[0], dtype=[("a", float), ("b", float)]),
    "bytes": lambda X, rng: np.full(X.shape, b"x"),
    "numbers as text": lambda X, rng: X.toarray().astype(str),
    "masked": lambda X, rng: np.ma.masked_array(X.toarray(), mask=rng.random(X.shape) < 0.3),
    "missing cells": lambda X, rng: pd.DataFrame(X.toarray()).mask(rng.random(X.shape) < 0.2),
    "NA cells": lambda X, rng: pd.DataFrame({f"f{i}": [pd.NA] * X.shape[0] for i in range(X.shape[1])}),
    "wide": lambda X, rng: sparse.csr_array(sparse.hstack([X, X])),
    "transposed": lambda X, rng: sparse.csr_array(X.T),
    "very wide": lambda X, rng: sparse.csr_array((X.shape[0], 2**40)),
    "bool": lambda X, rng: X.toarray() > 0,
    "bool, sparse": lambda X, rng: sparse.csr_array(X > 0),
    "float16 overflow": lambda X, rng: np.where(X.toarray() > 0, np.inf, 0).astype(np.float16),
    "set": lambda X, rng: {1.0, 2.0},
    "dict": lambda X, rng: {"a": [1.0]},
}


# -- labels ------------------------------------------------------------------------------------------------------------


def _label_names(tax: Taxonomy | None) -> list[str]:
    return ["A", "B", "C"] if tax is None else [str(n) for v, n in enumerate(tax.names) if v != tax.root]


def labels_of(rng: Any, tax: Taxonomy | None, kind: str, n_docs: int, single: bool) -> Any:
    names = _label_names(tax)
    chosen = [list(rng.choice(names, size=1 if single else rng.integers(1, 3), replace=False)) for _ in range(n_docs)]
    for i, name in enumerate(names[:n_docs]):
        chosen[i] = [name]
    chosen = [[str(label) for label in row] for row in chosen]
    if kind == "sets":
        return chosen
    if kind == "empty sets":
        return [row if i % 3 else [] for i, row in enumerate(chosen)] if not single else chosen
    if kind == "labels":
        return [row[0] for row in chosen]
    if kind == "array":
        return np.array([row[0] for row in chosen])
    if kind == "series":
        return pd.Series([row[0] for row in chosen], index=range(3, 3 + n_docs))
    if kind == "categorical":
        return pd.Categorical([row[0] for row in chosen])
    if kind == "bytes":
        return np.array([row[0].encode() for row in chosen])
    if kind == "ragged":
        made = np.empty(n_docs, dtype=object)
        made[:] = chosen
        return made
    if kind == "paths":
        return (
            np.array([["A", "AA"], ["B", ""]] * n_docs)[:n_docs]
            if tax is None
            else np.array([chosen[i][:1] for i in range(n_docs)])
        )
    if kind == "integers":
        return np.arange(n_docs) % 3
    Y = (tax or Taxonomy.flat(names)).indicator(chosen)
    if kind == "indicator":
        return Y.toarray()
    if kind == "frame":
        return pd.DataFrame(Y.toarray(), columns=[str(n) for n in (tax or Taxonomy.flat(names)).names])
    if kind == "matrix":
        return np.asmatrix(Y.toarray())
    return {"sparse": sparse.csr_array, "csc": sparse.csc_matrix, "coo": sparse.coo_array, "lil": sparse.lil_matrix}[
        kind
    ](Y)


LABELS = [
    *("sets", "empty sets", "labels", "array", "series", "categorical", "bytes", "ragged", "paths", "integers"),
    *("indicator", "frame", "matrix", "sparse", "csc", "coo", "lil"),
]


def _n(y: Any) -> int:
    return y.shape[0] if hasattr(y, "shape") else len(y)


def _sparse_labels(y: Any, change: Callable[[Any], None]) -> Any:
    Y = sparse.csr_array((np.arange(_n(y))[:, None] % 4 == np.arange(4)).astype(np.int8))
    change(Y)
    return Y


HOSTILE_LABELS: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda y, rng: None,
    "string": lambda y, rng: "A",
    "number": lambda y, rng: 3,
    "dict": lambda y, rng: dict.fromkeys(range(_n(y)), "A"),
    "set": lambda y, rng: {"A", "B"},
    "generator": lambda y, rng: (label for label in ["A", "B"] * _n(y)),
    "short": lambda y, rng: ["A"],
    "nothing": lambda y, rng: [],
    "one class": lambda y, rng: ["A"] * _n(y),
    "one class, sets": lambda y, rng: [["A"]] * _n(y),
    "all empty": lambda y, rng: [[]] * _n(y),
    "missing": lambda y, rng: [None, *["A"] * (_n(y) - 1)],
    "nan": lambda y, rng: np.full(_n(y), np.nan),
    "inf": lambda y, rng: np.full(_n(y), np.inf),
    "fractions": lambda y, rng: rng.random(_n(y)),
    "large": lambda y, rng: np.full(_n(y), 1e300),
    "NA": lambda y, rng: pd.Series([pd.NA, *["A"] * (_n(y) - 1)], dtype=object),
    "unknown": lambda y, rng: ["Sprots"] * _n(y),
    "nested": lambda y, rng: [[["A"], ["B"]]] * _n(y),
    "dicts": lambda y, rng: [{"A": 1}] * _n(y),
    "complex": lambda y, rng: np.ones(_n(y)) * 1j,
    "dates": lambda y, rng: np.zeros(_n(y), dtype="datetime64[D]"),
    "bad bytes": lambda y, rng: np.array([b"\xff\xfe"] * _n(y)),
    "three dimensions": lambda y, rng: np.zeros((_n(y), 2, 2)),
    "numbers": lambda y, rng: rng.integers(-3, 9, size=(_n(y), 3)),
    "infinite paths": lambda y, rng: np.full((_n(y), 2), np.inf),
    "objects": lambda y, rng: np.array([object()] * _n(y)),
    "mixed": lambda y, rng: ["A", 1, 2.0, None, b"B", ["C"], True] * _n(y),
    "masked": lambda y, rng: np.ma.masked_array(np.arange(_n(y)), mask=True),
    "root": lambda y, rng: ["R"] * _n(y),
    "big integers": lambda y, rng: [2**70, 2**71] * (_n(y) // 2),
    "uint64": lambda y, rng: (np.arange(_n(y)) % 3).astype(np.uint64) + np.uint64(2**63),
    "float16": lambda y, rng: (np.arange(_n(y)) % 3).astype(np.float16),
    "longdouble": lambda y, rng: (np.arange(_n(y)) % 3).astype(np.longdouble),
    "big-endian": lambda y, rng: (np.arange(_n(y)) % 3).astype(">i4"),
    "indptr": lambda y, rng: _sparse_labels(y, lambda Y: Y.indptr.__setitem__(3, 10**6)),
    "indices": lambda y, rng: _sparse_labels(y, lambda Y: Y.indices.__setitem__(0, 10**6)),
    "negative indices": lambda y, rng: _sparse_labels(y, lambda Y: Y.indices.__setitem__(0, -7)),
    "values": lambda y, rng: _sparse_labels(y, lambda Y: Y.data.__setitem__(0, 7)),
    "short data": lambda y, rng: _sparse_labels(y, lambda Y: setattr(Y, "data", Y.data[:2])),
    "float16 sparse": lambda y, rng: _sparse_labels(y, lambda Y: setattr(Y, "data", Y.data.astype(np.float16))),
    "object sparse": lambda y, rng: _sparse_labels(y, lambda Y: setattr(Y, "data", Y.data.astype(object))),
    "nan sparse": lambda y, rng: _sparse_labels(y, lambda Y: setattr(Y, "data", Y.data * np.nan)),
    "wide sparse": lambda y, rng: sparse.csr_array((_n(y), 2**33), dtype=np.int8),
}

WEIGHTS: dict[str, Callable[[int, Any], Any]] = {
    "ones": lambda n, rng: np.ones(n),
    "one": lambda n, rng: 2.0,
    "random": lambda n, rng: rng.random(n),
    "list": lambda n, rng: [1] * n,
    "series": lambda n, rng: pd.Series(np.arange(1.0, n + 1), index=range(9, 9 + n)),
    "zeros": lambda n, rng: np.zeros(n),
    "some zeros": lambda n, rng: (np.arange(n) % 3 > 0).astype(float),
    "negative": lambda n, rng: -np.ones(n),
    "nan": lambda n, rng: np.full(n, np.nan),
    "huge": lambda n, rng: np.full(n, 1e300),
    "large": lambda n, rng: np.full(n, 1e8),
    "subnormal": lambda n, rng: np.full(n, 1e-300),
    "tiny": lambda n, rng: np.full(n, 1e-30),
    "spread": lambda n, rng: 10.0 ** rng.integers(-30, 8, n),
    "strings": lambda n, rng: ["1"] * n,
    "complex": lambda n, rng: np.ones(n) * 1j,
    "short": lambda n, rng: [1.0],
    "column": lambda n, rng: np.ones((n, 1)),
    "matrix": lambda n, rng: np.asmatrix(np.ones(n)),
    "sparse": lambda n, rng: sparse.csr_array(np.ones((1, n))),
    "objects": lambda n, rng: np.array([None] * n),
    "bool": lambda n, rng: np.arange(n) % 2 == 0,
    "integers": lambda n, rng: np.arange(1, n + 1),
    "float16": lambda n, rng: np.ones(n, dtype=np.float16),
    "dates": lambda n, rng: np.zeros(n, dtype="datetime64[s]"),
    "dict": lambda n, rng: {"A": 1.0},
}


# -- one case ----------------------------------------------------------------------------------------------------------


def problem(rng: Any, tax: Taxonomy | None, kind: str, single: bool) -> tuple[Any, Any]:
    """Documents of small whole numbers, which every type of number holds exactly, and labels."""
    X = sparse.random_array(
        (N_DOCS, N_FEATURES), density=0.6, rng=rng, data_sampler=lambda size: rng.integers(1, 5, size)
    )
    return sparse.csr_array(X.astype(np.float32)), labels_of(rng, tax, kind, N_DOCS, single)


def run_case(seed: int) -> str:
    """What came of the case: "answer" or "refused"; everything else is raised."""
    rng = np.random.default_rng(seed)
    name, settings = CASES[seed % len(CASES)]
    tax_kind = str(rng.choice(list(TAXONOMIES)))
    y_kind = str(rng.choice(LABELS))
    hostile = rng.random() < 0.6
    where = str(rng.choice(["fit", "labels", "weights", "predict", "predict", "stream"])) if hostile else ""
    if where in ("predict", "stream") or not hostile:
        model = _learned(seed % len(CASES), tax_kind, bool(rng.integers(2)))
        if model is None:
            return "refused"
        return _asked(model, rng, hostile, where)
    tax = TAXONOMIES[tax_kind]()
    X, y = problem(rng, tax, y_kind, name in ONE_LABEL)
    weights = None
    if where == "fit":
        X = HOSTILE[str(rng.choice(list(HOSTILE)))](X, rng)
    else:
        X = _any_kind(X, rng)
    if where == "labels":
        y = HOSTILE_LABELS[str(rng.choice(list(HOSTILE_LABELS)))](y, rng)
    if where == "weights":
        weights = WEIGHTS[str(rng.choice(list(WEIGHTS)))](N_DOCS, rng)
    try:
        model = make(name, {**settings, **QUICK.get(name, {})}, taxonomy=tax).fit(X, y, weights)
    except LinnaeusError:
        return "refused"
    more = problem(rng, tax, y_kind, name in ONE_LABEL)[0]
    if model.n_features_in_ != N_FEATURES:
        more = X
    _ask(model, "predict", more, rng)
    _ask(model, "decision_function", more, rng)
    return "answer"


def _any_kind(X: Any, rng: Any) -> Any:
    kinds = SPARSE if rng.random() < 0.5 else DENSE
    return kinds[str(rng.choice(list(kinds)))](X)


@cache
def _learned(case: int, tax_kind: str, dense: bool) -> Any:
    """A model of good documents, learned once for many cases; None where the model refuses the taxonomy."""
    name, settings = CASES[case]
    tax = TAXONOMIES[tax_kind]()
    X, y = problem(np.random.default_rng(7), tax, "labels" if tax is None else "sets", name in ONE_LABEL)
    try:
        model = make(name, {**settings, **QUICK.get(name, {})}, taxonomy=tax)
        return model.fit(X.toarray() if dense else X, y)
    except LinnaeusError:
        return None


METHODS = [
    *("predict", "answers", "decision_function", "score_blocks", "top", "top_nodes", "predict_proba", "n_best"),
    *("explain", "score", "keep_documents", "rules"),
]


def _asked(model: Any, rng: Any, hostile: bool, where: str) -> str:
    """A fitted model asked about documents of some kind; equal numbers have equal answers."""
    method = str(rng.choice(METHODS))
    X = problem(rng, model.taxonomy_, "sets", True)[0]
    if where == "stream":
        return _stream(model, rng, X)
    if hostile:
        return _ask(model, method, HOSTILE[str(rng.choice(list(HOSTILE)))](X, rng), rng)
    if rng.random() < 0.2:
        X = X[:1]
    kinds, plain = (SPARSE, X) if rng.random() < 0.5 else (DENSE, X.toarray())
    kind = str(rng.choice([k for k in kinds if X.shape[0] > 1 or k != "bsr_array"]))
    expected, found = model.decision_function(plain), model.decision_function(kinds[kind](X))
    if not np.allclose(expected, found, rtol=1e-4, atol=1e-5):
        raise Wrong(f"{type(model).__name__}: scores of {kind} differ from those of the plain matrix")
    return _ask(model, method, kinds[kind](X), rng)


def _stream(model: Any, rng: Any, X: Any) -> str:
    from copy import deepcopy

    single = type(model).__name__ in ONE_LABEL or model.taxonomy is None
    y = labels_of(rng, model.taxonomy, "labels" if single else "sets", X.shape[0], single)
    change = rng.integers(3)
    weights = None
    if change == 0:
        X = HOSTILE[str(rng.choice(list(HOSTILE)))](X, rng)
    elif change == 1:
        y = HOSTILE_LABELS[str(rng.choice(list(HOSTILE_LABELS)))](y, rng)
        X = _any_kind(X, rng)
    else:
        weights = WEIGHTS[str(rng.choice(list(WEIGHTS)))](X.shape[0], rng)
    learn = next((m for m in ("partial_fit", "update") if hasattr(model, m)), None)
    if learn is None:
        return _ask(model, "score", X, rng, y, weights)
    good = problem(rng, model.taxonomy, "sets", True)[0]
    fresh = deepcopy(model) if learn == "partial_fit" else _refitted(model)
    try:
        getattr(fresh, learn)(X, y, sample_weight=weights)
    except LinnaeusError:
        _ask(fresh, "predict", good, rng)  # a refused batch leaves the model as it was
        return "refused"
    return _ask(fresh, "decision_function", good, rng)


def _refitted(model: Any) -> Any:
    """A model with the documents of its fit, which `update` needs and copies do not hold."""
    from sklearn.base import clone

    tax = model.taxonomy
    X, y = problem(
        np.random.default_rng(7), tax, "labels" if tax is None else "sets", type(model).__name__ in ONE_LABEL
    )
    return clone(model).fit(X, y)


def _ask(model: Any, method: str, X: Any, rng: Any, y: Any = None, weights: Any = None) -> str:
    try:
        answer = _called(model, method, X, rng, y, weights)
    except (LinnaeusError, NotFittedError):
        return "refused"
    for array in answer:
        values = np.asarray(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise Wrong(f"{type(model).__name__}.{method}: the answer is not finite")
    return "answer"


def _called(model: Any, method: str, X: Any, rng: Any, y: Any, weights: Any) -> list[Any]:
    """Arrays of an answer, whose shapes are checked here."""
    n_docs = X.shape[0] if hasattr(X, "shape") and X.shape else None
    if method == "score_blocks":
        blocks = list(model.score_blocks(X))
        if n_docs is not None and sum(map(len, blocks)) != n_docs:
            raise Wrong("score_blocks: another number of documents")
        return blocks
    if method == "score":
        y = (
            labels_of(rng, model.taxonomy, "labels" if model.taxonomy is None else "sets", n_docs or 1, True)
            if y is None
            else y
        )
        return [model.score(X, y, weights)]
    if method == "predict_proba":
        return [model.predict_proba(X)] if hasattr(model, "predict_proba") else []
    if method == "n_best":
        return [score for row in model.n_best(X, 2) for _, score in row]
    if method == "rules":
        return [model.answers(X, rules={"at_most": 2}).data]
    if method == "explain":
        return [step.contributions for step in model.explain(X)] if hasattr(model, "explain") else []
    if method == "keep_documents":
        from copy import copy

        y = labels_of(rng, model.taxonomy, "labels" if model.taxonomy is None else "sets", n_docs or 1, True)
        kept = copy(model).keep_documents(X, y)
        return [found.similarity for found in kept.nearest(np.ones((1, N_FEATURES)))]
    answer = getattr(model, method)(X)
    if method in ("top", "top_nodes"):
        return [answer[1]]
    found = answer.shape[0] if hasattr(answer, "shape") else len(answer)
    if n_docs is not None and found != n_docs:
        raise Wrong(f"{method}: answers of {found} documents, expected {n_docs}")
    return [answer.data if hasattr(answer, "indptr") else answer] if not isinstance(answer, list) else []


def main(first: int, stop: int) -> None:
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)  # overflow and invalid values, which hide wrong answers
    for seed in range(first, stop):
        print(json.dumps({"begun": seed}), flush=True)
        try:
            outcome, detail = run_case(seed), ""
        except Exception:
            outcome, detail = "failure", traceback.format_exc()
        print(json.dumps({"seed": seed, "outcome": outcome, "detail": detail}), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*map(int, sys.argv[1:3]))
