"""Peak memory of `linnaeus data convert` on synthetic short texts of growing number, with a vocabulary that grows, too.

A text has 4 to 12 words; ranks of words follow a Zipf law with exponent 1.2 without an end, so that new words keep
coming. Every conversion runs in a process of its own; its peak resident memory is that of the operating system.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine

BUDGET = 2.0  # gigabytes
BLOCK = 50_000
WORDS = 2**40  # ranks are cut here


def write_texts(path: Path, n_docs: int, seed: int = 0) -> None:
    """JSON lines of texts with one of 100 labels."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, n_docs, BLOCK):
            n = min(BLOCK, n_docs - start)
            lengths = rng.integers(4, 13, n)
            words = [f"w{k:x}" for k in np.minimum(rng.zipf(1.2, int(lengths.sum())), WORDS).tolist()]
            ends = np.cumsum(lengths).tolist()
            labels = rng.integers(0, 100, n).tolist()
            for i, (end, length, label) in enumerate(zip(ends, lengths.tolist(), labels, strict=True)):
                text = " ".join(words[end - length : end])
                file.write(f'{{"id": "d{start + i}", "text": "{text}", "labels": ["L{label}"]}}\n')


CHILD = """
import resource, sys
from linnaeus.cli.main import run
try:
    run(sys.argv[1:])
except SystemExit:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def convert(path: Path, output: Path, more: list[str]) -> dict[str, Any]:
    """Time and peak memory of one conversion."""
    start = time.perf_counter()
    arguments = ["data", "convert", str(path), "--output", str(output), "--json", *more]
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], check=True, capture_output=True, text=True)
    told, peak = done.stdout.rstrip().rsplit("\n", 1)
    made = json.loads(told)
    return {
        "documents": made["documents"],
        "features": made["features"],
        "seconds": round(time.perf_counter() - start, 1),
        "peak_gigabytes": round(int(peak) * 1024 / 1e9, 3),
        "file_gigabytes": round(path.stat().st_size / 1e9, 3),
    }


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks vectorise_memory", description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[300_000, 1_200_000])
    parser.add_argument("--features", help="as of `linnaeus data convert`: hashed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    more = [] if options.features is None else ["--features", options.features]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n_docs in options.documents:
            path = Path(folder) / "docs.jsonl"
            write_texts(path, n_docs)
            rows.append(convert(path, Path(folder) / "vectors", more))
    peaks = [row["peak_gigabytes"] for row in rows]
    result = {"machine": machine.describe(), "runs": rows, "within_budget": max(peaks) <= BUDGET}
    print(json.dumps(result) if options.json else "\n".join(map(str, [result["machine"], *rows])))
    return result
