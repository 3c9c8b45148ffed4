"""The joint problem on a GPU: what `RRSVM` and `RRLogistic` do there instead of sweeps on the processor."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.engine import Clock, format_bytes
from linnaeus.engine.gpu import GPUEngine
from linnaeus.errors import EngineError, ParameterError
from linnaeus.models.checkpoint import Checkpoint, Pace
from linnaeus.models.fitting import document_weights, gap_progress
from linnaeus.models.recursive.network import Links, Network
from linnaeus.progress import note
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.gpu.joint import DevicePoint, JointTraining
    from linnaeus.models.recursive.rr import RecursiveModel

__all__ = ["DeviceFit", "DeviceSolution", "check_device_fit", "joint_on_device"]

_WIDTH = 1024  # leaves of a block
_LANES = 4  # blocks that are visited side by side, where memory allows it
_SHARE = 10  # at most one part in ten of the time is spent on writing checkpoints
_SLACK = 1.05  # the iteration is in float32, its certificate in float64: their gaps differ a little


@dataclass(frozen=True)
class DeviceFit:
    """What came of the iteration; ``training`` yields the weights of blocks of leaves."""

    training: JointTraining
    objective: float
    gap: float
    converged: bool
    out_of_time: bool


@dataclass(frozen=True)
class DeviceSolution:
    """The last solution of a fit on a device, for ``warm_start``; not part of a stored model."""

    problem: Problem
    labels: IntArray
    C: float
    point: DevicePoint

    def start(self, training: JointTraining, problem: Problem, labels: IntArray, C: float) -> None:
        """Start the training of a problem with the same nodes, features and number of documents here; else nothing."""
        mine = self.problem
        same = mine.X.shape == problem.X.shape and mine.taxonomy is problem.taxonomy
        same = same and self.point.M.shape == tuple(training.M.shape) and len(self.point.blocks) == len(training.blocks)
        if (
            same
            and np.array_equal(self.labels, labels)
            and all(
                ("rows" in kept) == (block.rows is not None)
                for kept, block in zip(self.point.blocks, training.blocks, strict=True)
            )
        ):
            training.start_at(replace(self.point, n_rounds=0), C / self.C)


class _DeviceCheckpoint:
    """Writes the point of a training into ``checkpoint``, and restores it."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._pace = Pace(checkpoint.every, _SHARE)

    def restore(self, training: JointTraining) -> bool:
        """Bring the training to where the last run stopped; False where there was none."""
        from linnaeus.models.gpu.joint import DevicePoint

        found = self.checkpoint.state.get("device")
        if found is None:
            return False
        blocks = [self.checkpoint.get(f"device {i}") for i in range(found["blocks"])]
        training.start_at(DevicePoint(self.checkpoint.get("device inner")["M"], blocks, found["n_rounds"]))
        return True

    def save(self, training: JointTraining, *, finished: bool = False) -> None:
        store, start, point = self.checkpoint, time.monotonic(), training.point()
        for i, arrays in enumerate(point.blocks):
            store.put(f"device {i}", arrays)
        store.put("device inner", {"M": point.M})
        store.state["device"] = {"n_rounds": point.n_rounds, "blocks": len(point.blocks)}
        store.finish() if finished else store.commit()
        self._pace.wrote(start)

    def save_if_due(self, training: JointTraining) -> None:
        if self._pace.due:
            self.save(training)


def check_device_fit(model: RecursiveModel, engine: GPUEngine) -> None:
    """Refuse parameters that the fit on a device does not support."""
    if model.schedule != "exact":
        raise ParameterError(f"schedule={model.schedule!r} has no solver on a GPU; engine='gpu' takes 'exact'.")
    if engine.cluster is not None:
        raise ParameterError(f"GPUEngine(cluster=...) trains flat models; {type(model).__name__} needs one GPU here.")


def joint_on_device(
    model: RecursiveModel,
    problem: Problem,
    Y: CSR,
    positive_weight: FloatArray,
    links: Links,
    network: Network,
    engine: GPUEngine,
    checkpoint: Checkpoint | None = None,
    before: DeviceSolution | None = None,
    labels: IntArray | None = None,
) -> DeviceFit:
    """Solve the joint problem of ``model``; Y and the weights have a column per leaf of the network.

    Continues where a ``checkpoint`` stands, or starts at the solution ``before`` of the same ``labels``.
    """
    from linnaeus.models.gpu.inner import inner_matrix
    from linnaeus.models.gpu.joint import JointTraining

    clock = Clock(model.max_time)
    n_lanes = _check_memory(problem.X, network, model, engine)
    training = JointTraining(
        problem.X,
        Y,
        model.C * document_weights(problem),
        network,
        inner_matrix(links),
        loss=model.loss,
        bias=1.0 if model.fit_intercept else 0.0,
        positive_weight=positive_weight,
        engine=engine,
        n_lanes=n_lanes,
    )
    saved = None if checkpoint is None else _DeviceCheckpoint(checkpoint)
    restored = saved is not None and saved.restore(training)
    if not restored and before is not None and labels is not None:
        before.start(training, problem, labels, model.C)
    with gap_progress(model.tol, show=model.verbose > 0) as show:

        def time_left(objective: float, gap: float) -> bool:
            show(gap / max(objective, 1e-300))
            if saved is not None:
                saved.save_if_due(training)
            return not clock.over

        training.run(model.tol, model.max_iter, time_left)
    objective, gap = training.certificate()
    converged = gap <= _SLACK * model.tol * objective
    if saved is not None:
        saved.save(training, finished=converged)
    return DeviceFit(training, objective, gap, converged, clock.over and not converged)


def _check_memory(X: Matrix, network: Network, model: RecursiveModel, engine: GPUEngine) -> int:
    """Forecast what the device must hold, report it if ``verbose``, and refuse what cannot fit.

    Returns how many blocks may be visited side by side.
    """
    from linnaeus.models.gpu.streamed import resident_bytes

    width = min(engine.columns or _WIDTH, network.n_leaves)
    # The squared hinge looks at a third of the documents at most, in all that was measured.
    rows = X.shape[0] if model.loss == "logistic" else max(1, X.shape[0] // 3)
    free = engine.free_memory()
    documents, streamed = resident_bytes(X, free, screened=rows / X.shape[0] if rows < X.shape[0] else 0.0)
    sizes = {
        "documents, streamed" if streamed else "documents": documents,
        "dual variables and scores": 3 * 4 * rows * network.n_leaves,
        "inner weights": 8 * 4 * network.n_inner * (X.shape[1] + 1),
        "a block": 4 * width * (11 * rows + 4 * X.shape[1]),
    }
    needed = sum(sizes.values())
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in sizes.items())
    if model.verbose:
        note(f"{engine.device}: {format_bytes(free)} free, {format_bytes(needed)} needed: {parts}")
    if needed > free:
        fits = int(network.n_leaves * free / needed)
        raise EngineError(
            f"The joint problem needs {format_bytes(needed)} on {engine.device} ({parts}), of which "
            f"{format_bytes(free)} are free; about {fits:,} labels would fit. engine='threads' needs no device memory."
        )
    # Recordings of the iteration keep arrays of their own: twice the forecast was measured.
    return min(_LANES, 1 + max(0, free - 2 * needed) // (2 * sizes["a block"]))
