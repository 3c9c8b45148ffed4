from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.errors import DataError, ParameterError
from linnaeus.metrics.sets import Counts, as_pair, by_document
from tests.metrics.worked import FOREST, GOLD, PREDICTED, TAX
from tests.strategies import label_sets, taxonomies


@pytest.mark.parametrize("tax", [TAX, FOREST], ids=["root", "forest"])
@pytest.mark.parametrize(
    ("measure", "options", "value"),
    [
        (metrics.hierarchical_precision, {}, 5 / 7),
        (metrics.hierarchical_recall, {}, 0.5),
        (metrics.hierarchical_f1, {}, 0.5882),
        (metrics.hierarchical_precision, {"average": "document"}, 0.5417),
        (metrics.hierarchical_recall, {"average": "document"}, 0.5),
        (metrics.hierarchical_f1, {"average": "document"}, 0.5179),
        (metrics.symmetric_difference, {}, 1.75),
        (metrics.symmetric_difference, {"close": False}, 1.25),
        (metrics.hamming_loss, {}, 0.2917),
        (metrics.h_loss, {}, 1.25),
        (metrics.h_loss, {"scaling": "sibling"}, 0.4375),
        (metrics.h_loss, {"scaling": "subtree"}, 0.3214),
        (metrics.h_tilde_loss, {"scaling": "subtree"}, 0.3214),
        (metrics.tree_induced_error, {}, 1.75),
        (metrics.taxonomy_loss, {"half": True}, 0.875),
    ],
)
def test_worked_example(measure, options, value, tax):
    assert measure(GOLD, PREDICTED, tax, **options) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(
    ("scaling", "per_document"),
    [
        ("uniform", [0, 2, 2, 1]),
        ("sibling", [0, 0.75, 0.5, 0.5]),
        ("subtree", [0, 0.5714, 0.2857, 0.4286]),
    ],
)
def test_worked_h_loss_per_document(scaling, per_document):
    pairs = zip(GOLD, PREDICTED, strict=True)
    assert [metrics.h_loss([g], [p], TAX, scaling=scaling) for g, p in pairs] == pytest.approx(per_document, abs=1e-4)


def test_worked_taxonomy_losses():
    assert metrics.taxonomy_loss(["BA"], ["BB"], TAX) == 2
    assert metrics.taxonomy_loss(["BA"], ["BB"], TAX, half=True) == 1
    assert metrics.normalised_taxonomy_loss(["BA"], ["BB"], TAX) == 0.5


def test_worked_levels():
    rows = metrics.level_scores(GOLD, PREDICTED, TAX)
    found = [(row["level"], row["precision"], row["recall"], row["f1"]) for row in rows]
    assert found[0] == pytest.approx((1, 1.0, 0.6, 0.75), abs=1e-4)
    assert found[1] == pytest.approx((2, 0.5, 0.4, 0.4444), abs=1e-4)


def test_worked_sizes_of_closed_sets_and_what_is_not_done():
    pair = as_pair(GOLD, PREDICTED, TAX).closed()
    counts = by_document(pair.Y, pair.H)
    sizes = [side.tolist() for side in (counts.gold, counts.predicted, counts.common)]
    assert sizes == [[2, 4, 2, 2], [2, 3, 2, 0], [2, 2, 1, 0]]
    # counting the root on both sides of every document would flatter
    with_root = Counts(counts.common + 1, counts.gold + 1, counts.predicted + 1).total()
    flattered = with_root.precision()[0], with_root.recall()[0], with_root.f1()[0]
    assert flattered == pytest.approx((0.8182, 0.6429, 0.72), abs=1e-4)
    # and the mean of F is not the F of the means
    P, R = counts.precision().mean(), counts.recall().mean()
    assert 2 * P * R / (P + R) == pytest.approx(0.52, abs=1e-4)
    assert metrics.hierarchical_f1(GOLD, PREDICTED, TAX, average="document") == pytest.approx(0.5179, abs=1e-4)


def test_the_root_as_a_label_says_nothing():
    with_root = [[*labels, "R"] for labels in PREDICTED]
    assert metrics.hierarchical_f1(GOLD, with_root, TAX) == metrics.hierarchical_f1(GOLD, PREDICTED, TAX)
    assert metrics.hierarchical_f1([["R"]], [["R"]], TAX) == 1


@given(st.data())
@settings(max_examples=100)
def test_counts_are_those_of_sets_of_ancestors(data):
    tax = data.draw(taxonomies())
    gold = data.draw(label_sets(tax))
    predicted = [data.draw(st.sampled_from(gold)) for _ in gold]

    def closed(labels):
        return {int(a) for label in labels for a in tax.ancestors(label)} - {tax.root}

    sets = [(closed(g), closed(p)) for g, p in zip(gold, predicted, strict=True)]
    common, n_gold, n_predicted = (sum(map(len, part)) for part in zip(*((g & p, g, p) for g, p in sets), strict=True))
    expected = 2 * common / (n_gold + n_predicted) if n_gold + n_predicted else 1.0
    assert metrics.hierarchical_f1(gold, predicted, tax) == pytest.approx(expected)
    assert metrics.symmetric_difference(gold, predicted, tax) == pytest.approx(np.mean([len(g ^ p) for g, p in sets]))
    # closing is idempotent, and the first mistakes are among the mistakes
    Yc, Hc = tax.close(tax.indicator(gold), keep_root=False), tax.close(tax.indicator(predicted), keep_root=False)
    assert metrics.hierarchical_f1(Yc, Hc, tax) == pytest.approx(expected)
    assert metrics.h_loss(gold, predicted, tax) <= metrics.symmetric_difference(gold, predicted, tax) + 1e-12
    # counting the root as well could only flatter where both sides are there
    both = [i for i, (g, p) in enumerate(sets) if g and p]
    counts = by_document(Yc, Hc).take(np.array(both, dtype=int))
    assert (counts.f1() <= 2 * (counts.common + 1) / (counts.gold + counts.predicted + 2) + 1e-12).all()


