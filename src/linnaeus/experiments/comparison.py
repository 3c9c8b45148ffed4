"""Which differences between runs are significant? Every model against the best one and the best flat one.

F1 of sums is compared by a paired permutation test over documents, with a bootstrap interval; others by the paired
bootstrap: the difference divided by its standard deviation over resamples of documents, the same for all models, is
taken as normal, so that few resamples are enough. P-values of all pairs are corrected together (Holm); the pair of the
best and the best flat model, which belongs to both comparisons, is tested once. Best and best flat are chosen on the
same test documents; these two are also compared on nodes with few and with many training documents.

The result in one sentence that needs no statistics to read, and claims no difference that may be chance.

NAME is best: 2.1 points of hierarchical F1 above flat OneVsRestSVM (p < 0.001); ...
A flat model is enough: ...
No model is clearly better than a flat one: ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linnaeus import metrics
from linnaeus.auto.candidates import FLAT, PLAIN
from linnaeus.auto.evaluate import OWN, near_tie, of_answers
from linnaeus.experiments.candidates import flat_models
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.measures import MAIN, document_tables, pooled_f1, size_groups
from linnaeus.experiments.records import MEASURED, Comparison, Run, SizeComparison, ranked_by
from linnaeus.experiments.run_folder import RunFolder
from linnaeus.metrics.auprc import as_node_scores
from linnaeus.metrics.sets import by_document
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["SIGNIFICANT", "as_good", "choice", "chosen_by_train", "compare_runs", "sentence"]

SIGNIFICANT = 0.05
_DRAWS = 40_000_000  # documents drawn in all resamples of a test together
_RESAMPLES = 200  # of a measure that is not an F1 of sums
_POOLED = ("hierarchical_f1", "micro_f1")  # F1 of sums over documents


def compare_runs(experiment: Experiment, folder: RunFolder, runs: list[Run]) -> list[Comparison]:
    """Every run against the best one and the best flat one; ``by_size`` is set for the best against the flat one."""
    names = [run.model for run in ranked_by(runs, experiment.measure)]
    if not names:
        return []
    best, flat = names[0], next((name for name in names if name in flat_models()), None)
    sides = _Sides(experiment, folder)
    kinds = [("best", best)] if flat is None else [("best", best), ("flat", flat)]
    wanted = [(kind, name, against) for kind, against in kinds for name in names if name != against]
    tested = {pair: sides.compare(*pair) for pair in dict.fromkeys(_pair(name, other) for _, name, other in wanted)}
    corrected = dict(
        zip(tested, metrics.holm([test.p for test in tested.values()]).tolist() if tested else [], strict=True)
    )
    rows = []
    for kind, name, against in wanted:
        pair = _pair(name, against)
        test = tested[pair] if (name, against) == pair else tested[pair].reversed()
        row = Comparison(
            name, against, kind, experiment.measure, test.difference, corrected[pair], test.interval, test.p
        )
        if (kind, name) == ("flat", best):
            row.by_size = sides.by_size(name, against)
        rows.append(row)
    return rows


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)


@dataclass(frozen=True)
class _Test:
    """The difference of two models, its interval and p-value, not corrected for the number of tests."""

    difference: float
    interval: list[float]
    p: float

    def reversed(self) -> _Test:
        """The same test with the models exchanged."""
        low, high = self.interval
        return _Test(-self.difference, [-high, -low], self.p)


class _Sides:
    """Answers of runs in the form that is compared, read once."""

    def __init__(self, experiment: Experiment, folder: RunFolder) -> None:
        self.experiment, self.folder = experiment, folder
        self._tables: dict[str, FloatArray] = {}
        self._values: dict[str, tuple[float, FloatArray]] = {}

    def compare(self, first: str, second: str) -> _Test:
        if self.experiment.measure not in _POOLED:
            return self._compare_resampled(first, second)
        return _tested(self._table(first), self._table(second), self.experiment.seed)

    def by_size(self, first: str, second: str) -> list[SizeComparison]:
        """The same for nodes of each number of training documents, by F1 of closed sets."""
        tax = self.experiment.taxonomy
        Y, A, B = (
            tax.close(sets, keep_root=False)
            for sets in (self.experiment.gold, self.folder.answers(first)[0], self.folder.answers(second)[0])
        )
        groups = size_groups(self.experiment)
        tests = []
        for _, _, nodes in groups:
            mine, other = (by_document(Y[:, nodes], sets[:, nodes]).table() for sets in (A, B))
            tests.append(_tested(mine, other, self.experiment.seed))
        corrected = metrics.holm([test.p for test in tests]).tolist() if tests else []
        return [
            SizeComparison(low, high, test.difference, p, test.interval, test.p)
            for (low, high, _), test, p in zip(groups, tests, corrected, strict=True)
        ]

    def _table(self, name: str) -> FloatArray:
        if name not in self._tables:
            H: CSR = self.folder.answers(name)[0]
            self._tables[name] = document_tables(self.experiment, H)[self.experiment.measure]
        return self._tables[name]

    def _compare_resampled(self, first: str, second: str) -> _Test:
        (value, drawn), (other, others) = (self._resampled(name) for name in (first, second))
        differences = drawn - others
        low, high = np.quantile(differences, [0.025, 0.975])
        z = abs(value - other) / max(float(differences.std(ddof=1)), 1e-12)
        return _Test(value - other, [float(low), float(high)], math.erfc(z / math.sqrt(2.0)))

    def _resampled(self, name: str) -> tuple[float, FloatArray]:
        """The measure of a run, and its values for resampled documents."""
        if name not in self._values:
            value, n_docs = self._measured(name), self.experiment.gold.shape[0]
            rng = np.random.default_rng(self.experiment.seed)  # the same resamples for all
            often = (np.bincount(rng.integers(0, n_docs, n_docs), minlength=n_docs) for _ in range(_RESAMPLES))
            self._values[name] = value(np.ones(n_docs)), np.array([value(weights) for weights in often])
        return self._values[name]

    def _measured(self, name: str) -> Callable[[IntArray | FloatArray], float]:
        """The measure of a run, for any weights of documents."""
        tax, gold = self.experiment.taxonomy, self.experiment.gold
        H, P = self.folder.answers(name)
        if self.experiment.measure != "au_prc":
            weighted = of_answers(self.experiment.measure, gold, H, tax)
            return lambda weights: float(weighted(np.asarray(weights, dtype=np.float64)[None])[0])
        assert P is not None
        given = as_node_scores(gold, P, tax, None, self.experiment.exclude)
        return _Area.of(given.S, given.Y)


class _Area:
    """Average precision over all pairs of document and node, for any weights of documents: sorted once."""

    def __init__(self, row: IntArray, truth: BoolArray) -> None:
        self.row, self.truth = row, truth

    @classmethod
    def of(cls, S: FloatArray, Y: BoolArray) -> _Area:
        """Pairs from the highest score to the lowest."""
        order = np.argsort(-S.ravel(), kind="stable")
        return cls((order // S.shape[1]).astype(np.int32), Y.ravel()[order])

    def __call__(self, weights: IntArray | FloatArray) -> float:
        w = np.asarray(weights, dtype=np.float64)[self.row]
        right = w * self.truth
        above = np.cumsum(right)
        return float((right * above / np.maximum(np.cumsum(w), 1e-300)).sum() / max(above[-1], 1e-300))


def _tested(A: FloatArray, B: FloatArray, seed: int) -> _Test:
    n_resamples = int(min(10_000, max(1_000, _DRAWS // max(len(A), 1))))
    tested = metrics.permutation_test(A, B, statistic=pooled_f1, n_resamples=n_resamples, random_state=seed)
    drawn = metrics.bootstrap(A, B, statistic=pooled_f1, n_resamples=n_resamples, random_state=seed)
    assert drawn.interval is not None
    return _Test(float(tested.statistic), list(drawn.interval), float(tested.p_value))


_MOST_NAMED = 3


def chosen_by_train(runs: list[Run], measure: str) -> Run | None:
    """The run of the best value on held-out training documents, as `linnaeus train` would choose; None without any.

    Among nearly equal ones it is the best of those that were measured with every document held out once.

    Examples
    --------
    >>> runs = [Run(model="BSVM", status="done", held_out=0.5), Run(model="RRSVM", status="done", held_out=0.6)]
    >>> chosen_by_train(runs, "micro_f1").model
    'RRSVM'
    """
    known = [run for run in runs if run.held_out is not None]
    if not known:
        return None
    best = max(known, key=lambda run: run.rank)
    near = [run for run in known if best.rank - run.rank <= near_tie(measure) and run.in_folds is not None]
    return best if best.in_folds is None else max(near, key=_rank_in_folds)


def _rank_in_folds(run: Run) -> float:
    return -math.inf if run.in_folds is None else run.in_folds + (run.allowance or 0.0)


def as_good(new: Run, earlier: Run, measure: str) -> bool:
    """Whether a longer run of the same model is as good as an earlier one, by the same held-out documents.

    It may have decided a near tie in folds, for a candidate that is a little worse on the held-out quarter.

    Examples
    --------
    >>> first, folded = Run(model="A", status="done", held_out=0.8), Run(model="A", status="done", held_out=0.795)
    >>> as_good(folded, first, "micro_f1")
    False
    >>> folded.in_folds = 0.81
    >>> as_good(folded, first, "micro_f1")
    True
    """
    if new.in_folds is not None and earlier.in_folds is not None:
        return _rank_in_folds(new) >= _rank_in_folds(earlier)
    less = near_tie(measure) if new.in_folds is not None else 0.0
    return new.status in MEASURED and new.rank >= earlier.rank - less


def choice(runs: list[Run], measure: str) -> str:
    """What `linnaeus train` would choose, in one sentence; empty where nothing was measured.

    Without held-out values there were too few documents to hold any out.

    Examples
    --------
    >>> run = Run(model="RRSVM", status="done", held_out=0.6, cut="expected")
    >>> choice([run], "micro_f1")
    'On held-out training documents linnaeus train would choose RRSVM (cut expected): micro-F1 0.6000.'
    """
    run = chosen_by_train(runs, measure)
    if run is None and any(one.status in MEASURED for one in runs):
        return f"There are too few training documents to hold any out: linnaeus train would take {FLAT} as it is."
    if run is None:
        return ""
    how = [f"features: {run.features}"] if run.features not in (None, PLAIN) else []
    how += [f"cut {run.cut}"] if run.cut not in (None, OWN) else []
    name = f"{run.model} ({', '.join(how)})" if how else run.model
    folds = "" if run.in_folds is None else f" ({run.in_folds:.4f} with every one held out once)"
    late = sum(one.status == "no time" for one in runs)
    of_these = f"; {late} {'model' if late == 1 else 'models'} had no time" if late else ""
    return (
        f"On held-out training documents linnaeus train would choose {name}: "
        f"{MAIN[measure]} {run.held_out:.4f}{folds}{of_these}."
    )


def sentence(runs: list[Run], comparisons: list[Comparison], measure: str) -> str:
    """One sentence from the runs and their comparisons, and one about joint models that are flat ones here.

    Examples
    --------
    >>> values = {"RRSVM": 0.5, "BSVM": 0.4}
    >>> runs = [Run(model=name, status="done", measures={"micro_f1": value}) for name, value in values.items()]
    >>> row = Comparison("RRSVM", "BSVM", "flat", "micro_f1", difference=0.1, p=0.0001)
    >>> sentence(runs, [row], "micro_f1")
    'RRSVM is best: 10.0 points of micro-F1 above flat BSVM (p < 0.001).'
    """
    order = ranked_by(runs, measure)
    flat_ends = [run.model for run in order if run.parameters.get("pull") == "inf"]
    said = _verdict(runs, order, comparisons, measure)
    if not flat_ends:
        return said
    they = "is a flat model" if len(flat_ends) == 1 else "are flat models"
    return f"{said} With the pull that was chosen (inf), {' and '.join(flat_ends)} {they} here."


def _verdict(runs: list[Run], order: list[Run], comparisons: list[Comparison], measure: str) -> str:
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
    if row.p < SIGNIFICANT and round(row.difference, 3) != 0:  # less than a tenth of a point is of no use to anybody
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
