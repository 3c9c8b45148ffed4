"""`linnaeus shootout`: every model on the user's documents, an honest comparison, and a report."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnaeus.cli import common, training
from linnaeus.cli.common import JsonOption, note, note_columns, print_json, print_table
from linnaeus.errors import DataError, ParameterError

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.experiments.experiment import Experiment
    from linnaeus.experiments.records import Result, Run
    from linnaeus.pipeline import Transformer
    from linnaeus.taxonomy import Taxonomy
    from linnaeus.typing import CSR

__all__ = ["shootout"]


@common.with_groups
def shootout(
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", help="Documents with labels; may be repeated.")
    ] = None,
    *,
    test: Annotated[str | None, typer.Option("--test", help="Test documents (default: a held-out quarter).")] = None,
    models: Annotated[
        str | None, typer.Option("--models", "-m", help="Models to run, such as RRSVM,OneVsRestSVM.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", "-b", help="Time for everything: 90, 10m, 1h (default 10m; demo 2m).")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Models that run at once; -1 for all cores.")] = -1,
    folds: Annotated[
        int | None, typer.Option("--folds", help="Cross-validation instead of a held-out quarter.")
    ] = None,
    test_size: Annotated[
        float | None,
        typer.Option("--test-size", help="Share of the documents to hold out and measure on (default: 0.25)."),
    ] = None,
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            help="Choose and compare by hierarchical_f1, micro_f1, macro_f1, example_f1, average_precision.",
        ),
    ] = "hierarchical_f1",
    curves: Annotated[bool, typer.Option("--curves", help="Also compute learning curves.")] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder of the report and of finished runs.")
    ] = "report",
    demo: Annotated[bool, typer.Option("--demo", help="Use the built-in corpus.")] = False,
    taxonomy: common.OptionalTaxonomy,
    reading: common.TrainingReading,
    checks: common.LabelChecks,
    features: Annotated[
        str | None, typer.Option("--features", help="As for train: spectrum:4, rbf:800, hashed:18.")
    ] = None,
    min_df: Annotated[
        int | None, typer.Option("--min-df", help="Minimum number of documents that contain a term (default: 2).")
    ] = None,
    words: common.AnalyserOptions,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of splits and models.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Run every model that fits, compare, and write report.html, report.md and shootout.json.

    Finished runs are kept in OUTPUT/runs; after an interruption the same command continues from them. Without --data,
    or with --demo, the built-in corpus is used. Exit codes: 0 success, also if models did not apply or ran out of time;
    1 a problem with the input; 2 wrong usage; 130 stopped by Ctrl-C.
    """
    from linnaeus.engine import n_workers, parse_seconds
    from linnaeus.experiments.measures import main_measure
    from linnaeus.registry import find_model

    if not demo and not data and (taxonomy.path or test):
        raise typer.BadParameter("--data is missing; without it the built-in corpus is used, which has a taxonomy.")
    _check_usage(demo=demo and bool(data), splits=(test, folds, test_size))
    measure = main_measure(measure)
    chosen = [find_model(name.strip()) for name in models.split(",") if name.strip()] if models else None
    seconds = parse_seconds(budget or ("10m" if data else "2m"), "--budget")
    workers, terms = n_workers(jobs), words.parameters()
    _check_output(output)
    split = {"test_size": test_size, "folds": folds, "seed": seed}
    if data:
        tax = taxonomy.read_if_given()
        documents, held_out = _read(reading, data, test, tax)
        note_columns(documents)
        tax = tax or documents.taxonomy
    else:
        documents, tax = _corpus()
        held_out = None
    documents, y, tax = training.labels_of(documents, tax, checks, reading)
    made = training.make_features(documents, reading, min_df=min_df, named=features, terms=terms)
    experiment, variant = _experiment(
        documents, y, held_out, tax, made, split, measure=measure, curves=curves, seed=seed
    )
    if not as_json:
        note(_about(experiment))
    from linnaeus.experiments.records import MEASURED
    from linnaeus.experiments.report import write_report
    from linnaeus.experiments.shootout import recommended
    from linnaeus.experiments.shootout import shootout as run

    result = run(
        experiment,
        output,
        models=chosen,
        budget=seconds,
        jobs=workers,
        command=shlex.join(["linnaeus", *sys.argv[1:]]),
        say=None if as_json else note,
    )
    best = recommended(result)
    if best is not None and data:
        result.next_step = train_command(sys.argv[1:], best, variant)
    kept = [path.name for path in (Path(output, "report.html"), Path(output, "report.md")) if path.exists()]
    if not any(row.status in MEASURED for row in result.runs):
        left = f" {kept[0]} in {output} was left unchanged." if kept else ""
        raise DataError(f"{result.sentence}{left}")
    written = write_report(result, Path(output))
    print_json({**result.to_json(), "columns": dict(documents.columns)}) if as_json else _show(result, written)


