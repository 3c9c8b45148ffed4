"""`linnaeus train`: documents and a taxonomy to a model folder.

What the options leave open (features, model, C, cut) is chosen on held-out documents first: `SearchPlan`.
"""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from linnaeus.cli import common, mixing, training
from linnaeus.cli.common import STARTED, JsonOption, note, note_columns, print_json, print_table
from linnaeus.errors import DataError, ParameterError, check_choice, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from linnaeus.auto import AutoReport
    from linnaeus.cli.pruning import Pruning
    from linnaeus.data import Dataset
    from linnaeus.decoding import Decoder
    from linnaeus.lexical.model import LexicalModel
    from linnaeus.models.base import TaxonomyClassifier
    from linnaeus.pipeline import Pipeline, Transformer
    from linnaeus.taxonomy import Taxonomy

__all__ = ["train"]

_ANSWERS_ALL = ("RRSVM", "RRLogistic", "HierarchicalSVM", "HierarchicalPerceptron", "Hieron")  # with answer="all"
_FLAT = "OneVsRestSVM"  # what is trained where nothing can be chosen
_OWN = "own"  # the decoder of the model
_LARGE = 50_000_000  # bytes of dense weights from which on a model is pruned: smaller ones load and answer at once
_FEW_LABELS = 0.5  # labels per answer over labels per document, below which a learned cut-off is suggested


