"""A global model of label sets on a taxonomy, learned by structured passive-aggressive steps (DP-GT, DP-GT-BF).

    score(x, U) = sum_{v in U} w_v'x + sum_{v in U and the top} b_v(k_v(U))       k_v: children of v in the closed set U

Answers are the sets of largest score, exact by dynamic programming on trees (`decoding.sets`); they end at nodes that
were most specific labels in training. On a DAG scores of branching are optional, and an integer program finds the best
set with them; without, a set may end anywhere, and a minimum cut finds it. Training uses a heuristic on DAGs
and skips documents for which it finds no set to learn from. (Y. Murawaki, IJCNLP 2013.)

Passes of the structured passive-aggressive learner over shards of documents, in the dual.

    U = the best label set of x under the weights now,   m = the right one,   rho = 1 - 2 |m & U| / (|m| + |U|)
    where rho > 0:   w += tau D,   D = Phi(x, m) - Phi(x, U),   tau = min(C, (score(U) - score(m) + sqrt(rho)) / |D|^2)

Alternatively U is the set of largest score(U) + sqrt(rho(U)) ("max_loss"; exact on trees among sets of at most `SPARE`
labels more than the right one has).

D puts +x or -x at the nodes in which the two sets differ, so a pass over a shard adds X' A, with a sparse row of
coefficients A for every document. Within the shard the scores of a document are those of the weights at the beginning
and <x_i, x_j> A_j of the documents before it: no array of features x nodes is needed, and shards send only A and the
few scores of branching (`decoding.sets`). Shards start from the same weights and are then averaged (iterative parameter
mixing; McDonald et al. 2010).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linnaeus._kernels import dispatch
from linnaeus.data.check import Problem
from linnaeus.decoding import BestNonEmpty, BestTree, Decoder
from linnaeus.decoding.base import hierarchy
from linnaeus.engine import Clock, blocks, get_engine, rows_that_fit, single_blas_thread
from linnaeus.errors import check_choice, check_number, warn_user
from linnaeus.models.fitting import Seed, document_weights, require_two_classes
from linnaeus.models.linear import Scorer
from linnaeus.models.online import OnlineLinear
from linnaeus.models.solvers.passive_aggressive import BELOW, prepared, squared_norms
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, pointers
from linnaeus.typing import CSR, Array, BoolArray, Engine, FloatArray, IntArray

__all__ = ["SPARE", "Branching", "GlobalTreeModel", "ShardResult", "Shards", "TreeOfNodes", "visit_shard"]

SPARE = 8


@dataclass(frozen=True)
class TreeOfNodes:
    """The nodes of a model as a tree: parents first, siblings by name, so that ties do not depend on numbers.

    ``order[v]`` is the column of node v in the model. On a DAG the tree has the first parent, by name, of every node;
    ``parents`` has them all. What stands above the tops is node ``n_nodes``.
    """

    order: IntArray
    child_indptr: IntArray
    children: IntArray
    parent_indptr: IntArray
    parents: IntArray

    @property
    def n_nodes(self) -> int:
        return len(self.order)

    @classmethod
    def of(cls, taxonomy: Taxonomy, nodes: IntArray) -> TreeOfNodes:
        """The tree of some nodes, which are closed under ancestors.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("R", "B"), ("R", "A"), ("A", "C")])
        >>> nodes = np.array([tax.index(name) for name in ("A", "B", "C")])
        >>> tree = TreeOfNodes.of(tax, nodes)
        >>> tree.order.tolist(), tree.children.tolist(), tree.parents.tolist()
        ([0, 1, 2], [2, 0, 1], [3, 3, 0])
        """
        indptr, above = parent_sets(taxonomy, keep_root=False)
        names = taxonomy.names.astype(str)
        rank = np.empty(taxonomy.n_nodes, dtype=np.int64)
        rank[np.argsort(names, kind="stable")] = np.arange(taxonomy.n_nodes)
        first = np.full(taxonomy.n_nodes, -1, dtype=np.int64)
        depth = np.zeros(taxonomy.n_nodes, dtype=np.int64)
        for v in np.argsort(taxonomy.depth, kind="stable").tolist():
            mine = above[indptr[v] : indptr[v + 1]]
            if len(mine):
                first[v] = mine[rank[mine].argmin()]
                depth[v] = depth[first[v]] + 1
        order = np.lexsort((rank[nodes], depth[nodes]))
        m = len(nodes)
        place = np.full(taxonomy.n_nodes + 1, m, dtype=np.int64)  # the last for tops, whose first parent is -1
        place[nodes[order]] = np.arange(m)
        tree_parent = place[first[nodes[order]]]
        children = np.argsort(tree_parent, kind="stable").astype(np.int32)
        child_indptr = pointers(np.bincount(tree_parent, minlength=m + 1))
        lists = [sorted(place[above[indptr[v] : indptr[v + 1]]].tolist()) or [m] for v in nodes[order].tolist()]
        parents = np.array([p for row in lists for p in row], dtype=np.int32)
        parent_indptr = pointers(np.array([len(row) for row in lists]))
        return cls(order, child_indptr.astype(np.int64), children, parent_indptr.astype(np.int64), parents)


@dataclass
class Branching:
    """Scores of branching in the buckets no child, 1 .. R children, more: of single nodes, and shared by all."""

    node: FloatArray  # (n_nodes + 1) x (R + 2)
    shared: FloatArray  # R + 2

    @classmethod
    def zeros(cls, n_nodes: int, R: int) -> Branching:
        return cls(np.zeros((n_nodes + 1, R + 2)), np.zeros(R + 2))

    def plus(self, other: Branching, factor: float = 1.0) -> Branching:
        return Branching(self.node + factor * other.node, self.shared + factor * other.shared)


@dataclass(frozen=True)
class Shards:
    """What all shards of a pass share; columns of ``closed`` are nodes of the tree."""

    X: CSR
    weight: FloatArray
    closed: CSR
    tree: TreeOfNodes
    ends: BoolArray  # where a set may end; last: whether it may be empty
    one: bool  # whether sets are single paths
    branching_scale: float  # squared value of the features of branching; 0: they are not learned
    C: float
    W: CSR  # n_features x nodes of the tree, at the beginning
    branching: Branching = field(default_factory=lambda: Branching.zeros(0, 1))
    max_loss: bool = False

    @cached_property
    def scorer(self) -> Scorer:
        """The weights laid out for scoring; once for all shards of a process."""
        return Scorer(self.W, None, np.zeros(self.tree.n_nodes))

    def __getstate__(self) -> dict[str, object]:  # workers compute their own layout
        return {key: value for key, value in self.__dict__.items() if key != "scorer"}


@dataclass(frozen=True)
class ShardResult:
    """Coefficients of the visited documents, what branching has gained, its (visits before) x gain, and counts."""

    coefficients: CSR
    branching: Branching
    drift: Branching
    n_updates: int
    n_skipped: int


def visit_shard(shared: Shards, rows: IntArray) -> ShardResult:
    """Visit the documents ``rows`` in this order, from the weights at the beginning of the pass."""
    X, gold, tree = shared.X[rows], shared.closed[rows], shared.tree
    n_docs, m = len(rows), tree.n_nodes
    node, common = shared.branching.node.copy(), shared.branching.shared.copy()
    drift = Branching.zeros(m, node.shape[1] - 2)
    indptr, counts = np.zeros(n_docs + 1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    indices, data = np.zeros(0, dtype=np.int32), np.zeros(0)
    documents = (
        X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data, squared_norms(X),
        shared.weight[rows], gold.indptr.astype(np.int64), gold.indices.astype(np.int32, copy=False),
    )  # fmt: skip
    layout = (tree.child_indptr, tree.children, tree.parent_indptr, tree.parents, shared.ends.astype(np.uint8))
    how = (int(shared.one), shared.branching_scale, shared.C, SPARE if shared.max_loss else -1)
    scorer, work = shared.scorer, np.zeros(shared.X.shape[1])
    learn = dispatch.best("passive_aggressive").learn_sets
    used = 0
    for part in blocks(n_docs, rows_that_fit(8 * m)):
        base = scorer.scores(X[part])
        room = used + len(base) * m  # pages that are not written to take no memory
        indices, data = _longer(indices, used, room), _longer(data, used, room)
        places = (node, common, drift.node, drift.shared, indptr, indices, data, work, counts)
        used = learn(documents, base, part.start, layout, *how, places)
    A = sparse.csr_array((data[:used].copy(), indices[:used].copy(), indptr), shape=(n_docs, m))
    gained = Branching(node, common).plus(shared.branching, -1.0)
    return ShardResult(A, gained, drift, int(counts[0]), int(counts[1]))


def _longer(array: Array, used: int, room: int) -> Array:
    grown = np.empty(room, array.dtype)
    grown[:used] = array[:used]
    return grown


class GlobalTreeModel(OnlineLinear):
    """Label sets scored as a whole and learned as a whole, with weights for how sets branch (DP-GT, DP-GT-BF).

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        The largest step.
    branching : {"auto"} or bool, default="auto"
        Whether to learn weights of how many children of a node are chosen: "auto" on trees; True also on a DAG, where
        answers need an integer program (`ranked_sets` reports which are proved to be best).
    R : int, default=3
        The number of children that are counted one by one; beyond it is "more".
    branching_scale : float, default=0.03
        Value of the features of branching, for documents of length 1. They are in every set and so change with every
        step: if they are large, sets grow and shrink by thousands of nodes. 1 is the value of the paper, whose
        documents are counts of words. The first of several passes learns no branching: while the weights of nodes are
        0, any weight of branching decides alone.
    update : {"prediction", "max_loss"}, default="prediction"
        Steps away from the set that the model would answer, as in the paper, or from the set whose score and loss
        together are largest (slower, because the program also counts labels).
    max_iter : int, default=10
        Number of passes over the documents.
    max_time : float or str, default=None
        Time limit in seconds, or as "10m": no pass is started that would take, like the last one, more time than is
        left. The first one is always made.
    shards : int, default=10
        Parts of the documents that are learned from independently in every pass and then averaged. The model depends on
        it, not on the number of workers; steps become smaller with more of them.
    average : {"trajectory", "none"}, default="trajectory"
        The mean of the weights after all visits, or those of the last pass.
    fit_intercept : bool, default=True
        Whether to add a constant feature.
    n_jobs : int, default=None
        Number of threads; None is 1, -1 all cores.
    engine : {"serial", "threads", "ray"} or Engine, default=None
        Where shards are learned from; None follows ``n_jobs``.
    random_state : int or RandomState, default=None
        Seed of the shards and of the order of the documents.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    weights_ : ndarray or sparse array of shape (n_features, n_classes)
        Sparse if it is large and most are 0; ``intercept_`` of shape (n_classes,).
    branching_ : ndarray of shape (n_classes + 1, R + 2)
        Scores of branching: no child, 1 .. R children, more; the last row for the tops.
    n_updates_ : list of int
        Number of visits that changed the weights, in each pass.
    n_skipped_ : int
        Number of visits in all passes in which the best set found was worse than the right one (on DAGs only).

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import GlobalTreeModel, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 1.0]])
    >>> y = [["AA"], ["AB"], ["B"], ["AA", "B"]]
    >>> model = GlobalTreeModel(taxonomy=tax, shards=1, branching_scale=1.0, random_state=0).fit(X, y)
    >>> model.predict(X)
    [['AA'], ['AB'], ['B'], ['B', 'AA']]
    >>> model.n_best(X[3:], 2, closed=False)[0][0][0]
    ['B', 'AA']
    """

    learn = "closed"
    label_nodes_: IntArray
    branching_: FloatArray
    branching_nodes_: IntArray
    branching_shared_: FloatArray
    n_updates_: list[int]

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        branching: str | bool = "auto",
        R: int = 3,
        branching_scale: float = 0.03,
        update: str = "prediction",
        max_iter: int = 10,
        max_time: float | str | None = None,
        shards: int = 10,
        average: str = "trajectory",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.branching = branching
        self.R = R
        self.branching_scale = branching_scale
        self.update = update
        self.max_iter = max_iter
        self.max_time = max_time
        self.shards = shards
        self.average = average
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("R", self.R, least=1, whole=True)
        check_number("branching_scale", self.branching_scale, above=0)
        check_number("shards", self.shards, least=1, whole=True)
        Clock(self.max_time)
        check_choice("update", self.update, ("prediction", "max_loss"))
        if self.branching not in (True, False):
            check_choice("branching", self.branching, ("auto",))

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        from sklearn.utils import check_random_state

        clock = Clock(self.max_time)
        self._targets(problem, "closed")
        self._note(problem, np.unique(problem.frontier.indices))
        seed = int(check_random_state(self.random_state).randint(2**31))
        order = np.random.default_rng([seed, 0]).permutation(problem.n_docs)
        parts = np.array_split(order, min(int(self.shards), problem.n_docs))
        n_rows = problem.X.shape[1] + bool(self.fit_intercept)
        W, width = sparse.csr_array((n_rows, len(self.nodes_))), len(self.nodes_)
        passes = [
            [np.random.default_rng([seed, n + 1, s]).permutation(part) for s, part in enumerate(parts)]
            for n in range(int(self.max_iter))
        ]
        self.n_updates_, self.n_skipped_ = [], 0
        self._learn(problem, passes, W, Branching.zeros(width, int(self.R)), clock)
        self.n_iter_ = len(self.n_updates_)
        self.time_limit_reached_ = self.n_iter_ < len(passes)
        if self.time_limit_reached_:
            warn_user(
                f"stopped after {self.n_iter_} of {len(passes)} passes because max_time={self.max_time} was over.",
                ConvergenceWarning,
            )

    def _note(self, problem: Problem, ends: IntArray) -> None:
        """Keep what is known of the sets to learn from; ``ends`` are their most specific labels."""
        sizes = np.diff(problem.frontier.indptr)
        self.one_label_ = bool((sizes == 1).all())
        self.label_nodes_ = np.asarray(ends, dtype=np.int32)
        require_two_classes(problem, ends)

    @property
    def _ends_at_labels(self) -> bool:
        """Whether sets end where those of training did; otherwise anywhere, which is much easier on a DAG."""
        return self.branching is True or hierarchy(self.taxonomy_).is_forest

    @property
    def _one(self) -> bool:
        return self.one_label_ or self.codec_.single_label

    def _pass(self, problem: Problem, ends: IntArray) -> None:
        before = getattr(self, "label_nodes_", ends[:0])
        self.label_nodes_ = np.union1d(before, ends).astype(np.int32)
        self.n_updates_, self.n_skipped_ = getattr(self, "n_updates_", []), getattr(self, "n_skipped_", 0)
        self.n_iter_ = getattr(self, "n_iter_", 1)
        known = Branching.zeros(len(self.nodes_), int(self.R))
        if len(before):
            known.node[:], known.shared[:] = self._branching_of(self.nodes_), self.branching_shared_
        self._learn(problem, [[np.arange(problem.n_docs)]], self._start(), known, Clock(None))

    def _branching_of(self, nodes: IntArray) -> FloatArray:
        """What is known of the branching of nodes, and last of the tops; 0 for those that are new."""
        table = np.zeros((self.taxonomy_.n_nodes + 1, self.branching_.shape[1]))
        table[np.append(self.branching_nodes_, -1)] = self.branching_ - self.branching_shared_
        return table[np.append(nodes, -1)]

    def _learn(self, problem: Problem, passes: list[list[IntArray]], W: CSR, known: Branching, clock: Clock) -> None:
        """Passes over shards; W and ``known`` have the columns and nodes of the model."""
        X, tree = prepared(problem.X, constant=self.fit_intercept), TreeOfNodes.of(problem.taxonomy, self.nodes_)
        m, tree_order = len(self.nodes_), np.append(tree.order, len(self.nodes_))
        closed = sparse.csr_array(problem.closed[:, self.nodes_[tree.order]])
        closed.sort_indices()
        weight = document_weights(problem)
        at_labels = self._ends_at_labels
        ends = np.append(np.isin(self.nodes_[tree.order], self.label_nodes_) | (not at_labels), self.some_empty_)
        scale = float(self.branching_scale) ** 2 if at_labels and self.branching is not False else 0.0
        W, B = sparse.csr_array(W[:, tree.order]), Branching(known.node[tree_order].copy(), known.shared.copy())
        mean_A, A = sparse.csr_array((problem.n_docs, m)), sparse.csr_array((problem.n_docs, m))
        start, mean_B = W, Branching.zeros(m, B.node.shape[1] - 2)
        engine = get_engine(self.engine, self.n_jobs)
        with single_blas_thread(), progress("learning", len(passes), show=self.verbose > 0) as advance:
            for number, parts in enumerate(passes):
                left = clock.remaining
                now = scale if number or len(passes) == 1 else 0.0
                shared = Shards(
                    X, weight, closed, tree, ends, bool(self._one), now, float(self.C), W, B, self.update == "max_loss"
                )
                found = list(engine.map(visit_shard, parts, shared=shared))
                share = 1.0 / len(parts)
                gained, mean = _stacked([f.coefficients for f in found], parts, share)
                mean_A, A = mean_A + A + mean, A + gained
                mean_B = mean_B.plus(B)
                for f, part in zip(found, parts, strict=True):
                    mean_B = mean_B.plus(f.branching, share).plus(f.drift, -share / len(part))
                    B = B.plus(f.branching, share)
                W = W + sparse.csr_array(X.T @ gained)
                self.n_updates_ = [*self.n_updates_, sum(f.n_updates for f in found)]
                self.n_skipped_ += sum(f.n_skipped for f in found)
                advance(1)
                if clock.over or clock.remaining < left - clock.remaining:
                    break
        if self.average == "trajectory":
            W = start + sparse.csr_array(X.T @ (mean_A * (1.0 / (number + 1))))
            B = Branching.zeros(m, B.node.shape[1] - 2).plus(mean_B, 1.0 / (number + 1))
        W.data[np.abs(W.data) <= BELOW] = 0
        W.eliminate_zeros()
        back = np.argsort(tree_order)
        self.branching_shared_, self.branching_nodes_ = B.shared, self.nodes_.copy()
        self.branching_ = B.node[back] + B.shared
        self._give(sparse.csr_array(W[:, back[:-1]]), problem.X.dtype)

    # -- answering -----------------------------------------------------------------------------------------------------

    def _table(self) -> FloatArray:
        """Scores of branching over the taxonomy; minus infinity where a set may not end or continue."""
        taxonomy = self.taxonomy_
        table = np.zeros((taxonomy.n_nodes + 1, self.branching_.shape[1]))
        table[np.append(self.nodes_, -1)] = self._branching_of(self.nodes_) + self.branching_shared_
        indptr = hierarchy(taxonomy).child_indptr
        known = np.zeros(taxonomy.n_nodes, dtype=bool)
        known[self.nodes_] = True
        below = np.add.reduceat(np.append(known[hierarchy(taxonomy).child_indices], False), indptr[:-1])
        leaf = (np.diff(indptr) == 0) | (below == 0)
        table[:-1][leaf, 0] = 0
        can_end = np.zeros(taxonomy.n_nodes + 1, dtype=bool)
        can_end[self.label_nodes_] = True
        can_end[-1] = self.some_empty_ and not self._one
        table[~can_end, 0] = -np.inf
        return table

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return super()._decoder(given)
        if self._ends_at_labels:
            return BestTree(self._table(), one=self._one, at_least_one=not self.some_empty_)
        if self._one:
            return super()._decoder(None)
        return BestNonEmpty(at_least_one=not self.some_empty_)


def _stacked(rows: list[CSR], parts: list[IntArray], share: float) -> tuple[CSR, CSR]:
    """Coefficients of all documents, and their mean over the visits of their shard."""
    place = np.argsort(np.concatenate(parts))
    gained = sparse.csr_array(sparse.vstack(rows, format="csr")[place] * share)
    left = np.concatenate([1.0 - np.arange(len(part)) / len(part) for part in parts])[place]
    return gained, sparse.csr_array(sparse.diags_array(left) @ gained)
