"""Forecasts add up, and a plan stays below its limit by the cheapest means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linnaeus.engine import Forecast, format_bytes, own_memory, parse_bytes, plan_memory
from linnaeus.errors import ParameterError

SIZES = st.integers(0, 1000)
FORECASTS = st.builds(
    Forecast,
    once=st.dictionaries(st.sampled_from(["documents", "labels"]), SIZES),
    each_worker=st.dictionaries(st.sampled_from(["panels", "results"]), SIZES),
    n_workers=st.integers(1, 8),
    weights=SIZES,
    merging=st.integers(0, 100),
    preparing=SIZES,
    now=SIZES,
)


@pytest.mark.parametrize(
    ("text", "n_bytes"), [("4GB", 4 * 10**9), ("512 MiB", 2**29), ("1e3", 1000), (2.5e6, 2_500_000), ("8g", 8 * 10**9)]
)
def test_sizes_are_read(text, n_bytes) -> None:
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("wrong", ["4 bananas", "-1", 0, True, "GB", float("nan"), None])
def test_wrong_sizes_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match="max_memory=.*expected bytes"):
        parse_bytes(wrong)


@given(st.integers(1, 10**14))
def test_sizes_for_people_are_within_a_percent(n_bytes) -> None:
    number, unit = format_bytes(n_bytes).split()
    assert float(number) * {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit] == pytest.approx(
        n_bytes, rel=0.01
    )


@given(FORECASTS, st.integers(1, 12000))
@example(Forecast({}, {"panels": 1}, n_workers=1, weights=1, merging=1, now=0), 1)
def test_a_plan_stays_below_its_limit_or_says_that_none_does(forecast, limit) -> None:
    options = [
        replace(forecast, n_workers=n, on_disk=disk) for n in range(1, forecast.n_workers + 1) for disk in (False, True)
    ]
    try:
        plan = plan_memory(forecast, limit)
    except ParameterError:
        assert all(option.peak > limit for option in options)
        return
    assert plan.peak <= limit
    if forecast.peak <= limit:
        assert plan == forecast
    better = [option for option in options if option.n_workers > plan.n_workers]
    assert all(option.peak > limit for option in better)


def test_a_given_engine_keeps_its_workers() -> None:
    forecast = Forecast({}, {"panels": 100}, n_workers=4, weights=0, now=0)
    assert plan_memory(forecast, 200).n_workers == 2
    with pytest.raises(ParameterError, match="at least 400 bytes"):
        plan_memory(forecast, 200, fewer_workers=False)


def test_own_memory_grows_with_what_is_held() -> None:
    before = own_memory()
    held = np.ones(10_000_000)
    assert own_memory() - before > 0.8 * held.nbytes
