"""Finished runs on disk: OUTPUT/runs/RRSVM.json with what was measured, RRSVM.npz with the answers.

Each is written in one step, the record last, with the fingerprint of the problem and of the settings: a shoot-out
that was killed finds what is finished and goes on; one on other documents finds nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.experiments.experiment import Experiment
from linnaeus.files import replace_file
from linnaeus.typing import CSR, FloatArray

__all__ = ["Kept"]

FINISHED = ("done", "does not apply", "failed")
_MORE = 1.2  # times the budget of then, from which on a run that had no time is tried again


@dataclass(frozen=True)
class Kept:
    """The folder of runs of an experiment."""

    folder: Path
    experiment: Experiment

    def write(self, record: dict[str, Any], H: CSR | None = None, P: FloatArray | None = None) -> None:
        """Keep a run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        answers = None
        if H is not None:
            arrays: dict[str, Any] = {"indices": H.indices, "indptr": H.indptr, "shape": np.array(H.shape)}
            if P is not None:
                arrays["P"] = P.astype(np.float16)
            content = io.BytesIO()
            np.savez_compressed(content, **arrays)
            replace_file(self._path(record["model"], "npz"), content.getvalue())
            answers = _digest(content.getvalue())
        marked = {**record, "fingerprint": self._mark(record["model"]), "answers": answers}
        replace_file(self._path(record["model"], "json"), json.dumps(marked, default=_plain).encode())

    def read(self, name: str, budget: float = 0.0) -> dict[str, Any] | None:
        """The record of a finished run, or None; one that had no time counts unless ``budget`` is larger now."""
        try:
            record: dict[str, Any] = json.loads(self._path(name, "json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict) or record.pop("fingerprint", None) != self._mark(name):
            return None
        answers = record.pop("answers", None)
        if record["status"] not in FINISHED and budget > _MORE * record.get("budget", 0.0):
            return None
        if record["status"] in ("done", "stopped early"):  # the answers of this record: a kill may part the two
            try:
                content = self._path(name, "npz").read_bytes()
            except OSError:
                return None
            if answers != _digest(content):
                return None
        return record

    def answers(self, name: str) -> tuple[CSR, FloatArray | None]:
        """Label sets and probabilities of a finished run."""
        with np.load(self._path(name, "npz"), allow_pickle=False) as arrays:
            ones = np.ones(len(arrays["indices"]), dtype=np.int8)
            H = sparse.csr_array((ones, arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
            return H, arrays["P"].astype(np.float32) if "P" in arrays else None

    def _path(self, name: str, ending: str) -> Path:
        return self.folder / f"{name}.{ending}"

    def _mark(self, name: str) -> str:
        settings = json.dumps(dict(self.experiment.settings.get(name, {})), sort_keys=True, default=repr)
        return hashlib.blake2b(f"{self.experiment.fingerprint} {name} {settings}".encode(), digest_size=16).hexdigest()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
