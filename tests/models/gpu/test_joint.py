"""The joint problem on a device: the objective of the processor on trees, DAGs and graphs, certified."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from linnaeus import RRSVM, RRLogistic, Taxonomy
from linnaeus.engine import GPUEngine
from linnaeus.models.gpu import columns, joint
from tests.models.gpu.worked import CPU, problem

TIGHT = {"tol": 1e-5, "max_iter": 2000, "random_state": 0}
PROBLEMS = {kind: problem(kind) for kind in ("tree", "dag", "graph")}
TAX, X, Y = PROBLEMS["tree"]


@pytest.mark.parametrize("model", [RRSVM, RRLogistic])
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_that_of_the_processor(model, kind, fit_intercept) -> None:
    tax, X, Y = PROBLEMS[kind]
    here = model(tax, fit_intercept=fit_intercept, **TIGHT).fit(X, Y)
    there = model(tax, fit_intercept=fit_intercept, **TIGHT, engine=CPU).fit(X, Y)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-4)
    np.testing.assert_array_equal(there.nodes_, here.nodes_)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.03)


@pytest.mark.parametrize("model", [RRSVM, RRLogistic])
def test_weights_of_documents_and_labels_and_dense_documents(model) -> None:
    weights = np.random.default_rng(0).uniform(0.2, 3, X.shape[0])
    here = model(TAX, class_weight="balanced", **TIGHT).fit(X, Y, sample_weight=weights)
    there = model(TAX, class_weight="balanced", **TIGHT, engine=CPU).fit(X.toarray(), Y, sample_weight=weights)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-4)


@pytest.mark.parametrize("model", [RRSVM, RRLogistic])
@pytest.mark.parametrize("tol", [0.3, 0.03])
def test_the_certified_gap_is_an_upper_bound(model, tol) -> None:
    optimum = model(TAX, **TIGHT).fit(X, Y).objective_
    loose = model(TAX, **{**TIGHT, "tol": tol}, engine=CPU).fit(X, Y)
    assert loose.duality_gap_ >= (loose.objective_ - optimum) * (1 - 1e-4) - 1e-5 * optimum
    assert loose.duality_gap_ <= 1.05 * tol * loose.objective_


@pytest.mark.parametrize("near", [-0.9, 1e9])
def test_looking_at_few_documents_changes_nothing(near, monkeypatch) -> None:
    whole = RRSVM(TAX, C=10.0, **{**TIGHT, "tol": 1e-4}, engine=CPU).fit(X, Y)
    monkeypatch.setattr(columns, "NEAR", near)
    found = RRSVM(TAX, C=10.0, **{**TIGHT, "tol": 1e-4}, engine=GPUEngine("cpu", columns=3)).fit(X, Y)
    np.testing.assert_allclose(found.objective_, whole.objective_, rtol=2e-4)


@pytest.mark.parametrize("edges", [[("A", "B")], [("A", "X"), ("B", "Z")]])
@pytest.mark.parametrize("model", [RRSVM, RRLogistic])
def test_labels_without_a_vertex_between_them(edges, model) -> None:
    tax, few = Taxonomy.from_edges(edges, kind="graph"), np.random.default_rng(0).random((12, 3))
    here, there = (model(tax, engine=e, **TIGHT).fit(few, ["A", "B"] * 6) for e in (None, CPU))
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-4)


def test_bfloat16_is_accurate_to_what_is_stated() -> None:
    exact = RRSVM(TAX, **TIGHT, engine=CPU).fit(X, Y)
    rough = RRSVM(TAX, tol=0.05, engine=GPUEngine("cpu", storage="bfloat16")).fit(X, Y)
    assert rough.objective_ - exact.objective_ <= rough.duality_gap_ <= 0.0525 * rough.objective_


@pytest.mark.parametrize("model", [RRSVM, RRLogistic])
def test_memory_of_the_device_is_free_after_a_fit(model, monkeypatch) -> None:
    run, seen = joint.JointTraining.run, []

    def watched(self, *rest):
        seen.extend(weakref.ref(x) for x in (self, self.regions, *self.blocks))
        return run(self, *rest)

    monkeypatch.setattr(joint.JointTraining, "run", watched)
    gc.disable()
    try:
        model(TAX, tol=1e-2, engine=CPU).fit(X, Y)
        assert seen
        assert not any(ref() for ref in seen)
    finally:
        gc.enable()
