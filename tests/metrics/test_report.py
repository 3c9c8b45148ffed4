from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.data.label_files import read_label_file
from linnaeus.metrics import report as report_module
from linnaeus.metrics.sets import as_pair
from tests.metrics.worked import GOLD, LEAVES, PREDICTED, SCORES, TAX
from tests.strategies import label_sets, taxonomies

SAME = {
    "micro_precision": metrics.micro_precision,
    "micro_recall": metrics.micro_recall,
    "micro_f1": metrics.micro_f1,
    "macro_f1": metrics.macro_f1,
    "example_f1": metrics.example_f1,
    "jaccard": metrics.jaccard,
    "subset_accuracy": metrics.subset_accuracy,
    "hierarchical_precision": metrics.hierarchical_precision,
    "hierarchical_f1": metrics.hierarchical_f1,
    "symmetric_difference": metrics.symmetric_difference,
    "hamming_loss": metrics.hamming_loss,
    "h_loss_uniform": metrics.h_loss,
    "h_loss_sibling": lambda *sides: metrics.h_loss(*sides, scaling="sibling"),
    "h_loss_subtree": lambda *sides: metrics.h_loss(*sides, scaling="subtree"),
    "macro_f1_nodes": lambda *sides: metrics.macro_f1(*sides, universe="nodes"),
    "hierarchical_f1_document": lambda *sides: metrics.hierarchical_f1(*sides, average="document"),
}


@given(st.data())
@settings(max_examples=40)
def test_one_pass_gives_the_same_as_the_single_measures(data):
    tax = data.draw(taxonomies())
    gold = [[*labels, "unseen"] for labels in data.draw(label_sets(tax, max_docs=5))]
    predicted = [labels[:-1] for labels in gold[::-1]]
    found = metrics.evaluate(gold, predicted, taxonomy=tax)
    for name, measure in SAME.items():
        assert found[name] == pytest.approx(measure(gold, predicted, tax)), name
    assert found.levels == metrics.level_scores(gold, predicted, tax)
    assert found.about["n_unseen_gold"] == len(gold)


def test_blocks_of_documents_change_nothing(monkeypatch):
    whole = report_module.count_sets(as_pair(GOLD, PREDICTED, TAX))
    blocks = report_module.Pair.blocks
    monkeypatch.setattr(report_module.Pair, "blocks", lambda pair: blocks(pair, 3))
    parts = report_module.count_sets(as_pair(GOLD, PREDICTED, TAX))
    assert parts.closed.common.tolist() == whole.closed.common.tolist()
    assert parts.closed_by_node.predicted.tolist() == whole.closed_by_node.predicted.tolist()
    assert parts.h_losses["sibling"].tolist() == whole.h_losses["sibling"].tolist() == [0, 0.75, 0.5, 0.5]


def test_what_is_always_reported_together():
    found = metrics.evaluate(
        GOLD, PREDICTED, TAX, scores=SCORES, labels=LEAVES, per_node=True, seconds=2.0, model_bytes=1000
    )
    assert {
        "micro_f1",
        "macro_f1",
        "example_f1",
        "hierarchical_precision",
        "hierarchical_recall",
        "hierarchical_f1",
    } <= set(found.scores)
    assert found["average_precision"] == pytest.approx(0.7083, abs=1e-4)
    assert found["precision_at_1"] == 0.5
    assert (found["predicted_per_document"], found["empty_predictions"]) == (1, 0.25)
    assert found.about["seconds_per_document"] == 0.5
    assert found.about["model_bytes"] == 1000
    assert [row["f1"] for row in found.levels] == pytest.approx([0.75, 0.4444], abs=1e-4)
    assert [row["label"] for row in found.nodes] == ["A", "B", "AA", "AB", "BA", "BB"]


def test_a_report_is_plain_json():
    found = metrics.evaluate(GOLD, PREDICTED, taxonomy=TAX, per_node=True)
    plain = json.loads(json.dumps(found.to_dict(per_node=True)))
    assert plain["metrics"]["hierarchical_f1"] == pytest.approx(0.5882, abs=1e-4)
    assert plain["n_docs"] == 4
    assert "without the root" in plain["conventions"]["hierarchical_f1"]
    assert "nodes" not in found.to_dict()
    assert [row[0] for row in found.rows()] == list(found.scores)


