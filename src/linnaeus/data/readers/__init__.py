"""Read documents and labels from files; the format is recognised from the content unless it is given.

A format is recognised by the first bytes of a file, then by its first lines. The ending of the file name is used only
if the lines do not show whether commas separate cells or clauses.
"""

from __future__ import annotations

import csv
import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from linnaeus import files
from linnaeus.data.dataset import UNLABELLED, Dataset, concatenate, keep_labelled
from linnaeus.data.mapped import is_mapped
from linnaeus.data.readers.columns import ReadOptions, names_columns
from linnaeus.data.readers.delimited import separator_line, sniff_delimiter
from linnaeus.data.readers.lines import MARK
from linnaeus.data.splits import drop_duplicates
from linnaeus.engine import parse_bytes
from linnaeus.errors import DataError, ParameterError, check_number, nearest
from linnaeus.files import HEAD, InputFile, is_tar, is_zip, members
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.formats import taxonomy_sign

__all__ = ["FORMATS", "format_of", "read_batches", "read_dataset", "recognise"]

Path = str | PathLike[str]
Names = str | int | Sequence[str | int] | None


def read_dataset(
    paths: Path | Sequence[Path],
    format: str | None = None,
    *,
    taxonomy: Taxonomy | None = None,
    text: Names = None,
    labels: Names = None,
    categorical: Names = None,
    id: str | int | None = None,
    sequence: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    label_separator: str | None = None,
    label_part: str | None = None,
    labels_file: Path | None = None,
    unlabelled: str = "keep",
    duplicates: str = "keep",
    usual_text: Sequence[str] | None = None,
    usual_id: str | None = None,
    usual_labels: Sequence[str] | None = None,
    labelled: bool = True,
    headers: str = "strip",
    n_features: int | None = None,
    split: str | None = None,
    encoding: str | None = None,
    limit: int | None = None,
    max_unpacked: int | str | None = None,
) -> Dataset:
    """Read one data set from one or several files.

    Parameters
    ----------
    paths : str, path-like or sequence of these
        A file (compressed with gzip, xz, bzip2 or zip, or not), a folder, ``-`` for standard input, or several of them.
    format : str, default=None
        One of `FORMATS`; recognised from the content by default.
    taxonomy : Taxonomy, default=None
        Used to decide how labels are read (separator, id or name) and kept with the data. An alternative id of a node
        is read as the node.
    text, labels, categorical : str, int or sequence of these, default=None
        Columns or keys to use; common names are recognised. A number that is not a name is the position of a column,
        from 0. In FASTA ``labels`` is the mark before the labels in a header line. With ``labels_file``, ``labels``
        is the column of that file.
    id, sequence : str or int, default=None
        Columns or keys of the ids and of sequences, in the same way.
    header : bool, default=None
        Whether a delimited file begins with column names; recognised by default.
    delimiter : str, default=None
        Delimiter of a delimited file; recognised by default.
    label_separator : str, default=None
        Separator of the labels in a cell; one of ``; | ,`` is recognised.
    label_part : {"id", "name", "last", "path"}, default=None
        The part of a list or record that is the label. In cells such as ``A > B``, "last" is the last step and "path"
        the path with slashes.
    labels_file : str or path-like, default=None
        File of labels that are joined to the documents by id, such as a table or a GAF; see `join_labels`.
    unlabelled : {"error", "drop", "keep"}, default="keep"
        What to do with documents without a label; see `keep_labelled`.
    duplicates : {"keep", "drop", "merge"}, default="keep"
        "drop" keeps the first of equal documents, "merge" gives it the labels of all; see `drop_duplicates`.
    usual_text : sequence of str, default=None
        Columns or keys that are read as text if the file has them, before the common names; those of a model.
    usual_id : str, default=None
        Column or key that is read as the id if the file has it; that of a model.
    usual_labels : sequence of str, default=None
        Columns or keys that are read as labels if the file has them, before the common names; those of a model.
    labelled : bool, default=True
        Whether labels are read; if not, several columns that may contain them are not an error.
    headers : {"strip", "keep"}, default="strip"
        Whether the header lines of e-mails and news posts are removed or kept.
    n_features : int, default=None
        Number of columns of a sparse matrix, if the file does not contain it.
    split : str, default=None
        Keep only this part of the documents, if the file names parts.
    encoding : str, default=None
        The encoding; by default that of a byte-order mark, otherwise UTF-8.
    limit : int, default=None
        Read at most this many documents of each file.
    max_unpacked : int or str, default=None
        Maximum decompressed size of a file in bytes, as a number or such as "4GB". By default 256 MB or 250 times the
        size of the file, whichever is more, so that a small damaged or hostile file does not fill the memory.

    Returns
    -------
    Dataset
        The documents; ``columns`` lists the columns by role.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "docs.csv")
    >>> _ = path.write_text("text,labels\\na late goal,Sports;Football\\n")
    >>> read_dataset(path).labels
    [['Sports', 'Football']]
    """
    _one_of("unlabelled", unlabelled, UNLABELLED)
    _one_of("duplicates", duplicates, ("keep", "drop", "merge"))
    options = ReadOptions(
        taxonomy=taxonomy,
        text=_names(text),
        labels=() if labels_file is not None else _names(labels),
        id=_name(id),
        sequence=_name(sequence),
        categorical=_names(categorical),
        header=header,
        delimiter=delimiter,
        label_separator=label_separator,
        label_part=label_part,
        headers=headers,
        n_features=n_features,
        encoding=encoding,
        limit=limit,
        usual_text=_names(usual_text),
        usual_labels=_names(usual_labels),
        usual_id=usual_id,
        labelled=labelled,
    )
    _check(options, format)
    several = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    largest = None if max_unpacked is None else parse_bytes(max_unpacked, "max_unpacked")
    data = concatenate([_read(InputFile(path, largest), format, options) for path in several])
    data = data if split is None else _only(data, split)
    data = _with_labels(data, taxonomy, labels_file, next(iter(_names(labels)), None), encoding)
    data = data if duplicates == "keep" else _distinct(data, "first" if duplicates == "drop" else "merge")
    return keep_labelled(data, unlabelled)


