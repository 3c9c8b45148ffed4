"""Which format a file or folder is in: by its first bytes, then by its first lines together.

The ending of the name is asked only where the lines leave it open whether commas separate cells or clauses.
"""

from __future__ import annotations

import csv
import re

from linnaeus import files
from linnaeus.data.mapped import is_mapped
from linnaeus.data.readers.archive import is_tar, is_zip, members
from linnaeus.data.readers.delimited import separator_line, sniff_delimiter
from linnaeus.data.readers.header import names_columns
from linnaeus.data.readers.source import HEAD, Options, Source
from linnaeus.errors import DataError

__all__ = ["FORMATS", "format_of"]

# Format -> module of this package whose ``read(source, options)`` reads it.
FORMATS = {
    "jsonl": "jsonl",
    "csv": "delimited",
    "tsv": "delimited",
    "lines": "lines",
    "libsvm": "svmlight",
    "xmc": "svmlight",
    "lshtc": "svmlight",
    "arff": "arff",
    "npz": "npz",
    "fasta": "fasta",
    "fasttext": "fasttext",
    "folder": "folder",
    "reuters": "reuters",
    "mapped": "mapped",
}

LABELS_ONLY = re.compile(r"[^\s:,]+(,\s*[^\s:,]+)*\s*(\s#.*)?")
VECTOR = re.compile(r"([^\s:,]+(,\s*[^\s:,]+)*\s+)?\d+:\S+(\s+\d+:\S+)*\s*(#.*)?")
SPACE_AFTER_COMMA = re.compile(r"[^\s:]+,\s")


def format_of(source: Source, options: Options) -> str:
    """The format, one of `FORMATS`; the source is not empty."""
    if source.is_folder:
        assert source.path is not None
        if is_mapped(source.path):
            return "mapped"
        return "reuters" if any(source.path.glob("*.sgm")) else "folder"
    if is_zip(source.head):
        with source.open_seekable() as stream:
            names = [info.filename for info in files.zip_members(stream, source.name, DataError)]
        if any(name.endswith(".npy") for name in names) or not names:
            return "npz"
        return "reuters" if names[0].endswith(".sgm") else "folder"
    if is_tar(source.head):
        first = next((name for name, _ in members(source)), "")
        return "reuters" if first.endswith(".sgm") else "folder"
    text = source.text_head(options.encoding)
    return _format_of_text(_whole_lines(text) if len(source.head) == HEAD else text, source, options)


def _whole_lines(text: str) -> str:
    """The head of a longer file without the line, or at least without the word, that it cuts in two."""
    return text[: text.rfind("\n") + 1] or text[: text.rfind(" ") + 1] or text


def _format_of_text(text: str, source: Source, options: Options) -> str:
    text = text.lstrip()
    first = text.split("\n", 1)[0].strip()
    if first.upper().startswith(("<!DOCTYPE LEWIS", "<REUTERS")):
        return "reuters"
    if re.search(r"^\s*@relation\b", text, re.IGNORECASE | re.MULTILINE):
        return "arff"
    if first.startswith(("{", "[")):
        return "jsonl"
    if first.startswith(">"):
        return "fasta"
    if re.fullmatch(r"\d+\s+\d+\s+\d+", first):
        return "xmc"
    if vectors := _sparse_vectors(text):
        return "lshtc" if any(map(SPACE_AFTER_COMMA.match, vectors)) else "libsvm"
    if "\0" in text:
        raise DataError(f"{source.name} is not in a format known here ({', '.join(FORMATS)}).")
    if first.lower().startswith("!gaf-version"):
        raise DataError(f"{source.name} holds annotations (GAF), not documents; join it to them with labels_file=...")
    if first.startswith("__label__"):
        return "fasttext"
    if "\t" in first or options.delimiter == "\t":
        return "tsv"
    if source.ending in (".csv", ".tsv") or separator_line(text)[1]:
        return "csv"
    return "csv" if _has_columns(text, options) else "lines"


def _sparse_vectors(text: str) -> list[str]:
    """The lines of labels and features, if that is what the file holds.

    A first line with features decides, so that a wrong line further down is named as such. Comments may stand before
    it, and documents without features, if all the rest is of this kind too: a word alone may also be a short text.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    vectors = [line for line in lines if VECTOR.fullmatch(line)]
    if vectors and vectors[0] == lines[0]:
        return vectors
    rest = sum(bool(LABELS_ONLY.fullmatch(line)) for line in lines)
    return vectors if len(vectors) + rest == len(lines) else []


def _has_columns(text: str, options: Options) -> bool:
    """Whether the first lines are rows of cells; sentences with commas in them are not."""
    if options.delimiter or options.header is not None or options.text or options.labels or options.sequence:
        return True
    sample = text.splitlines()[: 50 if len(text) < HEAD // 2 else 20]
    try:
        rows = [row for row in csv.reader(sample, delimiter=sniff_delimiter(text)) if row]
    except csv.Error:  # a cell beyond the limit of the csv module is a long text
        return False
    widths = {len(row) for row in rows}
    return names_columns(rows[0], options) or (len(widths) == 1 and widths != {1} and len(rows) > 1)