def _model(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Model")


def _features(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Features")


def _run(*names: str, help: str, **limits: int) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Time, memory, threads", **limits)  # type: ignore[arg-type]


def _after(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="After training")


@dataclass(frozen=True, kw_only=True)
class ModelOptions(common.Group):
    """Which model with which parameters."""

    name: Annotated[
        str,
        _model(
            "--model",
            "-m",
            help="Model, see `linnaeus models`; its C and cut are chosen on held-out documents. With auto (the "
            "default) the model and the features are chosen as well.",
        ),
    ] = "auto"
    budget: Annotated[
        str | None,
        _model(
            "--budget",
            help="Time for the search and the final training: 90, 10m, 1h (default: ten times a flat training, at "
            "least 30 s); 0 disables the search.",
        ),
    ] = None
    measure: Annotated[
        str | None,
        _model(
            "--measure",
            help="Measure that the search maximises: hierarchical_f1 (default), micro_f1, macro_f1, example_f1, "
            "average_precision for rankings, or precision_at_1 for the first suggestion.",
        ),
    ] = None
    C: Annotated[float | None, _model("--C", help="Weight of the loss (default: chosen).")] = None
    set: Annotated[
        list[str] | None,
        _model("--set", help="Model parameter, such as tol=0.01; see `linnaeus models NAME`."),
    ] = None
    sources: Annotated[
        str | None,
        _model(
            "--sources",
            help="Models of a mixture (--model Mixture), as RRSVM,LexicalModel or NAME=MODEL,...; default: "
            "OneVsRestSVM,RRLogistic. --set RRSVM__C=2 is a parameter of one of them. Each is trained six times.",
        ),
    ] = None
    suggestions: Annotated[
        list[str] | None,
        _model(
            "--suggestions",
            help="NAME=FILE: label file with the suggestions of another tool for the documents, by id, as a source of "
            "a mixture; the tool must not have learned from these documents. May be repeated.",
        ),
    ] = None
    answer: Annotated[
        str | None,
        _model(
            "--answer",
            help="Nodes that can be answered: seen (default: labels of the documents), or all nodes with texts, also "
            "those without documents; trains RRSVM without a search, or --model RRLogistic, HierarchicalSVM, "
            "HierarchicalPerceptron or Hieron.",
        ),
    ] = None
    decoder: Annotated[
        str | None,
        _model(
            "--decoder",
            help="How scores become answers (default: chosen): own (that of the model), threshold, best_label, "
            "best_leaf, top_down, best_subtree, best_closure; or a cut-off learned from held-out documents: rcut, "
            "scut, pcut, instance_cut, set_size, expected; with parameters as scut,average=micro.",
        ),
    ] = None

    @property
    def is_auto(self) -> bool:
        """Whether the model is chosen by a search."""
        return self.name.lower() in ("auto", "autoclassifier")

    @property
    def is_untuned(self) -> bool:
        """Whether the budget is 0, so that nothing is chosen."""
        return self.budget is not None and self.budget.strip() in ("0", "0s", "0.0")

    @property
    def is_mixture(self) -> bool:
        """Whether several models are trained as one."""
        return self.name.lower() == mixing.MIXTURE.lower() or (
            self.is_auto and (self.sources is not None or bool(self.suggestions))
        )

    @property
    def suggested(self) -> dict[str, str]:
        """Label files of other tools by the name of the source."""
        return common.suggestion_files(self.suggestions)

    def _mixture(self) -> ModelOptions:
        """The options of a mixture; a search and ``--answer`` are refused."""
        for option, value in (("--budget", None if self.is_untuned else self.budget), ("--measure", self.measure)):
            if value is not None:
                raise ParameterError(f"{option}: a mixture is trained as given, without a search; leave {option} out.")
        if self.answer == "all":
            raise ParameterError("--answer all with --model Mixture; give it to a source, as --set RRSVM__answer=all.")
        given = replace(self, name=mixing.MIXTURE, answer=None)
        mixing.check_sources(mixing.sources_of(self.sources, self.suggested), given.settings())
        return given

    def resolved(self) -> ModelOptions:
        """The same options with the model that ``--answer all`` or ``--sources`` trains where none is named."""
        from linnaeus.registry import find_model

        check_choice("--answer", self.answer or "seen", ("seen", "all"))
        if self.is_mixture:
            return self._mixture()
        if self.suggestions:
            raise ParameterError(f"--suggestions with --model {self.name}; expected --model Mixture, or --sources.")
        if self.sources is not None:
            raise ParameterError(f"--sources with --model {self.name}; expected --model Mixture.")
        if self.answer != "all":
            return replace(self, answer=None)
        name = _ANSWERS_ALL[0] if self.is_auto else find_model(self.name)
        if name not in _ANSWERS_ALL:
            raise ParameterError(f"--answer all with --model {name}; expected one of {', '.join(_ANSWERS_ALL)}.")
        for option, value in (("--budget", None if self.is_untuned else self.budget), ("--measure", self.measure)):
            if value is not None:
                raise ParameterError(f"{option}: with --answer all nothing is searched for; leave {option} out.")
        return replace(self, name=name)

    def settings(self) -> list[str]:
        """Parameters as NAME=VALUE."""
        given = [*(self.set or [])]
        if self.answer is not None:
            given.append(f"answer={self.answer}")
        if self.C is None:
            return given
        if any(entry.startswith("C=") for entry in given):
            raise ParameterError("Give --C or --set C=..., not both.")
        return [*given, f"C={self.C}"]


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(common.Group):
    """How documents become vectors."""

    weighting: Annotated[
        str | None,
        _features(
            "--weighting",
            help="Term weighting: tfidf (default), idf (x ln(N/n): words of all documents get weight 0), or "
            "log2 (raw counts x log2(N/n)).",
        ),
    ] = None
    features: Annotated[
        str | None,
        _features(
            "--features",
            help="Substrings of sequences, or of one text column with typos or compound words: spectrum:4, "
            "spectrum:2-4, spectrum:4,max_gap=1,decay=0.5. Or hashed words, so that online models learn new words: "
            "hashed, hashed:20. Or an RBF map of the usual vectors: rbf, rbf:800,gamma=0.5. Or dense vectors "
            "relative to their own mean and length: profiles, rbf:800,profiles=true. Several of these side by side: "
            "rbf+profiles.",
        ),
    ] = None
    embedding: Annotated[
        str | None,
        _features(
            "--embedding",
            help="Word vectors together with the terms of texts, for few documents: own (learned from the documents "
            "and the texts of the taxonomy), wordllama (package), or the folder of a model2vec, ONNX or "
            "sentence-transformers model; with parameters as own,weight=0.5 (default: the weight is chosen), or "
            "PATH,keep=true to hold the vectors in the model.",
        ),
    ] = None
    embedding_texts: Annotated[
        list[str] | None,
        _features(
            "--embedding-texts",
            help="Documents without labels that --embedding own learns vectors from as well; may be repeated.",
        ),
    ] = None
    min_df: Annotated[
        int | None, _features("--min-df", help="Minimum number of documents that contain a term (default: 2).")
    ] = None

    def make(
        self,
        documents: Dataset,
        reading: common.TrainingReading,
        taxonomy: Taxonomy,
        terms: Mapping[str, Any],
        model: Mapping[str, Any],
    ) -> Transformer | None:
        """The features of these options; see `training.make_features`."""
        return training.make_features(
            documents,
            reading,
            weighting=self.weighting,
            min_df=self.min_df,
            named=self.features,
            embedding=self.embedding,
            embedding_texts=self.embedding_texts or (),
            taxonomy=taxonomy,
            terms=terms,
            model=model,
        )


@dataclass(frozen=True, kw_only=True)
class AfterOptions(common.Group):
    """What happens to a trained model."""

    test: Annotated[str | None, _after("--test", help="Test documents, which the model is measured on.")] = None
    test_size: Annotated[
        float | None,
        _after(
            "--test-size",
            help="Hold out this share of the documents and measure on it; 0: measure nothing. By default the figures "
            "are those of the search; where nothing is searched for, a second model is trained without a tenth of the "
            "documents (at most 2,000) and measured on these.",
        ),
    ] = None
    prune: Annotated[
        str,
        _after(
            "--prune",
            help="Which weights to drop: auto (from linear models with more than 50 MB of weights, those that hardly "
            "change any answer), none, or a number (all weights below it).",
        ),
    ] = "auto"
    calibrate: Annotated[
        str | None, _after("--calibrate", help="Fit probabilities by cross-validation: isotonic or platt.")
    ] = None
    keep_documents: Annotated[
        bool,
        _after(
            "--keep-documents",
            help="Save the documents' features with the model: explanations then show similar documents, and RR models "
            "can be updated.",
        ),
    ] = False

    def check(self) -> None:
        """Refuse what contradicts itself before anything is read."""
        if self.test is not None and self.test_size is not None:
            raise ParameterError("Give --test or --test-size, not both.")
        if self.test_size is not None and not 0 <= self.test_size < 1:
            raise ParameterError(f"--test-size {self.test_size:g}: expected a share of at least 0 and below 1.")
        if self.calibrate not in (None, "isotonic", "platt"):
            raise ParameterError(f"--calibrate {self.calibrate}: expected isotonic or platt.")
        self.prune_threshold()

    def prune_threshold(self) -> float | None:
        """The threshold that ``--prune`` gives; None for auto, none and 0."""
        if self.prune in ("auto", "none"):
            return None
        try:
            threshold = float(self.prune)
            if not threshold >= 0:
                raise ValueError
        except ValueError:
            raise ParameterError(f"--prune {self.prune}: expected auto, none, or a number of at least 0.") from None
        return threshold or None

    def prunes(self, model: TaxonomyClassifier) -> bool:
        """Whether a fitted model is pruned: as asked for, or by default because it is large."""
        if self.prune == "auto":
            import numpy as np

            weights = vars(model).get("weights_") if hasattr(model, "prune") else None
            return isinstance(weights, np.ndarray) and weights.nbytes >= _LARGE
        if self.prune_threshold() is None:
            return False
        if not hasattr(model, "prune"):
            raise ParameterError(f"--prune: {type(model).__name__} has no weights to prune.")
        return True


@dataclass(frozen=True, kw_only=True)
class RunOptions(common.Group):
    """Where and how long a training runs."""

    jobs: Annotated[
        int | None,
        _run("--jobs", "-j", help="Threads or workers (default: all cores); the model does not depend on it."),
    ] = None
    engine: Annotated[
        str | None, _run("--engine", help="Where blocks run: serial, threads, ray (cluster: RAY_ADDRESS).")
    ] = None
    checkpoint: Annotated[
        str | None, _run("--checkpoint", help="Folder of intermediate results; the same command continues from them.")
    ] = None
    max_time: Annotated[
        str | None, _run("--max-time", help="Time limit, after which the best model so far is kept: 90, 10m, 1h30m.")
    ] = None
    max_memory: Annotated[
        str | None, _run("--max-memory", help="Memory limit, such as 4GB; weights are put on disk if necessary.")
    ] = None
    seed: Annotated[int, _run("--seed", min=0, max=2**32 - 1, help="Seed of the random order.")] = 0

    @property
    def n_jobs(self) -> int | None:
        """The threads of a model: all cores, unless they are given or an engine has its own."""
        return -1 if self.jobs is None and self.engine is None else self.jobs

    def parameters(self, model: str) -> dict[str, Any]:
        """Parameters of a model; a wrong engine or a limit that the model does not have is refused at once."""
        from linnaeus.engine import get_engine

        given = training.limits(model, checkpoint=self.checkpoint, max_time=self.max_time, max_memory=self.max_memory)
        if self.engine is not None:
            get_engine(self.engine, self.n_jobs, gpu=True)
        chosen = {**given, "engine": self.engine} if self.engine is not None else dict(given)
        return {**chosen, "n_jobs": self.n_jobs, "random_state": self.seed, "verbose": 1}

    @property
    def limited(self) -> bool:
        """Whether the training is bounded, so that it is not repeated for the figures."""
        return any(limit is not None for limit in (self.checkpoint, self.max_time, self.max_memory))


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
        parts = ["features", "model"] if self.model is None else []
        parts += ["C"] if self._tunes_C else []
        parts += ["the cut"] if self.decoder is None else []
        what = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        given = [f"{key}={value}" for key, value in self.parameters.items()]
        given += [] if self.decoder is None else [f"decoder {getattr(self.decoder, 'name', self.decoder)}"]
        said = f"choosing {what}" + ("" if self.model is None else f" of {self.model}")
        said += f" by {self.measure.replace('_', ' ')} of held-out documents"
        return f"{said} (given: {', '.join(given)})" if given else said


def _plan(chosen: ModelOptions, run: RunOptions) -> SearchPlan | None:
    """What is left to choose; None where one training follows from the options.

    Options that contradict each other are refused before anything is read.
    """
    from linnaeus.auto.evaluate import check_measure
    from linnaeus.registry import find_model

    name = None if chosen.is_auto else find_model(chosen.name)
    _check_measure(chosen)
    if chosen.is_untuned:
        return None
    limits = _limits(chosen, run)
    settings = training.parse_settings(name, chosen.settings(), n_jobs=run.n_jobs)
    decoder = _OWN if chosen.decoder == _OWN else _decoder(chosen.decoder)
    if name is not None:
        reason = _why_trained_once(name, settings, decoder)
        if reason is not None:
            for option, value in (("--budget", chosen.budget), ("--measure", chosen.measure)):
                if value is not None:
                    raise ParameterError(f"{option}: {reason}.")
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


def _decoder(given: str | None) -> Decoder | None:
    """A decoder; None for the model's own, or where none is given."""
    if given == _OWN:
        return None
    try:
        return common.parse_decoder(given)
    except ParameterError:
        hint = nearest(str(given), [_OWN])
        if hint:
            raise ParameterError(f"--decoder {given}: there is no such decoder{hint}") from None
        raise


def _check_measure(chosen: ModelOptions) -> None:
    """Refuse an unknown measure, and one that nothing is chosen by."""
    from linnaeus.auto.evaluate import MEASURES, check_measure

    if chosen.measure is None:
        return
    try:
        check_measure(chosen.measure)
    except ParameterError:
        hint = nearest(chosen.measure, MEASURES)
        raise ParameterError(f"--measure {chosen.measure}: expected {', '.join(MEASURES)}{hint}") from None
    if chosen.is_untuned:
        raise ParameterError("--measure: with --budget 0 nothing is chosen by a measure.")


def _limits(chosen: ModelOptions, run: RunOptions) -> dict[str, object]:
    """Parameters of memory and engine that hold for every model; invalid limits are refused."""
    from linnaeus.engine import get_engine, parse_bytes, parse_seconds

    if chosen.budget is not None:
        parse_seconds(chosen.budget, "--budget")
        if run.max_time is not None:
            raise ParameterError(
                "Give --budget or --max-time, not both: a budget limits the search and the final training."
            )
    if run.max_time is not None:
        parse_seconds(run.max_time, "--max-time")
    limits: dict[str, object] = {}
    if run.max_memory is not None:
        parse_bytes(run.max_memory, "--max-memory")
        limits["max_memory"] = run.max_memory
    if run.engine is not None:
        get_engine(run.engine, run.n_jobs, gpu=True)
        limits["engine"] = run.engine
    return limits


def _why_trained_once(name: str, settings: dict[str, object], decoder: Decoder | str | None) -> str | None:
    """Why nothing of a model is left to choose; None where something is."""
    from linnaeus.features.documents import takes_sequences
    from linnaeus.registry import DOCUMENT_MODELS

    if name in DOCUMENT_MODELS:
        return f"{name} is trained once; its cut is learned with it"
    if takes_sequences(settings.get("kernel")):
        return "a kernel on sequences is trained once, so that nothing is left to choose"
    if decoder is not None and ("C" in settings or "C" not in _known(name)):
        return "C and the decoder are given, so that nothing is left to choose"
    return None


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


def _search(
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
            spent=time.perf_counter() - STARTED,
            verbose=0 if quiet else 1,
            say=(lambda line: None) if quiet else note,
        )
    for message in dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)):
        note(f"note: {message}")
    return auto.pipeline_, auto.report_


