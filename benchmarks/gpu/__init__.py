"""How fast is the linear core on one GPU: products, flat and joint training, prediction, and what large sets take?

    python -m benchmarks gpu [--rows products flat joint dmoz lwiki predict] [--json FILE]

Needs a CUDA device. wordnet_nouns is real; DMOZ-2010 and LWIKI are random problems of their size (`synthetic`). Some
leaves of LWIKI are measured with all its documents; `rows.lwiki` says how the whole is extrapolated.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import machine

ROWS = ("products", "flat", "joint", "dmoz", "lwiki", "predict")


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    import torch

    from benchmarks.gpu import rows
    from benchmarks.problems import load

    found: dict[str, Any] = {
        "machine": machine.describe(),
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }
    print(found)
    problem = load("wordnet_nouns") if {"flat", "joint", "predict"} & set(options.rows) else None
    for name in options.rows:
        function = getattr(rows, name)
        measured = (
            function(options.device) if name in ("products", "dmoz", "lwiki") else function(options.device, problem)
        )
        found[name] = measured
        for row in measured:
            print(
                "  ".join(
                    f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}"
                    for key, value in row.items()
                )
            )
        torch.cuda.empty_cache()
        if options.json is not None:
            options.json.write_text(json.dumps(found, indent=1))
    return found
