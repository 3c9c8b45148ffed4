"""All measures of the answers of one model: flat, hierarchical and ranking measures, and breakdowns.

Label sets are measured as given and closed (`metrics.evaluate`). The nodes that are labels of training documents are
ranked by their scores; for a model that learns closed sets by probability, and if labels are the most specific nodes,
by the probability that a node is a label and none of its descendants. AU(PRC) and reliability use calibrated
probabilities of all nodes, where these fit into memory.

A fitted model answers in the forms that are evaluated: label sets, scores of label nodes, probabilities.

Calibration curves are fitted on scores of documents that the model has not seen. If the scores of all documents and
nodes take too much memory, only the best nodes of each document are ranked, and there are no probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from linnaeus import metrics
from linnaeus.auto.evaluate import MEASURES, PRECISION_AT_1, RANKING, check_measure
from linnaeus.decoding.probability.curves import Calibrator
from linnaeus.errors import ParameterError, nearest
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.records import (
    Confusion,
    Figures,
    LevelFigures,
    MeasureInfo,
    NodeFigures,
    ReliabilityBin,
    SiblingFigures,
    SizeFigures,
)
from linnaeus.metrics.confusion import confused_siblings, most_confused_parent
from linnaeus.metrics.sets import by_document, by_node
from linnaeus.models.classifier import Classifier
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = [
    "MAIN",
    "SIZES",
    "LabelScores",
    "ModelAnswers",
    "all_scores",
    "document_tables",
    "label_scores",
    "main_measure",
    "measure",
    "measures_of",
    "pooled_f1",
    "probabilities",
    "size_groups",
    "too_many",
]

LabelScores = FloatArray | tuple[IntArray, FloatArray]

_WHOLE = 10_000_000  # documents x nodes up to which all scores and probabilities are kept
_TOP = 100


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """The answers of a model to all test documents.

    ``H`` are label sets (n_docs x n_nodes), ``S`` scores of the label nodes (n_docs x n_labels), or their best columns
    and scores (n_docs x k each), or None, ``P`` probabilities of all nodes (n_docs x n_nodes) or None.
    """

    H: CSR
    S: LabelScores | None
    P: FloatArray | None = None


def too_many(X: Matrix, taxonomy: Taxonomy) -> bool:
    """Whether the scores of all nodes take too much memory."""
    return bool(X.shape[0] * taxonomy.n_nodes > _WHOLE)


def all_scores(model: Classifier, X: Matrix) -> FloatArray:
    """Scores of all nodes that the model can answer (n_docs x len(nodes_))."""
    return np.concatenate([np.asarray(block, dtype=np.float64) for block in model.score_blocks(X)])


def label_scores(
    model: Classifier, X: Matrix, labels: IntArray, calibrator: Calibrator | None
) -> tuple[LabelScores | None, FloatArray | None]:
    """Scores of the label nodes, all or the best of each document, and probabilities of all nodes."""
    taxonomy = model.taxonomy_
    if too_many(X, taxonomy):  # scores of closed sets rank ancestors before labels: without curves, no ranking
        return None if model.nested_ and not model.closed_ else _best_labels(model, X, labels), None
    S = all_scores(model, X)
    P = None if calibrator is None else probabilities(calibrator, S, model)
    if P is not None and model.nested_:  # scores of siblings, or of inner nodes, may not be comparable across levels
        return (P if model.closed_ else _most_specific(P, taxonomy))[:, labels], P
    low = float(S[np.isfinite(S)].min(initial=0.0)) - 1.0
    whole = np.full((len(S), taxonomy.n_nodes), low)
    whole[:, model.nodes_] = np.nan_to_num(S, neginf=low)
    return whole[:, labels], P


def probabilities(calibrator: Calibrator, S: FloatArray, model: Classifier) -> FloatArray:
    """Probabilities of all nodes of the taxonomy (n_docs x n_nodes); 0 for nodes that have no curve."""
    P = np.zeros((len(S), model.taxonomy_.n_nodes), dtype=np.float32)
    P[:, calibrator.nodes] = calibrator(S, model.taxonomy_, model.nodes_)
    return P


def _most_specific(P: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """Probability that a node is a label and none of its descendants: its P minus the largest P of its children.

    Models that learn closed sets score a node at least as high as its descendants; where documents are labelled with
    the most specific nodes, these have to be ranked.
    """
    parents, children = taxonomy.edges
    below = np.zeros_like(P)
    np.maximum.at(below.T, parents, P.T[children])
    return P - below


def _best_labels(model: Classifier, X: Matrix, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """Columns among the label nodes, -1 for others, and scores, of the best nodes of each document."""
    nodes, scores = model.top_nodes(X, _TOP)
    place = np.full(model.taxonomy_.n_nodes, -1)
    place[labels] = np.arange(len(labels))
    return place[nodes], scores


# Training documents of a node, from - to.
SIZES: tuple[tuple[int, int | None], ...] = ((1, 5), (6, 20), (21, 100), (101, None))
_AREA = "au_prc"  # the name of the ranking measure among all measures of a run
_SHOWN = {
    "hierarchical_f1": "hierarchical F1", "micro_f1": "micro-F1", "macro_f1": "macro-F1", "example_f1": "example F1",
    _AREA: "AU(PRC)",
}  # fmt: skip
# By which models may be compared. The first suggestions of runs are not kept, so that these cannot be compared.
MAIN = {key: _SHOWN[key] for key in (_AREA if name == RANKING else name for name in MEASURES if name != PRECISION_AT_1)}
_RESAMPLES = 1_000
_BINS = 10
_MOST_CONFUSED, _MOST_SIBLINGS = 50, 12
_LOWER = ("loss", "difference", "empty")  # in the names of measures for which lower is better
_FLAT = ("micro_", "macro_", "example_", "jaccard", "subset_", "predicted_per", "empty_")
_HIERARCHICAL = ("hierarchical_", "symmetric_", "hamming_", "h_loss")


def main_measure(given: str) -> str:
    """The key of a measure by which models are compared, from the names that `linnaeus train --measure` takes.

    Examples
    --------
    >>> main_measure("macro F1"), main_measure("average_precision")
    ('macro_f1', 'au_prc')
    """
    known = [name for name in MEASURES if name != PRECISION_AT_1]
    try:
        name = check_measure(given)
    except ParameterError:
        raise ParameterError(f"--measure {given}: expected {', '.join(known)}{nearest(given, known)}") from None
    if name == PRECISION_AT_1:
        raise ParameterError(
            f"--measure {given}: a shoot-out does not compare first suggestions; expected {', '.join(known)}."
        )
    return _AREA if name == RANKING else name


def measures_of(keys: Iterable[str], main: str) -> list[MeasureInfo]:
    """Names of measures, with their group and direction.

    Examples
    --------
    >>> measures_of(["micro_f1", "ranking_loss"], "micro_f1")[1].higher_is_better
    False
    """
    rows = []
    for key in keys:
        group = "flat" if key.startswith(_FLAT) else "hierarchical" if key.startswith(_HIERARCHICAL) else "ranking"
        name = MAIN.get(key, key.replace("_", " ").replace("f1", "F1"))
        better = not any(word in key for word in _LOWER)
        rows.append(MeasureInfo(key, name, group, better, main=key == main))
    return rows


def measure(experiment: Experiment, answers: ModelAnswers) -> Figures:
    """Measures, intervals and breakdowns."""
    tax, gold = experiment.taxonomy, experiment.gold
    names = tax.names[experiment.label_nodes].tolist()
    report = metrics.evaluate(gold, answers.H, tax, scores=answers.S, labels=names)
    measured: dict[str, float | None] = report.to_dict()["metrics"]
    reliability = None
    measured["au_prc"] = None
    if answers.P is not None:
        measured["au_prc"] = float(metrics.au_prc(gold, answers.P, tax, exclude=experiment.exclude))
        measured["brier"] = float(metrics.brier(gold, answers.P, tax))
        reliability = _reliability(experiment, answers.P)
    closed = [tax.close(Y, keep_root=False) for Y in (gold, answers.H)]
    return Figures(
        measures=measured,
        intervals=_intervals(experiment, answers.H),
        by_level=[
            LevelFigures(row["level"], row["n_nodes"], row["n_gold"], row["precision"], row["recall"], row["f1"])
            for row in report.levels
        ],
        by_size=_by_size(experiment, *closed),
        by_node=_by_node(experiment, *closed),
        confusion=_confusion(experiment, *closed),
        siblings=_siblings(experiment, *closed),
        reliability=reliability,
    )


# -- by document -------------------------------------------------------------------------------------------------------


def pooled_f1(totals: FloatArray) -> FloatArray:
    """F1 of sums (..., 3) of common, gold and predicted; 0 where there is nothing at all.

    Examples
    --------
    >>> pooled_f1(np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])).tolist()
    [0.5, 0.0]
    """
    below = totals[..., 1] + totals[..., 2]
    return np.asarray(np.divide(2 * totals[..., 0], below, out=np.zeros(below.shape), where=below > 0))


def document_tables(experiment: Experiment, H: CSR) -> dict[str, FloatArray]:
    """Sizes per document (n_docs x 3: common, gold, predicted) of sets as given ("micro_f1") and closed."""
    tax, gold = experiment.taxonomy, experiment.gold
    closed = by_document(tax.close(gold, keep_root=False), tax.close(H, keep_root=False))
    return {"hierarchical_f1": closed.table(), "micro_f1": by_document(gold, H).table()}


def _intervals(experiment: Experiment, H: CSR) -> dict[str, list[float]]:
    """Bootstrap intervals over documents."""
    intervals = {}
    for name, table in document_tables(experiment, H).items():
        drawn = metrics.bootstrap(table, statistic=pooled_f1, n_resamples=_RESAMPLES, random_state=experiment.seed)
        assert drawn.interval is not None
        intervals[name] = list(drawn.interval)
    return intervals


# -- by node -----------------------------------------------------------------------------------------------------------


def size_groups(experiment: Experiment) -> list[tuple[int, int | None, IntArray]]:
    """(from, to, nodes) by the number of training documents at or below a node; only groups with nodes."""
    n_docs = experiment.n_documents.copy()
    if experiment.taxonomy.root is not None:
        n_docs[experiment.taxonomy.root] = 0
    groups = [(low, high, np.flatnonzero((n_docs >= low) & (n_docs <= (high or n_docs.max())))) for low, high in SIZES]
    return [group for group in groups if len(group[2])]


def _by_size(experiment: Experiment, Y: CSR, H: CSR) -> list[SizeFigures]:
    counts = by_node(Y, H)
    rows = []
    for low, high, nodes in size_groups(experiment):
        f1 = float(pooled_f1(counts.take(nodes).total().table())[0])
        rows.append(SizeFigures(low, high, len(nodes), f1))
    return rows


def _by_node(experiment: Experiment, Y: CSR, H: CSR) -> list[NodeFigures]:
    """One row per node that is shown; ``node`` is its position among the nodes shown."""
    counts = by_node(Y, H).take(experiment.shown)
    n_train = experiment.n_documents[experiment.shown]
    shares = [np.round(values, 4).tolist() for values in (counts.precision(0.0), counts.recall(0.0), counts.f1(0.0))]
    return [
        NodeFigures(int(i), int(n_train[i]), int(counts.gold[i]), *(values[i] for values in shares))
        for i in np.flatnonzero((counts.gold + counts.predicted > 0) & (experiment.shown != experiment.taxonomy.root))
    ]


def _confusion(experiment: Experiment, Y: CSR, H: CSR) -> list[Confusion]:
    """How often a sibling was answered instead of a node, most frequent first."""
    place = np.full(experiment.taxonomy.n_nodes, -1)
    place[experiment.shown] = np.arange(len(experiment.shown))
    found = (
        Confusion(int(place[gold]), int(place[answered]), n)
        for gold, answered, n in confused_siblings(Y, H, experiment.taxonomy)
        if place[gold] >= 0 and place[answered] >= 0
    )
    return list(islice(found, _MOST_CONFUSED))


def _siblings(experiment: Experiment, Y: CSR, H: CSR) -> SiblingFigures | None:
    """The table of the siblings that are most often taken for each other."""
    tax = experiment.taxonomy
    parent = most_confused_parent(Y, H, tax)
    if parent is None and len(tax.tops) < 2:
        return None
    found = metrics.sibling_confusion(Y, H, tax, parent, max_children=_MOST_SIBLINGS)
    counts = (values.tolist() for values in (found.table, found.unanswered, found.documents))
    return SiblingFigures(found.names, found.parent, *counts)


def _reliability(experiment: Experiment, P: FloatArray) -> list[ReliabilityBin]:
    rows = []
    for row in metrics.reliability(experiment.gold, P, experiment.taxonomy, n_bins=_BINS):
        k = min(int(row["probability"] * _BINS), _BINS - 1)
        rows.append(ReliabilityBin(k / _BINS, (k + 1) / _BINS, int(row["n"]), row["probability"], row["frequency"]))
    return rows
