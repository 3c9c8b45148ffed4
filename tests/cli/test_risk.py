"""Automatic coding on the command line: promises, documents for review, and whether promises are kept."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import sys

import numpy as np
import pytest

CODES = {
    "11": "baker bread oven dough",
    "12": "nurse patient ward care",
    "21": "lawyer court case law",
    "22": "coder code bug test",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Job titles with a code each, some of which say little: training, calibration and test files, and a model."""
    from linnaeus.cli.main import run

    root = tmp_path_factory.mktemp("coding")
    (root / "codes.csv").write_text("parent,child\n1,11\n1,12\n2,21\n2,22\n")
    rng = np.random.default_rng(0)
    for name, n in (("train", 200), ("unseen", 400), ("test", 300)):
        rows = []
        for i in range(n):
            code = list(CODES)[rng.integers(4)]
            other = list(CODES)[rng.integers(4)]
            words = [*rng.choice(CODES[code].split(), 2), *rng.choice(CODES[other].split(), rng.integers(3))]
            rows.append(f"{name}{i},{' '.join(words)},{code}\n")
        (root / f"{name}.csv").write_text("id,text,code\n" + "".join(rows))
    (root / "new.csv").write_text("id,text\na,baker bread dough\nb,xyzzy\nc,baker nurse lawyer\n")
    reading = ["--labels", "code"]
    for arguments in (
        [
            "train",
            "-t",
            root / "codes.csv",
            "-d",
            root / "train.csv",
            "-o",
            root / "model",
            "--min-df",
            1,
            "--budget",
            0,
            *reading,
        ],
        ["calibrate", root / "model", root / "unseen.csv", *reading],
    ):
        with contextlib.suppress(SystemExit):
            run([str(a) for a in arguments])
    assert (root / "model").is_dir()
    return root


def rows_of(path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_document_is_coded_with_one_leaf_or_a_row_for_review(linnaeus, folder, tmp_path) -> None:
    promise = ["--risk", 0.1, "--risk-of", "answered", "--confidence", 0.9, "--leaves-only"]
    files = ["-o", tmp_path / "coded.csv", "--review", tmp_path / "unsure.csv", "--candidates", 2]
    result = linnaeus("predict", folder / "model", folder / "test.csv", *promise, *files)
    assert result.code == 0, result.err
    coded, unsure = rows_of(tmp_path / "coded.csv"), rows_of(tmp_path / "unsure.csv")
    assert len(coded) == len({row["id"] for row in coded}) == 300
    assert {row["status"] for row in coded} == {"coded", "review"}
    assert {row["label"] for row in coded if row["status"] == "coded"} <= set(CODES)
    assert [row["id"] for row in unsure] == [row["id"] for row in coded if row["status"] == "review"]
    assert "left for review" in result.err
    for row in unsure:
        assert float(row["probability_1"]) >= float(row["probability_2"])
        assert row["reason"] in ("below the threshold", "two codes nearly equal")
        assert float(row["margin"]) == pytest.approx(
            float(row["probability_1"]) - float(row["probability_2"]), abs=2e-6
        )
    truth = {row["id"]: row["code"] for row in rows_of(folder / "test.csv")}
    wrong = [truth[row["id"]] != row["label"] for row in coded if row["status"] == "coded"]
    assert np.mean(wrong) <= 0.1 + 3 * np.sqrt(0.09 / len(wrong))


def test_reasons_are_given_beside_candidates(linnaeus, folder) -> None:
    result = linnaeus(
        "predict", folder / "model", folder / "new.csv", "--risk", 0.1, "--risk-of", "answered", "--leaves-only"
    )
    clear, unknown, between = map(json.loads, result.out.splitlines())
    assert (clear["status"], clear["labels"][0]["label"]) == ("coded", "11")
    assert (unknown["status"], unknown["reason"]) == ("review", "no known word")
    assert {entry["label"] for entry in between["candidates"]} == {"11", "12", "21"}
    assert between["status"] == "review"


def test_rules_hold_under_a_promise(linnaeus, folder) -> None:
    result = linnaeus(
        "predict", folder / "model", folder / "test.csv", "--risk", 0.2, "--only-under", "2", "--exclude", "22"
    )
    labels = {entry["label"] for line in result.out.splitlines() for entry in json.loads(line)["labels"]}
    assert "21" in labels <= {"2", "21"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--risk", 0.0001], "--risk 0.0001 cannot be promised"),
        (["--risk", "0.01%"], "--risk 0.0001 cannot be promised"),
        (["--risk", 0.01, "--risk-of", "answered"], "count, about half"),
        (["--risk", "five"], "'five' is not a share; expected a number such as"),
        (["--risk", 0.1, "--require", "11"], "--risk and --require contradict"),
        (["--risk", 0.1, "--n-best", 2], "--n-best has no effect with it"),
        (["--risk", 0.1, "--decoder", "scut"], "--decoder has no effect with it"),
        (["--risk", 0.1, "--risk-of", "some"], "risk_of|--risk-of"),
        (["--risk-of", "answered"], "--risk-of belongs to --risk"),
        (["--review", "unsure.csv"], "give --risk"),
        (["--risk", 0.1, "--review", "same.csv", "-o", "./same.csv"], "--output and --review are both same.csv"),
        (["--risk", 0.1, "--review", "-"], "--output and --review are both standard output"),
        (["--ancestors"], "--ancestors requires --top"),
        (["--risk", 0.1, "--top", 2], "--risk apply to label sets"),
    ],
)
def test_combinations_that_mean_nothing_are_refused(linnaeus, folder, arguments, message) -> None:
    result = linnaeus("predict", folder / "model", folder / "new.csv", *arguments)
    assert result.code == 2
    assert re.search(message, " ".join(result.err.split()))


