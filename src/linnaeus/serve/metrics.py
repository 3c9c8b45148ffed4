"""Counts and durations in the text format of Prometheus."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

__all__ = ["Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What a process has answered so far.

    Parameters
    ----------
    worker : str, default=None
        Name of the process, a label of all series; needed where several processes answer at one address.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.answered("GET", "/api/v1/health", 200, 0.003)
    >>> [line for line in metrics.text({}).splitlines() if line.startswith("linnaeus_requests_total")]
    ['linnaeus_requests_total{method="GET",path="/api/v1/health",status="200"} 1']
    """

    def __init__(self, worker: str | None = None) -> None:
        self._common: Labels = () if worker is None else (("worker", worker),)
        self._started = time.time()
        self._lock = threading.Lock()
        self._requests: Counter[Labels] = Counter()
        self._documents: Counter[Labels] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self.in_flight = 0

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request; ``path`` is that of the route, so that the number of series is bounded."""
        with self._lock:
            self._requests[("method", method), ("path", path), ("status", str(status))] += 1
            buckets = self._buckets.setdefault(path, [0] * (len(BUCKETS) + 1))
            buckets[bisect_left(BUCKETS, seconds)] += 1
            self._seconds[path] += seconds  # type: ignore[assignment]

    def documents(self, model: str, operation: str, n: int) -> None:
        """Count answered documents."""
        with self._lock:
            self._documents[("model", model), ("operation", operation)] += n

    def text(self, more: Mapping[str, tuple[str, str, Mapping[Labels, float]]]) -> str:
        """All series; ``more`` has further ones by name, as (type, help, values by labels)."""
        lines: list[str] = []

        def family(name: str, kind: str, about: str, values: Mapping[Labels, float]) -> None:
            lines.extend([f"# HELP {name} {about}", f"# TYPE {name} {kind}"])
            lines.extend(self._line(name, labels, value) for labels, value in values.items())

        with self._lock:
            family("linnaeus_requests_total", "counter", "Requests answered.", dict(self._requests))
            family("linnaeus_documents_total", "counter", "Documents answered.", dict(self._documents))
            name = "linnaeus_request_seconds"
            lines.extend([f"# HELP {name} Duration of requests.", f"# TYPE {name} histogram"])
            for path, counts in self._buckets.items():
                total = 0
                for bound, count in zip([*map(str, BUCKETS), "+Inf"], counts, strict=True):
                    total += count
                    lines.append(self._line(f"{name}_bucket", (("path", path), ("le", bound)), total))
                lines.append(self._line(f"{name}_sum", (("path", path),), self._seconds[path]))
                lines.append(self._line(f"{name}_count", (("path", path),), total))
        family("linnaeus_requests_in_flight", "gauge", "Requests being answered.", {(): self.in_flight})
        for name, (kind, about, values) in more.items():
            family(name, kind, about, values)
        family("process_start_time_seconds", "gauge", "Start of the process, Unix time.", {(): self._started})
        memory = _resident_bytes()
        if memory is not None:
            family("process_resident_memory_bytes", "gauge", "Resident memory.", {(): memory})
        return "\n".join(lines) + "\n"

    def _line(self, name: str, labels: Labels, value: float) -> str:
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in (*labels, *self._common))
        number = str(int(value)) if float(value).is_integer() else repr(float(value))
        return f"{name}{{{shown}}} {number}" if shown else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _resident_bytes() -> int | None:
    """Resident memory of this process, where /proc reports it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(found[0]) * 1024 if found else None
