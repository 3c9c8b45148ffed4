"""One Ray session for this process: join a cluster, or start one on this machine that nobody else can reach.

A cluster started here listens on the loopback interface only, has no dashboard, sends no usage statistics and requires
Ray's token where Ray has one. Its workers see the import path of this process, so that a package run from its source
tree is found; workers of another cluster must have linnaeus installed. Every worker uses one BLAS thread and the
instruction set that ``LINNAEUS_SIMD`` names here, so that the result of a block does not depend on where it is solved.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from linnaeus.errors import EngineError

__all__ = ["end", "find_ray", "join", "start", "worker_environment"]

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def find_ray() -> None:
    """Raise an error early, without importing Ray, if it is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise EngineError("engine 'ray' needs the package ray, which is not installed: pip install linnaeus[ray]")


def start(n_workers: int, store_memory: int | None, runtime_env: dict[str, object], *, gpus: bool = False) -> str:
    """Start a cluster of ``n_workers`` on this machine, with or without its GPUs; returns its address, for `end`."""
    import ray

    with _local_only():
        ray.init(
            address="local",
            num_cpus=n_workers,
            num_gpus=None if gpus else 0,
            object_store_memory=store_memory,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="warning",
            runtime_env=runtime_env,
            _node_ip_address="127.0.0.1",
        )
    return _address()


def join(address: str, runtime_env: dict[str, object]) -> str:
    """Connect this process to a running cluster."""
    import ray

    host, _, port = address.rpartition(":")
    try:
        if port.isdigit() and "/" not in host:  # Ray itself would try for many minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        with _local_only() if host in ("127.0.0.1", "localhost") else nullcontext():
            ray.init(address=address, log_to_driver=False, logging_level="warning", runtime_env=runtime_env)
    except (OSError, RuntimeError, ValueError) as error:
        raise EngineError(
            f"No Ray cluster answers at {address!r}; expected the address of its head, as 10.0.0.1:6379 ({error})"
        ) from error
    return _address()


def end(address: str) -> None:
    """Leave the session, which stops a cluster started here; a session that others began since then stays open."""
    import ray

    if ray.is_initialized() and _address() == address:
        ray.shutdown()


def worker_environment(*, local: bool) -> dict[str, str]:
    """Environment variables of the workers; ``local`` workers also get the import path of this process."""
    variables = dict.fromkeys(_ONE_THREAD, "1")
    if "LINNAEUS_SIMD" in os.environ:
        variables["LINNAEUS_SIMD"] = os.environ["LINNAEUS_SIMD"]
    if local:
        folders = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
        variables["PYTHONPATH"] = os.pathsep.join(folders)
    return variables


def _address() -> str:
    import ray

    return str(ray.get_runtime_context().gcs_address)


@contextmanager
def _local_only() -> Iterator[None]:
    """While a cluster starts or is joined: loopback only, no statistics, no warning that Ray asks for its token.

    Ray replaces 127.0.0.1 by the address of the network card wherever it takes clusters of several machines to be
    possible, and then listens on every interface. The switch that says so is a variable for the processes it starts
    and, already read, a constant in this one.
    """
    from ray._private import ray_constants

    wanted = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    warning = logging.getLogger("ray._private.authentication.authentication_token_setup")
    level = warning.level
    warning.setLevel(logging.ERROR)  # it reports that a token is required, which is intended
    several = getattr(ray_constants, "ENABLE_RAY_CLUSTER", None)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        warning.setLevel(level)
        ray_constants.ENABLE_RAY_CLUSTER = several
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
