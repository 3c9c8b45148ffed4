"""How long do Gram matrices of protein sequences take (enzyme_ec, 7,757 sequences, 444 letters on average)?

    python -m benchmarks string_speed --jobs 2 --json

The substring spectrum is measured on all sequences. The gap-weighted subsequence kernel costs p |s| |t| steps, so its
speed is stated per pair, from the Gram matrix of a random sample, and per step; beside it stands the same dynamic
program in NumPy, one pair at a time. Seconds are those of a clock; of processors beside them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import machine, problems
from linnaeus.features import SpectrumFeatures, SpectrumKernel, SubsequenceKernel
from linnaeus.typing import FloatArray

BUDGET = 60.0  # seconds for the spectrum of length 4, on two threads
SPECTRA = {"spectrum 4": {"p": 4}, "spectrum 3": {"p": 3}, "spectrum 1-4": {"p": 4, "q": 1}}


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks string_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=400, help="sequences for the gap-weighted kernel")
    parser.add_argument("--repeats", type=int, default=2, help="best of several")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    problem = problems.load("enzyme_ec")
    texts = [*problem.X, *problem.X_test]
    rows = [*_spectra(texts, options), *_gap_weighted(texts, options)]
    result = {
        "benchmark": "string_speed",
        "machine": machine.describe(),
        "n_sequences": len(texts),
        "mean_length": float(np.mean([len(text) for text in texts])),
        "rows": rows,
        "within_budget": rows[0]["seconds"] < BUDGET,
    }
    print(json.dumps(result) if options.json else _table(rows))
    return result


def _spectra(texts: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for name, how in SPECTRA.items():
        kernel = SpectrumKernel(**how, n_jobs=options.jobs)
        found = _timed(lambda kernel=kernel: kernel(A := kernel.prepare(texts), A), options.repeats)
        rows.append({"what": f"{name}, Gram of all", "threads": options.jobs, **found})
    gapped = SubsequenceKernel(p=4, decay=0.5, max_gap=1, n_jobs=options.jobs)
    found = _timed(lambda: gapped(A := gapped.prepare(texts), A), 1)
    rows.append({"what": "spectrum 4 with gaps up to 1, Gram of all", "threads": options.jobs, **found})
    features = _timed(lambda: SpectrumFeatures(p=4).fit_transform(texts), options.repeats)
    rows.append({"what": "spectrum 4 as sparse features", "threads": 1, **features})
    return rows


def _gap_weighted(texts: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    chosen = np.random.default_rng(0).choice(len(texts), options.sample, replace=False)
    sample = [texts[i] for i in chosen]
    lengths = np.array([len(text) for text in sample])
    n_pairs = len(sample) * (len(sample) + 1) // 2
    steps = (np.outer(lengths, lengths).sum() + (lengths**2).sum()) / 2
    rows = []
    for p in (2, 3, 4, 6):
        for precision in ("double", "single"):
            kernel = SubsequenceKernel(p=p, decay=0.5, precision=precision, normalise=False)
            found = _timed(lambda kernel=kernel: kernel(A := kernel.prepare(sample), A), options.repeats)
            found["microseconds_per_pair"] = 1e6 * found["processor_seconds"] / n_pairs
            found["billion_steps_per_second"] = p * steps / found["processor_seconds"] / 1e9
            rows.append({"what": f"gap-weighted {p}, {precision} precision", "threads": 1, **found})
    s, t = sample[:2]
    found = _timed(lambda: _by_numpy(s, t, 4, 0.5), 3)
    seconds = found["processor_seconds"]
    found["billion_steps_per_second"] = 4 * len(s) * len(t) / seconds / 1e9
    found["microseconds_per_pair"] = seconds * 1e6 * steps / n_pairs / (len(s) * len(t))
    return [*rows, {"what": "gap-weighted 4, NumPy row by row", "threads": 1, **found}]


def _by_numpy(s: str, t: str, p: int, decay: float) -> list[float]:
    """The recursion over whole rows; a filter does the sum along the row."""
    from scipy.signal import lfilter

    codes = np.frombuffer(t.encode(), np.uint8)
    R: FloatArray = np.ones((len(s) + 1, len(t) + 1))
    found = []
    for _ in range(p):
        above, R = R, np.zeros_like(R)
        total = 0.0
        for a, letter in enumerate(s.encode(), start=1):
            hits = np.where(codes == letter, above[a - 1, :-1], 0.0)
            total += float(hits.sum())
            R[a, 1:] = decay * R[a - 1, 1:] + lfilter([1.0], [1.0, -decay], hits)
        found.append(total)
    return found


def _timed(work: Callable[[], Any], repeats: int) -> dict[str, float]:
    """The best of several, by the processor's seconds."""
    found = []
    for _ in range(repeats):
        start, own = time.perf_counter(), time.process_time()
        work()
        found.append((time.process_time() - own, time.perf_counter() - start))
    best = min(found)
    return {"seconds": min(wall for _, wall in found), "processor_seconds": best[0]}


def _table(rows: list[dict[str, Any]]) -> str:
    lines = ["| what | threads | s | processor s | µs per pair | 10^9 steps/s |", "|---|---|---|---|---|---|"]
    for row in rows:
        pair, steps = row.get("microseconds_per_pair"), row.get("billion_steps_per_second")
        cells = [f"{row['seconds']:.2f}", f"{row['processor_seconds']:.2f}"]
        cells += ["" if pair is None else f"{pair:.1f}", "" if steps is None else f"{steps:.2f}"]
        lines.append(f"| {row['what']} | {row['threads']} | {' | '.join(cells)} |")
    return "\n".join(lines)
