"""Memory of the service: of several workers against one with large mapped weights, and over many requests.

    python -m benchmarks serve_memory --megabytes 2000 --workers 4
    python -m benchmarks serve_memory --requests 200000

The first makes a model with dense weights of this size, asks every worker about all features until the weights are
resident, and adds up the proportional set sizes (PSS), which count a page that n processes share as 1/n in each. The
second sends requests in a loop and fits a line to the resident memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks import machine
from benchmarks.serve_load import serve_model
from linnaeus import OneVsRestSVM, Pipeline, save
from linnaeus.features.text import TextFeatures

__all__ = ["run"]

_LABELS = 2000


def run(arguments: list[str]) -> dict[str, object]:
    """Measure, print and return the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve_memory", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="size of the weights")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--requests", type=int, default=0, help="send this many requests instead")
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args(arguments)
    result: dict[str, object] = {"machine": machine.describe()}
    with tempfile.TemporaryDirectory() as folder:
        if given.requests:
            result |= _many_requests(Path(folder), given.requests, given.clients)
        else:
            result |= _several_workers(Path(folder), given.megabytes, given.workers)
    print(json.dumps(result, indent=1))
    return result


def _several_workers(folder: Path, megabytes: int, workers: int) -> dict[str, object]:
    n_terms = megabytes * 1_000_000 // (4 * _LABELS)
    _save_large(folder / "large", n_terms)
    found = {n: _resident(folder / "large", n, n_terms) for n in (1, workers)}
    one, all_ = found[1], found[workers]
    return {
        "weights_mb": megabytes,
        "workers": workers,
        **{f"{name}_mb_of_1": round(one[name] / 1e6) for name in one},
        **{f"{name}_mb_of_{workers}": round(all_[name] / 1e6) for name in all_},
        "ratio": round(all_["all"] / one["all"], 3),
        "ratio_of_weights": round(all_["weights"] / one["weights"], 3),
    }


def _save_large(folder: Path, n_terms: int) -> None:
    """A model of texts with dense weights that are not learned."""
    words = [f"w{i}" for i in range(n_terms)]
    texts = [" ".join(words[i::4]) for i in range(4)]
    labels = [[f"n{j}" for j in range(i, _LABELS, 4)] for i in range(4)]
    made = Pipeline(OneVsRestSVM(random_state=0, C=1e-3, tol=0.5), TextFeatures(min_df=1)).fit(texts, labels)
    rng = np.random.default_rng(0)
    shape = made.estimator.weights_.shape
    made.estimator.weights_ = rng.standard_normal(shape, dtype=np.float32)
    save(made, folder)


def _resident(model: Path, workers: int, n_terms: int) -> dict[str, float]:
    """Bytes of all processes, and of the mapped files of the model among them, once all weights have been used."""
    process, port = serve_model(str(model), workers, [])
    try:
        texts = [" ".join(f"w{i}" for i in range(start, n_terms, 64)) for start in range(64)]
        for _ in range(8 * workers):  # connections are shared out by chance
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            for start in range(0, 64, 16):
                _ask(connection, texts[start : start + 16])
            connection.close()
        return _pss([process.pid, *_children(process.pid)], model)
    finally:
        process.terminate()
        process.wait()


def _ask(connection: http.client.HTTPConnection, documents: list[str]) -> None:
    body = json.dumps({"documents": documents, "k": 1})
    connection.request("POST", "/api/v1/models/model/top", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    assert response.status == 200, response.status


def _children(process: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _pss(processes: list[int], model: Path) -> dict[str, float]:
    found = {"all": 0.0, "weights": 0.0}
    for process in processes:
        mapped = False
        for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
            first = line.split(maxsplit=1)[0]
            if not first.endswith(":"):
                mapped = str(model) in line
            elif first == "Pss:":
                size = 1024.0 * int(line.split()[1])
                found["all"] += size
                found["weights"] += size if mapped else 0.0
    return found


def _many_requests(folder: Path, n_requests: int, clients: int) -> dict[str, object]:
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures(min_df=1))
    save(pipe.fit(["cats purr", "dogs bark"], ["cat", "dog"]), folder / "pets")
    process, port = serve_model(str(folder / "pets"), 1, [])
    counts, samples = [0] * clients, []

    def client(k: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while counts[k] < n_requests // clients:
            _ask(connection, [f"a cat {k} {counts[k]}"])
            counts[k] += 1

    started = time.perf_counter()
    threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1.0)
        samples.append((sum(counts), _rss(process.pid)))
    seconds = time.perf_counter() - started
    process.terminate()
    process.wait()
    done, bytes_ = np.array(samples, dtype=float).T
    late = done > 0.1 * n_requests  # after the first requests, which fill caches
    slope = float(np.polyfit(done[late], bytes_[late], 1)[0]) if late.sum() > 2 else float("nan")
    return {
        "requests": sum(counts),
        "requests_per_second": round(sum(counts) / seconds),
        "rss_mb_at_a_tenth": round(float(bytes_[late][0]) / 1e6, 1) if late.any() else None,
        "rss_mb_at_the_end": round(float(bytes_[-1]) / 1e6, 1),
        "slope_bytes_per_request": round(slope, 2),
    }


def _rss(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return 1024.0 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))