def _drop_last_fit(checkpoint: str) -> None:
    """Delete the checkpoint of the last training, since its model is saved; what the search measured is kept."""
    from linnaeus.auto.classifier import LAST_FIT_FOLDER
    from linnaeus.models.checkpoint import remove_finished

    for folder in Path(checkpoint).glob(f"{LAST_FIT_FOLDER}*"):
        remove_finished(folder)


@common.with_groups
def train(
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", help="Documents with labels; may be repeated. Only LexicalModel needs none."),
    ] = None,
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder to save the model in.")],
    chosen: ModelOptions,
    taxonomy: common.OptionalTaxonomy,
    reading: common.TrainingReading,
    checks: common.LabelChecks,
    features: FeatureOptions,
    words: common.AnalyserOptions,
    after: AfterOptions,
    run: RunOptions,
    as_json: JsonOption = False,
) -> None:
    """Train a model, save it, and measure it on documents that it has not seen.

    Exit codes: 0 trained and saved, also when --max-time stopped it; 1 a problem with the input or the checkpoint;
    2 wrong usage, or too small a --max-memory; 130 stopped by Ctrl-C (with --checkpoint the same command continues).
    """
    from linnaeus import store
    from linnaeus.tuning import calibrate as calibrated

    after.check()
    chosen = chosen.resolved()
    wanted = None if chosen.answer == "all" or chosen.is_mixture else _plan(chosen, run)
    name = _FLAT if chosen.is_auto else chosen.name
    decoder = _decoder(chosen.decoder)
    terms = words.parameters()
    store.check_target(output)
    parameters = {} if wanted is not None else run.parameters(name)
    if not data:
        _train_without_documents(chosen, taxonomy, output, terms, as_json=as_json)
        return
    given = taxonomy.read_if_given()
    documents = reading.read(data, given)
    note_columns(documents)
    documents, y, tax = training.labels_of(documents, given or documents.taxonomy, checks, reading)
    documents = common.joined_suggestions(documents, chosen.suggested, tax)
    held_out, gold = _test_documents(after, reading, tax)
    if held_out is not None:
        held_out = common.joined_suggestions(held_out, chosen.suggested, tax)
    if after.test_size:
        documents, y, held_out, gold = training.hold_out(documents, y, after.test_size, run.seed)
    made: TaxonomyClassifier | None = None
    if "analyzer" in terms and wanted is None:
        parameters["analyzer"] = terms["analyzer"]
    if wanted is None and not chosen.is_mixture:
        made = training.make_model(name, chosen.settings(), taxonomy=tax, **parameters)
    vectors = _vectors(made, documents, tax, reading, features, words, run)
    if chosen.is_mixture:
        made, vectors = _mixture(chosen, documents, vectors, taxonomy=tax, **parameters)
    start, report = time.perf_counter(), None
    training.note_parts(documents, reading.split)
    if not as_json:
        how = f"training {_named(made)}" if wanted is None else str(wanted)
        tuned = "; --budget 0: nothing is tuned" if wanted is None and chosen.is_untuned else ""
        note(f"{len(documents):,} documents, {tax}; {how}{tuned} ...")
    if wanted is not None:
        pipe, report = _search(documents, y, tax, vectors, wanted, run, quiet=as_json)
    else:
        assert made is not None
        pipe = _fitted(made, vectors, decoder, documents, y, tax, output)
    result = training.summary(pipe, documents, time.perf_counter() - start)
    about = _about(documents, taxonomy, reading)
    if report is not None:
        result["search"] = report.to_dict()
        about["search"] = {key: value for key, value in result["search"].items() if key != "tried"}
    pipe.about_ = about
    if after.keep_documents:
        pipe.keep_documents(documents.documents, y, documents.ids)
    training.save(pipe, output)  # before anything is measured: what was trained is not lost
    if run.checkpoint is not None:
        (_drop_last_fit if made is None else training.drop_finished)(run.checkpoint)
    pruning = None
    if after.prunes(pipe.estimator):
        from linnaeus.cli.pruning import Pruning

        measure = "hierarchical_f1" if wanted is None else wanted.measure
        pruning = Pruning(after.prune_threshold(), measure, run.max_memory)
    asked = None if report is None else report.measure
    _measure(result, pipe, (documents, y), (held_out, gold), after, run, pruning, asked)
    if result.get("pruned", {}).get("threshold") is not None:
        training.save(pipe, output)
    if after.calibrate is not None:  # after pruning, which makes another model of it
        training.save(calibrated(pipe, documents.documents, y, method=after.calibrate), output)
    size = sum(file.stat().st_size for file in Path(output).rglob("*") if file.is_file())
    result |= {"columns": dict(documents.columns), "model_bytes": size, "output": output}
    _tell(result, pipe, report, as_json=as_json)


