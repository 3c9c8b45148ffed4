from __future__ import annotations

import numpy as np
from scipy import sparse

from linnaeus.metrics.sets import Counts, added, by_document, by_node, count, joined

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


def test_totals_weigh_documents():
    counts = by_document(Y, H)
    assert counts.total().table().tolist() == [[1, 3, 2]]
    assert counts.total(np.array([1.0, 5.0, 2.0])).table().tolist() == [[1, 4, 2]]


def test_blocks_are_joined_by_document_and_added_by_node():
    parts = [count(Y[rows], H[rows]) for rows in (slice(0, 1), slice(1, 3))]
    whole = count(Y, H)
    assert joined([part[0] for part in parts]).table().tolist() == whole[0].table().tolist()
    assert added([part[1] for part in parts]).table().tolist() == whole[1].table().tolist()


def test_ratios_of_resampled_sums_of_any_shape():
    sums = np.array([[[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]]])
    assert Counts.of_table(sums).f1().tolist() == [[0.5, 1.0]]
    assert Counts.of_table(sums[0, 0]).f1() == 0.5
    assert Counts.of_table(sums[0, 1]).f1(0.25) == 0.25


def test_weights_replace_sizes():
    weighted = by_document(Y, H, np.array([0.5, 10.0, 2.0]))
    assert weighted.common.tolist() == [0.5, 0, 0]
    assert weighted.gold.tolist() == [10.5, 0, 2]
    assert weighted.predicted.tolist() == [2.5, 0, 0]
