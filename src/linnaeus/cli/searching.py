"""`linnaeus train --model auto`: the search behind it, and what it prints."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from linnaeus.cli.console import note
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.auto import AutoReport
    from linnaeus.cli.train import ModelOptions, RunOptions
    from linnaeus.pipeline import Pipeline

__all__ = ["check", "fit"]


def check(chosen: ModelOptions, run: RunOptions) -> None:
    """Refuse what a search has no use for, before anything is read."""
    from linnaeus.auto.measures import MEASURES, check_measure
    from linnaeus.engine.limits import parse_seconds
    from linnaeus.registry import find_model

    if chosen.measure is not None:
        try:
            check_measure(chosen.measure)
        except ParameterError:
            raise ParameterError(f"--measure {chosen.measure}: expected {', '.join(MEASURES)}.") from None
    if chosen.budget is not None:
        parse_seconds(chosen.budget, "--budget")
    for option, value in (("--C", chosen.C), ("--set", chosen.set), ("--decoder", chosen.decoder)):
        if value is not None:
            raise ParameterError(
                f"{option}: the search chooses parameters and the cut; name a model with --model, without --budget and "
                "--measure, to give them."
            )
    for option, value in (("--max-time", run.max_time), ("--max-memory", run.max_memory), ("--engine", run.engine)):
        if value is not None:
            raise ParameterError(f"{option} is of a single training; --budget limits a search.")
    if not chosen.is_auto:
        find_model(chosen.name)


def fit(
    documents: Any, y: Any, taxonomy: Any, vectors: Any, chosen: ModelOptions, run: RunOptions, *, quiet: bool
) -> tuple[Pipeline, AutoReport | None]:
    """The pipeline that a search has chosen, fitted on all documents, and the report; None where nothing was held out.

    With the name of a model only its C and the cut are searched for.
    """
    from linnaeus.auto import AutoClassifier
    from linnaeus.registry import find_model

    auto = AutoClassifier(
        taxonomy,
        measure=chosen.measure or "hierarchical_f1",
        budget=chosen.budget,
        features=vectors,
        random_state=run.seed,
        n_jobs=run.jobs,
        checkpoint=run.checkpoint,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        auto.fit(
            documents.documents,
            y,
            feature_names=documents.feature_names,
            models=None if chosen.is_auto else [find_model(chosen.name)],
            tuned=("features", "learn", "C") if chosen.is_auto else ("C",),
            say=(lambda line: None) if quiet else note,
        )
    for message in dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)):
        note(f"note: {message}")
    return auto.pipeline_, auto.report_
