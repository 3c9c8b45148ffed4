"""`linnaeus learn` goes on learning and replaces the model in one step; `linnaeus taxonomy learn` groups labels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import Taxonomy, load
from tests.cli.conftest import WORDS


@pytest.fixture(params=["HierarchicalPerceptron", "Hieron"])
def learner(linnaeus, files, request):
    """A model of the first 20 documents, which has not met Flowers, and the other 20."""
    lines = (files / "docs.jsonl").read_text().splitlines()
    known = [line for line in lines if "Flowers" not in line]
    (files / "first.jsonl").write_text("\n".join(known[:20]))
    (files / "more.jsonl").write_text("\n".join(line for line in lines if line not in known[:20]))
    train = ["train", "-t", files / "topics.tsv", "-d", files / "first.jsonl", "-o", files / "model", "--min-df", 1]
    result = linnaeus(*train, "--model", request.param)
    assert result.code == 0, result.err
    return files


@pytest.mark.parametrize("name", ["OneVsRestPA", "GlobalTreeModel"])
def test_every_model_that_learns_from_streams_is_told_about(linnaeus, files, name) -> None:
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    assert linnaeus(*train, "--model", name).code == 0
    result = linnaeus("learn", files / "model", files / "docs.jsonl", "--json")
    assert (result.code, json.loads(result.out)["labels"] >= 4) == (0, True)
    assert name in linnaeus("learn", "--help").out


def scores(folder, path) -> np.ndarray:
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()]
    return load(folder).decision_function({"text": texts})


def test_more_documents_and_labels_are_learned(linnaeus, learner) -> None:
    result = linnaeus("learn", learner / "model", learner / "more.jsonl", "--json")
    assert result.code == 0, result.err
    said = json.loads(result.out)
    assert (said["documents"], said["new_labels"], said["labels"], said["documents_in_all"]) == (20, 1, 4, 40)
    assert 0 < said["learned_from"] <= 20
    model = load(learner / "model").model_
    assert list(model.classes_) == ["Cats", "Dogs", "Flowers", "Trees"]
    for _ in range(5):
        linnaeus("learn", learner / "model", learner / "docs.jsonl")
    answers = linnaeus("predict", learner / "model", learner / "first.jsonl").out.splitlines()
    truth = [json.loads(line)["labels"] for line in (learner / "first.jsonl").read_text().splitlines()]
    found = [[entry["label"] for entry in json.loads(line)["labels"]] for line in answers]
    assert sum(a == b for a, b in zip(found, truth, strict=True)) >= 18


@pytest.mark.parametrize("model", ["HierarchicalPerceptron", "Hieron"])
def test_models_that_answer_all_nodes_learn_from_streams(linnaeus, files, model) -> None:
    lines = (files / "docs.jsonl").read_text().splitlines()
    (files / "first.jsonl").write_text("\n".join(line for line in lines if "Flowers" not in line))
    (files / "more.jsonl").write_text("\n".join(line for line in lines if "Flowers" in line))
    train = ["train", "-t", files / "topics.tsv", "-d", files / "first.jsonl", "-o", files / "model", "--answer", "all"]
    train += ["--model", model, "--set", "attributes=taxonomy+text", "--features", "hashed"]
    result = linnaeus(*train)
    assert result.code == 0, result.err
    before = list(load(files / "model").classes_)
    assert "Flowers" in before
    result = linnaeus("learn", files / "model", files / "more.jsonl", "--json")
    assert result.code == 0, result.err
    assert (json.loads(result.out)["new_labels"], json.loads(result.out)["labels"]) == (1, 4)
    assert list(load(files / "model").classes_) == before


def test_batches_and_pauses_change_nothing(linnaeus, learner) -> None:
    (learner / "same.jsonl").write_text((learner / "first.jsonl").read_text())
    for output, options in (("whole", []), ("parts", ["--batch", 3, "--save-every", 6])):
        run = linnaeus("learn", learner / "model", learner / "same.jsonl", "-o", learner / output, *options)
        assert run.code == 0, run.err
        assert "saved to" in run.err
    whole, parts = (scores(learner / name, learner / "first.jsonl") for name in ("whole", "parts"))
    np.testing.assert_array_equal(whole, parts)
    assert load(learner / "model").model_.n_docs_ == 20  # --output leaves the model as it was


def test_standard_input_is_a_stream(linnaeus, learner) -> None:
    text = (learner / "more.jsonl").read_text()
    assert linnaeus("learn", learner / "model", stdin=text).code == 0
    assert load(learner / "model").model_.n_docs_ == 40


def test_a_kill_while_saving_leaves_the_old_model(linnaeus, learner, monkeypatch) -> None:
    before = scores(learner / "model", learner / "first.jsonl")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linnaeus.store.folder.replace_file", killed)
    assert linnaeus("learn", learner / "model", learner / "more.jsonl").code == 130
    monkeypatch.undo()
    np.testing.assert_array_equal(scores(learner / "model", learner / "first.jsonl"), before)


def test_other_models_say_that_they_cannot(linnaeus, trained) -> None:
    result = linnaeus("learn", trained / "model", trained / "docs.jsonl")
    assert result.code == 1
    assert "OneVsRestSVM models cannot continue learning; OneVsRestPA, EdgePA, HierarchicalPerceptron" in result.err
    assert "To train one: linnaeus train --model OneVsRestPA" in result.err


def test_labels_outside_the_taxonomy_are_named_or_dropped(linnaeus, learner) -> None:
    (learner / "odd.jsonl").write_text(
        '{"text": "cat purr", "labels": ["Catz"]}\n{"text": "dog", "labels": ["Dogs"]}\n'
    )
    result = linnaeus("learn", learner / "model", learner / "odd.jsonl")
    assert result.code == 1
    assert "'Catz'" in result.err
    assert "did you mean 'Cats'" in result.err
    result = linnaeus("learn", learner / "model", learner / "odd.jsonl", "--unknown", "drop")
    assert result.code == 0
    assert "has no other label and is left out" in result.err


# -- taxonomy learn ----------------------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path):
    """Documents of twelve labels in four groups, each group with words of its own."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(240):
        group, k = list(WORDS)[i % 4], i // 4 % 3
        words = [*rng.choice(WORDS[group].split(), 6), *[f"{group}{k}"] * 2]
        lines.append(json.dumps({"text": " ".join(words), "labels": [f"{group}{k}"]}))
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_labels_are_grouped_and_the_file_trains_a_model(linnaeus, corpus) -> None:
    result = linnaeus("taxonomy", "learn", corpus / "docs.jsonl", "--output", corpus / "tree.tsv", "--json")
    assert result.code == 0, result.err
    said = json.loads(result.out)
    assert said["labels"] == 12
    assert sorted(map(sorted, said["members"])) == [[f"{g}{k}" for k in range(3)] for g in sorted(WORDS)]
    tax = Taxonomy.read(corpus / "tree.tsv")
    assert len(tax.leaves) == 12
    train = ["train", "-t", corpus / "tree.tsv", "-d", corpus / "docs.jsonl", "-o", corpus / "model"]
    assert linnaeus(*train, "--model", "perc").code == 0


