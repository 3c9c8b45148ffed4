"""Whether the first row of a table names its columns, or is a document."""

from __future__ import annotations

import pytest

from linnaeus import Taxonomy
from linnaeus.data.readers.columns import ReadOptions, names_columns, row_is_header

DOCUMENTS = [["Ein spätes Tor", "Sport"], ["Eine knappe Wahl", "Politik"], ["Ein Spiel im Regen", "Sport"]]


def test_a_header_has_a_usual_or_a_named_column() -> None:
    assert names_columns(["foo", "Labels"], ReadOptions())
    assert names_columns(["foo", "bar"], ReadOptions(text=("foo",)))
    assert not names_columns(["A late goal", "Sports"], ReadOptions())


def test_a_position_is_not_the_name_of_a_column() -> None:
    assert not names_columns(["1", "A late goal", "Sports"], ReadOptions(text=("1",)))
    assert names_columns(["0", "1", "2"], ReadOptions(text=("1",)))


@pytest.mark.parametrize(
    ("cells", "below", "expected"),
    [
        (["f1", "f2"], [["1", "2"]], True),
        (["words", "n"], [["a vote", "2"], ["a goal", ""]], True),
        (["f1", ""], [["1", "2"]], True),
        (["2001", "2002"], [["1", "2"]], False),
        (["f1", "f2"], [["", "?"]], False),
        (["f1", "f2"], [], False),
        (["protein", "term"], [["Q0P887", "GO:0001"], ["P12345", "GO:0002"]], True),
        (["x", "<http://ex.org/1>"], [["y", "<http://ex.org/2>"]], False),
        (["Inhalt", "Schlagwort"], DOCUMENTS, True),
        (["Inhalt", "Schlagwort"], DOCUMENTS[:1], True),
        (["Ein Fehler", "Technik"], DOCUMENTS, False),
        (["Tor", "Sport"], DOCUMENTS, False),
        (["A late goal was scored.", "Sports"], DOCUMENTS, False),
        (["Fussball", "Sport"], [["Wahl", "Politik"], ["Ball", "Tanz"]], None),
    ],
)
def test_a_header_differs_from_the_rows_below(cells: list[str], below: list[list[str]], expected: bool | None) -> None:
    assert row_is_header([cells, *below]) is expected


def test_the_labels_of_a_taxonomy_tell_a_header() -> None:
    topics = Taxonomy.flat(["Sport", "Politik"])
    rows = [["Wahl", "Politik"], ["Ball", "Sport"]]
    assert row_is_header([["Titel", "Thema"], *rows], topics) is True
    assert row_is_header([["Tanz", "Politik"], *rows], topics) is False
    assert row_is_header([["Tanz", "Politik;Sport"], *rows], topics) is False
