"""Made-up documents obey the rule that makes their labels."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.data.corpora import overlapping, perfect_tree


@pytest.mark.parametrize(("fan_out", "depth", "n_leaves"), [(3, 3, 27), (6, 2, 36)])
def test_labels_are_leaves_fewer_than_the_root_of_all(fan_out, depth, n_leaves) -> None:
    X, labels, tax = overlapping(200, fan_out=fan_out, depth=depth, seed=0)
    assert X.shape == (200, 20)
    assert len(tax.leaves) == n_leaves
    assert {label for row in labels for label in row} <= set(tax.names[tax.leaves])
    assert all(1 <= len(row) <= 5 for row in labels)
    assert 2.2 < np.mean([len(row) for row in labels]) < 3.4  # about 2.8 on average over seeds


def test_labels_are_linear_in_the_features() -> None:
    from linnaeus import OneVsRestSVM

    X, labels, tax = overlapping(200, seed=1)
    model = OneVsRestSVM(tax, C=1e4, fit_intercept=False, random_state=0, max_iter=20_000).fit(X, labels)
    assert model.score(X, labels) == 1.0


def test_siblings_share_more_documents_than_strangers() -> None:
    together, apart = [], []
    for seed in range(5):
        _, labels, tax = overlapping(200, seed=seed)
        Y = tax.indicator(labels).toarray()[:, tax.leaves]
        common = Y.T.astype(int) @ Y
        parent = tax.parent[tax.leaves]
        same = (parent[:, None] == parent) & ~np.eye(len(parent), dtype=bool)
        together.append(common[same].mean())
        apart.append(common[parent[:, None] != parent].mean())
    assert np.mean(together) > 1.5 * np.mean(apart)


def test_the_same_seed_gives_the_same_documents() -> None:
    first, second = overlapping(20, seed=4), overlapping(20, seed=4)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1]
    assert first[2] == perfect_tree(3, 3)
