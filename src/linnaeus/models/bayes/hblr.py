"""HBLR: logistic regressions of all nodes with a prior that runs down the taxonomy, its strength learned from the data.

    w_root ~ N(0, I),    w_n ~ N(w_parent, 1 / prec),    prec ~ Gamma(a, b),    y | x ~ soft-max or logistic of w_n'x

M1, M2 and M3 differ in who owns a precision (see `precisions`). S. Gopal and Y. Yang, ACM TKDD 9(3), 2015.

    score variance  x' Psi_n x,      corrected score  w_n'x / sqrt(1 + pi/8 x' Psi_n x)

The second is MacKay's: the logistic function of it is nearly the expected logistic function of the uncertain score.

Modes by parts on a GPU: `stages.InTurn` with blocks of a thousand leaves, solved in dual variables.

A leaf is w = w_parent + X'a / prec. The dual variables a of all leaves stay on the device from round to round and are
the start of the next, whatever has become of parents and precisions. Rare leaves are solved to their modes, as on the
processor; others take a few Newton steps. Inner vertices are moved by the threads of the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem
from linnaeus.data.matrices import with_constant
from linnaeus.engine import Clock, GPUEngine, blocks, format_bytes, get_engine, single_blas_thread
from linnaeus.errors import DataError, EngineError, ParameterError, check_choice, check_number
from linnaeus.models.bayes.leaves import LeafModes
from linnaeus.models.bayes.modes import make_likelihood
from linnaeus.models.bayes.precisions import (
    MODELS,
    LearnedPrecision,
    Owners,
    Precisions,
    draw,
    gamma_priors,
    widths_at_probabilities,
    widths_at_shares,
)
from linnaeus.models.bayes.stages import InTurn, Posterior, Rounds, Stage, Together, fits, has_rare_labels, maximise
from linnaeus.models.bayes.variational import Variational, infer
from linnaeus.models.fitting import LongFit, require_two_classes, warn_not_converged
from linnaeus.models.label_tree import LabelTree, label_tree
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HBLR", "OnDevice"]

_BLOCK = 1024
_TOLERANCE, _STEPS = 1e-6, 3
_GAP, _MODE_STEPS = 0.2, 12  # rare leaves: gap for the square of the distance to the mode, and steps at most
_VECTORS = 11  # arrays of the shape of the scores that a block holds at a time


@dataclass
class OnDevice(InTurn):
    """`InTurn` whose engine is a `GPUEngine`."""

    duals: dict[int, Any] = field(default_factory=dict)
    documents: Any = None
    buffers: dict[int, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        assert isinstance(self.engine, GPUEngine)
        if self.engine.cluster is not None:
            raise ParameterError("GPUEngine(cluster=...) trains flat models; HBLR needs one GPU here.")
        n_docs, n_leaves = self.Y.shape
        nnz = self.X.nnz if hasattr(self.X, "nnz") else self.X.size
        width, free = min(n_leaves, self.engine.columns or _BLOCK), self.engine.free_memory()
        needed = 24 * nnz + 4 * n_docs * n_leaves + 4 * width * (_VECTORS * n_docs + 4 * self.X.shape[1])
        if needed > free:
            raise EngineError(
                f"HBLR needs {format_bytes(needed)} on {self.engine.device} for {n_docs:,} documents and {n_leaves:,} "
                f"labels, of which {format_bytes(free)} are free; about {int(n_leaves * free / needed):,} labels would "
                "fit. engine='threads' needs no device memory."
            )
        super().__post_init__()

    @property
    def host(self) -> Engine:
        return get_engine("threads", None)

    def _solved(self, leaves: IntArray, tol: float) -> Iterator[tuple[IntArray, LeafModes]]:
        assert isinstance(self.engine, GPUEngine)
        for part in blocks(self.tree.n_leaves, self.engine.columns or _BLOCK):
            some = leaves[np.searchsorted(leaves, part.start) : np.searchsorted(leaves, part.stop)]
            if len(some):
                yield some, self._block(part, some, tol)

    def _block(self, part: slice, some: IntArray, tol: float) -> LeafModes:
        """The leaves ``some`` of a block, whose dual variables are kept together."""
        import torch

        from linnaeus.models.gpu.columns import LabelColumns, LossPairs
        from linnaeus.models.gpu.documents import product
        from linnaeus.models.gpu.newton import Newton

        assert isinstance(self.engine, GPUEngine)
        device = self.engine.device
        X, X_squares, cost = self._documents()
        leaves = self.tree.leaves[some]
        Y = self.Y[:, some].tocoo()
        rows, columns = (torch.as_tensor(x.astype(np.int64), device=device) for x in (Y.row, Y.col))
        prior = torch.as_tensor(self.prior[some], device=device)
        centre = self._rows(self.tree.parent[leaves]).contiguous()
        system = LabelColumns(X, LossPairs("logistic", cost[:, None], rows, columns, cost[rows]), inverse=1 / prior)
        if part.start not in self.duals:
            self.duals[part.start] = torch.zeros((X.n_rows, part.stop - part.start), device=device)
        at = torch.as_tensor(some - part.start, device=device)
        # Weights X'A / prior stay where they were, or begin again where the precision is far from its last one.
        kept = (prior / torch.as_tensor(self.before[some], device=device)).nan_to_num(posinf=0.0).float()
        A = self.duals[part.start][:, at] * kept
        start = product(X, centre)
        newton = Newton(system, A, system.apply(A), start)
        few = 1 if self.weights.dtype == np.float32 and not self.joint else _STEPS
        limits = (_GAP * tol**2, _MODE_STEPS) if self.rare else (_TOLERANCE, few)
        newton.run(*limits, measure=False)
        self.duals[part.start][:, at] = newton.A
        S = newton.S + start
        W = centre + product(X.T, newton.A) / prior.float()
        slope, curvature = system.pairs.derivatives(S)[:2]
        distance = (product(X.T, newton.A + slope) / prior.float()).norm(dim=0)
        moved = torch.zeros(len(some), device=device, dtype=torch.float64)  # of rare leaves nobody asks for it
        if not self.rare:
            moved = (W - self._rows(leaves)).double().norm(dim=0)
        information = product(X_squares, curvature).T
        parts = (W.T, system.pairs.value(S), distance, (W - centre).norm(dim=0), moved, information)
        return LeafModes(*(self._received(number, tensor) for number, tensor in enumerate(parts)))

    def _received(self, number: int, tensor: Any) -> FloatArray:
        """A tensor in host memory that the next one of this number is written to: pinned memory is quickly filled."""
        import torch

        flat = tensor.contiguous().view(-1)
        if number not in self.buffers or len(self.buffers[number]) < len(flat):
            self.buffers[number] = torch.empty_like(flat, device="cpu", pin_memory=flat.is_cuda)
        kept = self.buffers[number][: len(flat)]
        kept.copy_(flat)
        return np.asarray(kept.numpy().reshape(tensor.shape))

    def _rows(self, vertices: IntArray) -> Any:
        """Weights of some vertices on the device, features x vertices."""
        import torch

        assert isinstance(self.engine, GPUEngine)
        return torch.as_tensor(self.weights[vertices].astype(np.float32, copy=False), device=self.engine.device).T

    def _documents(self) -> Any:
        """Documents, their squares and their weights on the device."""
        import torch
        from scipy import sparse

        from linnaeus.models.gpu.documents import on_device, squares

        assert isinstance(self.engine, GPUEngine)
        if self.documents is None:
            X = on_device(sparse.csr_array(self.X), self.engine.device)
            cost = torch.as_tensor(self.c.astype(np.float32), device=self.engine.device)
            self.documents = X, squares(X), cost
        return self.documents

    def arrays(self) -> dict[str, Array]:
        return super().arrays() | {f"dual {start}": A.cpu().numpy() for start, A in self.duals.items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        import torch

        assert isinstance(self.engine, GPUEngine)
        super().restore(arrays)
        for name, array in arrays.items():
            if name.startswith("dual "):
                self.duals[int(name[5:])] = torch.as_tensor(np.array(array), device=self.engine.device)


_TOGETHER, _THIN = 10**7, 10**6  # documents x labels, dense and sparse, from which leaves and inner vertices take turns


class HBLR(LongFit, LinearTaxonomyClassifier):
    """Hierarchical Bayesian logistic regression: how much a node differs from its parent is learned.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        A tree; None makes a flat one (or, for paths, a tree) from y.
    model : str, default="M3"
        "M3": every node has its own precision; "M1": siblings share one; "M2": siblings share one per feature.
    inference : str, default="map"
        "map": weights at their mode, with Laplace variances; "variational": a posterior of everything, whose lower
        bound on the evidence is in ``lower_bounds_``.
    likelihood : str, default="auto"
        "softmax" (exactly one label per document), "binary" (any number), or "auto": the first where it fits.
    prior : str or tuple[float, float], default="frequencies"
        Where the precisions begin: "frequencies" (Fisher information at the labels' shares), "logistic" (at the
        probabilities of a one-vs-rest logistic model), or numbers (a, b) for every Gamma prior.
    prior_scale : float, default=1.0
        Multiplies the variances that the prior expects.
    learn_precisions : bool, default=True
        False keeps the precisions at their prior means.
    flat : bool, default=False
        Hang all labels on the root, whatever the taxonomy says.
    parents : str, default="only"
        What to do with nodes with several parents: refuse them ("only"), or take the first by name ("first").
    learn : str, default="frontier"
        Labels as "given", "closed", or "frontier" (the most specific).
    fit_intercept : bool, default=True
        Add a constant feature, with a prior like all others.
    covariance : str, default="auto"
        Of the posterior: "full" (of a label's weights), "diagonal", "tree" (features are independent, nodes are not),
        or "auto": full up to 300 features, where all leaves are found together; by blocks of leaves "tree" if labels
        have 32 documents or fewer on average. Otherwise diagonal, which takes correlated features for better known
        than they are.
    schedule : str, default="auto"
        Of "map": "together" finds all weights in one problem; "leaves" moves blocks of leaves on threads or a cluster,
        then the inner nodes (binary likelihood, M1 and M3); "auto": together up to ten million documents x labels, one
        million where documents are sparse.
    posterior : bool, default=True
        False keeps no standard deviations, which take as much memory as the weights.
    tol : float, default=0.001
        Largest relative change of precisions and weights at which training is finished. With rare labels by blocks of
        leaves: largest change of the precisions, as a weighted root mean square of their logarithms, and largest
        relative gap of the objective to its minimum for these precisions.
    max_iter : int, default=100
        Maximum number of rounds.
    max_time : float or str, default=None
        Maximum number of seconds, or a time such as "10m".
    checkpoint : path-like, default=None
        A folder for the state after every few rounds; the same fit with the same folder continues from there, also
        after ``max_time``, and finds what an uninterrupted fit finds.
    n_jobs : int, default=None
        Number of threads for blocks of leaves; None is 1, -1 all cores.
    engine : str or Engine, default=None
        "serial", "threads", "ray", "gpu" or an engine; default: by ``n_jobs``.
    verbose : int, default=0
        Show a progress bar if above 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        Posterior means; ``std_`` are the standard deviations.
    intercept_ : ndarray of shape (n_classes,)
        Posterior means of the constants; ``intercept_std_`` are the standard deviations.
    objective_ : float
        Minus the logarithm of the posterior at the mode, for fixed precisions ("map"), or minus the lower bound.
    objectives_ : list of float
        The objective after every round. It may rise while precisions are learned ("map").
    n_iter_ : int
        Number of rounds.

    Notes
    -----
    There is no ``random_state``: nothing is drawn, the same documents give the same model.

    Where there are many more features than the documents of a label determine, ``covariance="diagonal"`` learns
    precisions that fall by orders of magnitude from level to level, since it takes nodes for independent; "tree" does
    not. ``change_`` has the two numbers of ``tol``, round by round; a fit that ends above it warns.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import HBLR, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = HBLR(taxonomy=tax).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> [row.node for row in model.precisions()]
    ['A', 'B', 'AA', 'AB']
    """

    std_: FloatArray | None
    intercept_std_: FloatArray | None
    covariance_: FloatArray | None  # n_leaves x n_features x n_features, the constant last; where it is full
    tree_: LabelTree
    link_precisions_: FloatArray
    likelihood_: str
    lower_bounds_: FloatArray

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        model: str = "M3",
        inference: str = "map",
        likelihood: str = "auto",
        prior: str | tuple[float, float] = "frequencies",
        prior_scale: float = 1.0,
        learn_precisions: bool = True,
        flat: bool = False,
        parents: str = "only",
        learn: str = "frontier",
        fit_intercept: bool = True,
        covariance: str = "auto",
        schedule: str = "auto",
        posterior: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
        max_time: float | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.model = model
        self.inference = inference
        self.likelihood = likelihood
        self.prior = prior
        self.prior_scale = prior_scale
        self.learn_precisions = learn_precisions
        self.flat = flat
        self.parents = parents
        self.learn = learn
        self.fit_intercept = fit_intercept
        self.covariance = covariance
        self.schedule = schedule
        self.posterior = posterior
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.engine = engine
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("model", self.model, MODELS)
        check_choice("inference", self.inference, ("map", "variational"))
        check_choice("likelihood", self.likelihood, ("auto", "softmax", "binary"))
        check_choice("parents", self.parents, ("only", "first"))
        check_choice("learn", self.learn, ("given", "closed", "frontier"))
        check_choice("schedule", self.schedule, ("auto", "together", "leaves"))
        check_choice("covariance", self.covariance, ("auto", "full", "diagonal", "tree"))
        check_number("prior_scale", self.prior_scale, above=0)
        check_number("tol", self.tol, above=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        self._check_limits()
        if isinstance(self.prior, str):
            check_choice("prior", self.prior, ("frequencies", "logistic"))
        elif not (isinstance(self.prior, (tuple, list)) and len(self.prior) == 2):
            raise ParameterError(f"prior={self.prior!r}; expected 'frequencies', 'logistic' or two numbers (a, b).")
        else:
            for name, value in zip("ab", self.prior, strict=True):
                check_number(f"{name} of prior", value, above=0)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        clock = Clock(self.max_time)
        Y = self._targets(problem, self.learn)[:, self.nodes_]
        self.likelihood_ = self._likelihood_for(problem, Y)
        self.tree_ = label_tree(problem.taxonomy, self.nodes_, flat=self.flat, parents=self.parents)
        X = with_constant(problem.X, float(self.fit_intercept), np.float64)
        c = np.ones(problem.n_docs) if problem.weights is None else np.asarray(problem.weights, np.float64)
        with single_blas_thread(), self._checkpointed(problem) as checkpoint:
            precisions, rounds = self._start(X, Y, c, problem), Rounds(checkpoint)
            with progress("training", self.max_iter, show=self.verbose > 0) as advance:
                posterior = rounds.finished(precisions) or self._infer(
                    X, Y, c, precisions, clock, lambda change: advance(1), rounds
                )
            self.lower_bounds_ = -posterior.objectives if self.inference == "variational" else np.empty(0)
        self._take(posterior, problem.X)

    def _likelihood_for(self, problem: Problem, Y: CSR) -> str:
        require_two_classes(problem, self.nodes_)
        sizes = np.diff(Y.indptr)
        if self.likelihood == "softmax" and (sizes != 1).any():
            document = int(np.flatnonzero(sizes != 1)[0])
            raise DataError(
                f"likelihood='softmax' needs exactly one label per document, but document {document} has "
                f"{sizes[document]}; likelihood='binary' takes any number."
            )
        if self.likelihood != "auto":
            return self.likelihood
        return "softmax" if self.one_label_ else "binary"

    def _start(self, X: Matrix, Y: CSR, c: FloatArray, problem: Problem) -> Precisions:
        """Every precision at its prior."""
        owners = Owners(self.model, self.tree_, X.shape[1])
        if isinstance(self.prior, str):
            widths = self._widths(X, Y, c, problem, owners.per_feature)
            return Precisions.start(owners, *gamma_priors(widths, owners, scale=float(self.prior_scale)))
        shape = (len(owners.vertices), X.shape[1] if owners.per_feature else 1)
        a, b = self.prior
        return Precisions.start(owners, np.full(shape, float(a)), np.full(shape, float(b * self.prior_scale)))

    def _widths(self, X: Matrix, Y: CSR, c: FloatArray, problem: Problem, per_feature: bool) -> FloatArray:
        if self.prior == "frequencies":
            return widths_at_shares(X, Y, c, per_feature=per_feature)
        from linnaeus.models.flat.one_vs_rest import OneVsRestLogistic

        settings: dict[str, Any] = {"learn": self.learn, "fit_intercept": self.fit_intercept, "n_jobs": self.n_jobs}
        flat = OneVsRestLogistic(problem.taxonomy, engine=self.engine, random_state=0, **settings)
        flat.fit(problem.X, problem.Y, problem.weights)
        order = np.searchsorted(flat.nodes_, self.nodes_)
        from scipy.special import expit

        P = expit(flat._all_scores(problem.X))[:, order]
        return widths_at_probabilities(X, P, c, per_feature=per_feature)

    def _infer(
        self,
        X: Matrix,
        Y: CSR,
        c: FloatArray,
        precisions: Precisions,
        clock: Clock,
        after: Callable[[float], None],
        rounds: Rounds,
    ) -> Posterior:
        how: dict[str, Any] = {"learn": self.learn_precisions, "tol": self.tol, "max_iter": self.max_iter}
        how |= {"clock": clock, "after": after, "rounds": rounds}
        full = self.covariance == "full" or (self.covariance == "auto" and fits(self.tree_, X.shape[1]))
        on_device = self.model == "M3" and self.inference == "map" and self.likelihood_ == "binary"
        engine = get_engine(self.engine, self.n_jobs, gpu=on_device)
        if self.inference == "map":
            stage = self._stage(X, Y, c, engine, full)
            if self.learn_precisions and isinstance(stage, InTurn):
                precisions = stage.start(precisions)
            return maximise(stage, precisions, **how)
        dense = np.asarray(Y.toarray(), np.float64)
        state = Variational(X, dense, c, self.tree_, precisions, self.likelihood_ == "softmax", full, engine)
        return infer(state, **how)[0]

    def _stage(self, X: Matrix, Y: CSR, c: FloatArray, engine: Engine, full: bool) -> Stage:
        large = Y.shape[0] * Y.shape[1] > (_TOGETHER if isinstance(X, np.ndarray) else _THIN)
        schedule = self.schedule if self.schedule != "auto" else "leaves" if large else "together"
        joint = self.covariance == "tree" or (self.covariance == "auto" and has_rare_labels(Y))
        kept: dict[str, Any] = {"keep": self.posterior, "constant": self.fit_intercept}
        if isinstance(engine, GPUEngine):
            if self.covariance == "full" or self.schedule == "together":
                raise ParameterError(
                    "engine='gpu' moves blocks of leaves, which is not schedule='together', and finds no "
                    "full covariances."
                )
            return OnDevice(X, Y.tocsc(), c, self.tree_, engine, joint=joint, **kept)
        if self.model == "M2" or self.likelihood_ == "softmax" or schedule == "together":
            likelihood = make_likelihood(self.likelihood_, Y, c)
            return Together(X, likelihood, self.tree_, engine if full else None, joint=self.covariance == "tree")
        if self.covariance == "full":
            raise ParameterError("covariance='full' needs schedule='together'; blocks of leaves have diagonals only.")
        return InTurn(X, Y.tocsc(), c, self.tree_, engine, joint=joint, **kept)

    def _take(self, posterior: Posterior, X: Matrix) -> None:
        leaves, dtype, d = self.tree_.leaves, X.dtype, X.shape[1]
        self.weights_, self.intercept_ = _parts(posterior.mean[leaves].T, d, dtype)
        self.std_ = self.intercept_std_ = self.covariance_ = None
        if self.posterior and posterior.variance is not None:
            self.covariance_ = posterior.covariance
            self.std_, self.intercept_std_ = _parts(np.sqrt(posterior.variance).T, d, dtype)
        self.link_precisions_ = posterior.precisions.at_vertices()
        self.objective_, self.n_iter_ = posterior.objective, posterior.n_iter
        self.change_, self.objectives_ = posterior.history, posterior.objectives
        late = self.max_time is not None and posterior.n_iter < self.max_iter
        self.time_limit_reached_ = not posterior.converged and late
        if not posterior.converged:
            moved = float(posterior.history[-1].max()) if len(posterior.history) else np.inf
            warn_not_converged(
                f"stopped after {self.n_iter_} rounds with a change of precisions, or a change or gap of weights, of "
                f"{moved:.2g}, more than tol={self.tol:g}",
                advice="increase max_iter, max_time or tol",
            )

    # -- what is known ------------------------------------------------------------------------------------------------

    def predict_proba(self, X: object, *, corrected: bool = False) -> FloatArray:
        """Probability of every label, n_docs x len(classes_).

        Rows sum to 1 under the soft-max, and for binary likelihoods where every document has one label.
        ``corrected`` takes the posterior's variance into account: scores are divided by sqrt(1 + pi/8 x'Psi x), so
        that what is little known is nearer to even odds. After `linnaeus.calibrate` the probabilities are those of
        its curves, which were fitted to scores as they are; ``corrected`` still asks the model itself.
        """
        from scipy.special import expit, softmax

        check_is_fitted(self, "nodes_")
        if not corrected and (self.calibrator_ is not None or self.likelihood_ == "binary"):
            return self._logistic_probabilities(X)
        S = self._all_scores(X)
        if corrected:
            S = S / np.sqrt(1 + np.pi / 8 * self.score_variances(X))
        if self.likelihood_ == "softmax":
            return softmax(S, axis=1)
        P = expit(S)
        return P / P.sum(axis=1, keepdims=True) if self.one_label_ else P

    def score_variances(self, X: object) -> FloatArray:
        """Posterior variance of every score, n_docs x len(classes_)."""
        check_is_fitted(self, "nodes_")
        X = self._check_X(X, reset=False)
        if self.covariance_ is not None:
            X = with_constant(X, float(self.fit_intercept), np.float64)
            X = X if isinstance(X, np.ndarray) else X.toarray()
            return np.stack([np.einsum("ij,ij->i", X @ psi, X) for psi in self.covariance_], axis=1)
        if self.std_ is None or self.intercept_std_ is None:
            raise ParameterError("The model was fitted with posterior=False and has kept no standard deviations.")
        squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr()
        return np.asarray(squares @ self.std_**2) + self.intercept_std_**2

    def node_weights(self, node: str | int) -> tuple[FloatArray, float]:
        """Posterior mean and intercept of any node at or above a label; other nodes have those of the node above."""
        check_is_fitted(self, "nodes_")
        number = self.taxonomy_.index(node)
        above = [number, *self.taxonomy_.path(number)[::-1].tolist(), -1]
        vertex = next((i for v in above for i in np.flatnonzero(self.tree_.node == v)[:1]), 0)
        W = np.zeros((self.tree_.n_vertices, self.n_features_in_ + self.fit_intercept))
        W[self.tree_.leaves, : self.n_features_in_] = self.weights_.T
        if self.fit_intercept:
            W[self.tree_.leaves, -1] = self.intercept_
        found = self.tree_.between(W, self.link_precisions_)[vertex]
        return found[: self.n_features_in_], float(found[-1]) if self.fit_intercept else 0.0

    def precisions(self) -> list[LearnedPrecision]:
        """How strongly each node is held to its parent (M2: the geometric mean over features), parents first.

        A node with a low precision goes its own way; families whose nodes are all low gain little from the hierarchy.
        """
        check_is_fitted(self, "nodes_")
        tree, names = self.tree_, self.taxonomy_.names
        called = ["" if v < 0 else str(names[v]) for v in tree.node]
        means = np.exp(np.log(self.link_precisions_).mean(axis=1))
        return [
            LearnedPrecision(called[v], called[tree.parent[v]], float(means[v]), int(tree.n_children[v]))
            for v in range(1, tree.n_vertices)
        ]

    def plot_precisions(self, target: str | Path | IO[bytes] | Axes) -> None:
        """Draw the precisions family by family to a file, or to matplotlib axes; needs ``linnaeus[plots]``."""
        draw(self.precisions(), target)


def _parts(A: FloatArray, d: int, dtype: npt.DTypeLike) -> tuple[FloatArray, FloatArray]:
    """Rows of the features, and that of the constant (zeros where there is none)."""
    constant = A[d].astype(dtype) if len(A) > d else np.zeros(A.shape[1], dtype)
    return np.ascontiguousarray(A[:d], dtype), constant
