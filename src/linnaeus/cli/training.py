"""From options to a trained model, and what to say about it: the work behind `linnaeus train`."""

from __future__ import annotations

import inspect
import json
from typing import Any

from linnaeus.cli.console import note
from linnaeus.errors import DataError, ParameterError, nearest

__all__ = ["labels_of", "make_model", "measure", "prune", "summary"]


def labels_of(documents: Any, taxonomy: Any, unknown: str) -> tuple[Any, Any]:
    """Labels as the model takes them (one each where every document has one), and the taxonomy, flat where none is."""
    from linnaeus import Taxonomy

    if documents.labels is None:
        raise DataError(f"{documents.source} has no labels; name their column with --labels.")
    if taxonomy is None:
        note("no taxonomy given: the labels are taken as a flat list (use --taxonomy)")
        taxonomy = Taxonomy.flat(sorted({label for row in documents.labels for label in row}))
    if unknown not in ("error", "drop"):
        raise ParameterError(f"--unknown {unknown}: expected error or drop{nearest(unknown, ['error', 'drop'])}")
    try:
        Y = documents.indicator(taxonomy, unknown=unknown)
    except DataError as error:
        raise type(error)(f"{error} (--unknown drop leaves such labels out)") from None
    sets = taxonomy.labels(Y)
    return ([row[0] for row in sets] if all(len(row) == 1 for row in sets) else sets), taxonomy


def make_model(name: str, settings: list[str] | None, **usual: Any) -> Any:
    """A model by name with the ``usual`` parameters that it has, and those of ``--set tol=0.01``."""
    from linnaeus import registry

    name = registry.find_model(name)
    kind = registry.resolve(name)
    known = set(inspect.signature(kind).parameters)
    parameters = {key: value for key, value in usual.items() if key in known}
    for entry in settings or []:
        key, equals, value = entry.partition("=")
        if not equals or key not in known - {"taxonomy"}:
            raise ParameterError(f"--set {entry}: {name} has no parameter {key!r}{nearest(key, known)}")
        try:
            parameters[key] = json.loads(value)
        except json.JSONDecodeError:
            parameters[key] = {"True": True, "False": False, "None": None}.get(value, value)
    return kind(**parameters)


def summary(pipe: Any, documents: Any, seconds: float) -> dict[str, Any]:
    """What was trained, on what, and how well the training problem was solved."""
    model = pipe.model_
    return {
        "model": type(model).__name__,
        "documents": len(documents),
        "features": int(model.n_features_in_),
        "nodes": pipe.taxonomy_.n_nodes,
        "nodes_answered": len(model.nodes_),
        "objective": getattr(model, "objective_", None),
        "duality_gap": getattr(model, "duality_gap_", None),
        "n_iter": getattr(model, "n_iter_", None),
        "seconds": round(seconds, 3),
    }


def measure(pipe: Any, documents: Any, gold: Any) -> dict[str, float]:
    """Three figures that say at a glance whether a model works."""
    from linnaeus import metrics

    tax = pipe.taxonomy_
    predicted = pipe.predict(documents.documents)
    best, _ = pipe.top(documents.documents, 1)
    sets = [{row} if isinstance(row, str) else set(row) for row in gold]
    hits = sum(first in labels for first, labels in zip(best[:, 0], sets, strict=True))
    return {
        "micro_f1": float(metrics.micro_f1(gold, predicted, taxonomy=tax)),
        "hierarchical_f1": float(metrics.hierarchical_f1(gold, predicted, taxonomy=tax)),
        "precision_at_1": hits / max(1, len(sets)),
    }


def prune(pipe: Any, threshold: float, documents: Any, gold: Any) -> dict[str, Any]:
    """Drop small weights; how many stay, and what the figures become."""
    import numpy as np

    if not hasattr(pipe.model_, "prune"):
        raise ParameterError(f"--prune: {type(pipe.model_).__name__} has no weights to prune.")
    before = int(np.count_nonzero(pipe.model_.weights_))
    kept = int(pipe.model_.prune(threshold).weights_.nnz)
    scores = measure(pipe, documents, gold)
    return {"threshold": threshold, "weights_before": before, "weights_kept": kept, "scores": scores}
