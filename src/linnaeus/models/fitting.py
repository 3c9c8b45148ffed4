"""What the models share around their solvers: validation of parameters and labels, weights, limits, warnings, streams.

Each function here is one step that many models take in ``fit`` or ``partial_fit``; the model itself only solves its
problem.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linnaeus.data.check import Problem, check_labels, check_weights
from linnaeus.deprecation import deprecation_message
from linnaeus.engine import (
    Clock,
    Forecast,
    SerialEngine,
    ThreadEngine,
    available_memory,
    format_bytes,
    get_engine,
    parse_bytes,
    plan_memory,
)
from linnaeus.errors import DataError, ParameterError, check_flag, check_number, nearest, warn_user
from linnaeus.progress import note, progress, waiting
from linnaeus.taxonomy.closure import is_closed
from linnaeus.typing import CSR, Engine, FloatArray, IntArray

if TYPE_CHECKING:
    from linnaeus.models.base import TaxonomyClassifier
    from linnaeus.models.checkpoint import Checkpoint

__all__ = [
    "ClassWeight",
    "LongFit",
    "Seed",
    "Stream",
    "begin_stream",
    "check_class_weight",
    "check_one_piece",
    "check_seed",
    "check_solver",
    "check_training",
    "document_weights",
    "engine_within_memory",
    "gap_above",
    "gap_progress",
    "passes_within",
    "positive_weights",
    "require_two_classes",
    "waiting_if",
    "warn_no_effect",
    "warn_not_converged",
]

ClassWeight: TypeAlias = str | Mapping[Hashable, float] | None
Seed: TypeAlias = int | np.random.RandomState | None


# -- parameters --------------------------------------------------------------------------------------------------------


class Solved(Protocol):
    """Parameters of a solver."""

    C: float
    tol: float
    max_iter: int
    verbose: int


class Trained(Solved, Protocol):
    """Parameters that most trained models have."""

    fit_intercept: bool
    random_state: Seed


def check_solver(model: Solved) -> None:
    """Validate C, tol, max_iter and verbose.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_solver(SimpleNamespace(C=1.0, tol=1e-3, max_iter=10, verbose=0))
    """
    check_number("C", model.C, above=0)
    check_number("tol", model.tol, above=0)
    check_number("max_iter", model.max_iter, least=1, whole=True)
    check_number("verbose", model.verbose, least=0)


def check_training(model: Trained) -> None:
    """Validate C, tol, max_iter, verbose, fit_intercept and random_state.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> good = {"C": 1.0, "tol": 1e-3, "max_iter": 10, "verbose": 0, "fit_intercept": True, "random_state": None}
    >>> check_training(SimpleNamespace(**good))
    >>> check_training(SimpleNamespace(**{**good, "C": -1}))
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: C=-1; expected a number above 0.
    """
    check_solver(model)
    check_flag("fit_intercept", model.fit_intercept)
    check_seed(model.random_state)


def check_seed(random_state: object) -> None:
    """Validate a seed: None, an integer or a generator of NumPy.

    Parameters
    ----------
    random_state : object
        The value of the parameter.

    Examples
    --------
    >>> check_seed(0)
    """
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ParameterError(str(error)) from None


# -- documents and labels ----------------------------------------------------------------------------------------------


def require_two_classes(problem: Problem, nodes: IntArray, *, one_label_each: bool = False) -> None:
    """Raise a `DataError` if single labels are all the same; label sets may all hold one label.

    Parameters
    ----------
    problem : Problem
        The training data.
    nodes : ndarray of int
        The labels that occur.
    one_label_each : bool, default=False
        Whether the model learns one label per document, whatever kind y is of.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> Y, tax, codec = check_labels(["a", "a"], Taxonomy.flat(["a", "b"]))
    >>> require_two_classes(Problem(np.eye(2), Y, tax, None, codec), np.array([tax.index("a")]))
    Traceback (most recent call last):
    linnaeus.errors.DataError: y has only one class, 'a'; a classifier needs two.
    """
    if (one_label_each or problem.codec.single_label) and len(nodes) < 2:
        only = problem.taxonomy.names[nodes[0]]
        raise DataError(f"y has only one class, {only!r}; a classifier needs two.")


def document_weights(problem: Problem) -> FloatArray:
    """Weight of every document: the sample weights, or 1; an array of its own, float64.

    Parameters
    ----------
    problem : Problem
        The training data.

    Returns
    -------
    ndarray of shape (n_docs,)
        Weights of the documents; ones if none were given.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat(["a", "b"])
    >>> document_weights(Problem(np.eye(2), tax.indicator(["a", "b"]), tax)).tolist()
    [1.0, 1.0]
    """
    return np.ones(problem.n_docs) if problem.weights is None else problem.weights.astype(np.float64)


def check_class_weight(class_weight: object) -> None:
    """Validate that ``class_weight`` is None, "balanced" or a mapping of labels to positive numbers.

    Parameters
    ----------
    class_weight : object
        The value of the parameter.

    Examples
    --------
    >>> check_class_weight({"a": 0})
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: class_weight of 'a' is 0; expected a number above 0.
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(f"class_weight={class_weight!r}; expected None, 'balanced' or a dict of label to weight.")
    for label, weight in class_weight.items():
        if not (isinstance(weight, (int, float, np.number)) and np.isfinite(weight) and weight > 0):
            raise ParameterError(f"class_weight of {label!r} is {weight!r}; expected a number above 0.")


