"""Runs, comparisons and the result of a shoot-out: what a trial produces, what is kept on disk, what a report shows.

Nodes are numbers: rows of ``NodeTable``, which lists only nodes that documents use, and their ancestors. ``to_json``
and ``from_json`` convert to and from the plain values of ``shootout.json`` (format 1) and of finished runs.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TypeVar, cast

from linnaeus.errors import DataError, place

__all__ = [
    "Attempt",
    "Comparison",
    "Confusion",
    "CurvePoint",
    "Figures",
    "LevelFigures",
    "MeasureInfo",
    "NodeFigures",
    "NodeTable",
    "ProblemSummary",
    "ReliabilityBin",
    "Result",
    "Run",
    "SiblingFigures",
    "SizeComparison",
    "SizeFigures",
    "ranked_by",
    "read_result",
]

FORMAT = 1
MEASURED = ("done", "stopped early")  # statuses of runs that have figures
_Record = TypeVar("_Record")


# -- figures of one run ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LevelFigures:
    """Nodes of one level together."""

    level: int
    n_nodes: int
    n_documents: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(slots=True)
class SizeFigures:
    """Nodes with ``low`` to ``high`` training documents together (``None``: no upper limit)."""

    low: int
    high: int | None
    n_nodes: int
    f1: float | None


@dataclass(slots=True)
class NodeFigures:
    """One node."""

    node: int
    n_train: int
    n_test: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(slots=True)
class Confusion:
    """``n`` documents of node ``gold`` were answered with its sibling ``answered``."""

    gold: int
    answered: int
    n: int


@dataclass(slots=True)
class SiblingFigures:
    """The children of ``parent`` by how often they were answered for each other; see `metrics.SiblingConfusion`."""

    names: list[str]
    parent: str
    table: list[list[int]]
    unanswered: list[int]
    documents: list[int]


@dataclass(slots=True)
class ReliabilityBin:
    """Answers with a probability from ``low`` to ``high``: mean probability and share of correct ones."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


@dataclass(slots=True)
class CurvePoint:
    """The main measure after learning from a share of the documents."""

    share: float
    n_documents: int
    value: float | None


@dataclass(slots=True)
class Attempt:
    """A value of C that a search tried (``None``: the model has no C), and what it reached on held-out documents."""

    value: float | None
    seconds: float
    C: float | None = None
    features: str | None = None
    learn: str | None = None
    cut: str | None = None


@dataclass
class Figures:
    """All measures of the answers of one model."""

    measures: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, list[float]] = field(default_factory=dict)
    by_level: list[LevelFigures] = field(default_factory=list)
    by_size: list[SizeFigures] = field(default_factory=list)
    by_node: list[NodeFigures] = field(default_factory=list)
    confusion: list[Confusion] = field(default_factory=list)
    siblings: SiblingFigures | None = None
    reliability: list[ReliabilityBin] | None = None


@dataclass(kw_only=True)
class Run(Figures):
    """One model on the problem; it has figures if ``status`` is "done" or "stopped early".

    ``maps`` are the kernel maps of the parts as `linnaeus train --features` takes them, None for a part without one.
    ``held_out`` is the value on held-out training documents, ``in_folds`` that with every one of them held out once,
    where there was time for it. ``cut_short``: whether the time of the run has ended its search. ``allowance``: how
    much better its cut is on new documents, beside other cuts (`linnaeus.auto.candidates.Outcome`).

    Examples
    --------
    >>> run = Run(model="RRSVM", status="done", seconds={"fit": 2.0, "predict": 0.5})
    >>> run.total_seconds, Run.from_json(run.to_json()) == run
    (2.5, True)
    """

    model: str
    status: str
    reason: str | None = None
    note: str | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    features: str | None = None
    maps: list[str | None] | None = None
    cut: str | None = None
    held_out: float | None = None
    in_folds: float | None = None
    tried: list[Attempt] = field(default_factory=list)
    seconds: dict[str, float | None] = field(default_factory=dict)
    peak_memory_mb: float | None = None
    model_mb: float | None = None
    curve: list[CurvePoint] | None = None
    budget: float | None = None
    cut_short: bool | None = None
    allowance: float | None = None

    @property
    def rank(self) -> float:
        """The value on held-out training documents that runs are compared by; -inf without one."""
        return -math.inf if self.held_out is None else self.held_out + (self.allowance or 0.0)

    @property
    def total_seconds(self) -> float:
        """Search, training and prediction together."""
        return sum(value or 0.0 for value in self.seconds.values())

    def interval(self, key: str) -> tuple[float, float] | None:
        """The interval of a measure, if both of its ends are known."""
        ends = self.intervals.get(key) or ()
        return (ends[0], ends[1]) if len(ends) == 2 and None not in ends else None

    def to_json(self) -> dict[str, object]:
        """Plain values, as written to disk."""
        return _to_json(self)

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Run:
        """The run that `to_json` wrote."""
        rows = {"by_level": LevelFigures, "by_size": SizeFigures, "by_node": NodeFigures, "confusion": Confusion}
        more = {"reliability": ReliabilityBin, "curve": CurvePoint, "tried": Attempt}
        run = _from_json(cls, value, {**rows, **more})
        if run.siblings is not None:
            run.siblings = _from_json(SiblingFigures, cast("dict[str, object]", value["siblings"]))
        return run


