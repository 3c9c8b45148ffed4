"""Whatever the bytes are, a reader answers with a data set or with an error meant for people."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.data.dataset import Dataset
from linnaeus.data.label_files import read_label_file
from linnaeus.data.readers import FORMATS, read_dataset, recognise
from linnaeus.errors import LinnaeusError

SGML = b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TOPICS><D>x</D></TOPICS><TEXT>a</TEXT></REUTERS>\n'
ARRAYS = {
    "X_data": np.array([1.0, 2.0]),
    "X_indices": np.array([0, 1]),
    "X_indptr": np.array([0, 1, 2]),
    "X_shape": np.array([2, 2]),
    "Y_indices": np.array([0, 1]),
    "Y_indptr": np.array([0, 1, 2]),
    "Y_shape": np.array([2, 2]),
    "label_names": np.array(["A", "B"]),
}
DENSE = {"X": np.eye(2), "y": np.eye(2), "label_names": np.array(["A", "B"]), "ids": np.array([7, 8])}


def npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()[: 512 * (2 * len(files) + 2)]  # without the padding, so that damage hits something


SEEDS = [
    b'{"text": "a", "labels": ["x", ["y", "z"], {"id": 1}]}\n{"id": 3}\n',
    b'[{"text": "a"}, {"labels": "b"}]',
    b'text,labels\n"a, b",A;B\nc,\n',
    b"id\ttext\tlabel\n1\ta\tA|B\n",
    b"3,5 0:0.5 7:1\n4 2:3\n",
    b"2 9 6\n3,5 0:0.5 7:1\n4 2:3\n",
    b"@relation r\n@attribute x numeric\n@attribute s {a,'b c'}\n@attribute class hierarchical 1,1/1,2\n@data\n"
    b"1,a,1@2\n?,'b c',1/1\n",
    b"@relation r\n@attribute x numeric\n@attribute class hierarchical r/a,a/b\n@data\n{0 1, 1 a@b}\n{}\n",
    b">P1 1.1;2.2\nMKQ\n>P2\nAA\n",
    SGML,
    b"\xef\xbb\xbf",
    '[{"text": "a"}]\n'.encode("utf-16"),
    tar({"a/1": b"one", "b/2": b"two"}),
    tar({"1.sgm": SGML, "2.sgm": SGML}),
    gzip.compress(tar({"a/1": b"one", "b/2": b"two"})),
    lzma.compress(tar({"1.sgm": SGML, "2.sgm": SGML})),
    bz2.compress(tar({"a/1": b"one", "b/2": b"two"})),
    npz(ARRAYS),
    npz(DENSE),
]
PIECES = [b",", b"\n", b"{", b"}", b"'", b'"', b":", b"-1", b"\r", b"\0", b"[" * 5000]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file with some pieces replaced, removed or doubled."""
    content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 6))
        piece = draw(st.one_of(st.binary(max_size=4), st.sampled_from(PIECES)))
        content = content[:at] + piece + content[at + length :]
    return content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content


def check(path_factory: pytest.TempPathFactory, content: bytes, read: Callable[[str], object], kind: type) -> None:
    path = path_factory.getbasetemp() / "damaged"
    path.write_bytes(content)
    with contextlib.suppress(LinnaeusError):
        assert isinstance(read(str(path)), kind)


@settings(max_examples=500)
@given(damaged(), st.sampled_from([None, None, *FORMATS]), st.sampled_from([None, None, "latin-1", "utf-16"]))
def test_damaged_files_never_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, format: str | None, encoding: str | None
) -> None:
    check(tmp_path_factory, content, lambda path: read_dataset(path, format, encoding=encoding), Dataset)


@settings(max_examples=150)
@given(damaged())
def test_recognising_and_reading_labels_never_ends_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    check(tmp_path_factory, content, recognise, str)
    check(tmp_path_factory, content, read_label_file, object)


arrays_in_place = st.sampled_from(
    [np.array(0), np.array([]), np.array([-1]), np.array([0, 9]), np.array([2, 1]), np.array(["x"]), np.ones((1, 2, 3))]
)


@settings(max_examples=200)
@given(
    st.sampled_from([ARRAYS, DENSE]),
    st.sets(st.sampled_from([*ARRAYS, *DENSE]), max_size=3),
    st.dictionaries(st.sampled_from([*ARRAYS, *DENSE]), arrays_in_place, max_size=2),
)
def test_archives_with_other_arrays_never_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, good: dict, dropped: set[str], replaced: dict
) -> None:
    arrays = {name: array for name, array in (good | replaced).items() if name not in dropped}
    check(tmp_path_factory, npz(arrays), lambda path: read_dataset(path, "npz"), Dataset)
