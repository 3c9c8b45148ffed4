from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus._kernels import max_flow
from linnaeus.decoding.base import hierarchy, positions
from tests.decoding.oracles import exact_scores, some_columns
from tests.kernels.twins import decoding as reference_decoding
from tests.strategies import taxonomies


@settings(max_examples=150)
@given(st.data())
def test_best_closures_as_its_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=16))
    columns = np.sort(data.draw(some_columns(tax)))
    S = data.draw(exact_scores(len(columns)))
    S = S.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    with_root = data.draw(st.booleans())
    arguments = (S, positions(tax, columns, with_root=with_root), *hierarchy(tax, with_root=with_root)[:5])
    for fast, slow in zip(
        max_flow.best_closures(*arguments), reference_decoding.best_closures(*arguments), strict=True
    ):
        assert fast.dtype == slow.dtype
        assert fast.tolist() == slow.tolist()


def test_a_first_choice_of_parent_is_taken_back() -> None:
    # X can pay for A or for B, Y only for A: where X has paid for A first, what it gave has to move to B.
    tax = Taxonomy.from_edges([("A", "X"), ("B", "X"), ("A", "Y"), ("B", "Z"), ("C", "Z")], root=None)
    weight = {"A": -4, "B": -4, "C": -2, "X": 4, "Y": 4, "Z": 1}
    S = np.array([[weight[name] for name in tax.names]], dtype=np.float64)
    arguments = (positions(tax, np.arange(tax.n_nodes)), *hierarchy(tax)[:5])
    assert max_flow.best_closures(S, *arguments)[1].tolist() == []
    S[0, tax.index("Y")] = 4.5
    kept = max_flow.best_closures(S, *arguments)[1]
    assert set(tax.names[kept]) == {"A", "Y"}
    S[0, tax.index("X")] = 4.5
    kept = max_flow.best_closures(S, *arguments)[1]
    assert set(tax.names[kept]) == {"A", "B", "X", "Y"}


def test_empty_batches_no_edges_and_wrong_types() -> None:
    flat = Taxonomy.flat("AB")
    arguments = (positions(flat, np.arange(2)), *hierarchy(flat)[:5])
    assert [a.tolist() for a in max_flow.best_closures(np.zeros((0, 2)), *arguments)] == [[0], []]
    assert [a.tolist() for a in max_flow.best_closures(np.array([[0.0, 1.0]]), *arguments)] == [[0, 1], [1]]
    with pytest.raises((TypeError, ValueError)):
        max_flow.best_closures(np.zeros((1, 2), dtype=np.int32), *arguments)
