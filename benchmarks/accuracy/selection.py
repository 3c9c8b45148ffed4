"""Held-out quality of models along a grid of C, on folds that all systems share."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.data.splits import kfold, train_test_split

__all__ = ["DECADES", "HALF_DECADES", "Choice", "Folds", "choose", "quiet"]

DECADES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
HALF_DECADES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class Choice:
    """What was tried: the values of all criteria by C, in increasing order."""

    quality: dict[float, dict[str, float]]

    def best(self, criterion: str) -> float:
        """Where a criterion is largest; the smallest of several."""
        return max(self.quality, key=lambda C: (self.quality[C][criterion], -C))


@dataclass
class Folds:
    """Parts of the training documents, the same for all systems; models go on from their last C where they can."""

    X: Any
    Y: Any
    parts: list[tuple[Any, Any]]
    _kept: dict[Any, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, Y: Any, cv: int | float) -> Folds:
        """So many folds, or a share below 1 that is held out once."""
        parts = [train_test_split(Y, cv, random_state=0)] if cv < 1 else list(kfold(Y, int(cv), random_state=0))
        return cls(X, Y, parts)

    @property
    def documents(self) -> Any:
        """Row numbers of the held-out documents, fold after fold."""
        return np.concatenate([held for _, held in self.parts])

    @property
    def gold(self) -> Any:
        """Their labels."""
        return self.Y[self.documents]

    def models(self, make: Callable[[], Any], key: Any, C: float) -> Iterator[tuple[Any, Any]]:
        """A model for each fold, fitted at C, and the documents that it has not seen."""
        models = self._kept.setdefault(key, [make() for _ in self.parts])
        for number, (train, held) in enumerate(self.parts):
            model = models[number].set_params(C=C)
            if "warm_start" in model.get_params():
                model.set_params(warm_start=True)
            with quiet():
                model.fit(self.X[train], self.Y[train])
            yield model, self.X[held]
            if "warm_start" not in model.get_params():
                models[number] = make()  # weights are not kept for nothing

    def forget(self, key: Any) -> None:
        """Drop the models of a system."""
        self._kept.pop(key, None)

    def scores(self, make: Callable[[], Any], key: Any, C: float, nodes: Any) -> Any:
        """Scores of the held-out documents over ``nodes``; minus infinity where a fold has no document of a node."""
        parts = []
        for model, X in self.models(make, key, C):
            S = np.full((X.shape[0], len(nodes)), -np.inf, np.float32)
            S[:, np.searchsorted(nodes, model.nodes_)] = np.concatenate(list(model.score_blocks(X)))
            parts.append(S)
        return np.concatenate(parts)

    def answers(self, make: Callable[[], Any], key: Any, C: float) -> Any:
        """Answers to the held-out documents of all folds, in the order of ``gold``."""
        from scipy import sparse

        answers = [model.answers(X, closed=False) for model, X in self.models(make, key, C)]
        return sparse.csr_array(sparse.vstack(answers))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warning that a gap was not reached: the gap itself is in the table."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def choose(
    quality: Callable[[float], dict[str, float]],
    grid: Sequence[float],
    start: float = 1.0,
    name: str | None = None,
    clear: float = 0.005,
) -> Choice:
    """Try ``start``, then larger values, then smaller ones, each direction while it may improve.

    A direction is left when no criterion may improve: each has been ``clear`` below its best, or below it twice. With
    a ``name``, every value is printed.
    """

    def measured(C: float) -> dict[str, float]:
        began = time.perf_counter()
        values = quality(C)
        if name:
            text = ", ".join(f"{criterion} {100 * value:.2f}" for criterion, value in values.items())
            print(f"{name}, C={C:g}: {text} ({time.perf_counter() - began:.0f} s)", file=sys.stderr, flush=True)
        return values

    order = sorted(grid)
    at = order.index(start)
    tried = {start: measured(start)}
    for direction in (order[at + 1 :], order[:at][::-1]):
        below = dict.fromkeys(tried[start], 0)
        for C in direction:
            best = {criterion: max(values[criterion] for values in tried.values()) for criterion in below}
            tried[C] = measured(C)
            for criterion, value in tried[C].items():
                lost = best[criterion] - value
                below[criterion] = 0 if lost <= 0 else 2 if lost > clear else below[criterion] + 1
            if min(below.values()) >= 2:
                break
    return Choice(dict(sorted(tried.items())))