def _check_usage(*, demo: bool, splits: tuple[object, ...]) -> None:
    """Refuse options that contradict each other; ``demo``: the built-in corpus is wanted besides documents."""
    if demo:
        raise typer.BadParameter("Give --data or --demo, not both.")
    if sum(given is not None for given in splits) > 1:
        raise typer.BadParameter("Give one of --test, --folds and --test-size.")


_NOT_OF_TRAIN = {
    *("--models", "-m", "--budget", "-b", "--jobs", "-j", "--folds", "--test-size", "--output", "-o"),
    *("--curves", "--demo", "--json"),
}
_FLAGS = {"--curves", "--demo", "--json"}


# Options of train for features of texts that a search may choose, by the names of `linnaeus.auto.candidates`.
_TEXT_OPTIONS = {
    "characters": ["--analyser", "chars:2-5"],
    "log2 weighting": ["--weighting", "log2"],
    "all terms": ["--min-df", "1"],
    "all terms, idf": ["--min-df", "1", "--weighting", "idf"],
    "substrings of up to 4": ["--ngrams", "1-4"],
    "substrings of up to 5": ["--ngrams", "1-5"],
    "words and wordllama": ["--embedding", "wordllama"],
    "words, characters and wordllama": ["--embedding", "wordllama,characters=0.7"],
}


