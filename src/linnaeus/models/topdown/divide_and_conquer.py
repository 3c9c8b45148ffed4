"""A flat ranking SVM at every inner node, from the top downwards: the baseline DNC-SVM of Cai and Hofmann.

At an inner node v with the children c_1, ..., c_k, over the documents with a label at or below v,

    min_w  1/2 sum_c |w_c|^2 + C sum_i xi_i     w_c'x_i - w_d'x_i >= 1 - xi_i     for children c of document i, d not

where a child is one of the document's if one of its labels is at or below it. A node that is a label itself and has
labels below gets a child of its own for documents that stop there; an only child needs no model. In a DAG a node takes
part at each of its parents. New documents go to the best child until there is none below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.data.matrices import is_sparse, prepare_rows
from linnaeus.engine import Clock, get_engine, single_blas_thread
from linnaeus.errors import check_choice
from linnaeus.losses.cost import pair_cost
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.fitting import check_training, document_weights, require_two_classes, warn_not_converged
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.set_sizes import SET_SIZES, SetSizes
from linnaeus.models.ranking.solver import RankingProblem, class_arrays, solve_ranking
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets
from linnaeus.taxonomy.terminals import terminals
from linnaeus.typing import CSR, Engine, FloatArray, IntArray, Matrix

__all__ = ["DivideAndConquerSVM"]

_SHARE = 3.0  # times its part of the time that a node may take


@dataclass(frozen=True)
class _Shared:
    """What the problems of all nodes share."""

    X: Matrix
    members: CSR  # documents x places
    bound: FloatArray
    bias: float
    tol: float
    max_iter: int
    clock: Clock
    n_workers: int


class DivideAndConquerSVM(SetSizes, TaxonomyClassifier):
    """Flat ranking SVMs at the inner nodes, followed from the top (DNC-SVM); quick, but mistakes at the top stay.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the slacks, the same at all nodes.
    descent : str, default="greedy"
        "greedy" goes to the best child, and ranks labels by how much their way falls short of it; "ranked" adds up
        standardised margins over all siblings along the best way to each label.
    set_size : str, default="held_out"
        How the number of labels is learned, for label sets; see `HierarchicalSVM`.
    fit_intercept : bool, default=False
        Add a constant feature, regularised like the others.
    tol : float, default=0.001
        Relative duality gap at which the problem of a node is finished.
    max_iter : int, default=1000
        Passes over the documents of a node, at most.
    max_time : float or str, default=None
        Seconds, or "10m": nodes that are not finished then stop, each after one pass at least.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : str or Engine, default=None
        "serial", "threads", "ray" or an engine; default: by ``n_jobs``.
    random_state : int or RandomState, default=None
        Seed of the order in which documents are visited.
    verbose : int, default=0
        Show a progress bar if above 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_edges)
        One column for every child of every node with two or more children.
    intercept_ : ndarray of shape (n_edges,)
        Weights of the constant feature.
    objective_, duality_gap_ : float
        Sums over the nodes; the optimum is at least ``objective_ - duality_gap_``.
    time_limit_reached_ : bool
        Whether ``max_time`` stopped the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import DivideAndConquerSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.7, 0.7, 0]])
    >>> model = DivideAndConquerSVM(taxonomy=tax, C=10.0, random_state=0).fit(X, ["AA", "AB", "B", "A"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'A']
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        descent: str = "greedy",
        set_size: str = "held_out",
        fit_intercept: bool = False,
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
        self.descent = descent
        self.set_size = set_size
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
        check_choice("descent", self.descent, ("greedy", "ranked"))
        check_choice("set_size", self.set_size, SET_SIZES)
        Clock(self.max_time)
        get_engine(self.engine, self.n_jobs)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, "frontier")
        require_two_classes(problem, self.nodes_)
        self._lay_out(problem.taxonomy)
        bound = self.C * document_weights(problem)
        seed = int(check_random_state(self.random_state).randint(2**31))
        labels, clock = sparse.csr_array(Y[:, self.nodes_]), Clock(self.max_time)

        def train() -> None:
            self._train(problem.X, labels, bound, seed, clock)

        def scores(part: IntArray | None, test: IntArray | None) -> FloatArray:
            if part is None or test is None:
                return np.concatenate(list(self._score_blocks(problem.X)))
            self._train(problem.X[part], labels[part], bound[part], seed, clock.part(2))
            return self._scores(problem.X[test])

        with single_blas_thread():
            self._train_with_sizes(Y, problem.taxonomy, train, scores)
        if self.unfinished_:
            limit = "max_time" if self.time_limit_reached_ else "max_iter"
            warn_not_converged(
                f"{self.unfinished_} nodes stopped at {limit}={getattr(self, limit)} before the gap was {self.tol:g} "
                "of the objective",
                advice=f"increase {limit} or tol, or scale the features",
            )

    def _lay_out(self, taxonomy: Taxonomy) -> None:
        """Places (nodes with labels at or below, and own places of labels above others) and the edges between them.

        Edges are sorted by parent, -1 for the top; only those of a parent with several children have a model.
        """
        found = terminals(taxonomy, self.nodes_)
        self.places_ = sparse.csr_array(found.pattern)
        n_places = self.places_.shape[1]
        place = np.full(taxonomy.n_nodes, -1)
        place[found.nodes[~found.own]] = np.flatnonzero(~found.own)
        indptr, parents = parent_sets(taxonomy)
        edges = []
        for p in range(n_places):
            v = int(found.nodes[p])
            # A place of its own hangs below its node, that of the root below the top.
            above = [place[v]] if found.own[p] else place[parents[indptr[v] : indptr[v + 1]]].tolist()
            edges += [(int(a), p) for a in above or [-1]]
        edges.sort()
        self.parents_, self.children_ = (np.array(side, dtype=np.int32) for side in zip(*edges, strict=True))
        # The place where documents of a class end: the last of its own.
        ends = np.array([row[found.own[row]][0] if found.own[row].any() else row[found.nodes[row] == v][0]
                         for row, v in zip(np.split(self.places_.indices, self.places_.indptr[1:-1]),
                                           self.nodes_.tolist(), strict=True)])  # fmt: skip
        self.ends_ = ends.astype(np.int32)
        depth = np.where(found.own, taxonomy.n_nodes, taxonomy.depth[found.nodes])
        self.order_ = np.argsort(depth[self.children_], kind="stable").astype(np.int32)  # edges from the top downwards

    def _train(self, X: Matrix, labels: CSR, bound: FloatArray, seed: int, clock: Clock) -> None:
        members = sparse.csr_array(labels @ self.places_)
        engine, bias = get_engine(self.engine, self.n_jobs), 1.0 if self.fit_intercept else 0.0
        by_place = members.tocsc()
        shared = _Shared(X, by_place, bound, bias, self.tol, self.max_iter, clock, engine.n_workers)
        starts = np.flatnonzero(np.append(True, np.diff(self.parents_) != 0))
        groups = [g for g in np.split(np.arange(len(self.parents_)), starts[1:]) if len(g) > 1]
        sizes = np.array([by_place[:, self.children_[g]].nnz for g in groups], dtype=float)
        left = np.cumsum(sizes[::-1])[::-1] / np.maximum(sizes, 1.0)
        tasks = [(self.children_[g], [seed, k], float(left[k])) for k, g in enumerate(groups)]
        shape = (X.shape[1], len(self.parents_))
        entries: list[list[Any]] = [[], [], []]
        self.intercept_ = np.zeros(shape[1], X.dtype)
        self.deviation_ = np.ones(shape[1])
        self.objective_ = self.duality_gap_ = 0.0
        self.n_iter_ = self.unfinished_ = 0
        self.time_limit_reached_ = False
        with progress("training", len(tasks), show=self.verbose > 0) as advance:
            for group, found in zip(groups, engine.map(_solve_node, tasks, shared=shared), strict=True):
                features, W, intercept, deviation, numbers = found
                entry, column = np.nonzero(W)
                for store, values in zip(entries, (W[entry, column], features[entry], group[column]), strict=True):
                    store.append(values)
                self.intercept_[group], self.deviation_[group] = intercept, deviation
                self.objective_ += numbers[0]
                self.duality_gap_ += numbers[1]
                self.n_iter_, self.unfinished_ = max(self.n_iter_, numbers[2]), self.unfinished_ + (not numbers[3])
                self.time_limit_reached_ |= numbers[4]
                advance(1)
        kinds: tuple[npt.DTypeLike, ...] = (X.dtype, np.int64, np.int64)
        joined = (np.concatenate([np.zeros(0, kind), *store]) for kind, store in zip(kinds, entries, strict=True))
        data, rows, columns = joined
        W = sparse.csr_array((data, (rows, columns)), shape=shape)
        few = is_sparse(X) and W.nnz < 0.25 * shape[0] * shape[1]
        self.weights_ = W if few else W.toarray()

    # -- answering -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Matrix) -> FloatArray:
        S = X @ self.weights_
        S = (S.toarray() if hasattr(S, "toarray") else np.asarray(S)) + self.intercept_
        margins = _margins(S, self.parents_)
        margins = np.minimum(margins, 0.0) if self.descent == "greedy" else margins / self.deviation_
        reached = np.full((X.shape[0], self.places_.shape[1] + 1), -np.inf)
        reached[:, -1] = 0.0  # the top, which has the number -1
        for edge in self.order_.tolist():
            parent, child = self.parents_[edge], self.children_[edge]
            np.maximum(reached[:, child], reached[:, parent] + margins[:, edge], out=reached[:, child])
        return np.ascontiguousarray(reached[:, self.ends_], dtype=S.dtype)


