"""Published figures, from the collection of published results beside the data."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from benchmarks.problems import DATA

__all__ = ["published", "records"]


@cache
def _all() -> list[dict[str, Any]]:
    file = DATA.parent / "spec" / "published_results.json"
    return json.loads(file.read_text(encoding="utf-8"))["records"] if file.is_file() else []


def records(paper: str, tables: tuple[str, ...], dataset: str) -> list[dict[str, Any]]:
    """Figures of a data set in some tables of a paper, without contradicted ones; none where there is no collection."""
    found = (record for record in _all() if record["paper"] == paper and record["table"] in tables)
    return [record for record in found if record["dataset"] == dataset and record["status"] == "ok"]


def published(dataset: str) -> dict[str, tuple[float, float]]:
    """(micro-F1, macro-F1) by method in Tables II and III of Gopal and Yang (2015), in per cent."""
    found: dict[str, dict[str, float]] = {}
    for record in records("gopal2015", ("II", "III"), dataset):
        found.setdefault(record["method"], {})[record["metric"]] = record["value"]
    return {method: (values["Micro-F1"], values["Macro-F1"]) for method, values in found.items()}
