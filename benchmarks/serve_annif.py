"""Documents per second of the service against Annif's tfidf backend, on the same vocabulary and machine.

    python -m benchmarks serve_annif --annif ENVIRONMENT/bin/annif --seconds 10

Both learn from one half of the demo corpus, are started as services and suggest ten subjects for the other half, in
batches of 64 documents (Annif: 32, which is the most that it takes) that several clients send: to `top` of the service,
and to the address that both have, `suggest-batch`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from benchmarks import machine
from benchmarks.serve_load import send_requests, serve_model
from linnaeus import OneVsRestSVM, Pipeline, save
from linnaeus.data import demo_corpus
from linnaeus.features.text import TextFeatures

_URI = "http://example.org/"
_PROJECT = "[model]\nname=model\nlanguage=en\nbackend=tfidf\nanalyzer=simple\nvocab=demo\nlimit=10\n"


def run(arguments: list[str]) -> dict[str, object]:
    """Measure both, print and return documents per second."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve_annif", description=__doc__)
    parser.add_argument("--annif", required=True, help="executable of Annif")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=8)
    given = parser.parse_args(arguments)
    demo = demo_corpus()
    texts = [" ".join(text.split()) for text in demo.documents]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipe = Pipeline(OneVsRestSVM(demo.taxonomy, random_state=0), TextFeatures())
        save(pipe.fit(texts[::2], demo.labels[::2]), folder / "demo")
        process, port = serve_model(str(folder / "demo"), 1, [])
        parts = [texts[1::2][i : i + 64] for i in range(0, len(texts) // 2 - 63, 64)]
        send_requests(port, parts, given.clients, 1.0)
        top = 64 * len(send_requests(port, parts, given.clients, given.seconds)) / given.seconds
        own = _measured(process, port, texts[1::2], 64, given.clients, given.seconds)
        _train_annif(given.annif, folder, demo.taxonomy.names, texts[::2], demo.labels[::2])
        process, port = _serve_annif(given.annif, folder)
        theirs = _measured(process, port, texts[1::2], 32, given.clients, given.seconds)
    result: dict[str, object] = {
        "machine": machine.describe(),
        "linnaeus_top_documents_per_second": round(top, 1),
        "linnaeus_suggest_documents_per_second": round(own, 1),
        "annif_documents_per_second": round(theirs, 1),
        "ratio_of_top": round(top / theirs, 1),
        "ratio_of_suggest": round(own / theirs, 1),
    }
    print(json.dumps(result, indent=1))
    return result


def _train_annif(annif: str, folder: Path, names: object, texts: list[str], labels: list[list[str]]) -> None:
    uris = {str(name): f"{_URI}{i}" for i, name in enumerate(list(names))}  # type: ignore[call-overload]
    (folder / "vocab.tsv").write_text("".join(f"<{uri}>\t{name}\n" for name, uri in uris.items()))
    rows = [f"{text}\t{' '.join(f'<{uris[one]}>' for one in row)}\n" for text, row in zip(texts, labels, strict=True)]
    (folder / "train.tsv").write_text("".join(rows))
    (folder / "projects.cfg").write_text(_PROJECT)
    for command in (["load-vocab", "--language", "en", "demo", "vocab.tsv"], ["train", "model", "train.tsv"]):
        subprocess.run([annif, *command], cwd=folder, check=True, capture_output=True)


def _serve_annif(annif: str, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([annif, "run", "--port", str(port)], cwd=folder, env=os.environ, **quiet)  # type: ignore[call-overload]
    while process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/v1/projects/model")
            if connection.getresponse().status == 200:
                return process, port
        except OSError:
            time.sleep(0.1)
    raise SystemExit("Annif ended before it was ready")


def _measured(
    process: subprocess.Popen[bytes], port: int, texts: list[str], size: int, clients: int, seconds: float
) -> float:
    """Documents per second that clients get suggestions for; the service is ended."""
    parts = [texts[i : i + size] for i in range(0, len(texts) - size + 1, size)]
    bodies = [json.dumps({"documents": [{"text": text} for text in part]}) for part in parts]
    counts = [0] * clients

    def client(k: int, until: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        i = k
        while time.perf_counter() < until:
            path = "/v1/projects/model/suggest-batch?limit=10"
            connection.request("POST", path, bodies[i % len(bodies)], {"Content-Type": "application/json"})
            response = connection.getresponse()
            found = json.loads(response.read())
            assert response.status == 200, found
            counts[k] += len(found)
            i += clients

    try:
        client(0, time.perf_counter() + 0.01)  # loads what is loaded with the first request
        counts[:] = [0] * clients
        started = time.perf_counter()
        threads = [threading.Thread(target=client, args=(k, started + seconds)) for k in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts) / (time.perf_counter() - started)
    finally:
        process.terminate()
        process.wait()
