"""Measures on label sets that know nothing of the hierarchy.

Label-based: *micro* pools the counts of all labels, *macro* is the mean over labels of each label's own value (macro-F1
is a mean of F1, not the F1 of mean precision and mean recall). Example-based: the mean over documents of #(Y & H)/#H,
#(Y & H)/#Y and 2#(Y & H)/(#Y + #H). Gold and predicted come in any form of `linnaeus.metrics.sets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np

from linnaeus.errors import DataError, ParameterError, check_choice, nearest
from linnaeus.metrics.sets import Counts, Pair, Score, as_pair, by_document, by_node
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray

__all__ = [
    "example_f1",
    "example_precision",
    "example_recall",
    "jaccard",
    "label_table",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "subset_accuracy",
    "zero_one_loss",
]

ABSENT = {"zero": 0.0, "one": 1.0}


class LabelRow(TypedDict):
    """What `label_table` says of one label."""

    label: str
    n_gold: int
    n_predicted: int
    n_right: int
    precision: float
    recall: float
    f1: float


class MacroOptions(TypedDict, total=False):
    """Options of macro averages; see `macro_f1`."""

    absent: str
    universe: str | Sequence[str]


# -- micro -------------------------------------------------------------------------------------------------------------


def micro_precision(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """Share of the predicted labels that are right, all documents pooled.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    zero_division : float, default=None
        Value of 0/0; None: 1 where both sides are empty, else 0.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> micro_precision([["A"], ["B"]], [["A", "B"], ["B"]])
    0.6666666666666666
    """
    return _micro("precision", gold, predicted, taxonomy, zero_division)


def micro_recall(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """Share of the gold labels that are found, all documents pooled.

    Parameters
    ----------
    gold, predicted, taxonomy, zero_division : labels, Taxonomy, float
        As for `micro_precision`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> micro_recall([["A"], ["B"]], [["A", "B"], []])
    0.5
    """
    return _micro("recall", gold, predicted, taxonomy, zero_division)


def micro_f1(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """F1 of the counts of all labels and documents pooled.

    Parameters
    ----------
    gold, predicted, taxonomy, zero_division : labels, Taxonomy, float
        As for `micro_precision`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> micro_f1([["A"], ["B"]], [["A", "B"], []])
    0.5
    """
    return _micro("f1", gold, predicted, taxonomy, zero_division)


def _micro(
    which: str, gold: object, predicted: object, taxonomy: Taxonomy | None, zero_division: float | None
) -> Score:
    pair = as_pair(gold, predicted, taxonomy)
    value = getattr(by_document(pair.Y, pair.H).total(), which)(zero_division)[0]
    return Score(value, pair.n_docs, 0, f"micro, labels as given, {zero_rule(zero_division)}")


def zero_rule(zero_division: float | None) -> str:
    """The convention on 0/0 in words."""
    return "empty vs empty counts 1" if zero_division is None else f"0/0 counts {zero_division:g}"


# -- macro -------------------------------------------------------------------------------------------------------------


def macro_precision(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, **options: Unpack[MacroOptions]
) -> Score:
    """Mean over labels of their precision; see `macro_f1`.

    Parameters
    ----------
    gold, predicted, taxonomy, **options : labels, Taxonomy, options
        As for `macro_f1`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> macro_precision([["A"], ["B"]], [["A"], ["A"]])
    0.25
    """
    return _macro("precision", gold, predicted, taxonomy, **options)


def macro_recall(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, **options: Unpack[MacroOptions]
) -> Score:
    """Mean over labels of their recall; see `macro_f1`.

    Parameters
    ----------
    gold, predicted, taxonomy, **options : labels, Taxonomy, options
        As for `macro_f1`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> macro_recall([["A"], ["B"]], [["A"], ["A"]])
    0.5
    """
    return _macro("recall", gold, predicted, taxonomy, **options)


def macro_f1(
    gold: object,
    predicted: object,
    taxonomy: Taxonomy | None = None,
    *,
    absent: str = "zero",
    universe: str | Sequence[str] = "labels",
) -> Score:
    """Mean over labels of their F1.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    absent : str, default="zero"
        What a label counts that is neither gold nor predicted anywhere: "zero", "one", or "skip" to leave it out.
    universe : str or Sequence[str], default="labels"
        "labels": the leaves of the taxonomy and every other node that occurs as a label (without a taxonomy: the labels
        that occur); "nodes": all nodes but the root, after closing both sides; or a list of labels.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A", "B", "C", "D"])
    >>> macro_f1([["A"], ["B"]], [["A"], []], tax), macro_f1([["A"], ["B"]], [["A"], []], tax, absent="skip")
    (0.25, 0.5)
    """
    return _macro("f1", gold, predicted, taxonomy, absent=absent, universe=universe)


def _macro(
    which: str,
    gold: object,
    predicted: object,
    taxonomy: Taxonomy | None,
    *,
    absent: str = "zero",
    universe: str | Sequence[str] = "labels",
) -> Score:
    pair = as_pair(gold, predicted, taxonomy)
    if universe == "nodes":
        pair = pair.closed()
    counts = by_node(pair.Y, pair.H)
    columns = universe_columns(pair, counts, universe)
    value, n_labels = macro_mean(counts.take(columns), which, absent)
    over = universe if isinstance(universe, str) else "given labels"
    return Score(value, pair.n_docs, 0, f"macro over {n_labels} {over}, absent labels: {absent}")


def universe_columns(pair: Pair, counts: Counts, universe: str | Sequence[str]) -> IntArray:
    """Columns that a macro average runs over."""
    if not isinstance(universe, str):
        index_of = {name: i for i, name in enumerate(pair.column_names())}
        missing = [label for label in universe if label not in index_of]
        if missing:
            raise DataError(f"Label {missing[0]!r} of `universe` occurs nowhere{nearest(str(missing[0]), index_of)}")
        return np.array([index_of[label] for label in universe], dtype=np.int64)
    if universe not in ("labels", "nodes"):
        raise ParameterError(f"universe={universe!r} is not 'labels', 'nodes' or a list of labels.")
    chosen = np.ones(len(counts), dtype=bool)
    if pair.taxonomy is not None:
        if universe == "labels":
            chosen[: pair.n_known] = pair.taxonomy.is_leaf | (counts.gold + counts.predicted > 0)[: pair.n_known]
        elif pair.taxonomy.root is not None:
            chosen[pair.taxonomy.root] = False
    return np.flatnonzero(chosen)


def macro_mean(counts: Counts, which: str = "f1", absent: str = "zero") -> tuple[float, int]:
    """Mean over labels of precision, recall or f1, and the number of labels it runs over."""
    check_choice("absent", absent, (*ABSENT, "skip"))
    values = label_values(counts, which, ABSENT.get(absent, np.nan))
    values = values[~np.isnan(values)]
    return (float(values.mean()) if len(values) else 0.0), len(values)


def label_values(counts: Counts, which: str = "f1", absent: float = 0.0) -> FloatArray:
    """Precision, recall or f1 per label; ``absent`` where it is neither gold nor predicted."""
    values: FloatArray = getattr(counts, which)()
    return np.where(counts.gold + counts.predicted > 0, values, absent)


def label_table(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, close: bool = False
) -> list[LabelRow]:
    """One row per label that occurs: label, n_gold, n_predicted, n_right, precision, recall, f1.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    close : bool, default=False
        Whether ancestors are added.

    Returns
    -------
    list of dict
        A row for each label.

    Examples
    --------
    >>> label_table([["A"], ["A"]], [["A"], []])[0]["f1"]
    0.6666666666666666
    """
    pair = as_pair(gold, predicted, taxonomy)
    pair = pair.closed() if close else pair
    return table_rows(by_node(pair.Y, pair.H), pair.column_names())


def table_rows(counts: Counts, names: Sequence[str]) -> list[LabelRow]:
    """Rows of `label_table` from counts per label."""
    columns = np.flatnonzero(counts.gold + counts.predicted > 0)
    some = counts.take(columns)
    sizes = (some.gold.astype(int), some.predicted.astype(int), some.common.astype(int))
    ratios = (some.precision(), some.recall(), some.f1())
    numbers = zip(*(a.tolist() for a in (*sizes, *ratios)), strict=True)
    return [
        LabelRow(label=names[i], n_gold=y, n_predicted=h, n_right=both, precision=p, recall=r, f1=f)
        for i, (y, h, both, p, r, f) in zip(columns.tolist(), numbers, strict=True)
    ]


# -- example-based -----------------------------------------------------------------------------------------------------


def example_precision(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """Mean over documents of the share of predicted labels that are right (EBP).

    Parameters
    ----------
    gold, predicted, taxonomy, zero_division : labels, Taxonomy, float
        As for `micro_precision`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> example_precision([["A"], ["B"]], [["A", "B"], ["B"]])
    0.75
    """
    return _example("precision", gold, predicted, taxonomy, zero_division)


def example_recall(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """Mean over documents of the share of gold labels that are found (EBR).

    Parameters
    ----------
    gold, predicted, taxonomy, zero_division : labels, Taxonomy, float
        As for `micro_precision`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> example_recall([["A", "B"], ["B"]], [["A"], ["B"]])
    0.75
    """
    return _example("recall", gold, predicted, taxonomy, zero_division)


def example_f1(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """Mean over documents of F1 (EBF): a mean of F, not the F of EBP and EBR.

    Parameters
    ----------
    gold, predicted, taxonomy, zero_division : labels, Taxonomy, float
        As for `micro_precision`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> example_f1([["A", "B"], ["B"]], [["A", "C"], ["B"]])
    0.75
    """
    return _example("f1", gold, predicted, taxonomy, zero_division)


def jaccard(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, zero_division: float | None = None
) -> Score:
    """Mean over documents of intersection over union.

    Parameters
    ----------
    gold, predicted, taxonomy, zero_division : labels, Taxonomy, float
        As for `micro_precision`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> jaccard([["A", "B"], ["B"]], [["A"], ["B"]])
    0.75
    """
    return _example("jaccard", gold, predicted, taxonomy, zero_division)


def subset_accuracy(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Share of documents whose predicted set is exactly the gold set.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> subset_accuracy([["A", "B"], ["B"]], [["A"], ["B"]])
    0.5
    """
    pair = as_pair(gold, predicted, taxonomy)
    equal = by_document(pair.Y, pair.H).difference() == 0
    return Score.mean(equal.astype(np.float64), "whole sets, labels as given")


def zero_one_loss(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Share of documents whose predicted set is not exactly the gold set.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Returns
    -------
    Score
        The share; 0 is best.

    Examples
    --------
    >>> zero_one_loss([["A", "B"], ["B"]], [["A"], ["B"]])
    0.5
    """
    right = subset_accuracy(gold, predicted, taxonomy)
    return Score(1.0 - right, right.n, right.n_skipped, right.convention)


def _example(
    which: str, gold: object, predicted: object, taxonomy: Taxonomy | None, zero_division: float | None
) -> Score:
    pair = as_pair(gold, predicted, taxonomy)
    values = getattr(by_document(pair.Y, pair.H), which)(zero_division)
    return Score.mean(values, f"mean over documents, {zero_rule(zero_division)}")
