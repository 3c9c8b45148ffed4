"""What the commands that learn share: labels, features and model from options; figures on unseen documents.

Figures of `linnaeus train` are of another training without a tenth of the documents (at most 2,000); with few
documents, cross-validation answers each of them once. The model that is saved learns from all documents.
"""

from __future__ import annotations

import inspect
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from linnaeus.cli.common import LabelChecks, LabelledReading, Reading, kind_words, note, weighted_fields
from linnaeus.errors import DataError, LinnaeusError, ParameterError, StoreError, UnknownLabelError, nearest
from linnaeus.progress import waiting

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.decoding import Decoder
    from linnaeus.features import DenseFeatures
    from linnaeus.models.base import TaxonomyClassifier
    from linnaeus.models.classifier import Classifier
    from linnaeus.pipeline import Pipeline, Transformer
    from linnaeus.taxonomy import Taxonomy
    from linnaeus.typing import IntArray

Labels: TypeAlias = Sequence[str] | Sequence[Sequence[str]]  # one of each document, or a set of each

__all__ = [
    "MANY_SEEN",
    "TERM_OPTIONS",
    "Labels",
    "UnseenFigures",
    "advise",
    "check_room",
    "check_texts",
    "drop_finished",
    "feature_0_share",
    "folds_of",
    "hold_out",
    "labels_of",
    "limits",
    "make_features",
    "make_model",
    "measure",
    "measure_unseen",
    "no_labels",
    "note_parts",
    "parse_settings",
    "save",
    "summary",
]

_STEP, _MOSTLY = " > ", 0.8  # between the names of a path; the share of labels that are paths
MANY_SEEN = 0.2  # warn if at least this share of the documents equal training documents

# Where joint models were measured to be better than flat ones (docs/which-model.md): thousands of labels, one for each
# document, and half of the labels with at most this number of documents.
_RARE, _MANY = 5, 2000


TERM_OPTIONS = {"analyzer": "--analyser", "ngram_range": "--ngrams", "stop_words": "--stop-words"}


def labels_of(
    documents: Dataset, taxonomy: Taxonomy | None, checks: LabelChecks, reading: LabelledReading
) -> tuple[Dataset, Labels, Taxonomy]:
    """Documents that a model learns from, their labels (one each where every document has one), and the taxonomy.

    Without a taxonomy the labels are a flat one, or a tree if they are paths. Documents without a label are refused
    unless --unlabelled says otherwise.
    """
    from linnaeus.data.dataset import prepare_labels
    from linnaeus.taxonomy import Taxonomy

    if documents.labels is None:
        raise no_labels(documents)
    if taxonomy is None:
        names = sorted({label for row in documents.labels for label in row})
        if sum(_STEP in name for name in names) >= _MOSTLY * len(names) > 0:
            example = next(name for name in names if _STEP in name)
            note(f"no taxonomy given: labels such as {example!r} are paths of a tree")
            taxonomy = Taxonomy.from_paths([name.split(_STEP) for name in names], separator=_STEP)
        else:
            note("no taxonomy given: the labels are taken as a flat list (use --taxonomy)")
            taxonomy = Taxonomy.flat(names)
    if checks.unknown not in ("error", "drop", "replace"):
        hint = nearest(checks.unknown, ["error", "drop", "replace"])
        raise ParameterError(f"--unknown {checks.unknown}: expected error, drop or replace{hint}")
    unlabelled = reading.unlabelled or "error"
    try:
        with reading.named():
            kept, Y = prepare_labels(documents, taxonomy, unknown=checks.unknown, unlabelled=unlabelled)
    except UnknownLabelError as error:
        raise type(error)(f"{error} ({_ways_out(documents, taxonomy)})") from None
    if checks.unknown == "replace":
        replaced = taxonomy.replaced(documents.labels)[1]
        if replaced:
            note(f"note: {replaced.total():,} deprecated labels ({len(replaced):,} names) were replaced")
    if len(kept) < len(documents) and unlabelled == "drop":  # otherwise there was a warning
        note(f"note: {len(documents) - len(kept):,} of {len(documents):,} documents have no label and are left out")
    sets = taxonomy.labels(Y)
    return kept, ([row[0] for row in sets] if all(len(row) == 1 for row in sets) else sets), taxonomy


