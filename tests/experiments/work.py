"""What children are asked to do in the tests."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from linnaeus.errors import DataError
from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.records import Run
from linnaeus.experiments.trial import Known
from linnaeus.typing import CSR


def doubled(value: int) -> int:
    return 2 * value


def raising(value: Any) -> None:
    raise RuntimeError(f"no {value}")


def refusing(value: Any) -> None:
    raise DataError("X is not what was expected.")


def greedy(value: Any) -> None:
    raise MemoryError


def endless(value: Any) -> None:
    time.sleep(600)


def dying(value: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hurried(experiment: Experiment, name: str, limit: float, known: Known) -> tuple[Run, CSR, None, Known]:
    """A run whose search is cut short where it has less than ten seconds, and is better where it is not."""
    run = Run(model=name, status="done", held_out=0.5 + (limit >= 10) / 4, cut_short=limit < 10)
    run.measures = {experiment.measure: run.held_out}
    return run, experiment.parts[0].Y_test, None, ()


class Broken:
    """An engine that breaks whatever it is asked to run."""

    n_workers = 1

    def map(self, *arguments: Any, **more: Any) -> Any:
        raise RuntimeError("the engine is broken")


class Hungry:
    """An engine for whose tasks there is not enough memory."""

    n_workers = 1

    def map(self, *arguments: Any, **more: Any) -> Any:
        raise MemoryError
