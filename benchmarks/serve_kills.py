"""Clients that send verdicts while workers and the whole service are killed: nothing acknowledged may be lost.

    python -m benchmarks serve_kills --clients 8 --seconds 300 --workers 2

Workers, or the whole service, are killed with SIGKILL after random pauses, and the service is started again. At the end
every acknowledged verdict has to be in the store, and the audit log has to verify.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks import machine
from linnaeus import OneVsRestSVM, Pipeline, save
from linnaeus.features.text import TextFeatures
from linnaeus.serve.store.audit import verify
from linnaeus.serve.store.database import open_database

__all__ = ["Campaign", "run"]

_DOCUMENTS = 50


class Campaign:
    """A service that is killed, and clients that go on.

    Parameters
    ----------
    folder : Path
        Where the model and the store are kept.
    workers : int
        Number of worker processes of the service.
    seed : int, default=0
        Seed of the pauses, and of what is killed.
    """

    def __init__(self, folder: Path, workers: int, seed: int = 0) -> None:
        self.folder, self.workers, self.random = folder, workers, random.Random(seed)
        self.acknowledged: list[str] = []
        self.kills = {"worker": 0, "service": 0}
        self.refused = 0
        self._stop = threading.Event()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures(min_df=1))
        save(pipe.fit(["cats purr", "dogs bark"], ["cat", "dog"]), folder / "pets")
        self.service = self._started()
        documents = [{"id": f"d{i}", "text": f"a cat purrs {i}"} for i in range(_DOCUMENTS)]
        status = self._post("/api/v1/documents", {"documents": documents})
        assert status == 200, status

    def run(self, clients: int, seconds: float) -> dict[str, object]:
        """Kill for some seconds while clients send verdicts, then look at what is left."""
        threads = [threading.Thread(target=self._client, args=(k,)) for k in range(clients)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.2, 2.0))
            self._kill()
        self._stop.set()
        for thread in threads:
            thread.join()
        if self.service.poll() is None:
            self.service.terminate()
            self.service.wait()
        return self._found()

    def _started(self) -> subprocess.Popen[bytes]:
        """A service that is ready; it is started once workers of the one before have ended and left the port."""
        command = [sys.executable, "-m", "linnaeus", "serve", str(self.folder / "pets"), "--port", str(self.port)]
        command += ["--store", str(self.folder / "store"), "--workers", str(self.workers), "--control", "0"]
        with (self.folder / "service.log").open("ab") as log:
            for _ in range(60):
                while self._is_open():
                    time.sleep(0.05)
                process = subprocess.Popen(command, env=os.environ, stdout=log, stderr=log)
                while process.poll() is None:
                    with contextlib.suppress(OSError, http.client.HTTPException):
                        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                        connection.request("GET", "/api/v1/ready")
                        if connection.getresponse().status == 200 and process.poll() is None:
                            return process
                    time.sleep(0.05)
                time.sleep(0.5)
        raise SystemExit(f"the service does not start; {self.folder / 'service.log'} says why")

    def _is_open(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _kill(self) -> None:
        """Kill a worker, or the service, which is then started again."""
        children = _children(self.service.pid)
        if self.workers > 1 and children and self.random.random() < 0.7:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.random.choice(children), signal.SIGKILL)
            self.kills["worker"] += 1
            return
        self.service.kill()
        self.service.wait()
        self.kills["service"] += 1
        self.service = self._started()

    def _client(self, k: int) -> None:
        """Send verdicts one after the other; one that was not acknowledged is sent again with its key."""
        i = 0
        while not self._stop.is_set():
            key = f"{k}-{i}"
            verdict = {"key": key, "document": f"d{(k + i) % _DOCUMENTS}", "coder": f"coder {k}", "kind": "flag"}
            with contextlib.suppress(OSError, http.client.HTTPException):
                status = self._post("/api/v1/verdicts", {"verdicts": [verdict]})
                if status == 200:
                    self.acknowledged.append(key)
                    i += 1
                    continue
                assert status == 503, status
                self.refused += 1
            time.sleep(0.05)

    def _post(self, path: str, content: object) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def _found(self) -> dict[str, object]:
        store = self.folder / "store"
        database = open_database(store)
        try:
            with database.read() as transaction:
                stored = [row["key"] for row in transaction.rows("SELECT key FROM verdicts")]
            report = verify(store, database)
        finally:
            database.close()
        return {
            "acknowledged": len(self.acknowledged),
            "stored": len(stored),
            "lost": len(set(self.acknowledged) - set(stored)),
            "stored_twice": len(stored) - len(set(stored)),
            "refused": self.refused,
            "kills": self.kills,
            "log_lines": report.lines,
            "log_problems": report.problems,
        }


def _children(process: int) -> list[int]:
    """Worker processes of a service; the process that tracks shared resources is not one."""
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [int(pid) for pid in found if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    except OSError:
        return []


def run(arguments: list[str]) -> dict[str, object]:
    """Run a campaign, print and return what it found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve_kills", description=__doc__)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = Campaign(Path(folder), given.workers, given.seed).run(given.clients, given.seconds)
    result = {"machine": machine.describe(), "seconds": given.seconds, "workers": given.workers, **found}
    result["within_budget"] = not found["lost"] and not found["stored_twice"] and not found["log_problems"]
    print(json.dumps(result, indent=1))
    return result
