"""Latency and throughput of the service on this machine: single `top` requests of several clients, then batches.

    python -m benchmarks serve_load --model MODEL --data DOCUMENTS --clients 8 --seconds 10

Without a model the demo corpus is used: a model is trained on one half of it and asked about the other half. The
processor time of the service depends less on what else runs on the machine than latencies do.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import machine
from linnaeus import OneVsRestSVM, Pipeline, load, save
from linnaeus.data import demo_corpus, read_dataset
from linnaeus.features.text import TextFeatures


def run(arguments: list[str]) -> dict[str, object]:
    """Start `linnaeus serve`, send requests from threads, print and return what they took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve_load", description=__doc__)
    parser.add_argument("--model", help="model folder of texts")
    parser.add_argument("--data", help="documents to ask about")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", action="store_true", help="with a store, whose audit log records every answer")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        model, texts = _model_and_texts(given.model, given.data, Path(folder))
        extra = ["--store", str(Path(folder) / "store")] if given.store else []
        started = time.perf_counter()
        process, port = serve_model(model, given.workers, extra)
        try:
            ready = time.perf_counter() - started
            send_requests(
                port, [[text] for text in texts], given.clients, 1.0
            )  # fills what is filled by the first requests
            before = _processor_seconds(process.pid)
            single = send_requests(port, [[text] for text in texts], given.clients, given.seconds)
            between = _processor_seconds(process.pid)
            parts = [texts[i : i + given.batch] for i in range(0, len(texts) - given.batch + 1, given.batch)] or [texts]
            batches = send_requests(port, parts, given.clients, given.seconds)
            after = _processor_seconds(process.pid)
        finally:
            process.terminate()
            process.wait()
    milliseconds = 1000 * np.array(single)
    result: dict[str, object] = {
        "machine": machine.describe(),
        "clients": given.clients,
        "workers": given.workers,
        "store": given.store,
        "start_to_ready_s": round(ready, 2),
        "single_requests": len(single),
        "load": round(os.getloadavg()[0], 1),
        "single_processor_ms": round(1000 * (between - before) / len(single), 2),
        "single_p50_ms": round(float(np.percentile(milliseconds, 50)), 2),
        "single_p99_ms": round(float(np.percentile(milliseconds, 99)), 2),
        "documents_per_second_in_batches": round(len(batches) * len(parts[0]) / given.seconds),
        "documents_per_processor_second": round(len(batches) * len(parts[0]) / (after - between)),
    }
    print(json.dumps(result, indent=1))
    return result


def _model_and_texts(model: str | None, data: str | None, folder: Path) -> tuple[str, list[str]]:
    if model is not None and data is not None:
        documents = read_dataset(data, usual_text=list(getattr(load(model).features_, "weights_", [])) or None)
        return model, [" ".join(row) for row in zip(*(documents.fields or {}).values(), strict=True)]
    demo = demo_corpus()
    texts, labels = list(demo.documents), demo.labels
    pipe = Pipeline(OneVsRestSVM(demo.taxonomy, random_state=0), TextFeatures()).fit(texts[::2], labels[::2])
    save(pipe, folder / "demo")
    return str(folder / "demo"), texts[1::2]


def serve_model(model: str, workers: int, extra: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    """Start `linnaeus serve` with a model that is called ``model``; returns its process and port once it is ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "linnaeus", "serve", f"model={Path(model).resolve()}", "--port", str(port)]
    process = subprocess.Popen([*command, "--workers", str(workers), *extra], env=os.environ)
    while process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/api/v1/ready")
            if connection.getresponse().status == 200:
                return process, port
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the service ended before it was ready")


def send_requests(port: int, bodies: list[list[str]], clients: int, seconds: float) -> list[float]:
    """Seconds of each request that was answered in time, from clients that send one after the other.

    The clients are sockets of one thread: threads of Python would wait for each other, and their waits be measured.
    """
    requests = [_request(json.dumps({"documents": body, "k": 5}).encode()) for body in bodies]
    found: list[float] = []
    end = time.perf_counter() + seconds
    with selectors.DefaultSelector() as ready:
        for k in range(clients):
            one = _Client(port, requests[k::clients] or requests)
            ready.register(one.socket, selectors.EVENT_READ, one)
            one.send()
        n_open = clients
        while n_open:
            for key, _ in ready.select():
                one = key.data
                if not one.receive():
                    continue
                now = time.perf_counter()
                found.append(now - one.started)
                if now < end:
                    one.send()
                else:
                    ready.unregister(one.socket)
                    one.socket.close()
                    n_open -= 1
    return found


def _request(body: bytes) -> bytes:
    head = "POST /api/v1/models/model/top HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Client:
    """A connection that sends some requests again and again."""

    def __init__(self, port: int, requests: list[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests, self.number, self.received, self.started = requests, 0, b"", 0.0

    def send(self) -> None:
        self.received, self.started = b"", time.perf_counter()
        self.socket.sendall(self.requests[self.number % len(self.requests)])
        self.number += 1

    def receive(self) -> bool:
        """Take what has arrived; whether this was the rest of the answer."""
        part = self.socket.recv(1 << 20)
        assert part, "the service closed the connection"
        self.received += part
        head, blank, body = self.received.partition(b"\r\n\r\n")
        if not blank:
            return False
        assert head.startswith(b"HTTP/1.1 200"), head
        return len(body) == int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])


def _processor_seconds(process: int) -> float:
    """Seconds of processor time of a process and of its children, where /proc tells it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        of_each = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in [process, *children]]
    except OSError:
        return float("nan")
    return sum(int(fields[11]) + int(fields[12]) for fields in of_each) / os.sysconf("SC_CLK_TCK")
