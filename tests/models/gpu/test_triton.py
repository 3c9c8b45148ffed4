"""The Triton kernels against what they stand for; they need a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from linnaeus.models.gpu import newton
from linnaeus.models.gpu.documents import on_device, reference_product

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")  # nor Triton, maybe

RNG = np.random.default_rng(0)


def documents(n_docs: int = 900, n_features: int = 300):
    """A first feature that every document has: its row of the transpose is cut into pieces."""
    X = sparse.random_array((n_docs, n_features), density=0.05, rng=RNG, format="lil", dtype=np.float32)
    X[:, 0] = 1
    return on_device(sparse.csr_array(X), "cuda")


@pytest.mark.parametrize("n_columns", [1, 17, 128, 300])
@pytest.mark.parametrize("storage", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("exact", [True, False])
def test_products(n_columns, storage, exact) -> None:
    from linnaeus.models.gpu.triton_kernels import gathered_product

    X = documents()
    for A in (X, X.T):
        W = torch.randn((A.n_columns, n_columns), device="cuda").to(storage)
        found = gathered_product(A, W, exact=exact)
        torch.testing.assert_close(found, reference_product(A, W, exact=exact), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("per_column", [True, False])
def test_vectors(per_column) -> None:
    from linnaeus.models.gpu import triton_kernels

    there = [torch.randn((333, 130), device="cuda") for _ in range(7)]
    here = [x.cpu() for x in there]
    t = torch.rand(130, dtype=torch.float64) if per_column else torch.tensor(0.3, dtype=torch.float64)
    for module, (p, xp, d, b, xb, r, xr), length in ((newton, here, t), (triton_kernels, there, t.cuda())):
        sums = [module.dots(p, r), module.bend(p, xp, d)]
        module.follow(length, p, xp, d, b, xb, r)
        sums.append(module.turn(length, r, xr, d, p, xp))
        (here if module is newton else there).append(torch.stack(sums))
    for one, other in zip(there, here, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("k", [1, 5, 200])
def test_top(k) -> None:
    from linnaeus.models.gpu.triton_kernels import top_by_tiles

    X, n_columns = documents(50), 300
    W, intercept = torch.randn((X.n_columns, 384), device="cuda"), torch.randn(n_columns, device="cuda")
    columns, values = top_by_tiles(X, W, intercept, k)
    S = reference_product(X, W)[:, :n_columns] + intercept
    torch.testing.assert_close(values, torch.topk(S, k, dim=1).values, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.gather(S, 1, columns), values, rtol=1e-4, atol=1e-4)
