"""Operations that a device repeats on the same arrays, launched as one CUDA graph.

Launching a kernel takes the host some 10 microseconds, about as long as a device works on a block of leaves with it. A
piece of an iteration, a function without arguments that reads and writes arrays which stay where they are, is recorded
once and replayed with one call. Between pieces the host asks for a `Flag`, on which it decides what comes next.

What a piece needs again when it is repeated it must change in place: a replay does not run its Python code, and names
that were bound again still mean the arrays of the recording.

Recordings of one `Recorder` share their temporary memory. Arrays that live from piece to piece of a sequence are safe
until the last one of it is recorded; those that another sequence reads must be referred to as long as it is used.

A sequence that does not depend on others is a generator: it launches pieces, and yields where it would wait for a flag.
`Lanes` run such sequences side by side, so that the device has work while the host, or the longest program of a kernel,
is waited for.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TypeVar

import torch

from linnaeus.models.gpu.documents import Tensor

__all__ = ["Flag", "Lanes", "Piece", "Recorder", "Steps", "finished"]

T = TypeVar("T")
Piece = Callable[[], None]
Steps = Generator[None, None, T]


def finished(steps: Steps[T]) -> T:
    """Run a sequence to its end; what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


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
        return self.known

    @property
    def known(self) -> bool:
        """The value, after another flag that was sent later has been waited for."""
        return bool(self._value)


@cache
def _stream(device: str, number: int) -> torch.cuda.Stream:
    """The stream of all recordings (0) and those of lanes: libraries keep memory for every stream that they use."""
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
            self._stream = _stream(str(device), 0)
            self._mark = torch.zeros((), device=device)
            self._kept: Piece | None = None  # a graph: without any, PyTorch gives the memory up for good

    @property
    def recording(self) -> bool:
        """Whether pieces become graphs now."""
        return self.enabled and self.ready

    def record(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Pieces of one sequence, in the order of their first use, each as a graph; as they are where that fails."""
        if not self.recording:
            return list(pieces)
        if self._kept is None:
            self._kept = self._graph(self._mark.zero_)
        found: list[Piece] = []
        for piece in pieces:
            graph = self._graph(piece)
            if graph is None:
                self.enabled = False
                return list(pieces)
            found.append(graph)
        return found

    def _graph(self, piece: Callable[[], object]) -> Piece | None:
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


class Lanes:
    """Streams of a device with a `Recorder` each, so that no two of them share temporary memory; one where it has none.

    Until recorders are ``ready``, sequences run one after the other: their arrays would stay with the streams.
    """

    def __init__(self, device: torch.device | str, n_lanes: int) -> None:
        n_lanes = n_lanes if torch.device(device).type == "cuda" else 1
        self.recorders = [Recorder(device) for _ in range(n_lanes)]
        self._streams = [_stream(str(device), 1 + lane) for lane in range(n_lanes)] if n_lanes > 1 else []

    def recorder(self, number: int) -> Recorder:
        """The recorder of the sequence of this number."""
        return self.recorders[number % len(self.recorders)]

    def ready(self, ready: bool) -> None:
        """Let pieces be recorded from now on, or not."""
        for recorder in self.recorders:
            recorder.ready = ready

    def run(self, sequences: Sequence[Steps[None]]) -> None:
        """Run all sequences to their ends, those of a lane in their order."""
        if not self._streams or not self.recorders[0].ready:
            for steps in sequences:
                finished(steps)
            return
        here = torch.cuda.current_stream()
        lanes = len(self._streams)
        waiting: dict[torch.cuda.Stream, Iterator[None]] = {
            stream: chain.from_iterable(sequences[lane::lanes]) for lane, stream in enumerate(self._streams)
        }
        for stream in self._streams:
            stream.wait_stream(here)
        while waiting:
            for stream, rest in list(waiting.items()):
                with torch.cuda.stream(stream):
                    if next(rest, waiting) is waiting:
                        del waiting[stream]
        for stream in self._streams:
            here.wait_stream(stream)
