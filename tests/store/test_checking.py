"""What does not fit is refused when a model is loaded, in one sentence, and never met by who asks the model."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import sparse

import linnaeus
from linnaeus import OneVsRestSVM, Pipeline, Taxonomy, registry
from linnaeus.errors import StoreError
from linnaeus.features import TextFeatures
from linnaeus.store import folder, tables
from linnaeus.store.folder import write_arrays
from linnaeus.store.tables import tables_of
from tests.contracts.configurations import CASES, fitted

TAX = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])


@pytest.fixture
def model(tmp_path):
    linnaeus.save(OneVsRestSVM(TAX, random_state=0).fit(np.eye(3), ["A", "AA", "B"]), tmp_path / "model")
    return tmp_path / "model"


def change(path, of_arrays=None, of_manifest=None, *, sign=True) -> None:
    """Change a model folder and sign it again, as somebody who knows how would."""
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    (name,) = manifest["files"]
    arrays = load_file(path / name)
    if of_arrays is not None:
        of_arrays(arrays)
        (path / name).unlink()
        digest, size = write_arrays(path / name, arrays)
        manifest["files"][name] = {"bytes": size, "sha256": digest if sign else "0" * 64}
    if of_manifest is not None:
        of_manifest(manifest)
    manifest["checksum"] = folder._checksum(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")


WEIGHTS, INTERCEPT, NODES = (f"model.learned.{name}_" for name in ("weights", "intercept", "nodes"))


@pytest.mark.parametrize(
    ("of_arrays", "message"),
    [
        (lambda a: a.update({WEIGHTS: a[WEIGHTS] * np.inf}), "weights_ holds (inf|nan|-inf); expected finite"),
        (lambda a: a.update({WEIGHTS: np.full_like(a[WEIGHTS], np.nan)}), "weights_ holds nan"),
        (lambda a: a.update({WEIGHTS: a[WEIGHTS].T[:2]}), r"shape \(2, 3\); expected \[features \(3\), labels \(3\)\]"),
        (lambda a: a.update({WEIGHTS: a[WEIGHTS].astype(np.int32)}), "array of int32; expected float"),
        (lambda a: a.update({INTERCEPT: a[INTERCEPT][:2]}), r"intercept_ has the shape \(2,\)"),
        (lambda a: a.update({NODES: a[NODES] + 9}), "nodes_ holds numbers outside 0 .. 3"),
        (lambda a: a.update({NODES: a[NODES] * 0}), "nodes_ holds a number twice"),
        (lambda a: a.pop(INTERCEPT), "intercept_"),
    ],
)
def test_arrays_that_do_not_fit_are_named(model, of_arrays, message) -> None:
    change(model, of_arrays)
    with pytest.raises(StoreError, match=message):
        linnaeus.load(model)


@pytest.mark.parametrize(
    ("of_manifest", "message"),
    [
        (lambda m: m["model"]["learned"]["$dict"].append(["predict_", 1]), "does not learn 'predict_'"),
        (lambda m: m["model"]["learned"]["$dict"].append(["_scores", 1]), "not the name of a learned value"),
        (lambda m: m["model"]["learned"]["$dict"].append([["a"], 1]), "expected a name"),
        (lambda m: m["model"]["learned"]["$dict"].append(["closed_", "yes"]), "closed_ is 'yes'"),
        (lambda m: m["model"]["parameters"]["$dict"].append(["C", "x"]), "C='x'; expected a number above 0"),
        (lambda m: m["model"]["learned"]["$dict"].pop(0), "missing|no taxonomy_"),
        (lambda m: m["model"].update({"learned": 3}), "does not fit"),
        (lambda m: m.update({"model": [[[]]]}), "expected a model"),
    ],
)
def test_values_of_another_type_are_named(model, of_manifest, message) -> None:
    change(model, of_manifest=of_manifest)
    with pytest.raises(StoreError, match=message):
        linnaeus.load(model)


def test_manifests_that_nest_deeply_or_hold_long_numbers_are_damaged(model) -> None:
    good = (model / "manifest.json").read_text("utf-8")
    for odd in ("[" * 100_000, "9" * 5000):
        (model / "manifest.json").write_text(good.replace('"model": ', f'"model": {odd}, "x": ', 1), "utf-8")
        with pytest.raises(StoreError, match="damaged"):
            linnaeus.load(model)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [3, 3], "data_offsets": [0, 10**9]},
        {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 36]},
        {"dtype": "F32", "shape": [-3, -3], "data_offsets": [0, 36]},
        {"dtype": "F32", "shape": [3, 3], "data_offsets": [36, 0]},
        {"dtype": "C64", "shape": [3, 3], "data_offsets": [0, 36]},
        {"dtype": "F32", "shape": 9, "data_offsets": [0, 36]},
        7,
    ],
)
def test_headers_that_lie_are_refused(model, entry) -> None:
    (name,) = json.loads((model / "manifest.json").read_text("utf-8"))["files"]
    content = (model / name).read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    text = json.dumps({**json.loads(content[8:end]), WEIGHTS: entry}).encode()
    content = len(text).to_bytes(8, "little") + text + content[end:]
    (model / name).write_bytes(content)
    signed = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest = json.loads((model / "manifest.json").read_text("utf-8"))
    manifest["files"][name] = signed
    manifest["checksum"] = folder._checksum(manifest)
    (model / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(StoreError, match="not a safetensors file"):
        linnaeus.load(model)


def test_sparse_weights_with_broken_rows_are_refused(tmp_path) -> None:
    made = OneVsRestSVM(TAX, random_state=0).fit(np.eye(3), ["A", "AA", "B"]).prune(0.1)
    assert sparse.issparse(made.weights_)
    for part, values in (("indices", [0, 1, 9999]), ("lengths", [255, 255, 255])):
        linnaeus.save(made, tmp_path / part)
        key = f"{WEIGHTS}.{part}"

        def broken(arrays, key=key, values=values) -> None:
            arrays[key] = np.resize(values, arrays[key].shape).astype(arrays[key].dtype)

        change(tmp_path / part, broken)
        with pytest.raises(StoreError, match="does not fit its arrays"):
            linnaeus.load(tmp_path / part)


def test_features_that_do_not_fit_the_model_are_refused(tmp_path) -> None:
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(["a cat", "a dog", "one cow"], ["c", "d", "c"])
    linnaeus.save(pipe, tmp_path / "model")

    def shorter(arrays) -> None:
        idf = next(key for key in arrays if key.endswith("idf0"))
        terms, ends = idf.replace("idf0", "terms0"), idf.replace("idf0", "offsets0")
        arrays[idf], arrays[ends] = arrays[idf][:-1], arrays[ends][:-1]
        arrays[terms] = arrays[terms][: arrays[ends][-1]]

    change(tmp_path / "model", shorter)
    with pytest.raises(StoreError, match="the features have 3 columns, but the model expects 4"):
        linnaeus.load(tmp_path / "model")


def test_large_models_are_verified_on_request(model, monkeypatch) -> None:
    def odd(arrays) -> None:
        arrays[WEIGHTS] = arrays[WEIGHTS].copy()
        arrays[WEIGHTS][0, 0] = np.inf

    change(model, odd, sign=False)
    with pytest.raises(StoreError, match="checksum"):
        linnaeus.load(model)
    monkeypatch.setattr(folder, "LARGE", 10)
    monkeypatch.setattr(tables, "LARGE", 10)
    with pytest.raises(StoreError, match="checksum"):
        linnaeus.load(model, verify=True)
    assert linnaeus.load(model).weights_.shape == (3, 3)
    change(model, lambda arrays: arrays.update({INTERCEPT: arrays[INTERCEPT][:1]}), sign=False)
    with pytest.raises(StoreError, match="intercept_ has the shape"):  # the structure is always checked
        linnaeus.load(model)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_everything_that_a_model_learns_is_declared(case) -> None:
    model = fitted(*CASES[case])
    names = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert names <= {line.name for line in tables_of(model)}


def test_every_class_that_can_be_saved_is_known_to_the_tables() -> None:
    kernels = {"HierarchicalRLS", "HM3", "HierarchicalSVM", "HierarchicalPerceptron", "Hieron"}
    assert {*registry.ALL_MODELS, "Mixture", "SuggestionModel"} == set(tables._MODELS) | kernels
