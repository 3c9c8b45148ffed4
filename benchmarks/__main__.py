"""``python -m benchmarks NAME [options]`` runs one benchmark; without a name it lists them.

The exit code is 1 where a benchmark has a budget and misses it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

LIBRARY = {"__main__", "accuracy", "problems", "machine", "ranking", "rivals"}


def main() -> None:
    names = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in LIBRARY)
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        for name in names:
            summary = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").strip().split("\n")[0]
            print(f"{name:18} {summary}")
        sys.exit(0 if len(sys.argv) < 2 else f"no benchmark {sys.argv[1]!r}")
    result = importlib.import_module(f"benchmarks.{sys.argv[1]}").run(sys.argv[2:])
    sys.exit(0 if result.get("within_budget", True) else 1)


main()
