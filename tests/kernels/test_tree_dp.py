from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import tree_dp
from linnaeus.decoding.base import hierarchy, positions
from tests.decoding.oracles import exact_scores, some_columns
from tests.kernels.twins import decoding as reference_decoding
from tests.strategies import taxonomies


@settings(max_examples=80)
@given(st.data())
def test_best_subtrees_as_its_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",), max_nodes=12))
    columns = np.sort(data.draw(some_columns(tax)))
    S = data.draw(exact_scores(len(columns), max_docs=19))
    S = S.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    arguments = (S, positions(tax, columns), hierarchy(tax).parent)
    for fast, slow in zip(tree_dp.best_subtrees(*arguments), reference_decoding.best_subtrees(*arguments), strict=True):
        assert fast.dtype == slow.dtype
        assert fast.tolist() == slow.tolist()


@settings(max_examples=80)
@given(st.data())
def test_edge_labellings_as_its_twin(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",), max_nodes=12))
    G = data.draw(exact_scores(4 * tax.n_nodes)).reshape(-1, tax.n_nodes, 4)
    G = G.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    for consistent in (True, False):
        arguments = (G, hierarchy(tax, with_root=True).parent, consistent)
        for fast, slow in zip(
            tree_dp.edge_labellings(*arguments), reference_decoding.edge_labellings(*arguments), strict=True
        ):
            assert fast.tolist() == slow.tolist()


def test_empty_batches_and_wrong_types() -> None:
    nodes = np.array([0, 1], dtype=np.int32)
    parent = np.array([-1, 0], dtype=np.int32)
    indptr, indices = tree_dp.best_subtrees(np.zeros((0, 2)), nodes, parent)
    assert (indptr.tolist(), indices.tolist()) == ([0], [])
    labels, scores = tree_dp.edge_labellings(np.zeros((0, 2, 4)), parent, True)
    assert (labels.shape, scores.shape) == ((0, 2), (0,))
    with pytest.raises((TypeError, ValueError)):
        tree_dp.best_subtrees(np.zeros((1, 2), dtype=np.int64), nodes, parent)
    with pytest.raises((TypeError, ValueError)):
        tree_dp.best_subtrees(np.zeros((2, 4), order="F"), nodes, parent)
