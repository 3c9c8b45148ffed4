"""The format is recognised from the content, not from the name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linnaeus.data.readers import recognise


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ('{"text": "a"}\n', "jsonl"),
        ('[{"text": "a"}]\n', "jsonl"),
        ("text,labels\na,A\n", "csv"),
        ("a goal,Sports\na vote,Politics\n", "csv"),
        ("A goal, he said\nA vote\n", "lines"),
        ("A goal, he said.\n", "lines"),
        ("a goal\tSports\n", "tsv"),
        ("3,5 0:0.5 7:1\n", "libsvm"),
        ("3 1:2\n", "libsvm"),
        (" 1:2\n", "libsvm"),
        ("3, 5 0:0.5\n", "lshtc"),
        ("2 10 6\n3,5 0:0.5\n", "xmc"),
        ("% c\n@RELATION r\n", "arff"),
        (">P1 1.1\nMKQ\n", "fasta"),
        ("<!DOCTYPE lewis SYSTEM>\n", "reuters"),
        ("At 10:30 the goal fell\n", "lines"),
        ("3,5\n2 1:1\n", "libsvm"),
        ("3, 5\n7\n3, 2 1:1\n", "lshtc"),
        ("# made by hand\n3,5\n2 1:1 # note\n", "libsvm"),
        ("# made by hand\n\n3 1:1\n1 2:3 4\n", "libsvm"),
        ("# Goals\nLate\n", "lines"),
        ("Goals\nAt 10:30\nA vote, he said\n", "lines"),
        ("3 " + " ".join(f"{i}:1" for i in range(1_000_000, 1_010_000)) + "\n", "libsvm"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_content_tells_the_format(tmp_path: Path, content: str, format: str, packed: bool) -> None:
    path = tmp_path / "docs"
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    assert recognise(path) == format
