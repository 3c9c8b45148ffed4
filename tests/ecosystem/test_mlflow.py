"""A logged model is the model folder and a loader; what is loaded answers like the model."""

from __future__ import annotations

import sys

import pytest

from linnaeus import OneVsRestSVM, Pipeline
from linnaeus.errors import LinnaeusError
from linnaeus.features import TextFeatures
from linnaeus.mlflow import PyfuncModel, _load_pyfunc, save_model


@pytest.fixture
def pipe() -> Pipeline:
    texts = ["cats purr", "dogs bark", "cats and dogs"]
    return Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(texts, [["cat"], ["dog"], ["cat", "dog"]])


def test_a_saved_model_answers_like_the_model(pipe, tmp_path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs the extra mlflow")
    save_model(pipe, tmp_path / "logged")
    assert not list((tmp_path / "logged").rglob("*.pkl"))
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "logged"))
    rows = loaded.predict(["cats purr", "dogs bark"])
    assert [row["labels"] for row in rows] == pipe.predict(["cats purr", "dogs bark"])


def test_the_loader_reads_a_model_folder_and_takes_frames(pipe, tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    import linnaeus

    linnaeus.save(pipe, tmp_path / "model")
    loaded = _load_pyfunc(str(tmp_path / "model"))
    rows = loaded.predict(pd.DataFrame({"text": ["cats purr", "cats and dogs"]}), params={"top": 1})
    assert [row["labels"] for row in rows] == [["cat"], ["cat", "dog"]]
    assert rows[0]["top"] == ["cat"]
    assert isinstance(loaded, PyfuncModel)


def test_without_mlflow_the_error_says_what_to_install(pipe, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(LinnaeusError, match=r"linnaeus\[mlflow\]"):
        save_model(pipe, tmp_path / "logged")
