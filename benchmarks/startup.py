"""Start-up times: `import linnaeus` and `linnaeus --help` beside `import numpy`, best of several."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks import machine


def seconds(arguments: list[str], repeats: int) -> float:
    """The shortest of several runs of the interpreter with these arguments."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks startup", description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    nothing = seconds(["-c", "pass"], options.repeats)
    numpy = seconds(["-c", "import numpy"], options.repeats)
    package = seconds(["-c", "import linnaeus"], options.repeats)
    help_ = seconds(["-m", "linnaeus", "--help"], options.repeats)
    result = {
        "machine": machine.describe(),
        "import_numpy_seconds": round(numpy, 4),
        "import_linnaeus_seconds": round(package - nothing, 4),
        "help_seconds": round(help_, 4),
        "help_over_import_numpy": round(help_ / numpy, 2),
        "within_budget": help_ <= 3 * numpy and package - nothing <= 0.1,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items()))
    return result
