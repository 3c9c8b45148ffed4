"""Which differences between runs are more than chance? Every model beside the best one and beside the best flat one.

F1 is compared by a paired permutation test over documents with a bootstrap interval. AU(PRC) is compared by the paired
bootstrap: the difference against its deviation over the same resamples of documents for all models, taken as normal, so
that few resamples are enough. All pairs are corrected together for their number (Holm); the pair of the best and the
best flat model, which belongs to both comparisons, is tested once and has one p-value. Best and best flat are chosen on
the same test documents; the nodes of few and of many training documents are looked at for the best beside flat.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linnaeus import metrics
from linnaeus.experiments.applicability import flat_models
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.kept import Kept
from linnaeus.experiments.measures import document_tables, pooled_f1, size_groups
from linnaeus.metrics.counts import by_document
from linnaeus.metrics.node_scores import as_node_scores
from linnaeus.typing import CSR, BoolArray, FloatArray

__all__ = ["SIGNIFICANT", "compare_runs", "ranked"]

SIGNIFICANT = 0.05
_DRAWS = 40_000_000  # documents drawn in all resamples of a test together
_AREAS = 200  # resamples of an area


def ranked(runs: list[dict[str, Any]], measure: str) -> list[dict[str, Any]]:
    """Runs with a value, best first; of equal ones the quicker first.

    Examples
    --------
    >>> runs = [{"model": m, "measures": {"f": v}, "seconds": {"fit": 1}} for m, v in (("A", 0.5), ("B", 0.7))]
    >>> [run["model"] for run in ranked([*runs, {"model": "C", "measures": {}}], "f")]
    ['B', 'A']
    """
    there = [run for run in runs if run.get("measures", {}).get(measure) is not None]
    return sorted(there, key=lambda run: (-run["measures"][measure], sum(run["seconds"].values())))


def compare_runs(experiment: Experiment, kept: Kept, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with model, against, kind ("best" or "flat"), measure, difference, interval, p, and by_size for the winner.

    ``difference`` is that of the model less the one it stands against; ``p`` is corrected, ``p_alone`` is not.
    """
    order = ranked(runs, experiment.measure)
    if not order:
        return []
    best = order[0]["model"]
    flat = next((run["model"] for run in order if run["model"] in flat_models()), None)
    sides = _Sides(experiment, kept)
    rows: list[dict[str, Any]] = []
    for kind, against in (("best", best), ("flat", flat)):
        if against is None:
            continue
        names = [run["model"] for run in order if run["model"] != against]
        rows += [{"model": name, "against": against, "kind": kind} for name in names]
    tested = {pair: sides.compare(*sorted(pair)) for pair in dict.fromkeys(map(_pair, rows))}
    corrected = (
        dict(zip(tested, metrics.holm([found["p_alone"] for found in tested.values()]), strict=True)) if tested else {}
    )
    for row in rows:
        found = tested[_pair(row)]
        row |= found if row["model"] < row["against"] else _reversed(found)
        row["p"] = float(corrected[_pair(row)])
    if flat is not None and best != flat:
        row = next(row for row in rows if row["kind"] == "flat" and row["model"] == best)
        row["by_size"] = sides.by_size(best, flat)
    return rows


def _pair(row: dict[str, Any]) -> frozenset[str]:
    return frozenset((row["model"], row["against"]))


def _reversed(found: dict[str, Any]) -> dict[str, Any]:
    """The same comparison seen from the other model."""
    low, high = found["interval"]
    return {**found, "difference": -found["difference"], "interval": [-high, -low]}