def no_labels(documents: Dataset) -> DataError:
    """The error for documents without labels, with the columns that were not used."""
    from linnaeus.data.readers.fasta import DESCRIPTION

    ignored = [name for name in documents.columns.get("ignored", ()) if name != DESCRIPTION][:20]
    among = f" (not used: {', '.join(map(repr, ignored))})" if ignored else ""
    return DataError(
        f"{documents.source} has no labels; name their column with --labels{among}, or a file with --labels-file."
    )


def _ways_out(documents: Dataset, taxonomy: Taxonomy) -> str:
    """Values of --unknown that accept the labels."""
    unknown = documents.unknown_labels(taxonomy)
    said = [taxonomy.deprecated[label] for label in unknown if label in taxonomy.deprecated]
    drop = "--unknown drop leaves such labels out"
    if not any(len(deprecated.replaced_by) == 1 for deprecated in said):
        return drop
    return f"--unknown replace takes the replacements of deprecated labels, {drop}"


def hold_out(documents: Dataset, y: Labels, share: float, seed: int) -> tuple[Dataset, Labels, Dataset, Labels]:
    """(documents, labels, held-out documents, their labels), stratified."""
    from linnaeus.data.splits import share_seen, sketch, train_test_split

    sets = [[row] if isinstance(row, str) else row for row in y]
    train, test = train_test_split(sets, share, random_state=seed)
    repeated = share_seen(documents.take(test), sketch(documents.take(train)))
    if repeated >= MANY_SEEN:
        note(
            f"warning: about {repeated:.0%} of the held-out documents equal documents that are trained on, so that the "
            "figures are too good; --duplicates drop leaves out repeated documents"
        )
    return documents.take(train), [y[i] for i in train], documents.take(test), [y[i] for i in test]


def make_features(
    documents: Dataset,
    reading: Reading,
    *,
    weighting: str | None = None,
    min_df: int | None = None,
    named: str | None = None,
    embedding: str | None = None,
    embedding_texts: Sequence[str] = (),
    taxonomy: Taxonomy | None = None,
    terms: Mapping[str, Any] = MappingProxyType({}),
    model: Mapping[str, Any] = MappingProxyType({}),
) -> Transformer | None:
    """Features for these documents, by name or usual ones; an option that has no effect on them is refused.

    ``terms`` are parameters of `common.AnalyserOptions`. A ``model`` (its parameters) with a kernel on sequences takes
    them as they are. An ``embedding`` of own vectors learns from texts of the taxonomy and of ``embedding_texts`` too.
    """
    from linnaeus.features.documents import takes_sequences
    from linnaeus.features.named import (
        hashed_text,
        is_hashed,
        is_kernel_map,
        is_profiles,
        is_side_by_side,
        kernel_map,
        profiles_of,
        side_by_side,
    )

    seed = model.get("random_state")
    seed = seed if isinstance(seed, int) else 0
    usual = partial(make_features, documents, reading, weighting=weighting, min_df=min_df, terms=terms, model=model)
    if embedding is not None:
        if documents.kind != "text":
            raise ParameterError(
                f"--embedding {embedding} takes texts, and {documents.source} holds {kind_words(documents.kind)}."
            )
        if named is not None:
            raise ParameterError(f"Give --embedding or --features {named}, not both.")
        return _embedded(embedding, usual(), taxonomy, embedding_texts, reading, seed)
    if embedding_texts:
        raise ParameterError("--embedding-texts has no effect without --embedding own.")
    if named is not None and is_side_by_side(named):
        _check_dense(documents, named)
        return side_by_side(named, cast("DenseFeatures", usual()), random_state=seed)
    if named is not None and is_kernel_map(named):
        vectors = usual()
        if documents.kind == "sequence" and vectors is None:
            raise ParameterError(f"--features {named}: the kernel of the model takes sequences as they are; give one.")
        if "profiles=true" in named.replace(" ", "").lower():
            _check_dense(documents, named)
        return kernel_map(named, vectors, random_state=seed)
    if named is not None and is_profiles(named):
        _check_dense(documents, named)
        return profiles_of(cast("DenseFeatures", usual()))
    if named is not None and is_hashed(named):
        _check_hashed(documents, named, weighting, min_df)
        return hashed_text(named, fields=weighted_fields(reading.text), categorical=reading.categorical or (), **terms)
    if takes_sequences(model.get("kernel")):
        if named is not None:
            raise ParameterError(f"--features {named}: the kernel of the model takes sequences as they are; give one.")
        _check_sequences(documents, "kernel")
        return None
    if named is not None:
        return _string_features(documents, reading, named, weighting, min_df, terms, model.get("n_jobs"))
    return _usual_features(documents, reading, {"weighting": weighting, "min_df": min_df, **terms})


