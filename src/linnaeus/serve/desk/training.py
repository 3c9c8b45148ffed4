"""A model from verdicts: a desk that began with a taxonomy alone trains one in a process of its own.

Files in the folder ``training`` of the store: ``documents.jsonl`` (what is learned from), ``state.json`` (how far the
process is, its number, and that of the worker that started it), ``model`` (what it has made) and ``curve.jsonl`` (the
held-out value of each training). Each worker of a service tells from these files whether a training is running. The
model becomes a version and is promoted, as one that was trained again; the model before it is kept as a version.
Control documents are not learned from, so that they measure the new model as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from linnaeus.errors import LinnaeusError, ParameterError
from linnaeus.files import replace_file
from linnaeus.serve.learning import keep_version, promote

if TYPE_CHECKING:
    from linnaeus.serve.models import ServedModel
    from linnaeus.serve.review import Review

__all__ = ["NEEDED", "Training", "learning_curve", "train"]

NEEDED = 20  # documents with labels
BUDGET = 60.0  # seconds of the search


class Training:
    """The training of one desk; one process at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._finisher: threading.Thread | None = None
        self._starting = threading.Lock()

    def status(self, served: ServedModel, review: Review) -> dict[str, object]:
        """How far a training is, and the learning curve."""
        folder = review.folder / "training"
        possible = served.folder.parent == review.folder.resolve()
        state = _read(folder / "state.json")
        running = self._is_running() or _runs_elsewhere(state)
        if not running and state.get("state") in ("running", "trained"):
            state = {"state": "failed", "detail": "The training ended early; start it again."}
        n_documents = len(_decided(served, review)) if possible else 0
        began, budget = float(str(state.get("began", 0.0))), float(str(state.get("budget", BUDGET)))
        seconds = time.time() - began if running else None
        return {
            "possible": possible,
            "state": "running" if running else state.get("state", "idle"),
            "about": f"Suggestions come from {_KINDS.get(type(served.model.estimator).__name__, 'a trained model')}.",
            "step": state.get("step", "reading documents"),
            "detail": state.get("detail", ""),
            "seconds": seconds,
            "share": None if seconds is None else min(0.95, seconds / (1.5 * budget)),
            "documents": n_documents,
            "needed": NEEDED,
            "curve": learning_curve(review.folder),
        }

    def start(self, served: ServedModel, review: Review, budget: float = BUDGET) -> int:
        """Start a training; returns the number of documents that it learns from."""
        if served.folder.parent != review.folder.resolve():
            raise ParameterError("Only a desk that began without a model trains one; use `linnaeus train`.")
        with self._starting:
            if self._is_running() or _runs_elsewhere(_read(review.folder / "training" / "state.json")):
                raise ParameterError("A training is running already; wait until it has finished.")
            rows = _decided(served, review)
            if len(rows) < NEEDED:
                raise ParameterError(f"{len(rows)} documents have labels; {NEEDED} are needed to train a model.")
            folder = review.folder / "training"
            folder.mkdir(exist_ok=True)
            replace_file(folder / "documents.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
            state = {"state": "running", "began": time.time(), "budget": budget, "worker": os.getpid()}
            _write(folder, **state, step="reading documents")
            command = [sys.executable, "-m", "linnaeus.serve.desk.training", str(folder), str(served.folder)]
            with (folder / "log.txt").open("wb") as log:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            _write(folder, **state, step="reading documents", process=self._process.pid)
            self._finisher = threading.Thread(target=self._finish, args=(self._process, served, review), daemon=True)
            self._finisher.start()
            return len(rows)

    def _is_running(self) -> bool:
        return any(
            (
                self._process is not None and self._process.poll() is None,
                self._finisher is not None and self._finisher.is_alive(),
            )
        )

    def _finish(self, process: subprocess.Popen[bytes], served: ServedModel, review: Review) -> None:
        """Wait for the process, then let its model run."""
        folder = review.folder / "training"
        if process.wait() != 0:
            return
        state = _read(folder / "state.json")
        try:
            made = keep_version(review, served, "desk", folder=folder / "model", result=state)
            promote(review, served, made, "desk")
        except LinnaeusError as error:
            _write(folder, state="failed", detail=str(error))
        else:
            _write(folder, state="done", detail=state.get("detail", ""))

    def close(self) -> None:
        """End a training that is running."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def learning_curve(folder: Path) -> list[dict]:
    """Documents and held-out value of each training of a store, oldest first."""
    return _lines(folder / "training" / "curve.jsonl")


_KINDS = {"LexicalModel": "labels that occur in the texts"}


def train(folder: Path, model: Path) -> None:
    """Train on the documents of the folder; the result is in its ``model``.

    Parameters
    ----------
    folder : Path
        The folder with ``documents.jsonl``.
    model : Path
        The folder of the running model, whose taxonomy is used.
    """
    from linnaeus import AutoClassifier, store
    from linnaeus.features.text import TextFeatures

    state = {**_read(folder / "state.json"), "process": os.getpid()}
    rows = _lines(folder / "documents.jsonl")
    contents = [row["content"] for row in rows]
    names = list(dict.fromkeys(name for content in contents for name in content.get("fields", {"text": ""})))
    texts = [content.get("fields") or {names[0]: content.get("text", "")} for content in contents]
    documents = {name: [str(text.get(name, "")) for text in texts] for name in names}
    labels = [row["labels"] for row in rows]
    budget = float(str(state.get("budget", BUDGET)))
    features = TextFeatures(fields=dict.fromkeys(names, 1.0), sublinear_tf=True, min_df=1)
    found = AutoClassifier(store.load(model).taxonomy_, budget=budget, features=features, n_jobs=1)

    def say(line: str) -> None:
        _write(folder, **{**state, "step": " ".join(line.split())[:200]})

    found.fit(documents, labels, say=say)
    found.pipeline_.keep_documents(documents, labels, [row["id"] for row in rows])
    store.save(found.pipeline_, folder / "model")
    value = None if found.report_ is None else found.report_.value
    with (folder / "curve.jsonl").open("a", encoding="utf-8") as curve:
        curve.write(json.dumps({"documents": len(rows), "score": value, "time": time.time()}) + "\n")
    measured = "" if value is None else f"; hierarchical F1 of held-out documents {value:.3f}"
    detail = f"Trained on {len(rows):,} documents{measured}."
    _write(folder, **{**state, "state": "trained", "detail": detail, "documents": len(rows)})


def _runs_elsewhere(state: dict[str, object]) -> bool:
    """Whether a training runs that another worker of the service started, or its model is being promoted there."""
    worker = state.get("worker")
    if worker is None or worker == os.getpid():
        return False
    if state.get("state") == "running":
        return _alive(state.get("process", worker))  # the worker writes its number as soon as the process is there
    return state.get("state") == "trained" and _alive(worker)


def _alive(process: object) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(int(str(process)), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, ValueError):
        return False
    return True


def _decided(served: ServedModel, review: Review) -> list[dict[str, object]]:
    """Documents with final labels and contents, without control documents and vectors."""
    with review.read() as transaction:
        rows = transaction.rows(
            "SELECT d.id, d.final, t.content FROM documents d JOIN texts t ON t.document = d.number "
            "WHERE d.queue = ? AND d.state = 'done' AND d.control = 0 ORDER BY d.number",
            (served.name,),
        )
    found = [(row["id"], json.loads(row["final"]), json.loads(row["content"])) for row in rows]
    return [
        {"id": i, "labels": labels, "content": text} for i, labels, text in found if labels and "vector" not in text
    ]


def _read(path: Path) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found


def _lines(path: Path) -> list[dict]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def _write(folder: Path, **state: object) -> None:
    replace_file(folder / "state.json", json.dumps(state).encode())


def _main() -> None:
    folder, model = (Path(given) for given in sys.argv[1:3])
    if hasattr(os, "nice"):
        os.nice(10)
    try:
        train(folder, model)
    except LinnaeusError as error:
        _write(folder, state="failed", detail=str(error))
        sys.exit(1)


if __name__ == "__main__":
    _main()
