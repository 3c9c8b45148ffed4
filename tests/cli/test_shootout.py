"""`linnaeus shootout`: from files to a report, and clear words about wrong usage."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise

import numpy as np
import pytest

from linnaeus.auto.candidates import feature_variants, map_width
from linnaeus.cli import common, training
from linnaeus.cli.shootout import train_command
from linnaeus.data import Dataset
from linnaeus.experiments.records import Run
from linnaeus.features import DenseFeatures, KernelMap, SideBySide, TextFeatures
from linnaeus.features.named import kernel_map_name, name_of, profiles_of


def test_documents_become_a_report(linnaeus, files) -> None:
    result = linnaeus(
        "shootout", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "--models", "BSVM,RRSVM,TD",
        "--budget", "2m", "--jobs", 2, "--min-df", 1, "--output", files / "report",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert "RRSVM" in result.out
    assert "hierarchical f1" in result.out
    assert {path.name for path in (files / "report").iterdir()} >= {"report.html", "report.md", "shootout.json", "runs"}
    found = json.loads((files / "report" / "shootout.json").read_text())
    assert found["sentence"] in result.out
    assert found["problem"]["split"] == "held-out quarter"
    again = linnaeus(
        "shootout", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "--models", "BSVM,RRSVM,TD",
        "--min-df", 1, "--output", files / "report", "--json",
    )  # fmt: skip
    assert json.loads(again.out)["runs"] == found["runs"], "kept, not repeated"


def test_a_run_without_figures_keeps_the_earlier_report(linnaeus, files) -> None:
    (files / "report").mkdir()
    (files / "report" / "report.html").write_text("of an earlier run")
    given = ["shootout", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "--models", "BSVM", "--min-df", 1]
    result = linnaeus(*given, "--budget", "0.000001", "-o", files / "report")
    assert result.code == 1
    assert "No model could be measured; increase the budget. report.html in" in result.err
    assert (files / "report" / "report.html").read_text() == "of an earlier run"
    result = linnaeus(*given, "--budget", "0.000001", "-o", files / "new")
    assert result.code == 1
    assert "No model could be measured; increase the budget." in result.err
    assert not (files / "new" / "report.html").exists()


def test_the_last_line_is_a_command_that_trains_the_recommended_model(linnaeus, files, monkeypatch) -> None:
    given = ["shootout", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "--models", "BSVM", "--min-df", 1]
    given += ["--budget=1m", "-o", files / "report"]
    monkeypatch.setattr("sys.argv", ["linnaeus", *map(str, given)])
    result = linnaeus(*given)
    assert result.code == 0, result.err
    command = json.loads((files / "report" / "shootout.json").read_text())["next_step"]
    assert command in result.out
    assert command in (files / "report" / "report.md").read_text()
    assert "linnaeus train" in (files / "report" / "report.html").read_text()
    trained = linnaeus(*command.split()[1:-1], files / "model")
    assert trained.code == 0, trained.err


def test_the_next_command_keeps_what_training_needs() -> None:
    given = ["shootout", "-ddocs.csv", "--labels", "my label", "-m", "RRSVM", "-b2m", "--json", "-j", "2", "--folds=3"]
    run = Run(model="RRSVM", status="done", parameters={"C": [1.0, 3.0, 10.0], "loss": "hinge"})
    expected = "linnaeus train -ddocs.csv --labels 'my label' --model RRSVM --set C=3 --set loss=hinge --output model"
    assert train_command(given, run) == expected


def _features_of(command: str, documents: Dataset, **more):
    """The features that `linnaeus train` makes of the options of a command."""
    words = shlex.split(command)
    given = {name: value for name, value in pairwise(words) if name.startswith("--")}
    analysed = common.AnalyserOptions(analyser=given.get("--analyser"), ngrams=given.get("--ngrams"))
    return training.make_features(
        documents,
        common.TrainingReading(),
        weighting=given.get("--weighting"),
        min_df=int(given["--min-df"]) if "--min-df" in given else None,
        named=given.get("--features"),
        embedding=given.get("--embedding"),
        terms=analysed.parameters(),
        **more,
    )


def test_the_next_command_counts_the_substrings_of_the_run() -> None:
    sequences = ["ABCABCAB", "ABCAABCC", "BCABCABC", "CABCABCA"]
    documents = Dataset(sequences=sequences, source="a.csv")
    for given in ([], ["--min-df", "2"], ["--min-df", "1"]):
        arguments = ["shootout", "-d", "a.csv", *given]
        usual = _features_of(train_command(arguments, Run(model="RRSVM", status="done")), documents, model={})
        variants = feature_variants(usual, usual.fit_transform(sequences), 0, n_docs=4, length=8.0)
        for name in {"log2 weighting", "substrings of up to 4", "substrings of up to 5"} & set(variants):
            command = train_command(arguments, Run(model="RRSVM", status="done"), variant=name)
            again = _features_of(command, documents, model={})
            assert repr(again) == repr(variants[name]), name
        assert "substrings of up to 5" in variants


@pytest.mark.parametrize("clip", [None, 1.5])
def test_the_next_command_has_the_map_of_the_run(clip: float | None) -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(1000, 4)), rng.normal(size=(5, 4))
    documents = Dataset(X, source="a.csv")
    variants = feature_variants(DenseFeatures(), X, 3, n_docs=len(X))
    maps = {name: made for name, made in variants.items() if isinstance(made, KernelMap)}
    assert {"rbf map", "wider rbf map", "narrower profile rbf map of 1,000 landmarks"} <= set(maps)
    for name, made in maps.items():
        made.set_params(gamma=map_width(name) / 7, clip=clip)  # as a search does
        run = Run(model="RRSVM", status="done", parameters={"C": 3.0}, features=name, maps=[kernel_map_name(made)])
        command = train_command(["shootout", "-d", "a.csv", "--seed", "3"], run)
        again = _features_of(command, documents, model={"random_state": 3})
        assert again.features.profiles == ("profile" in name)
        assert repr({**again.get_params(), "clip": None}) == repr({**made.get_params(), "clip": None})
        assert np.array_equal(again.fit(X).transform(new), made.fit(X).transform(new))
    both = SideBySide([maps["rbf map"], profiles_of()])
    run = Run(model="RRSVM", status="done", features="rbf map beside profiles", maps=[name_of(both)])
    again = _features_of(
        train_command(["shootout", "-d", "a.csv", "--seed", "3"], run), documents, model={"random_state": 3}
    )
    assert np.array_equal(again.fit(X).transform(new), both.fit(X).transform(new))
    run = Run(model="RRSVM", status="done", parameters={"C": 3.0}, features="profiles", maps=["profiles"])
    again = _features_of(train_command(["shootout", "-d", "a.csv"], run), documents, model={})
    assert repr(again) == "DenseFeatures(profiles=True)"
    run = Run(model="RRSVM", status="done", parameters={}, features="rbf map", maps=["rbf:600,profiles=true"])
    command = train_command(["shootout", "-d", "a.csv", "--features", "profiles"], run)
    assert command == "linnaeus train -d a.csv --model RRSVM --features rbf:600,profiles=true --output model"


@pytest.mark.parametrize(
    "given", [[], ["--min-df", "2"], ["--min-df=3"], ["--ngrams", "1-2"], ["--analyser", "words", "--ngrams=1-3"]]
)
def test_the_next_command_has_the_text_features_of_the_shootout(given, monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.auto.candidates._can_embed", lambda features: True)
    monkeypatch.setattr("linnaeus.features.word_vectors.open_vectors", lambda name: None)
    texts = ["one two", "two three"] * 10
    documents = Dataset(fields={"text": texts}, source="a.csv")
    usual = _features_of(shlex.join(["linnaeus", "train", *_split(given)]), documents)
    assert isinstance(usual, TextFeatures)
    X = TextFeatures().fit_transform(texts)
    variants = dict(feature_variants(usual, X, 0, n_docs=20, n_labels=2, length=7.0))
    assert {"characters", "log2 weighting", "words, characters and wordllama"} <= set(variants)
    for name, made in variants.items():
        if name == "texts":
            continue
        command = train_command(["shootout", "-d", "a.csv", *given], Run(model="RRSVM", status="done"), name)
        again = _features_of(shlex.join(_split(shlex.split(command))), documents)
        assert _values(again) == _values(made), (name, command)


def _split(arguments: list[str]) -> list[str]:
    """--name=value as two arguments."""
    return [part for one in arguments for part in (one.split("=", 1) if one.startswith("--") else [one])]


def _values(features) -> dict[str, object]:
    """Parameters, with those of features inside; those that change nothing here are left out."""
    return {key: value for key, value in features.get_params().items() if key not in ("features", "texts")}


def test_the_next_command_takes_all_from_one_fold() -> None:
    run = Run(
        model="RRSVM",
        status="done",
        parameters={"C": [30.0, 1.0, 2.0], "learn": ["closed", None, "frontier"]},
        maps=[None, "rbf:600,gamma=0.5", "rbf:600,gamma=0.25,clip=3.0"],
    )
    command = train_command(["shootout", "-d", "a.csv", "--folds", "3"], run)
    assert "--set C=2 --set learn=frontier --features rbf:600,gamma=0.25,clip=3.0" in command
    run.parameters["C"] = [30.0, 2.0, 1.0]
    command = train_command(["shootout", "-d", "a.csv", "--folds", "3"], run)
    assert "--set C=2 --features rbf:600,gamma=0.5 " in command


def test_the_map_of_a_shootout_is_in_its_command(linnaeus, tmp_path, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    rows = [f"{a},{b},{c},{'near' if a * a + b * b < 1.3 else 'far'}" for a, b, c in X.round(3)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,z,label", *rows]) + "\n")
    given = ["shootout", "-d", tmp_path / "a.csv", "--models", "BSVM", "--budget", "1m", "-o", tmp_path / "report"]
    monkeypatch.setattr("sys.argv", ["linnaeus", *map(str, given)])
    result = linnaeus(*given)
    assert result.code == 0, result.err
    found = json.loads((tmp_path / "report" / "shootout.json").read_text())
    (run,) = found["runs"]
    assert "rbf map" in run["features"]
    assert run["maps"][0].startswith("rbf:600,gamma=")
    assert f"--features {run['maps'][0]}" in found["next_step"]
    trained = linnaeus(*shlex.split(found["next_step"])[1:-1], tmp_path / "model", "--json")
    assert trained.code == 0, trained.err


def test_profiles_that_are_given_are_kept(linnaeus, tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4)).round(3)
    rows = [f"{a},{b},{c},{d},{'up' if a < b else 'down'}" for a, b, c, d in X]
    (tmp_path / "a.csv").write_text("\n".join(["w,x,y,z,label", *rows]) + "\n")
    given = ["-d", tmp_path / "a.csv", "--models", "BSVM", "--budget", "20s", "--features", "profiles"]
    result = linnaeus("shootout", *given, "-o", tmp_path / "report")
    assert result.code == 0, result.err
    found = json.loads((tmp_path / "report" / "shootout.json").read_text())
    assert found["problem"]["features"] == "DenseFeatures(profiles=True)"
    assert found["runs"][0]["features"] == "as they are"


def test_a_given_test_file_is_measured_on(linnaeus, files) -> None:
    lines = (files / "docs.jsonl").read_text().splitlines()
    (files / "train.jsonl").write_text("\n".join(lines[:28]) + "\n")
    (files / "test.jsonl").write_text("\n".join(lines[28:]) + "\n")
    result = linnaeus(
        "shootout", "-t", files / "topics.tsv", "-d", files / "train.jsonl", "--test", files / "test.jsonl",
        "--models", "BSVM", "--min-df", 1, "--output", files / "report", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    about = json.loads(result.out)["problem"]
    assert (about["n_train"], about["n_test"], about["split"]) == (28, 12, "given split")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--models", "RRSVN"], "did you mean 'RRSVM'"),
        (["--budget", "soon"], "--budget soon; expected seconds"),
        (["--measure", "micro_f"], "did you mean 'micro_f1'"),
        (
            ["--measure", "precision_at_1"],
            "expected hierarchical_f1, micro_f1, macro_f1, example_f1, average_precision",
        ),
        (["--folds", "1"], "folds=1"),
        (["--folds", "3", "--test-size", "0.5"], "one of --test, --folds and --test-size"),
        (["--demo"], "Give --data or --demo"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(linnaeus, files, arguments, words) -> None:
    given = ["-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "report"]
    result = linnaeus("shootout", *given, *arguments)
    assert result.code == 2
    assert words in " ".join(result.err.replace("│", " ").split())
    assert not (files / "report").exists()


def test_a_taxonomy_without_documents_is_no_demo(linnaeus, files) -> None:
    result = linnaeus("shootout", "-t", files / "topics.tsv")
    assert result.code == 2
    assert "--data is missing" in " ".join(result.err.replace("│", " ").split())


def test_a_file_is_no_folder_for_the_report(linnaeus, files) -> None:
    result = linnaeus("shootout", "-d", files / "docs.jsonl", "-o", files / "docs.jsonl")
    assert result.code == 2
    assert "is a file" in result.err


def test_a_folder_that_cannot_be_written_is_noticed_before_models_run(linnaeus, files, monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.cli.shootout.os.access", lambda path, mode: False)
    command = ["shootout", "-d", files / "docs.jsonl", "-t", files / "topics.tsv", "-o", files / "report"]
    result = linnaeus(*command)
    assert (result.code, "no permission" in result.err) == (2, True)
    assert not (files / "report").exists()
