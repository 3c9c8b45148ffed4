"""Whatever is wrong with JSON is said with file and line."""

from __future__ import annotations

import pytest

from linnaeus.data.readers.jsonl import load_json
from linnaeus.errors import DataError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": \n', "docs:7 is not JSON: Expecting value at column 6"),
        ("[1,\n2,\n!]", "docs:9 is not JSON"),
        ("[" * 100_000, "docs:7 is nested too deeply"),
        ("9" * 5000, "docs:7 contains a number that cannot be read"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_json(text, "docs", 7)


def test_a_line_end_does_not_matter() -> None:
    assert load_json('{"a": 1}\r\n', "docs") == {"a": 1}
