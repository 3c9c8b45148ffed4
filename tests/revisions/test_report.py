"""Diffs as plain values, change sets and pages."""

from __future__ import annotations

from pathlib import Path

from linnaeus import Taxonomy
from linnaeus.revisions import Correspondence, Diff, compare
from linnaeus.revisions.report import change_rows, html, to_dict, turtle

OLD = Taxonomy.from_edges(
    [("A", "a"), ("A", "b"), ("A", "c")], display_labels={"a": "<script>", "b": "Bees", "c": "Cats"}
)
NEW = Taxonomy.from_edges([("A", "a"), ("A", "x"), ("A", "y"), ("A", "n")], display_labels={"a": "<script>", "x": "X"})
PAIRS = [("b", "x"), ("c", "x"), ("c", "y")]


def made() -> Diff:
    return compare(OLD, NEW, Correspondence.from_pairs(PAIRS))


def test_a_change_set_is_read_back_as_the_same_pairs(tmp_path: Path) -> None:
    (tmp_path / "changes.ttl").write_text(turtle(made()))
    back = Correspondence.read(tmp_path / "changes.ttl", OLD, NEW)
    assert back.targets == {"b": ("x",), "c": ("x", "y")}


def test_labels_of_users_cannot_break_the_page() -> None:
    page = html(made())
    assert "<script>" not in page
    assert "Split" in page
    assert "Decide the documents of 1 old nodes with several targets" in page


def test_plain_values_and_rows_hold_every_change_with_labels() -> None:
    found = to_dict(made())
    assert found["counts"] == {"added": 1, "split": 1, "renamed": 1, "recoded": 1}
    assert [row[0] for row in change_rows(made())] == ["added", "split", "renamed", "recoded"]
    assert next(row for row in change_rows(made()) if row[0] == "split")[2:5] == ["Cats", "x; y", "X; y"]
