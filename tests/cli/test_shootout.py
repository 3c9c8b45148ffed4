"""`linnaeus shootout`: from files to a report, and clear words about wrong usage."""

from __future__ import annotations

import json

import pytest

from linnaeus.cli.shootout import train_command
from linnaeus.experiments.records import Run


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