def _with_labels(
    data: Dataset, taxonomy: Taxonomy | None, labels_file: Path | None, column: str | None, encoding: str | None
) -> Dataset:
    """Documents with the labels of a file, or with their own labels as names of nodes."""
    if labels_file is not None:
        from linnaeus.data.label_files import join_labels  # which imports readers of documents

        return join_labels(data, labels_file, labels=column, encoding=encoding)
    if taxonomy is None or data.labels is None:
        return data
    return replace(data, labels=_by_name(data.labels, taxonomy))


def read_batches(
    paths: Path | Sequence[Path], format: str | None = None, *, size: int = 10_000, **options: Any
) -> Iterator[Dataset]:
    """Read documents some at a time, for files that are larger than memory.

    JSON lines, delimited files, lines and fastText files are read in batches. Other formats, JSON arrays, and documents
    that are joined with a file of labels or with their duplicates are read whole, and then given in parts.

    Parameters
    ----------
    paths : str, path-like or sequence of these
        As in `read_dataset`.
    format : str, default=None
        As in `read_dataset`.
    size : int, default=10000
        Largest number of documents of a batch.
    **options : object
        Further parameters of `read_dataset`.

    Yields
    ------
    Dataset
        Consecutive documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "docs.jsonl")
    >>> _ = path.write_text('{"text": "a goal"}\\n{"text": "a vote"}\\n{"text": "a law"}\\n')
    >>> [len(batch) for batch in read_batches(path, size=2)]
    [2, 1]
    """
    several = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    given, whole_only = dict(options), ("labels_file", "duplicates", "limit")
    if any(options.get(key) is not None for key in whole_only):
        yield from _parts(read_dataset(several, format, **options), size)
        return
    largest = options.pop("max_unpacked", None)
    split, unlabelled = options.pop("split", None), options.pop("unlabelled", None) or "keep"
    _one_of("unlabelled", unlabelled, UNLABELLED)
    for key in whole_only:
        options.pop(key, None)
    for key in ("text", "labels", "categorical", "usual_text", "usual_labels"):
        options[key] = _names(options.get(key))
    for key in ("id", "sequence"):
        options[key] = _name(options.get(key))
    how = ReadOptions(**options)  # refuses what is not a parameter
    _check(how, format)
    for path in several:
        source = InputFile(path, None if largest is None else parse_bytes(largest, "max_unpacked"))
        if not source.is_folder:
            source.check_not_empty(how.encoding)
        name = format or format_of(source, how)
        if name not in BATCHED:
            yield from _parts(read_dataset([path], format, **given), size)
            continue
        read: Callable[[InputFile, ReadOptions, int], Iterator[Dataset]] = _function(BATCHED[name])
        for data in read(source, _with_tabs(how, name, format), size):
            if split is not None and data.split is not None:
                data = data.take([i for i, part in enumerate(data.split) if part == split])
            elif split is not None:
                data = _only(data, split)
            data = _with_labels(data, how.taxonomy, None, None, None)
            data = keep_labelled(data, unlabelled) if len(data) else data
            if len(data):
                yield data


