"""Which column is what: the usual names of text, label, id and sequence columns, unless the user names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linnaeus.data.readers.source import Options
from linnaeus.errors import DataError, nearest

__all__ = ["Columns", "choose_columns", "looks_like_header"]

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
    label = options.labels or _first(available, LABELS, taken)
    taken |= set(label)
    sequence = options.sequence
    if sequence is None and not options.text:
        sequence = next(iter(_first(available, SEQUENCES, taken)), None)
    text = options.text
    if not text and sequence is None:
        text = tuple(name for name in available if name.strip().lower() in TEXT and name not in taken)
    taken |= {*text, sequence or ""}
    return Columns(
        text=text,
        labels=label,
        id=options.id or next(iter(_first(available, IDS, taken)), None),
        sequence=sequence,
        split=next(iter(_first(available, SPLITS, taken)), None),
        categorical=options.categorical,
    )


def _first(available: Iterable[str], known: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """The column whose name stands first among the known names."""
    by_name = {name.strip().lower(): name for name in reversed(list(available)) if name not in taken}
    return next(((by_name[name],) for name in known if name in by_name), ())


def looks_like_header(cells: Sequence[str], options: Options) -> bool:
    """Whether the first row of a delimited file names columns: one of them is asked for, or is a usual name."""
    named = {*options.text, *options.labels, *options.categorical, options.id, options.sequence}
    known = {*TEXT, *LABELS, *IDS, *SEQUENCES}
    return any(cell in named or cell.strip().lower() in known for cell in cells)
