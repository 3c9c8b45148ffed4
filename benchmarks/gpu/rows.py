"""One function per row of the table: what was measured, as a dictionary."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu import synthetic

BLOCK = 1024


def best(function: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the quickest of some calls, after one that is not counted; the device is waited for."""
    import torch

    function()
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        function()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return min(found)


def products(device: str) -> list[dict[str, Any]]:
    """The two products at the size of DMOZ-2010, beside cuSPARSE."""
    import torch

    from linnaeus.models.gpu.documents import on_device, product

    made = synthetic.make(synthetic.DMOZ_2010, device)
    X = on_device(made.X, device)
    rows = []
    for name, A in (("forward", X), ("transposed", X.T)):
        W = torch.randn(A.n_columns, BLOCK, device=device)
        matrix = torch.sparse_csr_tensor(
            A.indptr.int(), A.indices, A.values, (A.n_rows, A.n_columns), check_invariants=False
        )
        nnz, half = int(A.indptr[-1]), W.bfloat16()
        row = {
            "row": f"product, {name}, {BLOCK} columns",
            "cuSPARSE ms": 1e3 * best(lambda m=matrix, w=W: m @ w),
            "ours ms": 1e3 * best(lambda a=A, w=W: product(a, w)),
            "ours bf16 ms": 1e3 * best(lambda a=A, w=half: product(a, w)),
            "GFlop": 2e-9 * nnz * BLOCK,
            "GB gathered": 4e-9 * nnz * BLOCK,
            "GB at least": 4e-9 * (A.n_rows + A.n_columns) * BLOCK + 8e-9 * nnz,
        }
        row["times cuSPARSE"] = row["cuSPARSE ms"] / row["ours ms"]
        exact = product(A, W, exact=True)
        scale = float(exact.abs().max())
        row["error"] = float((product(A, W) - exact).abs().max()) / scale
        row["error bf16"] = float((product(A, W.bfloat16()) - exact).abs().max()) / scale
        rows.append(row)
    return rows


