from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.errors import DataError, ParameterError
from linnaeus.metrics.auprc import as_node_scores, lift
from tests.metrics.worked import GOLD, LEAVES, SCORES, TAX
from tests.strategies import taxonomies


@given(st.data())
@settings(max_examples=60)
def test_missing_columns_take_the_largest_score_below_them(data):
    tax = data.draw(taxonomies())
    given_names = data.draw(st.lists(st.sampled_from(list(tax.names)), unique=True, min_size=1))
    S = np.array([[data.draw(st.integers(-3, 3)) for _ in given_names]], dtype=float)
    score = dict(zip(given_names, S[0], strict=True))
    found = dict(zip(tax.names, lift(S, tax, given_names)[0], strict=True))
    for name in tax.names:
        below = [score[tax.names[d]] for d in tax.descendants(name) if tax.names[d] in score]
        assert found[name] == (score[name] if name in score else max(below, default=-np.inf))


def test_the_root_has_no_column_and_gold_is_closed():
    both = as_node_scores(GOLD, SCORES, TAX, LEAVES)
    assert [TAX.names[v] for v in both.nodes] == ["A", "B", "AA", "AB", "BA", "BB"]
    assert both.Y.sum(axis=1).tolist() == [2, 4, 2, 2]
    assert both.level(1).S[0].tolist() == [0.9, 0.3]


def test_errors():
    with pytest.raises(DataError, match="did you mean 'AA'"):
        lift([[0.1]], TAX, ["AAA"])
    with pytest.raises(DataError, match="expected .n_docs, 7."):
        lift([[0.1]], TAX)
    with pytest.raises(ParameterError, match="levels are 1..2"):
        as_node_scores(GOLD, SCORES, TAX, LEAVES).level(3)
