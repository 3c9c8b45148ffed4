"""Siblings taken for each other: counts against a loop over documents."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import DataError
from linnaeus.metrics import sibling_confusion
from linnaeus.metrics.confusion import confused_siblings, most_confused_parent

EDGES = [("R", "A"), ("R", "B"), ("R", "C"), ("A", "AA"), ("A", "AB"), ("B", "AB"), ("B", "BA")]
TAX = Taxonomy.from_edges(EDGES)  # AB has two parents


def some_labels(seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [rng.choice(["A", "B", "C", "AA", "AB", "BA"], size=rng.integers(0, 3)).tolist() for _ in range(40)]


def closed(row: list[str]) -> set[str]:
    return {str(name) for v in row for name in TAX.names[[TAX.index(v), *TAX.ancestors(v)]]}


@pytest.mark.parametrize("node", [None, "A", "B"])
def test_counts_are_those_of_a_loop_over_documents(node) -> None:
    gold, said = some_labels(1), some_labels(2)
    found = sibling_confusion(gold, said, TAX, node)
    children = {None: ["A", "B", "C"], "A": ["AA", "AB"], "B": ["AB", "BA"]}[node]
    assert found.names == children
    pairs = [(closed(one), closed(two)) for one, two in zip(gold, said, strict=True)]
    for i, a in enumerate(children):
        for j, b in enumerate(children):
            if a == b:
                count = sum(a in y and a in h for y, h in pairs)
            else:
                count = sum(a in y and a not in h and b in h and b not in y for y, h in pairs)
            assert found.table[i, j] == count
        assert found.documents[i] == sum(a in y for y, _ in pairs)
        assert found.unanswered[i] == sum(a in y and not h & set(children) for y, h in pairs)


def test_the_pairs_of_the_taxonomy_are_those_of_its_tables_most_frequent_first() -> None:
    gold, said = some_labels(3), some_labels(4)
    Y, H = (TAX.close(TAX.indicator(labels), keep_root=False) for labels in (gold, said))
    pairs = list(confused_siblings(Y, H, TAX))
    assert [n for _, _, n in pairs] == sorted((n for _, _, n in pairs), reverse=True)
    table = sibling_confusion(gold, said, TAX).table
    top = {(str(TAX.names[v]), str(TAX.names[u])): n for v, u, n in pairs if str(TAX.names[v]) in ("A", "B", "C")}
    assert top == {("ABC"[i], "ABC"[j]): table[i, j] for i, j in np.argwhere(table) if i != j}


def test_the_most_confused_parent_has_the_most_pairs() -> None:
    def parent(gold: list[str], said: list[str]) -> str | None:
        Y, H = (TAX.close(TAX.indicator(labels), keep_root=False) for labels in (gold, said))
        return most_confused_parent(Y, H, TAX)

    assert parent(["AA", "AA", "C"], ["AB", "AB", "B"]) == "A"
    assert parent(["C", "C", "AA"], ["B", "A", "AB"]) is None
    assert parent(["C"], ["C"]) is None


def test_one_child_is_not_enough() -> None:
    with pytest.raises(DataError, match="'C' has 0 children"):
        sibling_confusion(["A"], ["A"], TAX, "C")
