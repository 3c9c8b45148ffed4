"""Regularised least squares for every node, trained on the documents that belong to its parents: the baseline H-RLS.

For each node v, over the documents that carry all parents of v (at the top: all documents), labels closed upwards,

    min_w  1/2 |w|^2 + C/2 sum_i (y_i - w'x_i)^2        y_i = +1 where document i is under v, else -1

and v is answered where its score is above 0 and all its parents are answered (Cesa-Bianchi, Gentile and Zaniboni 2006).
In the paper the document to be scored enters the inverse, too: with A = I/C + sum_i x_i x_i',

    w(x)'x = x'(A + x x')^-1 sum_i y_i x_i = w'x / (1 + x'A^-1x),

so that its sign, and the order of siblings, are those of w'x: one ridge regression, no inverse per document. The exact
value matters only where nodes of different families are ranked; ``margin="exact"`` gives it. Siblings share A, which is
factored once. With a kernel everything is on the side of documents: w = sum_i a_i phi(x_i).

With Z (n_docs x n_features) the documents times sqrt(C weight), and targets r likewise, the problem of a node is

    min_w  1/2 |w|^2 + 1/2 |r - Z w|^2,        w = (I + Z'Z)^-1 Z'r = Z'(I + ZZ')^-1 r

Up to `DIRECT` features or documents, whichever are fewer, the solution comes from a Cholesky factor, else from
conjugate gradients. For any w with the residual g = Z'(r - Zw) - w of the normal equations the objective is at most 1/2
|g|^2 above the optimum, because I + Z'Z is at least I: the certificate. The leverage of a document x, with A = I + Z'Z
and ``M M' = A^-1``, is x'A^-1x = |M'x|^2; on the side of documents, with M M' = (I + ZZ')^-1, it is K(x, x) - |M'k|^2
where k = Z x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.models.explaining import NodeExplanation
from linnaeus.models.fitting import document_weights
from linnaeus.models.kernels import KernelInput, Linear, kept_documents, kernel_of, row_products
from linnaeus.models.solvers.cg import column_dots, conjugate_gradients
from linnaeus.models.topdown.base import LocalClassifiers, _undecided
from linnaeus.models.topdown.local import Family, LocalSolution
from linnaeus.models.topdown.top_down import NodeSVM
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

__all__ = ["DIRECT", "HierarchicalRLS", "Ridge", "inverse_root", "solve_features", "solve_gram"]

DIRECT = 2000  # rows of a system that a Cholesky factor solves at once


@dataclass(frozen=True)
class Ridge:
    """Weights (n_features x n_columns), or coefficients of documents, with objective and certified gap, summed."""

    weights: FloatArray
    objective: float
    gap: float
    n_iter: int = 1
    converged: bool = True
    root: FloatArray | None = None  # M of the leverages


def solve_features(Z: Matrix, R: FloatArray, *, tol: float, max_iter: int, root: bool = False) -> Ridge:
    """Weights for targets R (n_docs x n_columns); ``root`` asks for M, on the side of features."""
    n_docs, n_features = Z.shape
    if root or n_features <= min(n_docs, DIRECT):
        factor = _factor(_dense(Z.T @ Z))
        W = _solved(factor, np.asarray(Z.T @ R))
        return _certified(Z, R, W, root=inverse_root(factor) if root else None)
    if n_docs <= DIRECT:
        return _certified(Z, R, np.asarray(Z.T @ _solved(_factor(_dense(Z @ Z.T)), R)))
    return _iterated(Z, R, tol, max_iter)


def solve_gram(G: FloatArray, R: FloatArray, *, root: bool = False) -> Ridge:
    """Coefficients a = (I + G)^-1 R of documents with the Gram matrix G; w = Z'a.

    Examples
    --------
    >>> found = solve_gram(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[1.0], [-1.0]]))
    >>> found.weights.round(12).ravel().tolist(), round(found.objective, 12)
    ([0.6, -0.8], 0.7)
    """
    factor = _factor(G)
    A = _solved(factor, R)
    GA = G @ A
    norms, errors = np.einsum("ib,ib->b", A, GA), R - GA
    residual = errors - A  # g = Z'(r - Zw) - w = Z'(r - Ga - a)
    gap = 0.5 * np.einsum("ib,ib->", residual, G @ residual)
    objective = 0.5 * (norms.sum() + (errors**2).sum())
    return Ridge(A, float(objective), float(max(gap, 0.0)), root=inverse_root(factor) if root else None)


def inverse_root(factor: FloatArray) -> FloatArray:
    """M with M M' the inverse, from the lower Cholesky factor: its inverse, transposed."""
    from scipy.linalg import solve_triangular

    return np.ascontiguousarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def _factor(G: FloatArray) -> FloatArray:
    """The lower Cholesky factor of G + I; where I is lost in the rounding of G, of a little more than that."""
    from scipy.linalg import LinAlgError, cholesky

    places = np.diag_indices(len(G))
    for shift in (1.0, 1.0 + 1e-12 * len(G) * float(np.max(G[places], initial=0.0))):
        system = np.array(G, dtype=np.float64)
        system[places] += shift
        try:
            return np.asarray(cholesky(system, lower=True, overwrite_a=True, check_finite=False))
        except LinAlgError:
            continue
    raise DataError(
        "Documents are too large and too similar for least squares in double precision; scale the features."
    )


