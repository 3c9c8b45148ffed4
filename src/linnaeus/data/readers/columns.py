"""Which column is what: the usual names of text, label, id and sequence columns, unless the user names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linnaeus.data.readers.source import Options
from linnaeus.errors import DataError, nearest

__all__ = [
    "Columns",
    "choose_columns",
    "first_of",
    "is_missing",
    "is_number",
    "looks_like_header",
    "stands_over_numbers",
]

TEXT = (
    "text",
    "title",
    "subject_line",
    "headline",
    "abstract",
    "summary",
    "body",
    "content",
    "contents",
    "document",
    "doc",
    "doc_token",
    "tokens",
    "description",
    "sentence",
    "review",
    "question",
    "message",
    "full_text",
    "fulltext",
)
LABELS = (
    "labels",
    "label",
    "subjects",
    "subject",
    "topics",
    "topic",
    "doc_label",
    "doc_labels",
    "mesh",
    "categories",
    "category",
    "classes",
    "class",
    "tags",
    "tag",
    "ec",
    "target",
    "targets",
    "codes",
    "code",
    "node",
    "nodes",
    "y",
    "ec number",
    "ec numbers",
)
IDS = (
    "id",
    "ids",
    "doc_id",
    "docid",
    "document_id",
    "pmid",
    "entry",
    "_id",
    "uid",
    "uuid",
    "identifier",
    "key",
    "accession",
    "docno",
)
SEQUENCES = (
    "sequence",
    "sequences",
    "seq",
    "protein",
    "dna",
    "rna",
)
SPLITS = ("split", "fold", "partition")
MISSING = {"", "?", "na", "nan", "null", "none"}
# Files of nothing but labels: a document is then named, not given, and the labels may be those of a model.
ANSWERS = (*LABELS, "predicted", "predictions", "prediction", "gold", "results")
ANSWER_IDS = (*IDS, "doc", "document")
SCORES = ("score", "probability", "confidence", "weight")


@dataclass(frozen=True)
class Columns:
    """Names of the columns to use; exactly one of text and sequence is given, or neither for numbers."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    id: str | None
    sequence: str | None
    split: str | None
    categorical: tuple[str, ...]


def choose_columns(available: Sequence[str], options: Options, where: str) -> Columns:
    """Columns by the names the user gave, otherwise by the usual names.

    Examples
    --------
    >>> chosen = choose_columns(["pmid", "title", "abstract", "mesh", "year"], Options(), "docs.jsonl")
    >>> chosen.text, chosen.labels, chosen.id
    (('title', 'abstract'), ('mesh',), 'pmid')
    """
    named = [*options.text, *options.labels, *options.categorical, *filter(None, (options.id, options.sequence))]
    for name in named:
        if name not in available:
            shown = ", ".join(map(repr, available[:20]))
            raise DataError(f"{where} has no column {name!r}; it has {shown}{nearest(name, available)}")
    taken = set(named)

    def unless_taken(known: Sequence[str]) -> str | None:
        return first_of((name for name in available if name not in taken), known)

    labels = options.labels or tuple(filter(None, (unless_taken(LABELS),)))
    taken |= set(labels)
    sequence = options.sequence
    if sequence is None and not options.text:
        sequence = unless_taken(SEQUENCES)
    text = options.text
    if not text and sequence is None:
        text = tuple(name for name in available if name.strip().lower() in TEXT and name not in taken)
    taken |= {*text, sequence or ""}
    return Columns(
        text=text,
        labels=labels,
        id=options.id or unless_taken(IDS),
        sequence=sequence,
        split=unless_taken(SPLITS),
        categorical=options.categorical,
    )


def first_of(available: Iterable[str], known: Sequence[str]) -> str | None:
    """The column whose name stands first among the known names, up to case and blanks.

    Examples
    --------
    >>> first_of(["ID", "Topics", "Label"], LABELS)
    'Label'
    """
    by_name = {name.strip().lower(): name for name in reversed(list(available))}
    return next((by_name[name] for name in known if name in by_name), None)


def looks_like_header(cells: Sequence[str], options: Options) -> bool:
    """Whether the first row of a delimited file names columns: one of them is asked for, or is a usual name."""
    named = {*options.text, *options.labels, *options.categorical, options.id, options.sequence}
    known = {*TEXT, *LABELS, *IDS, *SEQUENCES}
    return any(cell in named or cell.strip().lower() in known for cell in cells)


def stands_over_numbers(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row of nothing but words stands over a column of nothing but numbers: it names the columns then.

    Examples
    --------
    >>> stands_over_numbers(["f1", "f2"], [["1", "2.5"], ["0", ""]])
    True
    >>> stands_over_numbers(["A late goal", "Sports"], [["A vote", "Politics"]])
    False
    """
    if any(is_missing(cell) or is_number(cell) for cell in cells):
        return False
    columns = ([row[i] for row in below if i < len(row) and not is_missing(row[i])] for i in range(len(cells)))
    return any(column and all(map(is_number, column)) for column in columns)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
