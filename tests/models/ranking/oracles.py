"""The worked examples of the ranking SVM, and a generic solver of its dual to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, sparse

from linnaeus import Taxonomy
from linnaeus.data.matrices import prepare_rows
from linnaeus.losses.cost import pair_cost
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.solver import RankingProblem, class_arrays, gram_rows

# R above A, B and c4; A above c1 and c2; B above c2 and c3.
T4 = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "c1"), ("A", "c2"), ("B", "c2"), ("B", "c3"), ("R", "c4")])
X4 = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]])
Y4 = [["c1"], ["c3"], ["c2"], ["c1", "c4"]]
CLASSES = np.array([T4.index(f"c{k}") for k in (1, 2, 3, 4)])

# name: attributes, cost, C, one slack per pair, optimum
CASES = {
    "S1": ("perclass", "half", 1.0, False, 4.13795642),
    "S2": ("one", "half", 1.0, False, 3.16673442),
    "S3": ("flat", "zero_one", 1.0, False, 3.16),
    "S4": ("perclass", "half", 10.0, False, 7.92793294),
    "S5": ("perclass", "normalised", 1.0, False, 2.40535029),
    "S6": ("perclass", "half", 1.0, True, 4.97717948),
}


def problem(
    tax: Taxonomy, X: Any, Y: Any, classes: Any, attributes: Any, cost: Any, C: Any, face: str, per_pair: bool = False
) -> RankingProblem:
    """A problem with dense rows, sparse rows or a Gram matrix; Y are 0/1 rows over the classes."""
    laid = class_arrays(class_attributes(tax, classes, attributes), pair_cost(tax, classes, cost))
    if face == "gram":
        rows = gram_rows(X @ X.T)
    else:
        rows = prepare_rows(X if face == "dense" else sparse.csr_array(X), 0.0)
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), len(X)).copy()
    return RankingProblem(rows, sparse.csr_array(Y), bound, laid, face == "gram", per_pair)


def dual(tax: Taxonomy, X: Any, Y: Any, classes: Any, attributes: Any, cost: Any, C: Any, per_pair: bool) -> tuple:
    """All pairs at once: Q, linear part, owners and bounds of the dual in b = alpha / cost."""
    A = class_attributes(tax, classes, attributes).toarray()
    D = pair_cost(tax, classes, cost).dense()
    vectors, linear, owners = [], [], []
    for i, row in enumerate(np.asarray(Y)):
        for y in np.flatnonzero(row):
            for z in np.flatnonzero(row == 0):
                vectors.append(D[y, z] * np.outer(A[y] - A[z], X[i]).ravel())
                linear.append(D[y, z])
                owners.append(i)
    V = np.array(vectors)
    return V @ V.T, np.array(linear), np.array(owners), np.broadcast_to(np.asarray(C, dtype=float), len(X)), per_pair


def generic_optimum(Q: Any, linear: Any, owners: Any, C: Any, per_pair: bool) -> float:
    """The optimum by SciPy's SLSQP, from the middle of the feasible set."""
    n_docs = len(C)
    limits = C[owners] if per_pair else None
    start = 0.5 * (limits if per_pair else C[owners] / np.bincount(owners, minlength=n_docs)[owners])
    constraints = []
    if not per_pair:
        member = (np.arange(n_docs)[:, None] == owners).astype(float)
        constraints = [{"type": "ineq", "fun": lambda b: C - member @ b, "jac": lambda b: -member}]
    found = optimize.minimize(
        lambda b: 0.5 * b @ Q @ b - linear @ b,
        start,
        jac=lambda b: Q @ b - linear,
        bounds=[(0.0, None if limits is None else limit) for limit in (limits if per_pair else start)],
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return float(-found.fun)
