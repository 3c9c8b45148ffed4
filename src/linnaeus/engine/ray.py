"""Blocks on the workers of a Ray cluster: processes of this machine, or of many.

``map(function, tasks, shared)`` puts ``shared`` (the documents) into Ray's object store once: every machine keeps one
copy and its workers read the arrays in place, without copying. Tasks travel one by one, a bounded number at a time, and
results come back in their order. Tasks are pure functions, so that Ray runs the task of a lost worker again, elsewhere,
with the same result; an error of the function itself is raised here at once, as it was.

A process has one Ray session: it joins a cluster, or starts one on this machine that nobody else can reach.

A cluster started here listens on the loopback interface only, has no dashboard, sends no usage statistics and requires
Ray's token where Ray has one. Its workers see the import path of this process, so that a package run from its source
tree is found; workers of another cluster must have linnaeus installed. Every worker uses one BLAS thread and the
instruction set that ``LINNAEUS_SIMD`` names here, so that the result of a block does not depend on where it is solved.
"""

from __future__ import annotations

import copy
import importlib.util
import logging
import os
import socket
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from linnaeus.errors import EngineError, check_number
from linnaeus.typing import R, S, T

__all__ = ["RayEngine", "end_session", "find_ray", "join_session", "start_session", "worker_environment"]

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


def start_session(
    n_workers: int, store_memory: int | None, runtime_env: dict[str, object], *, gpus: bool = False
) -> str:
    """Start a cluster of ``n_workers`` on this machine, with or without its GPUs; returns its address."""
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


def join_session(address: str, runtime_env: dict[str, object]) -> str:
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


def end_session(address: str) -> None:
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


