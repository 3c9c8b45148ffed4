"""Plain lines of text."""

from __future__ import annotations

from pathlib import Path

from linnaeus.data import read_dataset


def test_every_line_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "docs.txt"
    path.write_text("A late goal, he said.\n\nA vote\nNo, no, no\n")
    data = read_dataset(path)
    assert data.documents == ["A late goal, he said.", "A vote", "No, no, no"]
    assert data.labels is None
    assert data.place(1).endswith("docs.txt:3")
    assert read_dataset(path, limit=1).documents == ["A late goal, he said."]
