"""A desk that begins with a taxonomy alone trains a model from its verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import pytest

from linnaeus import LexicalModel, save, store
from linnaeus.serve.desk import training
from tests.serve.conftest import WORDS, corpus, taxonomy


@pytest.fixture
def alone(desk, tmp_path):
    """A desk with its own lexical model, and verdicts on all documents."""
    save(LexicalModel(taxonomy()).fit(), tmp_path / "store0" / "model")
    server = desk(str(tmp_path / "store0" / "model"), control=0.1)
    texts, labels = corpus()
    server.add({f"d{i}": text for i, text in enumerate(texts)})
    verdicts = [
        {"key": f"k{i}", "document": f"d{i}", "coder": "anna", "kind": "replace", "labels": row}
        for i, row in enumerate(labels)
    ]
    server.post("verdicts", {"verdicts": verdicts[:10]})
    return server, verdicts


def test_training_waits_for_enough_verdicts_and_leaves_control_documents_out(alone) -> None:
    server, verdicts = alone
    state = server.get("desk/training")
    assert (state["possible"], state["state"]) == (True, "idle")
    assert state["documents"] < training.NEEDED
    with pytest.raises(urllib.error.HTTPError, match="422|400"):
        server.post("desk/training", {})
    server.post("verdicts", {"verdicts": verdicts[10:]})
    n_control = sum(one["control"] for one in server.get("documents?limit=100")["documents"])
    assert n_control > 0
    assert server.get("desk/training")["documents"] == len(verdicts) - n_control


def test_a_model_learns_from_the_verdicts_and_replaces_the_lexical_one(alone, monkeypatch) -> None:
    server, verdicts = alone
    server.post("verdicts", {"verdicts": verdicts[10:]})
    review, served = server.app.state.service.review, next(iter(server.app.state.service.models))
    started, lexical = training.Training(), store.read_manifest(served.folder)["checksum"]
    monkeypatch.setattr(training.subprocess, "Popen", _InThisProcess)
    assert started.start(served, review, budget=1.0) == server.get("desk/training")["documents"]
    started._finisher.join()
    state = started.status(served, review)
    assert state["state"] == "done"
    assert state["curve"][0]["documents"] == state["documents"]
    learned = store.load(served.folder)
    assert [list(row) for row in learned.predict([WORDS["Dogs"]])] == [["Dogs"]]
    versions = server.get("models/model/versions")["versions"]
    assert {one["kind"]: one["fingerprint"] for one in versions} == {
        "replaced": lexical,
        "desk": store.read_manifest(served.folder)["checksum"],
    }


class _InThisProcess:
    pid = os.getpid()

    def __init__(self, command: list[str], **_: object) -> None:
        self.folders = [Path(folder) for folder in command[-2:]]

    def wait(self) -> int:
        training.train(*self.folders)
        return 0

    def poll(self) -> int:
        return 0


def test_a_desk_of_a_given_model_does_not_train(desk) -> None:
    server = desk()
    assert server.get("desk/training")["possible"] is False
    with pytest.raises(urllib.error.HTTPError, match="422|400"):
        server.post("desk/training", {})


def test_a_training_of_another_worker_is_running_until_its_process_ends(alone) -> None:
    server, verdicts = alone
    server.post("verdicts", {"verdicts": verdicts[10:]})
    review = server.app.state.service.review
    folder = review.folder / "training"
    folder.mkdir(exist_ok=True)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        state = {"state": "running", "worker": os.getppid(), "process": other.pid, "began": time.time(), "budget": 60.0}
        (folder / "state.json").write_text(json.dumps(state))
        assert server.get("desk/training")["state"] == "running"
        begins = {**{name: value for name, value in state.items() if name != "process"}, "began": time.time() - 600}
        (folder / "state.json").write_text(json.dumps(begins))  # however slowly the process begins
        assert server.get("desk/training")["state"] == "running"
        (folder / "state.json").write_text(json.dumps(state))
        with pytest.raises(urllib.error.HTTPError, match="422"):
            server.post("desk/training", {})
        (folder / "state.json").write_text(json.dumps({**state, "state": "trained"}))
        assert server.get("desk/training")["state"] == "running"
        other.communicate(b"\n")
    (folder / "state.json").write_text(json.dumps(state))
    assert server.get("desk/training")["state"] == "failed"
