"""Axes: round numbers that hold the values, places in order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.plots.svg import Axis, Frame, decades, round_ticks

SOME = settings(max_examples=100)


@SOME
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_hold_the_values_and_are_few(low, width) -> None:
    ticks = round_ticks(low, low + width)
    assert 2 <= len(ticks) <= 9
    slack = 1e-6 * (ticks[1] - ticks[0]) + 1e-9
    assert ticks[0] <= low + slack
    assert ticks[-1] >= low + width - slack


def test_one_value_alone_still_has_an_axis() -> None:
    ticks = round_ticks(0.7, 0.7)
    assert ticks[0] < 0.7 < ticks[-1]


@SOME
@given(st.floats(1e-4, 1e5), st.floats(1.0, 1e4))
def test_logarithmic_ends_lie_outside_the_values(low, factor) -> None:
    bottom, top, ticks = decades(low, low * factor)
    assert bottom < low <= low * factor < top
    assert ticks[0] == bottom
    assert ticks[-1] == top


def test_places_go_right_and_up() -> None:
    frame = Frame(200, 100, Axis("x", 1, 100, [], log=True), Axis("y", 0, 1, []))
    assert frame.across(1) == frame.left
    assert frame.across(10) == (frame.left + 200 - frame.right) / 2
    assert frame.up(1) == frame.top
    assert frame.up(0) == 100 - frame.bottom
