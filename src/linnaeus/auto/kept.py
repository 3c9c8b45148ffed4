"""What a search has measured, kept in a folder, so that the same search continues from there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from linnaeus.errors import CheckpointError
from linnaeus.files import replace_file
from linnaeus.models.checkpoint import digest
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, is_sparse

__all__ = ["Kept", "Row", "fingerprint"]


class Row(TypedDict):
    """One measured candidate; ``value`` is None where the model refused the documents.

    ``seconds`` are those of the fit, ``whole`` also those of features that were made for it.
    """

    value: float | None
    own: float
    cut: str
    seconds: float
    whole: float


@dataclass
class Kept:
    """Rows by candidate and number of documents, written to ``folder`` as they come, where there is one."""

    folder: Path | None = None
    rows: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, about: str) -> Kept:
        """What an earlier run of the same search has measured.

        Raises
        ------
        CheckpointError
            If the folder holds another search.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.glob(".*.part"):  # of a write that was killed
            part.unlink(missing_ok=True)
        description, rows = folder / "about.json", folder / "search.json"
        if (earlier := _loaded(description)) is not None:
            if earlier != about:
                raise CheckpointError(
                    f"{folder} holds the checkpoint of another search, with other {_difference(earlier, about)}; "
                    "choose another folder, or delete this one to start again."
                )
            if isinstance(kept := _loaded(rows), dict):
                return cls(folder, kept)
        rows.unlink(missing_ok=True)
        replace_file(description, (json.dumps(about) + "\n").encode())
        return cls(folder)

    def put(self, key: str, row: Row) -> None:
        """Keep a row."""
        self.rows[key] = row
        if self.folder is not None:
            replace_file(self.folder / "search.json", (json.dumps(self.rows, indent=1) + "\n").encode())


def _loaded(path: Path) -> Any:
    """What a JSON file holds; None where there is none, or not a whole one."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _difference(earlier: object, about: str) -> str:
    """The first part of the fingerprints that differs."""
    parts = ("versions of linnaeus", "documents", "labels", "taxonomy", "features", "options")
    try:
        pairs = zip(parts, json.loads(str(earlier)), json.loads(about), strict=True)
        return next((part for part, one, other in pairs if one != other), "options")
    except (TypeError, ValueError):
        return "documents"


def fingerprint(documents: object, Y: CSR, taxonomy: Taxonomy, features: object, *more: object) -> str:
    """What a search depends on, as text."""
    from linnaeus import __version__

    if is_sparse(documents) or isinstance(documents, np.ndarray):
        seen = digest(documents)
    else:
        seen = hashlib.blake2b(repr(documents).encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return json.dumps([__version__, seen, digest(Y), taxonomy.fingerprint, repr(features), repr(more)])
