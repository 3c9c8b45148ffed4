from __future__ import annotations

import json

import pytest

from linnaeus import Taxonomy
from linnaeus.cli.main import run
from tests.metrics.worked import EDGES, GOLD, PREDICTED, SCORES, TAX


@pytest.fixture
def worked(tmp_path):
    """The worked example as files: taxonomy, gold, predictions, and rankings of all leaves."""
    (tmp_path / "tax.tsv").write_text("".join(f"{p}\t{c}\n" for p, c in EDGES))
    (tmp_path / "gold.tsv").write_text("".join(f"d{i}\t{';'.join(g)}\n" for i, g in enumerate(GOLD)))
    records = [{"id": f"d{i}", "labels": p} for i, p in enumerate(PREDICTED)]
    (tmp_path / "predicted.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records[::-1]))
    rows = [f"d{i},{label},{s}\n" for i, row in enumerate(SCORES) for label, s in zip(TAX.names[3:], row, strict=True)]
    (tmp_path / "ranked.csv").write_text("id,label,score\n" + "".join(rows))
    return tmp_path


@pytest.fixture
def evaluate(worked, capsys):
    """Runs the command on these files; gives exit code, stdout and stderr."""

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            run(["evaluate", *(str(worked / a) if (worked / a).exists() else a for a in arguments)])
        return ended.value.code, *capsys.readouterr()

    return call


STANDARD = ("--taxonomy", "tax.tsv", "--gold", "gold.tsv", "--predicted", "predicted.jsonl")


def test_prints_the_measures_as_a_table(evaluate):
    code, out, _ = evaluate(*STANDARD)
    assert code == 0
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if len(line.split()) > 1}
    assert rows["hierarchical_f1"] == "0.5882"
    assert rows["micro_f1"] == "0.4444"
    assert "by level" not in out
    assert "by node" not in out


def test_json_holds_the_same_with_levels_and_nodes(evaluate):
    code, out, _ = evaluate(*STANDARD, "--json", "--per-node")
    answer = json.loads(out)
    assert code == 0
    assert answer["metrics"]["h_loss_sibling"] == pytest.approx(0.4375)
    assert [row["f1"] for row in answer["levels"]] == pytest.approx([0.75, 0.4444], abs=1e-4)
    assert len(answer["nodes"]) == 6
    assert answer["n_missing_predictions"] == 0


def test_levels_and_nodes_on_request(evaluate):
    _, out, _ = evaluate(*STANDARD, "--levels", "--per-node")
    assert "by level" in out
    assert "by node" in out


def test_scores_add_ranking_measures(evaluate):
    _, out, _ = evaluate("--taxonomy", "tax.tsv", "--gold", "gold.tsv", "--predicted", "ranked.csv", "--json")
    found = json.loads(out)["metrics"]
    assert found["precision_at_1"] == 0.5
    assert found["one_accuracy"] == 0.5


def test_a_second_system_adds_paired_tests(evaluate):
    _, out, _ = evaluate(*STANDARD, "--compare", "gold.tsv", "--json")
    rows = {row["measure"]: row for row in json.loads(out)["comparison"]}
    assert rows["hierarchical_f1"]["second"] == 1
    assert rows["hierarchical_f1"]["p_value"] == 0.25
    code, out, _ = evaluate(*STANDARD, "--compare", "gold.tsv")
    assert code == 0
    assert "against the second system" in out


def test_missing_predictions_are_empty_sets_and_said_so(evaluate, worked):
    lines = (worked / "predicted.jsonl").read_text().splitlines()[1:]  # without d3, which is empty anyway
    (worked / "predicted.jsonl").write_text("\n".join(lines))
    _, out, err = evaluate(*STANDARD, "--json")
    assert json.loads(out)["metrics"]["hierarchical_f1"] == pytest.approx(0.5882, abs=1e-4)
    assert json.loads(out)["n_missing_predictions"] == 1
    assert "without a prediction, counted as empty sets: 1" in err


def test_labels_outside_the_taxonomy_are_counted_and_said_so(evaluate, worked):
    (worked / "gold.tsv").write_text((worked / "gold.tsv").read_text().replace("d0\tAA", "d0\tAA;Sprots"))
    _, out, err = evaluate(*STANDARD, "--json")
    assert json.loads(out)["n_unseen_gold"] == 1
    assert "1 gold labels are not in the taxonomy and count as wrong, for example 'Sprots'" in err


def test_without_a_taxonomy_flat_measures_remain(evaluate):
    code, out, _ = evaluate("--gold", "gold.tsv", "--predicted", "predicted.jsonl", "--json")
    assert code == 0
    assert json.loads(out)["metrics"]["micro_f1"] == pytest.approx(4 / 9)


def test_wrong_usage_ends_with_2(evaluate):
    for arguments in ((), ("--gold", "gold.tsv"), ("model",), ("model", "gold.tsv", "--gold", "gold.tsv")):
        code, _, err = evaluate(*arguments)
        assert code == 2
        assert "--gold and --predicted" in err


def test_wrong_input_ends_with_1_and_names_file_and_line(evaluate, worked):
    (worked / "predicted.jsonl").write_text('{"id": "d0", "labels": ["AA"]}\n{"id": "dd1", "labels": []}\n')
    code, out, err = evaluate(*STANDARD)
    assert (code, out) == (1, "")
    assert "predicted.jsonl:2" in err
    assert "did you mean 'd1'" in err
    assert "Traceback" not in err
    assert evaluate("--gold", "nowhere", "--predicted", "gold.tsv")[0] == 1


