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


GROUPED = {
    "by_key.yml": "version: 7\ncategories:\n- id: aa\n  full_name: Apparel\n- {id: aa-1, full_name: Apparel > Tops}\n",
    "verticals.json": """{"version": "2026-02", "verticals": [{"name": "Apparel", "prefix": "aa", "categories": [
        {"id": "aa", "name": "Apparel", "full_name": "Apparel", "parent_id": null,
         "children": [{"id": "aa-1", "name": "Tops"}], "ancestors": []},
        {"id": "aa-1", "name": "Tops", "full_name": "Apparel > Tops", "parent_id": "aa", "children": [],
         "ancestors": [{"id": "aa", "name": "Apparel"}]}]}]}""",
    "categories.txt": "# Categories: 2026-02\naa    : Apparel\naa-1  : Apparel > Tops\n",
}


@pytest.mark.parametrize("name", GROUPED)
def test_lists_of_nodes_inside_objects_that_group_them_are_found(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(GROUPED[name])
    tax = Taxonomy.read(tmp_path / name)
    assert (list(tax.names), list(tax.names[tax.parents("aa-1")])) == (["aa", "aa-1"], ["aa"])
    assert tax.display("aa-1") == "Tops"


def test_a_node_below_a_missing_level_is_known_by_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "shop.yml").write_text(PATHS)
    assert Taxonomy.read(tmp_path / "shop.yml").aliases == {"Animals & Pet Supplies > Missing > Deep": "ap-9-1"}
