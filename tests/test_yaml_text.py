"""YAML: what lists and tables are written in."""

from __future__ import annotations

import pytest

from linnaeus.errors import TaxonomyError
from linnaeus.yaml_text import parse_yaml

SAMPLES = [
    "a: [b, {c: 'd'}, \"e\\n\"] # x\n",
    "- - a\n  - b\n-\n  c: d\n  e:\n  - 1\n  - 2\n",
    "a: b\n  c d\n",
    "a: http://x.y/z#3\n",
    '"a b": c\n',
    "a: []\nb: {}\nc:\n",
    "x",
    "- -1\n- -a",
    "{a: 1,\n b: 2}",
    "---\n# comment\nrules: []\n# - a: b\n",
    "k: 'it''s: # no comment'\n",
    "a:\n- b: 01.10\n  c: ~\n- null\n",
    'a: "b\n  c"\n',
    "a: |\n  b # kept\n\n    c\n  d\ne: f\n",
    "- id: 1\n  n: >-\n    long\n    line\n\n    next\n- id: 2\n  n: |-\n    x: y\n",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_the_subset_is_read_as_yaml_reads_it_with_scalars_as_text(text: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert parse_yaml(text) == yaml.load(text, yaml.BaseLoader) or parse_yaml(text) == _without_empty(yaml, text)


def _without_empty(yaml: object, text: str) -> object:
    """PyYAML's text scalars, with None for what is null."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return None if value in ("", "~", "null") else value

    return plain(yaml.load(text, yaml.BaseLoader))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: |x\n  b\n", "y:1: '|x' is a part of YAML that is not supported"),
        ("a: &b c\n", "y:1: '&b c' is a part of YAML"),
        ("a: 1\na: 2\n", "y:2: the key 'a' is given twice"),
        ("a: 1\n\tb: 2\n", "y:2: the line is indented with a tab"),
        ("a: [b\n", "y:1: '\\[b' is not a list or mapping"),
        ("a: 'b\n", "y:1: a quoted text does not end"),
        ("a: b\n---\nc: d\n", "y:2: a second document begins"),
        ("a:\n - b\nc", "y:3: expected 'key: value', got 'c'"),
        ("- " * 300 + "a", "more than 200 levels"),
    ],
)
def test_what_is_not_supported_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        parse_yaml(text, "y", TaxonomyError)
