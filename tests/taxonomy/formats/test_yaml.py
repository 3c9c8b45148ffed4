"""YAML taxonomies, and lists of objects that give their whole paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy import Texts, checks, formats

PATHS = """\
---
- id: ap
  full_name: Animals & Pet Supplies
- id: ap-1
  full_name: Animals & Pet Supplies > Live Animals
- id: ap-1-2
  full_name: 'Animals & Pet Supplies > Live Animals > Fish: fresh'
- id: ap-9-1
  full_name: Animals & Pet Supplies > Missing > Deep
"""


def test_the_parent_of_a_path_is_the_object_with_the_path_above(tmp_path: Path) -> None:
    (tmp_path / "shop.yml").write_text(PATHS)
    tax = Taxonomy.read(tmp_path / "shop.yml")
    assert list(tax.names[tax.path("ap-1-2")]) == ["ap", "ap-1", "ap-1-2"]
    assert tax.display("ap-1-2") == "Fish: fresh"


def test_a_missing_level_of_a_path_is_reported_as_a_gap(tmp_path: Path) -> None:
    (tmp_path / "shop.yml").write_text(PATHS)
    draft = formats.draft(tmp_path / "shop.yml")
    assert [str(name) for name in draft.taxonomy().names[draft.taxonomy().parents("ap-9-1")]] == ["ap"]
    found = checks.check(draft).find("code-gap")
    assert found is not None
    assert found.examples == ["ap-9-1 (Deep)"]


def test_two_objects_with_one_path_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"id": 1, "path": "A > B"}, {"id": 2, "path": "A > B"}, {"id": 3, "path": "A"}]')
    with pytest.raises(TaxonomyError, match="'1' and '2' have the same path 'A > B'"):
        Taxonomy.read(tmp_path / "x.json")


def test_a_taxonomy_written_as_yaml_is_read_back_with_its_texts(tmp_path: Path) -> None:
    tax = Taxonomy.from_edges(
        [("A", "B"), ("A", "C: d"), ("B", "E"), ("C: d", "E")], display_labels={"E": "an 'E' # x"}
    )
    tax = tax.with_texts(
        Texts.from_entries(
            [(1, "alternative", "de", "Be"), (1, "note", "", 'two\nlines "x"'), (3, "preferred", "", "an 'E' # x")]
        )
    )
    tax.write(tmp_path / "t.yml")
    back = Taxonomy.read(tmp_path / "t.yml")
    assert back == tax
    assert [entry.text for entry in back.texts.of(1, "note")] == ['two\nlines "x"']
