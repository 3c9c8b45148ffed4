"""Memory that reading a large edge list takes; time is measured by ``benchmarks taxonomy_speed``."""

from __future__ import annotations

import pytest

from benchmarks.taxonomy_speed import run


@pytest.mark.slow
def test_a_million_nodes_are_read_within_one_gigabyte(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(["--nodes", "1000000", "--json"])
    assert result["n_nodes"] == 1_000_000
    assert result["peak_mib"] < 1000
