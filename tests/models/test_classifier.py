"""A fitted model and a pipeline around it keep the same contract."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import OneVsRestSVM, Pipeline, Taxonomy, calibrate
from linnaeus.models.classifier import Classifier

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BB"]])
X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.array(["AA", "AB", "BB"])[X.argmax(axis=1)]
MEMBERS = sorted(name for name in vars(Classifier) if not name.startswith("_"))


@pytest.fixture(params=["model", "pipeline"])
def fitted(request) -> Classifier:
    model = OneVsRestSVM(TAX, random_state=0)
    return (model if request.param == "model" else Pipeline(model)).fit(X, Y)


def test_everything_of_the_protocol_exists_once_calibrated(fitted: Classifier) -> None:
    calibrate(fitted, X, Y, cv=None)
    assert not [name for name in MEMBERS if not hasattr(fitted, name)]
    assert fitted.calibrator_ is not None
    assert fitted.risk_control_ is not None


def test_a_pipeline_answers_what_its_model_knows(fitted: Classifier) -> None:
    model = fitted.estimator
    assert type(model) is OneVsRestSVM
    assert model.estimator is model
    assert fitted.taxonomy_ == TAX
    assert fitted.nodes_ is model.nodes_
    assert (fitted.closed_, fitted.nested_, fitted.single_label) == (False, False, True)
    assert fitted.label_nodes.tolist() == model.nodes_.tolist()
    assert fitted.kept_ is None
    assert not fitted.conditional_scores
    assert np.array_equal(np.concatenate(list(fitted.score_blocks(X))), model.decision_function(X))


def test_the_default_decoder_is_the_one_that_answers(fitted: Classifier) -> None:
    default = fitted.default_decoder()
    assert default.single
    assert (fitted.answers(X) != fitted.answers(X, decoder=default)).nnz == 0


def test_a_pipeline_prefers_its_own_decoder() -> None:
    pipe = Pipeline(OneVsRestSVM(TAX, random_state=0), decoder="rcut,r=2").fit(X, Y)
    assert pipe.default_decoder().name == "rcut"
    assert pipe.estimator.default_decoder().name == "best_label"
