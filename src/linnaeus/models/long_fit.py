"""What long fits share: parameters for checkpoint, time and memory, checked and put to work once.

A model adds the parameters ``checkpoint``, ``max_time``, ``max_memory`` and ``verbose`` to its constructor, calls
`_check_limits` in `_check_parameters`, and trains inside ``with self._checkpointed(problem) as checkpoint``.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.utils import check_random_state

from linnaeus.data.check import Problem
from linnaeus.engine.clock import Clock
from linnaeus.engine.memory import Forecast, available_memory, format_bytes, parse_bytes, plan_memory
from linnaeus.errors import ParameterError
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.fingerprint import fingerprint

__all__ = ["LongFit"]


class LongFit:
    """Mixin; see the module docstring."""

    checkpoint: Any
    max_time: Any
    max_memory: Any
    verbose: int
    random_state: Any
    time_limit_reached_: bool = False
    _forecast: Forecast | None = None

    @property
    def memory_forecast(self) -> Forecast | None:
        """What the last fit was expected to take; None before one, and for loaded models."""
        return self._forecast

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_forecast", None)  # of this process, not of the model
        return state

    def _check_limits(self) -> None:
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise ParameterError(f"checkpoint={self.checkpoint!r}; expected a folder or None.")
        Clock(self.max_time)
        if self.max_memory is not None:
            parse_bytes(self.max_memory)

    @contextlib.contextmanager
    def _checkpointed(self, problem: Problem, **more: Any) -> Iterator[Checkpoint | None]:
        """The checkpoint of this fit, or None; Ctrl-C says how to go on."""
        if self.checkpoint is None:
            yield None
            return
        with Checkpoint(self.checkpoint, fingerprint(self, problem, **more)) as checkpoint:
            try:
                yield checkpoint
            except KeyboardInterrupt:
                where = os.fspath(self.checkpoint)
                raise KeyboardInterrupt(
                    f"stopped; what is finished is kept in {where}, and the same fit with it goes on from there"
                ) from None

    @contextlib.contextmanager
    def _block_store(self, checkpoint: Checkpoint | None, plan: Forecast) -> Iterator[Checkpoint | None]:
        """Where finished blocks go: the checkpoint, or files for this fit only if weights are planned on disk."""
        if checkpoint is not None or not plan.on_disk:
            yield checkpoint
            return
        with tempfile.TemporaryDirectory(prefix="linnaeus-", ignore_cleanup_errors=True) as folder:  # noqa: SIM117
            with Checkpoint(folder, {}, every=math.inf, durable=False) as store:
                yield store

    def _fit_seed(self, checkpoint: Checkpoint | None) -> int:
        """The seed of this fit: drawn from ``random_state``, or the one with which the checkpoint began."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        return seed if checkpoint is None else int(checkpoint.state.setdefault("seed", seed))

    def _plan_memory(self, forecast: Forecast, *, fewer_workers: bool = True) -> Forecast:
        """The forecast within ``max_memory``; told to those who ask to be told, and to all if memory is too small."""
        limit = None if self.max_memory is None else parse_bytes(self.max_memory)
        self._forecast = plan_memory(forecast, limit, fewer_workers=fewer_workers)
        more, available = self._forecast.peak - self._forecast.now, available_memory()
        if more > available:
            warnings.warn(
                f"the fit will take {format_bytes(more)}, but only {format_bytes(available)} are available; "
                "max_memory keeps weights on disk.",
                stacklevel=6,
            )
        if self.verbose > 0:
            print(self._forecast, file=sys.stderr)
        return self._forecast
