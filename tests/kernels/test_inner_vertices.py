"""Compiled inner vertices are where `LabelTree.between` puts them, for every instruction set."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from linnaeus._kernels import dispatch, inner_vertices
from linnaeus.models.label_tree import LabelTree

NAMES = ["inner_vertices", *(f"inner_vertices{suffix}" for suffix in dispatch.levels())]


def tree(n: int, seed: int) -> LabelTree:
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(int(rng.integers(0, min(v, 8))) for v in range(1, n))])
    return LabelTree(parent, np.setdiff1d(np.arange(n), parent), np.arange(n))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [slice(0, 300), slice(7, 200), slice(130, 131)])
def test_inner_vertices_and_lengths_equal_the_twin(name, dtype, part) -> None:
    kernel, t = importlib.import_module(f"{inner_vertices.__package__}.{name}"), tree(40, seed=0)
    rng = np.random.default_rng(1)
    W, rho = rng.normal(size=(40, 300)).astype(dtype), 10 ** rng.uniform(-8, 1, 40)
    row = np.full(40, -1)
    row[t.inner] = np.arange(len(t.inner))
    expected = W.astype(np.float64)
    expected[:, part] = t.between(expected[:, part], rho[:, None])
    found, squares, moved = W.copy(), np.zeros(40), np.zeros(40)
    kernel.settle(found, t.parent, row, rho, len(t.inner), part.start, part.stop, squares, moved)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-10, atol=1e-7)
    np.testing.assert_array_equal(found[t.leaves], W[t.leaves])
    away = expected[:, part].copy()
    away[1:] -= expected[:, part][t.parent[1:]]
    np.testing.assert_allclose(squares, (away**2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(moved, ((expected - W)[:, part] ** 2).sum(axis=1), rtol=1e-5, atol=1e-12)
