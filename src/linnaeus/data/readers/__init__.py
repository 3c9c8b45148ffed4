"""Read documents and labels from files; the format is recognised from the content unless it is given."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from linnaeus.data.dataset import Dataset, concatenate
from linnaeus.data.readers.recognition import FORMATS, format_of
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError, ParameterError, nearest
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
) -> Dataset:
    """Read one data set from one or several files.

    Parameters
    ----------
    paths : a file (compressed with gzip, xz or bzip2, or not), a folder, ``-`` for standard input, or a list of them.
    format : one of `FORMATS`; recognised from the content by default.
    taxonomy : helps to tell labels apart (which separator, id or name) and is kept with the data.
    text, labels, id, sequence, categorical : columns or keys to use; usual names are recognised. Columns of a file
        without header are numbered from 0. In FASTA ``labels`` is the mark before the labels in a header line.
    header : whether a delimited file begins with column names; recognised by default.
    delimiter : of a delimited file.
    label_separator : between the labels of a cell; one of ``; | ,`` is recognised.
    label_part : of labels that are lists or records: "id", "name", "last" or "path".
    headers : "strip" the header lines of e-mails and news posts, or "keep" them.
    n_features : width of a sparse matrix whose file does not say it.
    split : keep only this part of the documents, where the file names parts.
    encoding : UTF-8 by default.
    limit : read at most this many documents of each file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "docs.csv")
    >>> _ = path.write_text("text,labels\\na late goal,Sports;Football\\n")
    >>> read_dataset(path).labels
    [['Sports', 'Football']]
    """
    options = Options(
        taxonomy=taxonomy,
        text=_names(text),
        labels=_names(labels),
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
    )
    if format is not None and format not in FORMATS:
        raise ParameterError(f"Format {format!r} is not one of {', '.join(FORMATS)}{nearest(format, FORMATS)}")
    several = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    data = concatenate([_read(Source(path), format, options) for path in several])
    return data if split is None else _only(data, split)


def _read(source: Source, format: str | None, options: Options) -> Dataset:
    if not source.is_folder:
        source.check_not_empty(options.encoding)
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
