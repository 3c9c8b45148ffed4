"""Columns of tables: whether the first row names them, and which one is what.

Columns of texts, labels, ids and sequences are recognised by common names, unless the user names them. `labels`,
`label`, `doc_label` and `doc_labels` are labels whatever the other columns are. Of the other common names of labels a
file may contain one; if it contains several (`subject` and `category`), the user has to choose. The same applies to a
column of texts and a column of sequences. A column named `protein`, `dna` or `rna` contains sequences only if its
values are letters; otherwise its accessions are ids.

A first row with a common name, or with a name given by the user, is a header. Others are compared with the rows below:

    Nr,Inhalt,Schlagwort        words over a column of numbers, or of codes, or of labels of the taxonomy: a header
    7,Ein spätes Tor,Sport

    Ein spätes Tor,Sport        a value that occurs again below, a number, an address, a long text: a document
    Eine Wahl,Politik
    Ein Freistoß,Sport

If neither is found, the answer is None, and readers ask the user to decide.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linnaeus.data.matrices import is_number
from linnaeus.data.readers.source import ReadOptions
from linnaeus.errors import DataError, nearest

__all__ = [
    "ColumnRoles",
    "choose_columns",
    "first_of",
    "is_missing",
    "names_columns",
    "residues",
    "row_is_header",
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
SURE_LABELS = ("labels", "label", "doc_label", "doc_labels")
LABELS = (
    *SURE_LABELS,
    "subjects",
    "subject",
    "topics",
    "topic",
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
    "nr",
    "lfdnr",
    "lfd_nr",
    "number",
    "nummer",
)
MOLECULES = ("protein", "dna", "rna")  # their sequence, or their name
SEQUENCES = ("sequence", "sequences", "seq", *MOLECULES)
LETTERS = re.compile(r"[A-Za-z*.-]+")
SPLITS = ("split", "fold", "partition")
MISSING = {"", "?", "na", "nan", "null", "none"}
# Files that contain only labels: documents are given by name, and labels may be predictions.
ANSWERS = (*LABELS, "predicted", "predictions", "prediction", "gold", "results")
ANSWER_IDS = (*IDS, "doc", "document")
SCORES = ("score", "probability", "confidence", "weight")


@dataclass(frozen=True)
class ColumnRoles:
    """Names of the columns to use; exactly one of text and sequence is given, or neither for numbers."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    id: str | None
    sequence: str | None
    split: str | None
    categorical: tuple[str, ...]

    def roles(self, available: Sequence[str], features: Sequence[str] = ()) -> dict[str, tuple[str, ...]]:
        """What every column was read as, for `Dataset.columns`."""
        chosen: dict[str, tuple[str, ...]] = {
            "text": self.text,
            "sequence": (self.sequence,) if self.sequence else (),
            "features": tuple(features),
            "labels": self.labels,
            "id": (self.id,) if self.id else (),
            "categorical": self.categorical,
            "split": (self.split,) if self.split else (),
        }
        used = {name for names in chosen.values() for name in names}
        chosen["ignored"] = tuple(name for name in available if name not in used)
        return {role: names for role, names in chosen.items() if names}


