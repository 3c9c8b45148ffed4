from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.errors import DataError, ParameterError
from tests.metrics.worked import GOLD, LEAVES, PREDICTED, TAX
from tests.strategies import label_sets, taxonomies

SETS = st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        (metrics.micro_precision, 0.5),
        (metrics.micro_recall, 0.4),
        (metrics.micro_f1, 0.4444),
        (metrics.macro_precision, 0.25),
        (metrics.macro_recall, 0.25),
        (metrics.macro_f1, 0.25),
        (metrics.example_precision, 0.375),
        (metrics.example_recall, 0.375),
        (metrics.example_f1, 0.375),
        (metrics.jaccard, 0.3333),
        (metrics.zero_one_loss, 0.75),
        (metrics.subset_accuracy, 0.25),
    ],
)
def test_worked_example(measure, value):
    assert measure(GOLD, PREDICTED, TAX) == pytest.approx(value, abs=1e-4)
    assert measure(GOLD, PREDICTED) == pytest.approx(value, abs=1e-4)
    assert measure(GOLD, PREDICTED).n == 4


def test_worked_counts_per_label():
    rows = {row["label"]: row for row in metrics.label_table(GOLD, PREDICTED, TAX)}
    counts = {
        label: (row["n_right"], row["n_predicted"] - row["n_right"], row["n_gold"] - row["n_right"])
        for label, row in rows.items()
    }
    assert counts == {"AA": (2, 0, 0), "AB": (0, 1, 1), "BA": (0, 0, 1), "BB": (0, 1, 1)}


@given(SETS, st.randoms())
@settings(max_examples=40)
def test_agrees_with_scikit_learn(gold, random):
    from sklearn import metrics as sk

    predicted = [set(random.sample("abcd", random.randint(0, 4))) for _ in gold]
    tax = Taxonomy.flat("abcd")
    Y, H = (tax.indicator(map(sorted, side)).toarray() for side in (gold, predicted))
    options = {"zero_division": 0.0}
    assert metrics.micro_f1(Y, H, tax, zero_division=0.0) == pytest.approx(
        sk.f1_score(Y, H, average="micro", **options)
    )
    assert metrics.macro_f1(Y, H, tax) == pytest.approx(sk.f1_score(Y, H, average="macro", **options))
    assert metrics.macro_recall(Y, H, tax) == pytest.approx(sk.recall_score(Y, H, average="macro", **options))
    ours = metrics.example_precision(gold, predicted, zero_division=0.0)
    assert ours == pytest.approx(sk.precision_score(Y, H, average="samples", **options))
    assert metrics.example_f1(Y, H, tax, zero_division=0.0) == pytest.approx(
        sk.f1_score(Y, H, average="samples", **options)
    )
    assert metrics.subset_accuracy(Y, H) == pytest.approx(sk.accuracy_score(Y, H))


@given(st.data())
@settings(max_examples=60)
def test_perfect_answers_are_perfect_and_order_does_not_matter(data):
    tax = data.draw(taxonomies())
    gold = data.draw(label_sets(tax))
    predicted = [data.draw(st.permutations(gold))[0] for _ in gold]
    for measure in (metrics.micro_f1, metrics.example_f1, metrics.jaccard, metrics.subset_accuracy):
        assert measure(gold, gold, tax) == 1
    order = data.draw(st.permutations(range(len(gold))))
    shuffled = [gold[i] for i in order], [predicted[i] for i in order]
    for measure in (metrics.micro_f1, metrics.macro_f1, metrics.example_f1, metrics.zero_one_loss):
        assert measure(*shuffled, tax) == pytest.approx(measure(gold, predicted, tax))


@given(SETS, st.randoms())
@settings(max_examples=100)
def test_example_f1_is_at_most_twice_the_smaller_of_precision_and_recall(gold, random):
    predicted = [set(random.sample("abcd", random.randint(0, 4))) for _ in gold]
    bound = 2 * min(metrics.example_precision(gold, predicted), metrics.example_recall(gold, predicted))
    assert metrics.example_f1(gold, predicted) <= bound + 1e-12


def test_empty_sets():
    assert metrics.example_f1([[]], [[]]) == 1
    assert metrics.micro_f1([[]], [[]]) == 1
    assert metrics.example_precision([["A"]], [[]]) == 0
    assert metrics.example_recall([[]], [["A"]]) == 0
    assert metrics.example_precision([["A"]], [[]], zero_division=1.0) == 1
    assert metrics.example_f1([[]], [[]], zero_division=0.0) == 0


def test_absent_labels_count_zero_or_one_or_not_at_all():
    gold, predicted = [["AA"], ["AB"]], [["AA"], []]
    values = {rule: metrics.macro_f1(gold, predicted, TAX, absent=rule) for rule in ("zero", "one", "skip")}
    assert values == {"zero": 0.25, "one": 0.75, "skip": 0.5}
    with pytest.raises(ParameterError, match="did you mean 'skip'"):
        metrics.macro_f1(gold, predicted, TAX, absent="skipp")


def test_the_universe_of_labels():
    assert metrics.macro_f1(GOLD, PREDICTED, TAX, universe="nodes") == pytest.approx((0.8 + 2 / 3 + 1) / 6)
    assert metrics.macro_f1(GOLD, PREDICTED, TAX, universe=["AA"]) == 1
    # an internal node that is used as a label joins the leaves
    assert metrics.macro_f1([["A"]], [["A"]], TAX) == pytest.approx(1 / 5)
    assert "5 labels" in metrics.macro_f1([["A"]], [["A"]], TAX).convention
    with pytest.raises(DataError, match="'Q' of `universe` occurs nowhere"):
        metrics.macro_f1(GOLD, PREDICTED, TAX, universe=["Q"])
    with pytest.raises(ParameterError, match="universe='leaves'"):
        metrics.macro_f1(GOLD, PREDICTED, TAX, universe="leaves")


def test_unseen_gold_labels_can_only_be_missed():
    assert metrics.micro_recall([["AA", "ZZ"]], [["AA", "ZZ"]], TAX) == 0.5
    assert metrics.micro_precision([["AA"]], [["AA", "ZZ"]], TAX) == 0.5
    assert metrics.micro_f1([["AA", "ZZ"]], [["AA", "ZZ"]]) == 1  # no taxonomy, nothing is unknown


def test_indicator_columns_are_the_names_of_the_taxonomy():
    Y, H = TAX.indicator(GOLD), TAX.indicator(PREDICTED)
    assert metrics.macro_f1(Y, H, TAX) == metrics.macro_f1(GOLD, PREDICTED, TAX)
    assert metrics.macro_f1(Y.toarray(), H.toarray(), TAX, universe=LEAVES) == 0.25
    assert metrics.micro_f1(np.array(["a"]), np.array(["b"])) == 0
