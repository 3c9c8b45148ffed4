"""Children answer, or the reason why they do not is known; none outlives its limit."""

from __future__ import annotations

import pytest

from linnaeus.experiments.children import ChildOutcome, in_children
from tests.experiments import work


def outcome(function: object, limit: float = 60.0) -> ChildOutcome[object]:
    return dict(in_children(function, ["one"], lambda name, left: ((7,), limit)))["one"]  # type: ignore[arg-type]


def test_answers_come_back_from_several_at_once() -> None:
    asked = {"a": 1, "b": 2, "c": 3}
    found = dict(in_children(work.doubled, list(asked), lambda name, left: ((asked[name],), 60.0), jobs=2))
    assert {name: one.value for name, one in found.items()} == {"a": 2, "b": 4, "c": 6}


@pytest.mark.parametrize(
    ("function", "failure", "words"),
    [
        (work.raising, "error", "RuntimeError: no 7"),
        (work.refusing, "refused", "X is not what was expected."),
        (work.greedy, "memory", "out of memory"),
        (work.dying, "memory", "out of memory"),
    ],
)
def test_failures_are_told_apart(function: object, failure: str, words: str) -> None:
    found = outcome(function)
    assert (found.value, found.failure, found.words) == (None, failure, words)


def test_what_never_ends_is_ended() -> None:
    assert outcome(work.endless, limit=0.3).failure == "time"


def test_tasks_without_arguments_are_left_out() -> None:
    assert list(in_children(work.doubled, ["a", "b"], lambda name, left: None)) == []


def test_the_number_left_counts_down() -> None:
    seen = []

    def arguments(name: str, left: int) -> tuple[tuple[int, ...], float]:
        seen.append((name, left))
        return (1,), 60.0

    list(in_children(work.doubled, ["a", "b"], arguments))
    assert seen == [("a", 2), ("b", 1)]
