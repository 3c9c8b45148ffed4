"""Latency and throughput of the service on this machine: single `top` requests of several clients, then batches.

    python -m benchmarks serve_load --model MODEL --data DOCUMENTS --clients 8 --seconds 10

Without a model the demo corpus is used: a model is trained on one half of it and asked about the other half.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
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
            single = _load(port, model, [[text] for text in texts], given.clients, given.seconds)
            parts = [texts[i : i + given.batch] for i in range(0, len(texts) - given.batch + 1, given.batch)]
            batches = _load(port, model, parts or [texts], given.clients, given.seconds)
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
        "single_p50_ms": round(float(np.percentile(milliseconds, 50)), 2),
        "single_p99_ms": round(float(np.percentile(milliseconds, 99)), 2),
        "documents_per_second_in_batches": round(len(batches) * len((parts or [texts])[0]) / given.seconds),
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


def _load(port: int, model: str, bodies: list[list[str]], clients: int, seconds: float) -> list[float]:
    """Seconds of each request that was answered in time, from clients that send one after the other."""
    found: list[list[float]] = [[] for _ in range(clients)]
    end = time.perf_counter() + seconds

    def client(k: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        i = k
        while (start := time.perf_counter()) < end:
            body = json.dumps({"documents": bodies[i % len(bodies)], "k": 5})
            connection.request("POST", "/api/v1/models/model/top", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == 200, response.status
            found[k].append(time.perf_counter() - start)
            i += clients

    threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [value for values in found for value in values]
