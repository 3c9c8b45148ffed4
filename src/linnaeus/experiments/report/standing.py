"""Who ran, who leads: the questions that every part of a report asks of a result."""

from __future__ import annotations

from linnaeus.experiments.report.schema import Comparison, Measure, Result, Run

__all__ = [
    "best_values",
    "compared",
    "comparison",
    "far_behind",
    "interval",
    "main_measure",
    "ranked",
    "role",
    "shown",
    "total_seconds",
]


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


def shown(result: Result) -> list[Run]:
    """The compared runs that pictures show: one far below all others would press them into a corner."""
    far = far_behind(result)
    return [run for run in ranked(result) if run["model"] not in far]


def far_behind(result: Result) -> list[str]:
    """Models four times as far from the best as the middle of the field, and a fifth of the best value at least.

    Examples
    --------
    >>> from linnaeus.experiments.report.schema import EMPTY
    >>> runs = [{"model": f"M{k}", "measures": {"hierarchical_f1": v}} for k, v in enumerate([0.92, 0.91, 0.90, 0.16])]
    >>> far_behind({**EMPTY, "runs": runs, "best": "M0"})
    ['M3']
    """
    key = main_measure(result)["key"]
    values = [run["measures"][key] or 0.0 for run in ranked(result)]
    if len(values) < 3:
        return []
    middle = abs(values[len(values) // 2] - values[0])
    reach = max(4 * middle, 0.2 * abs(values[0]))
    kept = (result["best"], result["flat"])
    found = [run["model"] for run, value in zip(ranked(result), values, strict=True) if abs(value - values[0]) > reach]
    return [model for model in found if model not in kept]


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


def interval(run: Run, key: str) -> tuple[float, float] | None:
    """The interval of a measure, where both of its ends are known."""
    ends = run["intervals"].get(key) or ()
    return (ends[0], ends[1]) if len(ends) == 2 and None not in ends else None
