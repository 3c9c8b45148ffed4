"""`linnaeus learn`: a saved model goes on learning from more documents, in their order."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from linnaeus.cli import options, training
from linnaeus.cli.console import JsonOption, note, note_columns, print_json, print_table
from linnaeus.errors import DataError

__all__ = ["learn"]


@options.with_groups
def learn(
    model: Annotated[str, typer.Argument(help="Model folder; it is replaced in one step when all is learned.")],
    data: Annotated[list[str] | None, typer.Argument(help="Documents with labels; - or nothing reads stdin.")] = None,
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Another folder to save in; the model stays as it is.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Documents that are learned at a time.")] = 4096,
    save_every: Annotated[
        int | None,
        typer.Option("--save-every", min=1, help="Also save after each block of this size."),
    ] = None,
    reading: options.LabelledReading,
    checks: options.LabelChecks,
    verify: options.Verify = None,
    as_json: JsonOption = False,
) -> None:
    """Go on learning from a stream of documents.

    For models that can (HierarchicalPerceptron, Hieron, GlobalTreeModel, OneVsRestPA). Words that the model does not
    know are left out; labels that it has not met join it, as long as they are in its taxonomy. The model folder is
    replaced in one step: a kill at any moment leaves the old model or the new one.

    linnaeus learn model/ more.jsonl
    """
    from linnaeus import store
    from linnaeus.cli.console import progress
    from linnaeus.cli.documents import documents_for
    from linnaeus.engine.limits import blocks

    target = model if output is None else output
    store.check_target(target)
    loaded = options.load_model(model, verify)
    learner = loaded.estimator
    _check_learns(learner)
    documents = documents_for(loaded, data or ["-"], reading)
    note_columns(documents)
    documents, y, _ = training.labels_of(documents, loaded.taxonomy_, checks, reading)
    before = _figures(learner)
    calibrated = learner.calibrator_ is not None
    start, unsaved = time.perf_counter(), 0
    with progress("learning", len(documents)) as advance:
        for part in blocks(len(documents), batch):
            some = documents.take(range(part.start, part.stop))
            loaded.partial_fit(some.documents, y[part])
            unsaved += part.stop - part.start
            if save_every is not None and unsaved >= save_every and part.stop < len(documents):
                training.save(loaded, target)
                unsaved = 0
            advance(part.stop - part.start)
    if calibrated:
        note("note: the calibration was of the model before and is dropped; `linnaeus calibrate` makes a new one")
    if getattr(loaded, "about_", {}).get("documents") is not None:
        from linnaeus.data.duplicates import SKETCH, sketch

        seen = sorted({*loaded.about_.get("document_sketch", []), *sketch(documents)})[:SKETCH]
        n_documents = loaded.about_["documents"] + len(documents)
        loaded.about_ = {**loaded.about_, "documents": n_documents, "document_sketch": seen}
    training.save(loaded, target)
    after = _figures(learner)
    result = {
        "model": type(learner).__name__,
        "documents": len(documents),
        "learned_from": after["updates"] - before["updates"],
        "new_labels": after["labels"] - before["labels"],
        "labels": after["labels"],
        **({} if after["documents"] is None else {"documents_in_all": int(after["documents"])}),
        "seconds": round(time.perf_counter() - start, 3),
        "output": target,
    }
    if as_json:
        print_json(result)
        return
    print_table(["learning", ""], [(key.replace("_", " "), value) for key, value in result.items()])
    note(f"saved to {target}")


def _figures(learner: Any) -> dict[str, Any]:
    """Counts before and after; not every model counts its updates in one number, or all documents it has seen."""
    updates = getattr(learner, "n_updates_", 0)
    return {
        "updates": sum(updates) if isinstance(updates, list) else int(updates),
        "labels": len(learner.nodes_),
        "documents": getattr(learner, "n_docs_", None),
    }


def _check_learns(learner: Any) -> None:
    """Refuse a model that cannot go on learning, and say which can."""
    from linnaeus import registry

    if hasattr(learner, "partial_fit"):
        return
    able = [name for name in registry.MODELS if hasattr(registry.resolve(name), "partial_fit")]
    more = "; in Python its update(X, y) takes more documents" if hasattr(learner, "update") else ""
    raise DataError(f"A {type(learner).__name__} cannot go on learning; models that can: {', '.join(able)}{more}.")
