"""`linnaeus predict`: documents through a saved model, to JSON lines or a table of tab-separated values."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Annotated, Any, TextIO

import typer

from linnaeus.cli import options
from linnaeus.errors import ParameterError

__all__ = ["predict"]

_BATCH = 4096


def predict(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    data: Annotated[list[str] | None, typer.Argument(help="Documents; - or nothing reads standard input.")] = None,
    top: Annotated[
        int | None, typer.Option("--top", "-k", min=1, help="Give the k best nodes instead of a set.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write instead of standard output.")
    ] = None,
    as_: Annotated[str, typer.Option("--as", help="jsonl, or tsv (id, label, score, path).")] = "jsonl",
    closed: Annotated[bool | None, typer.Option("--closed/--not-closed", help="Add all ancestors, or not.")] = None,
    decoder: Annotated[str | None, typer.Option("--decoder", help="Another way from scores to sets.")] = None,
    text: options.TextOption = None,
    format: options.DataFormatOption = None,
    header: options.HeaderOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as jsonl.")] = False,
) -> None:
    """Classify documents."""
    from linnaeus import store
    from linnaeus.cli.predicting import documents_for
    from linnaeus.decoding import decoder as make_decoder

    if as_ not in ("jsonl", "tsv"):
        raise ParameterError(f"--as {as_}: expected jsonl or tsv.")
    loaded = store.load(model)
    decide = None if decoder is None else make_decoder(decoder)
    documents = documents_for(loaded, data or ["-"], text=text, format=format, header=header)
    write = _json_line if as_ == "jsonl" or as_json else _table_lines
    with _target(output) as file:
        for document in _answers(loaded, documents, top, closed, decide):
            file.write(write(document))


def _answers(model: Any, documents: Any, top: int | None, closed: bool | None, decide: Any) -> Iterator[dict[str, Any]]:
    """One record per document: {"id", "labels"} with, per label, name, score (where it has one) and path."""
    from linnaeus.cli.console import progress
    from linnaeus.cli.predicting import label_lists
    from linnaeus.engine.plan import blocks

    tax = model.taxonomy_
    with progress("predicting", len(documents)) as advance:
        for part in blocks(len(documents), _BATCH):
            batch = documents.take(range(part.start, part.stop))
            if top is not None:
                names, scores = model.top(batch.documents, top)
                rows = [list(zip(n, s, strict=True)) for n, s in zip(names.tolist(), scores.tolist(), strict=True)]
            else:
                sets = label_lists(model.predict(batch.documents, decoder=decide, closed=closed))
                rows = _with_scores(model, batch, sets)
            for i, row in enumerate(rows):
                name = str(part.start + i) if batch.ids is None else batch.ids[i]
                yield {"id": name, "labels": [_entry(tax, label, score) for label, score in row]}
            advance(part.stop - part.start)


def _with_scores(model: Any, batch: Any, sets: list[list[str]]) -> list[list[tuple[str, float | None]]]:
    """The sets, best label first; nodes that only stand above a label may have no score."""
    inner = getattr(model, "model_", model)
    X = model.matrix(batch.documents) if hasattr(model, "matrix") else batch.documents
    column_of = {int(node): i for i, node in enumerate(inner.nodes_)}
    rows = []
    first = 0
    for S in inner._batches(X):
        for scores, labels in zip(S, sets[first : first + len(S)], strict=True):
            columns = [column_of.get(inner.taxonomy_.index(label)) for label in labels]
            pairs = [(label, None if c is None else float(scores[c])) for label, c in zip(labels, columns, strict=True)]
            rows.append(sorted(pairs, key=lambda pair: (pair[1] is None, -(pair[1] or 0.0), pair[0])))
        first += len(S)
    return rows


def _entry(taxonomy: Any, label: str, score: float | None) -> dict[str, Any]:
    from linnaeus.data.check import path_to

    node = taxonomy.index(label)
    entry: dict[str, Any] = {"label": label, "score": None if score is None else round(score, 6)}
    if taxonomy.display_labels is not None:
        entry["display"] = taxonomy.display(node)
    entry["path"] = [str(taxonomy.names[v]) for v in path_to(taxonomy, node)]
    return entry


def _json_line(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False) + "\n"


def _table_lines(document: dict[str, Any]) -> str:
    lines = []
    for entry in document["labels"]:
        score = "" if entry["score"] is None else f"{entry['score']:.6g}"
        lines.append("\t".join([document["id"], entry["label"], score, " > ".join(entry["path"])]) + "\n")
    return "".join(lines)


@contextlib.contextmanager
def _target(output: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears only when it is complete."""
    if output is None:
        yield sys.stdout
        return
    folder = os.path.dirname(os.path.abspath(output))
    handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        os.chmod(part, 0o644)
        os.replace(part, output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