# -- runs compared -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class SizeComparison:
    """Two models on the nodes with ``low`` to ``high`` training documents."""

    low: int
    high: int | None
    difference: float
    p: float
    interval: list[float] = field(default_factory=list)
    p_alone: float | None = None


@dataclass(slots=True)
class Comparison:
    """A model against the best one or the best flat one (``kind``), on the same documents.

    ``difference`` is the value of ``model`` minus that of ``against``; ``p`` is corrected for the number of
    comparisons, ``p_alone`` is not.
    """

    model: str
    against: str
    kind: str
    measure: str
    difference: float
    p: float
    interval: list[float] = field(default_factory=list)
    p_alone: float | None = None
    by_size: list[SizeComparison] | None = None


def ranked_by(runs: Iterable[Run], measure: str) -> list[Run]:
    """Runs that have a value of a measure, best first, ties by time.

    Examples
    --------
    >>> runs = [Run(model=m, status="done", measures={"f": v}) for m, v in (("A", 0.5), ("B", 0.7), ("C", None))]
    >>> [run.model for run in ranked_by(runs, "f")]
    ['B', 'A']
    """
    known = [(value, run) for run in runs if (value := run.measures.get(measure)) is not None]
    return [run for _, run in sorted(known, key=lambda pair: (-pair[0], pair[1].total_seconds))]


# -- the whole shoot-out -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProblemSummary:
    """The documents and the taxonomy, counted."""

    name: str = ""
    n_train: int = 0
    n_test: int = 0
    n_nodes: int = 0
    n_leaves: int = 0
    depth: int = 0
    kind: str = "tree"
    n_features: int | None = None
    labels_per_document: float = 0.0
    split: str = "given split"
    features: str = ""


@dataclass(frozen=True)
class NodeTable:
    """Nodes in level order, each below its first parent (-1: none).

    Examples
    --------
    >>> NodeTable(["A", "AA"], ["Animals", None], [-1, 0], [1, 2]).path(1)
    'Animals › AA'
    """

    names: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    level: list[int] = field(default_factory=list)

    def label(self, node: int) -> str:
        """The display label of a node, or its name."""
        return self.labels[node] or self.names[node]

    def path(self, node: int) -> str:
        """Labels from the top to a node, along first parents."""
        path: list[str] = []
        while node >= 0 and len(path) <= len(self.names):
            path.append(self.label(node))
            node = self.parent[node]
        return " › ".join(reversed(path))


@dataclass(frozen=True)
class MeasureInfo:
    """A measure; exactly one is the main one, by which models are ranked."""

    key: str
    name: str
    group: str
    higher_is_better: bool
    main: bool


MAIN_MEASURE = MeasureInfo("hierarchical_f1", "hierarchical F1", "hierarchical", True, True)


