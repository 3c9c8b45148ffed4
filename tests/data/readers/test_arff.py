"""HMC ARFF: numbers, nominal values, missing values, labels and their taxonomy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linnaeus.data import read_dataset
from linnaeus.errors import DataError

HEADER = """% a comment
@RELATION 'demo'

@ATTRIBUTE size numeric
@attribute 'the strand' {w, c}
@ATTRIBUTE class hierarchical 1,1/1,1/2,2

@DATA
"""


def read(tmp_path: Path, content: str, **options: object) -> object:
    (tmp_path / "docs.arff").write_bytes(content.encode())
    return read_dataset(tmp_path / "docs.arff", **options)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_rows_labels_and_taxonomy_are_read(tmp_path: Path, line_end: str) -> None:
    content = HEADER + "0.5,w,1/1@2\n?,?,1\n% note\n2,c,?\n"
    data = read(tmp_path, content.replace("\n", line_end))
    nan = np.nan
    np.testing.assert_array_equal(data.X, np.array([[0.5, 1, 0], [nan, nan, nan], [2, 0, 1]], dtype=np.float32))
    assert data.feature_names == ["size", "the strand=w", "the strand=c"]
    assert data.labels == [["1/1", "2"], ["1"], []]
    assert sorted(data.taxonomy.names) == ["1", "1/1", "1/2", "2"]
    assert data.indicator().sum() == 3


def test_sparse_rows_make_a_sparse_matrix_and_leave_out_first_values(tmp_path: Path) -> None:
    data = read(tmp_path, HEADER + "{0 0.5, 1 c, 2 1/1@2}\n{2 1}\n{}\n")
    assert data.kind == "sparse"
    assert data.X.toarray().tolist() == [[0.5, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert data.labels == [["1/1", "2"], ["1"], []]
    nominal = read(tmp_path, "@relation r\n@attribute x real\n@attribute class {a,b}\n@data\n{0 1}\n{1 b}\n")
    assert nominal.labels == [["a"], ["b"]]
    assert nominal.X.toarray().tolist() == [[1], [0]]


def test_a_given_encoding_holds_for_the_taxonomy_too(tmp_path: Path) -> None:
    content = HEADER.replace("1/2", "é") + "0.5,w,1/1@é\n"
    (tmp_path / "docs.arff").write_bytes(content.encode("latin-1"))
    data = read_dataset(tmp_path / "docs.arff", encoding="latin-1")
    assert "é" in data.taxonomy
    assert data.indicator().sum() == 2


def test_a_nominal_class_is_the_label(tmp_path: Path) -> None:
    data = read(tmp_path, "@relation r\n@attribute x real\n@attribute class {a,b}\n@data\n1,'b'\n2,a\n")
    assert data.labels == [["b"], ["a"]]
    assert data.X.tolist() == [[1], [2]]
    assert data.taxonomy is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "1,w\n", r"docs.arff:9 has 2 values; expected 3"),
        (HEADER + "1,w,1\nx,w,1\n", "docs.arff:10: attribute 'size' has 'x'; expected a number"),
        (HEADER + "1,q,1\n", "docs.arff:9: attribute 'the strand' has 'q'; expected one of w, c"),
        (HEADER + "{9 1}\n", "docs.arff:9: '9 1' does not begin with the number of an attribute"),
        (HEADER + "{0 1, 0 2}\n", "docs.arff:9: attribute 0 is given twice"),
        (HEADER + "1\r0,'w',1\n", "docs.arff:9 is not a row of cells"),
        (HEADER.replace("{w, c}", "{}"), "docs.arff:5: the nominal attribute 'the strand' has no values"),
        (HEADER, "no rows after @DATA"),
        (HEADER.replace("@DATA", ""), "no @DATA line"),
        (HEADER.replace("numeric", "date"), "docs.arff:4: type 'date' of attribute 'size'"),
        ("@relation r\nhello\n", "docs.arff:2: 'hello' is neither"),
        ("@relation r\n@data\n1\n", "docs.arff:2: @DATA comes before"),
        ("@relation r\n@attribute x real\n@attribute y real\n@data\n1,z\n", "attribute 'y' has 'z'"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)
