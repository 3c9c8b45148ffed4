"""Times are read as people write them, and a clock runs out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnaeus.engine import Clock, format_seconds, parse_seconds
from linnaeus.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600), ("2h", 7200), ("90", 90), ("1h30m", 5400), ("1.5h", 5400), (3, 3), ("1e2", None)],
)
def test_times_are_read(text, seconds) -> None:
    if seconds is None:
        with pytest.raises(ParameterError):
            parse_seconds(text)
    else:
        assert parse_seconds(text) == seconds


@pytest.mark.parametrize("wrong", ["soon", "-5", 0, -1, float("inf"), float("nan"), "10x", "1m30", True, None, ""])
def test_wrong_times_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match="max_time=.*expected seconds, or a number with s, m, h or d, such as 90"):
        parse_seconds(wrong)


@given(st.integers(60, 10**6))
def test_times_for_people_can_be_read_back(seconds) -> None:
    assert parse_seconds(format_seconds(seconds)) == seconds


def test_a_clock_runs_out() -> None:
    assert not Clock(1000).over
    assert Clock(1e-9).over
    assert 0 < Clock(1000).remaining <= 1000
    assert Clock(None).remaining == float("inf")
