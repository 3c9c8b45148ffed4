"""H-M3: a Markov tree over the taxonomy, trained to a maximum margin between the true labelling and all others.

    min_w  1/2 |w|^2 + C sum_i max_y [ loss(y_i, y) - (score(x_i, y_i) - score(x_i, y)) ],
    score(x, y) = sum over edges e of <w_{e, u_e(y)}, phi(x)>,        u_e(y): labels of the two ends of e

(J. Rousu, C. Saunders, S. Szedmak and J. Shawe-Taylor, JMLR 7, 2006). Labels are sets of partial paths: closed under
ancestors, ending anywhere. The loss is the symmetric difference, or the hierarchical loss, which counts a mistake only
where the parent is right. Training is block-coordinate ascent on the dual (`block_ascent`) with a certified gap;
documents are seen through a kernel, or for sparse or dense vectors through weights. Trees are in `tree`, DAGs in `dag`,
other slacks, features and algorithms in `models.published`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem
from linnaeus.decoding import BestLabel, Decoder, RankedSets, Rules, Threshold
from linnaeus.decoding.base import SetWeights, hierarchy, stacked
from linnaeus.deprecation import deprecation_message
from linnaeus.engine import Clock, blocks, get_engine, rows_that_fit, single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.losses.cost import SCALINGS
from linnaeus.models.explaining import NodeExplanation, explain_path, one_row
from linnaeus.models.fitting import (
    ClassWeight,
    Seed,
    check_class_weight,
    check_training,
    document_weights,
    gap_above,
    gap_progress,
    positive_weights,
    require_two_classes,
    warn_not_converged,
)
from linnaeus.models.kernels import KernelInput, kept_documents
from linnaeus.models.requests import check_all_used, joined
from linnaeus.models.structured.block_ascent import BlockAscent, DualBlocks, Structure
from linnaeus.models.structured.documents import kernel_scores, linear_scores
from linnaeus.models.structured.tree import TreeStructure, cost_weights
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

__all__ = ["HM3"]

_SINGLE = 1e-4  # relative gaps down to this need no double precision
_ONE_PATH = BestLabel(path_sum=False, close=False)  # over path scores: the best labelling that is one path
_BEST_SET, _BEST_OR_NONE = (Threshold(0.0, repair=None, at_least_one=one) for one in (True, False))

Init = TypeVar("Init", bound=Callable[..., None])


def _with_old_arguments(init: Init) -> Init:
    """Accept ``C`` by position and parameters by their old names, with a FutureWarning."""

    @wraps(init)
    def accept(self: HM3, taxonomy: Taxonomy | None = None, *positional: float, **parameters: object) -> None:
        if len(positional) > 1 or (positional and "C" in parameters):
            raise TypeError("HM3 takes only the taxonomy by position; pass the other parameters by name.")
        if positional:
            positional_C = deprecation_message("C by position", "0.1", "0.3", "HM3(taxonomy, C=...)")
            warnings.warn(positional_C, FutureWarning, stacklevel=2)
            parameters["C"] = positional[0]
        for old, new in self.renamed_parameters.items():
            if old in parameters:
                warnings.warn(deprecation_message(f"{old!r}", "0.1", "0.3", f"{new!r}"), FutureWarning, stacklevel=2)
                parameters[new] = parameters.pop(old)
        init(self, taxonomy, **parameters)

    return cast(Init, accept)


class HM3(KernelInput):
    """Maximum-margin Markov tree over the taxonomy, with kernels (H-M3).

    Label sets are learned with all their ancestors; the answer is the consistent labelling of largest score, with at
    least one label unless some training documents had none. If every document has one label, the answer is the best
    path among those to labels of the training documents. Nodes without training documents are never answered.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels, a tree, forest or DAG; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss relative to 1/2 |w|^2.
    cost : {"symmetric", "hierarchical", "zero_one"}, default="symmetric"
        What a wrong labelling costs in training: its symmetric difference to the true one; the same, where a mistake
        counts only if the parent is right; or 1 for every wrong labelling.
    scaling : {"uniform", "sibling", "subtree"}, default="uniform"
        Weights of nodes in the cost (see `linnaeus.losses.cost.node_weights`).
    slack : {"example", "free", "edge"}, default="example"
        One slack for every document; one that may be negative, because the true labelling does not compete; or one for
        every edge of a document.
    features : {"edges", "paths", "additive"}, default="edges"
        Weights for each labelling of each edge; for each node that is on; or one set of weights for all edges, which
        differ by their ``local_features``.
    local_features : dict of str to list of int, default=None
        Names of nodes and the columns of X that only the edge above the node sees.
    kernel : {"linear", "rbf", "poly", "precomputed"} or Kernel, default="linear"
        A name or a kernel object (`linnaeus.models.kernels`, or any with the same methods, such as those on sequences).
    root : {"super", "paper"}, default="super"
        "super" gives every top node an edge from a root that is always on; "paper" leaves the only top node, or the
        root, free and scores it through the edges below.
    train_labellings : {"all", "consistent"}, default="all"
        The labellings that compete in training. On a DAG they are always consistent.
    fit_intercept : bool, default=True
        Whether to add a constant feature, regularised like the others; the model of the paper has none.
    algorithm : {"moves", "conditional-gradient"}, default="moves"
        Moves of mass within subtrees, or the algorithm of the paper, for comparison.
    class_weight : {"balanced"} or dict, default=None
        Weights of labels; the weight of a document is the mean of its labels' weights.
    tol : float, default=1e-3
        Relative duality gap at which the fit ends.
    max_iter : int, default=1000
        Maximum number of passes over the documents.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m"; the model is certified when it is reached, too.
    n_jobs : int, default=None
        Number of threads; None is 1, -1 all cores. The model does not depend on it.
    random_state : int or RandomState, default=None
        Seed of the order of the documents.
    verbose : int, default=0
        Whether to show a progress bar.
    warm_start : bool, default=False
        Start from the solution of the last fit, for another C and the same documents.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_scores)
        With a linear kernel; otherwise ``documents_`` and ``coefficients_`` of those that count.
    objective_, duality_gap_ : float
        Objective of the model; the optimum is at least ``objective_ - duality_gap_``. Both are computed in double
        precision from the model as it is stored, also if training is in single precision (``tol`` of 1e-4 or more).
        A fit whose gap is above ``tol`` ends with a ConvergenceWarning.
    history_ : ndarray of shape (n_certificates, 5)
        Certificates during the fit: passes, seconds, primal value, dual value, multiple of the weights.
    n_iter_ : int
        Number of passes over the documents.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import HM3, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 1.0]])
    >>> model = HM3(taxonomy=tax, C=10.0, random_state=0).fit(X, [["AA"], ["AB"], ["B"], ["AA", "B"]])
    >>> model.predict(X)
    [['AA'], ['AB'], ['B'], ['B', 'AA']]
    >>> model.predict(X[:1], closed=True)
    [['A', 'AA']]
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    renamed_parameters: ClassVar[dict[str, str]] = {"train_labelings": "train_labellings"}
    label_nodes_: IntArray
    _structure: Structure | None = None
    _before: tuple[DualBlocks, CSR] | None = None

    @_with_old_arguments
    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        cost: str = "symmetric",
        scaling: str = "uniform",
        slack: str = "example",
        features: str = "edges",
        local_features: Mapping[str, Sequence[int]] | None = None,
        kernel: str | Kernel = "linear",
        root: str = "super",
        train_labellings: str = "all",
        fit_intercept: bool = True,
        algorithm: str = "moves",
        class_weight: ClassWeight = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.cost = cost
        self.scaling = scaling
        self.slack = slack
        self.features = features
        self.local_features = local_features
        self.kernel = kernel
        self.root = root
        self.train_labellings = train_labellings
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return {key: value for key, value in state.items() if key not in ("_structure", "_before")}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        Clock(self.max_time)
        check_choice("cost", self.cost, ("symmetric", "hierarchical", "zero_one"))
        check_choice("scaling", self.scaling, SCALINGS)
        check_choice("slack", self.slack, ("example", "free", "edge"))
        check_choice("features", self.features, ("edges", "paths", "additive"))
        check_choice("root", self.root, ("super", "paper"))
        check_choice("train_labellings", self.train_labellings, ("all", "consistent"))
        check_choice("algorithm", self.algorithm, ("moves", "conditional-gradient"))
        if self.class_weight is not None:
            check_class_weight(self.class_weight)
        if self._is_variant:
            from linnaeus.models.published.hm3_variants import check_variant

            check_variant(self)

    @property
    def _is_variant(self) -> bool:
        """Whether a parameter asks for what is in `models.published`."""
        chosen = self.slack, self.features, self.algorithm, self.local_features
        return chosen != ("example", "edges", "moves", None) or self.cost == "zero_one"

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        clock = Clock(self.max_time)
        Y = self._targets(problem, "closed")
        self.label_nodes_ = np.unique(problem.Y.indices[problem.Y.indices != problem.taxonomy.root])
        require_two_classes(problem, self.label_nodes_ if len(self.label_nodes_) else self.nodes_)
        self._structure = self._make_structure(problem.taxonomy)
        with single_blas_thread():
            solver = self._solver(self._structure, problem, Y)
            self._run(solver, clock)
            self._take(solver, problem.X)
        self._before = (solver.blocks, Y) if self.warm_start else None

    def _make_structure(self, taxonomy: Taxonomy) -> Structure:
        """What is known of the labels; recomputed from the taxonomy in a loaded model."""
        if self._is_variant or taxonomy.kind == "graph":
            from linnaeus.models.published.hm3_variants import variant_structure

            return variant_structure(self, taxonomy, self.nodes_)
        if hierarchy(taxonomy).is_forest:
            return TreeStructure(taxonomy, self.nodes_, self.root, consistent=self.train_labellings == "consistent")
        from linnaeus.models.structured.dag import ClosureStructure

        if self.root == "paper":
            raise ParameterError("root='paper' needs a tree, but nodes of this taxonomy have several parents.")
        return ClosureStructure(taxonomy, self.nodes_)

    def _solver(self, structure: Structure, problem: Problem, Y: CSR) -> BlockAscent:
        weights = cost_weights(problem.taxonomy, self.scaling)
        dual = structure.blocks(Y, weights, self.cost, self._document_weights(problem))
        dtype = np.float32 if self.tol >= _SINGLE else np.float64
        documents = structure.documents(self.kernel_, problem.X, float(self.fit_intercept), dtype)
        if self.warm_start and self._before is not None:
            self._continue(dual, Y, *self._before)
        start = dual.coefficients(slice(None))
        if start.any():
            documents.restart(start)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return structure.solver(documents, dual, rng, get_engine(None, self.n_jobs), batch=structure.batch)

    def _document_weights(self, problem: Problem) -> FloatArray:
        """C of every document."""
        weights = document_weights(problem)
        if self.class_weight is not None:
            names = problem.codec.values(problem.taxonomy.names)
            of_labels = positive_weights(self.class_weight, problem.Y, names)
            sizes = np.diff(problem.Y.indptr)
            mean = (problem.Y @ of_labels) / np.maximum(sizes, 1)
            weights *= np.where(sizes > 0, mean, 1.0)
        return float(self.C) * weights

    def _continue(self, dual: DualBlocks, Y: CSR, before: DualBlocks, labels: CSR) -> None:
        """Start from the dual variables of the last fit, if it was of the same documents and labellings."""
        same = type(before) is type(dual) and labels.shape == Y.shape and (labels != Y).nnz == 0
        if same and before.coefficients(slice(0, 1)).shape == dual.coefficients(slice(0, 1)).shape:
            dual.take(before)

    def _run(self, solver: BlockAscent, clock: Clock) -> None:
        with gap_progress(self.tol, show=self.verbose > 0) as measured:
            converged = solver.run(self.tol, self.max_iter, clock, lambda certificate: measured(certificate.gap))
        last = solver.finish()
        self.objective_, self.duality_gap_ = last.primal, last.primal - last.dual
        self.n_iter_, self.time_limit_reached_ = solver.passes, solver.out_of_time
        self.history_ = np.array([astuple(certificate) for certificate in solver.history])
        if not converged:
            limit = f"max_time={self.max_time}" if solver.out_of_time else f"max_iter={self.max_iter}"
            advice = "increase the limit or tol, or scale the documents to length 1"
            warn_not_converged(gap_above(self.tol, last.gap, limit), advice=advice)

    def _take(self, solver: BlockAscent, X: Matrix) -> None:
        """Keep what scores new documents: weights, or the documents with coefficients."""
        for name in ("weights_", "intercept_", "documents_", "coefficients_"):
            self.__dict__.pop(name, None)
        W = solver.documents.weights()
        if W is not None:
            self.weights_ = np.array(W[:-1] if self.fit_intercept else W, order="C")
            self.intercept_ = W[-1].copy() if self.fit_intercept else np.zeros(W.shape[1], W.dtype)
            return
        D = solver.blocks.coefficients(slice(None)) * solver.history[-1].scale
        rows = np.flatnonzero(D.any(axis=1))
        rows = rows if len(rows) else np.arange(1)  # a kernel needs a document to compare with
        self.documents_ = kept_documents(X, rows)
        self.coefficients_ = np.ascontiguousarray(D[rows])

    # -- answering -----------------------------------------------------------------------------------------------------

    @property
    def _labellings(self) -> Structure:
        if self._structure is None:
            self._structure = self._make_structure(self.taxonomy_)
        return self._structure

    def _rows(self, X: Matrix) -> FloatArray:
        """Scores of all labellings of all edges, n_docs x width."""
        if hasattr(self, "weights_"):
            return linear_scores(X, self.weights_) + self.intercept_
        constant = 1.0 if self.fit_intercept else 0.0
        return kernel_scores(self.kernel_, X, self.documents_, self.coefficients_, constant)

    def _scores(self, X: Matrix) -> FloatArray:
        """Margins of the nodes: the best labelling with a node minus the best one without it."""
        return self._labellings.margins(self._rows(X))[:, self._places]

    def _score_blocks(self, X: Matrix) -> Iterator[FloatArray]:
        return (self._scores(X[part]) for part in self._parts(X))

    def _parts(self, X: Matrix) -> Iterator[slice]:
        return blocks(X.shape[0], rows_that_fit(64 * max(1, len(self.nodes_))))

    @property
    def _places(self) -> IntArray:
        """Columns of ``nodes_`` in the structure."""
        order = np.argsort(self._labellings.nodes)
        return order[np.searchsorted(self._labellings.nodes, self.nodes_, sorter=order)]

    def predict(
        self,
        X: object,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        consistent: bool = True,
        rules: Rules | Mapping[str, Any] | None = None,
        risk: float | None = None,
        risk_of: str = "all",
        confidence: float | None = None,
    ) -> Any:
        """Answers in the kind of the labels that were learned from.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features)
            Documents.
        decoder : Decoder or str, default=None
            How the margins of nodes become label sets; None is the consistent labelling of largest score.
        closed : bool, default=None
            Whether ancestors are in the answers; None is as in training.
        consistent : bool, default=True
            False takes the best of all labellings as it is, also if it has a node without its parent.
        rules, risk, risk_of, confidence : object
            As for every model, see `TaxonomyClassifier.predict`.

        Returns
        -------
        list or ndarray
            One answer for every document.
        """
        if consistent:
            promise: dict[str, Any] = {"risk": risk, "risk_of": risk_of, "confidence": confidence}
            return super().predict(X, decoder=decoder, closed=closed, rules=rules, **promise)
        Y = self.answers(X, decoder=decoder, closed=closed, consistent=False)
        return self.codec_.decode(Y, self.taxonomy_, single=False)

    def answers(
        self,
        X: object,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        consistent: bool = True,
        rules: Rules | Mapping[str, Any] | None = None,
        risk: float | None = None,
        risk_of: str = "all",
        confidence: float | None = None,
    ) -> CSR:
        """The answers of `predict` as 0/1 rows, n_docs x n_nodes; ``consistent=False``: the best of all labellings."""
        check_is_fitted(self, "nodes_")
        if rules is not None or risk is not None:
            promise: dict[str, Any] = {"risk": risk, "risk_of": risk_of, "confidence": confidence}
            return super().answers(X, decoder=decoder, closed=closed, rules=rules, **promise)
        if not consistent:
            decide = self._decoder(decoder) if decoder is not None else Threshold(0.0, repair=None)
            return self._decided(X, decide, self._unrestricted, self.nodes_, closed=closed or False)
        decide = self._decoder(decoder)
        with_ancestors = self.closed_ if closed is None else closed
        if decide == _ONE_PATH:
            return self._decided(X, decide, self._path_scores, self.label_nodes_, closed=with_ancestors)
        if decide in (_BEST_SET, _BEST_OR_NONE):
            checked = self._check_X(X, reset=False)
            parts = [self._best_sets(self._rows(checked[part]), decide) for part in self._parts(checked)]
            Y = stacked(parts, self.taxonomy_)
            return Y if with_ancestors else self.taxonomy_.frontier(Y)
        return super().answers(X, decoder=decide, closed=closed)

    def _decided(
        self, X: object, decide: Decoder, scores: Callable[[FloatArray], FloatArray], nodes: IntArray, *, closed: bool
    ) -> CSR:
        """Answers of a decoder over other scores than `_scores`."""
        checked = self._check_X(X, reset=False)
        parts = (scores(self._rows(checked[part])) for part in self._parts(checked))
        Y = decide.over_blocks(parts, self.taxonomy_, nodes)
        return self.taxonomy_.close(Y) if closed else Y

    def _best_sets(self, F: FloatArray, decide: Decoder) -> CSR:
        """The closed sets of largest score; the best that are not empty, if a label is required."""
        structure, places = self._labellings, self._places[np.argsort(self.nodes_)]
        members: BoolArray = structure.best(F)[:, places]
        empty = np.flatnonzero(~members.any(axis=1))
        if decide == _BEST_SET and len(empty):
            members[empty] = structure.best(F[empty], not_empty=True)[:, places]
        chosen = np.sort(self.nodes_)[np.nonzero(members)[1]]
        return self.taxonomy_.close(pattern(pointers(members.sum(axis=1)), chosen, self.taxonomy_.n_nodes))

    def _node_weights(self, F: FloatArray) -> FloatArray:
        return np.ascontiguousarray(self._labellings.node_weights(F)[:, self._places])

    def _label_scores(self, X: Matrix, decide: Decoder) -> Iterator[tuple[FloatArray, CSR, IntArray]]:
        if decide != _ONE_PATH:
            yield from super()._label_scores(X, decide)
            return
        for part in self._parts(X):
            S = self._path_scores(self._rows(X[part]))
            yield S, self.taxonomy_.close(decide(S, self.taxonomy_, self.label_nodes_)), self.label_nodes_

    def _set_weights(self, X: Matrix, decide: Decoder) -> Iterator[tuple[SetWeights, CSR, IntArray]]:
        if decide not in (_ONE_PATH, _BEST_SET, _BEST_OR_NONE):
            yield from super()._set_weights(X, decide)
            return
        for part in self._parts(X):
            F = self._rows(X[part])
            if decide == _ONE_PATH:  # rules ask for several labels
                Y = self.taxonomy_.close(decide(self._path_scores(F), self.taxonomy_, self.label_nodes_))
            else:
                Y = self._best_sets(F, decide)
            yield SetWeights(self._node_weights(F)), Y, self.nodes_

    def ranked_sets(
        self,
        X: object,
        k: int = 1,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        decoder: Decoder | str | None = None,
    ) -> RankedSets:
        """The k best label sets of every document, exactly; on a graph by a search over labellings, best first."""
        check_is_fitted(self, "nodes_")
        decide = self._decoder(decoder)
        if self.taxonomy_.kind == "graph" and decide in (_BEST_SET, _BEST_OR_NONE):
            check_number("k", k, least=1, whole=True)
            wanted = Rules.of(rules)
            if decide == _BEST_SET and not wanted.at_least:
                wanted = replace(wanted, at_least=1)
            checked = self._check_X(X, reset=False)
            rows = np.concatenate([self._rows(checked[part]) for part in self._parts(checked)])
            bound = wanted.bind(self.taxonomy_)
            check_all_used(bound, len(rows))
            own = [(rows, bound)]
            if bound.documents is not None:
                own = [(rows[[d]], bound.of_document(d)) for d in range(len(rows))]
            ranked = [self._labellings.ranked(some, int(k), of_some) for some, of_some in own]
            if all(one is not None for one in ranked):
                return joined([one for one in ranked if one is not None])
        return super().ranked_sets(X, k, rules=rules, decoder=decoder)

    def explain(self, x: object, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to what each node of a path adds to the set's score.

        With the linear kernel only. ``node`` is the node to explain; default: the deepest one of the best set.
        """
        check_is_fitted(self, "nodes_")
        if not hasattr(self, "weights_"):
            raise DataError(
                f"{type(self).__name__} with this kernel has no explanations: scores are not sums over features."
            )
        X = self._check_X(one_row(x), reset=False)
        if X.shape[0] != 1:
            raise DataError(f"explain takes one document; got {X.shape[0]}.")
        target = int(self.ranked_sets(X).best.indices[-1:].sum()) if node is None else self.taxonomy_.index(node)
        places, zero = self._places, np.zeros_like(np.atleast_2d(self.weights_[:1]))
        constant = self._labellings.node_weights(zero + self.intercept_)[0, places]

        def weights_of(features: IntArray, column: int) -> FloatArray:
            rows = np.ascontiguousarray(self.weights_[features])
            return np.asarray(self._labellings.node_weights(rows)[:, places[column]])

        return explain_path(self, X, target, k, weights_of, constant)

    def _unrestricted(self, F: FloatArray) -> FloatArray:
        return self._labellings.margins(F, consistent=False)[:, self._places]

    def _path_scores(self, F: FloatArray) -> FloatArray:
        """Scores of the paths down to every label, n_docs x len(label_nodes_)."""
        above = self.taxonomy_.ancestor_matrix[self.label_nodes_][:, self.nodes_].astype(np.float64)
        return np.ascontiguousarray((above @ self._node_weights(F).T).T)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is None and (self.one_label_ or self.codec_.single_label):
            return _ONE_PATH
        if given is None:
            return _BEST_OR_NONE if self.some_empty_ else _BEST_SET
        return super()._decoder(given)
