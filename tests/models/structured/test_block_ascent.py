from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.engine import Clock, SerialEngine, ThreadEngine
from linnaeus.models.published.hm3_variants import ConditionalTree
from linnaeus.models.structured.block_ascent import BlockAscent, Certificate
from linnaeus.models.structured.documents import DenseDocuments
from linnaeus.models.structured.tree import TreeStructure


def solver(engine=None, kind=TreeStructure, dtype=np.float64, seed=0) -> BlockAscent:
    """Sixty documents of a tree of six nodes."""
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B"]])
    rng = np.random.default_rng(0)
    labels = [list(rng.choice(tax.names, size=2, replace=False)) for _ in range(60)]
    X = rng.normal(size=(60, 8)) + tax.close(tax.indicator(labels)).toarray() @ rng.normal(size=(tax.n_nodes, 8))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    structure = kind(tax, np.arange(tax.n_nodes), "super", consistent=False)
    Y = tax.close(tax.indicator(labels))
    blocks = structure.blocks(Y, np.ones(tax.n_nodes), "symmetric", np.ones(60))
    documents = DenseDocuments(X, structure.width, structure.columns, dtype)
    return structure.solver(documents, blocks, np.random.default_rng(seed), engine or SerialEngine(), batch=8)


def run(one: BlockAscent, tol: float, max_iter: int = 3000) -> bool:
    return one.run(tol, max_iter, Clock(None), lambda measure: None)


def test_the_gap_that_is_asked_for_is_reached_and_certified() -> None:
    one = solver()
    assert run(one, 1e-8)
    last = one.history[-1]
    assert 0 <= last.primal - last.dual <= 1e-8 * last.primal


def test_the_dual_never_falls_and_no_bound_is_crossed() -> None:
    one = solver()
    run(one, 1e-7)
    duals = [measure.dual for measure in one.history]
    assert np.all(np.diff(duals) >= -1e-9)
    assert max(duals) <= min(measure.primal for measure in one.history) + 1e-9


def test_orders_and_algorithms_lead_to_one_optimum() -> None:
    ways = [solver(), solver(seed=5), solver(kind=ConditionalTree)]
    run(ways[0], 1e-7)
    run(ways[1], 1e-7)
    run(ways[2], 2e-3)  # conditional gradient is slow near the end
    first = ways[0].history[-1]
    assert ways[1].history[-1].primal == pytest.approx(first.primal, rel=1e-6)
    assert ways[2].history[-1].dual <= first.primal
    assert ways[2].history[-1].primal >= first.dual


def test_threads_change_nothing() -> None:
    one, many = solver(), solver(ThreadEngine(3))
    run(one, 1e-4)
    run(many, 1e-4)
    np.testing.assert_array_equal(one.documents.W, many.documents.W)
    assert [m.primal for m in one.history] == [m.primal for m in many.history]


def test_limits_end_the_run_with_a_certificate() -> None:
    one = solver()
    assert not run(one, 1e-12, max_iter=2)
    assert one.passes == 2
    assert one.history[-1].gap > 1e-12
    late = solver()
    clock = Clock(1e-9)
    assert not late.run(1e-12, 100, clock, lambda measure: None)
    assert late.out_of_time
    assert len(late.history) == 1


def test_a_measure_has_a_relative_gap() -> None:
    assert Certificate(1, 0.0, 10.0, 9.0, 1.0).gap == pytest.approx(0.1)
