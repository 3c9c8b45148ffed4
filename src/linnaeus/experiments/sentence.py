"""The result in one sentence that needs no statistics to read, and claims no difference that may be chance.

NAME is best: 2.1 points of hierarchical F1 above flat OneVsRestSVM (p < 0.001); ...
A flat model is enough: ...
No model is clearly better than a flat one: ...
"""

from __future__ import annotations

from linnaeus.auto.candidates import PLAIN
from linnaeus.auto.evaluate import OWN
from linnaeus.experiments.candidates import flat_models
from linnaeus.experiments.comparison import SIGNIFICANT
from linnaeus.experiments.measures import MAIN
from linnaeus.experiments.records import Comparison, Run, SizeComparison, ranked_by

__all__ = ["choice", "chosen_by_train", "sentence"]

_MOST_NAMED = 3


def chosen_by_train(runs: list[Run]) -> Run | None:
    """The run of the best value on held-out training documents, as `linnaeus train` would choose; None without any.

    Examples
    --------
    >>> runs = [Run(model="BSVM", status="done", held_out=0.5), Run(model="RRSVM", status="done", held_out=0.6)]
    >>> chosen_by_train(runs).model
    'RRSVM'
    """
    known = [(run.held_out, run) for run in runs if run.held_out is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def choice(runs: list[Run], measure: str) -> str:
    """What `linnaeus train` would choose, in one sentence; empty without held-out values.

    Examples
    --------
    >>> run = Run(model="RRSVM", status="done", held_out=0.6, cut="expected")
    >>> choice([run], "micro_f1")
    'On held-out training documents linnaeus train would choose RRSVM (cut expected): micro-F1 0.6000.'
    """
    run = chosen_by_train(runs)
    if run is None:
        return ""
    how = [f"features: {run.features}"] if run.features not in (None, PLAIN) else []
    how += [f"cut {run.cut}"] if run.cut not in (None, OWN) else []
    name = f"{run.model} ({', '.join(how)})" if how else run.model
    return f"On held-out training documents linnaeus train would choose {name}: {MAIN[measure]} {run.held_out:.4f}."


def sentence(runs: list[Run], comparisons: list[Comparison], measure: str) -> str:
    """One sentence from the runs and their comparisons.

    Examples
    --------
    >>> values = {"RRSVM": 0.5, "BSVM": 0.4}
    >>> runs = [Run(model=name, status="done", measures={"micro_f1": value}) for name, value in values.items()]
    >>> row = Comparison("RRSVM", "BSVM", "flat", "micro_f1", difference=0.1, p=0.0001)
    >>> sentence(runs, [row], "micro_f1")
    'RRSVM is best: 10.0 points of micro-F1 above flat BSVM (p < 0.001).'
    """
    order = ranked_by(runs, measure)
    if not order:
        no_time = any(run.status == "no time" for run in runs)
        return f"No model could be measured{'; increase the budget' if no_time else ''}."
    best = order[0].model
    if len(order) == 1:
        points = f"{100 * (order[0].measures[measure] or 0.0):.1f} points of {MAIN[measure]}"
        return f"Only {best} was measured: {points}, with nothing to compare it with."
    flat = next((row.against for row in comparisons if row.kind == "flat"), None)
    if flat is None:
        return _without_flat(best, comparisons, measure)
    if best == flat:
        return _flat_best(best, comparisons, measure)
    row = next(row for row in comparisons if row.kind == "flat" and row.model == best)
    if row.p < SIGNIFICANT:
        return _clear(best, row, comparisons, measure)
    return _unclear(best, row, measure)


def _clear(best: str, row: Comparison, comparisons: list[Comparison], measure: str) -> str:
    said = f"{best} is best: {_points(row.difference)} of {MAIN[measure]} above flat {row.against} ({_p(row)})"
    groups = row.by_size or []
    same = [group for group in groups if group.p >= SIGNIFICANT]
    better = [group for group in groups if group.p < SIGNIFICANT and group.difference > 0]
    worse = [group for group in groups if group.p < SIGNIFICANT and group.difference < 0]
    by = " by F1" if measure == "au_prc" else ""
    if worse:
        said += f"; on nodes with {_sizes(worse)} the flat model is better{by}"
    elif better and same:
        said += f"; on nodes with {_sizes(same)} the flat model may be as good{by}"
    return f"{said}{_beside(best, comparisons, row.against)}."


def _unclear(best: str, row: Comparison, measure: str) -> str:
    said = "No model is clearly better than a flat one: "
    if round(row.difference, 3) == 0:
        said += f"{best} and flat {row.against} are equal in {MAIN[measure]}"
    else:
        lead = f"{_points(row.difference)} of {MAIN[measure]}"
        said += f"{best} leads flat {row.against} by {lead}, which may be chance ({_p(row)})"
    groups = [group for group in (row.by_size or []) if group.p < SIGNIFICANT]
    for group in groups[:1]:
        side = "better" if group.difference > 0 else "worse"
        said += f"; only on nodes with {_sizes([group])} is it {side}, by {_points(abs(group.difference))} of F1"
    return f"{said}."


def _flat_best(best: str, comparisons: list[Comparison], measure: str) -> str:
    rows = [row for row in comparisons if row.kind == "flat"]
    others = [row for row in rows if row.model not in flat_models()]
    nearest = max(others or rows, key=lambda row: row.difference)
    if round(nearest.difference, 3) == 0:
        return f"A flat model is enough: none is better than {best}; {nearest.model} is as good."
    gap = f"{_points(-nearest.difference)} of {MAIN[measure]}"
    which = "the best of those with a hierarchy" if others else "the next"
    if nearest.p < SIGNIFICANT:
        return f"A flat model is enough: {best} is best, {gap} above {nearest.model}, {which} ({_p(nearest)})."
    return (
        f"A flat model is enough: none is better than {best}; {nearest.model} is behind by {gap}, which may be "
        f"chance ({_p(nearest)})."
    )


def _without_flat(best: str, comparisons: list[Comparison], measure: str) -> str:
    row = max((row for row in comparisons if row.kind == "best"), key=lambda row: row.difference)
    gap = f"{_points(-row.difference)} of {MAIN[measure]}"
    if row.p < SIGNIFICANT:
        return f"{best} is best: {gap} above {row.model}, the next ({_p(row)}); no flat model was measured."
    return f"{best} leads {row.model} by {gap}, which may be chance ({_p(row)}); no flat model was measured."


def _beside(best: str, comparisons: list[Comparison], flat: str) -> str:
    """Models that do not differ significantly from the best."""
    rows = [row for row in comparisons if row.kind == "best" and row.p >= SIGNIFICANT and row.model != flat]
    names = [row.model for row in sorted(rows, key=lambda row: -row.difference)]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    named = ", ".join(names[:_MOST_NAMED]) if more else _joined(names)
    return f"; {named}{more} may be as good as {best}"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _points(difference: float) -> str:
    value = f"{100 * abs(difference):.1f}"
    return f"{value} point" if value == "1.0" else f"{value} points"


def _p(row: Comparison) -> str:
    return "p < 0.001" if row.p < 0.001 else f"p = {row.p:.3f}" if row.p < 0.1 else f"p = {row.p:.2f}"


def _sizes(groups: list[SizeComparison]) -> str:
    """Groups of training documents, neighbours joined: "1 to 20 or more than 100 training documents"."""
    spans: list[list[int | None]] = []
    for group in sorted(groups, key=lambda group: group.low):
        if spans and spans[-1][1] is not None and group.low == spans[-1][1] + 1:
            spans[-1][1] = group.high
        else:
            spans.append([group.low, group.high])
    ranges = [f"more than {low - 1 if low else 0}" if high is None else f"{low} to {high}" for low, high in spans]
    return f"{' or '.join(ranges)} training documents"
