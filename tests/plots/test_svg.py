"""Axes: round numbers that hold the values, places in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.metrics import SiblingConfusion
from linnaeus.plots.svg import Axis, Frame, decades, draw_confusion, round_ticks

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


def test_a_long_name_before_the_last_column_fits_into_the_matrix() -> None:
    def width(names: list[str]) -> float:
        found = SiblingConfusion(names, "top", np.eye(2, dtype=int), np.zeros(2, dtype=int), np.ones(2, dtype=int))
        return float(draw_confusion("c", "t", found).partition('viewBox="0 0 ')[2].split()[0])

    assert width(["a" * 24, "b"]) > width(["b" * 6, "a" * 6]) + 18 * 6.4 + 40, "the row's name, and the column's slant"
