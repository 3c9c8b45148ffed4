"""How long, and how much memory, does it take to read a large edge list?

Writes a random tree of ``--nodes`` nodes as TSV into a temporary folder and reads it in a fresh process, so that the
peak memory is that of reading alone.
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

__all__ = ["run", "write_random_tree"]

_READ = """
import json, resource, sys, time
from linnaeus import Taxonomy
start = time.perf_counter()
tax = Taxonomy.read(sys.argv[1])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n_nodes": tax.n_nodes, "n_edges": tax.n_edges, "seconds": seconds, "peak_mib": peak}))
"""


def write_random_tree(path: Path, n_nodes: int, seed: int = 0) -> None:
    """A tree whose nodes choose their parent at random among the earlier ones, as lines in random order."""
    rng = np.random.default_rng(seed)
    parent = (rng.random(n_nodes - 1) * np.arange(1, n_nodes)).astype(np.int64)
    lines = [f"node-{p:07d}\tnode-{v:07d}\n" for v, p in enumerate(parent.tolist(), 1)]
    order = rng.permutation(len(lines))
    with open(path, "w", encoding="utf-8") as file:
        file.write("parent\tchild\n")
        file.writelines(lines[i] for i in order)


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure and print; see ``--help``."""
    parser = argparse.ArgumentParser(prog="taxonomy_speed", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tree.tsv"
        write_random_tree(file, options.nodes)
        answer = subprocess.run([sys.executable, "-c", _READ, str(file)], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(answer.stdout)
    result["within_budget"] = result["seconds"] <= 10 and result["peak_mib"] <= 1000
    print(json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items()))
    return result


if __name__ == "__main__":
    run(sys.argv[1:])
