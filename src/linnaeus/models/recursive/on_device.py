"""The joint problem on a GPU: what `RecursiveModel` does there instead of sweeps on the processor."""

from __future__ import annotations

from typing import Any

from linnaeus.data.check import Problem
from linnaeus.engine.gpu import GPUEngine
from linnaeus.engine.limits import Clock, format_bytes
from linnaeus.errors import EngineError, ParameterError
from linnaeus.models.fitting import document_weights, gap_progress, positive_weights
from linnaeus.models.recursive.links import links_of
from linnaeus.models.recursive.network import Network, in_order, reduce_links
from linnaeus.progress import note
from linnaeus.typing import CSR, IntArray

__all__ = ["check_device_fit", "joint_on_device"]

_WIDTH = 1024  # leaves of a block
_SLACK = 1.05  # float32, which the iteration has, and float64, which certifies, differ in what is small enough


def check_device_fit(model: Any, engine: GPUEngine) -> None:
    """Refuse what the fit on a device does not do."""
    if model.schedule != "exact":
        raise ParameterError(f"schedule={model.schedule!r} has no solver on a GPU; engine='gpu' takes 'exact'.")
    for name in ("checkpoint", "warm_start"):
        if getattr(model, name):
            raise ParameterError(f"{name} is not for engine='gpu', which starts anew and is done in minutes.")
    if engine.cluster is not None:
        raise ParameterError(f"GPUEngine(cluster=...) trains flat models; {type(model).__name__} needs one GPU here.")


def joint_on_device(model: Any, problem: Problem, Y: CSR, labels: IntArray, network: Network, engine: GPUEngine) -> Any:
    """(the solution, with ``weights()`` of blocks of leaves; whether the gap is ``tol``); sets the model's figures."""
    from linnaeus.models.gpu.inner import inner_matrix
    from linnaeus.models.gpu.joint import JointTraining

    clock = Clock(model.max_time)
    options = {"spawn": model.spawn, "root": float(model.root)}
    E = inner_matrix(in_order(reduce_links(links_of(problem.taxonomy, labels, **options))))
    bound = model.C * document_weights(problem)
    weight = positive_weights(model.class_weight, Y, problem.codec.values(problem.taxonomy.names[labels]))
    bias = 1.0 if model.fit_intercept else 0.0
    _check_memory(problem.X, network, model, engine)
    training = JointTraining(
        problem.X, Y, bound, network, E, loss=model.loss, bias=bias, positive_weight=weight, engine=engine
    )
    with gap_progress(model.tol, show=model.verbose > 0) as show:

        def go_on(objective: float, gap: float) -> bool:
            show(gap / max(objective, 1e-300))
            return not clock.over

        training.run(model.tol, model.max_iter, go_on)
    model.objective_, model.duality_gap_ = training.certificate()
    model.n_iter_ = training.n_rounds
    converged = model.duality_gap_ <= _SLACK * model.tol * model.objective_
    model.time_limit_reached_ = clock.over and not converged
    return training, converged


def _check_memory(X: Any, network: Network, model: Any, engine: GPUEngine) -> None:
    """Forecast what the device must hold, tell it, and refuse what cannot fit."""
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