def positive_weights(class_weight: ClassWeight, Y: CSR, labels: Iterable[Hashable]) -> FloatArray:
    """How much more the positive documents of each label count than the others.

    Parameters
    ----------
    class_weight : {"balanced"}, mapping of label to weight, or None
        "balanced" is n_docs / (n_labels * positives), as in scikit-learn.
    Y : sparse array of shape (n_docs, n_labels)
        Labels of the documents.
    labels : iterable
        Names of the columns.

    Returns
    -------
    ndarray of shape (n_labels,)
        Weight of the positive documents of each label.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csc_array([[1, 0], [1, 0], [0, 1]])
    >>> positive_weights({"b": 3.0}, Y, ["a", "b"]).tolist()
    [1.0, 3.0]
    >>> positive_weights("balanced", Y, ["a", "b"]).tolist()
    [0.75, 1.5]
    """
    n_docs, n_labels = Y.shape
    if class_weight is None:
        return np.ones(n_labels)
    if isinstance(class_weight, str):
        counts = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel()
        return n_docs / (n_labels * np.maximum(counts, 1))
    known = {_plain(label): i for i, label in enumerate(labels)}
    weights = np.ones(n_labels)
    for label, weight in class_weight.items():
        if _plain(label) not in known:
            raise ParameterError(
                f"class_weight names {label!r}, which is not a label of y{nearest(str(label), map(str, known))}"
            )
        weights[known[_plain(label)]] = weight
    return weights


def _plain(label: Hashable) -> Hashable:
    return label.item() if isinstance(label, np.generic) else label


# -- limits and warnings -----------------------------------------------------------------------------------------------


def warn_no_effect(model: object, name: str, reason: str) -> None:
    """Warn that a parameter has no effect, if it is given, and that it will be removed.

    Parameters
    ----------
    model : object
        The model, with the parameter as an attribute; None means that it is not given.
    name : str
        The parameter.
    reason : str
        Why it has no effect.
    """
    if getattr(model, name) is not None:
        goes = deprecation_message("The parameter", "0.1", "0.3")
        warn_user(f"{name} has no effect in {type(model).__name__}: {reason}. {goes}", FutureWarning)


def check_one_piece(model: object, max_time: float | str | None, n_jobs: int | None) -> None:
    """Validate parameters of a model that solves one problem in one thread, and warn if it is given an engine.

    Parameters
    ----------
    model : object
        The model, with ``engine`` as an attribute.
    max_time, n_jobs : float or str, and int
        Its parameters of these names.
    """
    Clock(max_time)
    get_engine(None, n_jobs)
    warn_no_effect(model, "engine", "all labels are one problem, which one thread solves")


def warn_not_converged(problem: str, *, advice: str = "increase max_iter or tol") -> None:
    """Issue a `ConvergenceWarning` that points at the user's call.

    Parameters
    ----------
    problem : str
        What is not reached; see `gap_above` for solvers with a duality gap.
    advice : str, default="increase max_iter or tol"
        What may help.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_not_converged(gap_above(0.001, 0.0042, "max_iter=5"))
    >>> print(caught[0].message)
    The fit did not converge: stopped at max_iter=5 with a gap of 0.0042 of the objective, above tol=0.001; increase \
max_iter or tol.
    """
    warn_user(f"The fit did not converge: {problem}; {advice}.", ConvergenceWarning)


def gap_above(tol: float, gap: float, limit: str) -> str:
    """Say that a limit ended the fit before its relative gap was ``tol``.

    Parameters
    ----------
    tol : float
        The relative gap that was asked for.
    gap : float
        The relative gap that was reached.
    limit : str
        What ended the fit, as "max_iter=100".

    Returns
    -------
    str
        The first argument of `warn_not_converged`.
    """
    return f"stopped at {limit} with a gap of {gap:.2g} of the objective, above tol={tol:g}"


