"""Dense vectors through an approximate RBF feature map, so that every linear model can bend.

    K(x, y) = exp(-gamma |x - y|^2) = phi(x) . phi(y) nearly,   phi by Nystroem's method on drawn training documents

Whether, and with which gamma, is decided by AU(PRC) of OneVsRestLogistic on documents held out of the training part.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus import registry
from linnaeus.engine.limits import Clock
from linnaeus.experiments.experiment import Experiment, Part
from linnaeus.experiments.trial import Trial, parameters_of

__all__ = ["best"]

JUDGE = "OneVsRestLogistic"
GAMMAS = (0.125, 0.25, 0.5, 1.0)  # times 1 / n_features
COMPONENTS = 600
DRAWN = 2_000  # training documents, at most, that decide
OFTEN = 10  # documents of a node that has a say


def best(experiment: Experiment) -> Experiment:
    """The experiment on its vectors as they are or through the best map."""
    few = _drawn(experiment)
    tried = {gamma: _quality(_mapped(few, gamma)) for gamma in (None, *GAMMAS)}
    chosen = max(tried, key=lambda gamma: tried[gamma])
    told = ", ".join(f"{'as they are' if g is None else f'gamma {g:g}/n'}: {value:.4f}" for g, value in tried.items())
    print(f"{experiment.name}, held-out AU(PRC) of {JUDGE}: {told}", file=sys.stderr, flush=True)
    return _mapped(experiment, chosen)


def _quality(experiment: Experiment) -> float:
    """The value on the inner held-out documents, at one C for all maps."""
    C = 3.0 / experiment.squared_length
    trial = Trial(replace(experiment, settings={JUDGE: {"C": C}}), JUDGE, Clock(600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.search()
    return max(attempt.value or 0.0 for attempt in trial.tried)


def _drawn(experiment: Experiment) -> Experiment:
    part = experiment.parts[0]
    rows = np.sort(np.random.default_rng(0).permutation(part.Y.shape[0])[:DRAWN])
    Y = experiment.taxonomy.close(part.Y[rows], keep_root=False)
    often = np.bincount(Y.indices, minlength=Y.shape[1]) >= OFTEN
    Y = sparse.csr_array(Y.multiply(often[None, :]))
    Y.eliminate_zeros()
    return replace(experiment, parts=(Part.of(part.X[rows], Y, part.X_test, part.Y_test),))


def _mapped(experiment: Experiment, gamma: float | None) -> Experiment:
    if gamma is None:
        return experiment
    from sklearn.kernel_approximation import Nystroem

    part = experiment.parts[0]
    n_features = part.X.shape[1]
    phi = Nystroem(gamma=gamma / n_features, n_components=min(COMPONENTS, part.Y.shape[0]), random_state=0).fit(part.X)
    X, X_test = (np.ascontiguousarray(phi.transform(A)) for A in (part.X, part.X_test))
    linear: dict[str, Any] = {name: {"kernel": "linear"} for name in registry.MODELS if "kernel" in parameters_of(name)}
    settings = {name: {**linear.get(name, {}), **experiment.settings.get(name, {})} for name in registry.MODELS}
    said = f"{experiment.features}; RBF map of {phi.n_components} documents, gamma {gamma:g} / {n_features}"
    return replace(
        experiment, parts=(Part(X, part.Y, X_test, part.Y_test, part.inner),), settings=settings, features=said
    )