def _check_dense(documents: Dataset, named: str) -> None:
    """Refuse documents that are not dense vectors."""
    if documents.kind != "dense":
        raise ParameterError(
            f"--features {named} takes dense vectors, and {documents.source} holds {kind_words(documents.kind)}."
        )


def _check_hashed(documents: Dataset, named: str, weighting: str | None, min_df: int | None) -> None:
    """Refuse documents that are not texts, and options of a vocabulary."""
    if documents.kind != "text":
        raise ParameterError(
            f"--features {named} takes texts, and {documents.source} holds {kind_words(documents.kind)}."
        )
    if weighting is not None or min_df is not None:
        option = "--weighting" if weighting is not None else "--min-df"
        raise ParameterError(f"{option} has no effect with --features {named}: hashed features have no vocabulary.")


_MOST_PAIRS = 20_000_000  # of documents and nodes whose probabilities are ranked
_FEATURES = ("rbf", "profiles", "hashed", "spectrum")  # by name


def _string_features(
    documents: Dataset,
    reading: Reading,
    named: str,
    weighting: str | None,
    min_df: int | None,
    terms: Mapping[str, Any],
    n_jobs: int | None,
) -> Transformer:
    """Features of sequences by name; options of texts are refused."""
    from linnaeus.features.named import string_features

    if (name := named.partition(":")[0].strip()) not in _FEATURES:
        raise ParameterError(
            f"--features {named}: expected rbf, profiles, hashed:N or spectrum:N, for example spectrum:4 for "
            f"substrings of 4 tokens{nearest(name, _FEATURES)}"
        )
    _check_sequences(documents, f"--features {named}")
    if weighting is not None or reading.categorical:
        raise ParameterError("--weighting and --categorical have no effect with --features.")
    if terms:
        raise ParameterError(f"{TERM_OPTIONS[next(iter(terms))]} has no effect with --features {named}.")
    return string_features(named, n_jobs=n_jobs, min_df=2 if min_df is None else min_df)


def _usual_features(documents: Dataset, reading: Reading, parameters: Mapping[str, Any]) -> Transformer | None:
    """The usual features of such documents; options that have no effect on them are refused."""
    from linnaeus.features.documents import default_features

    given = {"fields": weighted_fields(reading.text), "categorical": reading.categorical, **parameters}
    given = {name: value for name, value in given.items() if value is not None and value != []}
    allowed = {"text": set(given), "sequence": {"min_df", "weighting", "ngram_range"}}.get(documents.kind, set())
    useless = sorted(set(given) - allowed)
    if useless:
        option = {"fields": "--text", "min_df": "--min-df", **TERM_OPTIONS}.get(useless[0], f"--{useless[0]}")
        raise ParameterError(f"{option} has no effect on {kind_words(documents.kind)}, as in {documents.source}.")
    return default_features(documents.kind, **given)