@dataclass
class Result:
    """A whole shoot-out, as ``shootout.json`` holds it.

    Examples
    --------
    >>> runs = [Run(model=f"M{k}", status="done", measures={"hierarchical_f1": v}) for k, v in enumerate((0.9, 0.8))]
    >>> result = Result(runs=runs, best="M0")
    >>> result.main.name, [run.model for run in result.ranked()], result.role("M1")
    ('hierarchical F1', ['M0', 'M1'], 'other')
    """

    format: int = FORMAT
    title: str = "Shoot-out"
    made: str = "2026-01-01T00:00:00"
    command: str = "linnaeus shootout"
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    problem: ProblemSummary = ProblemSummary()
    taxonomy: NodeTable = field(default_factory=NodeTable)
    measures: list[MeasureInfo] = field(default_factory=lambda: [MAIN_MEASURE])
    runs: list[Run] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    best: str | None = None
    flat: str | None = None
    sentence: str = "No model has run yet."
    next_step: str | None = None  # a command that trains the recommended model

    @property
    def main(self) -> MeasureInfo:
        """The measure by which models are ranked."""
        return next(measure for measure in self.measures if measure.main)

    def ranked(self) -> list[Run]:
        """Runs with a value of the main measure, best first; among ties, the model named best comes first."""
        sign = -1 if self.main.higher_is_better else 1
        known = [(value, run) for run in self.runs if (value := run.measures.get(self.main.key)) is not None]
        order = sorted(known, key=lambda pair: (sign * pair[0], pair[1].model != self.best, pair[1].model))
        return [run for _, run in order]

    def role(self, model: str) -> str:
        """How a model is drawn: ``best``, ``flat`` or ``other``."""
        return "best" if model == self.best else "flat" if model == self.flat else "other"

    def shown(self) -> list[Run]:
        """The runs that charts show: without those far behind, which would compress the scale."""
        far = self.far_behind()
        return [run for run in self.ranked() if run.model not in far]

    def far_behind(self) -> list[str]:
        """Models four times as far from the best as the median run, and at least a fifth of the best value.

        Examples
        --------
        >>> values = enumerate([0.92, 0.91, 0.90, 0.16])
        >>> runs = [Run(model=f"M{k}", status="done", measures={"hierarchical_f1": v}) for k, v in values]
        >>> Result(runs=runs, best="M0").far_behind()
        ['M3']
        """
        runs = self.ranked()
        values = [run.measures[self.main.key] or 0.0 for run in runs]
        if len(values) < 3:
            return []
        middle = abs(values[len(values) // 2] - values[0])
        reach = max(4 * middle, 0.2 * abs(values[0]))
        far = [run.model for run, value in zip(runs, values, strict=True) if abs(value - values[0]) > reach]
        return [model for model in far if model not in (self.best, self.flat)]

    def comparison(self, model: str, kind: str) -> Comparison | None:
        """The comparison of a model with the best or with the flat one, by the main measure."""
        wanted = (model, kind, self.main.key)
        return next((row for row in self.comparisons if (row.model, row.kind, row.measure) == wanted), None)

    def best_values(self) -> dict[str, float]:
        """The best value of each measure over the models."""
        best = {}
        for measure in self.measures:
            values = [value for run in self.ranked() if (value := run.measures.get(measure.key)) is not None]
            if values:
                best[measure.key] = max(values) if measure.higher_is_better else min(values)
        return best

    def to_json(self) -> dict[str, object]:
        """Plain values, as written to ``shootout.json``; figures that are not finite become None."""
        return _to_json(self)

    @classmethod
    def from_json(cls, value: object, source: str = "the result") -> Result:
        """The result that `to_json` wrote; validated: all parts present, one main measure, models that exist."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            given = value.get("format") if isinstance(value, dict) else type(value).__name__
            raise DataError(f"{source} has format {given!r}; expected the result of a shoot-out, format {FORMAT}.")
        missing = [one.name for one in fields(cls) if one.name not in value and one.name != "next_step"]
        if missing:
            raise DataError(f"{source} has no {', '.join(map(repr, missing))}; expected a whole result of a shoot-out.")
        try:
            result = _from_json(cls, value, {"measures": MeasureInfo})
            result.problem = _from_json(ProblemSummary, value["problem"])
            result.taxonomy = _from_json(NodeTable, value["taxonomy"])
            result.runs = [Run.from_json(run) for run in value["runs"]]
            groups = {"by_size": SizeComparison}
            result.comparisons = [_from_json(Comparison, row, groups) for row in value["comparisons"]]
        except (TypeError, AttributeError) as error:
            raise DataError(f"{source} is not the result of a shoot-out: {error}.") from None
        _check_names(result, source)
        return result


def _check_names(result: Result, source: str) -> None:
    mains = sum(measure.main for measure in result.measures)
    if mains != 1:
        raise DataError(f"{source} has {mains} main measures; expected exactly one.")
    models = {run.model for run in result.runs}
    for part, model in (("best", result.best), ("flat", result.flat)):
        if model is not None and model not in models:
            raise DataError(f"{source} names {model!r} as {part}, which is not among its runs.")


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read ``shootout.json``.

    Parameters
    ----------
    path : str or path-like
        The file that `linnaeus shootout` wrote.

    Returns
    -------
    Result
        The shoot-out.

    Examples
    --------
    >>> read_result("nowhere.json")
    Traceback (most recent call last):
    linnaeus.errors.DataError: nowhere.json does not exist; expected the shootout.json of `linnaeus shootout`.
    """
    if not Path(path).is_file():
        raise DataError(f"{path} does not exist; expected the shootout.json of `linnaeus shootout`.")
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        where = place(str(path), error.lineno)
        raise DataError(f"{where}: {error.msg}; expected the shootout.json of `linnaeus shootout`.") from None
    return Result.from_json(value, str(path))


# -- plain values ------------------------------------------------------------------------------------------------------

_OMITTED = {
    "next_step",
    "budget",
    "in_folds",
    "cut_short",
    "allowance",
    "maps",
    "by_size",
    "p_alone",
    "C",
    "features",
    "learn",
    "cut",
    "held_out",
}  # left out of the file where they are None


def _to_json(record: object) -> dict[str, object]:
    """Fields of a record as plain values."""
    values = {one.name: getattr(record, one.name) for one in fields(record)}  # type: ignore[arg-type]
    return {name: _plain(value) for name, value in values.items() if value is not None or name not in _OMITTED}


def _plain(value: object) -> object:
    if is_dataclass(value):
        return _to_json(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None  # JSON has no other way to write it
    if value is None or isinstance(value, (str, int)):
        return value
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def _from_json(
    kind: Callable[..., _Record], value: Mapping[str, object], rows: Mapping[str, Callable[..., object]] | None = None
) -> _Record:
    """A record from the fields that are present; ``rows`` are the types of records in lists."""
    names = {one.name for one in fields(cast(type, kind))}
    given = {name: item for name, item in value.items() if name in names}
    for name, row in (rows or {}).items():
        listed = given.get(name)
        if listed is not None:
            given[name] = [_from_json(row, one) for one in cast("list[dict[str, object]]", listed)]
    return kind(**given)
