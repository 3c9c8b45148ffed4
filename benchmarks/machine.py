"""What a figure was measured on: date, processor, versions; kept with every result."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from typing import Any


def describe() -> dict[str, Any]:
    """Date, machine and versions."""
    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    packages = ("linnaeus", "numpy", "scipy", "scikit-learn")
    return {
        "date": datetime.date.today().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed (run from its sources)"
