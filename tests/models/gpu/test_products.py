"""Products of sparse documents and dense blocks, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from linnaeus.models.gpu.documents import on_device, product
from tests.models.gpu.worked import random_csr


@pytest.mark.parametrize("shape", [(1, 1), (5, 40), (60, 7)])
def test_both_products_are_those_of_scipy(shape) -> None:
    X, rng = random_csr(*shape), np.random.default_rng(3)
    A = on_device(X, "cpu")
    for matrix, reference in ((A, X), (A.T, X.T)):
        W = rng.standard_normal((reference.shape[1], 6)).astype(np.float32)
        found = product(matrix, torch.as_tensor(W))
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found, reference @ W, rtol=1e-5, atol=1e-6)


def test_exact_sums_lose_nothing_where_float32_does() -> None:
    from scipy import sparse

    X = sparse.csr_array(np.array([[1e8, 1.0, -1e8]], np.float32))
    W = torch.ones((3, 1))
    assert product(on_device(X, "cpu"), W, exact=True).tolist() == [[1.0]]
    assert product(on_device(X, "cpu"), W, exact=True).dtype == torch.float64


def test_bfloat16_operands_are_summed_in_float32() -> None:
    X = random_csr(30, 20)
    W = torch.randn((20, 5), generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    found = product(on_device(X, "cpu"), W)
    np.testing.assert_allclose(found, X @ W.float().numpy(), rtol=1e-5, atol=1e-6)
