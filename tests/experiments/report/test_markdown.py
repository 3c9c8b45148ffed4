"""The report as Markdown: tables whose rows all have the cells of their head, names that stay names."""

from __future__ import annotations

import re

from linnaeus.experiments.records import Confusion
from linnaeus.experiments.report import markdown
from tests.experiments.report.sample import MODELS, make_result


def tables(text: str) -> list[list[str]]:
    return [block.splitlines() for block in text.split("\n\n") if block.lstrip().startswith("|")]


def cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row)) - 1


def test_every_row_has_as_many_cells_as_the_head() -> None:
    result = make_result()
    result.runs[0].confusion.insert(0, Confusion(3, 4, 99))  # the hostile name
    found = tables(markdown(result))
    assert len(found) == 9
    assert max(cells(table[0]) for table in found) < 20
    for table in found:
        assert len({cells(row) for row in table}) == 1


def test_the_best_comes_first_and_is_bold() -> None:
    rows = tables(markdown(make_result()))[0][2:]
    assert [row.split("|")[1].strip() for row in rows] == sorted(MODELS, key=lambda name: -MODELS[name][0])
    assert rows[0].split("|")[2].strip() == "**0.842**"


def test_differences_carry_their_marks() -> None:
    row = next(row for row in tables(markdown(make_result()))[0] if "OneVsRestSVM" in row)
    assert "−0.021\\*\\*\\*" in row


def test_hostile_names_are_no_markup() -> None:
    result = make_result()
    result.runs[0].confusion = [Confusion(3, 4, 99)]
    assert "<script" not in markdown(result)


def test_control_characters_of_names_are_escaped() -> None:
    result = make_result()
    result.runs[0].confusion = [Confusion(3, 4, 99)]
    text = markdown(result)
    assert not any(odd in text for odd in "\x1b\x9b\u202e\u202c")
    assert "x1b" in text
    assert "u202e" in text
