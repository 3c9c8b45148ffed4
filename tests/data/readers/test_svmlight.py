"""libsvm, extreme classification and LSHTC files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.data import read_dataset
from linnaeus.errors import DataError


def read(folder: Path, content: str, **options: object) -> object:
    (folder / "docs").write_text(content)
    return read_dataset(folder / "docs", **options)


@pytest.mark.parametrize(
    "content",
    ["3,5 0:0.5 4:1\n7 2:2 # note\n 1:1\n", "3 5 8\n3,5 0:0.5 4:1\n7 2:2\n 1:1\n", "3, 5 0:0.5 4:1\n7 2:2\n 1:1\n"],
    ids=["libsvm", "xmc", "lshtc"],
)
def test_labels_and_features_are_read(tmp_path: Path, content: str) -> None:
    data = read(tmp_path, content)
    assert data.labels == [["3", "5"], ["7"], []]
    assert data.X.toarray().tolist() == [[0.5, 0, 0, 0, 1], [0, 0, 2, 0, 0], [0, 1, 0, 0, 0]]
    assert data.X.dtype == np.float32


def test_a_comment_begins_after_white_space(tmp_path: Path) -> None:
    assert read(tmp_path, "c#,java 0:1\n").labels == [["c#", "java"]]
    data = read(tmp_path, "# made by hand\nc#,java 0:1\t# note #2\n7 1:1 #\n", format="libsvm")
    assert data.labels == [["c#", "java"], ["7"]]
    assert data.X.toarray().tolist() == [[1, 0], [0, 1]]


def test_a_document_may_have_no_features(tmp_path: Path) -> None:
    data = read(tmp_path, "2 3 4\n1\n\n")
    assert data.X.shape == (2, 3)
    assert data.labels == [["1"], []]


def test_the_first_document_may_have_no_features(tmp_path: Path) -> None:
    data = read(tmp_path, "3,5\n2 1:1\n")
    assert (data.kind, data.labels) == ("sparse", [["3", "5"], ["2"]])
    assert data.X.toarray().tolist() == [[0, 0], [0, 1]]
    assert read(tmp_path, "# labels, then features\n2 1:1\n").labels == [["2"]]


def test_the_width_can_be_given_and_files_are_widened_together(tmp_path: Path) -> None:
    assert read(tmp_path, "a 1:1\n", n_features=9).X.shape == (1, 9)
    (tmp_path / "more").write_text("b 7:1\n")
    assert read_dataset([tmp_path / "docs", tmp_path / "more"]).X.shape == (2, 8)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 99), unique=True, max_size=3),
            st.dictionaries(st.integers(0, 50), st.floats(-9, 9, width=32), min_size=1, max_size=6),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_was_written_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    lines = [",".join(map(str, y)) + " " + " ".join(f"{i}:{v!r}" for i, v in x.items()) for y, x in rows]
    data = read(tmp_path_factory.mktemp("svm"), "\n".join(lines) + "\n", format="libsvm", n_features=51)
    expected = np.zeros((len(rows), 51), dtype=np.float32)
    for row, (_, x) in enumerate(rows):
        for i, v in x.items():
            expected[row, i] = v
    np.testing.assert_array_equal(data.X.toarray(), expected)
    assert data.labels == [list(map(str, y)) for y, _ in rows]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2:3\n1 2:x\n", "docs:2: '2:x' is not a feature"),
        ("1 2:3\n1 2:3 -1:4\n", "docs:2: '-1:4' is not a feature"),
        ("1 2:3\n1 2:3 4\n", "docs:2: '4' is not a feature"),
        ("1 99999999999:3\n", "docs:1: '99999999999:3' is not a feature"),
        ("1 2:3 2:4\n", "docs:1: feature 2 is given twice"),
        ("1 3 4\n1 5:1\n", "docs:2: feature 5 is out of range; 3 features"),
        ("1 3 4\n7 1:1\n", "docs:2: label '7' is out of range; 4 labels"),
        ("2 3 4\n1 1:1\n", "docs:1 announces 2 documents; the file has 1"),
        ("1 3 4\n1 1:1\n1 1:1\n", "docs:1 announces 1 documents; the file has 2"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)
