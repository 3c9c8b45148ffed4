"""Which models fit a problem, why the others do not, and how long a run will take.

Reasons finish the sentence "does not apply because ...". Most follow from what models declare: whether they learn label
sets (their tags), whether they have a parameter for nodes with several parents, whether they can keep weights on disk.
What a model itself refuses when it is tried on a few documents is a reason as well.

Time is extrapolated from fits on a few documents, then on more:

    seconds(n) = seconds(m) (n / m)^a,   a from the last two fits, between 0.8 and 2.2

in processor time, which hardly depends on other load; wall-clock time divided by it, over all fits, says how busy the
machine is. A run is a search of `linnaeus.auto` with one model: it fits the model on three quarters of the documents at
least once, several times with time for it, and then on all. Scores and cuts of the held-out documents take about as
long as a fit again.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from linnaeus import registry
from linnaeus.auto.candidates import FAMILIES, FLAT_ENDS, PULLS, Candidate, make_model, parameters_of
from linnaeus.auto.evaluate import squared_length
from linnaeus.auto.search import LEAST_BUDGET
from linnaeus.engine import format_bytes, single_blas_thread
from linnaeus.experiments.children import memory_of_each
from linnaeus.experiments.experiment import Experiment

__all__ = [
    "Corrections",
    "RunForecast",
    "after_flat",
    "extrapolate",
    "family_of",
    "firsts",
    "flat_models",
    "forecast",
    "in_turn",
    "pilot",
    "shares",
    "why_not",
]

_STEPS = (64, 16, 4)  # parts of the documents that are fitted
_FEW = 50  # documents, at least
_TRIED = 6  # fits of a search, as far as experience goes: values of C, features, and what is learned
_FIXED = 2  # of a model without C
_MEASURING = 2.0  # times a fit that one of these takes, with scores and cuts of the held-out documents
_ONCE = 2.0  # seconds for starting, measuring and saving
_COSTLY = 2.0  # times an equal part of the time: models that need more come last
_COPIES = 2  # of the weights, while a model learns: what is learned, and what is averaged or changed


def flat_models() -> list[str]:
    """Names of the models that do not use the hierarchy.

    Examples
    --------
    >>> "OneVsRestSVM" in flat_models(), "RRSVM" in flat_models()
    (True, False)
    """
    return [name for name, entry in registry.MODELS.items() if ".models.flat." in entry.home]


# Models that a search of all models does not try, by family.
_FURTHER = {
    "DivideAndConquerSVM": "local",
    "HierarchicalRLS": "local",
    "HBLR": "joint",
    "CorrMNL": "joint",
    "HierarchicalSVM": "structured",
    "HM3": "structured",
    "OrthogonalTransfer": "structured",
    "HierarchicalPerceptron": "online",
}


def family_of(name: str) -> str:
    """The family of a model: flat, local, joint, structured or online.

    Examples
    --------
    >>> family_of("RRSVM"), family_of("HM3")
    ('joint', 'structured')
    """
    return next((family for family, names in FAMILIES.items() if name in names), _FURTHER.get(name, "structured"))


def in_turn(seconds: Mapping[str, float], longest: float = math.inf) -> list[str]:
    """Models in the order of their runs: one of every family, then all others, the quick ones first.

    Parameters
    ----------
    seconds : mapping of str to float
        Forecast of each model.
    longest : float, default=inf
        Seconds that the first of a family may take.

    Returns
    -------
    list of str
        The first of a family is the first of `FAMILIES` that is there and takes no longer, or else the quickest. Joint
        models come after those of their flat ends.

    Examples
    --------
    >>> in_turn({"OneVsRestLogistic": 1.0, "OneVsRestSVM": 2.0, "RRSVM": 9.0, "EdgePA": 3.0})
    ['OneVsRestSVM', 'EdgePA', 'RRSVM', 'OneVsRestLogistic']
    """
    order = sorted(seconds, key=lambda name: seconds[name])
    first = firsts(seconds, longest)
    return after_flat(sorted(order, key=lambda name: name not in first))


def after_flat(order: Sequence[str]) -> list[str]:
    """The same order, with a joint model directly after the model of its flat end, where it came before it.

    Examples
    --------
    >>> after_flat(["RRSVM", "NodeSVM", "OneVsRestSVM", "EdgePA"])
    ['NodeSVM', 'OneVsRestSVM', 'RRSVM', 'EdgePA']
    """
    found = list(order)
    for joint, flat in FLAT_ENDS.items():
        if joint in found and flat in found and found.index(joint) < found.index(flat):
            found.remove(joint)
            found.insert(found.index(flat) + 1, joint)
    return found


def firsts(seconds: Mapping[str, float], longest: float = math.inf) -> set[str]:
    """The models of `in_turn` that stand for their family."""
    first: dict[str, str] = {}
    preferred = [name for names in FAMILIES.values() for name in names if name in seconds and seconds[name] <= longest]
    for name in [*preferred, *sorted(seconds, key=lambda name: seconds[name])]:
        first.setdefault(family_of(name), name)
    return set(first.values())


def why_not(name: str, experiment: Experiment, *, jobs: int = 1) -> str | None:
    """Why a model does not apply to a problem, or None if it may.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.experiments.experiment import Part
    >>> X, Y = np.eye(8, dtype=np.float32), Taxonomy.flat(["a", "b"]).indicator([["a"], ["a", "b"]] * 4)
    >>> sets = Experiment("toy", Taxonomy.flat(["a", "b"]), (Part.of(X, Y, X[:2], Y[:2]),), "given split")
    >>> why_not("MulticlassSVM", sets)
    'it learns exactly one label per document, and 4 of 8 documents have another number'
    >>> why_not("RRSVM", sets) is None
    True
    """
    return _label_sets(name, experiment) or _parents(name, experiment) or _memory(name, experiment, jobs)


def _label_sets(name: str, experiment: Experiment) -> str | None:
    if registry.resolve(name)().__sklearn_tags__().classifier_tags.multi_label or experiment.one_label:
        return None
    sizes = np.diff(experiment.parts[0].Y.indptr)
    return (
        f"it learns exactly one label per document, and {int((sizes != 1).sum()):,} of {len(sizes):,} documents have "
        "another number"
    )


def _parents(name: str, experiment: Experiment) -> str | None:
    kind = experiment.taxonomy.kind
    if kind == "tree" or parameters_of(name).get("parents") != "only":
        return None
    return f"it learns trees, and the taxonomy is a {kind.replace('dag', 'DAG')}, with nodes that have several parents"


def _memory(name: str, experiment: Experiment, jobs: int) -> str | None:
    if "max_memory" in parameters_of(name):  # keeps weights on disk where it must
        return None
    need = _COPIES * experiment.parts[0].X.dtype.itemsize * experiment.n_features * len(experiment.label_nodes)
    available = memory_of_each(jobs)
    if need <= available:
        return None
    return (
        f"weights of {experiment.n_features:,} features for {len(experiment.label_nodes):,} labels take "
        f"{format_bytes(need)} while it learns, and it may take {format_bytes(available)}"
    )


# -- time -------------------------------------------------------------------------------------------------------------


class RunForecast(NamedTuple):
    """Seconds of a run: with the whole search, and the minimum that yields a result."""

    likely: float
    least: float


def shares(forecasts: Mapping[str, RunForecast], seconds: float) -> dict[str, float]:
    """Seconds that each of the models may take of those that are left for all.

    Parameters
    ----------
    forecasts : mapping of str to RunForecast
        Of the models that have not run yet.
    seconds : float
        What is left for all of them together.

    Returns
    -------
    dict of str to float
        What each needs at least, and equal parts of the rest. A model takes no more than it is likely to need, or than
        a whole search takes at least, while others would like to have more. One that needs more than twice an equal
        part comes after the others, so that these have time for their search. Where there is not enough for all, those
        that need most get nothing: a run that cannot end is of no use to anybody.

    Examples
    --------
    >>> both = {"NodeSVM": RunForecast(6.0, 2.0), "HM3": RunForecast(90.0, 8.0)}
    >>> shares(both, 200.0), shares(both, 80.0), shares(both, 6.0)
    ({'NodeSVM': 70.0, 'HM3': 130.0}, {'NodeSVM': 30.0, 'HM3': 50.0}, {'NodeSVM': 6.0, 'HM3': 0.0})
    """
    found, left = dict.fromkeys(forecasts, 0.0), max(0.0, seconds)
    going: list[str] = []
    order = sorted(forecasts, key=lambda name: forecasts[name].least)
    most = _COSTLY * left / max(1, len(forecasts))
    for names in ([name for name in order if forecasts[name].least <= most], order):
        for name in names:
            if name not in going and forecasts[name].least <= left:
                found[name] = forecasts[name].least
                left -= found[name]
                going.append(name)
        more = {name: max(0.0, max(forecasts[name].likely, LEAST_BUDGET) - found[name]) for name in going}
        for i, name in enumerate(sorted(more, key=lambda name: more[name])):
            part = max(0.0, min(more[name], left / (len(more) - i)))
            found[name] += part
            left -= part
    return {name: value + (left / len(going) if name in going else 0.0) for name, value in found.items()}


_CORRECTION = 20.0  # times: finished runs never make a forecast larger or smaller than this


class Corrections:
    """What finished runs say about forecasts: how much longer, or shorter, those of their family were.

    Examples
    --------
    >>> learned = Corrections()
    >>> learned.add("RRSVM", RunForecast(40.0, 10.0), 10.0)
    >>> learned.of("RRLogistic", RunForecast(80.0, 20.0)), learned.of("NodeSVM", RunForecast(8.0, 2.0))
    (RunForecast(likely=20.0, least=5.0), RunForecast(likely=8.0, least=2.0))
    """

    def __init__(self) -> None:
        self.logarithms: dict[str, list[float]] = {}

    def add(self, name: str, forecast: RunForecast, seconds: float) -> None:
        """A run that came to its end after ``seconds``; forecasts of less than a second say nothing."""
        if forecast.likely >= 1:
            self.logarithms.setdefault(family_of(name), []).append(math.log(max(seconds, 0.1) / forecast.likely))

    def of(self, name: str, forecast: RunForecast) -> RunForecast:
        """The forecast as the finished runs of the same family correct it: by the geometric mean of their ratios."""
        known = self.logarithms.get(family_of(name))
        if not known:
            return forecast
        most = math.log(_CORRECTION)
        factor = math.exp(min(most, max(-most, sum(known) / len(known))))
        return RunForecast(factor * forecast.likely, factor * forecast.least)


def pilot(experiment: Experiment, name: str, seconds: float) -> tuple[list[tuple[int, float]], float]:
    """(documents, processor seconds) of fits of growing size while another one is likely to end in time; how busy."""
    part = experiment.parts[0]
    n_docs = part.Y.shape[0]
    order = np.random.default_rng(experiment.seed).permutation(n_docs)
    sizes = sorted({min(n_docs, max(_FEW, n_docs // step)) for step in _STEPS})
    usual = {"random_state": experiment.seed, "n_jobs": 1, "max_time": max(seconds, 1.0)}
    settings = {**usual, **experiment.settings.get(name, {})}
    X = part.X if experiment.vectors is None else clone(experiment.vectors).fit_transform(part.X)
    known, scale = parameters_of(name), squared_length(X)
    # The search of a joint model begins at its flat end.
    candidate = Candidate(name, C=1.0 if "C" in known else None, pull=PULLS[-1] if "pull" in known else None)
    fits: list[tuple[int, float]] = []
    began = time.perf_counter(), time.process_time()
    with single_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in (sizes[0], *sizes):  # the first one twice: what is loaded on first use is not counted
            rows = np.sort(order[:size])
            model = make_model(candidate, experiment.taxonomy, scale, **settings)
            start = time.process_time()
            model.fit(X[rows], part.Y[rows])
            fits.append((size, time.process_time() - start))
            spent = time.perf_counter() - began[0]
            if size != sizes[0] and spent + extrapolate(fits, size * 4) > seconds:
                break
    busy = (time.perf_counter() - began[0]) / max(time.process_time() - began[1], 1e-3)
    return fits[1:], max(1.0, busy)


def extrapolate(fits: list[tuple[int, float]], n_docs: int) -> float:
    """Seconds of one fit on ``n_docs`` documents.

    Examples
    --------
    >>> extrapolate([(100, 1.0), (200, 4.0)], 400)
    16.0
    """
    size, seconds = fits[-1]
    power = 1.3
    if len(fits) > 1 and fits[-2][0] < size:
        before, less = fits[-2]
        power = math.log(max(seconds, 5e-3) / max(less, 5e-3)) / math.log(size / before)
    return seconds * (n_docs / size) ** min(max(power, 0.8), 2.2)


def forecast(experiment: Experiment, name: str, fits: list[tuple[int, float]], busy: float) -> RunForecast:
    """Seconds of a whole run of all parts."""
    fixed = "C" not in parameters_of(name) or "C" in experiment.settings.get(name, {})
    fit = busy * len(experiment.parts) * extrapolate(fits, experiment.n_train)
    least = busy * _ONCE + 1.75 * fit
    return RunForecast(busy * _ONCE + (1 + 0.75 * _MEASURING * (_FIXED if fixed else _TRIED)) * fit, least)
