"""Decoders of models of whole label sets are values, and answer by their table."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import BestNonEmpty, BestTree, branching_table, decoder
from linnaeus.errors import ParameterError

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
DIAMOND = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C")])


def test_they_are_values_that_compare_and_survive_json() -> None:
    one, other = BestTree(branching_table(TAX, [-0.1, -0.6])), BestTree(branching_table(TAX, [-0.1, -0.5]))
    again = decoder(**json.loads(json.dumps(one.to_dict())))
    assert one == again
    assert hash(one) == hash(again)
    assert one != other
    assert BestNonEmpty() == decoder("best_non_empty")
    assert BestNonEmpty() != BestNonEmpty(at_least_one=False)


def test_a_table_is_required() -> None:
    with pytest.raises(ParameterError, match="needs scores"):
        decoder("best_tree")


def test_a_label_is_answered_if_required_also_on_a_dag() -> None:
    nodes = [DIAMOND.index(name) for name in "ABC"]
    S = np.array([[-0.5, -0.2, 0.1]])
    assert DIAMOND.labels(BestNonEmpty()(S, DIAMOND, nodes)) == [["B"]]
    assert DIAMOND.labels(BestNonEmpty(at_least_one=False)(S, DIAMOND, nodes)) == [[]]
    table = np.zeros((DIAMOND.n_nodes + 1, 3))
    assert DIAMOND.labels(BestTree(table, one=True)(S, DIAMOND, nodes)) == [["B"]]
