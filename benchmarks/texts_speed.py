"""How long does it take to read the texts of a vocabulary and to search them, and how much memory?

Reads ``FILE``, or a vocabulary of ``--nodes`` concepts with ``--labels`` alternative labels each, in a fresh process,
builds the index of `Taxonomy.find`, and searches for labels of the vocabulary with one letter missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["run", "write_vocabulary"]

_MEASURE = """
import json, resource, statistics, sys, time
from linnaeus import Taxonomy

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

clock = time.process_time
result = {"mib_before": peak()}
start = clock()
tax = Taxonomy.read(sys.argv[1])
texts = tax.texts
result |= {"n_nodes": tax.n_nodes, "n_texts": len(texts), "read_s": clock() - start, "read_mib": peak()}
start = clock()
searched = tax.search_index.text
result |= {"n_searched": len(searched), "index_s": clock() - start, "index_mib": peak()}
seconds = []
for text in searched[:: max(1, len(searched) // 200)]:
    start = clock()
    tax.find(text[: len(text) // 2] + text[len(text) // 2 + 1 :])
    seconds.append(clock() - start)
result |= {"find_ms": 1000 * statistics.median(seconds), "slowest_find_ms": 1000 * max(seconds)}
print(json.dumps(result))
"""


def write_vocabulary(path: Path, n_nodes: int, n_labels: int, seed: int = 0) -> None:
    """SKOS concepts with labels of one to four words, which are drawn with frequencies that fall like 1 / rank."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(letters[rng.integers(26, size=rng.integers(4, 12))]) for _ in range(20_000)]
    share = 1 / np.arange(1, len(words) + 1)
    drawn = iter(rng.choice(len(words), size=4 * n_nodes * (n_labels + 1), p=share / share.sum()).tolist())

    def label() -> str:
        return f'"{" ".join(words[next(drawn)] for _ in range(rng.integers(1, 5)))}"@en'

    with open(path, "w", encoding="utf-8") as file:
        file.write("@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n")
        for v in range(n_nodes):
            above = f" ; s:broader <urn:x:{v // 10}>" if v else ""
            others = f" ; s:altLabel {', '.join(label() for _ in range(n_labels))}" if n_labels else ""
            file.write(f"<urn:x:{v}> a s:Concept ; s:prefLabel {label()}{others}{above} .\n")


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure and print; see ``--help``."""
    parser = argparse.ArgumentParser(prog="texts_speed", description=__doc__)
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--nodes", type=int, default=30_000)
    parser.add_argument("--labels", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or str(Path(folder) / "vocabulary.ttl")
        if options.file is None:
            write_vocabulary(Path(file), options.nodes, options.labels)
        answer = subprocess.run([sys.executable, "-c", _MEASURE, file], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(answer.stdout)
    print(json.dumps(result))
    return result


if __name__ == "__main__":
    run(sys.argv[1:])
