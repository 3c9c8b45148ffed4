"""The search of C goes where it pays, and ends with what it has when time is over."""

from __future__ import annotations

from linnaeus.experiments.search import GRID, NoTime, choose


def test_far_ends_are_not_tried_when_quality_falls() -> None:
    tried = choose(lambda C: {"f": -abs(C - 1.0)}, GRID)
    assert tried.best("f") == 1.0
    assert list(tried.quality) == [0.3, 1.0, 3.0]


def test_what_was_tried_before_the_time_was_over_counts() -> None:
    def quality(C: float) -> dict[str, float]:
        if C > 3:
            raise NoTime
        return {"f": C}

    assert choose(quality, GRID).best("f") == 3.0
