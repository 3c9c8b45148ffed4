"""Files of labels that any tool may have written: gold labels or predictions, with or without scores.

Read are::

    JSON lines   {"id": "d1", "labels": ["A", "B"]}, also with {"label": "A", "score": 0.9} as entries, ids optional
    wide table   d1 <tab> A;B       labels joined by ; or | or , or blanks; CSV as well, a header is recognised
    long table   d1 <tab> A <tab> 0.9     one label per line, the score may be missing
    lines        A B                one line of labels per document, an empty line is a document without labels
    fastText     __label__A 0.9 __label__B 0.4     the same, scores and a text at the end may be there or not
    Annif        <http://ex.org/A> <tab> Label <tab> 0.9     one label per line, see `linnaeus.data.label_files.annif`
    Label Studio a JSON array of tasks, see `linnaeus.data.readers.label_studio`
    GAF          annotations of the Gene Ontology, see `linnaeus.data.label_files.gaf`

compressed or not. Keys, columns and entries are those of the readers of documents. Where several readings are possible
and the ``known`` labels (the names of a taxonomy) are given, the one counts that makes most labels known.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import PurePath

from linnaeus.data.dataset import Dataset
from linnaeus.data.label_files import annif, gaf, json_lines, lines, tables
from linnaeus.data.label_files.content import LabelFile, Line, align, number
from linnaeus.data.readers.delimited import separator_line
from linnaeus.data.readers.jsonl import load_json
from linnaeus.data.readers.label_studio import is_task, plain_record
from linnaeus.errors import DataError, ParameterError, nearest, place
from linnaeus.files import InputFile
from linnaeus.taxonomy import Taxonomy

__all__ = ["FORMATS", "LabelFile", "align", "join_labels", "read_label_file"]

FORMATS = ("jsonl", "tsv", "csv", "lines", "fasttext", "annif", "gaf")
SAMPLE = 1000


def read_label_file(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    known: Collection[str] | None = None,
    labels: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> LabelFile:
    """Read a file of labels; the format is recognised from the content unless given.

    Parameters
    ----------
    path : str or path-like
        The file, compressed or not; ``-`` is standard input.
    format : str, default=None
        One of `FORMATS`.
    known : collection of str, default=None
        Names that labels may have; they settle what separates labels, and which part of an entry is one.
    labels : str, default=None
        Key or column that holds the labels; usual names are recognised. Columns of a table without header are numbered
        from 0.
    encoding : str, default=None
        UTF-8, or what a byte order mark says.
    header : bool, default=None
        Whether a table begins with the names of its columns; recognised by default.

    Returns
    -------
    file : LabelFile
        The labels of every document, with ids and scores where the file has them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "predicted.tsv"
    >>> _ = path.write_text("d1\\tA;B\\nd2\\tB\\n")
    >>> file = read_label_file(path)
    >>> file.ids, file.labels
    (['d1', 'd2'], [['A', 'B'], ['B']])
    """
    if format not in (None, *FORMATS):
        raise ParameterError(f"Label files are {', '.join(FORMATS)}, got {format!r}{nearest(str(format), FORMATS)}")
    source = InputFile(path)
    if source.is_folder:
        raise DataError(f"{source.name} is a folder, expected a file of labels.")
    given = [(number, line.rstrip("\r\n")) for number, line in source.lines(encoding)]
    if not any(line.strip() for _, line in given):
        raise DataError(f"{source.name} is empty, expected labels.")
    given = _tasks_as_lines(given, source.name)
    delimiter, skipped = separator_line(given[0][1])
    given = given[skipped:]
    format = format or ("csv" if delimiter else _recognised(given, source.name, known, labels))
    if format == "jsonl":
        return json_lines.read(given, source.name, known, labels)
    if format in ("tsv", "csv"):
        delimiter = delimiter or ("\t" if format == "tsv" else _comma(given))
        return tables.read(given, delimiter, source.name, known, labels, header)
    if format == "lines":
        return lines.read(given, source.name, known, labels)
    if labels is not None:
        raise DataError(f"{source.name} is a file of {format} labels, which has no column {labels!r}.")
    return {"fasttext": lines.read_fasttext, "annif": annif.read, "gaf": gaf.read}[format](given, source.name)


def _tasks_as_lines(given: list[Line], name: str) -> list[Line]:
    """The tasks of an export of Label Studio as lines of records; other files as they are."""
    beginning = "".join(line for _, line in given[:1000]).lstrip()
    if not beginning.startswith("[") or '"data"' not in beginning:
        return given
    with contextlib.suppress(DataError):
        records = load_json("\n".join(line for _, line in given), name)
        if isinstance(records, list) and records and all(map(is_task, records)):
            found = [plain_record(record) for record in records if isinstance(record, dict)]
            return [(number, json.dumps(record)) for number, record in enumerate(found, 1)]
    return given


def _recognised(given: list[Line], name: str, known: Collection[str] | None, labels: str | None) -> str:
    sample = [(number, line) for number, line in given[:SAMPLE] if line.strip()] or given[:SAMPLE]
    first = sample[0][1]
    if first.lstrip().startswith("{") or _is_json_list(first):
        return "jsonl"
    if first.startswith(lines.MARK):
        return "fasttext"
    if gaf.recognised([line for _, line in sample]):
        return "gaf"
    if annif.recognised([line for _, line in sample], known):
        return "annif"
    for format, mark in (("tsv", "\t"), ("csv", ",")):
        if mark not in first:
            continue
        rows = [row for _, row in tables.cut(sample, mark, name)]
        if labels is not None or tables.header(rows[0], known) is not None:
            return format
        starts_with_label = known is not None and sum(row[0] in known for row in rows) * 2 > len(rows)
        if not starts_with_label and (format == "tsv" or _looks_like_csv(rows, name, known)):
            return format
    return "lines"


def _comma(given: list[Line]) -> str:
    """The delimiter of a CSV file: a semicolon where the first line has no comma."""
    first = next((line for _, line in given if line.strip()), "")
    return ";" if ";" in first and "," not in first else ","


def _is_json_list(line: str) -> bool:
    try:
        return line.lstrip().startswith("[") and isinstance(load_json(line, ""), list)
    except DataError:
        return False


def _looks_like_csv(rows: list[list[str]], name: str, known: Collection[str] | None) -> bool:
    """Whether commas separate an id from labels, rather than labels from each other."""
    if ".csv" in PurePath(name).name.lower():
        return True
    if known is not None:
        return sum(len(row) > 1 and row[1] in known for row in rows) * 2 > len(rows)
    scores = [number(row[2]) is not None for row in rows if len(row) == 3 and row[2]]
    return bool(scores) and all(scores) and all(len(row) == 3 for row in rows)


def join_labels(
    data: Dataset, path: str | PathLike[str], *, labels: str | None = None, encoding: str | None = None
) -> Dataset:
    """Documents with the labels that a file of labels gives them by id.

    Parameters
    ----------
    data : Dataset
        Documents with ids; labels that it has are replaced.
    path : str or path-like
        File of labels in any format that `read_label_file` reads, such as a table of ids and labels or a GAF.
    labels : str, default=None
        Key or column of the labels in that file, where it has no usual name.
    encoding : str, default=None
        Encoding of that file.

    Returns
    -------
    data : Dataset
        The same documents. A document that the file does not name has no label; ``notes["labels_file"]`` counts these,
        and the entries that name no document. Alternative ids of the taxonomy are read as its nodes, and deprecated
        ones that have one replacement as this.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "annotations.tsv")
    >>> _ = path.write_text("P1\\tGO:2\\nP1\\tGO:3\\nP9\\tGO:4\\n")
    >>> joined = join_labels(Dataset(sequences=["MKQ", "MAA"], ids=["P1", "P2"]), path)
    >>> joined.labels, joined.notes["labels_file"]
    ([['GO:2', 'GO:3'], []], '1 of 2 documents found; 1 of 2 entries name no document')
    """
    known = None if data.taxonomy is None else data.taxonomy.index_of
    file = read_label_file(path, known=known, labels=labels, encoding=encoding)
    if file.ids is None:
        if len(file) != len(data):
            raise DataError(
                f"{file.source} has no ids and {len(file):,} entries for {len(data):,} documents; without ids there is "
                f"one entry per document."
            )
        given, note = file.labels, f"{len(data):,} documents in the order of the file"
        places = [place(file.source, line) for line in file.lines]
    else:
        if data.ids is None:
            raise DataError(
                f"{data.source or 'The data set'} has no ids to find in {file.source}; name their column with id=..."
            )
        rows = dict(zip(file.ids, file.labels, strict=True))
        given = [list(rows.get(identity, [])) for identity in data.ids]
        line_of = dict(zip(file.ids, file.lines, strict=True))
        places = [place(file.source, line_of.get(identity)) for identity in data.ids]
        n_found = sum(identity in rows for identity in data.ids)
        n_unused = len(rows.keys() - set(data.ids))
        if not n_found:
            raise DataError(
                f"No document of {data.source or 'the data set'} is named in {file.source}: ids such as "
                f"{data.ids[0]!r} were looked for, and it has {file.ids[0]!r}{nearest(data.ids[0], file.ids)}"
            )
        note = f"{n_found:,} of {len(data):,} documents found; {n_unused:,} of {len(rows):,} entries name no document"
    notes = {**data.notes, "labels_file": note}
    if data.taxonomy is not None:
        given, replaced = _followed(data.taxonomy, given)
        if replaced:
            notes["replaced"] = f"{replaced:,} deprecated labels by their replacements"
    columns = {**{role: names for role, names in data.columns.items() if role != "labels"}, "labels": (file.source,)}
    ignored = (*data.columns.get("labels", ()), *data.columns.get("ignored", ()))
    columns |= {"ignored": ignored} if ignored else {}
    return replace(data, labels=given, label_places=places, notes=notes, columns=columns)


def _followed(taxonomy: Taxonomy, rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], int]:
    """Labels with alternative and deprecated ids replaced by the nodes that they mean, and how many were deprecated."""
    found, counts = taxonomy.replaced(rows)
    return found, counts.total()
