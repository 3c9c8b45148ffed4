"""What is wrong with pairs is found at the right pair."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.build import EdgeList


def pairs(*given: str, source: str | None = "f.tsv") -> EdgeList:
    """Pairs like "AB" (A over B), one in each line, over names in alphabetical order."""
    names = sorted(set("".join(given)))
    parent, child = (np.array([names.index(pair[i]) for pair in given], dtype=np.int32) for i in (0, 1))
    return EdgeList(names, parent, child, np.arange(1, len(given) + 1, dtype=np.int32), source)


def test_loops_and_repetitions_are_set_apart() -> None:
    found = pairs("AB", "BB", "AC", "AB")
    assert (found.loops.tolist(), found.repeated.tolist()) == ([1], [3])
    assert [found.pair(e) for e in found.first] == ["A > B", "A > C"]
    with pytest.raises(TaxonomyError, match=r"^f\.tsv:2: node 'B' is its own parent"):
        found.refuse_loops()
    with pytest.raises(TaxonomyError, match=r"^f\.tsv:4: the pair 'A' > 'B' was already given in line 1"):
        found.refuse_repeated()


def test_every_group_has_one_cycle_that_starts_at_its_first_node() -> None:
    found = pairs("RA", "AB", "BA", "XY", "ZX", "YZ", "ZW", "WW")
    assert found.n_cycles == 2
    assert found.cycles(5) == [("A > B > A", 1), ("X > Y > Z > X", 3)]
    assert found.cycles(1) == found.cycles(5)[:1]
    with pytest.raises(TaxonomyError, match=r"^f\.tsv:2: the taxonomy has a cycle: A > B > A\.$"):
        found.refuse_cycles()


def test_a_long_cycle_is_cut_in_its_middle() -> None:
    ring = "ABCDEFGHIJKL"
    text = pairs(*(a + b for a, b in zip(ring, ring[1:] + "A", strict=True))).cycles(1)[0][0]
    assert text == "A > B > C > D > E > F > G > H > I > J > ... > A"


def test_a_second_parent_is_named_with_the_first_and_its_own_line() -> None:
    with pytest.raises(TaxonomyError, match=r"^f\.tsv:3: not a tree: node 'C' has the parents 'B' and 'A'"):
        pairs("BC", "BC", "AC", "AD").refuse_second_parents()
    pairs("AB", "AB", "BC").refuse_second_parents()


def test_parents_are_unknown_only_where_something_is_declared() -> None:
    found = pairs("AB", "XC", "XD", "YE")
    assert found.unknown_parents(set(), 5) == (0, [])
    assert found.unknown_parents({"A"}, 1) == (2, [(1, "")])
    with pytest.raises(TaxonomyError, match=r"^f\.tsv:2: parent 'X' of 'C' is unknown\.$"):
        found.refuse_unknown({"A"})


def test_an_error_without_a_place_is_a_sentence() -> None:
    nowhere = EdgeList(["A"], np.zeros(1, np.int32), np.zeros(1, np.int32))
    with pytest.raises(TaxonomyError, match=r"^Node 'A' is its own parent\.$"):
        nowhere.refuse_loops()