@given(st.data())
@settings(max_examples=60)
def test_renumbering_the_nodes_changes_nothing(data):
    tax = data.draw(taxonomies())
    gold = data.draw(label_sets(tax))
    predicted = gold[::-1]
    child = np.repeat(np.arange(tax.n_nodes), np.diff(tax.parent_indptr))
    edges = [(tax.names[p], tax.names[c]) for p, c in zip(tax.parent_indices, child, strict=True)]
    root = None if tax.root is None else tax.names[tax.root]
    other = Taxonomy.from_edges(edges, nodes=tax.names[::-1], root=root, kind=tax.kind)
    for measure in (metrics.hierarchical_f1, metrics.hamming_loss, metrics.macro_f1, metrics.lca_f1):
        assert measure(gold, predicted, tax) == pytest.approx(measure(gold, predicted, other))
    for scaling in ("uniform", "sibling", "subtree"):
        ours = metrics.h_loss(gold, predicted, tax, scaling=scaling)
        assert ours == pytest.approx(metrics.h_loss(gold, predicted, other, scaling=scaling))


def test_losses_of_perfect_answers_are_zero():
    for loss in (metrics.h_loss, metrics.hamming_loss, metrics.tree_induced_error, metrics.normalised_taxonomy_loss):
        assert loss(GOLD, GOLD, TAX) == 0


def test_weights_replace_counting():
    weights = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert metrics.hierarchical_f1(GOLD, PREDICTED, TAX, weights=weights) == pytest.approx(10 / 17)
    only_leaves = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    assert metrics.hierarchical_f1(GOLD, PREDICTED, TAX, weights=only_leaves) == metrics.micro_f1(GOLD, PREDICTED)
    with pytest.raises(ParameterError, match="one per node"):
        metrics.hierarchical_f1(GOLD, PREDICTED, TAX, weights=np.ones(3))


@pytest.mark.parametrize("which", ["precision", "recall", "f1"])
@pytest.mark.parametrize("average", ["micro", "document"])
def test_a_document_of_weight_two_counts_as_two_documents(which, average):
    measure = getattr(metrics, f"hierarchical_{which}")
    weights, times = [2, 1, 0, 3], [0, 0, 1, 3, 3, 3]
    twice = measure([GOLD[i] for i in times], [PREDICTED[i] for i in times], TAX, average=average)
    found = measure(GOLD, PREDICTED, TAX, average=average, sample_weight=weights)
    assert found == pytest.approx(twice)
    assert found != pytest.approx(measure(GOLD, PREDICTED, TAX, average=average))
    assert "over weighted documents" in found.convention
    assert measure(GOLD, PREDICTED, TAX, average=average, sample_weight=[7] * 4) == pytest.approx(
        measure(GOLD, PREDICTED, TAX, average=average)
    )


def test_wrong_document_weights_are_named():
    with pytest.raises(DataError, match=r"sample_weight.shape == \(3,\)"):
        metrics.hierarchical_f1(GOLD, PREDICTED, TAX, sample_weight=[1, 1, 1])


def test_known_ancestors_of_an_unseen_label_count_where_they_are_given_with_it():
    assert metrics.hierarchical_recall([["A", "A-new"]], [["AA"]], TAX) == 0.5
    assert metrics.hierarchical_recall([["A-new"]], [["AA"]], TAX) == 0
    assert metrics.symmetric_difference([["ZZ"]], [["AA"]], TAX) == 3
    assert metrics.h_loss([["ZZ"]], [["AA"]], TAX) == 2


def test_scikit_learn_scorers_work():
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import cross_val_score

    scorer = make_scorer(metrics.hierarchical_f1, taxonomy=TAX)
    Y = TAX.indicator(GOLD * 5).toarray()
    values = cross_val_score(
        DummyClassifier(strategy="uniform", random_state=0), np.zeros((20, 1)), Y, scoring=scorer, cv=4
    )
    assert values.shape == (4,)
    assert ((values > 0) & (values < 1)).all()
    one = np.array(["AA", "AB", "BA", "BB"] * 5)
    values = cross_val_score(DummyClassifier(), np.zeros((20, 1)), one, scoring=scorer, cv=2)
    assert ((values > 0) & (values < 1)).all()


def test_undirected_graphs_have_no_ancestors():
    graph = Taxonomy.from_edges([("a", "b"), ("b", "c")], kind="graph")
    assert metrics.hierarchical_f1([["a", "b"]], [["b"]], graph) == metrics.micro_f1([["a", "b"]], [["b"]])
    assert metrics.h_loss([["a", "b"]], [["b"]], graph) == 1


def test_wrong_options_are_named():
    with pytest.raises(ParameterError, match="needs the taxonomy"):
        metrics.hierarchical_f1(GOLD, PREDICTED)
    with pytest.raises(ParameterError, match="average='macro'"):
        metrics.hierarchical_f1(GOLD, PREDICTED, TAX, average="macro")
    with pytest.raises(ParameterError, match="did you mean 'sibling'"):
        metrics.h_loss(GOLD, PREDICTED, TAX, scaling="siblings")


def test_levels_without_gold_and_predicted_labels_have_no_figures() -> None:
    tax = Taxonomy.from_paths([["A", "AA", "AAA"], ["B"]])
    rows = metrics.level_scores(["AA", "B"], ["AA", "A"], tax)
    assert [row["f1"] is None for row in rows] == [False, False, True]
    assert (rows[2]["precision"], rows[2]["recall"], rows[2]["n_gold"]) == (None, None, 0)
