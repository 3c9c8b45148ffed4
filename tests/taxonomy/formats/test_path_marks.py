"""Paths written as shops and libraries write categories: `A > B > C`, one per line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linnaeus import Taxonomy

STEPS = [
    ["Animals"],
    ["Animals", "Pet food"],
    ["Animals", "Pet food", "Cats, dogs"],
    ["Print, copy & scan"],
    ["Print, copy & scan", "Scanners"],
    ["Print, copy & scan", "Pet food"],
]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reader(text: str, name: str = "cats.txt", **options: Any) -> Taxonomy:
        (tmp_path / name).write_text(text)
        return Taxonomy.read(tmp_path / name, **options)

    return reader


@pytest.mark.parametrize("mark", [" > ", "::", " / ", " -> ", "/"])
@pytest.mark.parametrize("header", ["", "category\n", "Product category\n", "# Version 2021\n"])
def test_lines_of_paths_are_nodes_called_by_their_paths(read: Any, mark: str, header: str) -> None:
    lines = [mark.join(steps) for steps in STEPS]
    tax = read(header + "\n".join(lines) + "\n")
    assert sorted(tax.names) == sorted(lines)
    assert list(tax.names[tax.path(lines[2])]) == lines[:3]
    assert tax.display(lines[4]) == "Scanners"


def test_a_one_column_table_may_quote_its_paths(read: Any) -> None:
    tax = read("category\n" + "\n".join(f'"{" > ".join(steps)}"' for steps in STEPS), "cats.csv")
    assert len(tax) == 6
    assert "Print, copy & scan > Scanners" in tax


def test_a_separator_may_have_several_characters_and_names_may_be_steps(read: Any) -> None:
    text = "\n".join(" >> ".join(steps) for steps in STEPS)
    assert "Animals >> Pet food" in read(text, format="paths", separator=" >> ")
    tax = read(text, format="paths", separator=" >> ", names="name")
    assert sorted(tax.names[tax.parents("Pet food")]) == ["Animals", "Print, copy & scan"]


def test_numbers_in_front_of_paths_are_other_names_of_their_nodes(read: Any) -> None:
    tax = read("# Version\n" + "\n".join(f"{i} - {' > '.join(steps)}" for i, steps in enumerate(STEPS, 11)))
    assert tax.names[tax.index("15")] == "Print, copy & scan > Scanners"
    assert len(tax) == 6


@pytest.mark.parametrize("mark", [" > ", ">", "/", "|", "::", " / "])
def test_labels_may_be_whole_paths_of_names_or_display_labels(mark: str) -> None:
    plain = Taxonomy.from_paths(STEPS)
    label = mark.join(STEPS[2])
    assert plain.labels(plain.indicator([[label]])) == [["Cats, dogs"]]
    coded = Taxonomy.from_edges([("1", "2"), ("2", "3")], display_labels={"1": "A", "2": "B", "3": "C"}, root=None)
    assert coded.names[coded.index(mark.join("ABC"))] == "3"
    assert coded.lookup(mark.join("AC")) is None
    assert coded.lookup(mark.join("XBC")) is None


def test_a_table_with_paths_in_one_column_is_not_read_as_paths(read: Any) -> None:
    assert "A > B" in read("parent,child\nTop,A > B\nTop,A > C\n", "t.csv")
