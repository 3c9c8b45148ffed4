"""What a search has chosen, and why, in plain values and in sentences.

What a search has measured, kept in a folder, so that the same search continues from there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from linnaeus.auto.candidates import Candidate
from linnaeus.auto.evaluate import Outcome
from linnaeus.data.matrices import is_sparse
from linnaeus.engine import format_seconds
from linnaeus.errors import CheckpointError
from linnaeus.files import replace_file
from linnaeus.models.checkpoint import digest
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR

__all__ = ["FLAT", "AutoReport", "Kept", "Row", "cut_words", "fingerprint"]


class Row(TypedDict):
    """One measured candidate; ``value`` is None where the model refused the documents.

    ``fitting`` are the seconds of the fit alone, ``seconds`` also those of measuring, ``whole`` also those of features
    that were made for it.
    """

    value: float | None
    own: float
    cut: str
    seconds: float
    whole: float
    stopped: NotRequired[bool]  # whether the clock ended the fit
    fitting: NotRequired[float]


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


FLAT = "OneVsRestSVM"


@dataclass
class AutoReport:
    """What a search has chosen, and why.

    Parameters
    ----------
    measure : str
        The measure that was maximised.
    chosen : Outcome
        The best candidate.
    baseline : Outcome
        The flat model with its usual parameters; ``baseline.own`` is its value with the usual decoder.
    value : float
        Held-out value of the chosen candidate.
    interval : tuple of float
        Its 95% bootstrap interval over documents.
    budget : float
        The budget in seconds.
    seconds : float
        What the search has taken.
    n_held_out : int
        Number of held-out documents.
    runner_up : Outcome, default=None
        The best candidate of another model or with other features; None if there is none.
    tried : list of Outcome
        Everything that was measured, in this order.
    notes : list of str
        What a user should know.
    refined : Outcome, default=None
        The chosen candidate with every document held out once, which the cut, the probabilities and the weights of a
        mixture are learned from; None where there was no time for it.

    Examples
    --------
    >>> from linnaeus import AutoClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]] * 20, ["a", "b"] * 20
    >>> report = AutoClassifier(budget="1h").fit(X, y, models=["OneVsRestSVM"]).report_
    >>> report.chosen.candidate.model, report.value
    ('OneVsRestSVM', 1.0)
    """

    measure: str
    chosen: Outcome
    baseline: Outcome
    value: float
    interval: tuple[float, float]
    budget: float
    seconds: float
    n_held_out: int
    runner_up: Outcome | None = None
    tried: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refined: Outcome | None = field(default=None, repr=False)

    @property
    def learned_from(self) -> Outcome:
        """What the cut, the probabilities and the weights of a mixture are learned from."""
        return self.chosen if self.refined is None else self.refined

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "measure": self.measure,
            "chosen": {**_plain(self.chosen), "cut": self.learned_from.cut},
            "runner_up": None if self.runner_up is None else _plain(self.runner_up),
            "baseline": _plain(self.baseline),
            "value": self.value,
            "interval": list(self.interval),
            "held_out_documents": self.n_held_out,
            "budget": round(self.budget, 3),
            "seconds": round(self.seconds, 3),
            "tried": [_plain(one) for one in self.tried],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        name, (low, high) = self.measure.replace("_", " "), self.interval
        lines = [
            f"chosen: {self.chosen.candidate}, {cut_words(self.learned_from)}",
            f"held-out {name} {self.value:.4f} (95% interval {low:.4f} to {high:.4f}, {self.n_held_out:,} documents)",
        ]
        if self.runner_up is not None:
            said = f"{self.runner_up.candidate}, {cut_words(self.runner_up)}: {self.runner_up.value:.4f}"
            lines.append(f"runner-up of another model or other features: {said}")
        first = self.baseline.candidate
        baseline = "flat baseline" if first.model == FLAT else "not tuned"
        lines.append(f"{baseline}: {first}, decoder own: {self.baseline.own:.4f}")
        lines.append(
            f"{len(self.tried)} fit{'s' * (len(self.tried) != 1)} in {format_seconds(max(1.0, round(self.seconds)))} "
            f"(budget {format_seconds(max(1.0, round(self.budget)))})"
        )
        return "\n".join([*lines, *self.notes])


def cut_words(outcome: Outcome) -> str:
    """The decoder of an outcome, as the command line names it."""
    return f"decoder {outcome.cut}"


def _plain(outcome: Outcome) -> dict[str, object]:
    value = outcome.value if np.isfinite(outcome.value) else None
    said = {"value": value, "own": outcome.own, "cut": outcome.cut, "n_docs": outcome.n_docs}
    return {**_values(outcome.candidate), **said, "seconds": round(outcome.seconds, 3)}


def _values(candidate: Candidate) -> dict[str, object]:
    values = asdict(candidate)
    if candidate.pull is not None and not np.isfinite(candidate.pull):
        values["pull"] = "inf"
    values["sources"] = [_values(source) for source in candidate.sources]
    return values
