"""HBLR's leaves on a device: the posterior of blocks of leaves on the processor, to a few digits."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import HBLR
from linnaeus.engine import Clock, GPUEngine
from linnaeus.errors import EngineError, ParameterError
from linnaeus.models.bayes import hblr
from linnaeus.models.bayes.hblr import OnDevice
from linnaeus.models.label_tree import LabelTree
from tests.contracts.configurations import documents, taxonomy

TAX = taxonomy()
X, Y = documents(TAX)
SETTINGS = {"likelihood": "binary", "tol": 1e-3, "max_iter": 200}


@pytest.mark.parametrize("covariance", ["diagonal", "tree"])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False, "learn_precisions": False}, {"flat": True}])
def test_weights_and_deviations_are_those_of_the_processor(settings, covariance) -> None:
    settings = {**SETTINGS, **settings, "covariance": covariance}
    settings["tol"] = 1e-4 if covariance == "tree" else 1e-3  # a gap, of which weights are the square root away
    here = HBLR(TAX, schedule="leaves", **settings).fit(X, Y)
    there = HBLR(TAX, engine=GPUEngine("cpu", columns=5), **settings).fit(X, Y)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-3)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.05)
    np.testing.assert_allclose(there.std_, here.std_, rtol=0.02)


def test_weights_stay_where_they_are_when_precisions_change(monkeypatch) -> None:
    """Dual variables alone would divide the weights by the factor between the precisions before every step."""
    labels = TAX.indicator(Y)
    labels = labels[:, np.flatnonzero(labels.sum(axis=0))[:2]].tocsc()
    tree = LabelTree(np.array([-1, 0, 0]), np.array([1, 2]), np.arange(3))
    stage = OnDevice(X, labels, np.ones(X.shape[0]), tree, GPUEngine("cpu"), joint=True)
    for _ in range(8):
        settled = stage(np.full((3, 1), 2.0), 1e-6, Clock(None)).weights[1:].copy()
    monkeypatch.setattr(hblr, "_MODE_STEPS", 0)
    moved = stage(np.full((3, 1), 6.0), 1e-6, Clock(None)).weights[1:]
    np.testing.assert_allclose(moved, settled, atol=0.01)  # their parent still moves a little


def test_documents_have_weights() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2, X.shape[0])
    settings = {"covariance": "diagonal", **SETTINGS}
    here = HBLR(TAX, schedule="leaves", **settings).fit(X, Y, sample_weight=weights)
    there = HBLR(TAX, engine=GPUEngine("cpu"), **settings).fit(X.toarray(), Y, sample_weight=weights)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-3)


@pytest.mark.parametrize("settings", [{"covariance": "full"}, {"schedule": "together"}])
def test_what_a_device_does_not_do_is_refused(settings) -> None:
    with pytest.raises(ParameterError, match="engine='gpu' moves blocks of leaves"):
        HBLR(TAX, engine=GPUEngine("cpu"), **SETTINGS, **settings).fit(X, Y)


def test_memory_that_is_too_small_says_what_would_fit() -> None:
    with pytest.raises(EngineError, match=r"are free; about \d+ labels would fit"):
        HBLR(TAX, engine=GPUEngine("cpu", memory="10kB"), **SETTINGS).fit(X, Y)