def _function(home: str) -> Callable[..., Any]:
    """The function of a reader, which is imported when it is used."""
    module, _, name = home.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"linnaeus.data.{module}"), name)
    return function


def _with_tabs(options: ReadOptions, name: str, format: str | None) -> ReadOptions:
    """The options with tabs as the delimiter, if a format with tabs was asked for."""
    tabs = name == "tsv" and format is not None and options.delimiter is None
    return replace(options, delimiter="\t") if tabs else options


def _parts(data: Dataset, size: int) -> Iterator[Dataset]:
    for start in range(0, len(data), size):
        yield data.take(range(start, min(start + size, len(data))))


def _check(options: ReadOptions, format: str | None) -> None:
    """Raise an error for values that no reader accepts."""
    if format is not None and format not in FORMATS:
        raise ParameterError(f"Format {format!r} is not one of {', '.join(FORMATS)}{nearest(format, FORMATS)}")
    if options.delimiter is not None and (len(options.delimiter) != 1 or options.delimiter in "\r\n"):
        raise ParameterError(f"delimiter={options.delimiter!r}; expected one character.")
    for name, value in (("n_features", options.n_features), ("limit", options.limit)):
        if value is not None:
            check_number(name, value, least=1, whole=True)
    _one_of("label_part", options.label_part, ("id", "name", "last", "path", None))
    _one_of("headers", options.headers, ("strip", "keep"))


def _by_name(labels: list[list[str]], taxonomy: Taxonomy) -> list[list[str]]:
    """Labels with alternative ids and whole paths replaced by the names of the nodes."""
    others = {label for row in labels for label in row if label not in taxonomy}
    nodes = {label: taxonomy.lookup(label) for label in others}
    names = {label: str(taxonomy.names[node]) for label, node in nodes.items() if node is not None}
    return [list(dict.fromkeys(names.get(label, label) for label in row)) for row in labels] if names else labels


def _distinct(data: Dataset, labels: str) -> Dataset:
    """The distinct documents, with the number of dropped ones in the notes."""
    kept = drop_duplicates(data, labels)
    if len(kept) == len(data):
        return data
    return replace(
        kept, notes={**data.notes, "duplicates": f"{len(data) - len(kept):,} of {len(data):,} documents dropped"}
    )


def _read(source: InputFile, format: str | None, options: ReadOptions) -> Dataset:
    if not source.is_folder and not (source.path is None and source.head and format in (None, "lines")):
        source.check_not_empty(options.encoding)
    elif not source.is_folder and not source.text_head(options.encoding).strip():
        format = "lines"  # empty lines of standard input are empty documents
    name = format or format_of(source, options)
    read: Callable[[InputFile, ReadOptions], Dataset] = _function(FORMATS[name])
    return read(source, _with_tabs(options, name, format))


def _only(data: Dataset, split: str) -> Dataset:
    if data.split is None:
        raise DataError(f"{data.source} is not divided into parts, so there is no part {split!r}.")
    rows = [i for i, part in enumerate(data.split) if part == split]
    if not rows:
        parts = sorted(set(data.split))
        raise DataError(f"{data.source} has no part {split!r}; it has {', '.join(parts)}{nearest(split, parts)}")
    return data.take(rows)


def recognise(path: Path) -> str:
    """The format of a file or folder, from its content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "docs")
    >>> _ = path.write_text("3,5 0:0.5 7:1\\n")
    >>> recognise(path)
    'libsvm'
    """
    source = InputFile(path)
    if not source.is_folder:
        source.check_not_empty()
    return format_of(source, ReadOptions())


def _names(given: Names) -> tuple[str, ...]:
    if given is None:
        return ()
    return (str(given),) if isinstance(given, (str, int)) else tuple(map(str, given))


