"""Places of classes: ancestors, the class itself, and one of its own where it is above another class."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.taxonomy.terminals import terminals
from tests.strategies import taxonomies


@settings(max_examples=100)
@given(taxonomies(max_nodes=7), st.data())
def test_places_are_ancestors_and_no_class_contains_another(tax: Taxonomy, data: st.DataObject) -> None:
    classes = np.array(sorted(data.draw(st.sets(st.integers(0, tax.n_nodes - 1), min_size=1))))
    found = terminals(tax, classes)
    places = [set(row.indices.tolist()) for row in found.pattern]
    for y, row in zip(classes, places, strict=True):
        nodes = {int(found.nodes[p]) for p in row if not found.own[p]}
        assert nodes == set(tax.ancestors(int(y)).tolist())
        is_above = any(y in tax.ancestors(int(z)) for z in classes if z != y)
        assert sum(bool(found.own[p]) for p in row) == is_above
    assert all(not a <= b for i, a in enumerate(places) for j, b in enumerate(places) if i != j)


def test_shared_places_are_those_of_all_classes() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "AA"), ("A", "AB")])
    found = terminals(tax, np.array([tax.index("AA"), tax.index("AB")]))
    assert tax.names[found.nodes[found.shared]].tolist() == ["A"]