def passes_within(max_time: float | str | None, passes: float, of: int) -> int:
    """The number of passes that were begun, with a `ConvergenceWarning` where the time limit ended them.

    Parameters
    ----------
    max_time : float, str or None
        The time limit.
    passes : float
        Passes over the documents, the last one perhaps in part.
    of : int
        Passes that were asked for.

    Returns
    -------
    int
        Passes, with the last one.

    Examples
    --------
    >>> passes_within("1h", 3.0, 3)
    3
    """
    if passes < of:
        warn_not_converged(
            f"max_time={max_time} was over after {passes:.1f} of {of} passes", advice="increase max_time"
        )
    return math.ceil(passes)


@contextlib.contextmanager
def gap_progress(tol: float, *, show: bool, description: str = "training") -> Iterator[Callable[[float], None]]:
    """A progress bar of a solver that stops when its relative duality gap is ``tol``.

    Parameters
    ----------
    tol : float
        The relative gap at which the bar is full.
    show : bool
        Whether there is a bar at all.
    description : str, default="training"
        Text of the bar.

    Yields
    ------
    callable
        Takes the relative gap; the bar is linear in its logarithm and never moves backwards.

    Examples
    --------
    >>> with gap_progress(1e-3, show=False) as measured:
    ...     measured(0.1)
    """
    if not show:
        yield lambda gap: None
        return
    with progress(description, 100) as advance:
        shown = 0

        def measured(gap: float) -> None:
            nonlocal shown
            now = int(np.clip(100 * np.log(max(gap, 1e-300)) / np.log(min(tol, 0.5)), shown, 100))
            advance(now - shown)
            shown = now

        yield measured


def waiting_if(show: object, description: str) -> contextlib.AbstractContextManager[None]:
    """A spinner for a solver whose progress is not known, if ``show`` (often ``verbose``) says so.

    Parameters
    ----------
    show : object
        Whether there is a spinner.
    description : str
        Text next to it.

    Returns
    -------
    context manager
        The spinner, or one that does nothing.

    Examples
    --------
    >>> with waiting_if(0, "training"):
    ...     pass
    """
    return waiting(description) if show else contextlib.nullcontext()


def engine_within_memory(model: LongFit, engine: Engine, forecast: Forecast) -> tuple[Engine, Forecast]:
    """The engine with as many workers as ``max_memory`` of the model allows, and the plan of the memory.

    Parameters
    ----------
    model : LongFit
        The model that is fitted. Workers are only taken away where it has its own threads.
    engine : Engine
        The engine with all its workers.
    forecast : Forecast
        What the fit takes with all of them.

    Returns
    -------
    engine : Engine
        The same, or one with fewer threads.
    plan : Forecast
        What the fit takes with these.
    """
    plan = model._plan_memory(forecast, fewer_workers=model.engine in (None, "threads"))
    if plan.n_workers == engine.n_workers:
        return engine, plan
    return SerialEngine() if plan.n_workers == 1 else ThreadEngine(plan.n_workers), plan


