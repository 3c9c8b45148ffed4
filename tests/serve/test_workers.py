"""Several processes behind one address share the store, and no kill loses what was acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.serve_kills import Campaign
from linnaeus.errors import ParameterError
from linnaeus.serve.app import _end_with
from linnaeus.serve.refit import main as train
from linnaeus.serve.settings import Settings
from linnaeus.serve.store.database import first_process
from tests.serve.test_running import asked, running


def test_rates_with_several_workers_are_refused_in_words() -> None:
    with pytest.raises(ParameterError, match="--rate counts requests in one process; give --workers 1"):
        Settings(("model",), workers=2, rate=60)


def test_only_one_process_works_in_the_background(tmp_path) -> None:
    first = first_process(tmp_path / "lock")
    assert first is not None
    assert first_process(tmp_path / "lock") is None
    first.close()
    again = first_process(tmp_path / "lock")
    assert again is not None
    again.close()


def test_a_training_that_was_finished_by_the_process_of_a_killed_worker_is_not_repeated(tmp_path) -> None:
    (tmp_path / "result.json").write_text("{}")
    assert train(str(tmp_path)) == 0  # there is no request to read
    assert (tmp_path / "result.json").read_text() == "{}"


def test_a_worker_that_begins_after_its_service_was_killed_ends(monkeypatch) -> None:
    ended = []
    monkeypatch.setenv("LINNAEUS_SERVE_PARENT", "1234567")  # no such process, and not the parent of this one
    monkeypatch.setattr("linnaeus.serve.app.os.kill", lambda process, number: ended.append((process, number)))
    with ThreadPoolExecutor(1) as thread:  # another test may have left a loop running in this one
        thread.submit(asyncio.run, _end_with(Settings.exporter())).result()
    assert ended == [(os.getpid(), signal.SIGTERM)]


@pytest.mark.slow
def test_workers_share_jobs_and_end_when_the_service_is_killed(folders, tmp_path) -> None:
    with running(folders["joint"], "--workers", "2", "--store", str(tmp_path)) as (process, port):
        for i in range(6):  # any worker may answer; all see the documents and jobs of all
            assert asked(port, "POST", "/api/v1/documents", {"documents": [{"id": f"d{i}", "text": "cat"}]})[0] == 200
        assert json.loads(asked(port, "GET", "/api/v1/documents")[1])["total"] == 6
        body = {"model": "joint", "top": {"documents": ["cat purr"] * 600, "k": 1}}
        job = json.loads(asked(port, "POST", "/api/v1/jobs", body)[1])["job"]["id"]
        states = []
        while not states or states[-1] not in ("done", "failed"):
            states.append(json.loads(asked(port, "GET", f"/api/v1/jobs/{job}")[1])["job"]["state"])
            time.sleep(0.2)
        assert states[-1] == "done"
        assert asked(port, "GET", f"/api/v1/jobs/{job}/result")[1].count(b"\n") == 600
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        started = {Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
        assert started == {Path(f"/proc/{process.pid}/cmdline").read_bytes()}  # copies, which share what is imported
        process.send_signal(signal.SIGKILL)
        process.wait()
        for _ in range(300):
            alive = [pid for pid in children if _runs(int(pid))]
            if not alive:
                break
            time.sleep(0.1)
        assert not alive
        with pytest.raises((OSError, http.client.HTTPException)):
            asked(port, "GET", "/api/v1/health")


def _runs(process: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(process, 0)
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2][:3]
    return False


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_kills_of_workers_and_of_the_service_lose_no_acknowledged_verdict(tmp_path, workers) -> None:
    found = Campaign(tmp_path, workers, seed=workers).run(clients=8, seconds=30.0)
    assert found["acknowledged"] > 0
    assert sum(found["kills"].values()) > 3
    assert (found["lost"], found["stored_twice"], found["log_problems"]) == (0, 0, [])
