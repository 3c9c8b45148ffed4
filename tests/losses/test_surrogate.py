"""Losses agree with their derivatives, with their conjugates, and between NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.losses.surrogate import SURROGATES, Softmax

T = np.array([-30.0, -2.0, -0.3, 0.4, 0.9, 1.2, 5.0, 40.0])


@pytest.mark.parametrize("name", SURROGATES)
def test_slope_and_curvature_are_the_derivatives(name) -> None:
    loss, h = SURROGATES[name], 1e-6
    value, slope, curvature = loss.expand(T)
    np.testing.assert_allclose(slope, (loss.value(T + h) - loss.value(T - h)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(curvature, (loss.slope(T + h) - loss.slope(T - h)) / (2 * h), atol=1e-6)
    for part, one in zip((value, slope, curvature), (loss.value, loss.slope, loss.curvature), strict=True):
        np.testing.assert_array_equal(part, one(T))


@pytest.mark.parametrize("name", SURROGATES)
def test_the_conjugate_bounds_the_loss_and_touches_it_at_minus_the_slope(name) -> None:
    loss, a = SURROGATES[name], np.linspace(0, 1, 11)
    assert (loss.value(T)[:, None] - loss.conjugate(a) + a * T[:, None] >= -1e-12).all()
    value, slope, _ = loss.expand(T)
    np.testing.assert_allclose(loss.conjugate(-slope) + slope * T, value, atol=1e-9)


@pytest.mark.parametrize("name", SURROGATES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_torch_computes_the_same(name, dtype) -> None:
    torch = pytest.importorskip("torch")
    loss, t = SURROGATES[name], T.astype(dtype)
    here, there = loss.expand(t), loss.expand(torch.as_tensor(t), torch)
    for one, other in zip((*here, loss.conjugate(-here[1])), (*there, loss.conjugate(-there[1], torch)), strict=True):
        assert one.dtype == dtype
        assert other.numpy().dtype == dtype
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-6, atol=1e-12)


def test_the_logistic_loss_does_not_overflow() -> None:
    with np.errstate(all="raise", under="ignore"):
        value, slope, curvature = SURROGATES["logistic"].expand(np.array([-1e5, 1e5]))
    assert value.tolist() == [1e5, 0.0]
    assert slope.tolist() == [-1.0, 0.0]
    assert curvature.max() < 1e-30


def test_softmax_is_the_logistic_loss_where_there_are_two_classes() -> None:
    S = np.stack([T, np.zeros_like(T)], axis=1)
    np.testing.assert_allclose(Softmax().value(S, np.zeros(len(T), int)), SURROGATES["logistic"].value(T), atol=1e-12)
    norm, P = Softmax().expand(S)
    np.testing.assert_allclose(norm, Softmax().log_norm(S))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    Q = np.stack([np.ones_like(T), np.zeros_like(T)], axis=1)
    np.testing.assert_allclose(Softmax().curve(P, Q)[:, 0], SURROGATES["logistic"].curvature(T), atol=1e-12)
    np.testing.assert_allclose(Softmax().conjugate(P), SURROGATES["logistic"].conjugate(P[:, 0]), atol=1e-12)