def test_no_documents_and_undefined_measures_are_null():
    found = metrics.evaluate([], [], taxonomy=TAX)
    assert found.about["n_docs"] == 0
    assert found.to_dict()["metrics"]["example_f1"] is None
    undefined = metrics.evaluate([[]], scores=[[0.1] * 4], taxonomy=TAX, labels=LEAVES)
    assert json.loads(json.dumps(undefined.to_dict(), allow_nan=False))["metrics"]["average_precision"] is None


def test_rankings_alone():
    found = metrics.evaluate([[], *GOLD], scores=[[0.1] * 4, *SCORES], taxonomy=TAX, labels=LEAVES)
    assert "micro_f1" not in found.scores
    assert found.about["n_docs"] == 5
    assert found.to_dict()["skipped"]["average_precision"] == 1


def test_the_arguments_come_in_the_order_of_the_single_measures():
    assert metrics.evaluate(GOLD, PREDICTED, TAX)["hierarchical_f1"] == metrics.hierarchical_f1(GOLD, PREDICTED, TAX)


def test_cut_rankings_have_no_measures_of_whole_rankings():
    listed = [sorted(zip(LEAVES, row, strict=True), key=lambda pair: -pair[1]) for row in SCORES]
    whole = metrics.evaluate(GOLD, taxonomy=TAX, scores=listed, labels=LEAVES)
    assert whole["ranking_loss"] == pytest.approx(0.2292, abs=1e-4)
    assert "left_out" not in whole.about
    cut = metrics.evaluate(GOLD, taxonomy=TAX, scores=[*listed[:3], listed[3][:2]], labels=LEAVES)
    assert set(whole.scores) - set(cut.scores) == {"average_precision", "ranking_loss"}
    assert (
        cut.about["left_out"]
        == "average_precision, ranking_loss: they need rankings of all 4 labels; one document has 2"
    )
    assert cut["precision_at_1"] == whole["precision_at_1"]


def test_says_whether_the_root_was_ranked():
    S = [[0.9, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1]]
    for gold, ranked, n_labels in (("AA", False, 6), ("R", True, 7)):
        about = metrics.evaluate([gold], taxonomy=TAX, scores=S).about
        assert (about["root_ranked"], about["n_labels_ranked"]) == (ranked, n_labels)


def test_without_a_taxonomy_there_is_nothing_hierarchical():
    found = metrics.evaluate(GOLD, PREDICTED, per_node=True)
    assert found["micro_f1"] == pytest.approx(4 / 9)
    assert not any("hierarchical" in name for name in found.scores)
    assert found.levels == []
    assert len(found.nodes) == 4


@pytest.mark.data
def test_answering_the_parent_on_a_large_dag(data_dir):
    tax = Taxonomy.read(data_dir / "wordnet_nouns" / "taxonomy.tsv.xz")
    file = read_label_file(data_dir / "wordnet_nouns" / "test.jsonl.xz", known=tax.index_of)
    assert len(file) == 16_606
    parent = tax.parent
    predicted = [[tax.names[p] for p in (parent[tax.index(x)] for x in labels) if p >= 0] for labels in file.labels]
    found = metrics.evaluate(file.labels, predicted, taxonomy=tax)
    assert found["hierarchical_precision"] == 1  # a parent is always right, as far as it goes
    assert 0.7 < found["hierarchical_recall"] < 1
    assert found["micro_f1"] < 0.05
    assert found.levels[-1]["n_predicted"] == 0

    above: dict[int, set[int]] = {}
    for v in range(tax.n_nodes):  # parents come before their children
        above[v] = {v}.union(*(above[int(p)] for p in tax.parents(v) if p != tax.root))

    def closed(labels):
        return set().union(*(above[tax.index(x)] for x in labels)) - {tax.root}

    sets = [(closed(g), closed(p)) for g, p in zip(file.labels, predicted, strict=True)]
    common, n_gold = sum(len(g & p) for g, p in sets), sum(len(g) for g, _ in sets)
    assert found["hierarchical_recall"] == pytest.approx(common / n_gold)
    assert found["symmetric_difference"] == pytest.approx(sum(len(g ^ p) for g, p in sets) / len(sets))
    # the one missing label is the first mistake of its path, whatever is missing with it
    firsts = [sum(all(int(q) in p or q == tax.root for q in tax.parents(v)) for v in g - p) for g, p in sets]
    assert found["h_loss_uniform"] == pytest.approx(sum(firsts) / len(sets))
