"""The papers' tables: figures are read out of pages as they stand there, orders are counted, every table has rows."""

from __future__ import annotations

import pytest

from benchmarks import papers
from benchmarks.accuracy.published import records
from benchmarks.papers.markdown_tables import figures, number, section, tables
from benchmarks.papers.page import markdown
from benchmarks.papers.study import Part, Study, order_kept

TEXT = """Words before.

| t | system | accuracy | top loss |
| --- | --- | --- | --- |
| 5 | flat | 38.7 (38.1) | 0.946 |
| 5 | joint | **38.9** [37, 40] + p=0.24 | |
| 10 | flat | 1,050.1 | 0.7 |
"""


@pytest.fixture
def study() -> Study:
    return Study(
        paper="p",
        tables=("1",),
        dataset="d",
        title="t",
        stands_for="s",
        systems={"a": "A", "b": "B", "c": "C"},
        columns={"f": "F"},
        quick=(Part(dict, "here"),),
        explained="e",
        variants={"x": None, "y": None},
    )


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("79.3 [76.8, 81.9]", 79.3),
        ("**.738**", 0.738),
        ("1,050", 1050.0),
        ("-0.4 (p=1)", -0.4),
        ("", None),
        ("–", None),
    ],
)
def test_the_first_number_of_a_cell_counts(cell, value) -> None:
    assert number(cell) == value


def test_lines_of_a_table_go_by_its_head() -> None:
    (lines,) = tables(TEXT)
    assert [line["system"] for line in lines] == ["flat", "joint", "flat"]


def test_figures_are_under_our_names_and_empty_cells_are_left_out() -> None:
    found = figures(
        TEXT, "system", {"acc": "accuracy", "loss": "top loss"}, names={"F": "flat", "J": "joint"}, variant="t"
    )
    assert found == {
        ("5", "F"): {"acc": 38.7, "loss": 0.946},
        ("5", "J"): {"acc": 38.9},
        ("10", "F"): {"acc": 1050.1, "loss": 0.7},
    }


def test_a_table_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="No table with the columns"):
        figures(TEXT, "model", {"acc": "accuracy"})
    with pytest.raises(ValueError, match="has no section 'Nothing'"):
        section("ranking.md", "Nothing")


def test_order_is_kept_within_a_variant_and_a_tie_here_is_not(study) -> None:
    theirs = {("x", "a"): {"f": 1.0}, ("x", "b"): {"f": 2.0}, ("x", "c"): {"f": 2.0}, ("y", "a"): {"f": 9.0}}
    ours = {("x", "a"): {"f": 5.0}, ("x", "b"): {"f": 6.0}, ("x", "c"): {"f": 5.0}, ("y", "a"): {"f": 0.0}}
    assert order_kept(study, theirs, ours, "f") == (1, 2)  # b above a is kept, c above a is a tie; b and c tie there


def test_every_page_that_a_table_is_read_from_has_its_rows() -> None:
    read = [(study, part) for study in papers.studies() for part in study.quick if part.source.startswith("[")]
    assert len(read) > 10
    for study, part in read:
        found = {row: values for row, values in part.measure().items() if row[1] in study.systems}
        assert found, study.key
        assert all(set(values) & set(study.columns) for values in found.values()), study.key


@pytest.mark.data
def test_every_table_has_published_figures(data_dir) -> None:
    if not records("gopal2015", ("II",), "CLEF"):
        pytest.skip("no collection of published results beside the data")
    for study in papers.studies():
        theirs = study.published()
        assert {system for _, system in theirs} == set(study.systems), study.key
        assert {variant for variant, _ in theirs} == set(study.variants), study.key
        assert {column for values in theirs.values() for column in values} == set(study.columns), study.key


def test_keys_are_told_apart() -> None:
    keys = [(study.key, study.title) for study in papers.studies()]
    assert len(set(keys)) == len(keys)


def test_the_page_shows_both_figures_side_by_side(capsys) -> None:
    result = papers.run(["--only", "gopal2015:II,III:CLEF", "--json"])
    row = result["tables"][0]["rows"][0]
    line = next(line for line in markdown(result).splitlines() if line.startswith(f"| {row['system']} "))
    assert f"→ {row['measured']['micro-F1']:.1f}" in line
