"""What a search has measured, kept in a folder, so that the same search continues from there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import numpy as np

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
        """What an earlier search has measured on the same documents; an earlier search on others is replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.glob(".*.part"):  # of a write that was killed
            part.unlink(missing_ok=True)
        description, rows = folder / "about.json", folder / "search.json"
        try:
            if json.loads(description.read_text()) == about:
                return cls(folder, dict(json.loads(rows.read_text())))
        except (OSError, ValueError):
            pass
        rows.unlink(missing_ok=True)
        replace_file(description, (json.dumps(about) + "\n").encode())
        return cls(folder)

    def put(self, key: str, row: Row) -> None:
        """Keep a row."""
        self.rows[key] = row
        if self.folder is not None:
            replace_file(self.folder / "search.json", (json.dumps(self.rows, indent=1) + "\n").encode())


def fingerprint(documents: object, Y: CSR, taxonomy: Taxonomy, features: object, *more: object) -> str:
    """What a search depends on, as text."""
    from linnaeus import __version__

    if is_sparse(documents) or isinstance(documents, np.ndarray):
        seen = digest(documents)
    else:
        seen = hashlib.blake2b(repr(documents).encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return json.dumps([__version__, seen, digest(Y), taxonomy.fingerprint, repr(features), repr(more)])
