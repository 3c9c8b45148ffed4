"""`linnaeus evaluate`: a saved model on labelled documents, or the label files of any tool against gold labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import JsonOption, note, print_json, print_table, waiting
from linnaeus.cli.predict import RuleOptions
from linnaeus.cli.risk import Promise, check_plot, checked_promise, print_promise, write_plot
from linnaeus.cli.tables import format_of, write_table
from linnaeus.errors import DataError, ParameterError

if TYPE_CHECKING:
    from linnaeus.metrics.flat import LabelRow
    from linnaeus.taxonomy import Taxonomy

__all__ = ["evaluate"]


@dataclass(frozen=True)
class _Answers:
    """What is compared, however it came."""

    gold: Any
    predicted: Any
    scores: Any
    columns: Any
    taxonomy: Any
    other: Any = None
    n_missing: int = 0
    seconds: float | None = None
    model_bytes: int | None = None
    file_columns: Mapping[str, Any] | None = None


@options.with_groups
def evaluate(
    model: Annotated[str | None, typer.Argument(help="Model folder.")] = None,
    data: Annotated[str | None, typer.Argument(help="Labelled documents.")] = None,
    *,
    gold: Annotated[str | None, typer.Option("--gold", "-g", help="Label file with the true labels.")] = None,
    predicted: Annotated[
        str | None, typer.Option("--predicted", "-p", help="Label file with the predicted labels.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option("--compare", "-c", help="Label file of a second system: adds paired significance tests."),
    ] = None,
    per_node: Annotated[
        bool, typer.Option("--per-node", help="Show every node, too, the most frequent first.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Table of every node, as .csv, .tsv, .xlsx or .jsonl."),
    ] = None,
    levels: Annotated[bool, typer.Option("--levels", help="Show every level of the taxonomy, too.")] = False,
    absent: Annotated[
        str, typer.Option("--absent", help="Macro average: a label that occurs nowhere counts zero, one, or skip it.")
    ] = "zero",
    decoder: Annotated[str | None, typer.Option("--decoder", help=options.DECODER)] = None,
    closed: Annotated[bool | None, typer.Option("--closed/--not-closed", help="Add all ancestors, or not.")] = None,
    promise: Promise,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            help="Draw coverage and risk (.png, .svg).",
            rich_help_panel="Promised risk, for calibrated models",
        ),
    ] = None,
    rules: RuleOptions,
    taxonomy: options.OptionalTaxonomy,
    reading: options.LabelledReading,
    as_json: JsonOption = False,
) -> None:
    """Compare answers with the truth: a model on labelled documents, or label files of any tool.

    linnaeus evaluate model/ test.jsonl

    linnaeus evaluate --taxonomy topics.ttl --gold gold.tsv --predicted predicted.tsv

    With --risk: whether the promise is kept on these documents, whether probabilities can be believed, and how many
    documents could be answered at which risk. Rules belong to --risk here.
    """
    from linnaeus import metrics

    if promise.risk is None:
        promise.refuse("belongs to --risk, which is not given")
        given = [name for name, value in rules.given().items() if value]
        if plot is not None or given:
            raise ParameterError(
                f"{'--plot' if plot is not None else rules.option(given[0])} belongs to --risk, which is not given."
            )
    check_plot(plot)
    if output is not None:
        format_of(output, None)  # before the work, not after it
    if model is not None and data is not None and not (gold or predicted or taxonomy.path):
        taxonomy.refuse("says how a --taxonomy is read; the model has its own")
        if promise.risk is not None:
            _evaluate_promise(model, data, promise, rules, reading, plot, as_json)
            return
        answers = _answers_of_model(model, data, compare, reading, decoder, closed)
    elif gold and predicted and model is None and decoder is None and promise.risk is None:
        answers = _answers_of_files(taxonomy.read_if_given(), gold, predicted, compare, reading)
    else:
        raise typer.BadParameter("Give a model and labelled documents, or --gold and --predicted (with --taxonomy).")
    _check_labels(answers.gold, answers.taxonomy, data or gold)
    with waiting("comparing"):
        report = metrics.evaluate(
            answers.gold,
            answers.predicted,
            answers.taxonomy,
            scores=answers.scores,
            labels=answers.columns,
            absent=absent,
            per_node=per_node or output is not None,
            seconds=answers.seconds,
            model_bytes=answers.model_bytes,
        )
        tests = []
        if answers.other is not None:
            tests = metrics.compare(answers.gold, answers.predicted, answers.other, answers.taxonomy)
    if answers.n_missing:
        note(f"note: documents without a prediction, counted as empty sets: {answers.n_missing:,}")
    for what in ("n_unseen_gold", "n_unknown_predicted"):
        if answers.taxonomy is not None and report.about.get(what):
            side = "gold" if what == "n_unseen_gold" else "predicted"
            rows = answers.gold if side == "gold" else answers.predicted
            example = next(label for row in rows for label in row if label not in answers.taxonomy)
            hint = f"for example {example!r}{answers.taxonomy.hint(example)}"
            note(f"note: {report.about[what]:,} {side} labels are not in the taxonomy and count as wrong, {hint}")
    by_size = sorted(report.nodes, key=lambda row: (-row["n_gold"], row["label"]))
    nodes = [_shown(row, answers.taxonomy) for row in by_size]
    if output is not None:
        write_table(output, list(nodes[0]) if nodes else ["label"], [list(row.values()) for row in nodes])
        note(f"{len(nodes):,} nodes written to {output}")
    if as_json:
        whole = {**report.to_dict(), "n_missing_predictions": answers.n_missing}
        whole = {**whole, "nodes": nodes} if per_node else whole
        whole |= {} if answers.file_columns is None else {"columns": dict(answers.file_columns)}
        print_json({**whole, "comparison": tests} if tests else whole)
    else:
        _print(report, tests, nodes if per_node else [], levels=levels)


def _evaluate_promise(
    model: str,
    data: str,
    promise: Promise,
    rules: RuleOptions,
    reading: options.Reading,
    plot: str | None,
    as_json: bool,
) -> None:
    from linnaeus import store
    from linnaeus.cli.documents import labelled_documents, note_seen

    loaded = store.load(model)
    inner = getattr(loaded, "model_", loaded)
    request = promise.request(inner, rules.bound_to(loaded.taxonomy_), loaded.taxonomy_)
    documents = labelled_documents(loaded, data, reading)
    _check_labels(documents.labels, loaded.taxonomy_, data)
    note_seen(loaded, documents, "the figures are not those of new documents")
    with waiting("comparing"):
        found = checked_promise(loaded, documents.documents, documents.labels, request)
    if plot is not None:
        write_plot(found, plot)
    print_json(found) if as_json else print_promise(found)


def _check_labels(gold: Any, taxonomy: Any, path: str | None) -> None:
    """A file of which no label is in the taxonomy was not meant: all its measures would be 0 without a word."""
    given = [label for row in gold for label in row] if taxonomy is not None else []
    if given and not any(label in taxonomy for label in given):
        hint = taxonomy.hint(given[0]) or "."
        raise DataError(
            f"None of the {len(given):,} labels of {path} is in the taxonomy, for example {given[0]!r}{hint}"
        )


def _answers_of_model(
    model: str, data: str, compare: str | None, reading: options.Reading, decoder: str | None, closed: bool | None
) -> _Answers:
    from linnaeus import store
    from linnaeus.cli.documents import answers
    from linnaeus.data.label_files import LabelFile, align, read_label_file

    found = answers(store.load(model), data, reading, options.parse_decoder(decoder), closed)
    model_bytes = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
    other = None
    if compare is not None:
        second = read_label_file(compare, known=found.taxonomy.index_of)
        other = align(LabelFile(data, list(found.gold), [], ids=found.ids), second)[0].labels
    return _Answers(
        found.gold,
        found.predicted,
        found.scores,
        found.columns,
        found.taxonomy,
        other,
        0,
        found.seconds,
        model_bytes,
        found.file_columns,
    )


def _answers_of_files(
    tax: Any, gold: str, predicted: str, compare: str | None, reading: options.LabelledReading
) -> _Answers:
    from linnaeus.data.dataset import shown_columns
    from linnaeus.data.label_files import LabelFile, align, read_label_file

    allowed = ("format", "labels", "encoding", "header")
    reading.refuse("means nothing for label files (--gold, --predicted)", allowed=allowed)
    known = None if tax is None else tax.index_of
    labels = None if not reading.labels else reading.labels[0]

    def read(path: str, column: str | None = None) -> LabelFile:
        return read_label_file(
            path, reading.format, known=known, labels=column, encoding=reading.encoding, header=reading.header
        )

    with reading.named(), waiting(f"reading {gold} and {predicted}"):
        truth = read(gold)
        answered = read(predicted, labels)
        first, n_missing = align(truth, answered)
        other = None if compare is None else align(truth, read(compare))[0].labels
    columns = {path: dict(file.columns) for path, file in ((gold, truth), (predicted, answered)) if file.columns}
    for path, roles in columns.items():
        note(f"{path}: columns: {shown_columns(roles)}")
    return _Answers(truth.labels, first.labels, first.ranked(), None, tax, other, n_missing, file_columns=columns)


def _print(report: Any, tests: list[dict[str, Any]], nodes: Sequence[Mapping[str, object]], *, levels: bool) -> None:
    print_table(["measure", "value", "how"], report.rows(), title=f"{report.about['n_docs']:,} documents")
    print_table(["compared", "value"], report.about.items())
    if levels and report.levels:
        _print_rows(report.levels, "by level")
    if nodes:
        _print_rows(nodes, "by node")
    if tests:
        shown = ("measure", "test", "first", "second", "difference", "low", "high", "p_value", "p_holm", "n")
        _print_rows([{key: row[key] for key in shown} for row in tests], "against the second system")


def _print_rows(rows: Sequence[Mapping[str, object]], title: str) -> None:
    print_table(list(rows[0]), [list(row.values()) for row in rows], title=title)


def _shown(row: LabelRow, taxonomy: Taxonomy | None) -> Mapping[str, object]:
    """A row with the node's display label beside its name, where nodes have some."""
    if taxonomy is None or taxonomy.display_labels is None:
        return row
    label = row["label"]
    return {"label": label, "name": taxonomy.display(label) if label in taxonomy else label, **row}