def _vectors(
    made: TaxonomyClassifier | None,
    documents: Dataset,
    taxonomy: Taxonomy,
    reading: common.TrainingReading,
    features: FeatureOptions,
    words: common.AnalyserOptions,
    run: RunOptions,
) -> Transformer | None:
    """The features of a model, or of all that a search tries; None where it takes documents, or vectors, as read."""
    if made is not None and made.takes_documents:
        useless = [features.option(name) for name in features.given()]
        useless += [words.option(name) for name in words.given() if name != "analyser"]
        training.check_texts(documents, useless)
        return None
    used = {"n_jobs": run.n_jobs, "random_state": run.seed} if made is None else made.get_params()
    return features.make(documents, reading, taxonomy, words.parameters(), used)


def _named(model: object) -> str:
    """The class of a model, of a mixture with its sources."""
    sources = getattr(model, "sources", None)
    of = f" of {' and '.join(name for name, _ in sources)}" if sources else ""
    return f"{type(model).__name__}{of}"


def _mixture(
    chosen: ModelOptions, documents: Dataset, vectors: Transformer | None, **parameters: Any
) -> tuple[TaxonomyClassifier, Transformer | None]:
    """The mixture of the sources that were named, and the features that it takes."""
    sources = mixing.sources_of(chosen.sources, chosen.suggested)
    if mixing.takes_documents(sources):
        training.check_texts(documents, [])
    return mixing.make_mixture(sources, chosen.settings(), vectors, suggested=list(chosen.suggested), **parameters)