def test_suggestions_are_labels_in_the_order_of_scores(linnaeus, folder) -> None:
    def labels(*arguments):
        result = linnaeus("predict", folder / "model", folder / "test.csv", "--top", 3, *arguments)
        assert result.code == 0, result.err
        return [[entry["label"] for entry in json.loads(line)["labels"]] for line in result.out.splitlines()]

    assert labels("--probabilities") == labels()
    assert "1" in {label for row in labels("--probabilities", "--ancestors") for label in row}


def test_evaluate_checks_the_promise(linnaeus, folder, tmp_path) -> None:
    promise = ["--labels", "code", "--risk", 0.1, "--risk-of", "answered", "--leaves-only"]
    result = linnaeus(
        "evaluate", folder / "model", folder / "test.csv", *promise, "--json", "--plot", tmp_path / "curve.svg"
    )
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["wrong_of_answered"]["low"] <= 0.1
    assert found["wrong_of_answered"]["value"] * found["coverage"]["value"] == pytest.approx(
        found["wrong_of_all"]["value"]
    )
    assert 0 <= found["brier"] <= 0.25
    assert 0 <= found["ece"] <= 0.2
    assert [row["coverage"] for row in found["curve"]] == sorted(row["coverage"] for row in found["curve"])
    assert "<svg" in (tmp_path / "curve.svg").read_text()
    shown = linnaeus("evaluate", folder / "model", folder / "test.csv", *promise).out
    assert "wrong of answered" in shown
    assert "brier" in shown


def test_a_plot_without_matplotlib_or_of_another_kind_is_refused(linnaeus, folder, monkeypatch) -> None:
    arguments = ["evaluate", folder / "model", folder / "test.csv", "--labels", "code"]
    assert "--plot belongs to --risk" in linnaeus(*arguments, "--plot", "a.png").err
    assert "expected a file name that ends in" in linnaeus(*arguments, "--risk", 0.1, "--plot", "a.gif").err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "linnaeus[plots]" in linnaeus(*arguments, "--risk", 0.1, "--plot", "a.png").err
