"""The best instruction set is taken, a lower one on request, and an unknown request is refused."""

from __future__ import annotations

import pytest

from linnaeus._kernels import dispatch
from linnaeus.models.solvers import PANEL


@pytest.fixture(autouse=True)
def forget():
    dispatch.best.cache_clear()
    yield
    dispatch.best.cache_clear()


def test_the_highest_level_of_the_machine_is_taken() -> None:
    expected = next(iter(dispatch.levels()), "")
    assert dispatch.best("dual_cd").__name__ == f"linnaeus._kernels.dual_cd{expected}"


@pytest.mark.parametrize("wanted", ["baseline", "v3", "v4"])
def test_a_lower_level_can_be_asked_for(monkeypatch, wanted) -> None:
    monkeypatch.setenv("LINNAEUS_SIMD", wanted)
    allowed = {"baseline": [""], "v3": ["_v3", ""], "v4": ["_v4", "_v3", ""]}[wanted]
    suffix = dispatch.best("dual_cd").__name__.removeprefix("linnaeus._kernels.dual_cd")
    assert suffix == next(level for level in allowed if level in [*dispatch.levels(), ""])


def test_an_unknown_level_is_refused(monkeypatch) -> None:
    monkeypatch.setenv("LINNAEUS_SIMD", "avx2")
    with pytest.raises(ValueError, match="LINNAEUS_SIMD=avx2; expected v4, v3 or baseline"):
        dispatch.best("dual_cd")


def test_kernels_without_variants_are_found() -> None:
    assert dispatch.best("graph").__name__ == "linnaeus._kernels.graph"


@pytest.mark.parametrize("wanted", ["baseline", "v3", "v4"])
def test_kernels_of_every_level_have_the_panel_width_of_the_solvers(monkeypatch, wanted) -> None:
    monkeypatch.setenv("LINNAEUS_SIMD", wanted)
    assert dispatch.best("dual_cd").PANEL_WIDTH == PANEL