class _Sides:
    """Answers of runs in the form that is compared, read once."""

    def __init__(self, experiment: Experiment, kept: Kept) -> None:
        self.experiment, self.kept = experiment, kept
        self._tables: dict[str, FloatArray] = {}
        self._areas: dict[str, tuple[float, FloatArray]] = {}

    def compare(self, first: str, second: str) -> dict[str, Any]:
        measure = self.experiment.measure
        if measure == "au_prc":
            return {"measure": measure, **self._compare_areas(first, second)}
        A, B = self._table(first), self._table(second)
        return {"measure": measure, **_tested(A, B, self.experiment.seed)}

    def by_size(self, first: str, second: str) -> list[dict[str, Any]]:
        """The same for nodes of each number of training documents, by F1 of closed sets."""
        tax = self.experiment.taxonomy
        Y, A, B = (
            tax.close(sets, keep_root=False)
            for sets in (self.experiment.gold, self.kept.answers(first)[0], self.kept.answers(second)[0])
        )
        rows = []
        for low, high, nodes in size_groups(self.experiment):
            mine, other = (by_document(Y[:, nodes], sets[:, nodes]).table() for sets in (A, B))
            rows.append({"low": low, "high": high, **_tested(mine, other, self.experiment.seed)})
        for row, p in zip(rows, metrics.holm([row["p_alone"] for row in rows]) if rows else [], strict=True):
            row["p"] = float(p)
        return rows

    def _table(self, name: str) -> FloatArray:
        if name not in self._tables:
            H: CSR = self.kept.answers(name)[0]
            self._tables[name] = document_tables(self.experiment, H)[self.experiment.measure]
        return self._tables[name]

    def _compare_areas(self, first: str, second: str) -> dict[str, Any]:
        (value, drawn), (other, others) = (self._area(name) for name in (first, second))
        differences = drawn - others
        low, high = np.quantile(differences, [0.025, 0.975])
        z = abs(value - other) / max(float(differences.std(ddof=1)), 1e-12)
        return {
            "difference": value - other,
            "interval": [float(low), float(high)],
            "p_alone": math.erfc(z / math.sqrt(2.0)),
        }

    def _area(self, name: str) -> tuple[float, FloatArray]:
        """The area of a run, and those of resampled documents."""
        if name not in self._areas:
            P = self.kept.answers(name)[1]
            assert P is not None
            given = as_node_scores(self.experiment.gold, P, self.experiment.taxonomy, None, self.experiment.exclude)
            area, n_docs = _Area.of(given.S, given.Y), given.n_docs
            rng = np.random.default_rng(self.experiment.seed)  # the same resamples for all
            often = (np.bincount(rng.integers(0, n_docs, n_docs), minlength=n_docs) for _ in range(_AREAS))
            self._areas[name] = area(np.ones(n_docs)), np.array([area(weights) for weights in often])
        return self._areas[name]


class _Area:
    """Average precision over all pairs of document and node, for any weights of documents: sorted once."""

    def __init__(self, row: Any, truth: BoolArray) -> None:
        self.row, self.truth = row, truth

    @classmethod
    def of(cls, S: FloatArray, Y: BoolArray) -> _Area:
        """Pairs from the highest score to the lowest."""
        order = np.argsort(-S.ravel(), kind="stable")
        return cls((order // S.shape[1]).astype(np.int32), Y.ravel()[order])

    def __call__(self, weights: Any) -> float:
        w = np.asarray(weights, dtype=np.float64)[self.row]
        right = w * self.truth
        above = np.cumsum(right)
        return float((right * above / np.maximum(np.cumsum(w), 1e-300)).sum() / max(above[-1], 1e-300))


def _tested(A: FloatArray, B: FloatArray, seed: int) -> dict[str, Any]:
    n_resamples = int(min(10_000, max(1_000, _DRAWS // max(len(A), 1))))
    how: dict[str, Any] = {"statistic": pooled_f1, "n_resamples": n_resamples, "random_state": seed}
    tested, drawn = metrics.permutation_test(A, B, **how), metrics.bootstrap(A, B, **how)
    assert drawn.interval is not None
    return {"difference": float(tested.statistic), "interval": list(drawn.interval), "p_alone": float(tested.p_value)}
