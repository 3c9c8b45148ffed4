"""What a search has chosen, and why, in plain values and in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np

from linnaeus.auto.candidates import Candidate
from linnaeus.auto.evaluate import Outcome
from linnaeus.engine.limits import format_seconds

__all__ = ["FLAT", "AutoReport", "cut_words"]

FLAT = "OneVsRestSVM"


@dataclass
class AutoReport:
    """What a search has chosen, and why.

    Attributes
    ----------
    measure : str
        The measure that was maximised.
    chosen, runner_up : Outcome
        The best candidate, and the best of another model or other features (None if there is none).
    baseline : Outcome
        The flat model with its usual parameters; ``baseline.own`` is its value with the usual decoder.
    value : float
        Held-out value of the chosen candidate; ``interval`` is its 95% bootstrap interval over documents.
    tried : list of Outcome
        Everything that was measured, in this order.
    budget, seconds : float
        The budget, and what the search has taken.
    n_held_out : int
        Number of held-out documents.
    notes : list of str
        What a user should know.
    refined : Outcome or None
        The chosen candidate with every document held out once, which the cut, the probabilities and the weights of a
        mixture are learned from; None where there was no time for it.
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
