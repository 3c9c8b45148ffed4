"""`linnaeus learn`: continue to train a saved model on more documents, in their order."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli import common, training
from linnaeus.cli.common import JsonOption, note, note_columns, print_json, print_table, progress
from linnaeus.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linnaeus.data import Dataset
    from linnaeus.models.base import TaxonomyClassifier

__all__ = ["learn"]

_WORDS = {"learned_from": "corrections"}  # updates of the weights: none or several for one document


@common.with_groups
def learn(
    model: Annotated[str, typer.Argument(help="Model folder; it is replaced in one step at the end.")],
    data: Annotated[list[str] | None, typer.Argument(help="Documents with labels; - or nothing reads stdin.")] = None,
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Save in this folder instead; the model stays as it is.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Number of documents to learn from at a time.")] = 4096,
    save_every: Annotated[
        int | None,
        typer.Option("--save-every", min=1, help="Number of documents after which the model is also saved."),
    ] = None,
    reading: common.LabelledReading,
    checks: common.LabelChecks,
    verify: common.Verify = None,
    as_json: JsonOption = False,
) -> None:
    """Continue to train a model on a stream of documents.

    For online models: OneVsRestPA, EdgePA, HierarchicalPerceptron, Hieron, GlobalTreeModel (`linnaeus train --model`).
    Words that the model does not know are left out, unless it was trained with --features hashed: then it learns them.
    Labels that are new to the model are added if they are in its taxonomy. The model folder is replaced in one step: if
    the command is killed, the folder holds the old model or the new one.

    linnaeus learn model/ more.jsonl
    """
    from linnaeus import store
    from linnaeus.cli.documents import documents_for

    target = model if output is None else output
    store.check_target(target)
    loaded = common.load_model(model, verify)
    learner = loaded.estimator
    _check_learns(learner)
    documents = documents_for(loaded, data or ["-"], reading)
    note_columns(documents)
    documents, y, _ = training.labels_of(documents, loaded.taxonomy_, checks, reading)
    before, calibrated = _counts(learner), learner.calibrator_ is not None
    start = time.perf_counter()
    _learn(loaded, documents, y, batch, save_every, target)
    if calibrated:
        note("note: the calibration no longer fits the model and was removed; `linnaeus calibrate` makes a new one")
    _record_training(loaded, documents)
    training.save(loaded, target)
    after = _counts(learner)
    result = {
        "model": type(learner).__name__,
        "documents": len(documents),
        "learned_from": after.updates - before.updates,
        "new_labels": after.labels - before.labels,
        "labels": after.labels,
        **({} if after.documents is None else {"documents_in_all": after.documents}),
        "seconds": round(time.perf_counter() - start, 3),
        "output": target,
    }
    if as_json:
        print_json(result)
        return
    print_table(["learning", ""], [(_WORDS.get(key, key.replace("_", " ")), value) for key, value in result.items()])
    note(f"saved to {target}")


def _learn(
    model: common.SavedModel,
    documents: Dataset,
    y: Sequence[object],
    batch: int,
    save_every: int | None,
    target: str,
) -> None:
    """Learn from the documents in blocks, and save every ``save_every`` documents."""
    from linnaeus.engine import blocks

    assert hasattr(model, "partial_fit")  # see `_check_learns`
    unsaved = 0
    with progress("learning", len(documents)) as advance:
        for part in blocks(len(documents), batch):
            some = documents.take(range(part.start, part.stop))
            model.partial_fit(some.documents, y[part])
            unsaved += part.stop - part.start
            if save_every is not None and unsaved >= save_every and part.stop < len(documents):
                training.save(model, target)
                unsaved = 0
            advance(part.stop - part.start)


def _record_training(model: common.SavedModel, documents: Dataset) -> None:
    """Add the documents to what a pipeline records about its training documents."""
    from linnaeus.data.splits import SKETCH, sketch
    from linnaeus.pipeline import Pipeline

    n_before = model.about_.get("documents") if isinstance(model, Pipeline) else None
    if not isinstance(model, Pipeline) or not isinstance(n_before, int):
        return
    seen = model.about_.get("document_sketch", [])
    known = {*seen, *sketch(documents)} if isinstance(seen, list) else set(sketch(documents))
    model.about_ = {**model.about_, "documents": n_before + len(documents), "document_sketch": sorted(known)[:SKETCH]}


@dataclass(frozen=True)
class _Counts:
    """What a model has learned from; ``documents`` is None for models that do not count them."""

    updates: int
    labels: int
    documents: int | None


def _counts(learner: TaxonomyClassifier) -> _Counts:
    updates, documents = getattr(learner, "n_updates_", 0), getattr(learner, "n_docs_", None)
    total = sum(updates) if isinstance(updates, list) else int(updates)
    by_label = getattr(learner, "n_documents_", None)  # with answer="all" the model has nodes without documents
    labels = len(learner.nodes_) if by_label is None else int((by_label > 0).sum())
    return _Counts(total, labels, None if documents is None else int(documents))


def _check_learns(learner: TaxonomyClassifier) -> None:
    """Refuse a model that cannot learn from more documents, and name those that can."""
    from linnaeus import registry

    if hasattr(learner, "partial_fit"):
        return
    able = [name for name in registry.MODELS if hasattr(registry.resolve(name), "partial_fit")]
    more = " In Python, update(X, y) of this model takes more documents." if hasattr(learner, "update") else ""
    raise DataError(
        f"{type(learner).__name__} models cannot continue learning; {', '.join(able)} can. To train one: "
        f"linnaeus train --model {able[0]} --features hashed --data FILE --output MODEL.{more}"
    )
