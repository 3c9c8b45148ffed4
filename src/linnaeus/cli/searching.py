"""What `linnaeus train` chooses on held-out documents: which options leave what to choose, and the search itself."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linnaeus.answering.documents import takes_sequences
from linnaeus.cli import options, training
from linnaeus.cli.console import note
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.auto import AutoReport
    from linnaeus.cli.train import ModelOptions, RunOptions
    from linnaeus.data import Dataset
    from linnaeus.decoding import Decoder
    from linnaeus.pipeline import Pipeline, Transformer
    from linnaeus.taxonomy import Taxonomy

__all__ = ["FLAT", "SearchPlan", "drop_last_fit", "fit", "plan"]

FLAT = "OneVsRestSVM"  # what is trained where nothing can be chosen
OWN = "own"


@dataclass(frozen=True)
class SearchPlan:
    """What a search chooses and what is given.

    Parameters
    ----------
    model : str or None
        The model whose C and cut are tuned; None: the model is chosen too.
    parameters : dict
        Parameters of models that are given, C among them.
    decoder : Decoder, "own" or None
        The decoder that is given, None where the cut is chosen.
    budget : str or None
        Time for everything.
    measure : str
        What is maximised.
    """

    model: str | None
    parameters: dict[str, object]
    decoder: Decoder | str | None
    budget: str | None
    measure: str

    @property
    def tuned(self) -> tuple[str, ...]:
        """What is searched over, next to the models and the cut."""
        if self.model is None:
            found: tuple[str, ...] = ("features", "learn", "C")
            return tuple(name for name in found if name not in self.parameters)
        return ("C",) if self._tunes_C else ()

    @property
    def _tunes_C(self) -> bool:
        return "C" not in self.parameters and (self.model is None or "C" in _known(self.model))

    def __str__(self) -> str:
        parts = ["features and model"] if self.model is None else []
        parts += ["C"] if self._tunes_C else []
        parts += ["the cut"] if self.decoder is None else []
        what = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        given = [f"{key}={value}" for key, value in self.parameters.items()]
        given += [] if self.decoder is None else [f"decoder {getattr(self.decoder, 'name', self.decoder)}"]
        said = f"choosing {what}" + ("" if self.model is None else f" of {self.model}")
        said += f" by {self.measure.replace('_', ' ')} of held-out documents"
        return f"{said} (given: {', '.join(given)})" if given else said


def plan(chosen: ModelOptions, run: RunOptions) -> SearchPlan | None:
    """What is left to choose; None where one training follows from the options.

    Options that contradict each other are refused before anything is read.
    """
    from linnaeus.auto.measures import MEASURES, check_measure
    from linnaeus.engine import get_engine, parse_bytes, parse_seconds
    from linnaeus.registry import DOCUMENT_MODELS, find_model

    name = None if chosen.is_auto else find_model(chosen.name)
    if chosen.measure is not None:
        try:
            check_measure(chosen.measure)
        except ParameterError:
            raise ParameterError(f"--measure {chosen.measure}: expected {', '.join(MEASURES)}.") from None
    if chosen.is_untuned:
        if chosen.measure is not None:
            raise ParameterError("--measure: with --budget 0 nothing is chosen by a measure.")
        return None
    if chosen.budget is not None:
        parse_seconds(chosen.budget, "--budget")
        if run.max_time is not None:
            raise ParameterError("Give --budget or --max-time: a budget is for the choice and the last training.")
    if run.max_time is not None:
        parse_seconds(run.max_time, "--max-time")
    settings = training.parse_settings(name, chosen.settings(), n_jobs=run.n_jobs)
    decoder = OWN if chosen.decoder == OWN else options.parse_decoder(chosen.decoder)
    limits: dict[str, object] = {}
    if run.max_memory is not None:
        parse_bytes(run.max_memory, "--max-memory")
        limits["max_memory"] = run.max_memory
    if run.engine is not None:
        get_engine(run.engine, run.n_jobs, gpu=True)
        limits["engine"] = run.engine
    if name in DOCUMENT_MODELS:
        for option, value in (("--budget", chosen.budget), ("--measure", chosen.measure)):
            if value is not None:
                raise ParameterError(f"{option}: {name} is trained once; its cut is learned with it.")
        return None
    if name is not None:
        fixed = "C" in settings or "C" not in _known(name)
        sequences = takes_sequences(settings.get("kernel"))
        if (fixed and decoder is not None) or sequences:
            reason = "a kernel on sequences is trained once" if sequences else "C and the decoder are given"
            for option, value in (("--budget", chosen.budget), ("--measure", chosen.measure)):
                if value is not None:
                    raise ParameterError(f"{option}: {reason}, so that nothing is left to choose.")
            return None
        training.limits(name, checkpoint=run.checkpoint, max_memory=run.max_memory)
    _check_known(name, {**settings, **limits})
    return SearchPlan(
        name,
        {**settings, **limits},
        decoder,
        chosen.budget or run.max_time,
        check_measure(chosen.measure or "hierarchical_f1"),
    )


def _known(name: str) -> set[str]:
    from linnaeus.registry import resolve

    return set(inspect.signature(resolve(name)).parameters)


def _check_known(name: str | None, given: dict[str, object]) -> None:
    """Refuse parameters that the model, or every model of a search, does not have."""
    from linnaeus.auto.candidates import FAMILIES

    models = [one for names in FAMILIES.values() for one in names] if name is None else [name]
    if not any(set(given) <= _known(one) for one in models):
        said = ", ".join(given)
        raise ParameterError(
            f"No model of the search has the parameters {said}; name a model with --model (see `linnaeus models`)."
            if name is None
            else f"{name} does not have the parameters {said}; see `linnaeus models {name}`."
        )


def fit(
    documents: Dataset,
    y: training.Labels,
    taxonomy: Taxonomy,
    vectors: Transformer | None,
    wanted: SearchPlan,
    run: RunOptions,
    *,
    quiet: bool,
) -> tuple[Pipeline, AutoReport | None]:
    """The pipeline that a search has chosen, fitted on all documents, and the report; None where nothing was held out.

    Parameters
    ----------
    documents, y, taxonomy : Dataset, labels, Taxonomy
        Training documents, as they were read.
    vectors : transformer or None
        The usual features.
    wanted : SearchPlan
        What is chosen.
    run : RunOptions
        Seed, threads and checkpoint.
    quiet : bool
        Whether no line is printed for each candidate.

    Returns
    -------
    tuple of (Pipeline, AutoReport or None)
        The fitted pipeline and what the search found.
    """
    from linnaeus.auto import AutoClassifier

    auto = AutoClassifier(
        taxonomy,
        measure=wanted.measure,
        budget=wanted.budget,
        features=vectors,
        random_state=run.seed,
        n_jobs=run.n_jobs,
        checkpoint=run.checkpoint,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        auto.fit(
            documents.documents,
            y,
            feature_names=documents.feature_names,
            models=None if wanted.model is None else [wanted.model],
            tuned=wanted.tuned,
            parameters=wanted.parameters,
            decoder=wanted.decoder,
            say=(lambda line: None) if quiet else note,
        )
    for message in dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)):
        note(f"note: {message}")
    return auto.pipeline_, auto.report_


def drop_last_fit(checkpoint: str) -> None:
    """Delete the checkpoint of the last training, since its model is saved; what the search measured is kept."""
    from pathlib import Path

    from linnaeus.auto.classifier import LAST_FIT_FOLDER
    from linnaeus.models.checkpoint import remove_finished

    for folder in Path(checkpoint).glob(f"{LAST_FIT_FOLDER}*"):
        remove_finished(folder)
