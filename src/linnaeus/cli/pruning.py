"""`--prune` of `linnaeus train`: weights below a threshold, or those that documents say do not matter (auto).

Where figures are those of a copy that was trained without some documents, these documents decide about the copy, and
the model is pruned at the threshold of the copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from linnaeus.auto.pruning import prune_where_equal, stays_whole
from linnaeus.engine import parse_bytes
from linnaeus.models.pruning import LinearWeights

if TYPE_CHECKING:
    from linnaeus.auto.pruning import PruneReport, PruningComparison
    from linnaeus.cli.training import Labels
    from linnaeus.data import Dataset
    from linnaeus.models.linear import LinearTaxonomyClassifier
    from linnaeus.pipeline import Pipeline

__all__ = ["Pruning"]

_PART = 4  # pruning needs a part of the memory of dense weights beside them: less than one in 4


@dataclass
class Pruning:
    """What ``--prune`` asks for and what copies of the model have shown.

    Parameters
    ----------
    threshold : float or None
        The threshold that is given; None: the one at which nothing is lost.
    measure : str
        What must not fall.
    max_memory : str or None
        The memory limit of the training.
    """

    threshold: float | None
    measure: str
    max_memory: str | None = None
    copies: list[PruneReport] = field(default_factory=list)

    def prune_copy(self, pipe: Pipeline, learned: tuple[Dataset, Labels], held_out: tuple[Dataset, Labels]) -> None:
        """Prune a copy of the model and keep what documents say that it has not seen."""
        if self.threshold is None:
            self.copies.append(self._where_equal(pipe, learned, held_out))
        else:
            _prune_at(pipe, self.threshold)

    def prune(
        self, pipe: Pipeline, learned: tuple[Dataset, Labels], held_out: tuple[Dataset, Labels] | None
    ) -> dict[str, Any]:
        """Prune the model; what was done."""
        if self.threshold is not None:
            return _prune_at(pipe, self.threshold)
        refused = next((copy for copy in self.copies if copy.reason is not None), None)
        if refused is not None:
            assert refused.reason is not None
            return _plain(stays_whole(pipe, refused.reason))
        return _plain(self._where_equal(pipe, learned, held_out))

    def _where_equal(
        self, pipe: Pipeline, learned: tuple[Dataset, Labels], held_out: tuple[Dataset, Labels] | None
    ) -> PruneReport:
        weights: Any = vars(pipe.model_)["weights_"]
        if self.max_memory is not None and weights.nbytes // _PART > parse_bytes(self.max_memory, "--max-memory"):
            return stays_whole(pipe, "pruning it may take more than --max-memory")
        done = prune_where_equal(
            pipe,
            learned[0].documents,
            learned[1],
            measure=self.measure,
            unseen=None if held_out is None else (held_out[0].documents, held_out[1]),
            threshold=min((copy.threshold for copy in self.copies if copy.threshold is not None), default=None),
        )
        return replace(done, unseen=self._unseen()) if held_out is None and done.reason is None else done

    def _unseen(self) -> PruningComparison | None:
        """What the copy says that changed most."""
        found = [copy.unseen for copy in self.copies if copy.unseen is not None]
        return max(found, key=lambda one: one.changed, default=None)


def _prune_at(pipe: Pipeline, threshold: float) -> dict[str, Any]:
    """Drop weights below a threshold; how many stay."""
    model = cast("LinearTaxonomyClassifier", pipe.model_)
    before, had_probabilities = LinearWeights.of(model), model.calibrator_ is not None
    model.prune(threshold)
    kept = LinearWeights.of(model)
    report = {"threshold": model.prune_threshold_, "weights_before": before.size, "weights_kept": kept.size}
    share = kept.size / max(1, before.size)
    said = f"pruned at {model.prune_threshold_:g}: {kept.size:,} weights kept ({share:.1%})"
    said += "; its calibrated probabilities are dropped (--calibrate fits new ones)" if had_probabilities else ""
    return {**report, "bytes_before": before.nbytes, "bytes_after": kept.nbytes, "summary": said}


def _plain(report: PruneReport) -> dict[str, Any]:
    return {**report.to_dict(), "summary": str(report)}