def _name(given: str | int | None) -> str | None:
    return None if given is None else str(given)


def _one_of(name: str, value: str | None, allowed: Sequence[str | None]) -> None:
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


# Format -> function of `linnaeus.data` that reads it: ``function(source, options)``.
FORMATS = {
    "jsonl": "readers.jsonl.read",
    "csv": "readers.delimited.read",
    "tsv": "readers.delimited.read",
    "lines": "readers.lines.read",
    "libsvm": "readers.svmlight.read",
    "xmc": "readers.svmlight.read",
    "lshtc": "readers.svmlight.read",
    "arff": "readers.arff.read",
    "npz": "readers.npz.read",
    "fasta": "readers.fasta.read",
    "fasttext": "readers.lines.read_fasttext",
    "folder": "readers.folder.read",
    "reuters": "readers.reuters.read",
    "mapped": "mapped.read_folder",
}
# Format -> function that reads it in batches: ``function(source, options, size)``.
BATCHED = {
    "jsonl": "readers.jsonl.batches",
    "csv": "readers.delimited.batches",
    "tsv": "readers.delimited.batches",
    "lines": "readers.lines.batches",
    "fasttext": "readers.lines.fasttext_batches",
}

LABELS_ONLY = re.compile(r"[^\s:,]+(,\s*[^\s:,]+)*\s*(\s#.*)?")
VECTOR = re.compile(r"([^\s:,]+(,\s*[^\s:,]+)*\s+)?\d+:\S+(\s+\d+:\S+)*\s*(#.*)?")
SPACE_AFTER_COMMA = re.compile(r"[^\s:]+,\s")


def format_of(source: InputFile, options: ReadOptions) -> str:
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
    """The first bytes of a longer file without the incomplete last line, or at least without the incomplete word."""
    return text[: text.rfind("\n") + 1] or text[: text.rfind(" ") + 1] or text


def _format_of_text(text: str, source: InputFile, options: ReadOptions) -> str:
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
        raise DataError(f"{source.name} is not in a known format ({', '.join(FORMATS)}).")
    if first.lower().startswith("!gaf-version"):
        raise DataError(
            f"{source.name} contains annotations (GAF), not documents; join it to documents with labels_file=..."
        )
    if _is_fasttext(text):
        return "fasttext"
    sign = taxonomy_sign(text)
    named = options.text or options.labels or options.sequence or options.header is not None
    if sign is not None and not named:
        raise DataError(f"{source.name} looks like a taxonomy ({sign}), not documents; use it with taxonomy=...")
    if "\t" in first or options.delimiter == "\t":
        return "tsv"
    if source.ending in (".csv", ".tsv") or separator_line(text)[1]:
        return "csv"
    return "csv" if _has_columns(text, options) else "lines"


def _is_fasttext(text: str) -> bool:
    """Whether most lines contain a word that is marked as a label."""
    lines = [line for line in text.splitlines()[:100] if line.strip()]
    marked = sum(any(word.startswith(MARK) for word in line.split()) for line in lines)
    return lines[0].startswith(MARK) or 2 * marked > len(lines) if lines else False


def _sparse_vectors(text: str) -> list[str]:
    """The lines of labels and features, if the file consists of such lines.

    A first line with features decides, so that a wrong line further down is an error. Comments may come before it, and
    also documents without features if all lines have one of these forms: a single word may also be a short text.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    vectors = [line for line in lines if VECTOR.fullmatch(line)]
    if vectors and vectors[0] == lines[0]:
        return vectors
    rest = sum(bool(LABELS_ONLY.fullmatch(line)) for line in lines)
    return vectors if len(vectors) + rest == len(lines) else []


def _has_columns(text: str, options: ReadOptions) -> bool:
    """Whether the first lines are rows of cells; sentences with commas in them are not."""
    if options.delimiter or options.header is not None or options.text or options.labels or options.sequence:
        return True
    sample = text.splitlines()[: 50 if len(text) < HEAD // 2 else 20]
    try:
        rows = [row for row in csv.reader(sample, delimiter=sniff_delimiter(text)) if row]
    except csv.Error:  # a cell longer than the limit of the csv module is a long text
        return False
    widths = {len(row) for row in rows}
    return names_columns(rows[0], options) or (len(widths) == 1 and widths != {1} and len(rows) > 1)