def choose_columns(
    available: Sequence[str], options: ReadOptions, where: str, values: Mapping[str, Sequence[str]] | None = None
) -> ColumnRoles:
    """Columns by the names or positions (from 0) that the user gave, otherwise by the usual names.

    Parameters
    ----------
    available : sequence of str
        Names of the columns.
    options : ReadOptions
        What the user named.
    where : str
        Name of the file for messages.
    values : mapping of str to sequence of str, default=None
        The first values of each column.

    Examples
    --------
    >>> chosen = choose_columns(["pmid", "title", "abstract", "mesh", "year"], ReadOptions(), "docs.jsonl")
    >>> chosen.text, chosen.labels, chosen.id
    (('title', 'abstract'), ('mesh',), 'pmid')
    """
    text, labels, categorical = (
        tuple(_column(name, available, where) for name in names)
        for names in (options.text, options.labels, options.categorical)
    )
    identity, sequence = (
        None if name is None else _column(name, available, where) for name in (options.id, options.sequence)
    )
    if identity is None and options.usual_id in available and options.usual_id not in {*text, *labels, *categorical}:
        identity = options.usual_id
    taken = {*text, *labels, *categorical, *filter(None, (identity, sequence))}

    def usual(known: Sequence[str]) -> list[str]:
        return [name for name in available if name not in taken and name.strip().lower() in known]

    sequences = [name for name in usual(SEQUENCES) if _holds_sequences(name, (values or {}).get(name, ()))]
    texts = [name for name in available if name in options.usual_text and name not in taken]
    if not labels and options.labelled:
        labels = tuple(name for name in available if name in options.usual_labels and name not in taken)
        taken |= set(labels)
    if not labels:
        candidates = [name for name in usual(LABELS) if name not in texts]
        labels = _labels(candidates, where) if options.labelled else ()
        taken |= {*labels, *candidates}
    texts = texts or usual(TEXT)
    if not text and sequence is None and sequences:
        if texts:
            raise DataError(
                f"{where} has texts ({_shown(texts)}) and sequences ({_shown(sequences)}); "
                f"choose with text={texts[0]!r} or sequence={sequences[0]!r}."
            )
        sequence = sequences[0]
    if not text and sequence is None:
        text = tuple(texts)
    taken |= {*text, *filter(None, (sequence,))}
    names_of_molecules = [name for name in usual(MOLECULES) if name not in sequences]
    return ColumnRoles(
        text=text,
        labels=labels,
        id=identity or first_of(usual(IDS), IDS) or next(iter(names_of_molecules), None),
        sequence=sequence,
        split=first_of(usual(SPLITS), SPLITS),
        categorical=categorical,
    )


def _column(name: str, available: Sequence[str], where: str) -> str:
    """The column with this name, ignoring surrounding blanks, or at this position."""
    if name in available:
        return name
    if name.isdecimal() and len(name) < 10 and int(name) < len(available):
        return available[int(name)]
    bare = [column for column in available if column.strip() == name.strip()]
    if len(bare) == 1:
        return bare[0]
    raise DataError(f"{where} has no column {name!r}; it has {_shown(available)}{nearest(name, available)}")


def _labels(candidates: list[str], where: str) -> tuple[str, ...]:
    sure = first_of(candidates, SURE_LABELS)
    if sure is not None:
        return (sure,)
    if len(candidates) > 1:
        example = next(
            (name for name in candidates if name.strip().lower() != "subject"), candidates[0]
        )  # as of e-mails
        raise DataError(
            f"{where} has several columns that may hold the labels, {_shown(candidates)}; name the one that does, "
            f"for example labels={example!r}."
        )
    return tuple(candidates)


def residues(sequence: str) -> str:
    """A sequence of lower-case letters in upper case, as residues are written; others as they are.

    Examples
    --------
    >>> residues("acgt"), residues("aCgt"), residues("a c")
    ('ACGT', 'aCgt', 'a c')
    """
    return sequence.upper() if sequence.isalpha() and sequence.islower() else sequence


def _holds_sequences(name: str, values: Sequence[str]) -> bool:
    """Whether the values of a column with a usual name of sequences are sequences: not numbers, and not accessions."""
    given = [value.strip() for value in values if not is_missing(value)]
    if name.strip().lower() in MOLECULES:
        return all(map(LETTERS.fullmatch, given))
    return not given or not all(map(is_number, given))


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")


def first_of(available: Iterable[str], known: Sequence[str]) -> str | None:
    """The column whose name comes first among the known names, ignoring case and surrounding blanks.

    Examples
    --------
    >>> first_of(["ID", "Topics", "Label"], LABELS)
    'Label'
    """
    by_name = {name.strip().lower(): name for name in reversed(list(available))}
    return next((by_name[name] for name in known if name in by_name), None)


def is_missing(cell: str) -> bool:
    """Whether a cell marks a missing value."""
    return cell.strip().lower() in MISSING


SAMPLE = 100  # rows looked at
LONGEST_NAME = 60
REPEATED = 0.5  # distinct values per row in a column of labels, at most
CODE = re.compile(r"(?=.*\d)[\w.:/-]+")
ADDRESS = re.compile(r"<?https?:|<[^<>\s]+>")
SENTENCE = re.compile(r"[.!?]$|[,;] ")
PARTS = re.compile(r"[;|,]")


