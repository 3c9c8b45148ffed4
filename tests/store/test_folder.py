"""A model folder is the old model or the new one, never half of one, and bad folders get a clear error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import linnaeus
from linnaeus import OneVsRestSVM, Taxonomy
from linnaeus.errors import StoreError
from linnaeus.store import read_manifest
from linnaeus.store.folder import _checksum


def rewrite(folder, change) -> None:
    """Change a manifest and sign it again, as somebody who knows how would."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    change(content)
    content["checksum"] = _checksum(content)
    path.write_text(json.dumps(content))


def small_model(C: float = 1.0) -> OneVsRestSVM:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")], display_labels={"A": "first", "AA": "second"})
    X = np.eye(3)
    return OneVsRestSVM(taxonomy=tax, C=C, random_state=0).fit(X, ["A", "AA", "B"])


@pytest.fixture
def folder(tmp_path):
    linnaeus.save(small_model(), tmp_path / "model")
    return tmp_path / "model"


def test_display_labels_parameters_and_values_survive(folder) -> None:
    again, model = linnaeus.load(folder), small_model()
    assert again.taxonomy_.display("AA") == "second"
    assert again.get_params()["C"] == 1.0
    assert (again.objective_, again.duality_gap_, again.n_iter_) == (
        model.objective_,
        model.duality_gap_,
        model.n_iter_,
    )


def test_arrays_are_mapped_from_the_file_and_read_only(folder) -> None:
    weights = linnaeus.load(folder).weights_
    owner = weights
    while owner.base is not None and not isinstance(owner, np.memmap):
        owner = owner.base
    assert isinstance(owner, (np.memmap, memoryview)) or "mmap" in type(owner).__name__
    assert not weights.flags.writeable


def test_the_manifest_names_format_taxonomy_and_checksums(folder) -> None:
    manifest = read_manifest(folder)
    assert manifest["format_version"] == 3
    assert manifest["taxonomy"] == small_model().taxonomy_.fingerprint
    (entry,) = manifest["files"].values()
    assert len(entry["sha256"]) == 64


def test_saving_again_replaces_the_model_and_leaves_no_old_files(folder) -> None:
    linnaeus.save(small_model(C=5.0), folder)
    assert linnaeus.load(folder).C == 5.0
    assert len(list(folder.iterdir())) == 2


def arrays_file(folder):
    return next(folder.glob("*.safetensors"))


def test_a_truncated_file_is_named(folder) -> None:
    path = arrays_file(folder)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(StoreError, match="truncated"):
        linnaeus.load(folder)


def test_an_altered_file_is_named(folder) -> None:
    path = arrays_file(folder)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="checksum"):
        linnaeus.load(folder)


def test_an_edited_manifest_is_noticed(folder) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"C",\n     1.0', '"C",\n     2.0'))
    with pytest.raises(StoreError, match="altered"):
        linnaeus.load(folder)


def test_a_missing_file_is_named(folder) -> None:
    arrays_file(folder).unlink()
    with pytest.raises(StoreError, match="missing"):
        linnaeus.load(folder)


def test_foreign_and_damaged_folders_are_refused(folder, tmp_path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        linnaeus.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"no manifest\.json"):
        linnaeus.load(tmp_path / "empty")
    manifest = folder / "manifest.json"
    good = manifest.read_text()
    for change, message in (
        ({"format": "other"}, "not of a linnaeus model"),
        ({"format_version": 99}, "format version 99"),
        ({"taxonomy": "0" * 64}, "fingerprint"),
        ({"files": []}, "does not fit"),
        ({"model": {}}, "does not fit"),
        ({"model": {"$dict": [1]}}, "does not fit"),
        ({"model": {"$strange": 1}}, "unknown entry"),
    ):
        manifest.write_text(good)
        rewrite(folder, lambda content, change=change: content.update(change))
        with pytest.raises(StoreError, match=message):
            linnaeus.load(folder)
    manifest.write_text("{" + manifest.read_text()[:50])
    with pytest.raises(StoreError, match="damaged"):
        linnaeus.load(folder)


def test_a_manifest_cannot_name_a_class_that_is_not_registered(folder) -> None:
    rewrite(folder, lambda content: content["model"].update({"$object": "os.system"}))
    with pytest.raises(StoreError, match="does not know"):
        linnaeus.load(folder)


def test_other_peoples_folders_are_not_overwritten(tmp_path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(StoreError, match="precious"):
        linnaeus.save(small_model(), tmp_path)
    assert (tmp_path / "precious.txt").read_text() == "mine"
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "an app of another kind"}')
    with pytest.raises(StoreError, match="not a model"):
        linnaeus.save(small_model(), tmp_path / "web")


def test_only_models_and_pipelines_are_saved(tmp_path) -> None:
    from sklearn.pipeline import make_pipeline

    for thing in ({"a": 1}, make_pipeline(small_model())):
        with pytest.raises(StoreError, match="not a linnaeus model"):
            linnaeus.save(thing, tmp_path / "thing")
    assert not (tmp_path / "thing").exists()


def test_pruned_weights_are_stored_sparse_and_score_the_same(tmp_path) -> None:
    model = small_model()
    model.prune(float(np.abs(model.weights_).mean()))
    linnaeus.save(model, tmp_path / "pruned")
    again = linnaeus.load(tmp_path / "pruned")
    assert again.weights_.nnz < 9
    np.testing.assert_array_equal(model.decision_function(np.eye(3)), again.decision_function(np.eye(3)))


SAVER = """
import sys, numpy as np, linnaeus
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 400)); y = [f"n{i % 40}" for i in range(60)]
models = [linnaeus.OneVsRestSVM(C=C, tol=0.5, random_state=0).fit(X, y) for C in (1.0, 2.0)]
linnaeus.save(models[0], sys.argv[1])
print("ready", flush=True)
while True:
    for model in models:
        linnaeus.save(model, sys.argv[1])
"""


def test_a_kill_at_any_moment_leaves_a_whole_model(tmp_path) -> None:
    folder = tmp_path / "model"
    process = subprocess.Popen([sys.executable, "-c", SAVER, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        time.sleep(np.random.default_rng(0).uniform(0.0, 0.05))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert linnaeus.load(folder).C in (1.0, 2.0)
    linnaeus.save(small_model(), folder)
    assert len(list(folder.iterdir())) == 2, "what killed saves left behind is cleared away"
    shutil.rmtree(folder)
