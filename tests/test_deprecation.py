"""Deprecated things work, and warn at the line of their caller."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from linnaeus.deprecation import deprecated, deprecated_parameter


def test_a_deprecated_function_warns_at_its_caller_and_works() -> None:
    @deprecated(since="0.2", removed_in="0.4", instead="new")
    def old(x: int) -> int:
        """What it did."""
        return x + 1

    with pytest.warns(FutureWarning, match=r"old is deprecated since 0\.2 and will be removed in 0\.4; use new\.") as w:
        assert old(1) == 2
    assert Path(w[0].filename).name == Path(__file__).name
    assert old.__doc__ is not None
    assert old.__doc__.endswith("What it did.")


def test_a_deprecated_parameter_warns_only_if_it_is_given() -> None:
    @deprecated_parameter("cost", since="0.2", removed_in="0.4", instead="C")
    def fit(C: float = 1.0, cost: float | None = None) -> float:
        return C if cost is None else cost

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(C=2.0) == 2.0
    with pytest.warns(FutureWarning, match="The parameter cost of fit"):
        assert fit(cost=3.0) == 3.0
