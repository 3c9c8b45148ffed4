"""Finished runs on disk: OUTPUT/runs/RRSVM.json with the measures, RRSVM.npz with the answers.

Each file is written in one step, the record last, with a fingerprint of the problem and of the settings. A shoot-out
that was killed reads the finished runs and continues; runs on other documents are ignored.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from linnaeus.experiments.experiment import Experiment
from linnaeus.experiments.records import MEASURED, Run
from linnaeus.files import replace_file
from linnaeus.typing import CSR, FloatArray

__all__ = ["RunFolder"]

_FINAL = ("done", "does not apply", "failed")  # a larger budget would not change these, unless a search was cut short
_MORE = 1.2  # a run that ran out of time is repeated if the budget grew by this factor


@dataclass(frozen=True)
class RunFolder:
    """The folder of runs of an experiment."""

    folder: Path
    experiment: Experiment

    def write(self, run: Run, H: CSR | None = None, P: FloatArray | None = None) -> None:
        """Store a run with its label sets and probabilities."""
        self.folder.mkdir(parents=True, exist_ok=True)
        answers = None
        if H is not None:
            content = io.BytesIO()
            sets = {"indices": H.indices, "indptr": H.indptr, "shape": np.array(H.shape)}
            probabilities = {} if P is None else {"P": P.astype(np.float16)}
            np.savez_compressed(content, allow_pickle=False, **sets, **probabilities)
            replace_file(self._path(run.model, "npz"), content.getvalue())
            answers = _digest(content.getvalue())
        stored = {**run.to_json(), "fingerprint": self._fingerprint(run.model), "answers": answers}
        replace_file(self._path(run.model, "json"), json.dumps(stored).encode())

    def read(self, name: str, budget: float = 0.0) -> Run | None:
        """A finished run, or None; one that ran out of time, or its search, is finished unless ``budget`` is larger."""
        try:
            stored = json.loads(self._path(name, "json").read_text(encoding="utf-8"))
            if not isinstance(stored, dict) or stored.get("fingerprint") != self._fingerprint(name):
                return None
            run = Run.from_json(stored)
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        if (run.cut_short or run.status not in _FINAL) and budget > _MORE * (run.budget or 0.0):
            return None
        if run.status in MEASURED:  # a killed process may have left answers that belong to another record
            try:
                content = self._path(name, "npz").read_bytes()
            except OSError:
                return None
            if stored.get("answers") != _digest(content):
                return None
        return run

    def renew(self, run: Run) -> None:
        """Store the record of a run again, whose answers stay."""
        stored = json.loads(self._path(run.model, "json").read_text(encoding="utf-8"))
        replace_file(self._path(run.model, "json"), json.dumps({**stored, **run.to_json()}).encode())

    def answers(self, name: str) -> tuple[CSR, FloatArray | None]:
        """Label sets and probabilities of a finished run."""
        with np.load(self._path(name, "npz"), allow_pickle=False) as arrays:
            ones = np.ones(len(arrays["indices"]), dtype=np.int8)
            H = sparse.csr_array((ones, arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
            return H, arrays["P"].astype(np.float32) if "P" in arrays else None

    def _path(self, name: str, ending: str) -> Path:
        return self.folder / f"{name}.{ending}"

    def _fingerprint(self, name: str) -> str:
        settings = json.dumps(dict(self.experiment.settings.get(name, {})), sort_keys=True, default=repr)
        return hashlib.blake2b(f"{self.experiment.fingerprint} {name} {settings}".encode(), digest_size=16).hexdigest()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
