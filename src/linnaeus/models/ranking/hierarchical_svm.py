"""Ranking by weights that classes share through the taxonomy: the hierarchical multi-label SVM of Cai and Hofmann.

    F(x, y) = sum_v L[y, v] w_v'x        L: attributes of classes (`attributes`), v: nodes above class y

    min_w  1/2 sum_v |w_v|^2 + C sum_i xi_i
    s.t.   F(x_i, y) - F(x_i, z) >= 1 - xi_i / D(y, z)      for y in Y_i, z not in Y_i;  xi_i >= 0

A right class is to be ranked above a wrong one, and it costs D(y, z) where it is not (`losses.cost`): slacks bound
the largest cost of a document's wrongly ordered pairs. With one attribute per class and D = 1 this is the flat
multi-label SVM, and with one label per document that of Crammer and Singer. L. Cai and T. Hofmann, CIKM 2004 and
IJCAI 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.data.matrices import prepare_rows
from linnaeus.engine import Clock, available_memory, format_bytes, n_workers, single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.losses.cost import check_pair_cost, pair_cost
from linnaeus.models.all_nodes import AllNodes, hold_out
from linnaeus.models.fitting import (
    Seed,
    check_one_piece,
    check_training,
    document_weights,
    gap_progress,
    require_two_classes,
    warn_not_converged,
)
from linnaeus.models.kernels import LinearOrKernel, kept_documents, row_products
from linnaeus.models.ranking.attributes import (
    check_attributes,
    class_attributes,
    kernel_attributes,
    keyed_attributes,
)
from linnaeus.models.ranking.set_sizes import SET_SIZES, SetSizes
from linnaeus.models.ranking.solver import (
    ClassArrays,
    RankingProblem,
    RankingSolution,
    class_arrays,
    gram_rows,
    solve_ranking,
)
from linnaeus.models.ranking.unseen import SharedWeights, check_answer, learn_sizes, with_all_classes
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Engine, FloatArray, IntArray, Kernel, Matrix

__all__ = ["HierarchicalSVM", "gram_matrix"]

_EXACT_GRAM = 4000  # documents up to which a Gram matrix is in double precision


@dataclass(frozen=True)
class _Training:
    """What all solutions of one fit share; ``documents`` are features, or with ``gram`` the Gram matrix.

    ``bias`` is the constant feature; that of a Gram matrix is included in it.
    """

    documents: Matrix
    gram: bool
    classes: ClassArrays
    bias: float
    slack: str
    algorithm: str
    tol: float
    epsilon: float | None
    max_iter: int
    seed: int
    clock: Clock
    show: bool = False

    def problem(self, labels: CSR, bound: FloatArray, rows: IntArray | None = None) -> RankingProblem:
        """The problem of some of the documents, or of all, with their labels and bounds."""
        if self.slack == "mean_pair":
            sizes = np.diff(labels.indptr)
            bound = bound / np.maximum(sizes * (self.classes.n_classes - sizes), 1)
        if self.gram:
            K = self.documents if rows is None else self.documents[np.ix_(rows, rows)]
            laid = gram_rows(np.ascontiguousarray(K))
        else:
            laid = prepare_rows(self.documents if rows is None else self.documents[rows], self.bias)
        return RankingProblem(laid, labels, bound, self.classes, self.gram, self.slack != "example")

    def solve(self, problem: RankingProblem, clock: Clock | None = None) -> RankingSolution:
        """Solve a problem within the time of the fit, or of another clock."""
        clock = clock or self.clock
        with gap_progress(self.tol, show=self.show) as measured:
            if self.algorithm == "sweep":
                return solve_ranking(
                    problem, tol=self.tol, epsilon=self.epsilon, max_iter=self.max_iter, seed=self.seed, clock=clock,
                    measured=measured,
                )  # fmt: skip
            from linnaeus.models.published.ranking_algorithm2 import solve_by_worst

            return solve_by_worst(
                problem, every=self.algorithm == "8b", tol=self.tol, epsilon=self.epsilon, max_iter=self.max_iter,
                clock=clock, measured=measured,
            )  # fmt: skip

    def unseen(
        self, labels: CSR, bound: FloatArray, train: IntArray, test: IntArray, *, share: float = 0.5
    ) -> FloatArray:
        """Scores of the documents ``test`` by a model of ``train``, in a share of the remaining time."""
        left = self.clock.remaining
        clock = Clock(share * left) if 0 < left < np.inf and share < 1 else None
        solution = self.solve(self.problem(labels[train], bound[train], train), clock)
        S = self.documents[test][:, train] if self.gram else self.documents[test]
        return np.asarray(S @ solution.weights + solution.intercept)


def gram_matrix(kernel: Kernel, A: Matrix, *, constant: bool, exact: bool) -> FloatArray:
    """K of prepared documents, plus 1 for a constant feature; refused if it does not fit into memory."""
    n_docs = A.shape[0]
    dtype = np.dtype(np.float64 if exact or n_docs <= _EXACT_GRAM else np.float32)
    needed = (8 + dtype.itemsize) * n_docs**2
    if needed > available_memory():
        raise DataError(
            f"The Gram matrix of {n_docs:,} documents takes {format_bytes(needed)}, but only "
            f"{format_bytes(available_memory())} are available; train on fewer documents, or with kernel='linear'."
        )
    K = kernel(A, A).astype(dtype, copy=False)
    return K + dtype.type(1) if constant else K


def _coefficients(solution: RankingSolution, n_classes: int) -> tuple[IntArray, CSR]:
    """Support documents, and their coefficients (n_support x n_classes)."""
    docs, ys, zs, alpha = solution.pairs
    support, place = np.unique(docs, return_inverse=True)
    at = np.concatenate([place, place]), np.concatenate([ys, zs])
    return support, sparse.csr_array((np.concatenate([alpha, -alpha]), at), shape=(len(support), n_classes))


class HierarchicalSVM(SetSizes, AllNodes, LinearOrKernel):
    """A joint SVM that ranks all classes, which share weights through the nodes above them; single and multi-label.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the slacks.
    attributes : {"perclass", "depth", "one", "paper", "flat", "taxonomy+text"} or array-like, default="perclass"
        What classes share: the nodes above a class, weighted so that every class ("perclass") or the deepest ("depth",
        "paper") has length 1, or not at all ("one"); nothing ("flat"); or a matrix with a row for every node.
    class_kernel : array-like of shape (n_nodes, n_nodes), default=None
        A kernel between the nodes, positive semi-definite, in place of attributes.
    cost : {"half", "distance", "normalised", "zero_one", "subscription"} or array-like, default="half"
        Cost of ranking a wrong class above a right one: half the tree distance, the distance, the same normalised for
        classes at different depths, 1, the subscription cost, or a matrix (n_nodes x n_nodes, right class first).
    volumes : array-like of shape (n_nodes,), default=None
        Of "subscription": what each node delivers.
    c_minus, c_plus : float, default=1.0
        Of "subscription": costs of misses and of false alarms.
    slack : {"example", "pair", "mean_pair"}, default="example"
        One slack per document; one per pair of a right and a wrong class; or the same, where the pairs of a document
        share its weight C.
    kernel : {"linear", "rbf", "poly", "precomputed"} or Kernel, default="linear"
        "linear" has weights of features, the others coefficients of documents.
    learn : {"frontier", "given"}, default="frontier"
        Learn only the most specific labels, or labels as given.
    set_size : {"held_out", "training", "mean"}, default="held_out"
        How the number of labels is learned, for label sets: from held-out documents (trains a second time), from the
        training documents, or the mean for all.
    fit_intercept : bool, default=False
        Whether to add a constant feature, regularised like the others.
    algorithm : {"sweep", "8a", "8b"}, default="sweep"
        "8a" and "8b" are Algorithm 2 of Cai's thesis, for comparison; all end at the same model.
    tol : float, default=1e-3
        Relative duality gap at which the fit ends; a fit that does not reach it ends with a ConvergenceWarning.
    epsilon : float, default=None
        End when no document violates its optimality by more than this, instead; the rule of the thesis.
    max_iter : int, default=1000
        Maximum number of passes over the documents.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m".
    n_jobs : int, default=None
        Threads for predictions. One thread solves the joint problem of all classes; for label sets a second one solves
        that of the held-out documents (``set_size``) meanwhile, with the same result.
    engine : object, default=None
        Deprecated: it has no effect.
    random_state : int or RandomState, default=None
        Seed of the order of the documents.
    verbose : int, default=0
        Whether to show a progress bar.
    answer : {"seen", "all"}, default="seen"
        Classes that can be answered: those that training documents have, or all nodes with texts, which needs
        ``attributes="taxonomy+text"``, ``kernel="linear"`` and ``label_features`` in `fit`. A node without documents
        scores by the nodes above it, words that its labels share with others, and its text.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        With ``intercept_`` of shape (n_classes,). With a kernel on documents instead ``dual_coef_`` (support documents
        x n_classes, sparse), ``support_documents_`` and ``kernel_``.
    objective_, duality_gap_ : float
        The optimum is at least ``objective_ - duality_gap_``. Both are those of ``weights_`` as they are stored, summed
        in double precision. Weights of sparse documents are in single precision, and their gap may exceed ``tol`` by
        rounding.
    violation_ : float
        The largest violation of a document.
    objective_curve_ : ndarray of shape (n_certificates, 3)
        Passes, objective and lower bound at every certificate.
    active_ratio_ : float
        Share of dual variables that are not 0.
    n_documents_ : ndarray of int of shape (n_classes,)
        With ``answer="all"``: training documents of each class.
    mean_slack_ : float
        Bound of the mean maximal loss and the mean top loss of the training documents.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import HierarchicalSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.9, 0.1, 0]])
    >>> model = HierarchicalSVM(taxonomy=tax, C=10.0, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist(), model.top(X[:1], 3)[0].tolist()
    (['AA', 'AB', 'B', 'AA'], [['AA', 'B', 'AB']])
    >>> round(model.objective_, 2), bool(model.duality_gap_ <= 1e-3 * model.objective_)
    (1.68, True)
    """

    dual_coef_: CSR | None = None

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        attributes: str | Matrix = "perclass",
        class_kernel: FloatArray | None = None,
        cost: str | FloatArray = "half",
        volumes: FloatArray | None = None,
        c_minus: float = 1.0,
        c_plus: float = 1.0,
        slack: str = "example",
        kernel: str | Kernel = "linear",
        learn: str = "frontier",
        set_size: str = "held_out",
        fit_intercept: bool = False,
        algorithm: str = "sweep",
        tol: float = 1e-3,
        epsilon: float | None = None,
        max_iter: int = 1000,
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        answer: str = "seen",
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.attributes = attributes
        self.class_kernel = class_kernel
        self.cost = cost
        self.volumes = volumes
        self.c_minus = c_minus
        self.c_plus = c_plus
        self.slack = slack
        self.kernel = kernel
        self.learn = learn
        self.set_size = set_size
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.tol = tol
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.answer = answer

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        check_attributes(self.attributes)
        check_answer(self.answer, self.attributes, self._linear)
        if self.answer == "all" and self.class_kernel is not None:
            raise ParameterError("answer='all' finds nodes by their texts; class_kernel has none, expected None.")
        check_pair_cost(self.cost)
        check_choice("slack", self.slack, ("example", "pair", "mean_pair"))
        check_choice("learn", self.learn, ("frontier", "given"))
        check_choice("set_size", self.set_size, SET_SIZES)
        check_choice("algorithm", self.algorithm, ("sweep", "8a", "8b"))
        check_number("c_minus", self.c_minus, least=0)
        check_number("c_plus", self.c_plus, least=0)
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, least=0)
        if self.slack != "example" and self.algorithm != "sweep":
            raise ParameterError(f"algorithm={self.algorithm!r} has one slack per example; got slack={self.slack!r}.")
        if self.slack != "example" and self.epsilon is not None:
            raise ParameterError(f"epsilon is a rule for slack='example'; got slack={self.slack!r}, which takes tol.")
        check_one_piece(self, self.max_time, self.n_jobs)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, self.learn)
        require_two_classes(problem, self.nodes_)
        given = Problem(problem.X, Y, problem.taxonomy, problem.weights, problem.codec)
        with single_blas_thread():
            if self.answer == "all":
                self._fit_all_nodes(given)
            else:
                self._fit_seen_nodes(given)

    def _fit_seen_nodes(self, problem: Problem) -> None:
        """Learn from labels as they are given here, and the classes that occur in them."""
        training = self._training(problem, Clock(self.max_time))
        labels, bound = self._labels(problem, self.nodes_)
        two = n_workers(self.n_jobs) > 1
        held_out = replace(training, show=False) if two else training  # one bar at a time

        def train() -> None:
            whole = training.problem(labels, bound)
            self._keep(training.solve(whole), whole, problem.X)

        def scores(part: IntArray | None, test: IntArray | None) -> FloatArray:
            if part is None or test is None:
                return self._training_scores(problem.X)
            return held_out.unseen(labels, bound, part, test, share=1.0 if two else 0.5)

        def stop() -> None:
            training.clock.limit = 0.0  # the next pass of either solver is its last

        self._train_with_sizes(problem.Y, problem.taxonomy, train, scores, stop if two else None)

    def _fit_all_nodes(self, problem: Problem) -> None:
        """The same, and then the classes without documents."""
        T, clock, seen = self._label_texts(problem), Clock(self.max_time), self.nodes_
        held = hold_out(problem, self._seed())
        part = None
        if held is not None:
            self.nodes_ = np.unique(held.problem.Y.indices).astype(np.int32)
            part = self._shared(held.problem, clock.part(2))[0]
            self.nodes_ = seen
        shared, solution, whole = self._shared(problem, clock)
        self._keep(solution, whole, problem.X)
        found, _, scored = with_all_classes(shared, problem, T, held, part)
        names = problem.taxonomy.names[found.nodes]
        by = problem.codec.values(names) if problem.codec.kind == "labels" else found.nodes
        order = np.argsort(by, kind="stable")
        unseen = shared.weights @ found.attributes[len(seen) :].T
        inputs = self.weights_ if not self.fit_intercept else np.vstack([self.weights_, self.intercept_])
        W = np.hstack([inputs.astype(unseen.dtype), unseen])[:, order]
        found = found.ordered(order)
        self.set_size_ = None
        self.nodes_, self.class_attributes_ = found.nodes, found.attributes
        self.n_documents_, self.label_weights_ = found.n_documents, found.label_weights
        weights, self.intercept_ = found.weights(W)
        self.weights_ = weights.astype(problem.X.dtype, copy=False)

        if not (self.one_label_ or problem.codec.single_label):
            self.set_size_ = learn_sizes(
                self.set_size,
                scored,
                problem.Y,
                problem.taxonomy,
                self.nodes_,
                partial(self._training_scores, problem.X),
            )

    def _training_scores(self, X: Matrix) -> FloatArray:
        return np.concatenate(list(self._score_blocks(X)))

    def _shared(self, problem: Problem, clock: Clock) -> tuple[SharedWeights, RankingSolution, RankingProblem]:
        """Weights of attributes of the classes ``nodes_``, and the solution that they come from."""
        training = self._training(problem, clock)
        whole = training.problem(*self._labels(problem, self.nodes_))
        solution = training.solve(whole)
        A, keys = keyed_attributes(problem.taxonomy, self.nodes_, self.attributes)
        support, B = _coefficients(solution, len(self.nodes_))
        C = (B @ A).toarray()
        w = np.asarray(problem.X[support].T.astype(np.float64) @ C)
        if self.fit_intercept:
            w = np.vstack([w, C.sum(axis=0)])
        return SharedWeights(self.nodes_, A, keys, w), solution, whole

    def _labels(self, problem: Problem, nodes: IntArray) -> tuple[CSR, FloatArray]:
        """Labels of the documents over classes, and bounds of their dual variables."""
        return sparse.csr_array(problem.Y[:, nodes]), self.C * document_weights(problem)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _training(self, problem: Problem, clock: Clock) -> _Training:
        gram = not self._linear or self.algorithm != "sweep"
        documents, bias = problem.X, float(self.fit_intercept)
        if gram:
            exact = self.algorithm != "sweep"
            documents, bias = gram_matrix(self.kernel_, problem.X, constant=self.fit_intercept, exact=exact), 0.0
        return _Training(
            documents, gram, self._classes(problem.taxonomy), bias, self.slack, self.algorithm, self.tol, self.epsilon,
            self.max_iter, self._seed(), clock, self.verbose > 0,
        )  # fmt: skip

    def _classes(self, taxonomy: Taxonomy) -> ClassArrays:
        if self.class_kernel is not None:
            A = sparse.csr_array(kernel_attributes(self.class_kernel, self.nodes_))
        else:
            A = class_attributes(taxonomy, self.nodes_, self.attributes)
        self.class_attributes_ = A
        cost = pair_cost(
            taxonomy, self.nodes_, self.cost, volumes=self.volumes, c_minus=self.c_minus, c_plus=self.c_plus
        )
        return class_arrays(A, cost)

    def _keep(self, solution: RankingSolution, problem: RankingProblem, X: Matrix) -> None:
        docs, _, _, alpha = solution.pairs
        self.weights_, self.intercept_ = solution.weights, solution.intercept
        if problem.gram:
            self._keep_documents(solution, X)
        self.objective_, self.duality_gap_, self.violation_ = solution.objective, solution.gap, solution.violation
        self.n_iter_, self.objective_curve_ = solution.n_iter, solution.curve
        self.active_ratio_ = len(alpha) / max(problem.n_pairs, 1)
        self.n_support_ = len(np.unique(docs))
        self.mean_slack_ = float(solution.slack.mean())
        late = self.max_time is not None and solution.n_iter < self.max_iter
        self.time_limit_reached_ = not solution.converged and late
        if not solution.converged:
            goal = f"tol={self.tol:g}" if self.epsilon is None else f"epsilon={self.epsilon:g}"
            missed = f"stopped after {solution.n_iter} passes before {goal} was reached"
            warn_not_converged(missed, advice="increase max_iter, max_time or tol, or scale the features")

    def _keep_documents(self, solution: RankingSolution, X: Matrix) -> None:
        """Keep the support documents; weights of features if the kernel is linear."""
        support, B = _coefficients(solution, len(self.nodes_))
        if self._linear:
            A = self.class_attributes_
            coefficients = (B @ (A @ A.T)).toarray()
            self.weights_ = np.ascontiguousarray(X[support].T.astype(np.float64) @ coefficients, X.dtype)
            self.intercept_ = coefficients.sum(axis=0) * float(self.fit_intercept)
            return
        self.weights_ = None
        self.dual_coef_, self.support_documents_ = B, kept_documents(X, support)

    def _forget(self) -> None:
        super()._forget()
        self.dual_coef_ = None
        self.__dict__.pop("support_documents_", None)

    # -- answering -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Matrix) -> FloatArray:
        if self._linear:
            return super()._scores(X)
        K = self.kernel_(X, self.support_documents_)
        if self.fit_intercept:
            K = K + 1.0
        A = self.class_attributes_
        return row_products(row_products(row_products(K, self.dual_coef_), A), A.T)