def names_columns(cells: Sequence[str], options: ReadOptions) -> bool:
    """Whether a row contains a common name of a column, or one given by the user.

    Examples
    --------
    >>> names_columns(["Nr", "Text"], ReadOptions()), names_columns(["A late goal", "Sports"], ReadOptions())
    (True, False)
    """
    named = {
        *options.text,
        *options.labels,
        *options.categorical,
        *options.usual_text,
        *options.usual_labels,
        options.id,
        options.usual_id,
        options.sequence,
    }
    words = {
        name for name in named if name is not None and not name.isdecimal()
    }  # a number may be a value, and is a position
    known = {*TEXT, *LABELS, *IDS, *SEQUENCES}
    if any(cell.strip() in words or cell.strip().lower() in known for cell in cells):
        return True
    return len(cells) > 1 and [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]  # as pandas does


def row_is_header(rows: Sequence[Sequence[str]], known: Container[str] | None = None) -> bool | None:
    """Whether the first of these rows contains the names of the columns; None if the rows do not decide it.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first rows of a table, the row in question first.
    known : container of str, default=None
        Labels that may occur, such as a taxonomy.

    Returns
    -------
    is_header : bool or None
        True, False, or None if it cannot be decided.

    Examples
    --------
    >>> row_is_header([["Nr", "Inhalt"], ["1", "Ein Tor"], ["2", "Eine Wahl"]])
    True
    >>> row_is_header([["Ein Tor", "Sport"], ["Eine Wahl", "Politik"], ["Ein Spiel", "Sport"]])
    False
    """
    first = [cell.strip() for cell in rows[0]]
    if not any(first) or len(set(first)) < len(first) or any(map(_is_value, first)):
        return False
    columns = [_values_below(rows, i) for i in range(len(first))]
    if not any(columns):
        return False  # there are no rows below
    if known is not None:
        found = [_known_labels(name, column, known) for name, column in zip(first, columns, strict=True)]
        if any(answer is not None for answer in found):
            return not any(answer for answer in found)
    pairs = [(name, column) for name, column in zip(first, columns, strict=True) if column]
    if any(name in column for name, column in pairs):
        return False
    if any(all(map(is_number, column)) for _, column in pairs):
        return True
    if any(all(map(_is_code, column)) and not _is_code(name) for name, column in pairs):
        return True
    text, below = max(pairs, key=lambda pair: sum(len(value.split()) for value in pair[1]) / len(pair[1]))
    words = sorted(len(value.split()) for value in below)
    if len(text.split()) > 1 and 2 * len(text.split()) >= words[len(words) // 2]:
        return False  # as long as the texts below
    shorter = len(text.split()) < words[0]
    repeated = any(len(column) > 3 and len(set(column)) <= REPEATED * len(column) for _, column in pairs)
    if shorter and (repeated or len(text.split()) == 1):
        return True
    return None


def _values_below(rows: Sequence[Sequence[str]], i: int) -> list[str]:
    below = (row[i].strip() for row in rows[1:SAMPLE] if i < len(row))
    return [cell for cell in below if not is_missing(cell)]


def _is_value(cell: str) -> bool:
    """Whether a cell is too long, or of a kind, to be the name of a column."""
    return (
        is_number(cell)
        or len(cell) > LONGEST_NAME
        or ADDRESS.match(cell) is not None
        or SENTENCE.search(cell) is not None
        or (len(cell) > 20 and cell.isalpha() and cell.isupper())  # a sequence
    )


def _known_labels(name: str, column: list[str], known: Container[str]) -> bool | None:
    """Whether the first cell of a column of known labels is a known label; None for any other column."""

    def is_known(cell: str) -> bool:
        return cell in known or any(part.strip(" <>") in known for part in (*PARTS.split(cell), *cell.split()))

    if is_known(name):
        return True
    return False if column and 2 * sum(map(is_known, column)) > len(column) else None


def _is_code(cell: str) -> bool:
    """Whether a cell holds codes or addresses."""
    return ADDRESS.match(cell) is not None or all(CODE.fullmatch(part.strip()) for part in PARTS.split(cell))
