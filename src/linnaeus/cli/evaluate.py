"""`linnaeus evaluate`: measure a saved model on labelled documents, or label files of any tool against gold labels."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli import common
from linnaeus.cli.common import JsonOption, note, note_columns, print_json, print_table, waiting
from linnaeus.cli.predict import RuleOptions
from linnaeus.cli.risk import PANEL, Promise, check_plot, checked_promise, print_promise, write_plot
from linnaeus.cli.tables import format_of, write_table
from linnaeus.errors import DataError, ParameterError

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.metrics.flat import LabelRow
    from linnaeus.metrics.report import Report
    from linnaeus.taxonomy import Taxonomy
    from linnaeus.typing import FloatArray

__all__ = ["evaluate"]


# Documents x nodes up to which whole rankings are kept (0.4 GB); beyond, the best of each document.
_WHOLE_RANKINGS = 50_000_000
_LabelRows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Answers:
    """Gold and predicted labels, scores of ``columns`` or ranked lists, and how they were obtained."""

    gold: _LabelRows
    predicted: _LabelRows
    scores: FloatArray | list[list[tuple[str, float]]] | None
    taxonomy: Taxonomy | None
    columns: list[str] | None = None
    probabilities: FloatArray | None = None
    other: _LabelRows | None = None
    n_missing: int = 0
    seconds: float | None = None
    model_bytes: int | None = None
    file_columns: Mapping[str, object] | None = None


@common.with_groups
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
        typer.Option("--compare", "-c", help="A second model or label file; adds paired significance tests."),
    ] = None,
    per_node: Annotated[
        bool, typer.Option("--per-node", help="Also show every node, the most frequent first.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Table of every node, as .csv, .tsv, .xlsx or .jsonl."),
    ] = None,
    levels: Annotated[bool, typer.Option("--levels", help="Also show every level of the taxonomy.")] = False,
    absent: Annotated[
        str,
        typer.Option("--absent", help="Macro average: a label that occurs nowhere counts as zero or one, or skip."),
    ] = "zero",
    decoder: Annotated[str | None, typer.Option("--decoder", help=common.DECODER)] = None,
    closed: Annotated[bool | None, typer.Option("--closed/--not-closed", help="Add all ancestors, or not.")] = None,
    promise: Promise,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            help="Draw coverage and risk (.png, .svg).",
            rich_help_panel=PANEL,
        ),
    ] = None,
    rules: RuleOptions,
    taxonomy: common.OptionalTaxonomy,
    reading: common.LabelledReading,
    suggestions: common.SuggestionOptions,
    verify: common.Verify = None,
    as_json: JsonOption = False,
) -> None:
    """Compare answers with gold labels: a model on labelled documents, or label files of any tool.

    linnaeus evaluate model/ test.jsonl

    linnaeus evaluate --taxonomy topics.ttl --gold gold.tsv --predicted predicted.tsv

    With --risk: whether the promise is kept on these documents, how well probabilities are calibrated, and how many
    documents can be answered at which risk. Rules require --risk here.
    """
    _check_promise(promise, rules, plot)
    if output is not None:
        format_of(output, None)  # refused before the documents are classified
    if model is not None and data is not None and not (gold or predicted or taxonomy.path):
        taxonomy.refuse("applies to a --taxonomy; the model has its own")
        loaded = common.load_model(model, verify)
        if promise.risk is not None:
            _evaluate_promise(loaded, data, promise, rules, reading, suggestions, plot, as_json)
            return
        answers = _answers_of_model(loaded, data, compare, reading, suggestions, decoder, closed)
        size = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
        answers = replace(answers, model_bytes=size)
    elif gold and predicted and model is None and decoder is None and promise.risk is None:
        suggestions.refuse("applies to a model, which is not given")
        answers = _answers_of_files(taxonomy.read_if_given(), gold, predicted, compare, reading)
    else:
        raise typer.BadParameter("Give a model and labelled documents, or --gold and --predicted (with --taxonomy).")
    _check_labels(answers.gold, answers.taxonomy, data or gold)
    report, tests = _compared(answers, absent, per_node or output is not None)
    _note_oddities(report, answers)
    nodes = _nodes(report, answers.taxonomy, output)
    nodes = nodes if per_node else []
    if as_json:
        print_json(_plain(report, answers, tests, nodes, per_node))
    else:
        _print(report, tests, nodes, levels=levels)


def _nodes(report: Report, taxonomy: Taxonomy | None, output: str | None) -> list[Mapping[str, object]]:
    """The measures of every node, the most frequent first; also written to a file, if one is given."""
    by_size = sorted(report.nodes, key=lambda row: (-row["n_gold"], row["label"]))
    nodes = [_shown(row, taxonomy) for row in by_size]
    if output is not None:
        write_table(output, list(nodes[0]) if nodes else ["label"], [list(row.values()) for row in nodes])
        note(f"{len(nodes):,} nodes written to {output}")
    return nodes


def _check_promise(promise: Promise, rules: RuleOptions, plot: str | None) -> None:
    """Refuse options that require --risk where it is not given."""
    if promise.risk is None:
        promise.refuse("belongs to --risk, which is not given")
        given = [rules.option(name) for name, value in rules.given().items() if value]
        given = ["--plot", *given] if plot is not None else given
        if given:
            raise ParameterError(f"{given[0]} belongs to --risk, which is not given.")
    check_plot(plot)


def _compared(answers: _Answers, absent: str, per_node: bool) -> tuple[Report, list[dict[str, object]]]:
    from linnaeus import metrics

    with waiting("comparing"):
        report = metrics.evaluate(
            answers.gold,
            answers.predicted,
            answers.taxonomy,
            scores=answers.scores,
            labels=answers.columns,
            probabilities=answers.probabilities,
            absent=absent,
            per_node=per_node,
            seconds=answers.seconds,
            model_bytes=answers.model_bytes,
        )
        if answers.other is None:
            return report, []
        return report, metrics.compare(answers.gold, answers.predicted, answers.other, answers.taxonomy)


def _note_oddities(report: Report, answers: _Answers) -> None:
    """Print how many documents have no prediction, and which labels are not in the taxonomy."""
    if answers.n_missing:
        note(f"note: documents without a prediction, counted as empty sets: {answers.n_missing:,}")
    taxonomy = answers.taxonomy
    if taxonomy is None:
        return
    for what, side, rows in (
        ("n_unseen_gold", "gold", answers.gold),
        ("n_unknown_predicted", "predicted", answers.predicted),
    ):
        if report.about.get(what):
            example = next(label for row in rows for label in row if label not in taxonomy)
            hint = f"for example {example!r}{taxonomy.hint(example)}"
            note(f"note: {report.about[what]:,} {side} labels are not in the taxonomy and count as wrong, {hint}")


def _plain(
    report: Report,
    answers: _Answers,
    tests: list[dict[str, object]],
    nodes: Sequence[Mapping[str, object]],
    per_node: bool,
) -> dict[str, object]:
    """The whole comparison for --json."""
    whole = {**report.to_dict(), "n_missing_predictions": answers.n_missing}
    whole |= {"nodes": nodes} if per_node else {}
    whole |= {} if answers.file_columns is None else {"columns": dict(answers.file_columns)}
    return {**whole, "comparison": tests} if tests else whole


def _evaluate_promise(
    model: common.SavedModel,
    data: str,
    promise: Promise,
    rules: RuleOptions,
    reading: common.LabelledReading,
    suggestions: common.SuggestionOptions,
    plot: str | None,
    as_json: bool,
) -> None:
    from linnaeus.cli.documents import labelled_documents, note_seen
    from linnaeus.data.dataset import keep_labelled

    request = promise.request(model, rules.bound_to(model.taxonomy_), model.taxonomy_)
    assert request is not None  # --risk is given
    documents = suggestions.join(labelled_documents(model, data, reading), model.taxonomy_)
    note_columns(documents)
    _check_labels(documents.labels, model.taxonomy_, data)
    with reading.named():  # an answer is right or wrong only if there are gold labels
        documents = keep_labelled(documents, reading.unlabelled or "error")
    note_seen(model, documents, "all measures are better than for new documents")
    with waiting("comparing"):
        checked = checked_promise(model, documents.documents, documents.labels or [], request)
    if plot is not None:
        write_plot(checked, plot)
    print_json(checked) if as_json else print_promise(checked)


def _check_labels(gold: _LabelRows | None, taxonomy: Taxonomy | None, path: str | None) -> None:
    """Refuse a file without any label of the taxonomy, for which all measures would be 0."""
    if taxonomy is None:
        return
    given = [label for row in gold or () for label in row]
    if given and not any(label in taxonomy for label in given):
        hint = taxonomy.hint(given[0]) or "."
        raise DataError(
            f"None of the {len(given):,} labels of {path} is in the taxonomy, for example {given[0]!r}{hint}"
        )


def _answers_of_model(
    model: common.SavedModel,
    data: str,
    compare: str | None,
    reading: common.Reading,
    suggestions: common.SuggestionOptions,
    decoder: str | None,
    closed: bool | None,
) -> _Answers:
    """Answers and rankings of a model on labelled documents, and the seconds that the answers took."""
    from linnaeus.cli.documents import labelled_documents, note_seen
    from linnaeus.data.label_files import LabelFile, align, read_label_file

    documents = suggestions.join(labelled_documents(model, data, reading), model.taxonomy_)
    note_columns(documents)
    without = sum(not row for row in documents.labels or ())
    if without and reading.given().get("unlabelled") is None:
        note(
            f"note: {without:,} of {len(documents):,} documents have no label, and any answer for them counts as wrong "
            "(--unlabelled drop leaves them out)"
        )
    note_seen(model, documents, "all measures are better than for new documents")
    taxonomy = model.taxonomy_
    with waiting("predicting"):
        start = time.perf_counter()
        found = model.answers(documents.documents, decoder=common.parse_decoder(decoder), closed=closed)
        predicted = taxonomy.labels(found)
        seconds = time.perf_counter() - start
        scores, columns, probabilities = _scores(model, documents)
    other = None
    if compare is not None and Path(compare).is_dir():
        other = _answers_of_other(compare, taxonomy, data, reading)
    elif compare is not None:
        second = read_label_file(compare, known=taxonomy.index_of, encoding=reading.encoding)
        other = align(LabelFile(data, list(documents.labels or []), [], ids=documents.ids), second)[0].labels
    return _Answers(
        documents.labels or [],
        predicted,
        scores,
        taxonomy,
        columns,
        probabilities,
        other,
        seconds=seconds,
        file_columns=documents.columns,
    )


def _answers_of_other(folder: str, taxonomy: Taxonomy, data: str, reading: common.Reading) -> list[list[str]]:
    """The answers of a second model on the same documents."""
    from linnaeus.cli.documents import documents_for

    model = common.load_model(folder)
    if model.taxonomy_ != taxonomy:
        raise DataError(f"--compare {folder}: the model has a different taxonomy; both must be the same.")
    with waiting(f"predicting with {folder}"):
        return taxonomy.labels(model.answers(documents_for(model, [data], reading).documents))


def _scores(
    model: common.SavedModel, documents: Dataset
) -> tuple[FloatArray | list[list[tuple[str, float]]] | None, list[str] | None, FloatArray | None]:
    """Scores of all nodes, their names and probabilities; the best nodes of each document if these are too many."""
    import numpy as np

    columns = model.taxonomy_.names[model.nodes_].tolist()
    whole = len(documents) * model.taxonomy_.n_nodes <= _WHOLE_RANKINGS
    k = max(10, *map(len, documents.labels or []))
    calibrated = hasattr(model, "predict_proba")
    P = model.node_probabilities(documents.documents) if whole and calibrated else None
    # Scores of closed sets rank nodes with their ancestors, which labels as given do not.
    if model.nested_ and not calibrated and not model.conditional_scores:
        note("note: the model was trained on closed sets, so its rankings contain ancestors; they are not measured")
        return None, None, None
    if whole and not model.nested_:
        return np.concatenate(list(model.score_blocks(documents.documents))), columns, P
    names, values = model.top(documents.documents, k=k, probabilities=model.nested_ and calibrated)
    return [list(zip(n, v, strict=True)) for n, v in zip(names, values, strict=True)], None, P


def _answers_of_files(
    tax: Taxonomy | None, gold: str, predicted: str, compare: str | None, reading: common.LabelledReading
) -> _Answers:
    from linnaeus.data.dataset import shown_columns
    from linnaeus.data.label_files import LabelFile, align, read_label_file

    allowed = ("format", "labels", "encoding", "header")
    reading.refuse("does not apply to label files (--gold, --predicted)", allowed=allowed)
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
    return _Answers(
        truth.labels,
        first.labels,
        first.ranked(),
        tax,
        other=other,
        n_missing=n_missing,
        file_columns=columns,
    )


def _print(
    report: Report, tests: list[dict[str, object]], nodes: Sequence[Mapping[str, object]], *, levels: bool
) -> None:
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
    """A row with the display label of the node next to its name, if the taxonomy has display labels."""
    if taxonomy is None or taxonomy.display_labels is None:
        return row
    label = str(row["label"])
    return {"label": label, "name": taxonomy.display(label) if label in taxonomy else label, **row}
