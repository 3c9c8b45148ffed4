"""Labels in one cell, as paths, as [id, name] lists and as records."""

from __future__ import annotations

import pytest

from linnaeus import Taxonomy
from linnaeus.data.readers.columns import (
    SEPARATORS,
    choose_part,
    choose_separator,
    label_names,
    split_cells,
    split_known,
)
from linnaeus.errors import DataError

MESH = [[["D1", "Animals", "N"], ["D2", "Pineal Gland", "Y"]]]
PATHS = [[["Arts", "Music"], ["Science"]]]


@pytest.mark.parametrize("separator", [";", "|", ","])
def test_labels_are_split_at_the_separator_that_occurs(separator: str) -> None:
    assert split_cells([f"A{separator} B", "C", ""]) == [["A", "B"], ["C"], []]


def test_the_taxonomy_decides_which_separator_is_meant() -> None:
    tax = Taxonomy.flat(["Glands, Human", "Skin"])
    cells = ["Glands, Human|Skin", "Glands, Human"]
    assert choose_separator(cells, tax) == "|"
    assert split_cells(["Glands, Human", "Skin"], None, tax) == [["Glands, Human"], ["Skin"]]
    assert choose_separator(["A,B"], Taxonomy.flat(["x"])) == ","


def test_a_given_separator_is_obeyed() -> None:
    assert split_cells(["A B;C"], " ") == [["A", "B;C"]]


def test_a_cell_that_is_a_label_is_not_cut() -> None:
    assert choose_separator(["Arts, Crafts"], {"Arts, Crafts", "Arts", "Crafts"}) is None


def test_blanks_separate_only_where_asked() -> None:
    assert choose_separator(["A B"]) is None
    assert choose_separator(["A B"], None, (*SEPARATORS, " ")) == " "


def test_uris_in_angle_brackets_are_labels() -> None:
    assert split_cells(["<http://x/1>\t<http://x/2>", "<http://x/3>"]) == [
        ["http://x/1", "http://x/2"],
        ["http://x/3"],
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [("id", ["D1", "D2"]), ("name", ["Animals", "Pineal Gland"]), ("path", ["D1/Animals/N", "D2/Pineal Gland/Y"])],
)
def test_the_part_of_a_list_entry_can_be_named(part: str, expected: list[str]) -> None:
    assert label_names(MESH[0], part, None, "f:1") == expected


def test_the_taxonomy_decides_which_part_is_the_label() -> None:
    assert choose_part(MESH, Taxonomy.flat(["D1", "D2"])) == "id"
    assert choose_part(MESH, Taxonomy.flat(["Animals"])) == "name"
    assert choose_part(PATHS, Taxonomy.from_paths([["Arts", "Music"], ["Science"]])) == "last"
    assert choose_part(PATHS, Taxonomy.flat(["Arts/Music"])) == "path"


def test_without_taxonomy_codes_in_front_make_the_name_the_label() -> None:
    assert choose_part(MESH, None) == "name"
    assert choose_part(PATHS, None) == "last"
    assert choose_part([["plain"]], None) is None


def test_the_taxonomy_decides_which_key_of_a_record_is_the_label() -> None:
    records = [[{"uri": "http://x/1", "notation": "N1", "label": "One"}, {"uri": "http://x/2", "label": "Two"}]]
    for known, names in (
        ({"N1"}, ["N1", "Two"]),
        ({"http://x/1"}, ["http://x/1", "http://x/2"]),
        ({"Two"}, ["One", "Two"]),
        (None, ["One", "Two"]),
    ):
        assert label_names(records[0], choose_part(records, known), None, "f:1") == names


def test_lists_and_records_may_be_mixed() -> None:
    mixed = [[["D1", "Animals"], {"name": "Skin"}]]
    for known in (None, {"Animals"}):
        assert label_names(mixed[0], choose_part(mixed, known), None, "f:1") == ["Animals", "Skin"]


def test_records_and_numbers_are_labels() -> None:
    records = [{"id": "1", "name": "Arts"}, {"uri": "http://x"}]
    assert label_names(records, "name", None, "f:1") == ["Arts", "http://x"]
    assert label_names(records, "id", None, "f:1") == ["1", "http://x"]
    assert label_names([3, 5], None, None, "f:1") == ["3", "5"]
    assert label_names("A;B", None, ";", "f:1") == ["A", "B"]
    assert label_names(None, None, None, "f:1") == []
    assert label_names(["A", "A"], None, None, "f:1") == ["A"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_string_is_cut_only_where_its_parts_are_known_and_the_whole_is_not(separator: str) -> None:
    joined = f"A{separator} B"
    assert split_known(joined, {"A", "B"}) == ["A", "B"]
    for known in (None, {"A", "B", joined}, {"A"}, set()):
        assert split_known(joined, known) == [joined]
    assert split_known("", {"A"}) == []


def test_an_entry_that_is_no_label_is_named_with_its_line() -> None:
    for wrong in ({"colour": 1}, [], None, True):
        with pytest.raises(DataError, match="f:1"):
            label_names([wrong], None, None, "f:1")
