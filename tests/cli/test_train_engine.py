"""`linnaeus train --engine` says where blocks run; the model is the same everywhere."""

from __future__ import annotations

import numpy as np

import linnaeus as package


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
