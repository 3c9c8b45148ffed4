"""What the top-down models share: a linear classifier for every node, trained on the documents that get as far.

A subclass says which documents reach a node with several parents (``_reach``), at which internal nodes a document may
stop (``_stops``, with a score of their own), and how to go down (`_decoder`). Nodes with equal parents are one family
of binary problems (`local`). A node that all documents of its family belong to, such as an only child, needs no
classifier: its score is 1 for every document (and -1 for a node that none belongs to).

Scores are local: they compare a node with its siblings, not with nodes elsewhere. The model's own answers come from the
walk downwards; decoders that compare nodes of different families see local scores. Rankings (`top`) are by the smallest
score on the path to a node, which is positive where every decision of the walk is; where labels are given without their
ancestors, the decision to stop at the node is one of them, and only nodes that are labels are ranked. Precision at 1 of
TopDownSVM on held-out training documents, by the smallest score and by sums of log-sigmoids: 0.79 and 0.73 (RCV1-v2),
0.16 and 0.00 (WordNet), 0.71 and 0.73 (ImCLEF07A).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem
from linnaeus.decoding import Decoder, PathClassifier
from linnaeus.decoding.base import SetWeights, by_suppression, stacked, theta_per_node
from linnaeus.decoding.cutoffs.cut_off import path_minima
from linnaeus.decoding.sets.search import Descent, ExactSearch
from linnaeus.engine import Clock, blocks, get_engine, rows_that_fit, single_blas_thread
from linnaeus.errors import check_choice
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.fitting import check_training, document_weights, require_two_classes, warn_not_converged
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.topdown.local import Family, LocalSolution, LocalTraining, packs, solve_pack
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, pattern, pointers, row_numbers
from linnaeus.typing import CSR, BoolArray, Engine, FloatArray, IntArray, Matrix

__all__ = ["Descent", "LocalClassifiers", "intersection", "union"]

_SPARSE_BELOW = 0.25  # share of non-zero weights below which they are kept sparse


class LocalClassifiers(LinearTaxonomyClassifier):
    """Families of binary problems, and answers from the top downwards."""

    conditional_scores: ClassVar[bool] = True
    stop_nodes_: IntArray
    stop_weights_: Matrix
    stop_intercept_: FloatArray
    time_limit_reached_: bool = False
    _grown: tuple[Taxonomy, IntArray, IntArray] | None = None

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        Clock(self.max_time)
        check_choice("loss", self.loss, ("squared_hinge", "hinge"))

    # -- what a subclass decides ---------------------------------------------------------------------------------------

    @abstractmethod
    def _reach(self, sets: Iterable[IntArray]) -> IntArray:
        """The documents that reach a node, from those under each of its parents."""

    @abstractmethod
    def _stops(self, labels: IntArray) -> tuple[IntArray, bool]:
        """Of the internal nodes that are labels: where a document may stop, and whether a classifier says so."""

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        self._grown = None
        closed, given = self._targets(problem, "closed").tocsc(), problem.frontier.tocsc()
        sizes = np.diff(problem.frontier.indptr)
        self.one_label_, self.some_empty_ = bool((sizes == 1).all()), bool((sizes == 0).any())
        labels = np.flatnonzero(np.diff(given.indptr))
        require_two_classes(problem, labels)
        indptr, parents = parent_sets(problem.taxonomy)
        inner = parents[np.isin(row_numbers(indptr), self.nodes_)]  # above a node that has documents
        self.stop_nodes_, learned = self._stops(np.intersect1d(labels, inner).astype(np.int32))
        self._with_stops()  # now: a name that is taken must not be found after training, nor answering change anything
        self._learn(problem, list(self._families(problem, closed, given, learned)))

    def _learn(self, problem: Problem, families: list[Family]) -> None:
        """Solve the families; set weights, objective and gap."""
        bound, bias = self.C * document_weights(problem), 1.0 if self.fit_intercept else 0.0
        clock, engine = Clock(self.max_time), get_engine(self.engine, self.n_jobs)
        training = LocalTraining(problem.X, bound, self.loss, bias, self.tol, self.max_iter, clock, engine.n_workers)
        tasks = packs(filter(None, map(_undecided, families)), dense=isinstance(problem.X, np.ndarray))
        # One seed per pack, whatever thread solves it: the model does not depend on n_jobs.
        entropy = check_random_state(self.random_state).randint(2**31)
        seeds = np.random.SeedSequence(entropy).spawn(len(tasks))
        sizes = np.array([float(pack.size) for pack in tasks])
        left = np.cumsum(sizes[::-1])[::-1] / np.maximum(sizes, 1.0)
        with single_blas_thread(), progress("training", len(tasks), show=self.verbose > 0) as advance:
            found = []
            for solution in engine.map(solve_pack, zip(tasks, seeds, left.tolist(), strict=True), shared=training):
                found.append(solution)
                advance(1)
        self._collect(found, families, problem.X)

    def _families(self, problem: Problem, closed: CSR, given: CSR, learned: bool) -> Iterator[Family]:
        """Nodes with the same parents, and the documents that reach them; first those at the top."""
        taxonomy, n = problem.taxonomy, len(self.nodes_)
        indptr, parents = parent_sets(taxonomy)
        groups: dict[tuple[int, ...], list[tuple[int, IntArray]]] = {}
        for column, v in enumerate(self.nodes_.tolist()):
            members = given if v == taxonomy.root else closed  # a label at the root: it belongs to nothing below
            above = tuple(parents[indptr[v] : indptr[v + 1]].tolist())
            groups.setdefault(above, []).append((column, _column(members, v)))
        for number, v in enumerate(self.stop_nodes_.tolist() if learned else []):
            groups.setdefault((v,), []).append((n + number, _column(given, v)))
        for above, columns in groups.items():
            rows = (
                self._reach(_column(closed, p) for p in above) if above else np.arange(problem.n_docs, dtype=np.int32)
            )
            positives: list[IntArray] = [np.searchsorted(rows, members) for _, members in columns]
            yield Family(rows, np.array([column for column, _ in columns]), positives)

    def _collect(self, found: list[LocalSolution], families: list[Family], X: Matrix) -> None:
        from scipy import sparse

        n, width = len(self.nodes_), len(self.nodes_) + len(self.stop_nodes_)
        intercept = np.zeros(width, X.dtype)
        for family in families:
            sizes = np.array([len(where) for where in family.positives])
            intercept[family.columns] = np.where(sizes == 0, -1, 1)  # constant, unless there is something to decide
        for part in found:
            intercept[part.columns] = part.intercept
        entries = [np.concatenate([np.empty(0, dtype), *arrays]) for dtype, arrays in (
            (X.dtype, [part.values for part in found]), (np.int64, [part.features for part in found]),
            (np.int64, [part.owners for part in found]),
        )]  # fmt: skip
        shape = (X.shape[1], width)
        weights = sparse.csr_array((entries[0], (entries[1], entries[2])), shape=shape)
        few = sparse.issparse(X) and weights.nnz < _SPARSE_BELOW * shape[0] * shape[1]
        self.weights_, self.stop_weights_ = (W if few else W.toarray() for W in (weights[:, :n], weights[:, n:]))
        self.intercept_, self.stop_intercept_ = intercept[:n], intercept[n:]
        self.objective_ = float(sum(part.objective for part in found))
        self.duality_gap_ = float(sum(part.gap for part in found))
        self.n_iter_ = max([part.n_iter for part in found], default=0)
        unfinished = sum(not part.converged for part in found)
        late = sum(part.out_of_time for part in found)
        self.time_limit_reached_ = late > 0
        if late:
            warn_not_converged(
                f"max_time={self.max_time} was over for {late} of {len(found)} blocks of families before the gap was "
                f"{self.tol:g} of the objective",
                advice="increase max_time or tol, or scale the features",
            )
        elif unfinished:
            warn_not_converged(
                f"{unfinished} of {len(found)} blocks of families stopped at max_iter={self.max_iter} before the gap "
                f"was {self.tol:g} of the objective",
                advice="increase max_iter or tol, or scale the features",
            )

    # -- rankings ------------------------------------------------------------------------------------------------------

    @property
    def ranked_nodes(self) -> IntArray:
        """Numbers of the nodes that `top` ranks: labels of training documents, and their ancestors if they had them."""
        return self.nodes_ if self.closed_ else np.intersect1d(self.nodes_, self.label_nodes).astype(np.int32)

    def _ranking_blocks(self, X: Matrix) -> Iterator[FloatArray]:
        if self.ranks_by_probability:
            yield from super()._ranking_blocks(X)
            return
        order = np.argsort(self.nodes_, kind="stable")
        unranked = ~np.isin(self.nodes_, self.ranked_nodes)
        for part in blocks(X.shape[0], rows_that_fit(16 * max(1, len(self.nodes_)))):
            S = self._scores(X[part])
            least = np.empty_like(S)
            least[:, order] = path_minima(S[:, order], self.taxonomy_, self.nodes_[order])
            if not self.closed_:
                columns, ends = self._end_scores(X[part], S)
                least[:, columns] = np.minimum(least[:, columns], ends)
                least[:, unranked] = -np.inf
            yield least

    def _end_scores(self, X: Matrix, S: FloatArray) -> tuple[IntArray, FloatArray]:
        """Columns of internal nodes that are labels, and scores of stopping there; S are the scores of all nodes."""
        return self._stop_columns(), self._stop_scores(X)

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        return TaxonomyClassifier._best_of(self, X, k)  # a linear scorer would rank local scores

    # -- answering -----------------------------------------------------------------------------------------------------

    def answers(
        self, X: Any, *, decoder: Decoder | str | None = None, closed: bool | None = None, **request: Any
    ) -> CSR:
        """The answers of `predict` as 0/1 rows, n_docs x n_nodes; by default those of the walk downwards."""
        check_is_fitted(self, "nodes_")
        decide = self._decoder(decoder)
        if request or not isinstance(decide, Descent):
            return super().answers(X, decoder=decide, closed=closed, **request)
        X = self._check_X(X, reset=False)
        Y = stacked([Y for _, Y in self._walk_blocks(X, decide)], self.taxonomy_)
        return Y if (self.closed_ if closed is None else closed) else self.taxonomy_.frontier(Y)

    def _walked(self, S: FloatArray, decide: Descent) -> CSR:
        """Where the walk ends for every document, as 0/1 rows over the nodes; S are all scores, those of stops last."""
        taxonomy, columns, _ = self._with_stops()
        found = decide(S, taxonomy, columns)
        if isinstance(decide, ExactSearch):
            value = np.asarray(found[:, columns].multiply(S).sum(axis=1)).ravel()
            return _only(self._ends(found), np.asarray((value > 0) | (not self._may_be_empty(decide))))
        top = np.flatnonzero(taxonomy.depth[columns] == 1)
        theta = 0.0 if isinstance(decide, PathClassifier) else theta_per_node(decide.theta, taxonomy)[columns[top]]
        passed = np.asarray((S[:, top] > theta).any(axis=1))
        if self._may_be_empty(decide):
            return _only(self._ends(found), passed)
        empty = np.flatnonzero(np.diff(found.indptr) == 0)
        if not len(empty):
            return self._ends(found)
        # Nothing passes at the top, but a label is required: the best top, and what passes below it.
        lifted = S[empty].copy()
        best = top[lifted[:, top].argmax(axis=1)]
        lifted[np.arange(len(empty)), best] = np.finfo(S.dtype).max
        rows = np.arange(len(S))
        rows[empty] = len(S) + np.arange(len(empty))
        return self._ends(stacked([found, decide(lifted, taxonomy, columns)], taxonomy)[rows])

    def _ends(self, found: CSR) -> CSR:
        """The most specific nodes of answers over the taxonomy with stop leaves, as nodes of the taxonomy."""
        taxonomy, _, origin = self._with_stops()
        ends = taxonomy.frontier(found)
        Y = pattern(ends.indptr, origin[ends.indices].astype(np.int32), self.taxonomy_.n_nodes)
        Y.sum_duplicates()
        Y.data[:] = 1
        return Y

    def _may_be_empty(self, decide: Decoder) -> bool:
        if isinstance(decide, Descent):
            return self.some_empty_ and not self.codec_.single_label and not decide.single
        return super()._may_be_empty(decide)

    def _walk_blocks(self, X: Matrix, decide: Descent) -> Iterator[tuple[FloatArray, CSR]]:
        """All scores, those of stops last, and closed answers."""
        size = rows_that_fit(8 * max(1, len(self.nodes_) + len(self.stop_nodes_)))
        for part in blocks(X.shape[0], size):
            S = np.hstack([self._scores(X[part]), self._stop_scores(X[part])])
            yield S, self.taxonomy_.close(self._walked(S, decide))

    def _label_scores(self, X: Matrix, decide: Decoder) -> Iterator[tuple[FloatArray, CSR, IntArray]]:
        if not isinstance(decide, Descent):
            yield from super()._label_scores(X, decide)
            return
        taxonomy, columns, _ = self._with_stops()
        n, stops = len(self.nodes_), self._stop_columns()
        for S, Y in self._walk_blocks(X, decide):
            R = decide.label_scores(S, taxonomy, columns)
            R[:, stops] = np.maximum(R[:, stops], R[:, n:])
            yield R[:, :n], Y, self.nodes_

    def _set_weights(self, X: Matrix, decide: Decoder) -> Iterator[tuple[SetWeights, CSR, IntArray]]:
        """Weights over the taxonomy with stop leaves, taken back to its nodes.

        A leaf ``<node>/self`` counts where the set ends at the node; beside children it may be in the set or not,
        whichever is better.
        """
        if not isinstance(decide, Descent):
            yield from super()._set_weights(X, decide)
            return
        grown, columns, _ = self._with_stops()
        n, stops, taxonomy = len(self.nodes_), self._stop_columns(), self.taxonomy_
        for S, Y in self._walk_blocks(X, decide):
            S = S.astype(np.float64)
            if isinstance(decide, ExactSearch):
                U, E = S[:, :n].copy(), decide.set_weights(S, grown, columns).ends
                U[:, stops] += np.maximum(S[:, n:], 0.0)
                ends = None if E is None else E[:, :n].copy()
                own = S[:, n:]
            else:
                M = decide.descent_margins(S, grown, columns, at_top=not self._may_be_empty(decide))
                U = by_suppression(M[:, :n], Y, taxonomy, self.nodes_)
                ends, own = decide.end_weights(Y, taxonomy, self.nodes_), M[:, n:]
            if ends is not None:
                ends[:, stops] = np.where(ends[:, stops] == 0, 0.0, np.minimum(own, 0.0))
            yield SetWeights(U, ends), Y, self.nodes_

    def _stop_columns(self) -> IntArray:
        """Columns of the nodes at which documents may stop."""
        order = np.argsort(self.nodes_, kind="stable")
        return np.asarray(order[np.searchsorted(self.nodes_, self.stop_nodes_, sorter=order)])

    def _stop_scores(self, X: Matrix) -> FloatArray:
        """Scores of the leaves ``<node>/self``; the root's is the root's own."""
        S = X @ self.stop_weights_
        S = (S.toarray() if hasattr(S, "toarray") else np.asarray(S)) + self.stop_intercept_
        return S.astype(X.dtype, copy=False)

    def _with_stops(self) -> tuple[Taxonomy, IntArray, IntArray]:
        """The taxonomy with stop leaves, its nodes for all columns, and the node that each of its nodes stands for."""
        if self._grown is None:
            taxonomy, names = self.taxonomy_, self.taxonomy_.names
            at_root = [v for v in self.nodes_.tolist() if v == taxonomy.root]
            grown = taxonomy.with_misc_leaves([*self.stop_nodes_.tolist(), *at_root])
            stops = {f"{names[v]}/self": v for v in [*self.stop_nodes_.tolist(), *at_root]}
            columns = [f"{names[v]}/self" if v in at_root else names[v] for v in self.nodes_.tolist()]
            columns += [f"{names[v]}/self" for v in self.stop_nodes_.tolist()]
            origin = [stops[name] if name in stops else taxonomy.index_of[name] for name in grown.names]
            self._grown = grown, np.array([grown.index_of[name] for name in columns]), np.array(origin)
        return self._grown

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in super().__getstate__().items() if key != "_grown"}


def _only(Y: CSR, keep: BoolArray) -> CSR:
    """Y with empty rows where they are not kept."""
    sizes = np.diff(Y.indptr)
    return pattern(pointers(np.where(keep, sizes, 0)), Y.indices[np.repeat(keep, sizes)], Y.shape[1])


def _column(Y: CSR, v: int) -> IntArray:
    """The documents of a column of a CSC array, increasing."""
    return np.sort(Y.indices[Y.indptr[v] : Y.indptr[v + 1]])


def _undecided(family: Family) -> Family | None:
    """The columns that have positive and negative documents; None where no column has."""
    kept = [b for b, where in enumerate(family.positives) if 0 < len(where) < len(family.rows)]
    if not kept:
        return None
    return Family(family.rows, family.columns[kept], [family.positives[b] for b in kept])


def union(sets: Iterable[IntArray]) -> IntArray:
    """Documents of any of the sets."""
    return reduce(np.union1d, sets)


def intersection(sets: Iterable[IntArray]) -> IntArray:
    """Documents of all of the sets."""
    return reduce(np.intersect1d, sets)
