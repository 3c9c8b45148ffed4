"""What notebooks show is escaped, bounded, and the same as the values; data frames hold all of them."""

from __future__ import annotations

import sys

import pytest

from linnaeus import OneVsRestSVM, Pipeline, Taxonomy, metrics
from linnaeus.errors import LinnaeusError
from linnaeus.features import TextFeatures


def test_a_taxonomy_shows_itself_as_a_tree() -> None:
    shown = Taxonomy.from_edges([("Root", "A & B"), ("A & B", "<i>")])._repr_html_()
    assert "A &amp; B" in shown
    assert "&lt;i&gt;" in shown
    assert "<i>" not in shown


def test_a_wide_taxonomy_is_cut_with_a_count() -> None:
    wide = Taxonomy.from_edges([("Root", f"n{i}") for i in range(100)])
    assert "75 more" in wide._repr_html_()


def test_a_taxonomy_as_a_frame_has_a_row_for_each_node() -> None:
    pytest.importorskip("pandas")
    tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "C"), ("B", "C")])
    frame = tax.to_frame().set_index("name")
    assert frame.loc["C", "parents"] == "A | B"
    assert list(frame.index) == list(tax.names)


def test_explanations_show_and_list_all_contributions() -> None:
    pytest.importorskip("pandas")
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    steps = pipe.explain("cats purr")
    assert steps == list(steps)
    frame = steps.to_frame()
    assert frame["contribution"].sum() == pytest.approx(steps[0].score)
    assert "purr" in steps._repr_html_()


def test_comparisons_are_rows_and_frames() -> None:
    pytest.importorskip("pandas")
    rows = metrics.compare(["A", "B"] * 5, ["A", "B"] * 5, ["A", "A"] * 5, n_resamples=1000)
    assert rows.to_frame()["measure"].tolist() == [row["measure"] for row in rows]
    assert "<td>micro_f1</td>" in rows._repr_html_()


def test_without_pandas_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(LinnaeusError, match="pip install pandas"):
        Taxonomy.flat(["A"]).to_frame()
