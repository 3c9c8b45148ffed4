"""A model from verdicts, in a process of its own: trained again, or calibrated again, then compared with the old one.

The process is started with the folder of a job, which has ``request.json`` and files of documents, and leaves
``result.json`` and the model in ``model/``. It has a low priority. A fit that can keep a checkpoint keeps it in the
folder, so that a process that is started again with the same folder continues.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from linnaeus import store
from linnaeus.answering.documents import fields_of
from linnaeus.data.readers import read_dataset
from linnaeus.decoding import CutOff
from linnaeus.decoding import decoder as make_decoder
from linnaeus.errors import DataError, LinnaeusError
from linnaeus.files import replace_file
from linnaeus.metrics import compare
from linnaeus.serve.review import documents_of
from linnaeus.serve.scoring import dataset_for
from linnaeus.serve.store.database import first_process
from linnaeus.tuning import calibrate

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.serve.store.documents import Content

__all__ = ["RefitRequest", "run"]


class RefitRequest(TypedDict):
    """What is trained from what."""

    kind: str  # "refit" or "recalibrate"
    model: str
    training: list[str]
    max_time: str | None
    max_memory: str | None


def run(folder: Path) -> dict[str, object]:
    """Do the work of a job; returns, and writes, its result."""
    request: RefitRequest = json.loads((folder / "request.json").read_text("utf-8"))
    running = store.load(request["model"])
    control = _read(folder / "control.jsonl")
    made = store.load(request["model"])
    if request["kind"] == "recalibrate":
        calibrate(made, _documents(made, control), _labels(control), cv=None)
        result: dict[str, object] = {"documents": len(control), "comparison": []}
    else:
        result = {"documents": _refit(made, folder, request), "comparison": _compared(made, running, control)}
    store.save(made, folder / "model")
    result = {**result, "control": len(control), "fingerprint": str(store.read_manifest(folder / "model")["checksum"])}
    replace_file(folder / "result.json", json.dumps(result).encode())
    return result


def _refit(model: SavedModel, folder: Path, request: RefitRequest) -> int:
    """Train a loaded model again, with its parameters; returns the number of documents."""
    rows: list[tuple[Content, list[str]]] = []
    if request["training"]:
        data = read_dataset(
            request["training"],
            taxonomy=model.taxonomy_,
            usual_text=fields_of(model),
            unlabelled="drop",
        )
        rows += [(one.content, list(one.labels or ())) for one in documents_of(data)]
    rows += _read(folder / "verdicts.jsonl")
    if not rows:
        raise DataError("There is nothing to train on: no training file, and no decided document.")
    estimator: Any = model.estimator
    limits = {"max_time": request["max_time"], "max_memory": request["max_memory"]}
    given = {name: value for name, value in limits.items() if value is not None}
    given["checkpoint"] = str(folder / "checkpoint")
    known = inspect.signature(type(estimator)).parameters
    calibrated, taxonomy = estimator.calibrator_ is not None, model.taxonomy_
    estimator.set_params(**{name: value for name, value in given.items() if name in known})
    if "taxonomy" in known:
        estimator.set_params(taxonomy=taxonomy)
    decide = getattr(model, "decoder", None)
    if isinstance(decide, CutOff):
        model.decoder = make_decoder(decide.name)  # fitted again with the model
    documents, y = _documents(model, rows), _labels(rows)
    model.fit(documents, [row[0] for row in y] if model.estimator.single_label and all(len(r) == 1 for r in y) else y)
    if calibrated:
        calibrate(model, documents, y)
    return len(rows)


def _compared(candidate: SavedModel, running: SavedModel, control: list[tuple[Content, list[str]]]) -> Sequence[object]:
    """Both models on the control documents, which neither has learned from; empty without such documents."""
    if not control:
        return []
    gold = _labels(control)
    answers = [one.estimator.taxonomy_.labels(one.answers(_documents(one, control))) for one in (candidate, running)]
    return [dict(row) for row in compare(gold, answers[0], answers[1], running.taxonomy_, n_resamples=2000)]


def _read(path: Path) -> list[tuple[Content, list[str]]]:
    """Contents and labels of lines with ``content`` and ``labels``."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
    return [(row["content"], row["labels"]) for row in rows]


def _documents(model: SavedModel, rows: Sequence[tuple[Content, list[str]]]) -> object:
    return dataset_for(model, [content for content, _ in rows]).documents


def _labels(rows: Sequence[tuple[Content, list[str]]]) -> list[list[str]]:
    return [labels for _, labels in rows]


def main(folder: str) -> int:
    """The process of a job; an error of the user is left as the result."""
    os.nice(19)
    path = Path(folder)
    while (lock := first_process(path / "lock")) is None:  # the process of a worker that was killed still trains
        time.sleep(1.0)
    try:
        if not (path / "result.json").exists():
            run(path)
    except LinnaeusError as error:
        replace_file(path / "result.json", json.dumps({"error": str(error)}).encode())
        return 1
    finally:
        lock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
