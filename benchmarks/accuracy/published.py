"""Figures of Gopal and Yang (2015), Tables II and III, from the collection of published results beside the data."""

from __future__ import annotations

import json

from benchmarks.problems import DATA

__all__ = ["published"]


def published(dataset: str) -> dict[str, tuple[float, float]]:
    """(micro-F1, macro-F1) by method, in per cent; nothing where the collection is not there."""
    file = DATA.parent / "spec" / "published_results.json"
    if not file.is_file():
        return {}
    records = json.loads(file.read_text(encoding="utf-8"))["records"]
    found: dict[str, dict[str, float]] = {}
    for record in records:
        place = (record["paper"], record["table"], record["dataset"])
        if place in (("gopal2015", "II", dataset), ("gopal2015", "III", dataset)) and record["status"] == "ok":
            found.setdefault(record["method"], {})[record["metric"]] = record["value"]
    return {method: (values["Micro-F1"], values["Macro-F1"]) for method, values in found.items()}
