"""Blocks for an engine: sized to the memory, pruned where they were solved, held from task to task."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linnaeus
from linnaeus import OneVsRestSVM
from linnaeus.engine import GPUEngine
from linnaeus.errors import EngineError
from linnaeus.models.gpu.flat import DeviceTraining, device_block_size, forecast
from tests.models.gpu.worked import CPU, problem

TAX, X, Y = problem()


def test_blocks_are_as_wide_as_memory_allows() -> None:
    documents, label = forecast(X, 1, 2**40, "squared_hinge").values()
    for wanted in (1, 3, 12):
        engine = GPUEngine("cpu", memory=2 * documents + wanted * label)
        width = device_block_size(X, engine, 12, "squared_hinge")
        assert wanted <= width <= wanted + documents // label + 1
    assert device_block_size(X, CPU, 12, "logistic") == 12
    assert device_block_size(X, GPUEngine("cpu", columns=5), 12, "logistic") == 5


def test_memory_that_is_too_small_says_what_would_fit() -> None:
    with pytest.raises(EngineError, match=r"a label .* are free; about \d+ documents would fit"):
        OneVsRestSVM(TAX, engine=GPUEngine("cpu", memory="4kB")).fit(X, Y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_pruned_weights_are_those_of_the_processor(fit_intercept) -> None:
    settings = {"taxonomy": TAX, "fit_intercept": fit_intercept, "engine": CPU}
    whole = OneVsRestSVM(**settings).fit(X, Y)
    pruned = OneVsRestSVM(**settings, prune_below=0.2).fit(X, Y)
    wanted = np.where(np.abs(whole.weights_) < 0.2, 0, whole.weights_)
    np.testing.assert_array_equal(pruned.weights_.toarray(), wanted)
    assert pruned.weights_.nnz == np.count_nonzero(wanted) < whole.weights_.size
    np.testing.assert_array_equal(pruned.intercept_, whole.intercept_)


def test_another_process_holds_the_documents_from_task_to_task_and_lets_go_of_the_fit_before() -> None:
    def sent(training: DeviceTraining) -> DeviceTraining:
        return pickle.loads(pickle.dumps(training))

    one, other = (DeviceTraining(X, np.ones(80), "logistic", 0.0, 0.1, 10, CPU, 4) for _ in range(2))
    assert sent(one).held is sent(one).held
    before = sent(one).held
    assert sent(other).held is not before
    assert sent(one).held is not before
    assert sent(one).held is not one.held


def test_a_time_limit_and_a_checkpoint(tmp_path) -> None:
    settings = {"taxonomy": TAX, "engine": GPUEngine("cpu", columns=4), "checkpoint": tmp_path / "kept"}
    first = OneVsRestSVM(**settings, max_time=60).fit(X, Y)
    again = OneVsRestSVM(**settings).fit(X, Y)
    np.testing.assert_array_equal(first.weights_, again.weights_)


@pytest.mark.parametrize("engine", ["serial", CPU])
def test_a_saved_model_answers_without_a_device(tmp_path, engine) -> None:
    model = OneVsRestSVM(TAX, engine=engine).fit(X, Y)
    linnaeus.save(model, tmp_path / "model")
    loaded = linnaeus.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X), rtol=1e-5, atol=1e-5)
    assert loaded.predict(X) == model.predict(X)
