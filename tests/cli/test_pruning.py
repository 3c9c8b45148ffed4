"""`linnaeus train --prune auto` finds how much may be dropped."""

from __future__ import annotations

import json

import pytest

import linnaeus as package
from linnaeus.cli.training import check_prune
from linnaeus.errors import ParameterError


def test_auto_keeps_the_precision_and_drops_weights(tmp_path, linnaeus) -> None:
    words = ["cat purr", "dog bark", "fish swim", "bird sing"]
    lines = [{"text": f"the {words[i % 4]} of number {i % 7}", "labels": [words[i % 4].split()[0]]} for i in range(80)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = json.loads(
        linnaeus(
            "train", "--data", tmp_path / "docs.jsonl", "--output", tmp_path / "model", "--prune", "auto", "--json"
        ).out
    )
    assert report["pruned"]["threshold"] > 0
    assert report["pruned"]["weights_kept"] < report["pruned"]["weights_before"]
    assert report["pruned"]["scores"]["precision_at_1"] >= report["scores"]["precision_at_1"] - 0.001
    assert package.load(tmp_path / "model").model_.weights_.nnz == report["pruned"]["weights_kept"]


def test_anything_else_than_a_number_or_auto_is_refused() -> None:
    assert check_prune("0.1") == 0.1
    assert check_prune("auto") == "auto"
    assert check_prune(None) is None
    for wrong in ("-1", "much", "nan"):
        with pytest.raises(ParameterError, match="a number of at least 0, or auto"):
            check_prune(wrong)
