"""Answers in tables: CSV, TSV and Excel workbooks."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from xml.etree import ElementTree

import pytest

from linnaeus.cli import tables
from linnaeus.errors import DataError

HEADER = ["id", "label", "name", "score", "path", "status"]
SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def cells(path) -> list[list[str]]:
    """The cells of a workbook as a spreadsheet program reads them."""
    with zipfile.ZipFile(path) as package:
        for name in package.namelist():
            ElementTree.fromstring(package.read(name))  # every part is well-formed
        sheet = ElementTree.fromstring(package.read("xl/worksheets/sheet1.xml"))
    return [["".join(cell.itertext()) for cell in row] for row in sheet.iter(f"{SPREADSHEET}row")]


@pytest.mark.parametrize("format", ["csv", "tsv", "xlsx"])
def test_the_ending_of_the_output_decides_the_format(linnaeus, trained, format):
    target = trained / f"answers.{format}"
    assert linnaeus("predict", trained / "model", trained / "docs.jsonl", "-o", target).code == 0
    if format == "xlsx":
        rows = cells(target)
    else:
        rows = list(csv.reader(io.StringIO(target.read_text()), delimiter="," if format == "csv" else "\t"))
    assert rows[0] == HEADER
    assert rows[1][:3] == ["d0", "Cats", "Cats"]
    assert float(rows[1][3]) > 0
    assert rows[1][4:] == ["Animals > Cats", "answered"]
    assert len(rows) == 41


@pytest.mark.parametrize("ending", ["jsonl", "txt"])
def test_other_endings_are_json_lines(linnaeus, trained, ending):
    target = trained / f"answers.{ending}"
    linnaeus("predict", trained / "model", trained / "docs.jsonl", "-o", target)
    assert json.loads(target.read_text().splitlines()[0])["id"] == "d0"


def test_documents_without_an_answer_are_rows_too(linnaeus, trained):
    texts = ["--document", "kitten purr", "--document", "zzz"]
    for command in ([], ["--top", 2], ["--n-best", 2]):
        out = linnaeus("predict", trained / "model", *texts, "--as", "csv", *command).out
        last = list(csv.DictReader(io.StringIO(out)))[-1]
        assert (last["id"], last["label"], last["status"]) == ("2", "", "unknown")


def test_the_n_best_sets_have_a_table(linnaeus, trained):
    out = linnaeus("predict", trained / "model", "--document", "kitten purr", "--n-best", 3, "--as", "tsv").out
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [row["set"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["label"] == "Cats"
    assert rows[0]["path"] == "Animals > Cats"
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_probabilities_are_called_so(linnaeus, files):
    linnaeus("train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "blr", "-m", "BLR")
    out = linnaeus("predict", files / "blr", files / "docs.jsonl", "--top", 2, "--probabilities", "--as", "csv").out
    assert out.splitlines()[0] == "id,label,name,probability,path,status"


def test_a_workbook_needs_a_file(linnaeus, trained):
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--as", "xlsx")
    assert (result.code, "--output" in result.err) == (2, True)


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path):
    rows = [["=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-2+3", "-12", "+4.5", -0.25, "a=b"]]
    tables.write_table(str(tmp_path / "x.csv"), list("abcdefgh"), rows)
    (row,) = list(csv.reader((tmp_path / "x.csv").open()))[1:]
    assert row == ["'=cmd|' /C calc'!A0", "'+1+1", "'@SUM(A1)", "'-2+3", "-12", "+4.5", "-0.25", "a=b"]


def test_texts_of_a_workbook_are_texts(tmp_path):
    rows = [["=1+1", "a < b & c", "bell\x07", " kept ", None, 3, 0.5]]
    tables.write_table(str(tmp_path / "x.xlsx"), list("abcdefg"), rows)
    assert cells(tmp_path / "x.xlsx")[1] == ["=1+1", "a < b & c", "bell\ufffd", " kept ", "", "3", "0.5"]
    assert b"<f>" not in zipfile.ZipFile(tmp_path / "x.xlsx").read("xl/worksheets/sheet1.xml")


def test_too_many_rows_for_a_workbook_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_MOST_ROWS", 3)
    with pytest.raises(DataError, match="at most 3 rows"):
        tables.write_table(str(tmp_path / "x.xlsx"), ["a"], [[i] for i in range(4)])
    assert list(tmp_path.iterdir()) == []


def test_tabs_and_line_breaks_do_not_break_a_tsv_file(tmp_path):
    tables.write_table(str(tmp_path / "x.tsv"), ["a", "b"], [["one\ttwo\nthree", "four"]])
    assert (tmp_path / "x.tsv").read_text() == "a\tb\none two three\tfour\n"
