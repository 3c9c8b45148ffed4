"""Reuters-21578 SGML."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus.data import read_dataset
from linnaeus.errors import DataError


def document(number: int, split: str, topics: str, body: str = "<TITLE>T &lt;X></TITLE><BODY>B\x03</BODY>") -> str:
    return (
        f'<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" NEWID="{number}">\n'
        "<TOPICS><D>grain</D><D>wheat</D></TOPICS>\n"
        f"<PLACES><D>usa</D></PLACES>\n<TEXT>{body}</TEXT>\n</REUTERS>\n"
    )


CONTENT = "<!DOCTYPE lewis>\n" + "".join(
    [
        document(1, "TRAIN", "YES"),
        document(2, "TEST", "YES"),
        document(3, "TRAIN", "NO"),
        document(4, "NOT-USED", "YES"),
        document(5, "TRAIN", "YES", "raw text"),
    ]
)


@pytest.mark.parametrize("as_folder", [False, True])
def test_topics_fields_and_the_split_are_read(tmp_path: Path, as_folder: bool) -> None:
    path = tmp_path / "reut2-000.sgm"
    path.write_text(CONTENT, encoding="latin-1")
    data = read_dataset(tmp_path if as_folder else path)
    assert data.split == ["train", "test", "train"]
    assert data.labels == [["grain", "wheat"]] * 3
    assert data.fields == {"title": ["T <X>"] * 2 + [""], "body": ["B"] * 2 + ["raw text"]}
    assert data.ids == ["1", "2", "5"]
    assert data.place(1) == f"{path}:7"


def test_a_file_without_documents_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.sgm").write_text("<!DOCTYPE lewis>\n")
    with pytest.raises(DataError, match="no <REUTERS> documents"):
        read_dataset(tmp_path / "a.sgm")
