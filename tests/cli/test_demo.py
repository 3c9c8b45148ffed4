"""`linnaeus demo` does from one command what its page promises."""

from __future__ import annotations

import json

import pytest

import linnaeus as package
from linnaeus.cli.demo import _rare_rows, _verdict


@pytest.mark.slow  # the README runs the same commands
def test_the_demo_measures_explains_and_saves(linnaeus, tmp_path) -> None:
    result = linnaeus("demo", "--output", tmp_path / "demo")
    assert result.code == 0, result.err
    for promised in (
        "hierarchical f1",
        "micro f1",
        "flat",
        "joint",
        "confidence",
        "predicted",
        "because of",
        "linnaeus explain",
    ):
        assert promised in result.out
    model = package.load(tmp_path / "demo")
    names, _ = model.top(["Solve a sparse linear system by a direct factorisation of the sparse matrix."], 3)
    assert any("sparse" in name for name in names[0])
    examples = tmp_path / "demo-examples.jsonl"
    assert len(examples.read_text().splitlines()) > 500
    assert "linnaeus train --data" in result.out
    assert package.Taxonomy.read(tmp_path / "demo-taxonomy.tsv").n_nodes == model.taxonomy_.n_nodes
    assert len((tmp_path / "demo-train.jsonl").read_text().splitlines()) > 2 * len(examples.read_text().splitlines())
    report = json.loads(linnaeus("evaluate", tmp_path / "demo", examples, "--json").out)["metrics"]
    shown = next(line for line in result.out.splitlines() if "hierarchical f1" in line).split()
    assert f"{report['hierarchical_f1']:.4f}" == shown[-1], "the demo and evaluate report the same"


def test_a_difference_is_called_chance_only_if_it_may_be_none() -> None:
    assert "chance" in _verdict({"difference": 0.01, "low": -0.01, "high": 0.03})
    assert "chance" not in _verdict({"difference": 0.02, "low": 0.01, "high": 0.03})
    assert "chance" not in _verdict({"difference": -0.02, "low": -0.03, "high": -0.01})


def test_rare_is_what_few_training_documents_carry() -> None:
    train = [["often"]] * 6 + [["seldom", "often"]]
    assert _rare_rows(train, [["often"], ["often", "seldom"], ["never"]]) == [1, 2]


def test_an_unknown_corpus_is_refused_with_the_known_ones(linnaeus, tmp_path) -> None:
    result = linnaeus("demo", "--corpus", "manual", "--output", tmp_path / "demo")
    assert result.code == 2
    assert "--corpus manual is unknown; expected docstrings, manuals, packages; did you mean 'manuals'?" in result.err
