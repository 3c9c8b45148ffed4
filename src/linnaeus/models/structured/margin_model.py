"""From checked data to the dual problem, its solution, and scores of new documents: what all settings of H-M3 share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import astuple, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem
from linnaeus.decoding import BestLabel, Decoder, RankedSets, Rules, Threshold, best_sets
from linnaeus.decoding.base import stacked
from linnaeus.decoding.set_weights import SetWeights
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.engine.limits import Clock, blocks, rows_that_fit
from linnaeus.errors import DataError, check_number
from linnaeus.losses.cost import SCALINGS
from linnaeus.models.explaining import NodeExplanation, explain_path, one_row
from linnaeus.models.fitting import check_choice, check_class_weight, check_training, positive_weights
from linnaeus.models.kernel_input import KernelInput
from linnaeus.models.kernels import kept_documents
from linnaeus.models.requests import known_ends
from linnaeus.models.solvers.block_ascent import BlockAscent, Measure
from linnaeus.models.structured.blocks import Blocks
from linnaeus.models.structured.faces import Face, GramFace
from linnaeus.models.structured.graph import GraphStructure
from linnaeus.models.structured.layout import cost_weights
from linnaeus.models.structured.scores import kernel_scores, linear_scores
from linnaeus.models.structured.structure import Structure
from linnaeus.models.structured.variants import check_variant, variant_face, variant_structure
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.taxonomy.rows import pointers
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["MaxMarginModel"]

_SINGLE = 1e-4  # relative gaps down to this need no double precision
_STEPS, _CHUNK = 10, 128  # of the paper's algorithm: steps for each time that a document is drawn, size of working sets
_ONE_PATH = BestLabel(path_sum=False, close=False)  # over path scores: the best labelling that is one path
_BEST_SET, _BEST_OR_NONE = (Threshold(0.0, repair=None, at_least_one=one) for one in (True, False))


class MaxMarginModel(KernelInput):
    """Base of `HM3`; see there for the parameters."""

    C: float
    cost: str
    scaling: str
    slack: str
    features: str
    local_features: Any
    root: str
    train_labelings: str
    fit_intercept: bool
    algorithm: str
    class_weight: Any
    tol: float
    max_iter: int
    max_time: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    label_nodes_: IntArray
    _structure: Structure | None = None
    _before: tuple[Blocks, CSR] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return {key: value for key, value in state.items() if key not in ("_structure", "_before")}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        Clock(self.max_time)
        check_choice("scaling", self.scaling, SCALINGS)
        check_choice("root", self.root, ("super", "paper"))
        check_choice("train_labelings", self.train_labelings, ("all", "consistent"))
        check_choice("algorithm", self.algorithm, ("moves", "conditional-gradient"))
        check_class_weight(self.class_weight)
        check_variant(self)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        clock = Clock(self.max_time)
        Y = self._targets(problem, "closed")
        self.label_nodes_ = np.unique(problem.Y.indices[problem.Y.indices != problem.taxonomy.root])
        if problem.codec.single_label and len(self.label_nodes_) < 2:
            only = problem.taxonomy.names[self.nodes_[0]]
            raise DataError(f"y has only one class, {only!r}; a classifier needs two.")
        structure = self._structure = self._make_structure(problem.taxonomy)
        with single_blas_thread():
            solver = self._solver(structure, problem, Y)
            self._run(solver, clock)
            self._take(solver.face, solver.blocks, structure, solver.history[-1].scale)
        self._before = (solver.blocks, Y) if self.warm_start else None

    def _make_structure(self, taxonomy: Taxonomy) -> Structure:
        """What the labels look like; made again from the taxonomy where a model was loaded."""
        return variant_structure(self, taxonomy, self.nodes_)

    def _solver(self, structure: Structure, problem: Problem, Y: CSR) -> BlockAscent:
        paper = self.algorithm == "conditional-gradient"
        weights = cost_weights(problem.taxonomy, self.scaling)
        options = {"steps": _STEPS} if paper else {}
        found = structure.blocks(Y, weights, self.cost, self._document_weights(problem), **options)
        dtype = np.float32 if self.tol >= _SINGLE else np.float64
        face, size = variant_face(self, structure, found, problem.X, problem.taxonomy, dtype)
        if self.warm_start and self._before is not None:
            self._continue(found, Y)
        start = found.coefficients(slice(None))
        if start.any():
            face.restart(start)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        solver = BlockAscent(face, found, rng, get_engine(None, self.n_jobs), chunk=_CHUNK if paper else None)
        solver.batch = size or solver.batch
        return solver

    def _document_weights(self, problem: Problem) -> FloatArray:
        """C of every document."""
        weights = np.ones(problem.n_docs) if problem.weights is None else problem.weights.copy()
        if self.class_weight is not None:
            names = problem.codec.values(problem.taxonomy.names)
            of_labels = positive_weights(self.class_weight, problem.Y, names)
            sizes = np.diff(problem.Y.indptr)
            mean = (problem.Y @ of_labels) / np.maximum(sizes, 1)
            weights *= np.where(sizes > 0, mean, 1.0)
        return float(self.C) * weights

    def _continue(self, found: Blocks, Y: CSR) -> None:
        """Take up the dual variables of the last fit, where it was of the same documents and labellings."""
        before, labels = self._before  # type: ignore[misc]
        same = type(before) is type(found) and labels.shape == Y.shape and (labels != Y).nnz == 0
        if same and before.coefficients(slice(0, 1)).shape == found.coefficients(slice(0, 1)).shape:
            found.take(before)

    def _run(self, solver: BlockAscent, clock: Clock) -> None:
        with progress("training", 100, show=self.verbose > 0) as advance:
            shown = 0

            def after(found: Measure) -> None:
                nonlocal shown
                now = int(np.clip(100 * np.log(max(found.gap, 1e-300)) / np.log(min(self.tol, 0.5)), shown, 100))
                advance(now - shown)
                shown = now

            converged = solver.run(self.tol, self.max_iter, clock, after)
        last = solver.finish()
        self.objective_, self.duality_gap_ = last.primal, last.primal - last.dual
        self.n_iter_, self.time_limit_reached_ = solver.passes, solver.out_of_time
        self.history_ = np.array([astuple(measure) for measure in solver.history])
        if not converged:
            limit = f"max_time={self.max_time}" if solver.out_of_time else f"max_iter={self.max_iter}"
            warnings.warn(
                f"stopped at {limit} with a gap of {last.gap:.2g} of the objective, before it was {self.tol:g}; "
                "give more, raise tol, or bring the documents to length 1.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _take(self, face: Face, found: Blocks, structure: Structure, scale: float) -> None:
        """Keep what scores new documents: weights, or the documents with coefficients."""
        for name in ("weights_", "intercept_", "documents_", "coefficients_"):
            self.__dict__.pop(name, None)
        if not isinstance(face, GramFace):
            W = face.weights()  # type: ignore[attr-defined]
            self.weights_ = np.array(W[:-1] if self.fit_intercept else W, order="C")
            self.intercept_ = W[-1].copy() if self.fit_intercept else np.zeros(face.width, face.dtype)
            return
        D = found.coefficients(slice(None)) * scale
        rows = np.flatnonzero(D.any(axis=1))
        rows = rows if len(rows) else np.arange(1)  # a kernel wants a document to stand beside
        self.documents_ = kept_documents(face.documents, rows)
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
        """Margins of the nodes: the best labelling with a node less the best one without it."""
        return self._labellings.margins(self._rows(X))[:, self._places(self.nodes_)]

    def _score_blocks(self, X: Matrix) -> Any:
        return (self._scores(X[part]) for part in self._parts(X))

    def _parts(self, X: Matrix) -> Iterator[slice]:
        return blocks(X.shape[0], rows_that_fit(64 * max(1, len(self.nodes_))))

    def _places(self, nodes: IntArray) -> IntArray:
        """Where the structure has its columns of these nodes."""
        order = np.argsort(self._labellings.nodes)
        return order[np.searchsorted(self._labellings.nodes, nodes, sorter=order)]

    def predict(
        self,
        X: Any,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        consistent: bool = True,
        **request: Any,
    ) -> Any:
        """Answers in the kind of the labels that were learned from.

        Parameters
        ----------
        decoder : how the margins of nodes become label sets; default: the consistent labelling of largest score.
        closed : whether ancestors are in the answers; default: as in training.
        consistent : False takes the best of all labellings, a node without its parent included, as it is.
        request : ``rules`` or ``risk``, as for every model.
        """
        if consistent:
            return super().predict(X, decoder=decoder, closed=closed, **request)
        Y = self.answers(X, decoder=decoder, closed=closed, consistent=False)
        return self.codec_.decode(Y, self.taxonomy_, single=False)

    def answers(
        self,
        X: Any,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        consistent: bool = True,
        **request: Any,
    ) -> CSR:
        """The answers of `predict` as 0/1 rows, n_docs x n_nodes; ``consistent=False``: the best of all labellings."""
        check_is_fitted(self, "nodes_")
        if request:
            return super().answers(X, decoder=decoder, closed=closed, **request)
        if not consistent:
            decide = self._decoder(decoder) if decoder is not None else Threshold(0.0, repair=None)
            return self._decided(X, decide, closed or False, self._unrestricted)
        decide = self._decoder(decoder)
        with_ancestors = self.closed_ if closed is None else closed
        if decide is _ONE_PATH:
            return self._decided(X, decide, with_ancestors, self._path_scores, self.label_nodes_)
        if decide is _BEST_SET or decide is _BEST_OR_NONE:
            checked = self._check_X(X, reset=False)
            parts = [self._best_sets(self._rows(checked[part]), decide) for part in self._parts(checked)]
            Y = stacked(parts, self.taxonomy_)
            return Y if with_ancestors else self.taxonomy_.frontier(Y)
        return super().answers(X, decoder=decide, closed=closed)

    def _decided(self, X: Any, decide: Decoder, closed: bool, scores: Any, nodes: IntArray | None = None) -> CSR:
        """Answers of a decoder over scores of other kinds than `_scores`."""
        checked, columns = self._check_X(X, reset=False), self.nodes_ if nodes is None else nodes
        parts = (scores(self._rows(checked[part])) for part in self._parts(checked))
        Y = decide.over_blocks(parts, self.taxonomy_, columns)
        return self.taxonomy_.close(Y) if closed else Y

    def _best_sets(self, F: FloatArray, decide: Decoder) -> CSR:
        """The closed sets of largest score; the best that are not empty, where a label is required."""
        Y = self.taxonomy_.close(_BEST_OR_NONE(self._decisive(F), self.taxonomy_, self.nodes_))
        empty = np.flatnonzero(np.diff(Y.indptr) == 0) if decide is _BEST_SET else np.zeros(0, np.int64)
        if not len(empty):
            return Y
        if isinstance(self._labellings, GraphStructure):
            members = self._labellings.best_not_empty(F[empty])[:, self._places(self.nodes_)]
            row, column = np.nonzero(members)
            order = np.lexsort((self.nodes_[column], row))
            some = pattern(pointers(members.sum(axis=1)), self.nodes_[column[order]], self.taxonomy_.n_nodes)
        else:
            rules = known_ends(Rules(at_least=1).bind(self.taxonomy_), self.nodes_)
            some = best_sets(self._node_weights(F[empty]), self.taxonomy_, self.nodes_, rules=rules).best
        rows = np.arange(len(F))
        rows[empty] = len(F) + np.arange(len(empty))
        return stacked([Y, some], self.taxonomy_)[rows]

    def _node_weights(self, F: FloatArray) -> FloatArray:
        return np.ascontiguousarray(self._labellings.node_weights(F)[:, self._places(self.nodes_)])

    def _label_scores(self, X: Matrix, decide: Decoder) -> Iterator[tuple[FloatArray, CSR, IntArray]]:
        if decide is not _ONE_PATH:
            yield from super()._label_scores(X, decide)
            return
        for part in self._parts(X):
            S = self._path_scores(self._rows(X[part]))
            yield S, self.taxonomy_.close(decide(S, self.taxonomy_, self.label_nodes_)), self.label_nodes_

    def _set_weights(self, X: Matrix, decide: Decoder) -> Iterator[tuple[SetWeights, CSR, IntArray]]:
        if decide is not _ONE_PATH and decide is not _BEST_SET and decide is not _BEST_OR_NONE:
            yield from super()._set_weights(X, decide)
            return
        for part in self._parts(X):
            F = self._rows(X[part])
            if decide is _ONE_PATH:  # rules ask for several labels
                Y = self.taxonomy_.close(decide(self._path_scores(F), self.taxonomy_, self.label_nodes_))
            else:
                Y = self._best_sets(F, decide)
            yield SetWeights(self._node_weights(F)), Y, self.nodes_

    def ranked_sets(
        self,
        X: Any,
        k: int = 1,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        decoder: Decoder | str | None = None,
    ) -> RankedSets:
        """The k best label sets of every document, exactly; on a graph by a search over labellings, best first."""
        check_is_fitted(self, "nodes_")
        decide = self._decoder(decoder)
        if not isinstance(self._labellings, GraphStructure) or decide not in (_BEST_SET, _BEST_OR_NONE):
            return super().ranked_sets(X, k, rules=rules, decoder=decoder)
        check_number("k", k, least=1, whole=True)
        wanted = Rules.of(rules)
        if decide is _BEST_SET and not wanted.at_least:
            wanted = replace(wanted, at_least=1)
        X = self._check_X(X, reset=False)
        rows = np.concatenate([self._rows(X[part]) for part in self._parts(X)])
        return self._labellings.ranked(rows, int(k), wanted.bind(self.taxonomy_))

    def explain(self, x: Any, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to what each node of a path adds to the set's score.

        With the linear kernel only. ``node`` is the node to explain; default: the deepest one of the best set.
        """
        check_is_fitted(self, "nodes_")
        if not hasattr(self, "weights_"):
            raise DataError(
                f"{type(self).__name__} with this kernel has no explanations: scores are no sums of features."
            )
        X = self._check_X(one_row(x), reset=False)
        if X.shape[0] != 1:
            raise DataError(f"explain takes one document; got {X.shape[0]}.")
        target = int(self.ranked_sets(X).best.indices[-1:].sum()) if node is None else self.taxonomy_.index(node)
        places, zero = self._places(self.nodes_), np.zeros_like(np.atleast_2d(self.weights_[:1]))
        constant = self._labellings.node_weights(zero + self.intercept_)[0, places]

        def weights_of(features: IntArray, column: int) -> FloatArray:
            rows = np.ascontiguousarray(self.weights_[features])
            return np.asarray(self._labellings.node_weights(rows)[:, places[column]])

        return explain_path(self, X, target, k, weights_of, constant)

    def _unrestricted(self, F: FloatArray) -> FloatArray:
        return self._labellings.margins(F, consistent=False)[:, self._places(self.nodes_)]

    def _decisive(self, F: FloatArray) -> FloatArray:
        return self._labellings.decisive(F)[:, self._places(self.nodes_)]

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
