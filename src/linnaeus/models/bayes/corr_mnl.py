"""corrMNL: soft-max regression whose coefficients are sums along the paths of the taxonomy, sampled by MCMC.

    beta_n = sum of phi_a over the branches to label n,      phi ~ N(0, sigma^2 tau^2),      p(n | x) ~ e^{beta_n'x}

B. Shahbaba and R. M. Neal, Bayesian Analysis 2(1), 2007. Labels that share branches have correlated coefficients.
Probabilities are averaged over samples of the posterior. See `path_sum` for the sampler. Chains are compared by

    R-hat   chains cut in halves; sqrt of (pooled variance / variance within), 1 where all agree
    ESS     draws / (1 + 2 sum of autocorrelations), summed in pairs while these are positive (Geyer)

A. Gelman et al., "Bayesian Data Analysis", 3rd edition, section 11.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from linnaeus.data.check import Problem
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.engine.limits import Clock
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.bayes.path_sum import Chain, PathSum, Sampling, sample_chain
from linnaeus.models.label_tree import label_tree
from linnaeus.models.solvers.rows import with_constant
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Engine, FloatArray, Matrix

__all__ = ["CorrMNL"]

_R_HAT = 1.05
_LIGHT = 10**5  # documents x labels from which products are in single precision


class CorrMNL(TaxonomyClassifier):
    """Multinomial logit with correlated coefficients (corrMNL), sampled; exactly one label per document.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        A tree; None makes a flat one (or, for paths, a tree) from y.
    n_iter : int, default=300
        Iterations of a chain. The paper ran 2,500.
    burn_in : int, default=100
        How many of them to discard. The paper discarded 1,000.
    n_chains : int, default=1
        Chains from different starts, for R-hat; they run on ``n_jobs`` threads, or a cluster (``engine``).
    n_leapfrog : int, default=10
        Steps of a Hamiltonian move.
    n_samples : int, default=100
        Samples of each chain to keep for predictions.
    tau_prior : tuple of float, default=(1.0, 0.1)
        Shape and rate of the Gamma prior of 1/tau^2 (branches).
    sigma_prior : tuple of float, default=(1.0, 1.0)
        Shape and rate of the Gamma prior of 1/sigma^2 (features).
    fit_intercept : bool, default=True
        Add a constant feature, with a scale of its own.
    parents : str, default="only"
        What to do with nodes with several parents: refuse them ("only"), or take the first by name ("first").
    max_time : float or str, default=None
        Seconds (or "10m") at most, of which the burn-in has its share; the same seed then gives the same draws only as
        far as they go.
    n_jobs : int, default=None
        Number of threads for chains; None is 1, -1 all cores. The draws do not depend on it.
    engine : str or Engine, default=None
        "serial", "threads", "ray" or an engine; default: by ``n_jobs``.
    random_state : int or RandomState, default=None
        Seed of the chains.
    verbose : int, default=0
        Show a progress bar if above 0.

    Attributes
    ----------
    samples_ : ndarray of shape (n_samples, n_classes, n_features)
        The coefficients that were kept; with ``fit_intercept`` the constant is the last feature.
    weights_ : ndarray of shape (n_features, n_classes)
        Posterior means of the coefficients.
    intercept_ : ndarray of shape (n_classes,)
        Posterior means of the constants.
    r_hat_, effective_sample_size_ : ndarray
        Convergence diagnostics of the scales, the log-likelihood and about fifty coefficients.
    acceptance_ : ndarray of shape (n_chains,)
        Share of accepted moves of each chain.
    n_iter_ : int
        Number of iterations of a chain; of the shortest one, if ``max_time`` ended them.
    objective_ : float
        Minus the log-likelihood of the training documents, averaged over the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import CorrMNL, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> model = CorrMNL(taxonomy=tax, random_state=0).fit(X, ["AA"] * 5 + ["AB"] * 5 + ["B"] * 5)
    >>> model.predict(np.eye(3)).tolist()
    ['AA', 'AB', 'B']
    """

    samples_: FloatArray
    weights_: FloatArray
    intercept_: FloatArray

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        n_iter: int = 300,
        burn_in: int = 100,
        n_chains: int = 1,
        n_leapfrog: int = 10,
        n_samples: int = 100,
        tau_prior: tuple[float, float] = (1.0, 0.1),
        sigma_prior: tuple[float, float] = (1.0, 1.0),
        fit_intercept: bool = True,
        parents: str = "only",
        max_time: float | str | None = None,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.n_chains = n_chains
        self.n_leapfrog = n_leapfrog
        self.n_samples = n_samples
        self.tau_prior = tau_prior
        self.sigma_prior = sigma_prior
        self.fit_intercept = fit_intercept
        self.parents = parents
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_iter", "n_chains", "n_leapfrog", "n_samples"):
            check_number(name, getattr(self, name), least=1, whole=True)
        check_number("burn_in", self.burn_in, least=0, whole=True)
        if self.burn_in >= self.n_iter:
            raise ParameterError(f"burn_in={self.burn_in}; expected less than n_iter={self.n_iter}.")
        check_choice("parents", self.parents, ("only", "first"))
        Clock(self.max_time)
        for name in ("tau_prior", "sigma_prior"):
            given = getattr(self, name)
            if not (isinstance(given, (tuple, list)) and len(given) == 2):
                raise ParameterError(f"{name}={given!r}; expected two numbers, shape and rate.")
            for value in given:
                check_number(f"{name}", value, above=0)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        Y = self._targets(problem, "frontier")[:, self.nodes_]
        sizes = np.diff(Y.indptr)
        if (sizes != 1).any():
            document = int(np.flatnonzero(sizes != 1)[0])
            raise DataError(
                f"CorrMNL learns exactly one label per document, but document {document} has {sizes[document]}; "
                "HBLR and RRLogistic learn label sets."
            )
        if len(self.nodes_) < 2:
            only = problem.taxonomy.names[self.nodes_[0]]
            raise DataError(f"y has only one class, {only!r}; a classifier needs two.")
        tree = label_tree(problem.taxonomy, self.nodes_, parents=self.parents)
        names = np.array([str(problem.taxonomy.names[v]) if v >= 0 else "" for v in tree.node])
        tree = tree.ordered_by(names)  # the same draws for the same names, however nodes are numbered
        c = np.ones(problem.n_docs) if problem.weights is None else np.asarray(problem.weights, np.float64)
        priors = [(float(a), float(b)) for a, b in (self.tau_prior, self.sigma_prior)]
        dtype = np.float32 if problem.n_docs * len(self.nodes_) > _LIGHT else np.float64
        posterior = PathSum(with_constant(problem.X, float(self.fit_intercept), dtype), Y.indices, c, tree, *priors)
        engine = get_engine(self.engine, self.n_jobs)
        together = min(getattr(engine, "n_workers", None) or self.n_chains, self.n_chains)
        seconds = Clock(self.max_time).limit * together / self.n_chains
        how = Sampling(self.n_iter, self.burn_in, self.n_leapfrog, self.n_samples, seconds, self.verbose > 0)
        seeds = check_random_state(self.random_state).randint(2**31, size=self.n_chains)
        with single_blas_thread():
            chains = list(engine.map(sample_chain, [(how, int(seed)) for seed in seeds], shared=posterior))
        self._take(chains, problem.X)

    def _take(self, chains: list[Chain], X: Matrix) -> None:
        self.samples_ = np.concatenate([chain.beta for chain in chains])
        least = min(len(chain.watched) for chain in chains)  # the same for all unless time was short
        draws = np.stack([chain.watched[:least] for chain in chains])
        self.acceptance_ = np.array([chain.acceptance for chain in chains])
        enough = draws.shape[1] >= 4
        self.r_hat_ = split_r_hat(draws) if enough else np.full(draws.shape[2], np.nan)
        self.effective_sample_size_ = effective_sample_size(draws) if enough else np.ones(draws.shape[2])
        mean, d = self.samples_.mean(axis=0).T, X.shape[1]
        self.weights_ = np.ascontiguousarray(mean[:d])
        self.intercept_ = mean[d].copy() if self.fit_intercept else np.zeros(len(self.nodes_), np.float32)
        self.n_iter_ = min(chain.n_iter for chain in chains)
        self.objective_ = float(np.mean([chain.loss for chain in chains]))
        if len(chains) > 1 and float(np.nanmax(self.r_hat_)) > _R_HAT:
            warnings.warn(
                f"the chains disagree: R-hat is up to {float(np.nanmax(self.r_hat_)):.2f}, more than {_R_HAT}; raise "
                "n_iter or n_leapfrog.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- answering -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Matrix) -> FloatArray:
        """Logarithms of the probabilities."""
        return np.log(np.maximum(self._probabilities(X), np.finfo(np.float64).tiny))

    def _probabilities(self, X: Matrix) -> FloatArray:
        """Soft-max, averaged over the samples."""
        X, d = X.astype(np.float64), X.shape[1]
        P = np.zeros((X.shape[0], len(self.nodes_)))
        for sample in self.samples_:
            S = np.asarray(X @ sample[:, :d].T.astype(np.float64))
            if self.fit_intercept:
                S = S + sample[:, d]
            S = np.exp(S - S.max(axis=1, keepdims=True))
            P += S / S.sum(axis=1, keepdims=True)
        return P / len(self.samples_)

    def predict_proba(self, X: object) -> FloatArray:
        """Probability of every label, averaged over the posterior, n_docs x len(classes_); rows sum to 1."""
        if self.calibrator_ is not None:
            return self._calibrated(X)
        P = np.exp(self._all_scores(X))
        return P / P.sum(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.non_deterministic = False
        return tags


def split_r_hat(draws: FloatArray) -> FloatArray:
    """R-hat of every quantity; ``draws`` is n_chains x n_draws x n_quantities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(4, 500, 1))
    >>> bool(split_r_hat(draws)[0] < 1.02), bool(split_r_hat(draws + np.arange(4)[:, None, None])[0] > 1.3)
    (True, True)
    """
    halves = _halves(draws)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = n * halves.mean(axis=1).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between / n
    return np.sqrt(pooled / np.maximum(within, np.finfo(float).tiny))


def effective_sample_size(draws: FloatArray) -> FloatArray:
    """How many independent draws all chains together are worth, for every quantity.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(1500 < effective_sample_size(rng.normal(size=(4, 500, 1)))[0] < 2600)
    True
    """
    halves = _halves(draws)
    m, n, _ = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n] / n
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + halves.mean(axis=1).var(axis=0, ddof=1)
    rho = 1 - (within - covariance.mean(axis=0)) / np.maximum(pooled, np.finfo(float).tiny)
    pairs = rho[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.minimum.accumulate(pairs > 0, axis=0), pairs, 0), axis=0)
    return m * n / np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(m * n))


def _halves(draws: FloatArray) -> FloatArray:
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, -n:]]).astype(np.float64)
