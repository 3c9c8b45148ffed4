"""What children are asked to do in the tests."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from linnaeus.errors import DataError


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
