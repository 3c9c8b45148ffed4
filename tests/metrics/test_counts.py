from __future__ import annotations

import numpy as np
from scipy import sparse

from linnaeus.metrics.counts import Counts, by_document, by_node, count

Y = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]], dtype=np.int8))
H = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=np.int8))


def test_sizes_per_document_and_per_node():
    documents, nodes = count(Y, H)
    assert [side.tolist() for side in (documents.common, documents.gold, documents.predicted)] == [
        [1, 0, 0],
        [2, 0, 1],
        [2, 0, 0],
    ]
    assert [side.tolist() for side in (nodes.common, nodes.gold, nodes.predicted)] == [[1, 0, 0], [1, 1, 1], [1, 0, 1]]
    assert by_document(Y, H).common.tolist() == documents.common.tolist()
    assert by_node(Y, H).gold.tolist() == nodes.gold.tolist()


def test_sums_do_not_overflow_small_integers():
    many = sparse.csr_array(np.ones((300, 300), dtype=np.int8))
    assert count(many, many)[0].common.tolist() == [300.0] * 300
    assert count(many, many)[1].common.tolist() == [300.0] * 300


def test_undefined_ratios():
    counts = Counts(np.zeros(3), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    assert counts.precision().tolist() == [1, 0, 0]
    assert counts.recall().tolist() == [1, 0, 0]
    assert counts.f1().tolist() == [1, 0, 0]
    assert counts.precision(0.5).tolist() == [0.5, 0.5, 0]


def test_weights_replace_sizes():
    weighted = by_document(Y, H, np.array([0.5, 10.0, 2.0]))
    assert weighted.common.tolist() == [0.5, 0, 0]
    assert weighted.gold.tolist() == [10.5, 0, 2]
    assert weighted.predicted.tolist() == [2.5, 0, 0]
