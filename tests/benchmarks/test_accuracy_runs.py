"""The accuracy tables on real data: every command runs, on few documents; the rare labels reach what was asked for."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import accuracy_imclef, accuracy_rcv1v2, accuracy_wordnet, problems

pytestmark = [pytest.mark.data, pytest.mark.slow]


@pytest.fixture
def few(data_dir, monkeypatch):
    """Problems with so many training and a third as many test documents, and two values of C."""
    load = problems.load

    def reduce_to(n: int) -> None:
        def loaded(name: str) -> problems.Problem:
            problem, rng = load(name), np.random.default_rng(0)
            train = rng.choice(problem.X.shape[0], n, replace=False)
            test = rng.choice(problem.X_test.shape[0], n // 3, replace=False)
            test_rows = {"X_test": problem.X_test[test], "Y_test": problem.Y_test[test]}
            return replace(problem, X=problem.X[train], Y=problem.Y[train], **test_rows)

        monkeypatch.setattr(problems, "load", loaded)
        monkeypatch.setattr(accuracy_imclef, "DECADES", (0.1, 1.0))
        monkeypatch.setattr(accuracy_rcv1v2, "HALF_DECADES", (0.3, 1.0))
        monkeypatch.setattr(accuracy_wordnet, "GRID", (0.3, 1.0))

    return reduce_to


@pytest.mark.slow
def test_images(few, capsys) -> None:
    few(300)
    result = accuracy_imclef.run(["--json", "--systems", "OneVsRestLogistic", "RRLogistic", "--tol", "0.01"])
    assert json.loads(capsys.readouterr().out)["n_train"] == 300
    assert [row["C_by"] for row in result["results"]] == ["micro_f1", "macro_f1"] * 2
    assert all(row["relative_gap"] <= 0.01 for row in result["results"])
    assert {row["against"] for row in result["tests"]} == {"OneVsRestLogistic"}
    text = accuracy_imclef.markdown(result)
    assert text.count("| RRLogistic | macro-F1 |") == 1
    assert "(BLR)" in text


def test_news(few) -> None:
    few(300)
    result = accuracy_rcv1v2.run(["--losses", "squared hinge", "--labels", "frontier", "--search-tol", "0.05"])
    assert [row["cut"] for row in result["results"]] == ["zero", "zero", "instance_cut", "instance_cut"] * 2
    for row in result["comparisons"]:
        assert sum(line["n_nodes"] for line in row["by_size"]) <= result["n_labels"]
        assert row["by_level"][0]["level"] == 1
    assert "RRSVM, squared hinge, frontier, C by macro-F1: flat, RR, gain" in accuracy_rcv1v2.markdown(result)


@pytest.mark.slow
def test_rare_labels(few) -> None:
    few(100)
    result = accuracy_wordnet.run(["--search-tol", "0.1", "--tol", "0.1"])
    assert set(result["held_out"]) == {"OneVsRestSVM", "RRSVM"}
    assert result["results"][0]["C"] == 1
    assert {row["system"] for row in result["comparisons"]} == {"RRSVM"}
    assert not result["within_budget"]  # 100 documents teach little
    assert "Omikuji" in accuracy_wordnet.markdown(result)


@pytest.mark.slow
def test_rare_labels_are_found_as_well_as_asked_for(data_dir) -> None:
    result = accuracy_wordnet.run(["--quick", "--systems", "RRSVM"])
    assert result["within_budget"], result["results"]
