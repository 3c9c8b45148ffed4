"""Training files of fastText as documents."""

from __future__ import annotations

from pathlib import Path

from linnaeus.data import read_dataset


def test_labels_stand_before_the_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("__label__A __label__B A late  goal\n\n__label__B a vote __label__x\n")
    data = read_dataset(tmp_path / "train.txt")
    assert data.documents == ["A late goal", "a vote __label__x"]
    assert data.labels == [["A", "B"], ["B"]]
    assert data.place(1).endswith("train.txt:3")
    assert len(read_dataset(tmp_path / "train.txt", limit=1)) == 1
