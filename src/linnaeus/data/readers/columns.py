"""Columns of tables: whether the first row names them, which one is what, and the labels in their cells.

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

Label entries are strings, joined strings, paths, [id, name, ...] lists, or {"id", "name"} records. ``known`` are the
possible labels, a taxonomy or a collection of names: if an entry can be read in several ways, the one that gives most
known labels is chosen.
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linnaeus.data.matrices import is_number
from linnaeus.errors import DataError, nearest
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.names import PATH_MARKS
from linnaeus.typing import JSON

__all__ = [
    "ColumnRoles",
    "ReadOptions",
    "bare",
    "choose_columns",
    "choose_part",
    "choose_separator",
    "first_of",
    "is_missing",
    "label_names",
    "names_columns",
    "part_of_path",
    "path_mark",
    "residues",
    "row_is_header",
    "separator_note",
    "split_cell",
    "split_cells",
    "split_known",
]

TEXT = (
    *("text", "title", "subject_line", "headline", "abstract", "summary", "body", "content", "contents", "document"),
    *(
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
    ),
)
SURE_LABELS = ("labels", "label", "doc_label", "doc_labels")
LABELS = (
    *(*SURE_LABELS, "subjects", "subject", "topics", "topic", "mesh", "categories", "category", "classes", "class"),
    *("tags", "tag", "ec", "target", "targets", "codes", "code", "node", "nodes", "y", "ec number", "ec numbers"),
)
IDS = (
    *("id", "ids", "doc_id", "docid", "document_id", "pmid", "entry", "_id", "uid", "uuid", "identifier", "key"),
    *("accession", "docno", "nr", "lfdnr", "lfd_nr", "number", "nummer"),
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
class ReadOptions:
    """Options of the readers; each uses those of its format. See `linnaeus.data.read_dataset`."""

    taxonomy: Taxonomy | None = None
    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    id: str | None = None
    sequence: str | None = None
    categorical: tuple[str, ...] = ()
    header: bool | None = None
    delimiter: str | None = None
    label_separator: str | None = None
    label_part: str | None = None
    headers: str = "strip"
    n_features: int | None = None
    encoding: str | None = None
    limit: int | None = None
    usual_text: tuple[str, ...] = ()
    usual_labels: tuple[str, ...] = ()
    usual_id: str | None = None
    labelled: bool = True

    def enough(self, n_docs: int) -> bool:
        """Whether the limit has been reached."""
        return self.limit is not None and n_docs >= self.limit


@dataclass(frozen=True)
class ColumnRoles:
    """Names of the columns to use; exactly one of text and sequence is given, or neither for numbers."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    id: str | None
    sequence: str | None
    split: str | None
    categorical: tuple[str, ...]
    unread_labels: tuple[str, ...] = ()  # of documents whose labels are not asked for: not features either

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
    unread: tuple[str, ...] = ()
    if not labels:
        found = tuple(name for name in available if name in options.usual_labels and name not in taken)
        labels, unread = (found, ()) if options.labelled else ((), found)
        taken |= set(found)
    if not labels:
        candidates = [name for name in usual(LABELS) if name not in texts]
        if options.labelled:
            labels = _labels(candidates, where)
        elif not options.usual_labels and (len(candidates) == 1 or first_of(candidates, SURE_LABELS)):
            unread = _labels(candidates, where)
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
        unread_labels=unread,
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


# -- labels joined in one string ---------------------------------------------------------------------------------------

SEPARATORS = (";", "|", ",")
FEW = 0.2  # a character that is in a smaller share of the cells may be part of names
CELLS = 1000
URIS = re.compile(r"\s*(<[^<>\s]+>\s*)+")  # Annif writes labels as <uri> <uri>
ID = re.compile(r"[A-Za-z]{0,6}[:_-]?\d[\w.-]*|https?://.*")
ID_KEYS, NAME_KEYS = ("id", "uri", "code", "notation"), ("name", "label", "node", "prefLabel", "title")


