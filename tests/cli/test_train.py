"""`linnaeus train` makes a model folder, says what it did, and leaves nothing behind when it cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linnaeus as package


def arguments(files, *more):
    return [
        "train",
        "--taxonomy",
        files / "topics.tsv",
        "--data",
        files / "docs.jsonl",
        "--output",
        files / "model",
        *more,
    ]


PATHS = {"meow": "Animals > Cats", "bark": "Animals > Dogs", "leaf": "Plants > Trees"}


def test_training_saves_a_model_that_answers(linnaeus, files) -> None:
    result = linnaeus(*arguments(files, "--model", "OneVsRestSVM", "--min-df", 1))
    assert result.code == 0, result.err
    model = package.load(files / "model")
    assert model.predict(["a kitten with a whisker"]).tolist() == ["Cats"]
    assert model.taxonomy_.n_nodes == 7


def test_json_tells_objective_gap_and_scores(linnaeus, files) -> None:
    report = json.loads(linnaeus(*arguments(files, "--json", "--min-df", 1, "--model", "BLR", "--C", 10)).out)
    assert report["documents"] == 40
    assert report["duality_gap"] <= 1e-3 * report["objective"]
    assert 0.5 < report["scores"]["hierarchical_f1"] <= 1.0
    assert report["measured_on"] == "all documents, held out in 3 parts"
    assert report["seconds_measuring"] > 0


def test_figures_are_of_documents_held_out_and_the_model_learns_from_all(linnaeus, files, monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.cli.training._FEW", 10)
    result = linnaeus(*arguments(files, "--min-df", 1, "--json"))
    report = json.loads(result.out)
    assert report["documents"] == 40
    assert report["measured_on"] == "4 documents held out"
    lines = (files / "docs.jsonl").read_text().splitlines()
    (files / "docs.jsonl").write_text("\n".join(lines[:39]) + '\n{"id": "new", "text": "meow", "labels": ["Cats"]}\n')
    linnaeus(*arguments(files, "--min-df", 1))
    assert package.load(files / "model").known_terms(["meow"]).tolist() == [1]  # whether held out or not


def test_figures_of_memorised_documents_are_never_shown(linnaeus, files) -> None:
    rows = [{"text": f"word{i} other{i}", "labels": [list("ab")[i % 2]]} for i in range(40)]
    (files / "noise.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = ["train", "-d", files / "noise.jsonl", "-o", files / "model", "--min-df", 1]
    assert json.loads(linnaeus(*train, "--json").out)["scores"]["micro_f1"] < 0.8  # 1 on what it has seen
    shown = linnaeus(*train)
    assert "on all documents, held out in 3 parts" in shown.out
    assert "--test-size 0 leaves it out" in shown.err
    for more in (["--test-size", 0], ["--max-time", "10m"]):
        report = json.loads(linnaeus(*train, *more, "--json").out)
        assert (report["scores"], report["measured_on"]) == (None, None)
        assert "micro_f1" not in linnaeus(*train, *more).out
    assert "--test-size 0.1" in linnaeus(*train, "--max-time", "10m").err


def test_too_few_documents_to_hold_some_out_are_no_error(linnaeus, files) -> None:
    (files / "two.jsonl").write_text('{"text": "purr", "labels": ["Cats"]}\n{"text": "bark", "labels": ["Dogs"]}\n')
    result = linnaeus("train", "-d", files / "two.jsonl", "-o", files / "model", "--min-df", 1, "--json")
    assert result.code == 0, result.err
    assert "not measured" in result.err
    assert json.loads(result.out)["scores"] is None


def test_parameters_of_the_model_can_be_set(linnaeus, files) -> None:
    assert linnaeus(*arguments(files, "--set", "loss=hinge", "--set", "fit_intercept=false", "--min-df", 1)).code == 0
    model = package.load(files / "model").model_
    assert (model.loss, model.fit_intercept) == ("hinge", False)


def test_pruning_reports_what_it_costs(linnaeus, files) -> None:
    report = json.loads(linnaeus(*arguments(files, "--prune", 0.15, "--json", "--min-df", 1)).out)
    assert report["pruned"]["weights_kept"] < report["pruned"]["weights_before"]
    assert 0 <= report["pruned"]["scores"]["micro_f1"] <= 1
    assert package.load(files / "model").model_.weights_.nnz == report["pruned"]["weights_kept"]


def test_labels_that_are_paths_are_a_tree(linnaeus, files) -> None:
    rows = [{"text": f"{word} {i}", "labels": [label]} for i in range(20) for word, label in PATHS.items()]
    (files / "paths.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = ["train", "-d", files / "paths.jsonl", "-o", files / "model", "--min-df", 1, "--model", "OneVsRestSVM"]
    assert "'Animals > Cats' are paths of a tree" in linnaeus(*train).err
    model = package.load(files / "model")
    assert model.taxonomy_.n_edges == 3
    assert model.predict(["meow"]).tolist() == ["Animals > Cats"]


def test_repeated_documents_among_the_held_out_ones_are_reported(linnaeus, files) -> None:
    lines = (files / "docs.jsonl").read_text()
    (files / "docs.jsonl").write_text(lines + lines)
    shown = linnaeus(*arguments(files, "--test-size", 0.25, "--min-df", 1, "--model", "OneVsRestSVM"))
    assert "of the held-out documents equal documents that are trained on" in shown.err
    assert "--duplicates drop" in shown.err


def test_a_share_can_be_held_out(linnaeus, files) -> None:
    report = json.loads(linnaeus(*arguments(files, "--test-size", 0.25, "--json", "--min-df", 1)).out)
    assert report["documents"] == 30
    assert report["measured_on"] == "the test documents"
    assert linnaeus(*arguments(files, "--test-size", 0.25, "--test", "x.jsonl")).code == 2
    assert linnaeus(*arguments(files, "--test-size", 1.5)).code == 2


def test_a_bad_test_file_is_noticed_before_training(linnaeus, files) -> None:
    result = linnaeus(*arguments(files, "--test", "nowhere.jsonl"))
    assert (result.code, "nowhere.jsonl" in result.err) == (1, True)
    assert "training" not in result.err


def test_a_narrow_test_file_of_vectors_is_widened(linnaeus, files) -> None:
    (files / "train.svm").write_text("Cats 0:1 5:1\nDogs 1:1 4:1\nTrees 2:1\nFlowers 3:1\n" * 3)
    (files / "test.svm").write_text("Cats 0:1\nDogs 1:1\n")
    result = linnaeus(
        "train", "-t", files / "topics.tsv", "-d", files / "train.svm", "-o", files / "model",
        "--test", files / "test.svm", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert json.loads(result.out)["scores"]["precision_at_1"] == 1.0


def test_any_column_can_be_the_text(linnaeus, files) -> None:
    text = (files / "docs.jsonl").read_text().replace('"text"', '"words"')
    (files / "odd.jsonl").write_text(text)
    result = linnaeus("train", "-d", files / "odd.jsonl", "-o", files / "model", "--text", "words", "--min-df", 1)
    assert result.code == 0, result.err


def test_parts_of_a_file_are_noticed_and_chosen(linnaeus, files) -> None:
    for part in ("train", "test"):
        for label in ("Cats", "Dogs"):
            folder = files / "news" / f"news-{part}" / label
            folder.mkdir(parents=True)
            for i in range(3):
                (folder / f"{i}.txt").write_text(f"{label} {label} document number {i}")
    result = linnaeus("train", "-t", files / "topics.tsv", "-d", files / "news", "-o", files / "model")
    assert "the parts test, train" in result.err
    run = linnaeus("train", "-d", files / "news", "-o", files / "model", "--split", "train", "--json")
    assert json.loads(run.out)["documents"] == 6


def test_unknown_labels_of_the_test_documents_count_as_missed(linnaeus, files) -> None:
    lines = (files / "docs.jsonl").read_text().splitlines()[:4]
    (files / "few.jsonl").write_text("\n".join(lines).replace('"Dogs"', '"Wolves"'))
    report = json.loads(linnaeus(*arguments(files, "--test", files / "few.jsonl", "--json", "--min-df", 1)).out)
    direct = json.loads(linnaeus("evaluate", files / "model", files / "few.jsonl", "--json").out)["metrics"]
    assert report["scores"]["micro_f1"] == direct["micro_f1"] == 0.75


def test_the_same_option_twice_is_refused(linnaeus, files) -> None:
    assert linnaeus(*arguments(files, "--C", 2, "--set", "C=3")).code == 2


def test_rankings_with_ancestors_are_not_measured_against_labels_as_given(linnaeus, files) -> None:
    report = json.loads(linnaeus(*arguments(files, "--set", "learn=closed", "--json", "--min-df", 1)).out)
    assert "precision_at_1" not in report["scores"]
    result = linnaeus("evaluate", files / "model", files / "docs.jsonl", "--json")
    assert "precision_at_1" not in json.loads(result.out)["metrics"]
    assert "rankings contain ancestors" in result.err


def test_a_decoder_that_needs_inner_nodes_says_so(linnaeus, files) -> None:
    assert "learn=closed" in linnaeus(*arguments(files, "--decoder", "best_closure")).err
    assert "learn=closed" not in linnaeus(*arguments(files, "--decoder", "best_closure", "--set", "learn=closed")).err


@pytest.mark.parametrize("decoder", ["scut", "instance_cut", "rcut", "set_size", "pcut"])
def test_a_cut_off_is_learned_by_cross_validation_and_kept(linnaeus, files, decoder) -> None:
    result = linnaeus(*arguments(files, "--decoder", decoder, "--json", "--min-df", 1))
    assert result.code == 0, result.err
    assert f"{decoder} is then fitted on scores of documents held out" in result.err
    model = package.load(files / "model")
    if json.loads(result.out)["decoder"] is None:  # worse than the model's own decoder on held-out documents
        assert f"The cut-off '{decoder}' reaches" in result.err
        assert "it is not used" in result.err
        assert model.decoder_ is None
    else:
        assert model.decoder_.name == decoder
        assert model.decoder_.fitted
    answers = linnaeus("predict", files / "model", files / "docs.jsonl").out.splitlines()
    assert len(answers) == 40


def test_a_cut_off_that_was_not_learned_cannot_decide(linnaeus, files, trained) -> None:
    result = linnaeus("predict", files / "model", files / "docs.jsonl", "--decoder", "scut")
    assert result.code == 2
    assert "has not learned where to cut" in result.err
    assert "linnaeus train --decoder scut" in result.err


def test_a_test_file_is_measured(linnaeus, files) -> None:
    report = json.loads(linnaeus(*arguments(files, "--test", files / "docs.jsonl", "--json", "--min-df", 1)).out)
    assert report["measured_on"] == "the test documents"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "OneVsRestSWM"], "did you mean 'OneVsRestSVM'"),
        (["--set", "tool=1"], "did you mean 'tol'"),
        (["--C", "-1"], "C=-1"),
        (["--unknown", "dropp"], "did you mean 'drop'"),
        (["--text", "title=x"], "not a number"),
        (["--decoder", "best_leave"], "did you mean 'best_leaf'"),
        (["--taxonomy", "nowhere.tsv"], "nowhere.tsv"),
        (["--text", "txt"], "txt"),
        (["--set", "tol=abc"], "tol='abc'"),
        (["--set", "n_jobs=two"], "n_jobs='two'"),
        (["--set", "random_state=abc"], "abc"),
        (["--set", "fit_intercept=maybe"], "fit_intercept='maybe'"),
        (["--set", "tol"], "expected NAME=VALUE"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(linnaeus, files, more, message) -> None:
    result = linnaeus(*arguments(files, *more))
    assert result.code == (1 if more[0] in ("--taxonomy",) or "txt" in more else 2)
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (files / "model").exists()


def test_wrong_usage_is_exit_code_two(linnaeus, files) -> None:
    assert linnaeus("train", "--datta", "x").code == 2
    assert linnaeus("trian").code == 2


def test_unknown_labels_stop_training_or_are_dropped(linnaeus, files) -> None:
    with (files / "docs.jsonl").open("a") as file:
        file.write(json.dumps({"id": "odd", "text": "a cat", "labels": ["Cat", "Dogs"]}) + "\n")
    result = linnaeus(*arguments(files))
    assert result.code == 1
    assert "docs.jsonl:41" in result.err
    assert "did you mean 'Cats'" in result.err
    assert "--unknown drop" in result.err
    result = linnaeus(*arguments(files, "--unknown", "drop", "--min-df", 1))
    assert result.code == 0
    assert "warning: 1 of 42 labels were dropped" in result.err


def test_a_folder_of_someone_else_is_refused_before_training(linnaeus, files) -> None:
    (files / "model").mkdir()
    (files / "model" / "thesis.tex").write_text("years of work")
    result = linnaeus(*arguments(files))
    assert result.code == 1
    assert "thesis.tex" in result.err


def test_without_taxonomy_the_labels_are_flat(linnaeus, files) -> None:
    result = linnaeus("train", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1)
    assert result.code == 0
    assert "no taxonomy given" in result.err
    assert package.load(files / "model").taxonomy_.n_edges == 0


def test_a_joint_model_is_named_only_where_it_was_measured_to_help(linnaeus, files, monkeypatch) -> None:
    few = "\n".join((files / "docs.jsonl").read_text().splitlines()[:8]) + "\n"
    (files / "docs.jsonl").write_text(few)
    train = arguments(files, "--min-df", 1, "--test-size", 0)
    assert "--model RRSVM" not in linnaeus(*train).err  # four labels
    monkeypatch.setattr("linnaeus.cli.training._MANY", 3)
    assert "--model RRSVM" in linnaeus(*train).err
    assert "--model RRSVM" not in linnaeus(*train, "--model", "RRSVM").err
    (files / "docs.jsonl").write_text(few.replace('["Cats"]', '["Cats", "Trees"]'))
    assert "--model RRSVM" not in linnaeus(*train).err  # sets of labels


def test_a_full_disk_is_noticed_before_training(linnaeus, files, monkeypatch) -> None:
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("linnaeus.cli.training.shutil.disk_usage", lambda path: usage(100, 50, 50))
    result = linnaeus(*arguments(files))
    assert result.code == 1
    assert f"{files / 'model'} may need" in result.err
    assert "but only 50 bytes are free there" in result.err
    assert not (files / "model").exists()


def test_an_error_while_saving_names_the_folder(linnaeus, files, monkeypatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("linnaeus.store.save", full)
    result = linnaeus(*arguments(files))
    assert (result.code, f"No space left on device: {files / 'model'}" in result.err) == (1, True)


def test_a_loaded_model_can_be_pruned_and_updated_as_documented(linnaeus, files) -> None:
    linnaeus(*arguments(files, "--min-df", 1, "--test-size", 0))
    model = package.load(files / "model")
    before = model.model_.weights_.size
    assert model.prune(0.15).model_.weights_.nnz < before
    assert not hasattr(model, "update")
    linnaeus(*arguments(files, "--min-df", 1, "--test-size", 0, "--model", "RRSVM"))
    assert hasattr(package.load(files / "model"), "update")


SKOS = """@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix x: <x:> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix dct: <http://purl.org/dc/terms/> .
x:A a s:Concept . x:B a s:Concept . x:Cats a s:Concept ; s:broader x:A . x:Dogs a s:Concept ; s:broader x:A .
x:Trees a s:Concept ; s:broader x:B . x:Flowers a s:Concept ; s:broader x:B .
x:old a s:Concept ; owl:deprecated true ; dct:isReplacedBy x:Cats . x:gone a s:Concept ; owl:deprecated true .
"""


def test_deprecated_labels_are_refused_replaced_and_evaluated_as_their_replacement(linnaeus, files) -> None:
    (files / "topics.ttl").write_text(SKOS)
    current = (files / "docs.jsonl").read_text().replace('"labels": ["', '"labels": ["x:')
    (files / "new.jsonl").write_text(current)
    (files / "old.jsonl").write_text(current.replace("x:Cats", "x:old"))
    train = ("train", "-t", files / "topics.ttl", "-o", files / "model", "--min-df", 1, "--test-size", 0)
    refused = linnaeus(*train, "-d", files / "old.jsonl")
    assert "(--unknown replace takes the replacements of deprecated labels, --unknown drop leaves" in refused.err
    (files / "gone.jsonl").write_text(current.replace("x:Cats", "x:gone"))
    assert "--unknown replace" not in linnaeus(*train, "-d", files / "gone.jsonl").err
    assert linnaeus(*train, "-d", files / "old.jsonl", "--unknown", "replace").code == 0
    results = [linnaeus("evaluate", files / "model", files / f"{name}.jsonl", "--json") for name in ("old", "new")]
    assert "note: replaced: 10 deprecated labels by their replacements" in results[0].err
    first, second = (json.loads(result.out)["metrics"] for result in results)
    assert first == second
    (files / "gone.jsonl").write_text('{"text": "cat purr", "labels": ["x:gone"]}\n')
    assert ".." not in linnaeus("evaluate", files / "model", files / "gone.jsonl").err


def test_few_labels_in_answers_are_noted_with_a_decoder(linnaeus, files) -> None:
    labels = [[f"L{(i * step + i) % 12}" for step in (1, 4, 7)] for i in range(60)]
    lines = [json.dumps({"text": f"thing{i % 2} word", "labels": row}) for i, row in enumerate(labels)]
    (files / "sets.jsonl").write_text("\n".join(lines))
    train = ("train", "-d", files / "sets.jsonl", "-o", files / "m")
    result = linnaeus(*train)
    scores = json.loads(linnaeus(*train, "--json").out)["scores"]
    assert 2 * scores["predicted_per_document"] < scores["labels_per_document"]
    assert "--decoder set_size learns how many labels to answer" in result.err
    assert "labels on average" not in linnaeus(*train, "--decoder", "rcut").err


def test_unknown_features_are_refused_with_an_example(linnaeus, files) -> None:
    train = ("train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "m", "--features")
    result = linnaeus(*train, "char:2-4")
    assert (result.code, "or spectrum:N, for example spectrum:4 for substrings of 4 tokens" in result.err) == (2, True)
    assert "did you mean 'rbf'?" in linnaeus(*train, "rbff").err
    assert linnaeus(*train, "spectrum:2-4", "--test-size", 0).code == 0


def test_dense_vectors_go_through_a_kernel_map_on_request(linnaeus, files) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where((X**2).sum(axis=1) < 1.4, "Cats", "Dogs")
    rows = "\n".join(f"{a:.6f},{b:.6f},{label}" for (a, b), label in zip(X.tolist(), y, strict=True))
    (files / "rings.csv").write_text(f"east,north,labels\n{rows}\n")
    train = ["train", "-d", files / "rings.csv", "-o", files / "model", "-m", "OneVsRestSVM", "--json"]
    plain = json.loads(linnaeus(*train).out)["scores"]["micro_f1"]
    report = json.loads(linnaeus(*train, "--features", "rbf:40").out)
    assert report["features"] <= 40
    assert report["scores"]["micro_f1"] > 0.85 > plain
    (files / "one.csv").write_text("north,east\n0.1,0.2\n")  # columns by name, as without a map
    assert "Cats" in linnaeus("predict", files / "model", files / "one.csv").out
    explained = linnaeus("explain", files / "model", "--data", files / "one.csv")
    assert explained.code == 0, explained.err
    assert "approximate" in explained.out
    assert "east" in explained.out
    (step, *_) = json.loads(linnaeus("explain", files / "model", "--data", files / "one.csv", "--json").out)
    assert step["approximate"] is True
    wrong = linnaeus(*train, "--features", "rbf:gama=2")
    assert wrong.code == 2
    assert "did you mean 'gamma'" in wrong.err
