"""A GPU as an engine: what it says without one, what it refuses, and one task after the other."""

from __future__ import annotations

import builtins
import copy

import pytest
import torch

from linnaeus import HBLR, RRSVM, OneVsRestLogistic, OneVsRestSVM, TopDownSVM
from linnaeus.engine import GPUEngine, get_engine
from linnaeus.engine.gpu import gpu_if_any
from linnaeus.errors import EngineError, ParameterError
from tests.contracts.configurations import documents, taxonomy

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
TAX = taxonomy()
X, Y = documents(TAX)


@without_gpu
@pytest.mark.parametrize("model", [OneVsRestSVM, RRSVM])
def test_without_a_gpu_one_sentence_says_so(model) -> None:
    with pytest.raises(EngineError, match=r"^engine='gpu' found no GPU here; GPUEngine\(device='cpu'\) runs[^.]*\.$"):
        model(TAX, engine="gpu").fit(X, Y)
    assert gpu_if_any() is None


@without_gpu
def test_a_model_made_for_a_gpu_answers_without_one() -> None:
    model = OneVsRestSVM(TAX).fit(X, Y)
    before = model.predict(X)
    model.engine = "gpu"
    assert model.predict(X) == before


def test_without_pytorch_one_sentence_says_how_to_get_it(monkeypatch) -> None:
    found = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(EngineError, match=r"needs PyTorch, which is not installed: pip install 'linnaeus\[gpu\]'"):
        GPUEngine("cpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"storage": "bfloat"}, "did you mean 'bfloat16'"),
        ({"columns": 0}, "columns"),
        ({"memory": "much"}, "memory"),
        ({"device": "toaster"}, "device='toaster'"),
        ({"cluster": "ray"}, "expected a RayEngine"),
    ],
)
def test_wrong_settings_are_named(settings, message) -> None:
    with pytest.raises(ParameterError, match=message):
        GPUEngine(**{"device": "cpu", **settings})


@pytest.mark.parametrize(
    "model",
    [TopDownSVM(TAX), OneVsRestSVM(TAX, loss="hinge"), RRSVM(TAX, loss="hinge"), HBLR(TAX, model="M1")],
)
def test_what_has_no_solver_for_a_gpu_says_what_has(model) -> None:
    given = {"parents": "first"} if isinstance(model, HBLR) else {}
    with pytest.raises(
        ParameterError, match="no solver for this fit; it trains OneVsRestSVM, OneVsRestLogistic, RRSVM"
    ):
        model.set_params(engine=GPUEngine("cpu"), **given).fit(X, Y)


def test_get_engine() -> None:
    engine = GPUEngine("cpu")
    assert get_engine(engine, None, gpu=True) is engine
    assert copy.deepcopy(engine) is engine
    assert engine.n_workers == 1
    assert list(engine.map(lambda shared, task: shared + task, range(3), shared=10)) == [10, 11, 12]
    with pytest.raises(ParameterError, match="did you mean 'gpu'"):
        get_engine("gpus", None)


def test_memory_is_what_is_given_at_most() -> None:
    assert GPUEngine("cpu", memory="1kB").free_memory() == 1000
    assert 0 < GPUEngine("cpu", memory="1000TB").free_memory() < 10**15


def test_search_clones_share_the_device() -> None:
    from sklearn.base import clone

    engine = GPUEngine("cpu")
    assert clone(OneVsRestLogistic(TAX, engine=engine)).engine is engine
