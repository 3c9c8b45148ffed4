"""What ``shootout.json`` holds (format 1), as types, and the one place where it is validated.

A result is a plain dictionary, as ``json.load`` gives it. Nodes are numbers: places in ``taxonomy["names"]``, which has
only nodes that documents use, and their ancestors.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from linnaeus.errors import DataError, place

__all__ = ["EMPTY", "Comparison", "Measure", "Problem", "Result", "Run", "Tree", "check_result", "read_result"]

FORMAT = 1


class Problem(TypedDict):
    """The documents and the taxonomy, counted."""

    name: str
    n_train: int
    n_test: int
    n_nodes: int
    n_leaves: int
    depth: int
    kind: str
    n_features: int | None
    labels_per_document: float
    split: str
    features: str


class Tree(TypedDict):
    """Nodes in level order, each under its first parent (-1: none)."""

    names: list[str]
    labels: list[str | None]
    parent: list[int]
    level: list[int]


class Measure(TypedDict):
    """A measure; exactly one is the main one, by which models are ranked."""

    key: str
    name: str
    group: str
    higher_is_better: bool
    main: bool


class Level(TypedDict):
    """Nodes of one level together."""

    level: int
    n_nodes: int
    n_documents: int
    precision: float | None
    recall: float | None
    f1: float | None


class Size(TypedDict):
    """Nodes with ``low`` to ``high`` training examples together (``None``: no upper end)."""

    low: int
    high: int | None
    n_nodes: int
    f1: float | None


class Node(TypedDict):
    """One node."""

    node: int
    n_train: int
    n_test: int
    precision: float | None
    recall: float | None
    f1: float | None


class Confusion(TypedDict):
    """``n`` documents of node ``gold`` were answered with its sibling ``answered``."""

    gold: int
    answered: int
    n: int


class Bin(TypedDict):
    """Answers whose probability lies from ``low`` to ``high``: how sure, and how often right."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


class Step(TypedDict):
    """The main measure after learning from a share of the documents."""

    share: float
    n_documents: int
    value: float | None


class Run(TypedDict):
    """One model on the problem; figures are there when ``status`` is ``done`` or ``stopped early``."""

    model: str
    status: str
    reason: str | None
    note: str | None
    parameters: dict[str, Any]
    tried: list[dict[str, Any]]
    seconds: dict[str, float | None]
    peak_memory_mb: float | None
    model_mb: float | None
    measures: dict[str, float | None]
    intervals: dict[str, list[float]]
    by_level: list[Level]
    by_size: list[Size]
    by_node: list[Node]
    confusion: list[Confusion]
    reliability: list[Bin] | None
    curve: list[Step] | None


class Comparison(TypedDict):
    """A model against another on the same documents."""

    model: str
    against: str
    kind: str
    measure: str
    difference: float
    interval: list[float]
    p: float


class Result(TypedDict):
    """A whole shoot-out."""

    format: int
    title: str
    made: str
    command: str
    versions: dict[str, str]
    machine: str
    problem: Problem
    taxonomy: Tree
    measures: list[Measure]
    runs: list[Run]
    comparisons: list[Comparison]
    best: str | None
    flat: str | None
    sentence: str
    next_step: NotRequired[str]  # a command that trains the recommended model


EMPTY: Result = {
    "format": FORMAT,
    "title": "Shoot-out",
    "made": "2026-01-01T00:00:00",
    "command": "linnaeus shootout",
    "versions": {},
    "machine": "",
    "problem": {
        "name": "nothing",
        "n_train": 0,
        "n_test": 0,
        "n_nodes": 0,
        "n_leaves": 0,
        "depth": 0,
        "kind": "tree",
        "n_features": 0,
        "labels_per_document": 0.0,
        "split": "given split",
        "features": "",
    },
    "taxonomy": {"names": [], "labels": [], "parent": [], "level": []},
    "measures": [
        {
            "key": "hierarchical_f1",
            "name": "hierarchical F1",
            "group": "hierarchical",
            "higher_is_better": True,
            "main": True,
        }
    ],
    "runs": [],
    "comparisons": [],
    "best": None,
    "flat": None,
    "sentence": "No model has run yet.",
}


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read ``shootout.json``.

    Examples
    --------
    >>> read_result("nowhere.json")
    Traceback (most recent call last):
    linnaeus.errors.DataError: nowhere.json does not exist; expected the shootout.json of `linnaeus shootout`.
    """
    if not Path(path).is_file():
        raise DataError(f"{path} does not exist; expected the shootout.json of `linnaeus shootout`.")
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        where = place(str(path), error.lineno)
        raise DataError(f"{where}: {error.msg}; expected the shootout.json of `linnaeus shootout`.") from None
    return check_result(result, str(path))


def check_result(result: Any, source: str) -> Result:
    """The result, if it is one of this format: all parts there, one main measure, names that exist.

    Figures that are not finite become ``None``, as JSON has no other way to write them.
    """
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        found = result.get("format") if isinstance(result, dict) else type(result).__name__
        raise DataError(f"{source} has format {found!r}; expected the result of a shoot-out, format {FORMAT}.")
    missing = [key for key in EMPTY if key not in result]
    if missing:
        raise DataError(f"{source} has no {', '.join(map(repr, missing))}; expected a whole result of a shoot-out.")
    mains = [measure["key"] for measure in result["measures"] if measure["main"]]
    if len(mains) != 1:
        raise DataError(f"{source} has {len(mains)} main measures; expected exactly one.")
    models = {run["model"] for run in result["runs"]}
    for part in ("best", "flat"):
        if result[part] is not None and result[part] not in models:
            raise DataError(f"{source} names {result[part]!r} as {part}, which is not among its runs.")
    return cast(Result, _finite(result))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
