"""Figures on documents that a model has not seen, for `linnaeus train`.

By default a tenth of the documents (at most 2,000) is held out of another training on the rest; with few documents,
cross-validation answers each of them once. The model that is saved learns from all documents.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linnaeus.errors import LinnaeusError
from linnaeus.progress import waiting

__all__ = ["Measured", "folds_of", "measure", "measure_unseen"]

_SHARE, _MOST = 0.1, 2000  # held out, at most
_FEW, _FOLDS = 500, 3  # documents below which all are held out in turn, and in how many parts


@dataclass(frozen=True)
class Measured:
    """Figures, after pruning as well where asked for, and on what they were measured."""

    on: str
    scores: dict[str, float]
    pruned: dict[str, float] | None
    seconds: float


@dataclass
class _Answered:
    """Gold labels, answers, and best labels of documents; the best are left out for models of closed sets."""

    gold: list[Any]
    predicted: list[Any]
    best: list[str] | None

    def figures(self, taxonomy: Any) -> dict[str, float]:
        from linnaeus import metrics

        found = {
            "micro_f1": float(metrics.micro_f1(self.gold, self.predicted, taxonomy=taxonomy)),
            "hierarchical_f1": float(metrics.hierarchical_f1(self.gold, self.predicted, taxonomy=taxonomy)),
        }
        if self.best is not None:
            sets = [{row} if isinstance(row, str) else set(row) for row in self.gold]
            hits = sum(first in labels for first, labels in zip(self.best, sets, strict=True))
            found["precision_at_1"] = hits / max(1, len(sets))
        if self.gold and not all(isinstance(row, str) for row in self.gold):
            found["labels_per_document"] = sum(map(len, self.gold)) / len(self.gold)
            found["predicted_per_document"] = sum(map(len, self.predicted)) / len(self.gold)
        return found


def measure(pipe: Any, documents: Any, gold: Any) -> dict[str, float]:
    """A few figures that say at a glance whether a model works."""
    return _answered(pipe, documents, gold).figures(pipe.taxonomy_)


def _answered(pipe: Any, documents: Any, gold: Any) -> _Answered:
    predicted = pipe.taxonomy_.labels(pipe.answers(documents.documents))
    best = None
    if not pipe.model_.nested_:  # else the best node is mostly a top one, which labels as given are not
        best = [str(row[0]) for row in pipe.top(documents.documents, 1)[0]]
    return _Answered(list(gold), list(predicted), best)


def folds_of(y: Any, seed: int) -> list[tuple[Any, Any]]:
    """(training rows, test rows), stratified: one pair, or several where documents are few."""
    from linnaeus.data.splits import kfold, train_test_split

    sets = [[row] if isinstance(row, str) else row for row in y]
    if len(sets) < _FEW:
        return list(kfold(sets, min(_FOLDS, len(sets)), random_state=seed))
    return [train_test_split(sets, min(_SHARE, _MOST / len(sets)), random_state=seed)]


def measure_unseen(
    pipe: Any, documents: Any, y: Any, seed: int, prune: Callable[[Any, Any, Any], Any] | None = None
) -> Measured | LinnaeusError:
    """Figures of copies of an unfitted pipeline; the error, where the documents do not suffice for a training."""
    start = time.perf_counter()
    before, after = _Answered([], [], []), _Answered([], [], [])
    try:
        folds = folds_of(y, seed)
        for number, (train, test) in enumerate(folds, 1):
            with waiting(f"measuring on documents held out ({number} of {len(folds)})"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the training of the model itself has said it
                learned = documents.take(train), [y[i] for i in train]
                fitted = _fit(pipe, *learned)
                held_out = documents.take(test), [y[i] for i in test]
                _add(before, _answered(fitted, *held_out))
                if prune is not None:
                    prune(fitted, *learned)
                    _add(after, _answered(fitted, *held_out))
    except LinnaeusError as error:
        return error
    share = f"{len(before.gold):,} documents held out"
    taxonomy = fitted.taxonomy_
    return Measured(
        share if len(folds) == 1 else f"all documents, held out in {len(folds)} parts",
        before.figures(taxonomy),
        None if prune is None else after.figures(taxonomy),
        time.perf_counter() - start,
    )


def _fit(pipe: Any, documents: Any, y: Any) -> Any:
    from sklearn.base import clone

    from linnaeus.pipeline import Pipeline

    model = clone(pipe.model)
    if "verbose" in model.get_params():
        model.set_params(verbose=0)
    return Pipeline(model, pipe.features, decoder=pipe.decoder).fit(documents.documents, y)


def _add(whole: _Answered, part: _Answered) -> None:
    whole.gold += part.gold
    whole.predicted += part.predicted
    whole.best = None if whole.best is None or part.best is None else whole.best + part.best
