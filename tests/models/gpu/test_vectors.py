"""The passes of conjugate gradients over memory do what their formulas say."""

from __future__ import annotations

import torch

from linnaeus.models.gpu import newton


def test_steps_of_conjugate_gradients() -> None:
    random = torch.Generator().manual_seed(0)
    r, xr, d, p, xp, b, xb = (torch.randn((5, 3), generator=random) for _ in range(7))
    beta, t = (torch.tensor(x, dtype=torch.float64) for x in ([0.3, 1.0, -0.7], [0.5, 0.0, -2.0]))
    length = t.float()
    gamma, curvature = newton.curve(r, xr, d)
    torch.testing.assert_close(gamma, (r * xr).sum(0, dtype=torch.float64), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(curvature, (xr * (r + d * xr)).sum(0, dtype=torch.float64), rtol=1e-5, atol=1e-5)
    first = r.clone()
    for found, wanted in zip(newton.set_out(t, first, xr, d), (r, length * r, length * xr), strict=True):
        torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(first, r - length * (r + d * xr))
    way, image = r + beta.float() * p, xr + beta.float() * xp
    expected = way, image, b + length * way, xb + length * image, r - length * (way + d * image)
    newton.advance(beta, t, r, xr, d, p, xp, b, xb)
    for found, wanted in zip((p, xp, b, xb, r), expected, strict=True):
        torch.testing.assert_close(found, wanted)


def test_a_step_of_newtons_method() -> None:
    random = torch.Generator().manual_seed(1)
    b, xb, a, s = (torch.randn((5, 3), generator=random) for _ in range(4))
    t = torch.tensor([0.5, 0.0, -2.0], dtype=torch.float64)
    slope, bent = newton.along(b, xb, s)
    torch.testing.assert_close(slope, (b * s).sum(0, dtype=torch.float64), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(bent, (b * xb).sum(0, dtype=torch.float64), rtol=1e-5, atol=1e-5)
    expected = a + t.float() * b, s + t.float() * xb
    newton.accept(t, b, xb, a, s)
    for found, wanted in zip((a, s), expected, strict=True):
        torch.testing.assert_close(found, wanted)