def train_command(arguments: list[str], run: Run, variant: str = "") -> str:
    """The command that trains the model of a run, from the arguments of the shoot-out and the features it has chosen.

    Examples
    --------
    >>> from linnaeus.experiments.records import Run
    >>> run = Run(model="RRSVM", status="done", parameters={"C": 3.0})
    >>> train_command(["shootout", "-d", "a.csv", "--budget=2m", "-j", "2"], run)
    'linnaeus train -d a.csv --model RRSVM --set C=3 --output model'
    >>> run = Run(model="RRSVM", status="done", parameters={"C": 3.0}, maps=["rbf:600,gamma=0.5"])
    >>> train_command(["shootout", "-d", "a.csv"], run)
    'linnaeus train -d a.csv --model RRSVM --set C=3 --features rbf:600,gamma=0.5 --output model'
    """
    kept = _without(arguments[1:], _NOT_OF_TRAIN)
    parameters, named = _of_one_part(run)
    settings = []
    for key, value in parameters.items():
        settings += ["--set", f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"]
    if named is not None:  # instead of the profiles that a map was made of
        kept, settings = _without(kept, {"--features"}), [*settings, "--features", named]
    settings += _TEXT_OPTIONS.get(variant, [])
    if variant == "characters":  # instead of the words, or groups of words, that were given
        kept = _without(kept, {"--analyser", "--analyzer", "--ngrams"})
    elif variant in _TERMS_OF and _given(kept, "--min-df") in (None, str(_USUAL_DF)):
        settings += ["--min-df", _TERMS_OF[variant]]  # unless another number was given
    return shlex.join(["linnaeus", "train", *kept, "--model", run.model, *settings, "--output", "model"])


_USUAL_DF = 2
# Documents of a term where no other number is given.
_TERMS_OF = {"words and wordllama": "1", "words, characters and wordllama": "1", "substrings of up to 5": "3"}


def _without(arguments: list[str], names: set[str]) -> list[str]:
    """Arguments without these options and their values."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name = argument.partition("=")[0] if argument.startswith("--") else argument[:2]
        if name not in names:
            kept.append(argument)
        elif name == argument and name not in _FLAGS:  # its value is the next argument
            next(rest, None)
    return kept


def _given(arguments: list[str], option: str) -> str | None:
    """The last value of an option."""
    found = None
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        if name == option:
            found = value if equals else following
    return found


def _of_one_part(run: Run) -> tuple[dict[str, object], str | None]:
    """The parameters and the kernel map of one part: of those with a map or without, whichever are more, the part with
    the (upper) median of C. C depends on the lengths of vectors, so that both are of the same part."""
    lists = [value for value in run.parameters.values() if isinstance(value, list)]
    n_parts = max([1, len(run.maps or ()), *map(len, lists)])
    earlier = "rbf" if "rbf map" in (run.features or "") else None  # of runs that were kept without their maps
    maps = run.maps or [earlier] * n_parts
    mapped = [part for part in range(n_parts) if maps[part] is not None]
    parts = mapped if 2 * len(mapped) > n_parts else [part for part in range(n_parts) if maps[part] is None] or mapped
    C = run.parameters.get("C")
    if isinstance(C, list) and all(isinstance(C[part], int | float) for part in parts):
        parts = sorted(parts, key=lambda part: C[part])
    part = parts[len(parts) // 2]
    values = {key: value[part] if isinstance(value, list) else value for key, value in run.parameters.items()}
    return {key: value for key, value in values.items() if value is not None}, maps[part]


def _check_output(output: str) -> None:
    if os.path.exists(output) and not os.path.isdir(output):
        raise ParameterError(f"--output {output} is a file; expected a folder, which may exist.")
    folder = Path(output).absolute()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK):
        raise ParameterError(f"--output {output} cannot be written: no permission for {there}.")


def _corpus() -> tuple[Dataset, Taxonomy | None]:
    from linnaeus.data.corpora import demo_corpus

    corpus = demo_corpus()
    return corpus, corpus.taxonomy


def _read(
    reading: common.Reading, data: list[str], test: str | None, tax: Taxonomy | None
) -> tuple[Dataset, Dataset | None]:
    """Training documents, and test documents where they are given or the file names parts."""
    from linnaeus.data.splits import by_split

    documents = reading.read(data, tax)
    if test is not None:
        held_out = reading.read([test], tax or documents.taxonomy)
        if held_out.labels is None:
            raise DataError(f"{test} has no labels to measure with; name their column with --labels.")
        return documents, held_out
    parts = {} if documents.split is None else by_split(documents)
    if {"train", "test"} <= set(parts):
        note("the file names its parts: learning from train, measuring on test")
        return parts["train"], parts["test"]
    return documents, None


def _experiment(
    documents: Dataset,
    y: training.Labels,
    held_out: Dataset | None,
    tax: Taxonomy,
    features: Transformer | None,
    split: dict[str, Any],
    **how: Any,
) -> tuple[Experiment, str]:
    """The experiment, and the name of the features of texts that were chosen (for the first part)."""
    from linnaeus.auto.search import choose_features
    from linnaeus.experiments.experiment import Experiment, make_parts
    from linnaeus.features import DenseFeatures, TextFeatures

    Y = tax.indicator(y)
    test = None
    if held_out is not None:  # labels that are not in the taxonomy cannot be answered; they are left out
        test = held_out.documents, held_out.indicator(tax, unknown="drop")
    taken: list[str] = []
    names: list[str] = []
    # The search of each model chooses what becomes of dense vectors: standardised ones, profiles, or maps of these.
    vectors = features if isinstance(features, DenseFeatures) and not features.profiles else None
    usual = features is None or vectors is not None or isinstance(features, TextFeatures)  # others were given by name

    def choose(rows: Any, labels: CSR) -> Transformer | None:
        name, made = choose_features(rows, labels, tax, features, measure=how["measure"], seed=how["seed"])
        taken.append(repr(made))
        names.append(name)
        if vectors is not None:
            return vectors.filling_only()
        if made is not features:
            note(f"features chosen on held-out training documents: {name}")
        return made

    parts, said = make_parts(documents.documents, Y, features, test=test, choose=choose, **split)
    described = "as given" if features is None else "; ".join(dict.fromkeys(taken))
    name = Path(documents.source or "documents").name
    return Experiment(name, tax, parts, said, described, vectors=vectors, tune_features=usual, **how), names[0]


def _about(experiment: Experiment) -> str:
    return (
        f"{experiment.name}: {experiment.n_train:,} documents to learn from, {experiment.n_test:,} to test on "
        f"({experiment.split}), {experiment.n_features:,} features; {experiment.taxonomy}"
    )


def _show(result: Result, written: list[Path]) -> None:
    shown = ["micro_f1", "macro_f1", "hierarchical_f1", "au_prc", "precision_at_1"]
    rows = []
    for run in result.ranked():
        row = result.comparison(run.model, "best")
        values = [run.measures.get(key) for key in shown]
        figures = ["" if value is None else f"{value:.4f}" for value in values]
        rows.append(
            (run.model, *figures, "" if row is None else f"{row.p:.3f}", f"{run.total_seconds:.1f}", run.status)
        )
    print_table(["model", *(key.replace("_", " ") for key in shown), "p vs best", "seconds", ""], rows)
    print(result.sentence)
    if result.next_step:
        print(f"To train the recommended model: {result.next_step}")
    note(f"written: {', '.join(str(path) for path in written)}")
