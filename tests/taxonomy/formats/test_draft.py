"""A draft holds what a file says and refuses it with the right line."""

from __future__ import annotations

import pytest

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats.draft import Draft


def test_the_first_line_of_the_cycle_is_named_not_the_first_of_the_file() -> None:
    draft = Draft("f.tsv")
    for line, (above, below) in enumerate([("R", "A"), ("B", "C"), ("C", "B"), ("C", "D")], 1):
        draft.edge(above, below, line)
    with pytest.raises(TaxonomyError, match=r"^f\.tsv:2: the taxonomy has a cycle: (B > C > B|C > B > C)\.$"):
        draft.taxonomy()


def test_an_order_numbers_the_nodes_and_names_it_lacks_come_last() -> None:
    draft = Draft()
    for below in "cab":
        draft.edge("R", below)
    assert list(draft.taxonomy(order=["R", "a", "b"]).names) == ["R", "a", "b", "c"]
    assert list(draft.taxonomy(order=["b", "gone"]).names) == ["R", "b", "c", "a"]


def test_an_empty_draft_is_no_taxonomy() -> None:
    with pytest.raises(TaxonomyError, match=r"^f\.tsv: the taxonomy is empty"):
        Draft("f.tsv").taxonomy()