def flat(device: str, problem: Any) -> list[dict[str, Any]]:
    """All labels of wordnet_nouns, one against the rest: the solver alone, then the estimator."""
    import torch

    from linnaeus import OneVsRestSVM
    from linnaeus.engine import GPUEngine
    from linnaeus.models.gpu.documents import product
    from linnaeus.models.gpu.flat import FlatBlock, FlatTraining

    X, Y = problem.X, problem.Y.tocsc()
    Y = Y[:, np.flatnonzero(np.diff(Y.indptr))]
    rows = []
    for storage, tol in (("float32", 0.1), ("float32", 0.1), ("float32", 1e-2), ("float32", 1e-3), ("bfloat16", 1e-2)):
        engine = GPUEngine(device, storage=storage)
        torch.cuda.synchronize()
        began = time.perf_counter()
        training = FlatTraining(X, np.ones(X.shape[0]), loss="squared_hinge", bias=0.0, tol=tol, engine=engine)
        at_zero = product(training.X.T, 2 * training.cost[:, None]).norm()
        worst, objective, n_products = torch.zeros((), device=device), 0.0, 0
        for first in range(0, Y.shape[1], BLOCK):
            part = Y[:, first : first + BLOCK]
            block = FlatBlock(training, part, torch.ones(part.shape[1], device=device))
            objective = objective + block.solve(tol, 100)[0].sum()
            n_products += block.n_products
            R = block.system.pairs.derivatives(block.S)[0]
            worst = torch.maximum(worst, product(block.X.T, block.A + R).norm(dim=0).max())
        torch.cuda.synchronize()
        rows.append(
            {
                "row": "one-vs-rest squared hinge, solver",
                "storage": storage,
                "tol (gap)": tol,
                "s": time.perf_counter() - began,
                "largest relative gradient": float(worst / at_zero),
                "objective": float(objective),
                "pairs of products per block": n_products / (-(-Y.shape[1] // BLOCK)),
            }
        )
    for options in ({"engine": "gpu"}, {"engine": "gpu"}, {"n_jobs": -1}):
        began = time.perf_counter()
        model = OneVsRestSVM(problem.taxonomy, fit_intercept=False, tol=1e-3, random_state=0, **options)
        model.fit(X, problem.Y)
        rows.append(_fitted("OneVsRestSVM", options, model, began, problem))
    return rows


def joint(device: str, problem: Any) -> list[dict[str, Any]]:
    """RRSVM on wordnet_nouns to a certified gap of 1 %, on the device and on all cores beside it."""
    from linnaeus import RRSVM

    rows = []
    for options in ({"engine": "gpu"}, {"engine": "gpu"}, {"n_jobs": -1}):
        began = time.perf_counter()
        model = RRSVM(problem.taxonomy, fit_intercept=False, tol=1e-2, random_state=0, **options)
        model.fit(problem.X, problem.Y)
        rows.append(_fitted("RRSVM", options, model, began, problem))
    return rows


def _fitted(name: str, options: dict[str, Any], model: Any, began: float, problem: Any) -> dict[str, Any]:
    from benchmarks.accuracy.figures import label_f1

    seconds = time.perf_counter() - began
    answers, _ = model.top_nodes(problem.X_test, 1)
    gold = problem.Y_test.tocsr()
    right = np.asarray(gold[np.arange(gold.shape[0]).copy(), answers[:, 0].astype(np.int64).copy()]).ravel()
    from scipy import sparse

    n = gold.shape[0]
    predicted = sparse.csr_array((np.ones(n, np.int8), (np.arange(n), answers[:, 0])), shape=gold.shape)
    return {
        "row": name,
        "engine": "gpu" if "engine" in options else "all cores",
        "s": seconds,
        "objective": model.objective_,
        "gap": model.duality_gap_ / model.objective_,
        "rounds": model.n_iter_,
        "P@1": 100 * float(right.mean()),
        "macro-F1": 100 * float(label_f1(problem.Y_test, predicted, problem.label_nodes).mean()),
    }


def dmoz(device: str, losses: tuple[str, ...] = ("squared_hinge", "logistic")) -> list[dict[str, Any]]:
    """The joint problem at the size of DMOZ-2010 to a gap of 1 %."""
    import torch

    from linnaeus.engine import GPUEngine
    from linnaeus.models.gpu.joint import JointTraining

    size = synthetic.DMOZ_2010
    made = synthetic.make(size, device)
    order, network, E = synthetic.network(made, np.arange(size.n_leaves))
    Y = synthetic.positives(made, order)
    rows = []
    for loss in losses:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        ones = np.ones(size.n_docs), np.ones(size.n_leaves)
        training = JointTraining(
            made.X, Y, ones[0], network, E, loss=loss, bias=0.0, positive_weight=ones[1], engine=GPUEngine(device),
            n_lanes=2,
        )  # fmt: skip

        def go_on(
            objective: float, gap: float, began: float = began, training: Any = training, loss: str = loss
        ) -> bool:
            seconds = time.perf_counter() - began
            print(f"  {loss} {training.n_rounds} rounds {seconds:.1f} s, {objective:.6g}, gap {gap / objective:.4f}")
            return seconds < 80

        training.run(1e-2, 100, go_on)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
        objective, gap = training.certificate()
        used = [made.X.shape[0] if block.rows is None else len(block.rows) for block in training.blocks]
        rows.append(
            {
                "row": f"DMOZ-2010 size, {loss}",
                "s": seconds,
                "rounds": training.n_rounds,
                "objective": objective,
                "gap": gap / objective,
                "documents per block": float(np.mean(used)),
                "inner vertices": network.n_inner,
                "pairs of products per block": training.n_products / len(training.blocks),
                "GB at the peak": torch.cuda.max_memory_allocated() / 1e9,
            }
        )
        del training
    return rows


def lwiki(device: str, n_leaves: int = 512, width: int = 256) -> list[dict[str, Any]]:
    """Blocks of leaves at the size of the large Wikipedia set, all documents of it, and what all blocks would take."""
    import torch

    from linnaeus.engine import GPUEngine
    from linnaeus.models.gpu import joint as solver
    from linnaeus.models.gpu.newton import converge

    size = synthetic.LWIKI
    made = synthetic.make(size, device)
    first = size.n_leaves // 3
    order, network, E = synthetic.network(made, np.arange(first, first + n_leaves))
    Y = synthetic.positives(made, order)
    torch.cuda.empty_cache()
    training = solver.JointTraining(
        made.X, Y, np.ones(size.n_docs), network, E, loss="squared_hinge", bias=0.0,
        positive_weight=np.ones(n_leaves), engine=GPUEngine(device, columns=width), n_all=size.n_leaves,
    )  # fmt: skip
    training.run(1e-4, 3, lambda objective, gap: True)  # warm
    n_blocks = len(training.blocks)

    def timed(function: Callable[[], Any]) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        function()
        torch.cuda.synchronize()
        return (time.perf_counter() - began) / n_blocks

    visit = min(timed(lambda: training._round(hold=False)) for _ in range(3))
    held = timed(lambda: training._round(hold=True)) - visit
    measure, screen = timed(lambda: training._measure(training._pairs())), timed(training._join)
    regions = training.regions
    regions.begin()
    pass_ = timed(regions.evaluate)

    def newton_direction() -> None:
        regions.aim()
        converge(regions.follow, regions.turn, regions.close, solver._PRODUCTS)

    direction = timed(newton_direction) * n_blocks  # of all blocks together
    # Inner weights are sparse: vertices above few leaves have few words. Counted on this slice, exchanged both ways.
    training._round(hold=True)
    entries = float((training._held > solver._LOOSE).float().mean(1).sum()) * size.n_features / network.n_inner
    host = torch.empty(2**28, dtype=torch.float32, pin_memory=True)
    card = host.to(device)
    copy = 4 * 2**28 / timed(lambda: card.copy_(host, non_blocking=True)) / n_blocks
    n_inner, all_blocks = size.n_nodes - size.n_leaves, size.n_leaves / width
    q = torch.zeros((network.n_inner, 65_536), device=device)
    training.inner.with_diagonal.factor(q.clone())
    solve = best(lambda: training.inner.with_diagonal(q), 3) / q.numel()  # per vertex and feature
    exchange = 2 * 8 * entries * n_inner / copy
    inner_solve = 2 * solve * n_inner * entries  # factor and solve, on the entries that are there
    n_rounds = 38  # wordnet_nouns takes 28 to 38, DMOZ-2010 18
    # Every second round: what leaves hold, a measure, three steps of the regions with four passes over the pairs.
    each = all_blocks * (visit + (held + measure + 4 * pass_) / 2 + screen / 8) + 1.5 * direction
    each += exchange + inner_solve
    used = [len(block.rows) for block in training.blocks]
    return [
        {
            "row": "LWIKI size, slice",
            "leaves": n_leaves,
            "leaves of a block": width,
            "documents per block": float(np.mean(used)),
            "visit s per block": visit,
            "held s": held,
            "measure s": measure,
            "regions, pass s": pass_,
            "regions, direction s in all": direction,
            "all documents s": screen,
            "words per inner vertex": entries,
            "copy GB/s": copy / 1e9,
            "exchange s per round": exchange,
            "inner solve s per round": inner_solve,
            "s per round, all blocks": each,
            "rounds assumed": n_rounds,
            "hours": n_rounds * each / 3600,
            "GB at the peak": torch.cuda.max_memory_allocated() / 1e9,
        }
    ]


def predict(device: str, problem: Any) -> list[dict[str, Any]]:
    """The best five of 15,739 nodes of a million documents."""
    from scipy import sparse

    from linnaeus import OneVsRestSVM
    from linnaeus.engine import GPUEngine
    from linnaeus.models.gpu.documents import on_device
    from linnaeus.models.gpu.top import DeviceScorer

    model = OneVsRestSVM(problem.taxonomy, fit_intercept=False, tol=1e-2, engine="gpu").fit(problem.X, problem.Y)
    X = sparse.vstack([problem.X_test] * 61, format="csr")[:1_000_000]
    rows = []
    for storage in ("float32", "bfloat16"):
        scorer = DeviceScorer(model.weights_, None, model.intercept_, GPUEngine(device, storage=storage))
        there = on_device(X, device)
        whole, inside = (
            best(lambda s=scorer: s.top(X, 5), 3),
            best(lambda s=scorer, d=there: s.top_of(d, s._held, slice(0, s.n_nodes), 5), 3),
        )
        exact = model._linear_scorer().top(problem.X_test[:2000], 5)
        found = scorer.top(problem.X_test[:2000], 5)
        rows.append(
            {
                "row": "top 5 of a million documents",
                "storage": storage,
                "documents/s with transfers": len(X.indptr) / whole,
                "documents/s on the device": len(X.indptr) / inside,
                "same as on the processor": float((exact[0] == found[0]).mean()),
                "GFlop": 2e-9 * X.nnz * scorer.n_nodes,
                "GB gathered": (2e-9 if storage == "bfloat16" else 4e-9) * X.nnz * scorer.n_nodes,
            }
        )
    return rows