def _embedded(
    embedding: str,
    usual: Transformer | None,
    taxonomy: Taxonomy | None,
    files: Sequence[str],
    reading: Reading,
    seed: int,
) -> Transformer:
    """Vectors of words beside the usual features; own ones learn from texts of files and of the taxonomy too."""
    from linnaeus.features.embedding import OWN, node_texts
    from linnaeus.features.named import embedded_text
    from linnaeus.features.word_vectors import open_vectors

    known = () if taxonomy is None else node_texts(taxonomy)
    made = embedded_text(embedding, usual, texts=[*known, *_texts_of(files, reading)], random_state=seed)
    if made.embedding != OWN:
        if files:
            raise ParameterError(f"--embedding-texts has no effect on {made.embedding}: its vectors are given.")
        open_vectors(made.embedding)  # what is missing or damaged is said before documents are read again
    return made


def _texts_of(files: Sequence[str], reading: Reading) -> list[str]:
    """Texts of files, all fields of a document in one; labels are not needed."""
    from linnaeus.features.documents import columns_of, texts_of

    found: list[str] = []
    for file in files:
        data = reading.read([file], None)
        if data.kind != "text":
            raise DataError(f"--embedding-texts {file} holds {kind_words(data.kind)}; expected texts.")
        columns = [texts_of(column, name) for name, column in columns_of(data.documents).items()]
        found += ["\n".join(texts) for texts in zip(*columns, strict=True)]
    return found


def check_texts(documents: Dataset, options: Sequence[str]) -> None:
    """Refuse documents that are not texts, and options of vectors, for a model that takes texts as they are."""
    for option in options:
        raise ParameterError(f"{option} has no effect: the model takes texts as they are, without vectors.")
    if documents.kind != "text":
        raise DataError(f"{documents.source} holds {kind_words(documents.kind)}; the model takes texts.")


def _check_sequences(documents: Dataset, what: str) -> None:
    if documents.kind not in ("sequence", "text") or (documents.fields is not None and len(documents.fields) > 1):
        kind = "several text fields" if documents.fields else kind_words(documents.kind)
        hint = "; name one with --sequence or --text" if documents.fields else ""
        raise ParameterError(f"{what} takes sequences, one per document; {documents.source} has {kind}{hint}.")


def note_parts(documents: Dataset, split: str | None) -> None:
    """A note where a file names parts and none was requested."""
    parts = sorted(set(documents.split or []))
    if split is None and len(parts) > 1:
        note(f"note: the file names the parts {', '.join(parts)}; all are used (--split {parts[-1]} takes one)")


def feature_0_share(documents: Dataset) -> float | None:
    """Share of sparse documents that have feature 0; it is 0 for files that number their features from 1."""
    from linnaeus.data.matrices import is_sparse

    X = documents.X
    if X is None or not is_sparse(X) or not X.shape[0]:
        return None
    return float((X.indices == 0).sum()) / int(X.shape[0])


def advise(model: TaxonomyClassifier, decoder: Decoder | None, tax: Taxonomy, y: Labels) -> None:
    """Notes on choices that are valid but rarely intended."""
    import numpy as np

    from linnaeus.taxonomy.closure import is_closed

    wants_closed = decoder is not None and decoder.name in ("best_subtree", "best_closure", "top_down")
    if wants_closed and getattr(model, "learn", "") == "given" and not is_closed(tax, tax.indicator(y)):
        assert decoder is not None
        note(f"note: {decoder.name} needs scores of inner nodes; --set learn=closed trains them")
    if decoder is not None and not getattr(decoder, "fitted", True):
        note(f"{decoder.name} is then fitted on scores of documents held out: five more trainings on four fifths each")
    count = np.asarray(tax.indicator(y).sum(axis=0)).ravel()
    middle = int(np.median(count[count > 0])) if count.any() else 0
    single = all(isinstance(row, str) for row in y)
    rare = 0 < middle <= _RARE and int((count > 0).sum()) >= _MANY
    if type(model).__name__ == "OneVsRestSVM" and single and rare and int(tax.depth.max()) > 1:
        note(f"note: half of the labels have at most {middle} documents; --model RRSVM lets them learn from relatives")


