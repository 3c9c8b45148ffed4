"""`linnaeus train --engine` says where blocks run; the model is the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import linnaeus as package
from linnaeus.engine.gpu import gpu_if_any


def train(linnaeus, files, *more):
    given = ("--taxonomy", files / "topics.tsv", "--data", files / "docs.jsonl", "--output", files / "model")
    return linnaeus("train", *given, "--min-df", 1, *more)


def test_engines_give_the_same_model(linnaeus, files) -> None:
    weights = []
    for more in [(), ("--engine", "serial"), ("--engine", "threads", "--jobs", 3)]:
        assert train(linnaeus, files, *more).code == 0
        weights.append(package.load(files / "model").model_.weights_)
    for other in weights[1:]:
        np.testing.assert_array_equal(weights[0], other)


def test_an_unknown_engine_is_told_before_anything_is_read(linnaeus, files) -> None:
    (files / "docs.jsonl").unlink()
    result = train(linnaeus, files, "--engine", "thread")
    assert result.code == 2
    assert "did you mean 'threads'?" in result.err


@pytest.mark.skipif(gpu_if_any() is not None, reason="there is a GPU")
def test_a_missing_gpu_is_told_in_one_sentence_before_anything_is_read(linnaeus, files) -> None:
    (files / "docs.jsonl").unlink()
    result = train(linnaeus, files, "--engine", "gpu")
    assert result.code == 1
    assert "engine='gpu' found no GPU here" in " ".join(result.err.split())
    assert "Traceback" not in result.err
