"""`linnaeus predict`: documents through a saved model, to JSON lines or a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import note, note_columns
from linnaeus.cli.risk import Promise, review_columns, review_row
from linnaeus.errors import DataError, ParameterError

__all__ = ["predict"]

_OF_NODES = ("only_under", "exclude", "min_depth", "depth", "leaves_only")  # rules that single labels obey or not


def _rule(*names: str, help: str, min: int | None = None) -> Any:
    return typer.Option(*names, help=help, min=min, rich_help_panel="Rules: the best of all label sets that obey")


@dataclass(frozen=True, kw_only=True)
class RuleOptions(options.Group):
    """Which label sets may be answered, see `linnaeus.decoding.Rules`."""

    only_under: Annotated[
        list[str] | None,
        _rule("--only-under", help="Labels at or below this node only. May be repeated."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        _rule("--exclude", help="Not this node, nor anything below it. May be repeated."),
    ] = None
    require: Annotated[
        list[str] | None,
        _rule("--require", help="This node is in every answer. May be repeated."),
    ] = None
    at_least: Annotated[int | None, _rule("--at-least", min=0, help="Minimum number of labels.")] = None
    at_most: Annotated[int | None, _rule("--at-most", min=1, help="Maximum number of labels.")] = None
    at_most_under: Annotated[
        list[str] | None,
        _rule("--at-most-under", help="NODE=K: at most K labels at or below a node."),
    ] = None
    one_per: Annotated[
        list[str] | None,
        _rule("--one-per", help="At most one label below this node; or tops. May be repeated."),
    ] = None
    min_depth: Annotated[int | None, _rule("--min-depth", min=1, help="Labels at this depth or deeper.")] = None
    depth: Annotated[int | None, _rule("--depth", min=1, help="Labels at exactly this depth.")] = None
    max_children: Annotated[
        int | None,
        _rule("--max-children", min=1, help="Maximum number of children of a node to follow."),
    ] = None
    leaves_only: Annotated[bool, _rule("--leaves-only", help="Labels are leaves.")] = False

    def bound_to(self, taxonomy: Any) -> dict[str, Any]:
        """The rules that were given, with the names of nodes where display labels were given."""
        given = {name: value for name, value in self.given().items() if value}
        if self.at_most_under:
            given["at_most_under"] = dict(_bound(entry) for entry in self.at_most_under)
        return {name: _named(value, taxonomy) for name, value in given.items()}


@options.with_groups
def predict(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    data: Annotated[list[str] | None, typer.Argument(help="Documents; - or nothing reads standard input.")] = None,
    *,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-D", help="The text of a document itself. May be repeated.")
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", "-k", min=1, help="Give the k best nodes instead of a set.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write instead of standard output.")
    ] = None,
    as_: Annotated[
        str | None, typer.Option("--as", help="jsonl, csv, tsv or xlsx (default: by the ending of --output, or jsonl).")
    ] = None,
    closed: Annotated[bool | None, typer.Option("--closed/--not-closed", help="Add all ancestors, or not.")] = None,
    decoder: Annotated[str | None, typer.Option("--decoder", help=options.DECODER)] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probabilities instead of scores, where the model has them.")
    ] = False,
    n_best: Annotated[
        int | None, typer.Option("--n-best", min=1, help="Give the n best label sets with their scores.")
    ] = None,
    ancestors: Annotated[
        bool, typer.Option("--ancestors", help="With --top --probabilities: rank the nodes above labels, too.")
    ] = False,
    promise: Promise,
    review: Annotated[
        str | None,
        typer.Option(
            "--review",
            help="Table of the documents left for review, with their texts (.xlsx for Excel, .csv, .tsv, .jsonl).",
            rich_help_panel="Promised risk, for calibrated models",
        ),
    ] = None,
    candidates: Annotated[
        int,
        typer.Option(
            "--candidates",
            min=1,
            help="Suggestions for each of them.",
            rich_help_panel="Promised risk, for calibrated models",
        ),
    ] = 3,
    answer_unknown: Annotated[
        bool, typer.Option("--answer-unknown", help="Answer documents of which the model knows no term, too.")
    ] = False,
    rules: RuleOptions,
    reading: options.Reading,
    taxonomy: options.OptionalTaxonomy,
    verify: options.Verify = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as jsonl.")] = False,
) -> None:
    """Classify documents.

    Tables (--as csv, tsv, xlsx) have the columns id, label, name, score or probability, path and status: answered,
    empty (no label fits) or unknown (the model knows no term of the document; see --answer-unknown); with --risk coded
    or review.
    """
    from linnaeus.cli import tables
    from linnaeus.cli.answering import Answering
    from linnaeus.cli.documents import shown_text, texts_for

    if as_json and as_ not in (None, "jsonl"):
        raise ParameterError(f"--json and --as {as_} contradict each other.")
    format = tables.format_of(output, "jsonl" if as_json else as_)
    if document and data:
        raise ParameterError("Give documents as --document TEXT or as files, not both.")
    if document:
        reading.refuse("says how files are read, and --document is the text itself")
    _check_top(top, rules, decoder is not None or closed is not None, n_best, promise.risk)
    _check_risk(promise.risk, review, n_best, decoder)
    if review is not None:
        tables.format_of(review, None)  # before the work, not after it
    if ancestors and not (top and probabilities):
        raise ParameterError("--ancestors belongs to --top and --probabilities.")
    decide = options.parse_decoder(decoder)
    loaded = options.load_model(model, verify)
    taxonomy.show_labels(loaded)
    if probabilities and not hasattr(loaded, "predict_proba"):
        raise ParameterError("--probabilities: the model has none; `linnaeus calibrate` gives it some.")
    bound = rules.bound_to(loaded.taxonomy_)
    promised = promise.request(loaded, bound, loaded.taxonomy_)
    documents = texts_for(loaded, document) if document else _documents(loaded, data, reading)
    note_columns(documents)
    answering = Answering(
        loaded, top, closed, decide, probabilities, bound, n_best, promised, candidates, ancestors, answer_unknown
    )
    columns = ["id", "label", "name", "probability" if probabilities or promised else "score", "path", "status"]
    rows: Callable[[dict[str, Any]], Iterator[list[Any]]] = tables.table_rows
    if n_best is not None:
        columns = ["id", "set", "label", "name", "score", "path", "status"]
        rows = partial(tables.set_rows, entry=answering.entry)
    with rules.named(), tables.writing(output, format, columns, rows) as write:
        unsure = []
        for i, record in enumerate(answering.records(documents)):
            write(record)
            if "reason" in record:
                unsure.append([*review_row(record, candidates), shown_text(documents, i)])
    if promised:
        note(f"{len(documents) - len(unsure):,} documents coded, {len(unsure):,} left for review")
    if review is not None:
        tables.write_table(review, [*review_columns(candidates), "text"], unsure)
    if answering.n_unknown and not promised:
        how = "answered from its constants" if answer_unknown else "not answered; --answer-unknown answers them"
        note(f"warning: the model knows no term of {answering.n_unknown:,} of {len(documents):,} documents ({how})")


def _check_top(top: int | None, rules: RuleOptions, sets: bool, n_best: int | None, risk: float | None) -> None:
    """Refuse what means nothing for a ranking of single labels."""
    if top is None:
        return
    if sets:
        raise ParameterError("--top ranks nodes; --decoder and --closed are for sets.")
    if n_best is not None or risk is not None:
        raise ParameterError("--top ranks nodes; --n-best and --risk are for sets.")
    given = [name for name, value in rules.given().items() if value and name not in _OF_NODES]
    if given:
        raise ParameterError(f"--top ranks nodes; {rules.option(given[0])} is for sets.")


def _check_risk(risk: float | None, review: str | None, n_best: int | None, decoder: str | None) -> None:
    """Refuse what means nothing under a promised risk, or without one."""
    if risk is not None and (n_best is not None or decoder is not None):
        given = "--n-best" if n_best is not None else "--decoder"
        raise ParameterError(f"--risk decides by probabilities which label is answered; {given} has no effect with it.")
    if review is not None and risk is None:
        raise ParameterError("--review collects what --risk leaves without an answer; give --risk.")


def _documents(model: Any, data: list[str] | None, reading: options.Reading) -> Any:
    """The documents of files, or of standard input; a text that was given as --text is noticed there."""
    from linnaeus.cli.documents import documents_for

    for path in data or []:
        if " " in path.strip() and not Path(path).exists():
            raise DataError(f"No such file or directory: {path} (the text of a document is given as --document)")
    if data or not reading.text:
        return documents_for(model, data or ["-"], reading, labelled=False)
    hint = f"--text {reading.text[0]} names a column; the text itself is given as --document"
    if sys.stdin.isatty():
        raise ParameterError(f"{hint}.")
    try:
        return documents_for(model, ["-"], reading, labelled=False)
    except DataError as error:
        raise type(error)(f"{error} ({hint})") from error


def _bound(entry: str) -> tuple[str, int]:
    """``NODE=K`` as a pair."""
    name, _, number = entry.rpartition("=")
    if not name or not number.isdecimal():
        raise ParameterError(f"--at-most-under {entry}: expected NODE=K, for example Sports=2.")
    return name, int(number)


def _named(value: Any, taxonomy: Any) -> Any:
    """The value of a rule with nodes called by name, where a display label was given."""
    if isinstance(value, dict):
        return {options.node_meant(taxonomy, node): k for node, k in value.items()}
    if not isinstance(value, list):
        return value
    return "tops" if value == ["tops"] else [options.node_meant(taxonomy, node) for node in value]