def split_cells(
    cells: Sequence[str], separator: str | None = None, known: Container[str] | None = None
) -> list[list[str]]:
    """Cells such as ``A;B`` as label lists; the separator is chosen over all cells unless given.

    Examples
    --------
    >>> split_cells(["A;B", "C", ""])
    [['A', 'B'], ['C'], []]
    >>> split_cells(["<http://x/1> <http://x/2>"])
    [['http://x/1', 'http://x/2']]
    """
    chosen = separator or choose_separator(cells, known)
    return [split_cell(cell, chosen) for cell in cells]


def split_cell(cell: str, separator: str | None) -> list[str]:
    """The labels of one cell.

    Examples
    --------
    >>> split_cell("A; <http://x/1>;", ";")
    ['A', 'http://x/1']
    """
    if cell.lstrip()[:1] == "<" and URIS.fullmatch(cell):
        return [word.strip("<>") for word in cell.replace("><", "> <").split()]
    return [part for part in map(bare, cell.split(separator) if separator else [cell]) if part]


def split_known(cell: str, known: Container[str] | None) -> list[str]:
    """The labels of a string in a JSON file: one label, unless only its parts are known.

    In a table several labels of a document have to be joined, while JSON has lists: so a string is one label unless its
    parts are known labels.

    Examples
    --------
    >>> split_known("A;B", {"A", "B"}), split_known("A;B", {"A", "A;B"}), split_known("A;B", None)
    (['A', 'B'], ['A;B'], ['A;B'])
    """
    whole = split_cell(cell, None)
    if known is None or len(whole) != 1 or _is_known(whole[0], known):
        return whole
    readings = (split_cell(cell, separator) for separator in SEPARATORS if separator in cell)
    return next((parts for parts in readings if parts and all(_is_known(part, known) for part in parts)), whole)


def _is_known(label: str, known: Container[str]) -> bool:
    """Whether a label is in a collection, or stands for a node of a taxonomy (also by an alias or a whole path)."""
    return known.lookup(label) is not None if isinstance(known, Taxonomy) else label in known


def bare(label: str) -> str:
    """A label without surrounding white space and angle brackets."""
    label = label.strip()
    return label[1:-1] if label[:1] == "<" and label[-1:] == ">" else label


def choose_separator(
    cells: Sequence[str], known: Container[str] | None = None, separators: Sequence[str] = SEPARATORS
) -> str | None:
    """The separator that gives most known labels; otherwise the first one that separates labels, or None."""
    occurring = [s for s in separators if any(s in cell for cell in cells)]
    if known is None or not occurring:
        return next((s for s in occurring if _separates(s, cells)), None)
    sample = [cell for cell in cells if any(s in cell for s in occurring)][:CELLS]

    def share_found(separator: str | None) -> float:
        parts = [part for cell in sample for part in split_cell(cell, separator)]
        return sum(_is_known(part, known) for part in parts) / max(len(parts), 1)

    shares = {s: share_found(s) for s in (None, *occurring)}
    best = max(shares, key=lambda s: shares[s])  # the first if equal: a cell that is a known label is not split
    return best if shares[best] > 0 else next((s for s in occurring if _separates(s, cells)), None)