def make_model(name: str, settings: list[str] | None, **usual: Any) -> TaxonomyClassifier:
    """A model by name with the ``usual`` parameters that it has, and those of ``--set tol=0.01``."""
    from linnaeus import registry

    name = registry.find_model(name)
    kind = registry.resolve(name)
    known = set(inspect.signature(kind).parameters)
    parameters = {key: value for key, value in usual.items() if key in known}
    return kind(**{**parameters, **parse_settings(name, settings, n_jobs=usual.get("n_jobs"))})


def parse_settings(name: str | None, settings: list[str] | None, *, n_jobs: int | None = None) -> dict[str, object]:
    """The parameters of ``--set tol=0.01``; a model that does not have one is refused (None: some model has it)."""
    if not settings:
        return {}
    from linnaeus import registry
    from linnaeus.features.named import is_string_kernel, plain_value, string_kernel

    names = list(registry.MODELS) if name is None else [name]
    known = {key for one in names for key in inspect.signature(registry.resolve(one)).parameters} - {"taxonomy"}
    found: dict[str, object] = {}
    for entry in settings:
        key, equals, value = entry.partition("=")
        if not equals:
            raise ParameterError(f"--set {entry}: expected NAME=VALUE, for example tol=0.01.")
        if key not in known:
            have = "no model has it; they have" if name is None else f"{name} has the parameters"
            raise ParameterError(f"--set {entry}: {have} {', '.join(sorted(known))}{nearest(key, known)}")
        found[key] = plain_value(value)
        if key == "kernel" and is_string_kernel(value):
            found[key] = string_kernel(value, n_jobs=n_jobs)
    return found


def limits(name: str, **given: str | None) -> dict[str, str]:
    """The limits of a training that were given, checked before anything is read; a model without them is refused."""
    from linnaeus import registry
    from linnaeus.engine import parse_bytes, parse_seconds

    chosen = {key: value for key, value in given.items() if value is not None}
    name = name if name in registry.STORABLE else registry.find_model(name)
    missing = sorted(set(chosen) - set(inspect.signature(registry.resolve(name)).parameters))
    if missing:
        raise ParameterError(f"--{missing[0].replace('_', '-')}: {name} trains without such a limit.")
    if "max_time" in chosen:
        parse_seconds(chosen["max_time"], "--max-time")
    if "max_memory" in chosen:
        parse_bytes(chosen["max_memory"], "--max-memory")
    return chosen


def drop_finished(checkpoint: str) -> None:
    """The model is saved: the checkpoint has done its work, unless the time limit left some for another run."""
    from linnaeus.models.checkpoint import remove_finished

    if not remove_finished(checkpoint):
        note(f"the checkpoint {checkpoint} stays: the same command continues from it")


def summary(pipe: Pipeline, documents: Dataset, seconds: float) -> dict[str, Any]:
    """What was trained, on what, and how well the training problem was solved."""
    model = pipe.model_
    forecast = getattr(model, "memory_forecast", None)
    return {
        "model": type(model).__name__,
        "documents": len(documents),
        "features": getattr(model, "n_features_in_", None),
        "embedding_weight": getattr(pipe.features_, "weight_", None),
        "nodes": pipe.taxonomy_.n_nodes,
        "nodes_answered": len(model.nodes_),
        "objective": getattr(model, "objective_", None),
        "duality_gap": getattr(model, "duality_gap_", None),
        "n_iter": getattr(model, "n_iter_", None),
        "decoder": None if pipe.decoder_ is None else pipe.decoder_.name,
        "time_limit_reached": getattr(model, "time_limit_reached_", None),
        "memory_forecast": None if forecast is None else forecast.to_dict(),
        "seconds": round(seconds, 3),
    }


