"""The picture names all classes and marks exactly the links that were cut."""

from __future__ import annotations

import sys

import pytest

from linnaeus.errors import LinnaeusError
from tests.taxonomy.test_learn import line


def test_cut_links_are_dashed_and_classes_named() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    dendrogram = line(0, 1, 4, 4.5, 9, 9.6, 20)
    axes = Figure().add_subplot()
    dendrogram.picture(axes, title="seven points")
    styles = [drawn.get_linestyle() for drawn in axes.lines]
    assert sorted(styles) == ["-"] * 3 + ["--"] * 3
    heights = sorted(max(drawn.get_xdata()) for drawn in axes.lines if drawn.get_linestyle() == "--")
    assert heights == pytest.approx(sorted(dendrogram.links[dendrogram.cut, 2]))
    assert sorted(tick.get_text() for tick in axes.get_yticklabels()) == sorted(dendrogram.names)
    assert axes.get_title() == "seven points"


@pytest.mark.parametrize("n", [1, 2])
def test_few_classes_can_be_drawn(n: int, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    line(*range(n)).picture(tmp_path / "tree.svg")
    assert b"<svg" in (tmp_path / "tree.svg").read_bytes()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LinnaeusError, match=r"pip install linnaeus\[plots\]"):
        line(0, 1, 5).picture(tmp_path / "tree.png")
