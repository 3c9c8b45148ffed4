"""Flat models on a device: the objective of the processor, certified, whatever documents a block looks at."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from linnaeus import OneVsRestLogistic, OneVsRestSVM
from linnaeus.engine import GPUEngine
from linnaeus.models.gpu import columns, flat
from tests.models.gpu.worked import CPU, problem

TAX, X, Y = problem()
TIGHT = {"taxonomy": TAX, "tol": 1e-5, "max_iter": 2000, "random_state": 0}
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3, X.shape[0])


def close(one, other, rtol: float = 1e-4) -> None:
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=rtol)


@pytest.mark.parametrize("model", [OneVsRestSVM, OneVsRestLogistic])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"class_weight": "balanced"}, {"C": 20.0}])
def test_the_objective_is_that_of_the_processor(model, settings) -> None:
    here = model(**TIGHT, **settings).fit(X, Y)
    there = model(**TIGHT, **settings, engine=CPU).fit(X, Y)
    close(there, here)
    assert there.weights_.dtype == here.weights_.dtype
    assert there.weights_.shape == here.weights_.shape
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.05)


@pytest.mark.parametrize("model", [OneVsRestSVM, OneVsRestLogistic])
def test_weights_of_documents_and_dense_documents(model) -> None:
    here = model(**TIGHT).fit(X, Y, sample_weight=WEIGHTS)
    close(model(**TIGHT, engine=CPU).fit(X, Y, sample_weight=WEIGHTS), here)
    close(model(**TIGHT, engine=CPU).fit(X.toarray(), Y, sample_weight=WEIGHTS), here)


@pytest.mark.parametrize("model", [OneVsRestSVM, OneVsRestLogistic])
@pytest.mark.parametrize("tol", [0.3, 0.03])
def test_the_certified_gap_is_an_upper_bound(model, tol) -> None:
    optimum = model(**TIGHT).fit(X, Y).objective_
    loose = model(**{**TIGHT, "tol": tol}, engine=CPU).fit(X, Y)
    assert loose.duality_gap_ >= (loose.objective_ - optimum) * (1 - 1e-4) - 1e-5 * optimum
    assert loose.duality_gap_ <= 1.05 * tol * loose.objective_


def test_blocks_of_any_width_find_the_same() -> None:
    whole = OneVsRestSVM(**TIGHT, engine=CPU).fit(X, Y)
    close(OneVsRestSVM(**TIGHT, engine=GPUEngine("cpu", columns=3)).fit(X, Y), whole, 1e-5)


@pytest.mark.parametrize("near", [-0.9, 1e9])
def test_looking_at_few_documents_changes_nothing(near, monkeypatch) -> None:
    whole = OneVsRestSVM(**TIGHT, C=30.0, engine=CPU).fit(X, Y)
    monkeypatch.setattr(columns, "NEAR", near)
    close(OneVsRestSVM(**TIGHT, C=30.0, engine=GPUEngine("cpu", columns=1)).fit(X, Y), whole, 2e-5)


def test_some_documents_are_not_looked_at_and_those_that_the_margin_catches_join() -> None:
    positives = sparse.csc_array([[float("BB" in given)] for given in Y])
    training = flat.FlatTraining(X, np.full(X.shape[0], 0.1), loss="squared_hinge", bias=1.0, tol=1e-4, engine=CPU)
    training.near = torch.tensor([0, 1])
    block = flat.FlatBlock(training, positives, torch.ones(1))
    assert len(block.rows) <= 2 + positives.nnz
    block.solve(1e-4, 100)
    assert len(block.rows) > 2 + positives.nnz
    objective, gap = block.certificate()
    assert float(gap) <= 2e-4 * float(objective)


def test_what_other_documents_cost_is_part_of_the_gap(monkeypatch) -> None:
    positives = sparse.csc_array([[float("BB" in given)] for given in Y])
    training = flat.FlatTraining(X, np.ones(X.shape[0]), loss="squared_hinge", bias=1.0, tol=1e-4, engine=CPU)
    whole = flat.FlatBlock(training, positives, torch.ones(1))
    whole.solve(1e-6, 100)
    training.near = torch.tensor([0, 1])
    blind = flat.FlatBlock(training, positives, torch.ones(1))
    monkeypatch.setattr(flat, "caught", lambda *_: torch.zeros(0))
    blind.solve(1e-6, 100)
    objective, gap = blind.certificate()
    optimum = float(whole.certificate()[0])
    assert float(objective) > 1.01 * optimum
    assert float(gap) >= float(objective) - optimum


def test_bfloat16_is_accurate_to_what_is_stated() -> None:
    exact = OneVsRestSVM(**TIGHT, engine=CPU).fit(X, Y)
    rough = OneVsRestSVM(**{**TIGHT, "tol": 0.05}, engine=GPUEngine("cpu", storage="bfloat16")).fit(X, Y)
    assert rough.objective_ - exact.objective_ <= rough.duality_gap_ <= 0.0525 * rough.objective_