def _fitted(
    model: TaxonomyClassifier,
    vectors: Transformer | None,
    decoder: Decoder | None,
    documents: Dataset,
    y: training.Labels,
    taxonomy: Taxonomy,
    output: str,
) -> Pipeline:
    """Features, model and decoder after training, without a search."""
    from linnaeus.pipeline import Pipeline

    pipe = Pipeline(model, vectors, decoder=decoder)
    pipe.check_matrix = training.check_room(model, _n_labels(y), output)
    training.advise(model, decoder, taxonomy, y)
    more = training.texts_of_vectors(model, vectors, documents, taxonomy)
    return pipe.fit(documents.documents, y, feature_names=documents.feature_names, **more)


def _test_documents(
    after: AfterOptions, reading: common.TrainingReading, taxonomy: Taxonomy
) -> tuple[Dataset | None, training.Labels]:
    """The documents of --test and their labels, if there are any; unknown labels count as missed, as in `evaluate`."""
    if after.test is None:
        return None, []
    held_out = reading.read([after.test], taxonomy)
    if held_out.labels is None:
        raise DataError(f"{after.test} has no labels to measure with; name their column with --labels.")
    return held_out, held_out.labels


def _about(documents: Dataset, taxonomy: common.OptionalTaxonomy, reading: common.TrainingReading) -> dict[str, object]:
    """What a saved model remembers of the documents that it was trained on."""
    from linnaeus.data.splits import sketch

    return {
        "documents": len(documents),
        "language": taxonomy.language,
        "document_sketch": sketch(documents),
        "labels": [] if reading.labels_file is not None else list(documents.columns.get("labels", ())),
        "id": next(iter(documents.columns.get("id", ())), None),
        "text": list(documents.columns.get("text", ())),
        "feature_0_share": training.feature_0_share(documents),
    }


