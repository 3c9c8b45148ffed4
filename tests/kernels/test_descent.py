from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import descent
from linnaeus.decoding.base import hierarchy, positions
from tests.decoding.oracles import exact_scores, some_columns
from tests.kernels.twins import decoding as reference_decoding
from tests.strategies import label_sets, taxonomies


@settings(max_examples=100)
@given(st.data())
def test_descend_as_its_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=12))
    columns = np.sort(data.draw(some_columns(tax)))
    S = data.draw(exact_scores(len(columns)))
    S = S.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    theta = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=tax.n_nodes, max_size=tax.n_nodes))) / 4
    edges = hierarchy(tax)
    n_parents = np.diff(edges.parent_indptr).astype(np.int32)
    for leaf_mandatory, most in product((True, False), (1, 2, 12)):
        needed = np.minimum(n_parents, most)
        arguments = (S, positions(tax, columns), theta, *edges[:4], edges.tops, needed, leaf_mandatory)
        indptr, indices = descent.descend(*arguments)
        expected_indptr, expected = reference_decoding.descend(*arguments)
        assert indptr.tolist() == expected_indptr.tolist()
        for a, b in pairwise(indptr):
            assert sorted(indices[a:b].tolist()) == expected[a:b].tolist()


@settings(max_examples=100)
@given(st.data())
def test_supported_members_as_its_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    Y = tax.indicator(data.draw(label_sets(tax)))
    edges = hierarchy(tax)
    arguments = (Y.indptr.astype(np.int64), Y.indices.astype(np.int32), edges.parent_indptr, edges.parent_indices)
    assert descent.supported_members(*arguments).tolist() == reference_decoding.supported_members(*arguments).tolist()


def test_empty_batches() -> None:
    nothing = np.zeros(0, dtype=np.int32)
    pointers = np.zeros(2, dtype=np.int64)
    assert descent.supported_members(np.zeros(1, dtype=np.int64), nothing, pointers, nothing).tolist() == []
    indptr, indices = descent.descend(
        np.zeros((0, 1)),
        np.zeros(1, np.int32),
        np.zeros(1),
        pointers,
        nothing,
        pointers,
        nothing,
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        True,
    )
    assert (indptr.tolist(), indices.tolist()) == ([0], [])
