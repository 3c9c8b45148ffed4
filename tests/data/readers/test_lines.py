"""Plain lines of text."""

from __future__ import annotations

from pathlib import Path

from linnaeus.data import read_dataset


def test_every_line_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "docs.txt"
    path.write_text("A late goal, he said.\nA vote\nNo, no, no\n")
    data = read_dataset(path)
    assert data.documents == ["A late goal, he said.", "A vote", "No, no, no"]
    assert data.labels is None
    assert read_dataset(path, limit=1).documents == ["A late goal, he said."]


def test_an_empty_line_is_an_empty_document_so_that_numbers_match_lines(tmp_path: Path) -> None:
    path = tmp_path / "docs.txt"
    path.write_text("\nA late goal\n\nA vote\n")
    data = read_dataset(path)
    assert data.documents == ["", "A late goal", "", "A vote"]
    assert data.place(3).endswith("docs.txt:4")
    path.write_text("A late goal\nA vote")
    assert len(read_dataset(path)) == 2
