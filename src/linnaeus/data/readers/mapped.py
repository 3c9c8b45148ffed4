"""Folders that `linnaeus data convert` has written: X stays on disk, memory-mapped."""

from __future__ import annotations

from dataclasses import replace

from linnaeus.data.dataset import Dataset
from linnaeus.data.mapped import read_mapped
from linnaeus.data.readers.source import Options, Source
from linnaeus.errors import DataError

__all__ = ["read"]


def read(source: Source, options: Options) -> Dataset:
    """Open the folder; a taxonomy that is given takes the place of the one that the folder may carry."""
    if not source.is_folder or source.path is None:
        raise DataError(f"{source.name} is a file; a converted data set is a folder.")
    data = read_mapped(source.path)
    if options.n_features is not None and data.X is not None and options.n_features != data.X.shape[1]:
        raise DataError(f"{source.name} has {data.X.shape[1]:,} features; {options.n_features:,} were asked for.")
    if options.taxonomy is not None:
        data = replace(data, taxonomy=options.taxonomy)
    return data if options.limit is None else data.take(range(min(options.limit, len(data))))
