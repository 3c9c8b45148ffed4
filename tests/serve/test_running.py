"""The service as a process: it says where it is, answers, finishes what it has, and ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from linnaeus.serve.app import create_app
from linnaeus.serve.settings import Settings


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen, int]]:
    """`linnaeus serve` with its port; it is ended at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "linnaeus", "serve", *arguments, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        for _ in range(1200):
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(OSError):
                if asked(port, "GET", "/api/v1/ready")[0] == 200:
                    break
            time.sleep(0.1)
        yield process, port
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def asked(port: int, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {"content-type": "application/json"})
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_served_model_answers_streams_while_they_are_sent_and_ends_when_told(folders, workers) -> None:
    with running(folders["joint"], "--workers", str(workers)) as (process, port):
        status, answer = asked(port, "POST", "/api/v1/models/joint/top", {"documents": ["cat purr"], "k": 1})
        assert (status, json.loads(answer)["results"][0]["labels"][0]["label"]) == (200, "Cats")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            head = "POST /api/v1/models/joint/top/stream?k=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            client.sendall(head.encode() + b'6\r\n"cat"\n\r\n')
            received = b""
            while b"Cats" not in received:  # the first line is answered before the second is sent
                received += client.recv(65536)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            client.sendall(b'6\r\n"dog"\n\r\n0\r\n\r\n')
            while b"\r\n0\r\n\r\n" not in received:
                part = client.recv(65536)
                assert part, received
                received += part
            assert b"Dogs" in received
        process.wait(60)
        shown = process.stderr.read()
        assert f"http://127.0.0.1:{port}" in shown
        assert "Traceback" not in shown


def test_no_acknowledged_verdict_is_lost_when_the_service_is_killed(linnaeus, folders, tmp_path) -> None:
    acknowledged = []
    with running(folders["joint"], "--store", str(tmp_path)) as (process, port):
        asked(port, "POST", "/api/v1/documents", {"documents": [{"id": "d", "text": "cat"}]})
        threading.Timer(0.5, process.kill).start()
        with contextlib.suppress(OSError, http.client.HTTPException):
            for i in range(100_000):
                verdict = {"key": str(i), "document": "d", "coder": "anna", "kind": "flag"}
                assert asked(port, "POST", "/api/v1/verdicts", {"verdicts": [verdict]})[0] == 200
                acknowledged.append(verdict["key"])
    with TestClient(create_app(Settings((folders["joint"],), store=str(tmp_path), reload_every=0))) as client:
        found = client.get("/api/v1/documents/one?id=d").json()
    assert acknowledged
    assert set(acknowledged) <= {row["key"] for row in found["history"]}
    assert linnaeus("audit", "verify", tmp_path).code == 0


def test_statistics_are_imported_when_they_are_used() -> None:
    script = """
import sys
from linnaeus.cli.serve import import_quickly
import_quickly()
from sklearn.utils import fixes
assert not {"scipy.stats", "pandas"} & set(sys.modules)
assert fixes._mode([1, 2, 2]).mode == [2]
from scipy import stats
assert stats.norm.cdf(0) == 0.5 and stats is sys.modules["scipy.stats"]
import_quickly()
"""
    subprocess.run([sys.executable, "-c", script], env=os.environ, check=True)


def test_models_that_cannot_be_loaded_are_one_sentence(linnaeus, tmp_path) -> None:
    found = linnaeus("serve", tmp_path / "absent")
    assert found.code == 1
    assert found.err.strip().endswith("absent is not a model: no such folder.")
    assert "serving at" not in found.err, "nothing is announced that is not served"