def save(model: Classifier, output: str) -> None:
    """Save a model; an error of the system names the folder."""
    from linnaeus import store

    try:
        store.save(model, output)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), error.filename or output) from error


def check_room(model: TaxonomyClassifier, labels: int, output: str) -> Callable[[object], None]:
    """A check before the model is trained: whether the folder has room for the weights of a linear model."""

    from linnaeus.engine import format_bytes

    def check(X: object) -> None:
        if not hasattr(model, "prune") or not hasattr(X, "shape"):
            return
        needed = labels * int(X.shape[1]) * 4
        folder = Path(output).absolute()
        free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free
        if needed > free:
            raise StoreError(f"{output} may need {format_bytes(needed)}, but only {format_bytes(free)} are free there.")

    return check


_SHARE, _MOST = 0.1, 2000  # held out, at most
_FEW, _FOLDS = 500, 3  # documents below which all are held out in turn, and in how many parts


@dataclass(frozen=True)
class UnseenFigures:
    """Figures, after pruning as well where asked for, and on what they were measured."""

    on: str
    scores: dict[str, float]
    pruned: dict[str, float] | None
    seconds: float


@dataclass
class _Answered:
    """Gold labels, answers, and best labels of documents; the best are left out for models of closed sets."""

    gold: list[str | Sequence[str]]
    predicted: list[str | Sequence[str]]
    best: list[str] | None

    def figures(self, taxonomy: Taxonomy, asked: str | None = None) -> dict[str, float]:
        """The usual figures, and before them the one that was asked for, if it is of answers."""
        from linnaeus import metrics

        found = {}
        if asked in ("macro_f1", "example_f1"):
            found[asked] = float(getattr(metrics, asked)(self.gold, self.predicted, taxonomy=taxonomy))
        found |= {
            "micro_f1": float(metrics.micro_f1(self.gold, self.predicted, taxonomy=taxonomy)),
            "hierarchical_f1": float(metrics.hierarchical_f1(self.gold, self.predicted, taxonomy=taxonomy)),
        }
        if self.best is not None:
            sets = [{row} if isinstance(row, str) else set(row) for row in self.gold]
            hits = sum(first in labels for first, labels in zip(self.best, sets, strict=True))
            found["precision_at_1"] = hits / max(1, len(sets))
        if self.gold and not all(isinstance(row, str) for row in self.gold):
            found["labels_per_document"] = sum(map(len, self.gold)) / len(self.gold)
            found["predicted_per_document"] = sum(map(len, self.predicted)) / len(self.gold)
        return found


def measure(pipe: Pipeline, documents: Dataset, gold: Labels, asked: str | None = None) -> dict[str, float]:
    """A few figures that say at a glance whether a model works, and the measure that a search maximised."""
    figures = _answered(pipe, documents, gold).figures(pipe.taxonomy_, asked)
    area = _average_precision(pipe, documents, gold) if asked == "average_precision" else None
    return figures if area is None else {"average_precision": area, **figures}


def _average_precision(pipe: Pipeline, documents: Dataset, gold: Labels) -> float | None:
    """The area that searches maximise; None without probabilities, with too many of them, or with unknown labels."""
    import numpy as np

    from linnaeus.auto.evaluate import of_ranking

    tax = pipe.taxonomy_
    known = all(label in tax for row in gold for label in ([row] if isinstance(row, str) else row))
    if pipe.calibrator_ is None or not known or len(documents) * tax.n_nodes > _MOST_PAIRS:
        return None
    P = pipe.node_probabilities(documents.documents)
    return float(of_ranking(tax.indicator(gold), P, tax)(np.ones((1, len(documents))))[0])