def test_a_saved_model_on_labelled_documents(linnaeus, trained):
    report = json.loads(linnaeus("evaluate", trained / "model", trained / "docs.jsonl", "--json").out)
    assert report["metrics"]["hierarchical_f1"] == 1
    assert report["metrics"]["ranking_loss"] == 0
    assert report["seconds_per_document"] > 0
    assert report["model_bytes"] > 1000


@pytest.mark.parametrize("learn", ["given", "closed"])
def test_probabilities_add_the_area_under_the_precision_recall_curve(linnaeus, trained, learn):
    import linnaeus as package
    from linnaeus.data import read_dataset
    from linnaeus.features import TextFeatures

    tax, data = Taxonomy.read(trained / "topics.tsv"), read_dataset(trained / "docs.jsonl")
    model = package.Pipeline(package.OneVsRestSVM(tax, learn=learn, random_state=0), TextFeatures())
    model.fit(data.documents, data.labels)
    package.save(package.calibrate(model, data.documents, data.labels, cv=2, random_state=0), trained / learn)
    found = json.loads(linnaeus("evaluate", trained / learn, trained / "docs.jsonl", "--json").out)["metrics"]
    P = model.node_probabilities(data.documents)
    assert found["au_prc"] == pytest.approx(package.metrics.au_prc(data.labels, P, tax))
    assert found["au_prc"] > 0.9
    assert found["precision_at_1"] == 1  # the labels as given, not their ancestors


def test_a_second_system_is_matched_by_id(linnaeus, trained):
    answers = trained / "answers.jsonl"
    linnaeus("predict", trained / "model", trained / "docs.jsonl", "-o", answers)
    answers.write_text("".join(reversed(answers.read_text().splitlines(keepends=True))))
    result = linnaeus("evaluate", trained / "model", trained / "docs.jsonl", "--compare", answers, "--json")
    assert json.loads(result.out)["comparison"][0]["second"] == 1


@pytest.mark.parametrize("kind", ["indicator", "paths", "labels"])
def test_models_of_every_label_kind_are_measured_alike(linnaeus, trained, kind):
    import numpy as np

    import linnaeus as package
    from linnaeus.data import read_dataset
    from linnaeus.features import TextFeatures

    tax, data = Taxonomy.read(trained / "topics.tsv"), read_dataset(trained / "docs.jsonl")
    labels = [row[0] for row in data.labels]
    y = {
        "indicator": tax.indicator(labels).toarray(),
        "paths": np.array([[tax.names[tax.parent[tax.index(label)]], label] for label in labels]),
        "labels": labels,
    }[kind]
    model = package.Pipeline(package.OneVsRestSVM(tax, random_state=0), TextFeatures()).fit(data.documents, y)
    package.save(model, trained / kind)
    report = json.loads(linnaeus("evaluate", trained / kind, trained / "docs.jsonl", "--json").out)
    assert report["metrics"]["micro_f1"] == report["metrics"]["hierarchical_f1"] == 1
    first = linnaeus("predict", trained / kind, trained / "docs.jsonl").out.splitlines()[0]
    assert [entry["label"] for entry in json.loads(first)["labels"]] == ["Cats"]


def test_options_that_would_do_nothing_are_refused(linnaeus, trained):
    for arguments in (
        [trained / "model", trained / "docs.jsonl", "--taxonomy", trained / "topics.tsv"],
        ["--gold", trained / "docs.jsonl", "--predicted", trained / "docs.jsonl", "--text", "title"],
        [trained / "model"],
    ):
        assert linnaeus("evaluate", *arguments).code == 2


def test_the_label_column_of_the_answers_can_be_named(linnaeus, trained):
    rows = [json.loads(line) for line in (trained / "docs.jsonl").read_text().splitlines()]
    lines = [json.dumps({"id": row["id"], "mine": row["labels"], "labels": ["Dogs"]}) for row in rows]
    (trained / "odd.jsonl").write_text("\n".join(lines))
    arguments = ["evaluate", "-t", trained / "topics.tsv", "-g", trained / "docs.jsonl", "-p", trained / "odd.jsonl"]
    result = linnaeus(*arguments, "--labels", "mine", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["metrics"]["micro_f1"] == 1
    assert json.loads(linnaeus(*arguments, "--json").out)["metrics"]["micro_f1"] < 1


def test_a_file_without_any_known_label_is_refused(linnaeus, trained):
    (trained / "edges.tsv").write_text("parent\tchild\nAnimalia\tFelidae\n")
    result = linnaeus("evaluate", trained / "model", trained / "edges.tsv", "--no-header")
    assert result.code != 0
    assert "None of the 2 labels" in result.err
    assert "edges.tsv" in result.err


def test_the_table_of_nodes_is_sorted_and_written_as_a_file(evaluate, tmp_path):
    target = tmp_path / "nodes.csv"
    code, out, _ = evaluate(*STANDARD, "--json", "--per-node", "--output", target)
    assert code == 0
    nodes = json.loads(out)["nodes"]
    assert nodes == sorted(nodes, key=lambda row: (-row["n_gold"], row["label"]))
    lines = target.read_text().splitlines()
    assert lines[0] == "label,n_gold,n_predicted,n_right,precision,recall,f1"
    assert len(lines) == len(nodes) + 1
