"""CSV and TSV with text, sequences or numbers."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.data import concatenate, read_dataset
from linnaeus.data.describe import describe
from linnaeus.errors import DataError, UnknownLabelError


def read(tmp_path: Path, content: str, **options: object) -> object:
    (tmp_path / "docs").write_text(content, newline="")
    return read_dataset(tmp_path / "docs", **options)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_header_is_recognised_by_its_names(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "text", "labels"], ["d1", "A late goal", "A|B"], ["d2", "A vote", ""]]
    data = read(tmp_path, "\r\n".join(delimiter.join(row) for row in rows) + "\r\n")
    assert data.documents == ["A late goal", "A vote"]
    assert data.labels == [["A", "B"], []]
    assert data.ids == ["d1", "d2"]
    assert data.place(1).endswith("docs:3")


def test_header_can_be_denied_or_insisted_on(tmp_path: Path) -> None:
    content = "text,labels\nA vote,Politics\n"
    assert read(tmp_path, content, header=False).documents == ["text", "A vote"]
    content = "words,what\nA vote,Politics\n"
    assert read(tmp_path, content, text="words", labels="what").labels == [["Politics"]]
    assert read(tmp_path, content, header=True, text=["words"]).documents == ["A vote"]
    assert read(tmp_path, content, header=False).documents == ["words", "A vote"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_words_over_numbers_are_a_header(tmp_path: Path, delimiter: str) -> None:
    data = read(tmp_path, "f1,f2\n1,2\n?,3.5\n".replace(",", delimiter))
    assert (data.kind, data.feature_names, data.notes) == ("dense", ["f1", "f2"], {})
    np.testing.assert_array_equal(data.X, np.array([[1, 2], [np.nan, 3.5]], dtype=np.float32))
    data = read(tmp_path, "f1,f2,what\n1,2,A\n3,4,B\n".replace(",", delimiter), labels="what")
    assert (data.feature_names, data.labels) == (["f1", "f2"], [["A"], ["B"]])
    data = read(tmp_path, "Inhalt,Klasse\nA late goal,7\nA vote,8\n".replace(",", delimiter))
    assert (data.documents, data.labels) == (["A late goal", "A vote"], [["7"], ["8"]])


def test_words_that_may_be_a_document_are_an_error_that_asks(tmp_path: Path) -> None:
    content = "Thema,Schlagwort\nFussball,Sports\nWahl,Politics\n"
    with pytest.raises(
        DataError, match=r"docs:1 may name the columns or be a document \('Thema', 'Schlagwort'\); .*header="
    ):
        read(tmp_path, content)
    assert read(tmp_path, content, header=True).documents == ["Fussball", "Wahl"]
    assert read(tmp_path, content, header=False).documents == ["Thema", "Fussball", "Wahl"]
    assert read(tmp_path, content, taxonomy=Taxonomy.flat(["Sports", "Politics"])).documents == ["Fussball", "Wahl"]


def test_a_header_is_told_by_the_rows_below(tmp_path: Path) -> None:
    content = "Inhalt,Schlagwort\nA late goal,Sports\nA vote,Politics\n"
    data = read(tmp_path, content)
    assert (data.documents, data.labels) == (["A late goal", "A vote"], [["Sports"], ["Politics"]])
    assert data.columns == {"text": ("Inhalt",), "labels": ("Schlagwort",)}
    with pytest.raises(DataError, match="no text column with a usual name among 'LfdNr', 'Inhalt', 'Schlagwort'"):
        read(tmp_path, "LfdNr,Inhalt,Schlagwort\nR1,A late goal,Sports\nR2,A vote,Politics\n")


def test_the_first_line_is_shown_where_no_column_has_a_usual_name(tmp_path: Path) -> None:
    content = "Inv.-No.;Object;Classified as\nI-1;A small cup;Cups\nI-2;A large plate;Plates\n"
    with pytest.raises(DataError, match=r"among 'Inv\.-No\.', 'Object', 'Classified as'; name it with text="):
        read(tmp_path, content)
    with pytest.raises(DataError, match=r"'w{60}\.\.\.'"):
        read(tmp_path, f"{'w' * 200};b c;d e.\nf g;h i;k l\n")


def test_positions_count_in_a_file_with_a_header_too(tmp_path: Path) -> None:
    content = "Nr,Inhalt,Schlagwort\n1,A late goal,Sports\n2,A vote,Politics\n"
    data = read(tmp_path, content, text=1, labels=2)
    assert (data.fields, data.ids) == ({"1": ["A late goal", "A vote"]}, ["1", "2"])
    assert data.columns == {"text": ("Inhalt",), "labels": ("Schlagwort",), "id": ("Nr",)}


def test_a_row_without_header_is_reported_where_its_label_is_unknown(tmp_path: Path) -> None:
    content = "A late goal,Sports\nA vote,Politics\n"
    data = read(tmp_path, content)
    assert describe(data)["header"] == "none recognised"
    with pytest.raises(UnknownLabelError, match=r"'Sports' \(.*docs:1\) .*\. If line 1 .* --header"):
        data.indicator(Taxonomy.flat(["Politics"]))
    data = read(tmp_path, "A late goal,Sports\nA late vote,Politics\nA match,Sports\n")
    with pytest.raises(UnknownLabelError, match="not in the taxonomy") as later:
        data.take([1, 2]).indicator(Taxonomy.flat(["Sports"]))
    assert "--header" not in str(later.value)
    assert "header" not in describe(read(tmp_path, content, header=False))
    named = read(tmp_path, content, header=False)
    assert concatenate([named, named.take([0]), data.take([0])]).notes == {"header": "none recognised"}


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_the_separator_line_of_excel_is_no_row(tmp_path: Path, delimiter: str) -> None:
    content = f"sep={delimiter}\r\ntext,labels\r\nA late goal,Sports\r\n".replace(",", delimiter)
    data = read(tmp_path, content)
    assert (data.documents, data.labels, data.place(0)[-6:]) == (["A late goal"], [["Sports"]], "docs:3")
    with pytest.raises(DataError, match="docs:4 has 1 columns"):
        read(tmp_path, content + "b\r\n")


def test_the_ending_says_that_commas_separate_cells(tmp_path: Path) -> None:
    (tmp_path / "docs.CSV").write_text("a goal, he said\na vote\n")
    with pytest.raises(DataError, match=r"docs\.CSV:2 has 1 columns; expected 2"):
        read_dataset(tmp_path / "docs.CSV", header=False)
    (tmp_path / "docs.txt").write_text("a goal, he said\na vote\n")
    assert len(read_dataset(tmp_path / "docs.txt")) == 2


def test_numbers_in_the_first_row_are_no_header(tmp_path: Path) -> None:
    assert read(tmp_path, "A goal,1\nA vote,2\n").labels == [["1"], ["2"]]
    assert read(tmp_path, "A goal,x1\nA vote,2\nA match,x1\n").labels == [["x1"], ["2"], ["x1"]]


def test_columns_without_names_are_numbered(tmp_path: Path) -> None:
    data = read(tmp_path, "d1,A vote,1999,Politics\n", text=1, labels=3, id=0, header=False)
    assert (data.ids, data.documents, data.labels) == (["d1"], ["A vote"], [["Politics"]])


def test_annif_corpora_are_text_and_uris(tmp_path: Path) -> None:
    data = read(tmp_path, 'A "late" goal, said he\t<http://x/1> <http://x/2>\nA vote\t<http://x/3>\n')
    assert data.documents == ['A "late" goal, said he', "A vote"]
    assert data.labels == [["http://x/1", "http://x/2"], ["http://x/3"]]


def test_several_label_columns_are_a_path(tmp_path: Path) -> None:
    data = read(tmp_path, "text,level1,level2\na,A,AA\nb,B,\n", labels=["level1", "level2"])
    assert data.labels == [["A", "AA"], ["B"]]


def test_sequences_with_joined_codes_are_read(tmp_path: Path) -> None:
    data = read(tmp_path, "Entry\tEC number\tSequence\nP1\t1.1.1.1;2.3.4.5\tMKQ\nP2\t1.1.1.2\tMAA\n")
    assert (data.kind, data.sequences, data.ids) == ("sequence", ["MKQ", "MAA"], ["P1", "P2"])
    assert data.labels == [["1.1.1.1", "2.3.4.5"], ["1.1.1.2"]]
    bare = read(tmp_path, f"P1\t1.1.1.1\t{'MKQA' * 8}\n")
    assert (bare.kind, bare.ids) == ("sequence", ["P1"])


def test_columns_of_numbers_are_dense_features_with_missing_values(tmp_path: Path) -> None:
    data = read(tmp_path, "id,x,y1,label\na,1,?,A\nb,,2.5,B\n")
    assert data.kind == "dense"
    assert data.feature_names == ["x", "y1"]
    np.testing.assert_array_equal(data.X, np.array([[1, np.nan], [np.nan, 2.5]], dtype=np.float32))
    assert data.labels == [["A"], ["B"]]


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e39"])
def test_an_infinite_number_is_an_error_with_its_line_and_column(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataError, match=rf"docs:3: '{cell}' in column 'y1' is infinite, or too large for float32"):
        read(tmp_path, f"id,x,y1,label\na,1,2,A\nb,2,{cell},B\n")


def test_a_split_column_is_kept(tmp_path: Path) -> None:
    content = "text,labels,split\na,A,train\nb,B,test\n"
    assert read(tmp_path, content).split == ["train", "test"]
    assert read(tmp_path, content, split="test").documents == ["b"]
    with pytest.raises(DataError, match=r"no part 'tset'.*did you mean 'test'"):
        read(tmp_path, content, split="tset")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text("ab \n\",;'é", min_size=1), st.sampled_from(["A", "B"])), min_size=1, max_size=5))
def test_whatever_csv_wrote_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([("text", "labels"), *rows])
    data = read(tmp_path_factory.mktemp("csv"), buffer.getvalue())
    assert data.documents == [text for text, _ in rows]
    assert data.labels == [[label] for _, label in rows]


def test_a_text_longer_than_the_limit_of_the_csv_module_is_read(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    assert len(read(tmp_path, f"text,labels\n{'x' * 200_000},A\n").documents[0]) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,labels\na,A\nb\n", r"docs:3 has 1 columns; expected 2 \(text, labels\)"),
        ('text,labels\n"a\n\nb",A\nc,B,C\n', "docs:5 has 3 columns"),
        ("text,labels,text\na,A,b\n", "docs:1 names column 'text' twice"),
        ("text,labels\n", "header but no documents"),
        ('text,labels\na,A\n"b"c,B\n', "docs:3 is not a row"),
        ("x,y1,label\n1,2,A\n1,two,B\n", "docs:3: 'two' in column 'y1' is not a number"),
        ("foo,label\nabc,A\n", "no text column .*name it with text="),
        (
            "f1,f2,what\n1,2,A\n",
            "'what' does not hold numbers; name the text column with text=..., the labels with labels=",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content, format="csv")
