"""Ranking by weights that classes share through the taxonomy: the hierarchical multi-label SVM of Cai and Hofmann.

    F(x, y) = sum_v L[y, v] w_v'x        L: attributes of classes (`attributes`), v: nodes above class y

    min_w  1/2 sum_v |w_v|^2 + C sum_i xi_i
    s.t.   F(x_i, y) - F(x_i, z) >= 1 - xi_i / D(y, z)      for y in Y_i, z not in Y_i;  xi_i >= 0

A right class is to be ranked above a wrong one, and it costs D(y, z) where it is not (`losses.pair_cost`): slacks bound
the largest cost of a document's wrongly ordered pairs. With one attribute per class and D = 1 this is the flat
multi-label SVM, and with one label per document that of Crammer and Singer. L. Cai and T. Hofmann, CIKM 2004 and
IJCAI 2007.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.engine.limits import Clock
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.losses.pair_cost import check_pair_cost, pair_cost
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import NodeExplanation
from linnaeus.models.fitting import check_training
from linnaeus.models.kernel_input import KernelInput, row_products
from linnaeus.models.kernels import kept_documents
from linnaeus.models.linear import MOST_BEST, LinearTaxonomyClassifier
from linnaeus.models.ranking.arrays import ClassArrays, class_arrays
from linnaeus.models.ranking.attributes import check_attributes, class_attributes, kernel_attributes
from linnaeus.models.ranking.label_sets import SET_SIZES, LabelSets
from linnaeus.models.ranking.problem import RankingProblem, RankingSolution
from linnaeus.models.ranking.training import Training, gram_matrix
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray, Matrix, is_sparse

__all__ = ["HierarchicalSVM"]


class HierarchicalSVM(LabelSets, KernelInput, LinearTaxonomyClassifier):
    """A joint SVM that ranks all classes, which share weights through the nodes above them; single and multi-label.

    Parameters
    ----------
    taxonomy : the taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : weight of the slacks.
    attributes : what classes share: "perclass", "depth", "one", "paper" (nodes above a class, weighted so that every
        class or the deepest has length 1, or not at all), "flat" (nothing), or a matrix with a row for every node.
    class_kernel : a kernel between the nodes (n_nodes x n_nodes, positive semi-definite) in place of attributes.
    cost : of ranking a wrong class above a right one: "half" the tree distance, "distance", "normalised" (for classes
        at different depths), "zero_one", "subscription", or a matrix (n_nodes x n_nodes, right class first).
    volumes, c_minus, c_plus : of "subscription": what each node delivers, costs of misses and of false alarms.
    slack : one per "example"; one per "pair" of a right and a wrong class; or "mean_pair", where the pairs of a
        document share its weight C.
    kernel : "linear" (weights of features), or on documents: "rbf", "poly", "precomputed", a `Kernel`.
    learn : labels as "given", or only the most specific ones ("frontier").
    set_size : how the number of labels is learned, for label sets: from documents "held_out" (trains a second time),
        from the "training" documents, or the "mean" for all.
    fit_intercept : add a constant feature, regularised like the others.
    algorithm : "sweep", or Algorithm 2 of Cai's thesis, step "8a" or "8b"; all end at the same model.
    tol : relative duality gap at which training is finished; a fit that does not reach it ends with a
        ConvergenceWarning.
    epsilon : finish when no document violates its optimality by more than this, instead; the rule of the thesis.
    max_iter : passes over the documents, at most. ``max_time`` limits the time ("10m").
    n_jobs, engine : taken as everywhere; the classes are one problem, which one thread solves.

    Attributes
    ----------
    weights_ : n_features x n_classes; ``intercept_`` n_classes. With a kernel on documents instead ``dual_coef_``
        (support documents x n_classes, sparse), ``support_documents_`` and ``kernel_``.
    objective_ : the optimum is at least ``objective_ - duality_gap_``. Both are those of ``weights_`` as they are
        stored, summed in double precision. Weights of sparse documents are in single precision, and their gap may
        exceed ``tol`` by rounding. ``violation_``: the largest of a document.
    objective_curve_ : passes, objective and lower bound at every certificate.
    active_ratio_ : share of dual variables that are not 0.
    mean_slack_ : bounds the mean maximal loss and the mean top loss of the training documents.

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

    dual_coef_: Any = None

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        attributes: Any = "perclass",
        class_kernel: Any = None,
        cost: Any = "half",
        volumes: Any = None,
        c_minus: float = 1.0,
        c_plus: float = 1.0,
        slack: str = "example",
        kernel: Any = "linear",
        learn: str = "frontier",
        set_size: str = "held_out",
        fit_intercept: bool = False,
        algorithm: str = "sweep",
        tol: float = 1e-3,
        epsilon: float | None = None,
        max_iter: int = 1000,
        max_time: Any = None,
        n_jobs: int | None = None,
        engine: Any = None,
        random_state: Any = None,
        verbose: int = 0,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        check_attributes(self.attributes)
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
        Clock(self.max_time)
        get_engine(self.engine, self.n_jobs)

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, self.learn)
        if problem.codec.single_label and len(self.nodes_) < 2:
            only = problem.taxonomy.names[self.nodes_[0]]
            raise DataError(f"y has only one class, {only!r}; a classifier needs two.")
        labels = sparse.csr_array(Y[:, self.nodes_])
        bound = self.C * (np.ones(problem.n_docs) if problem.weights is None else problem.weights)

        def train() -> None:
            whole = training.problem(labels, bound)
            self._keep(training.solve(whole), whole, problem.X)

        def scores(part: IntArray | None, test: IntArray | None) -> FloatArray:
            if part is None or test is None:
                return np.concatenate(list(self._score_blocks(problem.X)))
            return training.unseen(labels, bound, part, test)

        with single_blas_thread():
            training = self._training(problem)
            self._train_with_sizes(Y, problem.taxonomy, train, scores)

    def _training(self, problem: Problem) -> Training:
        gram = not self._linear or self.algorithm != "sweep"
        documents, bias = problem.X, float(self.fit_intercept)
        if gram:
            exact = self.algorithm != "sweep"
            documents, bias = gram_matrix(self.kernel_, problem.X, constant=self.fit_intercept, exact=exact), 0.0
        seed = int(check_random_state(self.random_state).randint(2**31))
        return Training(
            documents, gram, self._classes(problem.taxonomy), bias, self.slack, self.algorithm, self.tol, self.epsilon,
            self.max_iter, seed, Clock(self.max_time),
        )  # fmt: skip

    def _classes(self, taxonomy: Taxonomy) -> ClassArrays:
        if self.class_kernel is not None:
            A = sparse.csr_array(kernel_attributes(self.class_kernel, self.nodes_))
        else:
            A = class_attributes(taxonomy, self.nodes_, self.attributes)
        self.class_attributes_ = A
        more: dict[str, Any] = {"volumes": self.volumes, "c_minus": self.c_minus, "c_plus": self.c_plus}
        return class_arrays(A, pair_cost(taxonomy, self.nodes_, self.cost, **more))

    def _keep(self, found: RankingSolution, problem: RankingProblem, X: Any) -> None:
        docs, _, _, alpha = found.pairs
        self.weights_, self.intercept_ = found.weights, found.intercept
        if problem.gram:
            self._keep_documents(found, X)
        self.objective_, self.duality_gap_, self.violation_ = found.objective, found.gap, found.violation
        self.n_iter_, self.objective_curve_ = found.n_iter, found.curve
        self.active_ratio_ = len(alpha) / max(problem.n_pairs, 1)
        self.n_support_ = len(np.unique(docs))
        self.mean_slack_ = float(found.slack.mean())
        if not found.converged:
            stop = f"the gap was {self.tol:g} of the objective" if self.epsilon is None else f"epsilon={self.epsilon:g}"
            warnings.warn(
                f"Training stopped after {found.n_iter} passes before {stop}; raise max_iter, max_time or tol, or "
                "scale the features.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _keep_documents(self, found: RankingSolution, X: Any) -> None:
        """Support documents only; where the kernel is linear, weights of features after all."""
        docs, ys, zs, alpha = found.pairs
        support, place = np.unique(docs, return_inverse=True)
        at = np.concatenate([place, place]), np.concatenate([ys, zs])
        B = sparse.csr_array((np.concatenate([alpha, -alpha]), at), shape=(len(support), len(self.nodes_)))
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

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        if self._linear and is_sparse(X) and k <= MOST_BEST:
            return self._linear_scorer().top(X, k, self.n_jobs)
        return TaxonomyClassifier._best_of(self, X, k)

    def explain(self, x: Any, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to the scored nodes of a path; for kernel="linear"."""
        self._refuse_kernel("explanations: its scores are not sums over features")
        return super().explain(x, node, k)

    def prune(self, *args: Any, **kwargs: Any) -> HierarchicalSVM:
        """As for other linear models; for kernel="linear"."""
        self._refuse_kernel("weights of features to prune")
        super().prune(*args, **kwargs)
        return self

    def _refuse_kernel(self, what: str) -> None:
        if not self._linear:
            raise DataError(f"HierarchicalSVM with kernel={self.kernel!r} has no {what}.")
