"""One GPU as an engine: which device the linear core uses, how operands are stored, and how much memory is taken.

The solvers for it are written in PyTorch (`linnaeus.models.gpu`). They also run on the CPU, with
``GPUEngine(device="cpu")``, which is meant for tests and not for speed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from linnaeus.engine.ray import RayEngine
from linnaeus.errors import EngineError, ParameterError, check_number, nearest
from linnaeus.typing import R, S, T

__all__ = ["GPUEngine", "find_torch", "gpu_if_any"]

_STORAGES = ("float32", "bfloat16")


def find_torch() -> ModuleType:
    """The module torch, or an error that says how to install it."""
    try:
        import torch
    except ImportError as error:
        raise EngineError("engine='gpu' needs PyTorch, which is not installed: pip install 'linnaeus[gpu]'.") from error
    return torch


def gpu_if_any() -> GPUEngine | None:
    """The first GPU of this machine, if it has one and PyTorch is installed."""
    try:
        return GPUEngine()
    except EngineError:
        return None


class GPUEngine:
    """The linear core on one GPU.

    Parameters
    ----------
    device : str, default="cuda"
        "cuda", "cuda:1", ..., or "cpu", which runs the same code on the processor.
    storage : str, default="float32"
        How operands of the products are stored, "float32" or "bfloat16"; sums are in float32 with both, the certified
        gap in float64.
    memory : float or str, default=None
        Bytes of the device that may be used, or "40GB"; default: nine tenths of what is free.
    columns : int, default=None
        Labels that are solved at a time; default: as many as memory allows, at most 1,024.
    cluster : RayEngine, default=None
        A `RayEngine` whose workers have GPUs, one for each task; this machine needs none. For flat models.

    Examples
    --------
    >>> GPUEngine(device="cpu").n_workers
    1
    """

    def __init__(
        self,
        device: str = "cuda",
        *,
        storage: str = "float32",
        memory: float | str | None = None,
        columns: int | None = None,
        cluster: RayEngine | None = None,
    ) -> None:
        from linnaeus.engine import parse_bytes

        torch = find_torch()
        if storage not in _STORAGES:
            raise ParameterError(f"storage={storage!r}; expected 'float32' or 'bfloat16'{nearest(storage, _STORAGES)}")
        if columns is not None:
            check_number("columns", columns, least=1, whole=True)
        if cluster is not None and not isinstance(cluster, RayEngine):
            raise ParameterError(f"cluster={cluster!r}; expected a RayEngine.")
        if cluster is None and str(device).startswith("cuda") and not torch.cuda.is_available():
            raise EngineError("engine='gpu' found no GPU here; GPUEngine(device='cpu') runs the same code without one.")
        try:
            self.device = str(torch.device(device))
        except RuntimeError as error:
            raise ParameterError(f"device={device!r}; expected 'cuda', 'cuda:0' or 'cpu'.") from error
        self.storage = storage
        self.columns = columns
        self.memory = None if memory is None else parse_bytes(memory, "memory")
        self.cluster = cluster
        self.n_workers = 1 if cluster is None else cluster.n_workers
        self._free_on_cluster: int | None = None
        if cluster is not None and self.device.startswith("cuda"):
            cluster.num_gpus = max(1, cluster.num_gpus)

    def here(self) -> GPUEngine:
        """The engine as a worker of its cluster uses it: one device and no cluster."""
        found = copy.copy(self)
        found.cluster, found.n_workers = None, 1
        return found

    def free_memory(self) -> int:
        """Bytes of the device that may still be taken."""
        from linnaeus.engine import available_memory

        if self.cluster is not None:
            if self._free_on_cluster is None:
                self._free_on_cluster = next(iter(self.cluster.map(_free_at_worker, [None], shared=self.here())))
            return self._free_on_cluster
        torch = find_torch()
        if self.device.startswith("cuda"):
            free = torch.cuda.mem_get_info(self.device)[0]
            free += torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        else:
            free = int(min(available_memory(), 2**62))
        free = int(0.9 * free)
        return free if self.memory is None else min(free, self.memory)

    def release_memory(self) -> None:
        """Give memory of the device that PyTorch keeps and nothing uses back to it."""
        if self.device.startswith("cuda"):
            with find_torch().cuda.device(self.device):
                find_torch().cuda.empty_cache()

    def map(self, function: Callable[[S, T], R], tasks: Iterable[T], shared: S) -> Iterator[R]:
        """Run tasks one after the other, because each fills the device; with a cluster, one on each of its GPUs."""
        if self.cluster is not None:
            yield from self.cluster.map(function, tasks, shared)
            return
        for task in tasks:
            yield function(shared, task)

    def __deepcopy__(self, memo: object) -> GPUEngine:
        return self

    def __repr__(self) -> str:
        return f"GPUEngine(device={self.device!r}, storage={self.storage!r})"


def _free_at_worker(engine: GPUEngine, _: None) -> int:
    """Bytes that a worker of the cluster may take."""
    return engine.free_memory()