def _train_without_documents(
    chosen: ModelOptions,
    taxonomy: common.OptionalTaxonomy,
    output: str,
    terms: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Save a model that needs a taxonomy only."""
    from linnaeus import registry
    from linnaeus.pipeline import Pipeline

    able = ", ".join(registry.DOCUMENT_MODELS)
    other = chosen.is_auto or chosen.is_mixture or registry.find_model(chosen.name) not in registry.DOCUMENT_MODELS
    if other:
        raise ParameterError(f"--data is missing: without documents only {able} can be made (--model {able}).")
    tax = taxonomy.read_if_given()
    if tax is None:
        raise ParameterError(f"--taxonomy is missing: without documents {able} is made from the texts of a taxonomy.")
    model = cast("LexicalModel", training.make_model(chosen.name, chosen.settings(), taxonomy=tax, **terms))
    pipe = Pipeline.of_fitted(model.fit())
    pipe.about_ = {"documents": 0, "language": taxonomy.language}
    training.save(pipe, output)
    result = {"model": type(model).__name__, "documents": 0, "nodes": tax.n_nodes, "nodes_answered": len(model.nodes_)}
    if as_json:
        print_json({**result, "output": output})
        return
    print_table(["training", ""], [(name.replace("_", " "), value) for name, value in result.items()])
    note(f"saved to {output}: labels are found with fixed weights; labelled documents (--data) give better ones")


def _n_labels(y: training.Labels) -> int:
    return len({label for row in y for label in ([row] if isinstance(row, str) else row)})


def _measure(
    result: dict[str, Any],
    pipe: Pipeline,
    learned: tuple[Dataset, training.Labels],
    test: tuple[Dataset | None, training.Labels],
    after: AfterOptions,
    run: RunOptions,
    pruning: Pruning | None,
    asked: str | None,
) -> None:
    """Add figures to the result, and prune the model if asked to; ``asked`` is what a search has maximised."""
    from linnaeus.cli.documents import fit_to

    result["measured_on"], result["scores"] = None, None
    held_out = None if test[0] is None else fit_to(pipe, test[0])
    scores = None  # after pruning
    if held_out is not None:
        result["measured_on"], result["scores"] = "the test documents", training.measure(pipe, held_out, test[1], asked)
    elif after.test_size != 0 and asked is None:
        scores = _measure_unseen(result, pipe, learned, run, None if pruning is None else pruning.prune_copy)
    if pruning is not None:
        result["pruned"] = pruning.prune(pipe, learned, None if held_out is None else (held_out, test[1]))
        if result["pruned"]["threshold"] is not None:
            after_pruning = scores if held_out is None else training.measure(pipe, held_out, test[1], asked)
            result["pruned"]["scores"] = after_pruning


def _measure_unseen(
    result: dict[str, Any],
    pipe: Pipeline,
    learned: tuple[Dataset, training.Labels],
    run: RunOptions,
    prune: Callable[..., None] | None,
) -> dict[str, float] | None:
    """Add figures of another training without some documents; those after pruning."""
    if run.limited:
        note("not measured: a training with a checkpoint or limits is not repeated; use --test or --test-size 0.1")
        return None
    unseen = training.measure_unseen(pipe, *learned, run.seed, prune)
    if not isinstance(unseen, training.UnseenFigures):
        note(f"not measured: there are too few documents to hold some out ({unseen})")
        return None
    result["measured_on"], result["scores"] = unseen.on, unseen.scores
    result["seconds_measuring"] = round(unseen.seconds, 3)
    return unseen.pruned


def _tell(result: dict[str, Any], pipe: Pipeline, report: AutoReport | None, *, as_json: bool) -> None:
    """Print the result, and notes on options that would help."""
    print_json(result) if as_json else _show(result)
    if report is not None and not as_json:
        print(report)
    if report is None and pipe.decoder is None and result["scores"] is not None:
        _advise_decoder(result["scores"])


def _advise_decoder(scores: dict[str, float]) -> None:
    """A note where answers hold few of the labels that documents have."""
    given, answered = scores.get("labels_per_document", 0.0), scores.get("predicted_per_document", 0.0)
    if answered < _FEW_LABELS * given:
        note(
            f"note: documents have {given:.1f} labels on average and answers {answered:.1f}; --decoder set_size learns "
            "how many labels to answer (in five more trainings)"
        )


def _show(result: dict[str, Any]) -> None:
    hidden = ("measured_on", "model_bytes", "seconds_measuring", "output")
    rows = [
        (name.replace("_", " "), value)
        for name, value in result.items()
        if value is not None and not isinstance(value, dict) and name not in hidden
    ]
    print_table(["training", ""], rows)
    pruned = result.get("pruned")
    if result["scores"] is not None:
        after = (pruned or {}).get("scores")
        columns = [f"on {result['measured_on']}", "value"] + (["after pruning"] if after else [])
        print_table(columns, [(k, v) + ((after.get(k),) if after else ()) for k, v in result["scores"].items()])
    if "seconds_measuring" in result:
        seconds = result["seconds_measuring"]
        note(
            f"measured by training again without these documents ({seconds:.1f} s; --test-size 0 leaves it out); the "
            "saved model learned from all documents"
        )
    if pruned:
        note(pruned["summary"])
    note(f"saved to {result['output']}; try: linnaeus predict {result['output']} FILE --top 5")