def _separates(separator: str, cells: Sequence[str]) -> bool:
    """Whether a character separates labels and is not part of names, as the comma of ``Print, Copy & Scan`` is.

    It separates labels if many cells contain it. If few do, and for commas in cells that are paths, half of the parts
    must be labels of other cells, or paths with the same first step.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    joined = [cell for cell in filled if separator in cell]
    mark = path_mark(filled) if separator == "," else None
    if mark is None and (len(joined) >= FEW * len(filled) or len(filled) < 10):
        return True
    alone = {cell.split(mark)[0] if mark else cell for cell in filled if separator not in cell}
    parts = [part for cell in set(joined) for part in split_cell(cell, separator)]
    return 2 * sum((part.split(mark)[0] if mark else part) in alone for part in parts) >= len(parts)


def path_mark(cells: Sequence[str]) -> str | None:
    """The mark between the steps of paths, such as `` > ``, that at least half of the cells contain, or None.

    Examples
    --------
    >>> path_mark(["A > B", "A > C", "D"]), path_mark(["A", "B"])
    (' > ', None)
    """
    marks = (mark for mark in PATH_MARKS if 2 * sum(mark in cell for cell in cells) >= max(len(cells), 1))
    return next(marks, None)


def part_of_path(label: str, mark: str | None, part: str) -> str:
    """The last step of a path, or (``part="path"``) the whole path with slashes; labels without the mark are unchanged.

    Examples
    --------
    >>> part_of_path("A > B", " > ", "last"), part_of_path("A > B", " > ", "path"), part_of_path("C", " > ", "path")
    ('B', 'A/B', 'C')
    """
    if mark is None or mark not in label:
        return label
    steps = [step.strip() for step in label.split(mark)]
    return steps[-1] if part == "last" else "/".join(steps)


def separator_note(cells: Sequence[str], known: Container[str] | None = None) -> str | None:
    """A note if a character that often separates labels was read as part of them, otherwise None."""
    joined = {s: [cell for cell in cells if s in cell] for s in SEPARATORS}
    kept = next((s for s in SEPARATORS if joined[s]), None)
    if kept is None or (known is not None and all(_is_known(cell.strip(), known) for cell in set(joined[kept]))):
        return None
    return (
        f"{kept!r} is read as part of the labels in {len(joined[kept]):,} of {len(cells):,} cells, as in "
        f"{joined[kept][0][:60]!r}; --label-separator '{kept}' (in Python label_separator={kept!r}) splits them"
    )


# -- entries of a JSON list --------------------------------------------------------------------------------------------


def label_names(
    value: JSON, part: str | None, separator: str | None, where: str, known: Container[str] | None = None
) -> list[str]:
    """The labels of one document as names.

    ``part`` is the part of a list or record that is the label: "id", "name", "last" or "path". A string is split at the
    separator, or by `split_known` if none is given.

    Examples
    --------
    >>> label_names([["D000818", "Animals", "N"]], "name", None, "docs.jsonl:1")
    ['Animals']
    """
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return split_cell(value, separator) if separator else split_known(value, known)
    entries = value if isinstance(value, list) else [value]
    names = [entry if isinstance(entry, str) else _entry_name(entry, part, where) for entry in entries]
    return names if len(names) < 2 else list(dict.fromkeys(names))


def _entry_name(entry: JSON, part: str | None, where: str) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, dict):
        keys = [*ID_KEYS, *NAME_KEYS] if part == "id" else [*NAME_KEYS, *ID_KEYS]
        keys = keys if part is None else [part, *keys]
        found = next((entry[key] for key in keys if entry.get(key) is not None), None)
        if isinstance(found, (str, int, float)):
            return str(found)
    elif isinstance(entry, list) and entry and all(isinstance(e, (str, int, float)) for e in entry):
        if part == "path":
            return "/".join(map(str, entry))
        return str(entry[{"id": 0, "name": min(1, len(entry) - 1)}.get(part or "last", -1)])
    elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
        return str(entry)
    raise DataError(
        f"{where}: expected a label as a string, a list of strings or a record with id or name; "
        f"got {reprlib.repr(entry)}."
    )


def choose_part(values: Iterable[JSON], known: Container[str] | None) -> str | None:
    """The part of lists or records that is the label: the part with most known labels, otherwise the name.

    The part is "last", "name", "id" or "path" of a list, or a key of a record. If no labels are known, a list is read
    as [id, name, ...] if its first element always looks like a code and its second never does, otherwise as a path,
    whose last element is the label. Entries that are not labels are reported by `label_names`, with their place.
    """
    entries = [e for value in values if isinstance(value, list) for e in value if isinstance(e, (list, dict)) and e]
    if not entries:
        return None
    lists = isinstance(entries[0], list)
    if known is not None:
        parts = ("last", "name", "id", "path") if lists else (*NAME_KEYS, *ID_KEYS)
        hits = Counter({part: _n_known(entries[:2000], part, known) for part in parts})
        return max(parts, key=lambda part: hits[part]) if hits.total() else "name"
    if not lists:
        return "name"
    lists_only = [e for e in entries if isinstance(e, list)]
    pairs = all(len(e) > 1 and ID.fullmatch(str(e[0])) and not ID.fullmatch(str(e[1])) for e in lists_only)
    return "name" if pairs else "last"


def _n_known(entries: Sequence[JSON], part: str, known: Container[str]) -> int:
    n = 0
    for entry in entries:
        try:
            n += _is_known(_entry_name(entry, part, ""), known)
        except DataError:
            continue
    return n
