"""`linnaeus predict`: documents through a saved model, to JSON lines or a table of tab-separated values."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TextIO

import typer

from linnaeus.cli import options
from linnaeus.errors import DataError, ParameterError
from linnaeus.files import replacing

__all__ = ["predict"]

_BATCH = 4096
RULES = "Rules: the best of all label sets that obey"  # the heading of these options in --help


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
    as_: Annotated[str, typer.Option("--as", help="jsonl, or tsv: id, label, score, path for people.")] = "jsonl",
    closed: Annotated[bool | None, typer.Option("--closed/--not-closed", help="Add all ancestors, or not.")] = None,
    decoder: Annotated[str | None, typer.Option("--decoder", help="Another way from scores to sets.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probabilities instead of scores, where the model has them.")
    ] = False,
    only_under: Annotated[
        list[str] | None,
        typer.Option("--only-under", help="Labels at or below this node only. May be repeated.", rich_help_panel=RULES),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", help="Not this node, nor anything below it. May be repeated.", rich_help_panel=RULES),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", help="This node is in every answer. May be repeated.", rich_help_panel=RULES),
    ] = None,
    at_least: Annotated[
        int | None, typer.Option("--at-least", min=0, help="At least so many labels.", rich_help_panel=RULES)
    ] = None,
    at_most: Annotated[
        int | None, typer.Option("--at-most", min=1, help="At most so many labels.", rich_help_panel=RULES)
    ] = None,
    at_most_under: Annotated[
        list[str] | None,
        typer.Option("--at-most-under", help="NODE=K: at most K labels at or below a node.", rich_help_panel=RULES),
    ] = None,
    one_per: Annotated[
        list[str] | None,
        typer.Option(
            "--one-per", help="At most one label below this node; or tops. May be repeated.", rich_help_panel=RULES
        ),
    ] = None,
    min_depth: Annotated[
        int | None, typer.Option("--min-depth", min=1, help="Labels at this depth or deeper.", rich_help_panel=RULES)
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="Labels at exactly this depth.", rich_help_panel=RULES)
    ] = None,
    max_children: Annotated[
        int | None,
        typer.Option(
            "--max-children", min=1, help="Follow at most so many children of any node.", rich_help_panel=RULES
        ),
    ] = None,
    leaves_only: Annotated[
        bool, typer.Option("--leaves-only", help="Labels are leaves.", rich_help_panel=RULES)
    ] = False,
    n_best: Annotated[
        int | None, typer.Option("--n-best", min=1, help="Give the n best label sets with their scores.")
    ] = None,
    risk: Annotated[
        float | None, typer.Option("--risk", help="Answer only as deep as this risk allows; for calibrated models.")
    ] = None,
    reading: options.Reading,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as jsonl.")] = False,
) -> None:
    """Classify documents."""
    from linnaeus import store
    from linnaeus.cli.predicting import texts_for
    from linnaeus.decoding import decoder as make_decoder

    if as_ not in ("jsonl", "tsv"):
        raise typer.BadParameter(f"--as {as_}: expected jsonl or tsv.")
    if as_json and as_ == "tsv":
        raise typer.BadParameter("--json and --as tsv contradict each other.")
    if document and data:
        raise ParameterError("Give documents as --document TEXT or as files, not both.")
    if document:
        reading.refuse("says how files are read, and --document is the text itself")
    if top is not None and (decoder is not None or closed is not None):
        raise typer.BadParameter("--top ranks nodes; --decoder and --closed are for sets.")
    bounds = dict(_bound(entry) for entry in at_most_under or [])
    given: dict[str, Any] = {
        "only_under": only_under, "exclude": exclude, "require": require, "at_least": at_least, "at_most": at_most,
        "at_most_under": bounds, "one_per": one_per, "min_depth": min_depth, "depth": depth,
        "max_children": max_children, "leaves_only": leaves_only,
    }  # fmt: skip
    rules = {name: value for name, value in given.items() if value}
    if top is not None and (rules or n_best is not None or risk is not None):
        raise typer.BadParameter("--top ranks nodes; rules, --n-best and --risk are for sets.")
    if risk is not None and (rules or n_best is not None):
        raise typer.BadParameter("--risk cannot be promised together with rules or --n-best.")
    if n_best is not None and as_ == "tsv":
        raise typer.BadParameter("--n-best needs JSON lines: --as jsonl.")
    loaded = store.load(model)
    inner = getattr(loaded, "model_", loaded)
    if risk is not None and getattr(inner, "risk_control_", None) is None:
        raise ParameterError("--risk: the model is not calibrated; `linnaeus calibrate MODEL UNSEEN` does it.")
    if probabilities and not hasattr(loaded, "predict_proba"):
        raise ParameterError("--probabilities: the model has none; `linnaeus calibrate` gives it some.")
    decide = None if decoder is None else make_decoder(decoder)
    if document:
        documents = texts_for(loaded, document)
    else:
        documents = _documents(loaded, data, reading)
    answer = _Answering(loaded, top, closed, decide, probabilities, _named(rules, loaded.taxonomy_), n_best, risk)
    write = _json_line if as_ == "jsonl" else partial(_table_lines, loaded.taxonomy_)
    with _target(output) as file:
        for record in answer.all(documents):
            file.write(write(record))


def _documents(model: Any, data: list[str] | None, reading: options.Reading) -> Any:
    """The documents of files, or of standard input; a text that was given as --text is noticed there."""
    from linnaeus.cli.predicting import documents_for

    if data or not reading.text:
        return documents_for(model, data or ["-"], reading, labelled=False)
    hint = f"--text {reading.text[0]} names a column; the text itself is given as --document"
    if sys.stdin.isatty():
        raise ParameterError(f"{hint}.")
    try:
        return documents_for(model, ["-"], reading, labelled=False)
    except DataError as error:
        raise type(error)(f"{error} ({hint})") from error


@dataclass(frozen=True)
class _Answering:
    """A model and how it is to answer."""

    model: Any
    top: int | None
    closed: bool | None
    decoder: Any
    probabilities: bool
    rules: dict[str, Any]
    n_best: int | None = None
    risk: float | None = None

    def all(self, documents: Any) -> Iterator[dict[str, Any]]:
        """One record per document: {"id", "labels"} with, per label, name, score (where it has one) and path."""
        from linnaeus.cli.console import progress
        from linnaeus.engine.plan import blocks

        decoder = self.decoder or getattr(self.model, "decoder_", None)
        size = max(1, len(documents)) if not self.top and getattr(decoder, "whole_batch", False) else _BATCH
        with progress("predicting", len(documents)) as advance:
            for part in blocks(len(documents), size):
                batch = documents.take(range(part.start, part.stop))
                sets = self._sets(batch.documents)
                for i, row in enumerate(self._rows(batch.documents, sets)):
                    name = str(part.start + i) if batch.ids is None else batch.ids[i]
                    record = {"id": name, "labels": [self._entry(node, score) for node, score in row]}
                    yield record if sets is None else {**record, **self._proof(sets, i)}
                advance(part.stop - part.start)

    def _sets(self, documents: Any) -> Any:
        """Ranked label sets, where they are asked for."""
        if not self.rules and self.n_best is None:
            return None
        from linnaeus.models.requests import check_feasible

        found = self.model.ranked_sets(documents, self.n_best or 1, rules=self.rules or None, decoder=self.decoder)
        check_feasible(found, self.rules)
        return found

    def _proof(self, sets: Any, i: int) -> dict[str, Any]:
        """Whether an answer is proved to be the best, and the sets with their scores."""
        proof: dict[str, Any] = {"proved": bool(sets.proved[i])}
        if self.n_best is not None:
            rows = self._closed(sets.sets[i * sets.k : (i + 1) * sets.k])
            pairs = zip(self.model.taxonomy_.labels(rows), sets.scores[i].tolist(), strict=True)
            proof["sets"] = [{"labels": labels, "score": round(s, 6)} for labels, s in pairs if s > float("-inf")]
        return proof

    def _closed(self, Y: Any) -> Any:
        """Closed sets as answers are to be."""
        inner = getattr(self.model, "model_", self.model)
        return Y if (inner.closed_ if self.closed is None else self.closed) else self.model.taxonomy_.frontier(Y)

    def _answers(self, documents: Any, sets: Any) -> Any:
        if sets is not None:
            return self._closed(sets.best)
        request = {} if self.risk is None else {"risk": self.risk}
        return self.model.answers(documents, decoder=self.decoder, closed=self.closed, **request)

    def _rows(self, documents: Any, sets: Any = None) -> Iterator[list[tuple[int, float | None]]]:
        """(node, score) of each document, best first; nodes that only stand above a label may have no score."""
        if self.top and not self.probabilities:  # no scores of all nodes are needed for it
            found, values = self.model.top_nodes(documents, self.top)
            yield from (list(zip(*row, strict=True)) for row in zip(found.tolist(), values.tolist(), strict=True))
            return
        from linnaeus.order import best_columns

        nodes = getattr(self.model, "model_", self.model).nodes_.tolist()
        column_of = {node: i for i, node in enumerate(nodes)}
        Y: Any = None if self.top else self._answers(documents, sets)
        first = 0
        for S in [self.model.predict_proba(documents)] if self.probabilities else self.model.score_blocks(documents):
            best = best_columns(S, min(self.top, S.shape[1])).tolist() if self.top else None
            for i, scores in enumerate(S):
                if best is not None:
                    yield [(nodes[column], float(scores[column])) for column in best[i]]
                else:
                    members = Y.indices[Y.indptr[first + i] : Y.indptr[first + i + 1]].tolist()
                    row = [(v, float(scores[column_of[v]]) if v in column_of else None) for v in members]
                    yield sorted(row, key=lambda pair: (pair[1] is None, -(pair[1] or 0.0), pair[0]))
            first += len(S)

    def _entry(self, node: int, score: float | None) -> dict[str, Any]:
        tax = self.model.taxonomy_
        entry: dict[str, Any] = {"label": str(tax.names[node]), "score": None if score is None else round(score, 6)}
        if tax.display_labels is not None:
            entry["display"] = tax.display(node)
        first, *others = (tax.names[path].tolist() for path in tax.paths(node))
        entry["path"] = first
        if others:
            entry["other_paths"] = others
        return entry


def _bound(entry: str) -> tuple[str, int]:
    """``NODE=K`` as a pair."""
    name, _, number = entry.rpartition("=")
    if not name or not number.isdecimal():
        raise typer.BadParameter(f"--at-most-under {entry}: expected NODE=K, for example Sports=2.")
    return name, int(number)


def _named(rules: dict[str, Any], taxonomy: Any) -> dict[str, Any]:
    """Rules whose nodes are called by name, where a display label was given."""

    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {options.node_meant(taxonomy, node): k for node, k in value.items()}
        if not isinstance(value, list):
            return value
        return "tops" if value == ["tops"] else [options.node_meant(taxonomy, node) for node in value]

    return {name: named(value) for name, value in rules.items()}


def _json_line(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False) + "\n"


def _table_lines(taxonomy: Any, document: dict[str, Any]) -> str:
    """One line for each label: its name for programs, its path for people."""
    lines = []
    for entry in document["labels"]:
        score = "" if entry["score"] is None else f"{entry['score']:.6g}"
        path = " > ".join(" ".join(taxonomy.display(node).split()) for node in entry["path"])
        lines.append("\t".join([document["id"], entry["label"], score, path]) + "\n")
    return "".join(lines)


@contextlib.contextmanager
def _target(output: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears only when it is complete."""
    if output is None:
        yield sys.stdout
        return
    with replacing(output) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", write_through=True)
        try:
            yield text
        finally:
            text.detach()  # the file is closed by the one who opened it
