"""`linnaeus predict`: classify documents with a saved model, and write JSON lines or a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli import common, tables
from linnaeus.cli.common import note, note_columns, progress
from linnaeus.cli.risk import PANEL, Promise, review_columns, review_row
from linnaeus.errors import DataError, ParameterError

if TYPE_CHECKING:
    from linnaeus.answering.records import Answering, Record
    from linnaeus.data import Dataset
    from linnaeus.taxonomy import Taxonomy

__all__ = ["predict"]


def _rule(*names: str, help: str, min: int | None = None) -> object:
    return typer.Option(*names, help=help, min=min, rich_help_panel="Rules that every answer obeys")


@dataclass(frozen=True, kw_only=True)
class RuleOptions(common.Group):
    """Which label sets may be answered, see `linnaeus.decoding.Rules`."""

    only_under: Annotated[
        list[str] | None,
        _rule("--only-under", help="Only labels at or below this node. May be repeated."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        _rule("--exclude", help="No label at or below this node. May be repeated."),
    ] = None
    candidates: Annotated[
        list[str] | None,
        _rule("--allow", help="Only this label, or one of several. May be repeated."),
    ] = None
    require: Annotated[
        list[str] | None,
        _rule("--require", help="Every answer contains this node. May be repeated."),
    ] = None
    at_least: Annotated[int | None, _rule("--at-least", min=0, help="Minimum number of labels.")] = None
    at_most: Annotated[int | None, _rule("--at-most", min=1, help="Maximum number of labels.")] = None
    at_most_under: Annotated[
        list[str] | None,
        _rule("--at-most-under", help="NODE=K: at most K labels at or below a node."),
    ] = None
    one_per: Annotated[
        list[str] | None,
        _rule("--one-per", help="At most one label below this node, or below each top node (tops). May be repeated."),
    ] = None
    min_depth: Annotated[int | None, _rule("--min-depth", min=1, help="Labels at this depth or deeper.")] = None
    depth: Annotated[int | None, _rule("--depth", min=1, help="Labels at exactly this depth.")] = None
    max_children: Annotated[
        int | None,
        _rule("--max-children", min=1, help="Maximum number of children of a node to follow."),
    ] = None
    leaves_only: Annotated[bool, _rule("--leaves-only", help="Only labels that are leaves.")] = False

    def bound_to(self, taxonomy: Taxonomy) -> dict[str, object]:
        """The rules that were given, with display labels replaced by the names of their nodes."""
        from linnaeus.answering.documents import named_rules

        given: dict[str, object] = {name: value for name, value in self.given().items() if value}
        if self.at_most_under:
            given["at_most_under"] = dict(_bound(entry) for entry in self.at_most_under)
        return named_rules(given, taxonomy)


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(common.Group):
    """What is answered for each document: a label set, the best sets, or a ranking of nodes."""

    top: Annotated[
        int | None, typer.Option("--top", "-k", min=1, help="Answer the k best nodes instead of a label set.")
    ] = None
    closed: Annotated[bool | None, typer.Option("--closed/--not-closed", help="Add all ancestors, or not.")] = None
    decoder: Annotated[str | None, typer.Option("--decoder", help=common.DECODER)] = None
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probabilities instead of scores, if the model has them.")
    ] = False
    n_best: Annotated[
        int | None, typer.Option("--n-best", min=1, help="Answer the n best label sets with their scores.")
    ] = None
    ancestors: Annotated[
        bool, typer.Option("--ancestors", help="With --top --probabilities: also rank ancestors of labels.")
    ] = False
    answer_unknown: Annotated[
        bool, typer.Option("--answer-unknown", help="Also answer documents without any term that the model knows.")
    ] = False

    def check(self, rules: RuleOptions, risk: float | None) -> None:
        """Refuse options that do not apply to a ranking of single nodes, or with a promised risk."""
        if risk is not None and (self.n_best is not None or self.decoder is not None) and self.top is None:
            given = "--n-best" if self.n_best is not None else "--decoder"
            raise ParameterError(
                f"--risk decides by probabilities which label is answered; {given} has no effect with it."
            )
        if self.ancestors and not (self.top and self.probabilities):
            raise ParameterError("--ancestors requires --top and --probabilities.")
        if self.top is None:
            return
        if self.decoder is not None or self.closed is not None:
            raise ParameterError("--top ranks single nodes; --decoder and --closed apply to label sets.")
        if self.n_best is not None or risk is not None:
            raise ParameterError("--top ranks single nodes; --n-best and --risk apply to label sets.")
        from linnaeus.decoding.rules import RULES_OF_NODES

        of_sets = [name for name, value in rules.given().items() if value and name not in RULES_OF_NODES]
        if of_sets:
            raise ParameterError(f"--top ranks single nodes; {rules.option(of_sets[0])} applies to label sets.")


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(common.Group):
    """Where documents that are left for review are listed."""

    path: Annotated[
        str | None,
        typer.Option(
            "--review",
            help="Table of the documents left for review, with their texts (.xlsx for Excel, .csv, .tsv, .jsonl).",
            rich_help_panel=PANEL,
        ),
    ] = None
    candidates: Annotated[
        int,
        typer.Option(
            "--candidates",
            min=1,
            help="Number of suggested labels for each document of --review.",
            rich_help_panel=PANEL,
        ),
    ] = 3

    def check(self, risk: float | None, output: str | None) -> None:
        """Refuse a table that cannot be written, before the documents are classified."""
        if self.path is not None and risk is None:
            raise ParameterError("--review collects the documents that --risk leaves without an answer; give --risk.")
        if self.path is not None:
            tables.format_of(self.path, None)
            if Path(output or "-").resolve() == Path(self.path).resolve():
                both = "standard output" if self.path == "-" else self.path
                raise ParameterError(f"--output and --review are both {both}; give two different files.")

    def write(self, rows: list[list[object]]) -> None:
        """Write the table, if it is requested."""
        if self.path is not None:
            tables.write_table(self.path, [*review_columns(self.candidates), "text"], rows)


@common.with_groups
def predict(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    data: Annotated[list[str] | None, typer.Argument(help="Documents; - or nothing reads standard input.")] = None,
    *,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-D", help="The text of a document itself. May be repeated.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write instead of standard output.")
    ] = None,
    as_: Annotated[
        str | None, typer.Option("--as", help="jsonl, csv, tsv or xlsx (default: by the ending of --output, or jsonl).")
    ] = None,
    answers: AnswerOptions,
    promise: Promise,
    review: ReviewOptions,
    rules: RuleOptions,
    allow_from: Annotated[
        str | None,
        typer.Option(
            "--allow-from",
            help="Column or key with the labels that each document may have; an empty cell allows all.",
            rich_help_panel="Rules that every answer obeys",
        ),
    ] = None,
    reading: common.Reading,
    suggestions: common.SuggestionOptions,
    taxonomy: common.OptionalTaxonomy,
    verify: common.Verify = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as jsonl.")] = False,
) -> None:
    """Classify documents.

    Tables (--as csv, tsv, xlsx) have the columns id, label, name, score or probability, path and status. The status is
    answered, empty (the model assigns no label) or unknown (the model knows no term of the document; see
    --answer-unknown); with --risk it is coded or review.
    """
    from linnaeus.answering.documents import named_rules
    from linnaeus.answering.records import Answering

    if as_json and as_ not in (None, "jsonl"):
        raise ParameterError(f"--json and --as {as_} contradict each other.")
    format = tables.format_of(output, "jsonl" if as_json else as_)
    if document and data:
        raise ParameterError("Give documents as --document TEXT or as files, not both.")
    if document:
        reading.refuse("applies to files; --document is the text itself")
    answers.check(rules, promise.risk)
    review.check(promise.risk, output)
    _check_candidates(allow_from, rules, promise.risk, document)
    decide = common.parse_decoder(answers.decoder)
    loaded = common.load_model(model, verify)
    taxonomy.show_labels(loaded)
    if answers.probabilities and not hasattr(loaded, "predict_proba"):
        raise ParameterError("--probabilities: the model has no probabilities; run `linnaeus calibrate` first.")
    bound = rules.bound_to(loaded.taxonomy_)
    promised = promise.request(loaded, bound, loaded.taxonomy_)
    documents = suggestions.join(_documents(loaded, document, data, reading, allow_from), loaded.taxonomy_)
    note_columns(documents)
    if allow_from is not None:
        bound |= named_rules({"candidates": [row or None for row in documents.labels or []]}, loaded.taxonomy_)
        documents = replace(documents, labels=None)
    answering = Answering(
        loaded,
        top=answers.top,
        closed=answers.closed,
        decoder=decide,
        probabilities=answers.probabilities,
        rules=bound,
        n_best=answers.n_best,
        promise=promised,
        n_candidates=review.candidates,
        ancestors=answers.ancestors,
        answer_unknown=answers.answer_unknown,
    )
    with rules.named():
        unsure = _write(answering, documents, output, format)
    if promised:
        note(f"{len(documents) - len(unsure):,} documents coded, {len(unsure):,} left for review")
    review.write(unsure)
    if answering.n_unknown and not promised:
        how = "answered from its constants" if answers.answer_unknown else "not answered; see --answer-unknown"
        note(f"warning: the model knows no term of {answering.n_unknown:,} of {len(documents):,} documents ({how})")


def _write(answering: Answering, documents: Dataset, output: str | None, format: str) -> list[list[object]]:
    """Write the answers; returns the rows of the documents that are left for review."""
    from linnaeus.cli.documents import shown_text

    value = "probability" if answering.probabilities or answering.promise else "score"
    columns = ["id", "label", "name", value, "path", "status"]
    rows: Callable[[Record], Iterator[list[object]]] = tables.table_rows
    if answering.n_best is not None:
        columns = ["id", "set", "label", "name", "score", "path", "status"]
        rows = partial(tables.set_rows, entry=answering.entry)
    unsure = []
    with (
        tables.writing(output, format, columns, rows) as write,
        progress("predicting", len(documents)) as advance,
    ):
        for i, record in enumerate(answering.records(documents, advance)):
            write(record)
            if "reason" in record:
                unsure.append([*review_row(record, answering.n_candidates), shown_text(documents, i)])
    return unsure


def _check_candidates(column: str | None, rules: RuleOptions, risk: float | None, texts: list[str] | None) -> None:
    """Refuse --allow-from where something else decides what is allowed."""
    if column is None:
        return
    if rules.candidates:
        raise ParameterError("--allow and --allow-from both say which labels are allowed; give one of them.")
    if risk is not None:
        raise ParameterError(
            "--risk cannot be combined with --allow-from: the calibration documents have no such column; see --allow."
        )
    if texts:
        raise ParameterError("--allow-from names a column of a file, and --document is the text itself; see --allow.")


def _documents(
    model: common.SavedModel,
    texts: list[str] | None,
    data: list[str] | None,
    reading: common.Reading,
    allow_from: str | None,
) -> Dataset:
    """The documents of --document, files or standard input; errors explain a text that was given as --text."""
    from linnaeus.cli.documents import documents_for, texts_for

    if texts:
        return texts_for(model, texts)
    if allow_from is not None:  # read as labels
        reading = replace(reading, labels=[allow_from])
    for path in data or []:
        if " " in path.strip() and not Path(path).exists():
            raise DataError(f"No such file or directory: {path} (the text of a document is given as --document)")
    if data or not reading.text:
        return documents_for(model, data or ["-"], reading, labelled=allow_from is not None)
    hint = f"--text {reading.text[0]} names a column; the text itself is given as --document"
    if sys.stdin.isatty():
        raise ParameterError(f"{hint}.")
    try:
        return documents_for(model, ["-"], reading, labelled=allow_from is not None)
    except DataError as error:
        raise type(error)(f"{error} ({hint})") from error


def _bound(entry: str) -> tuple[str, int]:
    """``NODE=K`` as a pair."""
    name, _, number = entry.rpartition("=")
    if not name or not number.isdecimal():
        raise ParameterError(f"--at-most-under {entry}: expected NODE=K, for example Sports=2.")
    return name, int(number)
