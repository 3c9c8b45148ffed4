"""Long work of a service: batches of documents that a model answers, and trainings in processes of their own.

A job is a row of the store and a folder. Whatever it has finished is on disk, so that another process continues a job
whose process has ended. It is cancelled by a change of its state, which its process sees before its next step.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from linnaeus.errors import LinnaeusError
from linnaeus.serve import answers
from linnaeus.serve.learning import keep_version, write_documents
from linnaeus.serve.problems import UnknownJobError, as_json
from linnaeus.serve.schemas import NBest, Predict, Request, Risk, Top
from linnaeus.serve.store.database import Row

if TYPE_CHECKING:
    from linnaeus.serve.service import Service

__all__ = ["FINISHED", "OPERATIONS", "Jobs", "shown_job"]

OPERATIONS: dict[str, type[Request]] = {"predict": Predict, "top": Top, "n-best": NBest, "risk": Risk}
FINISHED = ("done", "failed", "cancelled")
_AT_ONCE = 256  # documents between two looks at the state
_LOG = logging.getLogger("linnaeus.serve")


def shown_job(row: Row) -> dict[str, object]:
    """A job as plain values."""
    result = None if row["result"] is None else json.loads(row["result"])
    same = ("id", "kind", "state", "total", "done", "detail", "created", "changed")
    return {**{name: row[name] for name in same}, "model": row["queue"], "result": result}


class Jobs:
    """The jobs of a service.

    Parameters
    ----------
    service : Service
        A service with a store.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: dict[str, asyncio.Task[None]] = {}

    # -- requests ------------------------------------------------------------------------------------------------------

    def create(self, kind: str, queue: str, request: dict[str, object], total: int, owner: str | None = None) -> str:
        """Store a job; `start` begins it. A refit writes its documents now, and may be refused."""
        review, id_ = self._service.review, secrets.token_hex(8)
        folder = self.folder(id_)
        folder.mkdir(parents=True)
        try:
            (folder / "request.json").write_bytes(as_json(request))
            if kind in ("refit", "recalibrate"):
                write_documents(review, queue, folder, kind)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        now = time.time()
        with review.change() as transaction:
            transaction.rows(
                "INSERT INTO jobs (id, kind, queue, owner, state, total, done, request, process, created, changed) "
                "VALUES (?, ?, ?, ?, 'waiting', ?, 0, '{}', ?, ?, ?)",
                (id_, kind, queue, owner, total, os.getpid(), now, now),
            )
        return id_

    def folder(self, id: str) -> Path:
        """The folder of a job."""
        return self._service.review.folder / "jobs" / id

    def get(self, id: str) -> Row:
        """The row of a job."""
        with self._service.review.read() as transaction:
            rows = transaction.rows("SELECT * FROM jobs WHERE id = ?", (id,))
        if not rows:
            raise UnknownJobError(f"There is no job {id!r}; /api/v1/jobs lists them.")
        return rows[0]

    def newest(self, limit: int) -> list[Row]:
        """The newest jobs."""
        with self._service.review.read() as transaction:
            return transaction.rows("SELECT * FROM jobs ORDER BY created DESC, id LIMIT ?", (limit,))

    def cancel(self, id: str) -> Row:
        """Stop a job; one that is finished stays as it is."""
        if self.get(id)["state"] not in FINISHED:
            self._change(id, "state = 'cancelled'", only="state IN ('waiting', 'running')")
            self._tidy(id)
        return self.get(id)

    def _tidy(self, id: str) -> None:
        """Delete the documents of a finished job: a text that is erased must not stay here."""
        for name in ("request.json", "verdicts.jsonl", "control.jsonl"):
            (self.folder(id) / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder(id) / "checkpoint", ignore_errors=True)

    def _change(self, id: str, what: str, *values: str | int | None, only: str = "1 = 1") -> None:
        with self._service.review.change() as transaction:
            transaction.rows(f"UPDATE jobs SET {what}, changed = ? WHERE id = ? AND {only}", (*values, time.time(), id))

    # -- work ----------------------------------------------------------------------------------------------------------

    def start(self, id: str) -> None:
        """Begin or continue a job in this process."""
        task = asyncio.create_task(self._run(id))
        self._tasks[id] = task
        task.add_done_callback(lambda _: self._tasks.pop(id, None))

    async def adopt(self) -> None:
        """Continue jobs whose process has ended."""
        found = await anyio.to_thread.run_sync(self._orphans)
        for id_ in found:
            self.start(id_)

    def _orphans(self) -> list[str]:
        with self._service.review.change() as transaction:
            rows = transaction.rows("SELECT id, process FROM jobs WHERE state IN ('waiting', 'running')")
            ids = [row["id"] for row in rows if not _alive(row["process"])]
            transaction.many("UPDATE jobs SET process = ? WHERE id = ?", [(os.getpid(), id_) for id_ in ids])
        return ids

    async def close(self) -> None:
        """Stop working; the next process continues."""
        for task in list(self._tasks.values()):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self, id: str) -> None:
        try:
            row = await anyio.to_thread.run_sync(self.get, id)
            if row["state"] in FINISHED:
                return
            await anyio.to_thread.run_sync(partial(self._change, id, "state = 'running'", only="state = 'waiting'"))
            await (self._answer(row) if row["kind"] in OPERATIONS else self._train(row))
        except LinnaeusError as error:
            await anyio.to_thread.run_sync(self._fail, id, str(error))
        except Exception:
            _LOG.exception("the job %s failed", id)
            await anyio.to_thread.run_sync(self._fail, id, f"The service failed; its log has the cause under {id}.")

    def _fail(self, id: str, why: str) -> None:
        self._change(id, "state = 'failed', detail = ?", why, only="state IN ('waiting', 'running')")
        self._tidy(id)

    async def _answer(self, row: Row) -> None:
        """Answer the documents of a job in parts, each on disk before it is counted."""
        id_, service = row["id"], self._service
        served = service.models.get(row["queue"])
        content = json.loads((self.folder(id_) / "request.json").read_bytes())
        request = OPERATIONS[row["kind"]].model_validate(content)
        documents = request.given()
        done = await anyio.to_thread.run_sync(_whole_lines, self.folder(id_) / "result.jsonl")
        while done < len(documents):
            if (await anyio.to_thread.run_sync(self.get, id_))["state"] != "running":
                return
            part = documents[done : done + _AT_ONCE]
            some = request.model_copy(update={"documents": part})
            work = partial(_records, served, some, done + 1)
            records = await service.work(served, work)
            await service.record(served, row["kind"], id_, part, records)
            await anyio.to_thread.run_sync(_append, self.folder(id_) / "result.jsonl", records)
            done += len(part)
            await anyio.to_thread.run_sync(partial(self._change, id_, "done = ?", done))
        result = json.dumps({"model": served.reference, "documents": done})
        await anyio.to_thread.run_sync(partial(self._finish, id_, result))

    async def _train(self, row: Row) -> None:
        """Run a training in a process of its own, and keep its model as a version."""
        id_, folder = row["id"], self.folder(row["id"])
        served = self._service.models.get(row["queue"])
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "linnaeus.serve.refit", str(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        reading = asyncio.create_task(process.communicate())
        try:
            while not reading.done():
                await asyncio.wait([reading], timeout=0.5)
                if (await anyio.to_thread.run_sync(self.get, id_))["state"] != "running":
                    return
        finally:
            if process.returncode is None:
                process.kill()
            _, errors = await reading
        if process.returncode and not (folder / "result.json").exists():
            _LOG.error("the job %s failed: %s", id_, errors.decode("utf-8", "replace")[-4000:])
            raise LinnaeusError(
                f"The training ended with exit code {process.returncode}; the log of the service says why."
            )
        result = json.loads((folder / "result.json").read_bytes())
        if "error" in result:
            raise LinnaeusError(str(result["error"]))
        version = await anyio.to_thread.run_sync(
            partial(keep_version, self._service.review, served, row["kind"], folder=folder / "model", result=result)
        )
        await anyio.to_thread.run_sync(partial(self._finish, id_, json.dumps({**result, "version": version})))

    def _finish(self, id: str, result: str) -> None:
        self._change(id, "state = 'done', done = total, result = ?", result, only="state = 'running'")
        self._tidy(id)


def _records(served: object, request: Request, first: int, deadline: float) -> list[dict[str, object]]:
    return [dict(one) for one in answers.records(served, request, deadline, first)]  # type: ignore[arg-type]


def _append(path: Path, records: list[dict[str, object]]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(as_json(one) + b"\n" for one in records))
        file.flush()
        os.fsync(file.fileno())


def _whole_lines(path: Path) -> int:
    """The number of lines of a file, after half a line at its end is removed."""
    if not path.exists():
        return 0
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    return content.count(b"\n")


def _alive(process: int | None) -> bool:
    """Whether a process of this machine runs."""
    if process is None or process == os.getpid():  # a number that was given out again: this process has just started
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
