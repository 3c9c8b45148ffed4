"""A passive-aggressive classifier for every edge, trained alone, and a search for label sets over their scores.

    edge p -> c:   y_i = +1 where document i is under c;  -1 for all other documents ("all", LS-ALL and DP-ALL of
                   Murawaki 2013) or for those under p only ("siblings", LS-SIB and DP-SIB)

Each is learned by PA-I steps (`solvers.passive_aggressive`). Answers come from local search downwards, or are the sets
of leaves whose paths have the largest sum of scores. A document that carries an inner node itself is under a leaf
``<node>/self``, which has a classifier of its own. Scores of sibling classifiers mean something only where the parent
is right: their sums do not, and exact search over them collapses.

Repairs of local search, learned on scores of documents that the classifiers have not seen.

Folds of the documents are scored by copies of the model that have learned from the others, leaves ``<node>/self``
included. On these scores one of the repairs of `decoding.search` is fitted:

    "prune"         theta and a threshold on sums along paths, both from a grid, by F1 of documents
    "scut"          a threshold for every classifier, by its F1
    "rcut"          r, the leaves of best paths that are kept;  "rcut_parent": r, the children followed at every node
    "paths"         a classifier of whole paths (`decoding.path_classifier`)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem, check_labels
from linnaeus.data.splits import kfold
from linnaeus.decoding import Decoder, ExactSearch, LocalSearch, PathClassifier, SCut
from linnaeus.decoding.sets.search import Descent, chosen_ends, path_scores
from linnaeus.engine import Clock, get_engine
from linnaeus.errors import check_choice, warn_user
from linnaeus.models.fitting import document_weights
from linnaeus.models.flat.passive_aggressive import visit_orders
from linnaeus.models.online import OnlineLinear
from linnaeus.models.solvers.passive_aggressive import PANEL, ColumnVisits, assembled, learn_panels, prepared
from linnaeus.models.topdown.base import LocalClassifiers, union
from linnaeus.models.topdown.local import Family
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, pattern, row_numbers
from linnaeus.typing import CSR, Engine, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.topdown.base import LocalClassifiers

__all__ = ["REPAIRS", "EdgePA", "HeldOutPaths", "fit_search"]

REPAIRS = ("prune", "scut", "rcut", "rcut_parent", "paths")
THETAS = (0.0, -0.1, -0.2, -0.4, -0.6, -1.0)
_WIDE = -1.0  # where paths are looked for that a repair chooses from
_QUANTILES = 40


@dataclass(frozen=True)
class HeldOutPaths:
    """Scores S over ``columns`` of a taxonomy with leaves ``<node>/self``, right leaves, and documents per node."""

    S: FloatArray
    gold: CSR
    taxonomy: Taxonomy
    columns: IntArray
    seen: IntArray

    @classmethod
    def of(cls, model: LocalClassifiers, X: object, y: object, cv: int, random_state: int | None) -> HeldOutPaths:
        """Scores of all documents by copies of a fitted model, ``cv`` trainings."""
        from sklearn.base import clone

        X = model._check_X(X, reset=False)
        Y = check_labels(y, model.taxonomy_, X.shape[0])[0]
        taxonomy, columns, origin = model._with_stops()
        place = {str(taxonomy.names[v]): i for i, v in enumerate(columns)}
        S = np.full((X.shape[0], len(columns)), -np.inf, dtype=np.float32)
        for train, held in kfold(Y, min(int(cv), X.shape[0]), random_state=random_state):
            fold = clone(model).set_params(taxonomy=model.taxonomy_, verbose=0).fit(X[train], Y[train])
            names = fold._with_stops()[0].names[fold._with_stops()[1]]
            known = np.array([(i, place[str(name)]) for i, name in enumerate(names) if str(name) in place])
            scores = np.hstack([fold._scores(X[held]), fold._stop_scores(X[held])])
            S[np.ix_(held, known[:, 1])] = scores[:, known[:, 0]]
        gold = leaves_of(model.taxonomy_.frontier(Y), taxonomy, origin, model.taxonomy_.n_nodes)
        seen = np.asarray(taxonomy.close(gold).sum(axis=0, dtype=np.int64)).ravel()
        return cls(S, gold, taxonomy, columns, seen)

    def quality(self, decoder: Descent) -> float:
        return self.f1(self.taxonomy.frontier(decoder(self.S, self.taxonomy, self.columns)))

    def f1(self, found: CSR) -> float:
        """Mean F1 of documents."""
        both = np.asarray(found.multiply(self.gold).sum(axis=1)).ravel()
        sizes = np.diff(found.indptr) + np.diff(self.gold.indptr)
        return float(np.mean(2 * both / np.maximum(sizes, 1)))


def leaves_of(Y: CSR, grown: Taxonomy, origin: IntArray, n_nodes: int) -> CSR:
    """Labels as leaves of a taxonomy with leaves ``<node>/self``."""
    stands_for = np.zeros(n_nodes, dtype=np.int32)
    stands_for[origin] = np.arange(len(origin))  # a leaf <node>/self comes after its node
    gold = pattern(Y.indptr.astype(np.int64), stands_for[Y.indices], grown.n_nodes)
    gold.sort_indices()
    return gold


def fit_search(
    model: LocalClassifiers, X: object, y: object, repair: str, cv: int, random_state: int | None
) -> Descent:
    """A repair fitted on held-out scores of a fitted model."""
    check_choice("repair", repair, REPAIRS)
    held = HeldOutPaths.of(model, X, y, cv, random_state)
    fit = {"prune": _prune, "scut": _scut, "rcut": _rcut, "rcut_parent": _rcut_parent, "paths": _paths}[repair]
    return fit(held)


def _best(held: HeldOutPaths, choices: Iterable[Descent]) -> Descent:
    """The first of the best."""
    return max(choices, key=lambda decoder: held.quality(decoder))


def _prune(held: HeldOutPaths) -> Descent:
    found: list[tuple[float, Descent]] = []
    for theta in THETAS:
        ends = held.taxonomy.frontier(LocalSearch(theta=theta)(held.S, held.taxonomy, held.columns))
        values = path_scores(held.S, ends, held.taxonomy, held.columns)
        for threshold in [None, *np.unique(np.quantile(values, np.linspace(0, 1, _QUANTILES))).tolist()]:
            chosen = LocalSearch(theta=theta, path_threshold=threshold)
            found.append((held.f1(chosen_ends(ends, values, threshold)), chosen))
    return max(found, key=lambda pair: pair[0])[1]


def _scut(held: HeldOutPaths) -> Descent:
    cut = SCut().fit(held.S, held.taxonomy.close(held.gold), held.taxonomy, held.columns)
    assert cut.theta is not None
    return LocalSearch(theta=cut.theta)


def _rcut(held: HeldOutPaths) -> Descent:
    most = 2 * int(np.diff(held.gold.indptr).max(initial=1))
    return _best(held, (LocalSearch(theta=_WIDE, r=r) for r in range(1, most + 1)))


def _rcut_parent(held: HeldOutPaths) -> Descent:
    return _best(held, (LocalSearch(r_children=r) for r in range(1, 6)))


def _paths(held: HeldOutPaths) -> Descent:
    return PathClassifier(theta=_WIDE).fit(held.S, held.gold, held.taxonomy, held.columns, seen=held.seen)


CONSTANT, LEARNED = 1, 2  # states of a column; 0: no document yet, -1: constant, and against it


def _state(before: int, n_positive: int, n_negative: int) -> int:
    """The state of a column after some documents: it learns once there are both kinds, or one that is new to it."""
    if before == LEARNED or (n_positive and n_negative):
        return LEARNED
    if before == 0:
        return CONSTANT if n_positive else -CONSTANT if n_negative else 0
    return LEARNED if (n_negative if before > 0 else n_positive) else before


class EdgePA(OnlineLinear, LocalClassifiers):
    """A passive-aggressive classifier for every edge of the taxonomy (LS-ALL, LS-SIB, DP-ALL, DP-SIB).

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    training_set : str, default="all"
        Negative documents of an edge: "all" that are not below it, or those of its "siblings".
    search : str, default="exact"
        "exact", the set of largest sum of scores, or "local", from the top downwards. Repairs of local search are
        decoders (`decoding.search`): ``predict(X, decoder=LocalSearch(theta=-0.2, path_threshold=1.0))``; `fit_search`
        learns them.
    C : float, default=1.0
        The largest step.
    max_iter : int, default=10
        Passes over the documents.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m": all edges are then learned from fewer visits.
    average : str, default="trajectory"
        "trajectory", the mean of the weights after all visits, or "none", the last ones.
    fit_intercept : bool, default=True
        Add a constant feature.
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
    weights_ : ndarray or csr_array of shape (n_features, n_classes)
        Weights of the edges; sparse if they are many and most are 0.
    intercept_ : ndarray of shape (n_classes,)
        Weights of the constant feature.
    stop_nodes_ : ndarray of int
        Inner nodes where a document may stop; ``stop_weights_`` and ``stop_intercept_`` are their classifiers.
    n_updates_ : int
        Number of steps, summed over the edges.
    n_iter_ : int
        Passes, fewer than ``max_iter`` where the time was over.
    time_limit_reached_ : bool
        Whether ``max_time`` ended the fit.

    Notes
    -----
    A node that all documents of its training set belong to, such as an only child, scores 1 until one comes that does
    not; `partial_fit` continues from there.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import EdgePA, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 1.0]])
    >>> y = [["AA"], ["AB"], ["B"], ["AA", "B"]]
    >>> model = EdgePA(taxonomy=tax, random_state=0).fit(X, y)
    >>> model.predict(X)
    [['AA'], ['AB'], ['B'], ['B', 'AA']]
    >>> model.search_errors(X, y)
    0.0
    """

    loss, tol = "hinge", 1e-3  # of the base, which has losses to choose from and gaps to reach
    learn = "closed"
    label_nodes_: IntArray
    states_: IntArray
    n_updates_: int

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        training_set: str = "all",
        search: str = "exact",
        C: float = 1.0,
        max_iter: int = 10,
        max_time: float | str | None = None,
        average: str = "trajectory",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.training_set = training_set
        self.search = search
        self.C = C
        self.max_iter = max_iter
        self.max_time = max_time
        self.average = average
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("training_set", self.training_set, ("all", "siblings"))
        check_choice("search", self.search, ("exact", "local"))
        check_choice("average", self.average, ("trajectory", "none"))
        if self.training_set == "siblings" and self.search == "exact":
            warn_user(
                "training_set='siblings' gives scores that mean something only where the parent is right; exact search "
                "sums them up and finds far too many labels: take search='local'."
            )

    def _reach(self, sets: Iterable[IntArray]) -> IntArray:
        return union(sets)

    def _stops(self, labels: IntArray) -> tuple[IntArray, bool]:
        return labels, True

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        self.states_, self.n_updates_ = np.zeros((2, problem.taxonomy.n_nodes), dtype=np.int8), 0
        self.label_nodes_ = np.unique(problem.frontier.indices).astype(np.int32)
        super()._fit(problem)

    def _learn(self, problem: Problem, families: list[Family]) -> None:
        orders = visit_orders(self.random_state, problem.n_docs, int(self.max_iter))
        self._note_visits(self._visit(problem, families, orders, None, Clock(self.max_time)), orders)

    def _visit(
        self,
        problem: Problem,
        families: list[Family],
        orders: list[IntArray],
        start: CSR | None,
        clock: Clock | None = None,
    ) -> int:
        """Learn from documents in these orders; columns are edges and then leaves ``<node>/self``.

        Returns the visits of the columns for which there was the least time.
        """
        n, n_stops, dtype = len(self.nodes_), len(self.stop_nodes_), problem.X.dtype
        states = self._states()
        own: dict[int, tuple[IntArray, IntArray | None]] = {}
        for family in families:
            for column, where in zip(family.columns.tolist(), family.positives, strict=True):
                positive = family.rows[where]
                rest = family.rows if self.training_set == "siblings" else None
                n_other = (problem.n_docs if rest is None else len(rest)) - len(positive)
                states[column] = _state(int(states[column]), len(positive), n_other)
                if states[column] == LEARNED and len(positive) + n_other:
                    own[column] = positive, rest
        weight = document_weights(problem)
        X = prepared(problem.X, constant=self.fit_intercept)
        visits = ColumnVisits(X, weight, orders, float(self.C), self.average == "trajectory", clock or Clock())
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        engine = get_engine(self.engine, self.n_jobs)
        n_panels = -(-n // PANEL) + -(-n_stops // PANEL)
        with progress("training", n_panels, show=self.verbose > 0) as advance:
            found = learn_panels(
                visits, [n, n_stops], lambda column: own.get(column, nothing), engine, start, dtype, advance
            )
        self.n_updates_ += sum(panel.n_updates for panel in found)
        n_visits = min((panel.n_visits for panel in found), default=visits.n_visits)
        panels, last = [panel.W for panel in found], [np.zeros(0, dtype)]
        found.clear()
        for i, W in enumerate(panels if self.fit_intercept else []):
            last.append(W[[-1]].toarray()[0])
            panels[i] = sparse.csr_array(W[:-1])
        self.states_ = self.states_.copy()  # of a model that was loaded it may not be written to
        self.states_[0, self.nodes_], self.states_[1, self.stop_nodes_] = states[:n], states[n:]
        intercept = np.concatenate(last) if self.fit_intercept else np.zeros(n + n_stops, dtype)
        intercept = intercept + np.where(np.abs(states) == CONSTANT, states, 0).astype(dtype)
        self.intercept_, self.stop_intercept_ = intercept[:n], intercept[n:]
        split = -(-n // PANEL)
        stops, panels[split:] = panels[split:], []
        n_features = problem.X.shape[1]
        self.weights_ = assembled(panels, (n_features, n), dtype)
        self.stop_weights_ = assembled(stops, (n_features, n_stops), dtype)
        return n_visits

    def _states(self) -> IntArray:
        """Of every column: whether it has learned, or is a constant because no document contradicted it."""
        return np.concatenate([self.states_[0, self.nodes_], self.states_[1, self.stop_nodes_]])

    # -- streams -------------------------------------------------------------------------------------------------------

    def _place(self, nodes: IntArray, X: Matrix) -> None:
        if hasattr(self, "nodes_"):  # learning continues without the constants
            states = np.where(np.abs(self._states()) == CONSTANT, self._states(), 0).astype(self.intercept_.dtype)
            n = len(self.nodes_)
            self.intercept_, self.stop_intercept_ = self.intercept_ - states[:n], self.stop_intercept_ - states[n:]
        else:
            self.states_, self.n_updates_, self.n_iter_ = np.zeros((2, self.taxonomy_.n_nodes), dtype=np.int8), 0, 1
            self.label_nodes_ = self.stop_nodes_ = nodes[:0]
            self.stop_weights_, self.stop_intercept_ = np.zeros((X.shape[1], 0), X.dtype), np.zeros(0, X.dtype)
        super()._place(nodes, X)

    def _pass(self, problem: Problem, ends: IntArray) -> None:
        self.label_nodes_ = np.union1d(self.label_nodes_, ends).astype(np.int32)
        indptr, parents = parent_sets(self.taxonomy_)
        inner = parents[np.isin(row_numbers(indptr), self.nodes_)]
        before, self.stop_nodes_ = self.stop_nodes_, np.intersect1d(self.label_nodes_, inner).astype(np.int32)
        self._grown = None
        self._with_stops()
        moves = np.zeros((len(before), len(self.stop_nodes_)))
        moves[np.arange(len(before)), np.searchsorted(self.stop_nodes_, before)] = 1.0
        stops = self._joined(self.stop_weights_, self.stop_intercept_) @ sparse.csr_array(moves)
        start = sparse.csr_array(sparse.hstack([self._start(), stops], format="csr"))
        families = list(self._families(problem, problem.closed.tocsc(), problem.frontier.tocsc(), True))
        self._visit(problem, families, [np.arange(problem.n_docs)], start)

    # -- answering -----------------------------------------------------------------------------------------------------

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return super()._decoder(given)
        theta = np.inf if self.one_label_ or self.codec_.single_label else 0.0
        return ExactSearch(theta=theta) if self.search == "exact" else LocalSearch(theta=theta)

    def fit_search(
        self, X: object, y: object, repair: str = "paths", *, cv: int = 5, random_state: int | None = 0
    ) -> LocalSearch | PathClassifier:
        """A repair of local search, learned by ``cv`` more trainings; the model itself stays as it is.

        Parameters
        ----------
        X, y : object
            Documents and labels, those of training.
        repair : str, default="paths"
            "prune", a wider search and a threshold on path sums; "scut", a threshold for every classifier, those of
            leaves ``<node>/self`` included; "rcut", the r best leaves; "rcut_parent", the r best children of every
            node; "paths", a second classifier of whole paths.

        Examples
        --------
        >>> from linnaeus import EdgePA, Taxonomy
        >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 3))
        >>> y = [[name for name, value in zip(["AA", "AB", "BA"], row) if value > 0.5] or ["A"] for row in X]
        >>> model = EdgePA(tax, search="local", random_state=0).fit(X, y)
        >>> model.predict([[2.0, -2.0, -2.0]], decoder=model.fit_search(X, y, "paths", cv=3))
        [['AA']]
        """
        check_is_fitted(self, "nodes_")
        found: Any = fit_search(self, X, y, repair, cv, random_state)
        return found

    def search_errors(self, X: object, y: object, *, decoder: Decoder | None = None) -> float:
        """Share of documents whose answer by local search (or ``decoder``) scores below their right labels.

        The model prefers the right labels there; only the search has missed them.
        """
        check_is_fitted(self, "nodes_")
        X = self._check_X(X, reset=False)
        right = self.taxonomy_.frontier(check_labels(y, self.taxonomy_, X.shape[0])[0])
        taxonomy, columns, origin = self._with_stops()
        S = np.hstack([self._scores(X), self._stop_scores(X)])
        gold = leaves_of(right, taxonomy, origin, self.taxonomy_.n_nodes)
        found = (decoder or LocalSearch(theta=np.inf if self.one_label_ else 0.0))(S, taxonomy, columns)
        scores = [np.asarray(taxonomy.close(Y)[:, columns].multiply(S).sum(axis=1)).ravel() for Y in (found, gold)]
        return float(np.mean(scores[0] < scores[1] - 1e-6 * np.maximum(1, np.abs(scores[1]))))
