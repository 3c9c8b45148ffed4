"""The Triton kernels against what they stand for; they need a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from linnaeus.models.gpu import newton
from linnaeus.models.gpu.columns import LeafShares, LossPairs
from linnaeus.models.gpu.documents import on_device, product, reference_product
from linnaeus.models.gpu.inner import Inner, inner_matrix
from linnaeus.models.gpu.recorded import Flag, Lanes, Recorder, Steps
from linnaeus.models.recursive.network import in_order, links_of, make_network, reduce_links
from tests.models.gpu.worked import tree

if not torch.cuda.is_available():  # nor Triton, maybe
    pytest.skip("no GPU here", allow_module_level=True)

from linnaeus.models.gpu import triton_kernels

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


def test_scaled_products() -> None:
    X, W, scale = documents(), torch.randn((300, 130), device="cuda"), torch.rand(130, device="cuda")
    found = product(X, W, scale=scale)
    torch.testing.assert_close(found, reference_product(X, W) * scale, rtol=1e-4, atol=1e-4)
    A = torch.randn((900, 130), device="cuda")
    found = product(X.T, A, scale=scale.double())
    torch.testing.assert_close(found, reference_product(X.T, A) * scale, rtol=1e-4, atol=1e-3)


def test_vectors() -> None:
    there = [torch.randn((333, 130), device="cuda") for _ in range(9)]
    here = [x.cpu() for x in there]
    beta, t = (torch.rand(130, dtype=torch.float64) for _ in range(2))
    sums = []
    for arrays, share, length in ((here, beta, t), (there, beta.cuda(), t.cuda())):
        r, xr, d, p, xp, b, xb, a, s = arrays
        found = [*newton.curve(r, xr, d), newton.dots(a, s), *newton.along(b, xb, s)]
        first = r.clone()
        arrays += [first, *newton.set_out(length, first, xr, d)]
        newton.advance(share, length, r, xr, d, p, xp, b, xb)
        newton.accept(length, b, xb, a, s)
        sums.append(torch.stack(found).cpu())
    torch.testing.assert_close(sums[1], sums[0], rtol=1e-3, atol=1e-3)
    for one, other in zip(there, here, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_losses_and_residuals(loss) -> None:
    S, A, own, XB = (torch.randn((333, 130)) for _ in range(4))
    cost, t = torch.rand((333, 1)), torch.rand(130, dtype=torch.float64)
    rows, columns = torch.arange(0, 333, 7), torch.arange(0, 333, 7) % 130
    here = LossPairs(loss, cost, rows, columns, torch.rand(len(rows)))
    there = LossPairs(loss, *(x.cuda() for x in (here.cost, here.rows, here.columns, here.positive_cost)))
    found = (
        *there.residual(S.cuda(), A.cuda(), own.cuda()),
        there.value(S.cuda(), XB.cuda(), t.cuda()),
        there.value(S.cuda()),
    )
    wanted = *here.residual(S, A, own), here.value(S, XB, t), here.value(S)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)


def test_shares_and_corners() -> None:
    Q = torch.zeros((130, 40), dtype=torch.float64)
    Q[torch.arange(130), torch.arange(130) % 37] = 1  # vertices without leaves, leaves with one and two parents
    Q[::5, 39] = 0.25
    V, A, more = torch.randn((333, 40)), torch.randn((333, 130)), torch.randn((333, 130))
    here, there = LeafShares(Q), LeafShares(Q.cuda())
    torch.testing.assert_close(
        there.of_vertices(V.cuda(), more.cuda()).cpu(), here.of_vertices(V, more), rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(there.of_leaves(A.cuda()).cpu(), here.of_leaves(A), rtol=1e-4, atol=1e-4)
    M, rows, columns = torch.randn((70, 90)), torch.arange(0, 70, 2), torch.arange(3, 90, 4)
    found, on_card = M[rows[:, None], columns[None, :]].T, M.cuda()
    torch.testing.assert_close(triton_kernels.corner(on_card, rows.cuda(), columns.cuda()).cpu(), found)
    triton_kernels.add_to_corner(on_card, rows.cuda(), columns.cuda(), 2 * found.cuda().contiguous())
    M[rows[:, None], columns[None, :]] *= 3
    torch.testing.assert_close(on_card.cpu(), M)


@pytest.mark.parametrize("kind", ["tree", "dag", "graph"])
def test_solves_of_inner_vertices(kind) -> None:
    labels = np.array([v for v in range(tree(kind).n_nodes) if v != tree(kind).root and tree(kind).names[v] != "C"])
    links = in_order(reduce_links(links_of(tree(kind), labels, spawn="inner", root=1.0)))
    E, network = inner_matrix(links), make_network(links, np.float64)
    here, there = Inner(E, network, "cpu"), Inner(E, network, "cuda")
    q, h = torch.randn((E.shape[0], 1500)), torch.rand((E.shape[0], 1500))
    torch.testing.assert_close(there.solve_E(q.cuda().double()).cpu(), here.solve_E(q.double()))
    here.with_diagonal.factor(h.clone())
    there.with_diagonal.factor(h.cuda())
    torch.testing.assert_close(there.with_diagonal(q.cuda()).cpu(), here.with_diagonal(q), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fails", [False, True])
def test_recorded_pieces_repeat_what_they_did(fails) -> None:
    recorder, x, seen = Recorder("cuda"), torch.zeros(5, device="cuda"), Flag("cuda")

    def add() -> None:
        if fails:
            x.sum().item()  # the host waits, which cannot be recorded
        x.add_(1)
        seen.put(x.sum() > 12)

    recorder.ready = True
    (piece,) = recorder.record([add])
    assert recorder.enabled == (not fails)
    for n in range(1, 4):
        piece()
        assert bool(seen.sent()) == (5 * n > 12)
    assert x.tolist() == [3.0] * 5


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_sequences_side_by_side_end_like_one_after_the_other(n_lanes) -> None:
    lanes = Lanes("cuda", n_lanes)
    found = [torch.zeros(1000, device="cuda") for _ in range(7)]

    def sequence(number: int) -> Steps[None]:
        recorder, x, ends = lanes.recorder(number), found[number], Flag("cuda")
        made: list[torch.Tensor] = []

        def begin() -> None:
            made[:] = [torch.full_like(x, number + 1.0)]

        def end() -> None:
            x.add_(made[0] * 2)  # temporary memory of `begin`, which other lanes must not have used
            ends.put(x.sum() >= 3 * 2000 * (number + 1))

        begin_, end_ = recorder.record([begin, end])
        while True:
            begin_()
            end_()
            ended = ends.sent()
            yield
            if ended:
                return

    lanes.ready(True)
    lanes.run([sequence(number) for number in range(7)])
    assert [x.unique().tolist() for x in found] == [[6.0 * (number + 1)] for number in range(7)]


@pytest.mark.parametrize("k", [1, 5, 200])
def test_top(k) -> None:
    from linnaeus.models.gpu.triton_kernels import top_by_tiles

    X, n_columns = documents(50), 300
    W, intercept = torch.randn((X.n_columns, 384), device="cuda"), torch.randn(n_columns, device="cuda")
    columns, values = top_by_tiles(X, W, intercept, k)
    S = reference_product(X, W)[:, :n_columns] + intercept
    torch.testing.assert_close(values, torch.topk(S, k, dim=1).values, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.gather(S, 1, columns), values, rtol=1e-4, atol=1e-4)
