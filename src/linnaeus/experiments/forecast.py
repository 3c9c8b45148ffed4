"""How long will a model take? Fits on a few documents, then on more, and the growth between them.

    seconds(n) = seconds(m) (n / m)^a,   a from the last two fits, between 0.8 and 2.2

Processor time is what is extrapolated, since it hardly depends on what else the machine does; the clock against it,
over all fits, says how busy the machine is. A run fits its model on three quarters of the documents for every value of
C that it tries, at least once, and then on all.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from linnaeus.engine import single_blas_thread
from linnaeus.experiments.applicability import parameters_of
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.trial import grid_of, make_model

__all__ = ["Forecast", "extrapolate", "forecast", "pilot"]

_STEPS = (64, 16, 4)  # parts of the documents that are fitted
_FEW = 50  # documents, at least
_TRIED = 4  # values of C, as far as experience goes
_ONCE = 1.0  # seconds for starting, measuring and saving


class Forecast(NamedTuple):
    """Seconds of a run: with the whole search, and with the least that makes a result."""

    likely: float
    least: float


def pilot(experiment: Experiment, name: str, seconds: float) -> tuple[list[tuple[int, float]], float]:
    """(documents, processor seconds) of fits of growing size while another one is likely to end in time; how busy."""
    part = experiment.parts[0]
    n_docs = part.Y.shape[0]
    order = np.random.default_rng(experiment.seed).permutation(n_docs)
    sizes = sorted({min(n_docs, max(_FEW, n_docs // step)) for step in _STEPS})
    limit = {"max_time": max(seconds, 1.0)} if "max_time" in parameters_of(name) else {}
    found: list[tuple[int, float]] = []
    began = time.perf_counter(), time.process_time()
    with single_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in (sizes[0], *sizes):  # the first one twice: what is loaded on first use is not counted
            rows = np.sort(order[:size])
            model: Any = make_model(name, experiment, **limit)
            start = time.process_time()
            model.fit(part.X[rows], part.Y[rows])
            found.append((size, time.process_time() - start))
            spent = time.perf_counter() - began[0]
            if size != sizes[0] and spent + extrapolate(found, size * 4) > seconds:
                break
    busy = (time.perf_counter() - began[0]) / max(time.process_time() - began[1], 1e-3)
    return found[1:], max(1.0, busy)


def extrapolate(found: list[tuple[int, float]], n_docs: int) -> float:
    """Seconds of one fit on so many documents.

    Examples
    --------
    >>> extrapolate([(100, 1.0), (200, 4.0)], 400)
    16.0
    """
    size, seconds = found[-1]
    power = 1.3
    if len(found) > 1 and found[-2][0] < size:
        before, less = found[-2]
        power = math.log(max(seconds, 5e-3) / max(less, 5e-3)) / math.log(size / before)
    return seconds * (n_docs / size) ** min(max(power, 0.8), 2.2)


def forecast(experiment: Experiment, name: str, found: list[tuple[int, float]], busy: float) -> Forecast:
    """Seconds of a whole run of all parts."""
    searched = bool(grid_of(name, experiment))
    fit = busy * len(experiment.parts) * extrapolate(found, experiment.n_train)
    least = busy * _ONCE + 1.75 * fit
    return Forecast(busy * _ONCE + (1 + 0.75 * _TRIED) * fit if searched else least, least)
