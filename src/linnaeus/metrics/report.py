"""Everything that should be reported together, in one pass over the documents.

`evaluate` compares gold with predicted label sets, with scores, or with both. Label sets are counted once as given and
once closed, in blocks of documents, so that a million documents over a hundred thousand nodes need no more memory than
one block of closures beside the sets themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.losses import cost
from linnaeus.metrics import flat, hierarchical, ranking_measures
from linnaeus.metrics.auprc import au_prc
from linnaeus.metrics.ranking_input import Ranking, as_ranking
from linnaeus.metrics.sets import Counts, Pair, Score, added, as_pair, count, joined
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import FloatArray

__all__ = ["Report", "SetCounts", "count_sets", "evaluate"]

WHOLE = {"average_precision": ranking_measures.average_precision, "ranking_loss": ranking_measures.ranking_loss}


@dataclass(frozen=True)
class Report:
    """Measures by name, with breakdowns by level and by node and with counts of what went in.

    Parameters
    ----------
    scores : dict of str to Score
        The measures by name.
    about : dict
        Counts of what was compared.
    levels : list of dict
        One row per level.
    nodes : list of dict
        One row per node.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> report = evaluate([["AA"], ["AB"]], [["AA"], ["AA"]], taxonomy=tax)
    >>> report["hierarchical_f1"], report.levels[1]["f1"]
    (0.75, 0.5)
    """

    scores: dict[str, Score]
    about: dict[str, object]
    levels: list[hierarchical.LevelRow] = field(default_factory=list)
    nodes: list[flat.LabelRow] = field(default_factory=list)

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    def rows(self) -> list[tuple[str, Score, str]]:
        """(measure, value, convention) in the order of reporting."""
        return [(name, value, value.convention) for name, value in self.scores.items()]

    def to_dict(self, *, per_node: bool = False) -> dict[str, Any]:
        """Plain values for JSON."""
        answer: dict[str, object] = {
            # JSON has no NaN: a measure that no document defines is null
            "metrics": {name: None if value != value else float(value) for name, value in self.scores.items()},
            "conventions": {name: value.convention for name, value in self.scores.items()},
            "skipped": {name: value.n_skipped for name, value in self.scores.items() if value.n_skipped},
            **self.about,
            "levels": self.levels,
        }
        return {**answer, "nodes": self.nodes} if per_node else answer


def evaluate(
    gold: object,
    predicted: object = None,
    taxonomy: Taxonomy | None = None,
    *,
    scores: object = None,
    labels: Sequence[str] | None = None,
    probabilities: object = None,
    at: Sequence[int] = (1, 3, 5),
    absent: str = "zero",
    per_node: bool = False,
    seconds: float | None = None,
    model_bytes: int | None = None,
) -> Report:
    """All measures that the given answers allow.

    Parameters
    ----------
    gold, predicted : object
        Label sets in any form of `linnaeus.metrics.sets`; ``predicted`` may be None.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    scores : object, default=None
        Rankings in any form of `linnaeus.metrics.ranking_input`, with ``labels`` as names of columns; may be None.
        Average precision and ranking loss need whole rankings; of lists that are cut they are left out, as
        ``about["left_out"]`` says.
    labels : sequence of str, default=None
        Names of the columns of the scores; None: all nodes of the taxonomy.
    probabilities : array-like of shape (n_docs, n_nodes), default=None
        Probabilities of all nodes of the taxonomy, such as `node_probabilities` of a calibrated model: adds the pooled
        area under the precision-recall curve, AU(PRC).
    at : Sequence[int], default=(1, 3, 5)
        The k of the measures at k.
    absent : str, default="zero"
        What a label counts in the macro average that is neither gold nor predicted anywhere.
    per_node : bool, default=False
        Whether to list every node, too.
    seconds, model_bytes : float, default=None
        Reported as seconds per document and size of the model.

    Returns
    -------
    Report
        The measures by name, and tables by label and level where they were asked for.

    Examples
    --------
    >>> report = evaluate([["A"], ["B"]], [["A"], []])
    >>> report["micro_f1"], report["empty_predictions"]
    (0.6666666666666666, 0.5)
    """
    measured: dict[str, Score] = {}
    about: dict[str, object] = {}
    levels: list[hierarchical.LevelRow] = []
    nodes: list[flat.LabelRow] = []
    if predicted is not None:
        counts = count_sets(as_pair(gold, predicted, taxonomy))
        measured |= _flat_measures(counts, absent)
        about |= counts.about()
        table = counts.given_by_node
        if taxonomy is not None:
            measured |= _hierarchical_measures(counts)
            levels = hierarchical.level_rows(counts.closed_by_node, taxonomy)
            table = counts.closed_by_node
        if per_node:
            nodes = flat.table_rows(table, counts.pair.column_names())
    if scores is not None:
        given = as_ranking(gold, scores, taxonomy, labels)
        measured |= _ranking_measures(gold, given, at)
        about |= _about_ranking(given)
    if probabilities is not None and taxonomy is not None:
        measured["au_prc"] = au_prc(gold, probabilities, taxonomy)
    n_docs = counts.pair.n_docs if predicted is not None else next(iter(measured.values())).n if measured else 0
    about.setdefault("n_docs", n_docs)
    if seconds is not None:
        about["seconds_per_document"] = seconds / max(n_docs, 1)
    if model_bytes is not None:
        about["model_bytes"] = model_bytes
    return Report(measured, about, levels, nodes)


# -- label sets --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetCounts:
    """Counts of a pair per document and per node, of the sets as given and closed, and H-losses per document."""

    pair: Pair
    given: Counts
    given_by_node: Counts
    closed: Counts
    closed_by_node: Counts
    h_losses: dict[str, FloatArray]

    def about(self) -> dict[str, object]:
        """What went in."""
        taxonomy = self.pair.taxonomy
        return {
            "n_docs": self.pair.n_docs,
            "n_nodes": self.pair.n_known - (taxonomy is not None and taxonomy.root is not None),
            "n_labels_gold": int((self.given_by_node.gold > 0).sum()),
            "n_labels_predicted": int((self.given_by_node.predicted > 0).sum()),
            "labels_per_document": float(self.given.gold.mean()) if self.pair.n_docs else 0.0,
            "n_unseen_gold": self.pair.n_unseen_gold,
            "n_unknown_predicted": self.pair.n_unknown_predicted,
            "n_empty_gold": int((self.given.gold == 0).sum()),
            "root_counted": False,
        }


def count_sets(pair: Pair) -> SetCounts:
    """Count a pair block by block; without a taxonomy the closed counts are those of the sets as given."""
    weights = {}
    if pair.taxonomy is not None:
        weights = {scaling: hierarchical.weights_of(pair, scaling) for scaling in cost.SCALINGS}
    parts = [_count_block(block, weights) for block in pair.blocks()]
    return SetCounts(
        pair,
        joined([part[0] for part in parts]),
        added([part[1] for part in parts]),
        joined([part[2] for part in parts]),
        added([part[3] for part in parts]),
        {scaling: np.concatenate([part[4][scaling] for part in parts]) for scaling in weights},
    )


def _count_block(
    block: Pair, weights: dict[str, FloatArray]
) -> tuple[Counts, Counts, Counts, Counts, dict[str, FloatArray]]:
    given = count(block.Y, block.H)
    if block.taxonomy is None:
        return *given, *given, {}
    closed = block.closed()
    difference = cost.mismatches(closed.Y, closed.H)
    first = cost.first_mistakes(difference, block.taxonomy, parents_only=True)
    rows = row_numbers(difference.indptr)[first]
    nodes = difference.indices[first]
    losses: dict[str, FloatArray] = {
        scaling: np.bincount(rows, c[nodes], block.n_docs).astype(np.float64) for scaling, c in weights.items()
    }
    return *given, *count(closed.Y, closed.H), losses


def _flat_measures(counts: SetCounts, absent: str) -> dict[str, Score]:
    given, n = counts.given, counts.pair.n_docs
    pooled = given.total()
    found = {
        f"micro_{which}": Score(getattr(pooled, which)()[0], n, 0, "micro, labels as given")
        for which in ("precision", "recall", "f1")
    }
    columns = flat.universe_columns(counts.pair, counts.given_by_node, "labels")
    value, n_labels = flat.macro_mean(counts.given_by_node.take(columns), "f1", absent)
    found["macro_f1"] = Score(value, n, 0, f"macro over {n_labels} labels, absent labels: {absent}")
    if counts.pair.taxonomy is not None:
        columns = flat.universe_columns(counts.pair, counts.closed_by_node, "nodes")
        value, n_labels = flat.macro_mean(counts.closed_by_node.take(columns), "f1", absent)
        found["macro_f1_nodes"] = Score(value, n, 0, f"macro over {n_labels} nodes, closed, absent nodes: {absent}")
    found |= {f"example_{which}": Score.mean(getattr(given, which)()) for which in ("precision", "recall", "f1")}
    found["jaccard"] = Score.mean(given.jaccard())
    found["subset_accuracy"] = Score.mean((given.difference() == 0).astype(np.float64), "whole sets, labels as given")
    found["predicted_per_document"] = Score.mean(given.predicted, "mean size of the predicted sets, as given")
    found["empty_predictions"] = Score.mean((given.predicted == 0).astype(np.float64), "share of empty predicted sets")
    return found


def _hierarchical_measures(counts: SetCounts) -> dict[str, Score]:
    closed, n = counts.closed, counts.pair.n_docs
    pooled, note = closed.total(), "closed sets without the root"
    names = ("precision", "recall", "f1")
    found = {f"hierarchical_{which}": Score(getattr(pooled, which)()[0], n, 0, f"micro, {note}") for which in names}
    found["hierarchical_f1_document"] = Score.mean(closed.f1(), f"mean over documents, {note}")
    found["symmetric_difference"] = Score.mean(closed.difference(), note)
    assert counts.pair.taxonomy is not None
    n_columns = counts.pair.Y.shape[1] - (counts.pair.taxonomy.root is not None)
    found["hamming_loss"] = Score.mean(closed.difference() / max(n_columns, 1), f"{note}, {n_columns} nodes")
    for scaling, values in counts.h_losses.items():
        found[f"h_loss_{scaling}"] = Score.mean(values, f"{note}, {scaling} weights")
    return found


# -- rankings ----------------------------------------------------------------------------------------------------------


def _ranking_measures(gold: object, given: Ranking, at: Sequence[int]) -> dict[str, Score]:
    found = {"one_accuracy": ranking_measures.one_accuracy(gold, given)}
    for k in at:
        found[f"precision_at_{k}"] = ranking_measures.precision_at_k(gold, given, k)
        found[f"recall_at_{k}"] = ranking_measures.recall_at_k(gold, given, k)
        found[f"ndcg_at_{k}"] = ranking_measures.ndcg_at_k(gold, given, k)
    found["r_precision"] = ranking_measures.r_precision(gold, given)
    if given.is_whole:
        found |= {name: measure(gold, given) for name, measure in WHOLE.items()}
    taxonomy = given.taxonomy
    if taxonomy is not None and all(name in taxonomy for name in given.names):
        found["parent_accuracy"] = ranking_measures.parent_accuracy(gold, given, taxonomy)
        found["top_loss"] = ranking_measures.top_loss(gold, given, taxonomy)
    return found


def _about_ranking(given: Ranking) -> dict[str, object]:
    """What was ranked, and what could not be measured because of it."""
    said: dict[str, object] = {"n_labels_ranked": given.n_labels, "root_ranked": given.root_ranked}
    if not given.is_whole:
        least = int(given.n_listed.min())
        said["left_out"] = (
            f"{', '.join(WHOLE)}: they need rankings of all {given.n_labels:,} labels; one document has {least:,}"
        )
    return said
