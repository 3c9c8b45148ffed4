"""Packed families are the binary problems they stand for, each over its own documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

from linnaeus.models.topdown import local
from linnaeus.models.topdown.local import Family, LocalTraining, packs, solve_pack


def families(rng: np.random.Generator, n_docs: int, n_families: int) -> list[Family]:
    """Families of one to twenty columns over some of the documents, every column with both signs."""
    found, first = [], 0
    for _ in range(n_families):
        rows = np.sort(rng.choice(n_docs, size=rng.integers(4, n_docs + 1), replace=False))
        width = int(rng.choice([1, 2, 2, 3, 20]))
        positives = [
            np.sort(rng.choice(len(rows), size=rng.integers(1, len(rows)), replace=False)) for _ in range(width)
        ]
        found.append(Family(rows, np.arange(first, first + width), positives))
        first += width
    return found


def alone(X, family: Family, b: int, bias: float, loss: str, C: float) -> tuple[np.ndarray, float]:
    """Weights (the constant's last) and objective of one column, by LIBLINEAR."""
    rows = np.column_stack([X[family.rows], np.full(len(family.rows), bias)]).astype(float)
    y = -np.ones(len(rows))
    y[family.positives[b]] = 1
    w = LinearSVC(loss=loss, C=C, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(rows, y).coef_[0]
    z = np.maximum(0, 1 - y * (rows @ w))
    return w, 0.5 * w @ w + C * (z if loss == "hinge" else z**2).sum()


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@given(seed=st.integers(0, 10**6), bias=st.sampled_from([0.0, 1.0]))
@settings(max_examples=8)
def test_a_pack_is_the_sum_of_its_binary_problems(dense, loss, seed, bias) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 6)) * (rng.random((12, 6)) < 0.5)
    given_X = X if dense else sparse.csr_array(X)
    members = families(rng, 12, 4)
    training = LocalTraining(given_X, np.full(12, 0.7), loss, bias, 1e-8, 20000)
    found = [solve_pack(training, (pack, 0, 1.0)) for pack in packs(members, dense=dense)]
    n_columns = sum(len(family.columns) for family in members)
    W, intercept = np.zeros((6, n_columns)), np.zeros(n_columns)
    for part in found:
        np.add.at(W, (part.features, part.owners), part.values)
        intercept[part.columns] = part.intercept
    total = 0.0
    for family in members:
        for b, column in enumerate(family.columns):
            w, objective = alone(X, family, b, bias, loss, 0.7)
            total += objective
            np.testing.assert_allclose(W[:, column], w[:-1], atol=1e-2)
            assert intercept[column] == pytest.approx(w[-1] * bias, abs=1e-2)
    assert sum(part.objective for part in found) == pytest.approx(total, rel=1e-5)
    assert all(part.gap <= 1e-5 * part.objective for part in found)


def test_small_families_share_packs_and_large_ones_do_not(monkeypatch) -> None:
    monkeypatch.setattr(local, "_PACK_ROWS", 20)
    small = [Family(np.arange(6), np.array([2 * k, 2 * k + 1]), [np.arange(2), np.arange(3)]) for k in range(7)]
    large = Family(np.arange(50), np.array([98, 99]), [np.arange(2), np.arange(3)])
    found = packs([*small[:3], large, *small[3:]], dense=False)
    assert [len(pack.columns) for pack in found] == [4, 4]
    assert sorted(np.concatenate([pack.columns.ravel() for pack in found])) == [*range(14), 98, 99]
    assert all(len(pack.columns) == 1 for pack in packs(small, dense=True))


def test_wide_families_are_cut_into_panels() -> None:
    wide = Family(np.arange(3), np.arange(37), [np.array([0])] * 37)
    assert [pack.columns.shape for pack in packs([wide], dense=False)] == [(1, 5), (2, 16)]


def test_no_feature_that_does_not_occur_gets_a_weight() -> None:
    X = sparse.csr_array(np.eye(1000)[:6])
    family = Family(np.arange(2, 5), np.array([0]), [np.array([1])])
    (pack,) = packs([family], dense=False)
    found = solve_pack(LocalTraining(X, np.ones(6), "hinge", 1.0, 1e-3, 100), (pack, 0, 1.0))
    assert set(found.features) <= {2, 3, 4}
