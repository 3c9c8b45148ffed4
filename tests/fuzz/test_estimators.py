"""Whatever is passed to an estimator, it answers validly or raises one of our errors; the process survives.

Cases run in child processes, in batches: where one dies, its seed is reported and the batch goes on after it.
``LINNAEUS_FUZZ_CASES=10000`` runs more of them; ``python -m tests.fuzz.estimator_cases SEED SEED+1`` repeats one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BATCHES = 2
N_CASES = int(os.environ.get("LINNAEUS_FUZZ_CASES", "120"))
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_input_is_answered_or_refused(batch: int) -> None:
    first, stop = batch * N_CASES // BATCHES, (batch + 1) * N_CASES // BATCHES
    outcomes, failures = {"answer": 0, "refused": 0}, []
    while first < stop:
        found, error = _run(first, stop)
        begun = first - 1
        for line in found:
            begun = line.get("begun", begun)
            outcome = line.get("outcome")
            if outcome == "failure":
                failures.append(f"seed {line['seed']}:\n{line['detail']}")
            elif outcome is not None:
                outcomes[outcome] += 1
        if "outcome" not in (found or [{}])[-1]:  # the process ended within a case
            failures.append(f"seed {begun}: the process died.\n{error[-3000:]}")
        first = max(begun, first) + 1
    assert not failures, f"{len(failures)} of the cases failed.\n" + "\n".join(failures[:10])
    assert min(outcomes.values()) > 0.2 * (outcomes["answer"] + outcomes["refused"])  # both sides are reached


def _run(first: int, stop: int) -> tuple[list[dict], str]:
    """The JSON lines of a child process, and what it wrote to its error stream."""
    paths = [str(ROOT), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.estimator_cases", str(first), str(stop)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=36_000)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr
