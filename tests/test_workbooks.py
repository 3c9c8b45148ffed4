"""Excel workbooks are read as tables, wherever tables are: documents, taxonomies and label files."""

from __future__ import annotations

import io
import zipfile

import pytest

from linnaeus import Taxonomy
from linnaeus.cli.tables import write_table
from linnaeus.data import read_dataset
from linnaeus.data.label_files import read_label_file
from linnaeus.errors import DataError
from linnaeus.workbooks import sheet_as_text

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(sheet: str, strings: str = "") -> bytes:
    """A workbook as Excel writes it, with shared strings, an absolute target and a second sheet that is not read."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        sheets = '<sheet name="A" sheetId="7" r:id="rId2"/><sheet name="B" sheetId="1" r:id="rId1"/>'
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>'
        )
        related = '<Relationship Id="rId1" Target="worksheets/other.xml"/>'
        related += '<Relationship Id="rId2" Target="/xl/worksheets/first.xml"/>'
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{related}</Relationships>")
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{strings}</sst>')
        archive.writestr(
            "xl/worksheets/first.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{sheet}</sheetData></worksheet>'
        )
    return raw.getvalue()


def test_cells_are_placed_by_their_references_and_shared_strings_are_resolved() -> None:
    strings = "<si><t>text</t></si><si><r><t>a </t></r><r><t>goal</t></r><rPh><t>x</t></rPh></si>"
    rows = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="str"><v>label</v></c></row>'
    rows += '<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="b"><v>1</v></c><c r="C3"><v>5321</v></c></row>'
    rows += '<row r="4"><c r="A4" t="inlineStr"><is><t>two\nlines</t></is></c></row>'
    with zipfile.ZipFile(io.BytesIO(workbook(rows, strings))) as archive:
        text = sheet_as_text(archive).decode()
    assert text == "text\t\tlabel\n\na goal\tTRUE\t5321\ntwo lines\t\t\n"


def test_documents_taxonomies_and_label_files_are_read_from_workbooks(tmp_path) -> None:
    write_table(
        str(tmp_path / "docs.xlsx"), ["id", "text", "label"], [["d1", 'a "late" goal', "11"], ["d2", "x", "12"]]
    )
    write_table(str(tmp_path / "codes.xlsx"), ["code", "title"], [["1", "One"], ["11", "First"], ["12", "Second"]])
    write_table(str(tmp_path / "found.xlsx"), ["id", "label", "score"], [["d1", "11", 0.5], ["d2", "12", 0.25]])
    data = read_dataset(tmp_path / "docs.xlsx")
    assert (data.ids, data.labels) == (["d1", "d2"], [["11"], ["12"]])
    assert data.fields == {"text": ['a "late" goal', "x"]}
    tax = Taxonomy.read(tmp_path / "codes.xlsx")
    assert [str(tax.names[v]) for v in tax.parents("11")] == ["1"]
    assert read_label_file(tmp_path / "found.xlsx").labels == [["11"], ["12"]]


@pytest.mark.parametrize("sheet", ["<row><c", '<row r="1"><c r="A1" t="s"><v>5</v></c></row>', '<row r="0"/>'])
def test_damaged_workbooks_are_refused_with_their_name(tmp_path, sheet) -> None:
    (tmp_path / "docs.xlsx").write_bytes(workbook(sheet))
    with pytest.raises(DataError, match=r"docs\.xlsx cannot be read as an Excel workbook \(.*save it as CSV"):
        read_dataset(tmp_path / "docs.xlsx")
