"""Changes to the vocabulary that coders propose: appended to a file, one JSON object per line.

The taxonomy of the model stays as it is. The file is for the owner of the vocabulary, who decides.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypedDict

__all__ = ["ChangeProposal", "Kind", "Proposals"]

Kind = Literal["synonym", "new-node", "merge"]


class ChangeProposal(TypedDict):
    """A proposed change: another name of a node, a new node below it, or its merge into another node."""

    number: int
    kind: Kind
    node: str
    name: str
    text: str
    coder: str
    at: str
    taxonomy: str


class Proposals:
    """The proposals of a store.

    Parameters
    ----------
    folder : Path
        The folder of the store.

    Examples
    --------
    >>> import tempfile
    >>> kept = Proposals(Path(tempfile.mkdtemp()))
    >>> _ = kept.add("synonym", "Cats", "Cats", "Felines", "anna", "fingerprint")
    >>> [(p["number"], p["text"]) for p in kept.all()]
    [(1, 'Felines')]
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "proposals.jsonl"
        self._writing = threading.Lock()

    def all(self) -> list[ChangeProposal]:
        """All proposals, oldest first."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]  # a line cut by a crash is left out

    def add(self, kind: Kind, node: str, name: str, text: str, coder: str, taxonomy: str) -> ChangeProposal:
        """Append a proposal; it is on disk when this returns. One that was made before is not made twice."""
        with self._writing:
            before = self.all()
            for known in before:
                if (known["kind"], known["node"], known["text"]) == (kind, node, text):
                    return known
            made: ChangeProposal = {
                "number": len(before) + 1,
                "kind": kind,
                "node": node,
                "name": name,
                "text": text,
                "coder": coder,
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "taxonomy": taxonomy,
            }
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(made, ensure_ascii=True) + "\n")
                file.flush()
                os.fsync(file.fileno())
            return made