def _solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), right, check_finite=False))


def _certified(Z: Matrix, R: FloatArray, W: FloatArray, root: FloatArray | None = None) -> Ridge:
    errors = R - Z @ W
    residual = Z.T @ errors - W
    objective = 0.5 * float((W**2).sum() + (errors**2).sum())
    return Ridge(W, objective, 0.5 * float((residual**2).sum()), root=root)


def _iterated(Z: Matrix, R: FloatArray, tol: float, max_iter: int) -> Ridge:
    """All columns in step, each until its certified gap is ``tol`` of its objective."""
    B: FloatArray = np.asarray(Z.T @ R)
    constant = 0.5 * (R**2).sum(axis=0)
    finished = np.zeros(R.shape[1], bool)

    def product(V: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
        return V + Z.T @ (Z @ V), None

    def stop(W: FloatArray, residual: FloatArray, size: FloatArray) -> BoolArray:
        # At W the objective is 1/2 W'AW - W'B + constant, and AW = B - residual.
        finished[:] = 0.5 * size <= tol * (constant - 0.5 * column_dots(W, B + residual))
        return finished

    found = conjugate_gradients(product, B, max_products=max_iter, columns=True, stop=stop)
    return replace(_certified(Z, R, found.x), n_iter=found.n_products, converged=bool(finished.all()))


def _dense(G: Matrix) -> FloatArray:
    return np.asarray(G.toarray() if hasattr(G, "toarray") else G)


MOST_DOCUMENTS = 20_000  # of a family whose Gram matrix is factored


class HierarchicalRLS(KernelInput, NodeSVM):
    """Regularised least squares for every node, trained where its ancestors hold, asked where they hold (H-RLS).

    Answers are found as by `NodeSVM`. There is no constant feature.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the squared errors against 1/2 |w|^2; the penalty of the literature is 1 / C.
    kernel : str or Kernel, default="linear"
        "linear", "rbf", "poly", "precomputed" (X is the Gram matrix), or a kernel object.
    margin : str, default="plain"
        "plain", scores are w'x; "exact", those of the paper, which can be compared between families. They take a factor
        of n_features (up to 2,000) or n_docs squared for every inner node into the model.
    tol : float, default=1e-06
        Relative gap at which conjugate gradients stop, in families too large for a factor.
    max_iter : int, default=1000
        Steps of conjugate gradients, at most.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    random_state : int or RandomState, default=None
        Not used: nothing is drawn. It exists so that all models can be constructed alike.
    verbose : int, default=0
        Show a progress bar if above 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        Weights of the nodes, for the linear kernel with plain margins or few features.
    documents_, dual_coef_ : matrix, csr_array of shape (n_docs, n_classes)
        Otherwise the training documents and their coefficients.
    objective_, duality_gap_ : float
        Sums over all nodes; the optimum is at least ``objective_ - duality_gap_``.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import HierarchicalRLS, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 1.0]])
    >>> model = HierarchicalRLS(taxonomy=tax, C=10.0).fit(X, [["AA"], ["AB"], ["B"], ["AA", "B"]])
    >>> model.predict(X)
    [['AA'], ['AB'], ['B'], ['B', 'AA']]
    >>> HierarchicalRLS(tax, C=10.0, kernel="rbf").fit(X, ["AA", "AB", "B", "B"]).predict(X).tolist()
    ['AA', 'AB', 'B', 'B']
    """

    margin: str
    documents_: Any
    dual_coef_: CSR
    leverage_: list[Any]

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        kernel: str | Kernel = "linear",
        margin: str = "plain",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.kernel = kernel
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super(LocalClassifiers, self)._check_parameters()
        kernel_of(self.kernel)
        check_number("C", self.C, above=0)
        check_number("tol", self.tol, above=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        check_choice("margin", self.margin, ("plain", "exact"))

    def _forget(self) -> None:
        super()._forget()
        for name in ("weights_", "intercept_", "documents_", "dual_coef_"):
            self.__dict__.pop(name, None)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _learn(self, problem: Problem, families: list[Family]) -> None:
        exact = self.margin == "exact"
        by_features = self.kernel_ == Linear() and (not exact or problem.X.shape[1] <= DIRECT)
        shared = _Training(
            problem.X, np.sqrt(self.C * document_weights(problem)), self.kernel_, self.tol, self.max_iter, exact
        )
        tasks = [family for family in map(_undecided, families) if family is not None]
        if not by_features:
            self._check_sizes(tasks)
        engine = get_engine(None, self.n_jobs)
        found: list[tuple[Family, Ridge]] = []
        with single_blas_thread(), progress("training", len(tasks), show=self.verbose > 0) as advance:
            solve = _solve_by_features if by_features else _solve_by_documents
            for family, solution in zip(tasks, engine.map(solve, tasks, shared=shared), strict=True):
                found.append((family, solution))
                advance(1)
        if by_features:
            self._collect([_entries(shared, *pair) for pair in found], families, problem.X)
        else:
            self._keep_documents(found, families, shared)
        self.leverage_ = [[family.columns, family.rows, solution.root] for family, solution in found if exact]

    def _check_sizes(self, families: list[Family]) -> None:
        largest = max((len(family.rows) for family in families), default=0)
        if largest > MOST_DOCUMENTS:
            raise ParameterError(
                f"kernel={self.kernel!r} with margin={self.margin!r} takes a Gram matrix of {largest:,} documents, "
                f"expected at most {MOST_DOCUMENTS:,}; kernel='linear' with margin='plain' takes any number."
            )

    def _keep_documents(self, found: list[tuple[Family, Ridge]], families: list[Family], shared: _Training) -> None:
        from scipy import sparse

        n_docs, n_nodes = len(shared.scale), len(self.nodes_)
        # Constants of nodes that need no classifier, as for weights; those of stops are 0 by themselves.
        nothing = sparse.csr_array((n_docs, 1), dtype=np.float64)
        self._collect([], families, nothing)
        decided = np.concatenate([np.empty(0, np.int64), *(family.columns for family, _ in found)])
        self.intercept_[decided] = 0.0
        del self.weights_
        parts = [_coefficients(shared, *pair) for pair in found]
        rows, columns, values = (np.concatenate([np.empty(0, kind), *(part[k] for part in parts)])
                                 for k, kind in enumerate((np.int64, np.int64, np.float64)))  # fmt: skip
        self.dual_coef_ = sparse.csr_array((values, (rows, columns)), shape=(n_docs, n_nodes))
        self.documents_ = kept_documents(shared.X, np.arange(n_docs))
        self.objective_ = float(sum(solution.objective for _, solution in found))
        self.duality_gap_ = float(sum(solution.gap for _, solution in found))
        self.n_iter_ = 1

    # -- answering -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> FloatArray:
        if hasattr(self, "weights_"):
            S = super()._scores(X)
            for columns, _, root in self.leverage_:
                S[:, columns] /= 1.0 + self.C * _squared_rows(X, root)[:, None]
            return S
        K = self.kernel_(X, self.documents_)
        S = row_products(K, self.dual_coef_) + self.intercept_
        own = self.kernel_.diagonal(X) if self.leverage_ else np.zeros(0)
        for columns, rows, root in self.leverage_:
            S[:, columns] /= 1.0 + self.C * np.maximum(own - _squared_rows(K[:, rows], root), 0.0)[:, None]
        return S

    def _stop_scores(self, X: Any) -> FloatArray:
        return np.zeros((X.shape[0], len(self.stop_nodes_)))

    def explain(self, x: object, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """As `NodeSVM.explain`; with the linear kernel and plain margins only, where scores are sums over features."""
        if not hasattr(self, "weights_") or self.margin == "exact":
            raise ParameterError(
                "explain needs kernel='linear' and margin='plain'; other scores are not sums over features."
            )
        return super().explain(x, node, k)


@dataclass(frozen=True)
class _Training:
    """What all families share: documents, the factor sqrt(C weight) of each, and how to solve."""

    X: Any
    scale: FloatArray
    kernel: Kernel
    tol: float
    max_iter: int
    exact: bool


def _targets(training: _Training, family: Family) -> FloatArray:
    """+1 and -1 (n_rows x n_columns), times the factors of the documents."""
    R = np.full((len(family.rows), len(family.columns)), -1.0)
    for column, members in enumerate(family.positives):
        R[members, column] = 1.0
    return R * training.scale[family.rows, None]


def _solve_by_features(training: _Training, family: Family) -> Ridge:
    Z = _scaled(training.X[family.rows], training.scale[family.rows])
    if not training.exact:
        Z = Z[:, _used(training.X, family)]
    R = _targets(training, family)
    return solve_features(Z, R, tol=training.tol, max_iter=training.max_iter, root=training.exact)


def _solve_by_documents(training: _Training, family: Family) -> Ridge:
    documents, scale = training.X[family.rows], training.scale[family.rows]
    G = training.kernel(documents, documents) * scale * scale[:, None]
    found = solve_gram(G, _targets(training, family), root=training.exact)
    if found.root is None:
        return found
    # |M'k|^2 with k = scale * K(documents, x): the factors go into M, so that answering need not know them.
    return Ridge(found.weights, found.objective, found.gap, root=found.root * scale[:, None])


def _scaled(X: Matrix, scale: FloatArray) -> Matrix:
    if isinstance(X, np.ndarray):
        return X.astype(np.float64) * scale[:, None]
    Z = X.astype(np.float64)
    Z.data *= np.repeat(scale, np.diff(Z.indptr))
    return Z


def _used(X: Matrix, family: Family) -> IntArray:
    """Features that occur in the documents of a family."""
    if isinstance(X, np.ndarray):
        return np.arange(X.shape[1])
    return np.unique(X[family.rows].indices)


def _entries(training: _Training, family: Family, found: Ridge) -> LocalSolution:
    """Weights as the top-down models collect them: entries (feature, column, value)."""
    features = np.arange(len(found.weights)) if training.exact else _used(training.X, family)
    entry, column = np.nonzero(found.weights)
    values = found.weights[entry, column].astype(training.X.dtype)
    intercept = np.zeros(len(family.columns), training.X.dtype)
    return LocalSolution(
        features[entry], family.columns[column], values, family.columns, intercept,
        found.objective, found.gap, found.n_iter, found.converged,
    )  # fmt: skip


def _coefficients(training: _Training, family: Family, found: Ridge) -> tuple[IntArray, IntArray, FloatArray]:
    """Entries (document, column, coefficient)."""
    values = found.weights * training.scale[family.rows, None]
    rows, columns = np.repeat(family.rows, len(family.columns)), np.tile(family.columns, len(family.rows))
    return rows, columns, values.ravel()


def _squared_rows(V: Matrix, root: FloatArray) -> FloatArray:
    """|M'v|^2 of every row v; one by one, so that no bit depends on the batch."""
    return np.array([float(((row @ root) ** 2).sum()) for row in _dense_rows(V)])


def _dense_rows(V: Matrix) -> Iterator[FloatArray]:
    for k in range(V.shape[0]):
        row = V[[k]]
        yield (row.toarray() if hasattr(row, "toarray") else row).ravel()
