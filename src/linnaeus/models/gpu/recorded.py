"""Operations that a device repeats on the same arrays, launched as one CUDA graph.

Launching a kernel takes the host some 10 microseconds, about as long as a device works on a block of leaves with it. A
piece of an iteration, a function without arguments that reads and writes arrays which stay where they are, is recorded
once and replayed with one call. Between pieces the host asks for a `Flag`, on which it decides what comes next.

What a piece needs again when it is repeated it must change in place: a replay does not run its Python code, and names
that were bound again still mean the arrays of the recording.

Recordings of one `Recorder` share their temporary memory. Arrays that live from piece to piece of a sequence are safe
until the last one of it is recorded; those that another sequence reads must be referred to as long as it is used.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from functools import cache

import torch

from linnaeus.models.gpu.documents import Tensor

__all__ = ["Flag", "Piece", "Recorder"]

Piece = Callable[[], None]


class Flag:
    """A truth value on its way from the device: ``put`` in a piece, ``sent`` after it, then ``bool`` waits for it."""

    def __init__(self, device: torch.device | str) -> None:
        on_cuda = torch.device(device).type == "cuda"
        self._value = torch.zeros((), dtype=torch.bool, pin_memory=on_cuda)
        self._event = torch.cuda.Event() if on_cuda else None

    def put(self, value: Tensor) -> None:
        """Send a value, as part of a piece."""
        self._value.copy_(value, non_blocking=True)

    def sent(self) -> Flag:
        """Mark that all pieces that send a value have been launched; what comes later is not waited for."""
        if self._event is not None:
            self._event.record()
        return self

    def __bool__(self) -> bool:
        if self._event is not None:
            self._event.synchronize()
        return bool(self._value)


@cache
def _stream(device: str) -> torch.cuda.Stream:
    """The stream of all recordings: libraries keep memory for every stream that they were used on."""
    return torch.cuda.Stream(device)


class Recorder:
    """Makes pieces into graphs on CUDA, from when it is ``ready``; elsewhere, and before, pieces stay functions.

    Whatever compiles kernels or counts things on first use has to have run before: the first rounds are not recorded.
    """

    def __init__(self, device: torch.device | str, *, enabled: bool = True) -> None:
        self._cuda = torch.device(device).type == "cuda"
        self.enabled = enabled and self._cuda
        self.ready = False
        self.n_recorded = 0
        if self.enabled:
            self._pool = torch.cuda.graph_pool_handle()
            self._stream = _stream(str(device))

    @property
    def recording(self) -> bool:
        """Whether pieces become graphs now."""
        return self.enabled and self.ready

    def record(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Pieces of one sequence, in the order of their first use, each as a graph; as they are where that fails."""
        if not self.recording:
            return list(pieces)
        found: list[Piece] = []
        for piece in pieces:
            graph = self._graph(piece)
            if graph is None:
                self.enabled = False
                return list(pieces)
            found.append(graph)
        return found

    def _graph(self, piece: Piece) -> Piece | None:
        graph, here = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                piece()
                graph.capture_end()
            except RuntimeError:  # an operation that cannot be recorded; what was begun must end all the same
                with contextlib.suppress(RuntimeError):
                    graph.capture_end()
                self._end_of_failure()
                return None
        here.wait_stream(self._stream)
        self.n_recorded += 1
        return graph.replay

    def _end_of_failure(self) -> None:
        """Record nothing: the random numbers of PyTorch still wait for the end of the recording that failed."""
        nothing = torch.cuda.CUDAGraph()
        with contextlib.suppress(RuntimeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nothing.capture_begin(capture_error_mode="thread_local")
            nothing.capture_end()
