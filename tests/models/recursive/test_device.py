"""RR models on a device: what is refused, what is reported, when it stops; the solver is tested in `gpu`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import linnaeus
from linnaeus import RRSVM, RRLogistic
from linnaeus.engine import GPUEngine, RayEngine
from linnaeus.errors import EngineError, ParameterError
from tests.contracts.configurations import documents, taxonomy

TAX = taxonomy()
X, Y = documents(TAX)
CPU = GPUEngine("cpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "colours"}, "schedule='colours' has no solver on a GPU"),
    ],
)
def test_what_a_device_does_not_do_is_refused(settings, message) -> None:
    with pytest.raises(ParameterError, match=message):
        RRSVM(TAX, engine=CPU, **settings).fit(X, Y)


def test_a_cluster_is_for_flat_models() -> None:
    pytest.importorskip("ray")
    with pytest.raises(ParameterError, match="trains flat models; RRSVM needs one GPU here"):
        RRSVM(TAX, engine=GPUEngine("cpu", cluster=RayEngine(1))).fit(X, Y)


def test_memory_that_is_too_small_says_what_would_fit() -> None:
    with pytest.raises(EngineError, match=r"dual variables .* are free; about \d+ labels would fit"):
        RRLogistic(TAX, engine=GPUEngine("cpu", memory="50kB")).fit(X, Y)


def test_the_forecast_is_printed(capsys) -> None:
    RRSVM(TAX, engine=CPU, verbose=1).fit(X, Y)
    assert "needed: documents" in capsys.readouterr().err


def test_a_limit_is_told_and_the_gap_is_what_it_is() -> None:
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2 with a gap of"):
        model = RRSVM(TAX, tol=1e-6, max_iter=2, engine=CPU).fit(X, Y)
    assert model.n_iter_ == 2
    optimum = RRSVM(TAX, tol=1e-5, max_iter=2000).fit(X, Y).objective_
    assert model.duality_gap_ >= model.objective_ - optimum > 0
    with pytest.warns(ConvergenceWarning, match="max_time"):
        short = RRSVM(TAX, tol=1e-7, max_iter=10**6, max_time=0.01, engine=CPU).fit(X, Y)
    assert short.time_limit_reached_


def test_a_saved_model_is_the_same(tmp_path) -> None:
    model = RRLogistic(TAX, engine=CPU).fit(X, Y)
    linnaeus.save(model, tmp_path / "model")
    loaded = linnaeus.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.weights_, model.weights_)
    assert loaded.predict(X) == model.predict(X)


def test_one_plain_label_each_gives_columns_in_the_order_of_labels() -> None:
    plain = [labels[0] for labels in Y]
    here, there = (RRSVM(TAX, tol=1e-3, engine=engine).fit(X, plain) for engine in (None, CPU))
    np.testing.assert_array_equal(here.nodes_, there.nodes_)
    assert (here.predict(X) == there.predict(X)).mean() > 0.95


def test_a_fit_that_a_limit_stopped_is_continued_from_its_checkpoint(tmp_path) -> None:
    settings = {"tol": 1e-3, "engine": CPU}
    with pytest.warns(ConvergenceWarning, match="max_time"):
        RRSVM(TAX, checkpoint=tmp_path / "kept", max_time=0.01, **settings).fit(X, Y)
    continued = RRSVM(TAX, checkpoint=tmp_path / "kept", **settings).fit(X, Y)
    whole = RRSVM(TAX, **settings).fit(X, Y)
    assert continued.objective_ == pytest.approx(whole.objective_, rel=2e-3)
    again = RRSVM(TAX, checkpoint=tmp_path / "kept", **settings).fit(X, Y)  # finished: two rounds measure it
    assert again.n_iter_ <= continued.n_iter_ + 2
    assert again.duality_gap_ <= 1.1e-3 * again.objective_


@pytest.mark.parametrize("kind", [RRSVM, RRLogistic])
def test_a_warm_start_takes_fewer_rounds_to_the_same_solution(kind) -> None:
    settings = {"tol": 1e-3, "engine": CPU}
    warm = kind(TAX, warm_start=True, **settings).fit(X, Y)
    cold = kind(TAX, C=1.2, **settings).fit(X, Y)
    warm.set_params(C=1.2).fit(X, Y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=0.2)
    warm.forget_documents()
    assert warm.fit(X, Y).n_iter_ == cold.n_iter_
    shorter = warm.fit(X[:-5], Y[:-5])  # other documents: begins from the start
    assert shorter.duality_gap_ <= 1.1e-3 * shorter.objective_
