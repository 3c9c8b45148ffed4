"""Who ran, who leads: the questions that every part of a report asks of a result."""

from __future__ import annotations

from linnaeus.experiments.report.schema import Comparison, Measure, Result, Run

__all__ = ["best_values", "compared", "comparison", "main_measure", "ranked", "role", "total_seconds"]


def main_measure(result: Result) -> Measure:
    """The measure by which models are ranked."""
    return next(measure for measure in result["measures"] if measure["main"])


def compared(result: Result) -> list[Run]:
    """Runs with a value of the main measure."""
    key = main_measure(result)["key"]
    return [run for run in result["runs"] if run["measures"].get(key) is not None]


def ranked(result: Result) -> list[Run]:
    """The compared runs, best first; the model named best leads even where another has the same value."""
    main = main_measure(result)
    sign = -1 if main["higher_is_better"] else 1

    def place(run: Run) -> tuple[float, bool, str]:
        return sign * (run["measures"][main["key"]] or 0.0), run["model"] != result["best"], run["model"]

    return sorted(compared(result), key=place)


def role(result: Result, model: str) -> str:
    """How a model is drawn: ``best``, ``flat`` or ``other``."""
    return "best" if model == result["best"] else "flat" if model == result["flat"] else "other"


def total_seconds(run: Run) -> float:
    """Search, training and prediction together."""
    return sum(value or 0.0 for value in run["seconds"].values())


def comparison(result: Result, model: str, kind: str) -> Comparison | None:
    """The comparison of a model with the best or with the flat one, by the main measure."""
    key = main_measure(result)["key"]
    found = (row for row in result["comparisons"] if (row["model"], row["kind"], row["measure"]) == (model, kind, key))
    return next(found, None)


def best_values(result: Result) -> dict[str, float]:
    """The best value of each measure over the models."""
    best = {}
    for measure in result["measures"]:
        values = [run["measures"].get(measure["key"]) for run in ranked(result)]
        there = [value for value in values if value is not None]
        if there:
            best[measure["key"]] = max(there) if measure["higher_is_better"] else min(there)
    return best