def _answered(pipe: Pipeline, documents: Dataset, gold: Labels) -> _Answered:
    predicted = pipe.taxonomy_.labels(pipe.answers(documents.documents))
    best = None
    if not pipe.model_.nested_:  # else the best node is mostly a top one, which labels as given are not
        best = [str(row[0]) for row in pipe.top(documents.documents, 1)[0]]
    return _Answered(list(gold), list(predicted), best)


def folds_of(y: Labels, seed: int) -> list[tuple[IntArray, IntArray]]:
    """(training rows, test rows), stratified: one pair, or several where documents are few."""
    from linnaeus.data.splits import kfold, train_test_split

    sets = [[row] if isinstance(row, str) else row for row in y]
    if len(sets) < _FEW:
        return list(kfold(sets, min(_FOLDS, len(sets)), random_state=seed))
    return [train_test_split(sets, min(_SHARE, _MOST / len(sets)), random_state=seed)]


def measure_unseen(
    pipe: Pipeline,
    documents: Dataset,
    y: Labels,
    seed: int,
    prune: Callable[[Pipeline, tuple[Dataset, Labels], tuple[Dataset, Labels]], None] | None = None,
) -> UnseenFigures | LinnaeusError:
    """Figures of copies of an unfitted pipeline; the error, where the documents do not suffice for a training."""
    start = time.perf_counter()
    before, after = _Answered([], [], []), _Answered([], [], [])
    try:
        folds = folds_of(y, seed)
        for number, (train, test) in enumerate(folds, 1):
            with waiting(f"measuring on documents held out ({number} of {len(folds)})"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the training of the model itself has said it
                learned = documents.take(train), [y[i] for i in train]
                fitted = _fit(pipe, *learned)
                held_out = documents.take(test), [y[i] for i in test]
                _add(before, _answered(fitted, *held_out))
                if prune is not None:
                    prune(fitted, learned, held_out)
                    _add(after, _answered(fitted, *held_out))
    except LinnaeusError as error:
        return error
    share = f"{len(before.gold):,} documents held out"
    taxonomy = fitted.taxonomy_
    return UnseenFigures(
        share if len(folds) == 1 else f"all documents, held out in {len(folds)} parts",
        before.figures(taxonomy),
        None if prune is None else after.figures(taxonomy),
        time.perf_counter() - start,
    )


def texts_of_vectors(
    model: TaxonomyClassifier, features: object, documents: Dataset, taxonomy: Taxonomy | None
) -> dict[str, Any]:
    """For ``answer="all"`` with vectors: the texts of nodes, by the features that a folder of converted texts holds."""
    if getattr(model, "answer", "seen") != "all" or features is not None or taxonomy is None:
        return {}
    from linnaeus.features.vectorise import load_features
    from linnaeus.models.label_priors import label_features

    found = load_features(documents.source) if documents.source else None
    if found is None:
        raise DataError(
            f"--answer all compares label texts with words, and {documents.source} holds {kind_words(documents.kind)}; "
            "train on texts, or on a folder that `linnaeus data convert` has made of texts."
        )
    return {"label_features": label_features(found, taxonomy)}


def _fit(pipe: Pipeline, documents: Dataset, y: Labels) -> Pipeline:
    from sklearn.base import clone

    from linnaeus.pipeline import Pipeline

    model = clone(pipe.model)
    if "verbose" in model.get_params():
        model.set_params(verbose=0)
    made = Pipeline(model, pipe.features, decoder=pipe.decoder)
    return made.fit(documents.documents, y, **texts_of_vectors(model, pipe.features, documents, model.taxonomy))


def _add(whole: _Answered, part: _Answered) -> None:
    whole.gold += part.gold
    whole.predicted += part.predicted
    whole.best = None if whole.best is None or part.best is None else whole.best + part.best