class LongFit:
    """Mixin for long fits: parameters ``checkpoint``, ``max_time`` and ``max_memory``, validated and applied.

    A model calls `_check_limits` in `_check_parameters` and trains inside
    ``with self._checkpointed(problem) as checkpoint``.
    """

    checkpoint: str | os.PathLike[str] | None
    max_time: float | str | None
    max_memory: float | str | None = None  # not every model has this parameter
    engine: str | Engine | None
    verbose: int
    random_state: Seed
    get_params: Callable[..., dict[str, object]]  # of scikit-learn's BaseEstimator
    time_limit_reached_: bool = False
    _forecast: Forecast | None = None

    @property
    def memory_forecast(self) -> Forecast | None:
        """What the last fit was expected to take; None before one, and for loaded models."""
        return self._forecast

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_forecast", None)  # of this process, not of the model
        return state

    def _check_limits(self) -> None:
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise ParameterError(f"checkpoint={self.checkpoint!r}; expected a folder or None.")
        Clock(self.max_time)
        if self.max_memory is not None:
            parse_bytes(self.max_memory)

    @contextlib.contextmanager
    def _checkpointed(self, problem: Problem) -> Iterator[Checkpoint | None]:
        """The checkpoint of this fit, or None; Ctrl-C says how to continue."""
        if self.checkpoint is None:
            yield None
            return
        from linnaeus.models.checkpoint import Checkpoint, fingerprint

        with Checkpoint(self.checkpoint, fingerprint(self, problem)) as checkpoint:
            try:
                yield checkpoint
            except KeyboardInterrupt:
                where = os.fspath(self.checkpoint)
                raise KeyboardInterrupt(
                    f"stopped; finished work is kept in {where}, and the same fit with this checkpoint continues there"
                ) from None

    @contextlib.contextmanager
    def _block_store(self, checkpoint: Checkpoint | None, plan: Forecast) -> Iterator[Checkpoint | None]:
        """Where finished blocks go: the checkpoint, or files for this fit only if weights are planned on disk."""
        if checkpoint is not None or not plan.on_disk:
            yield checkpoint
            return
        from linnaeus.models.checkpoint import Checkpoint

        with tempfile.TemporaryDirectory(prefix="linnaeus-", ignore_cleanup_errors=True) as folder:  # noqa: SIM117
            with Checkpoint(folder, {}, every=math.inf, durable=False) as store:
                yield store

    def _fit_seed(self, checkpoint: Checkpoint | None) -> int:
        """The seed of this fit: drawn from ``random_state``, or the one with which the checkpoint began."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        return seed if checkpoint is None else int(checkpoint.state.setdefault("seed", seed))

    def _plan_memory(self, forecast: Forecast, *, fewer_workers: bool = True) -> Forecast:
        """The forecast within ``max_memory``; shown if ``verbose``, with a warning if memory is too small."""
        limit = None if self.max_memory is None else parse_bytes(self.max_memory)
        self._forecast = plan_memory(forecast, limit, fewer_workers=fewer_workers)
        more, available = self._forecast.peak - self._forecast.now, available_memory()
        if more > available:
            warn_user(
                f"the fit will take {format_bytes(more)}, but only {format_bytes(available)} are available; "
                "max_memory keeps weights on disk."
            )
        if self.verbose > 0:
            note(str(self._forecast))
        return self._forecast


# -- streams -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """What one call of ``partial_fit`` brings; see `begin_stream`.

    Attributes
    ----------
    problem : Problem
        The documents.
    declared : CSR array of shape (n_rows, n_nodes)
        Labels that ``classes`` declared before they occur.
    first : bool
        Whether the model has not learned anything before.
    """

    problem: Problem
    declared: CSR
    first: bool


def begin_stream(
    model: TaxonomyClassifier, X: object, y: object, classes: object, sample_weight: object, *, nested: bool = False
) -> Stream:
    """Validate the input of ``partial_fit`` and update what the model knows of label sets in general.

    Sets ``taxonomy_``, ``codec_``, ``closed_``, ``one_label_``, ``some_empty_``, ``nested_`` and ``one_path_``, and
    drops a calibration. The model adds nodes that it meets for the first time itself.

    Parameters
    ----------
    model : TaxonomyClassifier
        The model; not fitted, or fitted by ``fit`` or ``partial_fit``.
    X, y, classes, sample_weight : object
        As given to ``partial_fit``.
    nested : bool, default=False
        Whether the model learns the ancestors of labels as labels.

    Returns
    -------
    Stream
        The validated documents, the declared labels, and whether this is the first call.
    """
    first = not hasattr(model, "nodes_")
    if first:
        model._check_parameters()
    documents = model._check_X(X, reset=first)
    taxonomy = model.taxonomy if first else model.taxonomy_
    if first and taxonomy is None and classes is not None:
        taxonomy = check_labels(classes, None)[1]
    Y, taxonomy, codec = check_labels(y, taxonomy, documents.shape[0])
    weights = check_weights(sample_weight, documents.shape[0])
    declared = check_labels(classes, taxonomy)[0] if classes is not None else Y[:0]
    problem = Problem(documents, Y, taxonomy, weights, codec)
    if first:
        model.taxonomy_, model.codec_ = taxonomy, codec
        model.one_label_, model.some_empty_ = True, False
        model.closed_ = taxonomy.n_edges > 0 and not codec.single_label
        model.nested_ = nested and taxonomy.n_edges > 0
    elif model.codec_.single_label and not codec.single_label:
        model.codec_ = codec
    sizes = np.diff(problem.frontier.indptr)
    model.one_label_ = model.one_label_ and bool((sizes == 1).all())
    model.some_empty_ = model.some_empty_ or bool((sizes == 0).any())
    model.closed_ = model.closed_ and is_closed(taxonomy, Y)
    model.one_path_ = model.one_path_ and model.one_label_
    model.drop_calibration()
    return Stream(problem, declared, first)