def test_a_picture_is_drawn_and_a_table_shown(linnaeus, corpus) -> None:
    pytest.importorskip("matplotlib")
    target = corpus / "tree.svg"
    result = linnaeus("taxonomy", "learn", corpus / "docs.jsonl", "-o", corpus / "t.tsv", "--picture", target)
    assert result.code == 0, result.err
    assert "<svg" in target.read_text()
    assert "12 labels in 4 clusters" in result.err
    assert "Cats0, Cats1, Cats2" in result.out


def test_wrong_options_are_told(linnaeus, corpus) -> None:
    base = ["taxonomy", "learn", corpus / "docs.jsonl", "-o", corpus / "t.tsv"]
    assert "expected a whole number, or auto" in linnaeus(*base, "--levels", "many").err
    assert "did you mean 'average'" in linnaeus(*base, "--linkage", "averag").err
    assert linnaeus(*base, "--levels", "auto", "--branching", "3").code == 0
    (corpus / "bare.jsonl").write_text('{"text": "cat"}\n')
    assert "has no labels" in linnaeus("taxonomy", "learn", corpus / "bare.jsonl", "-o", corpus / "t.tsv").err


def test_the_calibration_of_the_model_before_is_dropped(learner, linnaeus) -> None:
    model = learner / "model"
    assert linnaeus("calibrate", model, learner / "first.jsonl").code == 0
    assert load(model).model_.calibrator_ is not None
    documents = json.loads(linnaeus("models", model, "--json").out)["documents"]
    result = linnaeus("learn", model, learner / "first.jsonl")
    assert result.code == 0, result.err
    assert "calibration no longer fits the model and was removed" in result.err
    assert load(model).model_.calibrator_ is None
    assert json.loads(linnaeus("models", model, "--json").out)["documents"] > documents
    assert linnaeus("predict", model, learner / "first.jsonl", "--risk", 0.1).code == 2


@pytest.mark.parametrize("features", ["hashed", "hashed:12,signed=False"])
def test_hashed_features_learn_words_that_training_has_never_seen(linnaeus, files, features) -> None:
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--test-size", 0]
    result = linnaeus(*train, "--model", "HierarchicalPerceptron", "--features", features)
    assert result.code == 0, result.err
    new = [{"text": "meow mouse", "labels": ["Cats"]}, {"text": "woof kennel", "labels": ["Dogs"]}]
    (files / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in 4 * new))
    assert linnaeus("learn", files / "model", files / "new.jsonl").code == 0
    (files / "asked.txt").write_text("mouse meow\nthe kennel\n")
    answers = linnaeus("predict", files / "model", files / "asked.txt", "--top", 1).out.splitlines()
    assert [json.loads(line)["labels"][0]["label"] for line in answers] == ["Cats", "Dogs"]
    assert "kennel" in linnaeus("explain", files / "model", "--document", "the kennel").out


def test_options_of_a_vocabulary_are_refused_beside_hashed_features(linnaeus, files) -> None:
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model"]
    result = linnaeus(*train, "--features", "hashed", "--min-df", 2)
    assert "--min-df has no effect with --features hashed" in result.err
    result = linnaeus(*train, "--features", "hashed:99")
    assert "'hashed:99': bits=99" in result.err


def test_updates_are_called_corrections(linnaeus, learner) -> None:
    shown = linnaeus("learn", learner / "model", learner / "more.jsonl").out
    assert "corrections" in shown
    assert "learned from" not in shown
