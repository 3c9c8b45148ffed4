"""Documents with their verdicts as files: JSON lines, CSV for spreadsheets, Annif's TSV, JSON of Label Studio, and
statements in RDF that name the SKOS concepts of each document.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from linnaeus.serve.store.database import Database, Row
from linnaeus.taxonomy.formats.skos import OURS, iri_of

if TYPE_CHECKING:
    from linnaeus.taxonomy import Taxonomy

__all__ = ["ENDINGS", "FORMATS", "export"]

_PAGE = 500  # documents that are read at a time
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # beginnings of cells that spreadsheets execute
_COLUMNS = ("id", "text", "labels", "names", "state", "coders", "control", "blind", "double", "flagged", "source")

Part: TypeAlias = Callable[[Row, "Taxonomy", bool], str]


def export(database: Database, queue: str, format: str, taxonomy: Taxonomy, state: str | None) -> Iterator[bytes]:
    """The parts of a file with the documents of a queue.

    Parameters
    ----------
    database : Database
        The store.
    queue : str
        Its queue.
    format : {"jsonl", "csv", "annif", "label-studio", "skos"}
        The format of the file.
    taxonomy : Taxonomy
        For names and paths of labels.
    state : str or None
        Only documents of this state; None for those with final labels, "all" for all.

    Yields
    ------
    bytes
        The parts in UTF-8, in the order in which documents were added.
    """
    before, part, after = FORMATS[format][1:]
    yield before.encode()
    first = True
    for row in _rows(database, queue, state):
        yield part(row, taxonomy, first).encode("utf-8", "replace")
        first = False
    yield after.encode()


def _rows(database: Database, queue: str, state: str | None) -> Iterator[Row]:
    """Documents with content and decisions, page by page, so that writers are not kept waiting."""
    last = 0
    condition = {None: "d.final IS NOT NULL", "all": "1 = 1"}.get(state, "d.state = ?")
    values = [] if state in (None, "all") else [state]
    while True:
        with database.read() as transaction:
            rows = transaction.rows(
                "SELECT d.*, t.content FROM documents d LEFT JOIN texts t ON t.document = d.number "
                f"WHERE d.queue = ? AND d.number > ? AND {condition} ORDER BY d.number LIMIT ?",
                [queue, last, *values, _PAGE],
            )
            for row in rows:
                row["decisions"] = transaction.rows(
                    "SELECT x.coder, x.kind, x.labels, x.time, x.adjudication, v.model FROM decisions x "
                    "JOIN verdicts v ON v.number = x.verdict WHERE x.document = ? ORDER BY x.verdict",
                    (row["number"],),
                )
        yield from rows
        if len(rows) < _PAGE:
            return
        last = rows[-1]["number"]


def _content(row: Row) -> dict[str, object]:
    return {} if row["content"] is None else dict(json.loads(row["content"]))


def _text(row: Row) -> str:
    """The text of a document, fields one below the other."""
    content = _content(row)
    fields = content.get("fields")
    if isinstance(fields, Mapping):
        return "\n".join(str(text) for text in fields.values())
    return str(content["text"]) if "text" in content else json.dumps(content["vector"]) if content else ""


def _labels(row: Row) -> list[str]:
    return [] if row["final"] is None else list(json.loads(row["final"]))


def _json_line(row: Row, taxonomy: Taxonomy, first: bool) -> str:
    content = _content(row)
    fields = content.pop("fields", None)
    record = {
        **content,
        **(fields if isinstance(fields, Mapping) else {}),
        "id": row["id"],
        "labels": None if row["final"] is None else _labels(row),
        "state": row["state"],
        "source": row["source"],
        **{name: bool(row[name]) for name in ("control", "blind", "double", "flagged")},
        "decisions": [
            {
                **{name: one[name] for name in ("coder", "kind", "time", "model")},
                "labels": json.loads(one["labels"]),
                "adjudication": bool(one["adjudication"]),
            }
            for one in row["decisions"]
        ],
    }
    return json.dumps(record) + "\n"


def _csv_row(row: Row, taxonomy: Taxonomy, first: bool) -> str:
    labels = _labels(row)
    shown = [taxonomy.display(label) if label in taxonomy else label for label in labels]
    cells = [
        *(row["id"], _text(row), ";".join(labels), ";".join(shown), row["state"]),
        ";".join(one["coder"] for one in row["decisions"]),
        *(("yes" if row[name] else "no") for name in ("control", "blind", "double", "flagged")),
        row["source"] or "",
    ]
    buffer = io.StringIO()
    csv.writer(buffer).writerow([_safe(cell) for cell in cells])
    return buffer.getvalue()


def _safe(cell: str) -> str:
    """A cell that a spreadsheet shows and does not execute; NUL, which no CSV reader takes, is replaced."""
    cell = cell.replace("\0", "\ufffd")
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _annif_line(row: Row, taxonomy: Taxonomy, first: bool) -> str:
    text = " ".join(_text(row).split())
    return f"{text}\t{' '.join(f'<{label}>' for label in _labels(row))}\n"


def _label_studio_task(row: Row, taxonomy: Taxonomy, first: bool) -> str:
    content = _content(row)
    fields = content.get("fields")
    annotations = [
        {
            "completed_by": {"email": one["coder"]},
            "ground_truth": bool(one["adjudication"]),
            "was_cancelled": one["kind"] == "cannot-tell",
            "result": [_label_studio_choice(json.loads(one["labels"]), taxonomy)],
        }
        for one in row["decisions"]
    ]
    data = {"text": _text(row), "id": row["id"], **(fields if isinstance(fields, Mapping) else {})}
    task = {"data": data, "meta": {"state": row["state"], "labels": _labels(row)}, "annotations": annotations}
    return ("" if first else ",\n") + json.dumps(task)


def _label_studio_choice(labels: list[str], taxonomy: Taxonomy) -> dict[str, object]:
    paths = [taxonomy.names[taxonomy.path(label)].tolist() if label in taxonomy else [label] for label in labels]
    return {"from_name": "taxonomy", "to_name": "text", "type": "taxonomy", "value": {"taxonomy": paths}}


def _skos_annotation(row: Row, taxonomy: Taxonomy, first: bool) -> str:
    """The concepts of a document as its subjects; documents without an IRI get one that has their id."""
    known = iri_of(row["id"])
    document = f"{OURS}document:{quote(row['id'], safe='', errors='replace')}" if known.startswith(OURS) else known
    subjects = "".join(f" ;\n    dcterms:subject <{iri_of(label)}>" for label in _labels(row))
    return f"<{document}> dcterms:identifier {json.dumps(row['id'])}{subjects} .\n"


ENDINGS = {"jsonl": "jsonl", "csv": "csv", "annif": "tsv", "label-studio": "json", "skos": "ttl"}
# Media type, beginning, part and end of each format.
FORMATS: dict[str, tuple[str, str, Part, str]] = {
    "jsonl": ("application/x-ndjson", "", _json_line, ""),
    "csv": ("text/csv; charset=utf-8", "\ufeff" + ",".join(_COLUMNS) + "\r\n", _csv_row, ""),
    "annif": ("text/tab-separated-values; charset=utf-8", "", _annif_line, ""),
    "label-studio": ("application/json", "[", _label_studio_task, "]\n"),
    "skos": ("text/turtle; charset=utf-8", "@prefix dcterms: <http://purl.org/dc/terms/> .\n\n", _skos_annotation, ""),
}
