"""Read documents and labels from files; the format is recognised from the content unless it is given."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from linnaeus.data.dataset import Dataset, concatenate
from linnaeus.data.duplicates import drop_duplicates
from linnaeus.data.labelled import UNLABELLED, join_labels, keep_labelled
from linnaeus.data.readers.recognition import FORMATS, format_of
from linnaeus.data.readers.source import Options, Source
from linnaeus.engine.limits import parse_bytes
from linnaeus.errors import DataError, ParameterError, check_number, nearest
from linnaeus.taxonomy import Taxonomy

__all__ = ["FORMATS", "read_dataset", "recognise"]

Path = str | PathLike[str]
Names = str | int | Sequence[str | int] | None


def read_dataset(
    paths: Path | Sequence[Path],
    format: str | None = None,
    *,
    taxonomy: Taxonomy | None = None,
    text: Names = None,
    labels: Names = None,
    id: str | int | None = None,
    sequence: str | int | None = None,
    categorical: Names = None,
    header: bool | None = None,
    delimiter: str | None = None,
    label_separator: str | None = None,
    label_part: str | None = None,
    headers: str = "strip",
    n_features: int | None = None,
    split: str | None = None,
    encoding: str | None = None,
    limit: int | None = None,
    usual_text: Sequence[str] | None = None,
    labelled: bool = True,
    labels_file: Path | None = None,
    unlabelled: str = "keep",
    duplicates: str = "keep",
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
        Helps to tell labels apart (which separator, id or name) and is kept with the data. Labels given by an
        alternative id of a node are read as the node.
    text, labels, categorical : str, int or sequence of these, default=None
        Columns or keys to use; usual names are recognised. A number that is not a name is the position of a column,
        from 0. In FASTA ``labels`` is the mark before the labels in a header line. Beside ``labels_file``, ``labels``
        is the column of that file.
    id, sequence : str or int, default=None
        Columns or keys of the ids and of sequences, in the same way.
    header : bool, default=None
        Whether a delimited file begins with column names; recognised by default.
    delimiter : str, default=None
        Of a delimited file; recognised by default.
    label_separator : str, default=None
        Between the labels of a cell; one of ``; | ,`` is recognised.
    label_part : {"id", "name", "last", "path"}, default=None
        What of labels that are lists or records is the label.
    labels_file : str or path-like, default=None
        File of labels that belong to the documents by id, such as a table of annotations or a GAF; see `join_labels`.
    unlabelled : {"error", "drop", "keep"}, default="keep"
        What happens to documents without a label; see `keep_labelled`.
    duplicates : {"keep", "drop", "merge"}, default="keep"
        "drop" keeps the first of equal documents, "merge" gives it the labels of all; see `drop_duplicates`.
    usual_text : sequence of str, default=None
        Columns or keys that are read as text where the file has them, before the usual names; those of a model.
    labelled : bool, default=True
        Whether labels are read; where they are not, it is no error that several columns may hold them.
    headers : {"strip", "keep"}, default="strip"
        Whether the header lines of e-mails and news posts are left out.
    n_features : int, default=None
        Width of a sparse matrix whose file does not say it.
    split : str, default=None
        Keep only this part of the documents, where the file names parts.
    encoding : str, default=None
        UTF-8, or what a byte order mark says.
    limit : int, default=None
        Read at most this many documents of each file.
    max_unpacked : int or str, default=None
        Bytes that a compressed file may unpack to, as a number or such as "4GB". By default 256 MB or 250 times the
        size of the file, whichever is more, so that a small damaged or hostile file does not fill the memory.

    Returns
    -------
    data : Dataset
        The documents; ``data.columns`` says what each column was read as.

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
    if delimiter is not None and (len(delimiter) != 1 or delimiter in "\r\n"):
        raise ParameterError(f"delimiter={delimiter!r}; expected one character.")
    limits = {"n_features": n_features, "limit": limit}
    for name, value in limits.items():
        if value is not None:
            check_number(name, value, least=1, whole=True)
    options = Options(
        taxonomy=taxonomy,
        text=_names(text),
        labels=() if labels_file is not None else _names(labels),
        id=None if id is None else str(id),
        sequence=None if sequence is None else str(sequence),
        categorical=_names(categorical),
        header=header,
        delimiter=delimiter,
        label_separator=label_separator,
        label_part=_one_of("label_part", label_part, ("id", "name", "last", "path", None)),
        headers=_one_of("headers", headers, ("strip", "keep")) or "strip",
        n_features=n_features,
        encoding=encoding,
        limit=limit,
        usual_text=_names(usual_text),
        labelled=labelled,
    )
    if format is not None and format not in FORMATS:
        raise ParameterError(f"Format {format!r} is not one of {', '.join(FORMATS)}{nearest(format, FORMATS)}")
    several = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    largest = None if max_unpacked is None else parse_bytes(max_unpacked, "max_unpacked")
    data = concatenate([_read(Source(path, largest), format, options) for path in several])
    if split is not None:
        data = _only(data, split)
    if labels_file is not None:
        column = next(iter(_names(labels)), None)
        data = join_labels(data, labels_file, labels=column, encoding=encoding)
    elif taxonomy is not None and data.labels is not None and taxonomy.aliases:
        data = replace(data, labels=_by_name(data.labels, taxonomy))
    if duplicates != "keep":
        data = _distinct(data, "first" if duplicates == "drop" else "merge")
    return keep_labelled(data, unlabelled)


def _by_name(labels: list[list[str]], taxonomy: Taxonomy) -> list[list[str]]:
    """Labels with alternative ids of nodes as the names of the nodes."""
    aliases = taxonomy.aliases
    return [list(dict.fromkeys(aliases.get(label, label) for label in row)) for row in labels]


def _distinct(data: Dataset, labels: str) -> Dataset:
    """Every document once; the notes say how many were left out."""
    kept = drop_duplicates(data, labels)
    if len(kept) == len(data):
        return data
    return replace(
        kept, notes={**data.notes, "duplicates": f"{len(data) - len(kept):,} of {len(data):,} documents dropped"}
    )


def _read(source: Source, format: str | None, options: Options) -> Dataset:
    if not source.is_folder and not (source.path is None and source.head and format in (None, "lines")):
        source.check_not_empty(options.encoding)
    elif not source.is_folder and not source.text_head(options.encoding).strip():
        format = "lines"  # empty lines of standard input are empty documents
    name = format or format_of(source, options)
    if name in ("csv", "tsv") and format is not None and options.delimiter is None:
        options = replace(options, delimiter="\t" if name == "tsv" else options.delimiter)
    module: Any = importlib.import_module(f"linnaeus.data.readers.{FORMATS[name]}")
    data: Dataset = module.read(source, options)
    return data


def _only(data: Dataset, split: str) -> Dataset:
    if data.split is None:
        raise DataError(f"{data.source} names no parts, so there is no part {split!r}.")
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
    source = Source(path)
    if not source.is_folder:
        source.check_not_empty()
    return format_of(source, Options())


def _names(given: Names) -> tuple[str, ...]:
    if given is None:
        return ()
    return (str(given),) if isinstance(given, (str, int)) else tuple(map(str, given))


def _one_of(name: str, value: str | None, allowed: Sequence[str | None]) -> str | None:
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return value
