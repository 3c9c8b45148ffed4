"""Forecasts grow with documents as the pilots did."""

from __future__ import annotations

import pytest

from linnaeus.experiments.forecast import extrapolate, forecast, pilot
from tests.experiments.toy import toy


def test_growth_is_that_of_the_last_two_fits_within_reason() -> None:
    assert extrapolate([(10, 1.0), (20, 2.0)], 80) == pytest.approx(8.0)
    assert extrapolate([(10, 1.0), (20, 64.0)], 40) == pytest.approx(64 * 2**2.2), "noise is not extrapolated"


def test_a_run_with_a_search_takes_longer_than_one_without() -> None:
    found = [(100, 2.0)]
    assert forecast(toy(), "RRSVM", found, 1.0).likely > forecast(toy(), "Hieron", found, 1.0).likely
    assert forecast(toy(n_parts=3), "RRSVM", found, 1.0).least > 2 * forecast(toy(), "RRSVM", found, 1.0).least
    assert forecast(toy(), "RRSVM", found, 2.0).least == 2 * forecast(toy(), "RRSVM", found, 1.0).least


def test_pilots_are_of_growing_size() -> None:
    found, busy = pilot(toy(n_docs=400), "OneVsRestSVM", 5.0)
    assert [size for size, _ in found] == sorted({50, 300 // 4})
    assert busy >= 1
