"""The passes of conjugate gradients over memory do what their formulas say."""

from __future__ import annotations

import pytest
import torch

from linnaeus.models.gpu import newton


@pytest.mark.parametrize("per_column", [True, False])
def test_follow_and_turn(per_column) -> None:
    random = torch.Generator().manual_seed(0)
    p, xp, d, b, xb, r, xr = (torch.randn((5, 3), generator=random) for _ in range(7))
    t = torch.tensor([0.5, 0.0, -2.0], dtype=torch.float64) if per_column else torch.tensor(0.5, dtype=torch.float64)
    wanted = b + t.float() * p, xb + t.float() * xp, r - t.float() * (p + d * xp)
    newton.follow(t, p, xp, d, b, xb, r)
    for found, other in zip((b, xb, r), wanted, strict=True):
        torch.testing.assert_close(found, other)
    way, image = r + t.float() * p, xr + t.float() * xp
    bent = newton.turn(t, r, xr, d, p, xp)
    torch.testing.assert_close(p, way)
    torch.testing.assert_close(xp, image)
    torch.testing.assert_close(bent, (image * (way + d * image)).double().sum(0), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(newton.dots(p, r), (p * r).sum(0, dtype=torch.float64))