class RayEngine:
    """Runs tasks on a Ray cluster; what is shared is sent once and must not change while the engine lives.

    The cluster is joined or started at the first `map`, or by ``with``, and left at the end of ``with``, by `close`, or
    when the engine is garbage-collected. An existing Ray session of this process is used and left open.

    Parameters
    ----------
    n_workers : int, default=None
        Tasks that run at a time; None is all cores of this machine, or of the cluster joined.
    address : str, default=None
        A running cluster, as "10.0.0.1:6379" or "auto"; default: the variable ``RAY_ADDRESS``, and without it a cluster
        of this machine alone, started for this engine.
    retries : int, default=3
        Maximum number of times that a task is run again when its worker is lost.
    num_gpus : int, default=0
        Number of GPUs that every task needs; `GPUEngine` requires one.
    store_memory : int, default=None
        Bytes of the object store of a cluster started here; Ray takes 30% of the memory when None.
    runtime_env : dict, default=None
        Further requirements of the workers, see Ray's runtime environments.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> from linnaeus.engine import RayEngine
    >>> with RayEngine(n_workers=2) as engine:  # doctest: +SKIP
    ...     model = OneVsRestSVM(engine=engine).fit(X, y)
    """

    def __init__(
        self,
        n_workers: int | None = None,
        address: str | None = None,
        retries: int = 3,
        *,
        num_gpus: int = 0,
        store_memory: int | None = None,
        runtime_env: dict[str, object] | None = None,
    ) -> None:
        from linnaeus.engine import n_workers as cores

        find_ray()
        if n_workers is not None:
            check_number("n_workers", n_workers, least=1, whole=True)
        check_number("retries", retries, least=0, whole=True)
        check_number("num_gpus", num_gpus, least=0, whole=True)
        self._settings = (n_workers, address, retries, store_memory, runtime_env)
        self.num_gpus = num_gpus
        self.n_workers = cores(-1) if n_workers is None else n_workers
        self.retries = retries
        self._ahead = 2 * self.n_workers
        self._run: Any = None  # the remote function of Ray, made once, so that workers fetch it once
        self._leave: Callable[[], object] | None = None
        self._sent = _Sent()

    def map(self, function: Callable[[S, T], R], tasks: Iterable[T], shared: S) -> Iterator[R]:
        self.start()
        import ray

        run = self._run.options(num_gpus=self.num_gpus) if self._on_gpus() else self._run
        reference = self._sent.put(shared)
        waiting: deque[object] = deque()
        try:
            for task in tasks:
                waiting.append(run.remote(function, reference, task))
                if len(waiting) > self._ahead:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:  # also on Ctrl-C: tasks that have not begun never begin
            for left in waiting:
                ray.cancel(left)

    def _on_gpus(self) -> bool:
        """Whether tasks need GPUs; an error if the cluster has too few for one task, which would wait forever."""
        import ray

        if self.num_gpus and ray.cluster_resources().get("GPU", 0) < self.num_gpus:
            raise EngineError(f"Every task needs {self.num_gpus} GPU(s), of which the Ray cluster has fewer.")
        return self.num_gpus > 0

    def _result(self, reference: object) -> Any:
        """A result as a thread would return it: a writable copy that occupies no space in the object store."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            return copy.deepcopy(ray.get(reference))
        except RayTaskError as error:
            if not isinstance(error.cause, Exception):
                raise
            error.cause.add_note(f"In a worker of Ray: {error}")
            raise error.cause from None
        except RayError as error:
            raise EngineError(
                f"A block of work was lost on the Ray cluster {self.retries + 1} time(s), more than retries="
                f"{self.retries} allows: {str(error).splitlines()[0]}"
            ) from error

    def start(self) -> None:
        """Join or start the cluster, if this has not been done."""
        import ray

        if self._leave is not None and ray.is_initialized():
            return
        self.close()
        n_workers, address, _, store_memory, runtime_env = self._settings
        address = address or os.environ.get("RAY_ADDRESS")
        local = address is None and not ray.is_initialized()
        environment = dict(runtime_env or {})
        variables = worker_environment(local=local)
        given = environment.get("env_vars")
        environment["env_vars"] = variables | (given if isinstance(given, dict) else {})
        options: dict[str, object] = {"num_cpus": 1, "max_retries": self.retries}
        if ray.is_initialized():  # the session belongs to the caller, who ends it
            self._leave, options["runtime_env"] = _nothing, environment
        elif address is None:
            session = start_session(self.n_workers, store_memory, environment, gpus=self.num_gpus > 0)
            self._leave = weakref.finalize(self, end_session, session)
        else:
            session = join_session(address, environment)
            self._leave = weakref.finalize(self, end_session, session)
        self._run = ray.remote(_run).options(**options)
        if local:
            self._ahead = 2 * self.n_workers
        elif n_workers is None:
            self.n_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
            self._ahead = 2 * self.n_workers
        else:  # the cluster may have more cores than this engine may use
            self._ahead = n_workers - 1

    def close(self) -> None:
        """Forget what was sent; leave the cluster, which ends it if this engine started it."""
        self._sent.clear()
        leave, self._leave, self._run = self._leave, None, None
        if leave is not None:
            leave()

    def __enter__(self) -> RayEngine:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __deepcopy__(self, memo: object) -> RayEngine:
        return self  # clones of an estimator share the cluster

    def __reduce__(self) -> tuple[Callable[..., RayEngine], tuple[object, ...]]:
        *positional, store_memory, runtime_env = self._settings
        return _rebuilt, (positional, store_memory, runtime_env, self.num_gpus)


class _Sent:
    """References to what is in the object store, by identity: sent once, released when the object itself dies.

    An object without weak references (a tuple, a dict) is held, but only the last of them.
    """

    def __init__(self) -> None:
        self._references: dict[int, object] = {}
        self._held: tuple[object, object] = (None, None)

    def put(self, shared: object) -> object:
        if id(shared) in self._references:
            return self._references[id(shared)]
        if self._held[1] is not None and self._held[0] is shared:
            return self._held[1]
        reference = _put(shared)
        try:
            weakref.finalize(shared, self._references.pop, id(shared), None).atexit = False
            self._references[id(shared)] = reference
        except TypeError:
            self._held = (shared, reference)
        return reference

    def clear(self) -> None:
        self._references.clear()
        self._held = (None, None)


def _put(shared: object) -> object:
    import ray
    from ray.exceptions import ObjectStoreFullError

    try:
        return ray.put(shared)
    except ObjectStoreFullError as error:
        room = ray.cluster_resources().get("object_store_memory", 0) / 2**20
        raise EngineError(
            f"The documents do not fit into Ray's object store of {room:,.0f} MB; increase it with "
            "RayEngine(store_memory=...), or where the cluster is started."
        ) from error


def _run(function: Callable[[S, T], R], shared: S, task: T) -> R:
    """The task of a worker."""
    return function(shared, task)


def _rebuilt(
    positional: tuple[int | None, str | None, int],
    store_memory: int | None,
    runtime_env: dict[str, object] | None,
    num_gpus: int = 0,
) -> RayEngine:
    return RayEngine(*positional, num_gpus=num_gpus, store_memory=store_memory, runtime_env=runtime_env)


def _nothing() -> None:
    """Leave a session that the engine did not start: nothing is done."""
