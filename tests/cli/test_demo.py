"""`linnaeus demo` does from one command what its page promises."""

from __future__ import annotations

import json

import linnaeus as package


def test_the_demo_measures_explains_and_saves(linnaeus, tmp_path) -> None:
    result = linnaeus("demo", "--output", tmp_path / "demo")
    assert result.code == 0, result.err
    for promised in ("hierarchical f1", "micro f1", "flat", "predicted", "because of", "linnaeus explain"):
        assert promised in result.out
    model = package.load(tmp_path / "demo")
    names, _ = model.top(["Solve a sparse linear system by a direct factorisation of the sparse matrix."], 3)
    assert any("sparse" in name for name in names[0])
    examples = tmp_path / "demo-examples.jsonl"
    assert len(examples.read_text().splitlines()) > 500
    told = json.loads(linnaeus("evaluate", tmp_path / "demo", examples, "--json").out)["metrics"]
    shown = next(line for line in result.out.splitlines() if "hierarchical f1" in line).split()
    assert f"{told['hierarchical_f1']:.4f}" == shown[-1], "the demo and evaluate tell the same"
