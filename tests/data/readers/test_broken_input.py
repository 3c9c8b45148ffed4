"""Whatever the bytes are, a reader answers with a data set or with an error meant for people."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.data.dataset import Dataset
from linnaeus.data.readers import FORMATS, read_dataset
from linnaeus.errors import LinnaeusError

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
    b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TOPICS><D>x</D></TOPICS><TEXT>a</TEXT></REUTERS>\n',
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file with some pieces replaced, removed or doubled."""
    content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 6))
        piece = draw(
            st.one_of(st.binary(max_size=4), st.sampled_from([b",", b"\n", b"{", b"}", b"'", b'"', b":", b"-1"]))
        )
        content = content[:at] + piece + content[at + length :]
    return content


@settings(max_examples=400)
@given(damaged(), st.sampled_from([None, *FORMATS]))
def test_damaged_files_never_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, format: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(content)
    with contextlib.suppress(LinnaeusError):
        assert isinstance(read_dataset(path, format), Dataset)
