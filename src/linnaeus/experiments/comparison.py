"""Which differences between runs are significant? Every model against the best one and the best flat one.

F1 is compared by a paired permutation test over documents with a bootstrap interval. AU(PRC) is compared by the paired
bootstrap: the difference divided by its standard deviation over resamples of documents, the same for all models, is
taken as normal, so that few resamples are enough. P-values of all pairs are corrected together (Holm); the pair of the
best and the best flat model, which belongs to both comparisons, is tested once. Best and best flat are chosen on the
same test documents; these two are also compared on nodes with few and with many training documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linnaeus import metrics
from linnaeus.experiments.candidates import flat_models
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.measures import document_tables, pooled_f1, size_groups
from linnaeus.experiments.records import Comparison, Run, SizeComparison, ranked_by
from linnaeus.experiments.run_folder import RunFolder
from linnaeus.metrics.counts import by_document
from linnaeus.metrics.node_scores import as_node_scores
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["SIGNIFICANT", "compare_runs"]

SIGNIFICANT = 0.05
_DRAWS = 40_000_000  # documents drawn in all resamples of a test together
_AREAS = 200  # resamples of an area


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
        self._areas: dict[str, tuple[float, FloatArray]] = {}

    def compare(self, first: str, second: str) -> _Test:
        if self.experiment.measure == "au_prc":
            return self._compare_areas(first, second)
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

    def _compare_areas(self, first: str, second: str) -> _Test:
        (value, drawn), (other, others) = (self._area(name) for name in (first, second))
        differences = drawn - others
        low, high = np.quantile(differences, [0.025, 0.975])
        z = abs(value - other) / max(float(differences.std(ddof=1)), 1e-12)
        return _Test(value - other, [float(low), float(high)], math.erfc(z / math.sqrt(2.0)))

    def _area(self, name: str) -> tuple[float, FloatArray]:
        """The area of a run, and the areas of resampled documents."""
        if name not in self._areas:
            P = self.folder.answers(name)[1]
            assert P is not None
            given = as_node_scores(self.experiment.gold, P, self.experiment.taxonomy, None, self.experiment.exclude)
            area, n_docs = _Area.of(given.S, given.Y), given.n_docs
            rng = np.random.default_rng(self.experiment.seed)  # the same resamples for all
            often = (np.bincount(rng.integers(0, n_docs, n_docs), minlength=n_docs) for _ in range(_AREAS))
            self._areas[name] = area(np.ones(n_docs)), np.array([area(weights) for weights in often])
        return self._areas[name]


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
