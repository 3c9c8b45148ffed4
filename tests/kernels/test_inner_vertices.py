"""Compiled inner vertices are at their optimum, links as determined as their twins say, for every instruction set."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from linnaeus._kernels import dispatch, inner_vertices
from linnaeus.models.bayes.stages import determined_shares
from linnaeus.models.label_tree import LabelTree

NAMES = ["inner_vertices", *(f"inner_vertices{suffix}" for suffix in dispatch.levels())]


def tree(n: int, seed: int) -> LabelTree:
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(int(rng.integers(0, min(v, 8))) for v in range(1, n))])
    return LabelTree(parent, np.setdiff1d(np.arange(n), parent), np.arange(n))


def numbers(t: LabelTree) -> np.ndarray:
    row = np.empty(t.n_vertices, np.int64)
    row[t.inner], row[t.leaves] = np.arange(len(t.inner)), -1 - np.arange(t.n_leaves)
    return row


def settled(name, t, W, last, momentum, information, share, rho, part):
    kernel = importlib.import_module(f"{inner_vertices.__package__}.{name}")
    sums = np.zeros((4, t.n_vertices))
    where = (t.parent, numbers(t), rho, len(t.inner), part.start, part.stop)
    kernel.settle(W, last, momentum, information, share, *where, *sums)
    return sums


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [slice(0, 300), slice(7, 200), slice(130, 131)])
def test_between_leaves_that_stay_inner_vertices_and_lengths_equal_the_twin(name, dtype, part) -> None:
    t, rng = tree(40, seed=0), np.random.default_rng(1)
    W, rho = rng.normal(size=(40, 300)).astype(dtype), 10 ** rng.uniform(-8, 1, 40)
    expected = W.astype(np.float64)
    expected[:, part] = t.between(expected[:, part], rho[:, None])
    found, none = W.copy(), np.empty((0, 0), dtype)
    squares, _, unsure, _ = settled(name, t, found, W[t.inner], 0.0, none, 0.0, rho, part)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-10, atol=1e-7)
    np.testing.assert_array_equal(found[t.leaves], W[t.leaves])
    away = expected[:, part].copy()
    away[1:] -= expected[:, part][t.parent[1:]]
    np.testing.assert_allclose(squares, (away**2).sum(axis=1), rtol=1e-5)
    above = ((expected - W)[t.parent[t.leaves]][:, part] ** 2).sum(axis=1)
    np.testing.assert_allclose(unsure[t.leaves], above, rtol=1e-5, atol=1e-12)


def quadratic(seed: int):
    """Leaves drawn to targets by some information, and the joint optimum of all vertices, feature by feature."""
    t, rng = tree(40, seed=seed), np.random.default_rng(seed)
    rho, information = 10 ** rng.uniform(-2, 1, 40), rng.exponential(size=(t.n_leaves, 200))
    information[rng.random(information.shape) < 0.3] = 0
    target, optimum = rng.normal(size=information.shape), np.zeros((40, 200))
    for i in range(200):
        A = np.diag(np.eye(40)[0] * rho[0])
        A[t.leaves, t.leaves] += information[:, i]
        for v in range(1, 40):
            link = np.zeros(40)
            link[[v, t.parent[v]]] = 1, -1
            A += rho[v] * np.outer(link, link)
        pull = np.zeros(40)
        pull[t.leaves] = information[:, i] * target[:, i]
        optimum[:, i] = np.linalg.solve(A, pull)
    return t, rho, information, target, optimum


def objective(W, t, rho, information, target) -> float:
    away = W.copy()
    away[1:] -= W[t.parent[1:]]
    return 0.5 * float(rho @ (away**2).sum(axis=1)) + 0.5 * float((information * (W[t.leaves] - target) ** 2).sum())


@pytest.mark.parametrize("name", NAMES)
def test_leaves_that_follow_come_to_the_joint_optimum_in_one_step_and_the_gap_is_a_bound(name) -> None:
    t, rho, information, target, optimum = quadratic(0)
    W = np.random.default_rng(2).normal(size=(40, 200))
    r, above = rho[t.leaves, None], W[t.parent[t.leaves]]
    W[t.leaves] = (r * above + information * target) / (r + information)  # modes for their parents
    before = objective(W, t, rho, information, target) - objective(optimum, t, rho, information, target)
    gap = settled(name, t, W, W[t.inner], 0.0, information, 1.0, rho, slice(0, 200))[1].sum()
    assert before <= gap
    np.testing.assert_allclose(W, optimum, atol=1e-10)
    last = W[t.inner]
    assert settled(name, t, W, last, 0.5, information, 1.0, rho, slice(0, 200))[1].sum() < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_momentum_goes_beyond_the_optimum_of_the_step_before(name) -> None:
    t, rho, information, _, _ = quadratic(1)
    start = np.random.default_rng(3).normal(size=(40, 200))
    last = start[t.inner] + 1
    plain, beyond = start.copy(), start.copy()
    settled(name, t, plain, last.copy(), 0.0, information, 5.0, rho, slice(0, 200))
    settled(name, t, beyond, last.copy(), 0.5, information, 5.0, rho, slice(0, 200))
    np.testing.assert_allclose(beyond[t.inner], plain[t.inner] + 0.5 * (plain[t.inner] - last), atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_links_are_determined_as_their_twin_says(name, dtype) -> None:
    t, rho, information, _, _ = quadratic(2)
    information = information.astype(dtype)
    kernel = importlib.import_module(f"{inner_vertices.__package__}.{name}")
    determined, bend = np.zeros((2, 40))
    kernel.links(information, t.parent, numbers(t), rho, len(t.inner), 5, 190, determined, bend)
    share = determined_shares(t, np.concatenate([[1.0], rho[1:]])[:, None], information.astype(np.float64))[:, 5:190]
    np.testing.assert_allclose(determined, share.sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(bend, (share * (1 - share)).sum(axis=1), atol=1e-5)