def _margins(S: FloatArray, parents: IntArray) -> FloatArray:
    """Score of every edge less the best score of its siblings; 0 for only children. Edges are sorted by parent."""
    margins = np.zeros(S.shape, np.float64)
    starts = np.flatnonzero(np.append(True, np.diff(parents) != 0))
    for group in np.split(np.arange(len(parents)), starts[1:]):
        if len(group) > 1:
            part = S[:, group].astype(np.float64)
            order = np.argsort(-part, axis=1, kind="stable")
            best = np.take_along_axis(part, order[:, :2], axis=1)
            others = np.where(np.arange(len(group)) == order[:, :1], best[:, 1:2], best[:, :1])
            margins[:, group] = part - others
    return margins


def _solve_node(shared: _Shared, task: tuple[IntArray, list[int], float]) -> tuple[Any, ...]:
    """(features, weights, intercepts, deviation of margins, (objective, gap, passes, converged, late)) of one node.

    ``task`` is (children, seed, work that is left over that of this node).
    """
    children, seed, left = task
    clock = shared.clock.part(left / _SHARE, shared.n_workers)
    below = shared.members[:, children].tocsr()
    rows = np.flatnonzero(np.diff(below.indptr))
    labels = sparse.csr_array((below[rows] != 0).astype(np.int8))
    labels.sort_indices()
    X = shared.X[rows]
    features = np.arange(X.shape[1])
    if is_sparse(X):  # only the features that occur here
        features = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
        X = X[:, features]
    flat = Taxonomy.flat(range(len(children)))
    classes = class_arrays(
        class_attributes(flat, np.arange(len(children)), "flat"), pair_cost(flat, np.arange(len(children)), "zero_one")
    )
    problem = RankingProblem(prepare_rows(X, shared.bias), labels, shared.bound[rows], classes)
    found = solve_ranking(problem, tol=shared.tol, epsilon=None, max_iter=shared.max_iter, seed=seed, clock=clock)
    S = np.asarray(X @ found.weights) + found.intercept
    margins = _margins(S, np.zeros(len(children), np.int32))
    deviation = float(margins.std()) or 1.0
    late = not found.converged and found.n_iter < shared.max_iter and clock.over
    numbers = found.objective, found.gap, found.n_iter, found.converged, late
    return features, found.weights, found.intercept, deviation, numbers
