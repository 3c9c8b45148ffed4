"""Requests that arrive together, or while a model is busy, are answered in one call of the model.

A call has costs that do not depend on the number of documents, and the answer to a document does not depend on the
others, bit for bit. Requests of the same form for plain texts (`top`, and `predict`, without rules or a decoder) are
put together; all others are answered one by one. While calls are short, they are made in the loop that receives
requests: a change of thread would take longer, and the interpreter runs one thread at a time in any case.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from linnaeus.errors import LinnaeusError
from linnaeus.serve import answers
from linnaeus.serve.schemas import Document, Predict, Request, Top

if TYPE_CHECKING:
    from linnaeus.answering.records import Record
    from linnaeus.serve.models import ServedModel

__all__ = ["AnswerQueue"]

_AT_ONCE = 256  # documents that are put together
_LONG = 50_000  # characters of a call that is not made in the loop
_SHORT = 0.01  # seconds
_FIRST = 3  # calls until it is known whether they are short


@dataclass(eq=False)
class _Waiting:
    """A request, and where its records are expected."""

    request: Request
    documents: list[Document]
    form: tuple[object, ...] | None  # requests of the same form can be put together; None for one that cannot
    deadline: float
    answer: asyncio.Future[list[Record]]


class AnswerQueue:
    """Requests to one model.

    Parameters
    ----------
    served : ServedModel
        The model; its lock is held during a call.
    """

    def __init__(self, served: ServedModel) -> None:
        self.served = served
        self._waiting: deque[_Waiting] = deque()
        self._is_busy = False
        self._seconds: deque[float] = deque(maxlen=_FIRST)  # of the last calls with little text

    async def records(self, request: Request, documents: list[Document], deadline: float) -> list[Record]:
        """One record per document of a request, in their order."""
        loop = asyncio.get_running_loop()
        form = _form(self.served, request, documents)
        one = _Waiting(request, documents, form, deadline, loop.create_future())
        self._waiting.append(one)
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._next, loop)  # after requests that were received at the same time
        return await one.answer

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin the next call, if a request is waiting."""
        together = self._taken()
        if not together:
            self._is_busy = False
        elif self._is_short(together) and self.served.lock.acquire(blocking=False):
            try:
                self._call(together)
            finally:
                self.served.lock.release()
            loop.call_soon(self._next, loop)
        else:
            task = loop.create_task(self._in_thread(together, loop))
            together[0].answer.add_done_callback(lambda _: task)  # a task lives only as long as it is referred to

    async def _in_thread(self, together: list[_Waiting], loop: asyncio.AbstractEventLoop) -> None:
        try:
            found = await anyio.to_thread.run_sync(self._locked, together)
            _give(together, found)
        finally:
            _give(together, [TimeoutError() for _ in together])  # those without an answer: the service ends
            self._next(loop)

    def _taken(self) -> list[_Waiting]:
        """The first request, and those after it that can be answered with it."""
        while self._waiting and self._waiting[0].answer.done():  # its client has gone
            self._waiting.popleft()
        if not self._waiting:
            return []
        together = [self._waiting.popleft()]
        n = len(together[0].documents)
        while self._waiting and together[0].form is not None and self._waiting[0].form == together[0].form:
            n += len(self._waiting[0].documents)
            if n > _AT_ONCE:
                break
            together.append(self._waiting.popleft())
        return [one for one in together if not one.answer.done()]

    def _is_short(self, together: Sequence[_Waiting]) -> bool:
        known = len(self._seconds) == _FIRST and max(self._seconds) < _SHORT
        return known and together[0].form is not None and _n_characters(together) < _LONG

    def _locked(self, together: Sequence[_Waiting]) -> list[list[Record] | Exception]:
        last = max(one.deadline for one in together)
        if not self.served.lock.acquire(timeout=max(0.0, last - time.monotonic())):
            return [TimeoutError() for _ in together]
        try:
            return self._timed(together)
        finally:
            self.served.lock.release()

    def _call(self, together: Sequence[_Waiting]) -> None:
        _give(together, self._timed(together))

    def _timed(self, together: Sequence[_Waiting]) -> list[list[Record] | Exception]:
        started = time.perf_counter()
        found = _answered(self.served, together)
        if together[0].form is not None and _n_characters(together) < _LONG:
            self._seconds.append(time.perf_counter() - started)
        return found


def _give(together: Sequence[_Waiting], found: Sequence[list[Record] | Exception]) -> None:
    for one, answer in zip(together, found, strict=True):
        if one.answer.done():
            continue
        if isinstance(answer, Exception):
            one.answer.set_exception(answer)
        else:
            one.answer.set_result(answer)


def _answered(served: ServedModel, together: Sequence[_Waiting]) -> list[list[Record] | Exception]:
    """Records of requests of the same form; one by one where they cannot be answered together."""
    if len(together) > 1:
        documents = [document for one in together for document in one.documents]
        try:
            whole = together[0].request.model_copy(update={"documents": documents, "rules": None})
            records = answers.records(served, whole, min(one.deadline for one in together))
        except (LinnaeusError, TimeoutError):  # of one of them; the others are answered below
            pass
        except Exception as error:
            return [error for _ in together]
        else:
            rest, found = iter(records), []
            for one in together:
                part = [next(rest) for _ in one.documents]
                for i, (document, record) in enumerate(zip(one.documents, part, strict=True), start=1):
                    record["id"] = str(i) if document.id is None else document.id
                found.append(part)
            return list(found)
    alone: list[list[Record] | Exception] = []
    for one in together:
        try:
            alone.append(answers.records(served, one.request, one.deadline))
        except Exception as error:
            alone.append(error)
    return alone


def _form(served: ServedModel, request: Request, documents: Sequence[Document]) -> tuple[object, ...] | None:
    """What requests have in common that can be put together."""
    if request.rules is not None or any(one.text is None or one.rules is not None for one in documents):
        return None
    if isinstance(request, Top):
        return "top", request.k, request.probabilities, request.ancestors, request.answer_unknown
    if isinstance(request, Predict) and request.decoder is None and not served.decides_batches:
        return "predict", request.closed, request.probabilities, request.answer_unknown
    return None


def _n_characters(together: Sequence[_Waiting]) -> int:
    return sum(len(document.text or "") for one in together for document in one.documents)
