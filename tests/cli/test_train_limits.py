"""`linnaeus train` with a checkpoint, a time limit or a memory limit."""

from __future__ import annotations

import json

import pytest

import linnaeus as package
from linnaeus.models.flat import one_vs_rest


def arguments(files, *more):
    usual = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    return [*usual, *more]


def test_the_forecast_is_printed_and_part_of_the_json(linnaeus, files) -> None:
    result = linnaeus(*arguments(files, "--json"))
    report = json.loads(result.out)
    assert "memory: " in result.err
    assert report["memory_forecast"]["peak_bytes"] > report["memory_forecast"]["now_bytes"] > 0
    assert report["memory_forecast"]["weights_on_disk"] is False
    assert report["time_limit_reached"] is False


def test_a_stopped_training_says_how_to_go_on_and_goes_on(linnaeus, files, monkeypatch) -> None:
    solve = one_vs_rest.solve_in_time

    def interrupted(training, task):
        raise KeyboardInterrupt

    monkeypatch.setattr(one_vs_rest, "solve_in_time", interrupted)
    stopped = linnaeus(*arguments(files, "--checkpoint", files / "saved"))
    assert stopped.code == 130
    assert f"kept in {files / 'saved'}, and the same fit with this checkpoint continues" in stopped.err
    assert not (files / "model").exists()
    monkeypatch.setattr(one_vs_rest, "solve_in_time", solve)
    assert linnaeus(*arguments(files, "--checkpoint", files / "saved", "--C", 2)).code == 1  # another fit
    assert linnaeus(*arguments(files, "--checkpoint", files / "saved")).code == 0
    assert package.load(files / "model").predict(["a kitten with a whisker"]).tolist() == ["Cats"]
    assert not (files / "saved").exists()  # done its work


@pytest.mark.slow
def test_a_training_stopped_by_the_time_keeps_its_checkpoint(linnaeus, files) -> None:
    hard = ["--set", "loss=hinge", "--set", "tol=1e-7", "--set", "max_iter=100000"]
    result = linnaeus(*arguments(files, *hard, "--max-time", "0.000001", "--checkpoint", files / "saved", "--json"))
    assert result.code == 0
    assert json.loads(result.out)["time_limit_reached"] is True
    assert "max_time=0.000001 is over" in result.err
    assert "stays: the same command continues" in result.err
    assert (files / "saved").is_dir()
    result = linnaeus(*arguments(files, *hard, "--checkpoint", files / "saved", "--json"))
    assert json.loads(result.out)["time_limit_reached"] is False
    assert not (files / "saved").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--max-time", "soon", "--max-time soon; expected seconds"),
        ("--max-memory", "much", "--max-memory much; expected bytes"),
        ("--max-memory", "1MB", "The memory limit is 1.00 MB, but the fit takes at least"),
    ],
)
def test_limits_that_cannot_be_kept_are_wrong_usage(linnaeus, files, option, value, message) -> None:
    result = linnaeus(*arguments(files, option, value))
    assert result.code == 2
    assert message in result.err
    assert not (files / "model").exists()
