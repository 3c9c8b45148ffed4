"""Columns by their usual names, or by the names the user gives."""

from __future__ import annotations

import pytest

from linnaeus.data.readers.columns import LABELS, choose_columns, first_of, looks_like_header, stands_over_numbers
from linnaeus.data.readers.source import Options
from linnaeus.errors import DataError


@pytest.mark.parametrize(
    ("available", "text", "labels", "id", "sequence"),
    [
        (["pmid", "title", "abstract", "mesh", "year"], ("title", "abstract"), ("mesh",), "pmid", None),
        (["Entry", "EC number", "Sequence"], (), ("EC number",), "Entry", "Sequence"),
        (["doc_label", "doc_token"], ("doc_token",), ("doc_label",), None, None),
        (["Label", "Text", "topic"], ("Text",), ("Label",), None, None),
    ],
)
def test_usual_names_are_recognised(
    available: list[str], text: tuple[str, ...], labels: tuple[str, ...], id: str | None, sequence: str | None
) -> None:
    chosen = choose_columns(available, Options(), "f")
    assert (chosen.text, chosen.labels, chosen.id, chosen.sequence) == (text, labels, id, sequence)


def test_names_of_the_user_win() -> None:
    options = Options(text=("topic",), labels=("text",), id="label")
    chosen = choose_columns(["text", "label", "topic"], options, "f")
    assert (chosen.text, chosen.labels, chosen.id) == (("topic",), ("text",), "label")


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(DataError, match="f has no column 'titel'; it has 'title', 'labels'; did you mean 'title'"):
        choose_columns(["title", "labels"], Options(text=("titel",)), "f")


def test_a_header_has_a_usual_or_a_named_column() -> None:
    assert looks_like_header(["foo", "Labels"], Options())
    assert looks_like_header(["foo", "bar"], Options(text=("foo",)))
    assert not looks_like_header(["A late goal", "Sports"], Options())


def test_the_order_of_the_usual_names_decides_not_that_of_the_columns() -> None:
    assert first_of(["Topics", " Labels "], LABELS) == " Labels "
    assert first_of(["colour"], LABELS) is None


@pytest.mark.parametrize(
    ("cells", "below", "expected"),
    [
        (["f1", "f2"], [["1", "2"]], True),
        (["words", "n"], [["a vote", "2"], ["a goal", ""]], True),
        (["f1", "f2"], [["1", "x"], ["y", "2"]], False),
        (["f1", ""], [["1", "2"]], False),
        (["2001", "2002"], [["1", "2"]], False),
        (["f1", "f2"], [["", "?"]], False),
        (["f1", "f2"], [], False),
        (["f1", "f2"], [["a"]], False),
    ],
)
def test_words_over_a_column_of_numbers_are_names(cells: list[str], below: list[list[str]], expected: bool) -> None:
    assert stands_over_numbers(cells, below) is expected
