"""Data sets on disk that are used without being read into memory: memory-mapped arrays in .npy files.

    dataset.json                            kind, shape, parts, size and SHA-256 of every file; written last
    data.npy indices.npy indptr.npy         sparse X: CSR, float32, int32, int64          (dense X: X.npy)
    ranked_data.npy ranked_indices.npy      the same entries with features numbered by document frequency, the most
    rank.npy                                frequent first, in this order, for solvers; rank[j] is the new number of j
    label_indices.npy label_indptr.npy      labels of the documents, numbers into label_names.json
    ids.json feature_names.json split.json  if the data has them
    taxonomy.json                           if the data has one

The entries are stored twice, so that training copies nothing and features keep the numbers that other files of the same
data use.
"""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.errors import DataError, LinnaeusError
from linnaeus.files import file_sha256
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Array, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.data.readers.columns import ReadOptions
    from linnaeus.files import InputFile

__all__ = ["FORMAT", "FORMAT_VERSION", "MANIFEST", "MappedCSR", "is_mapped", "read_folder", "read_mapped"]

FORMAT = "linnaeus-data"
FORMAT_VERSION = 1
MANIFEST = "dataset.json"
CHECKED = 100_000_000  # maximum number of entries validated when a folder is opened; models validate their input


class FileEntry(TypedDict):
    """A file in the manifest."""

    bytes: int
    sha256: str


class Manifest(TypedDict):
    """What is used of ``dataset.json``."""

    kind: str
    shape: list[int]
    has: list[str]
    files: dict[str, FileEntry]


class MappedCSR(sparse.csr_array):
    """A CSR matrix whose arrays are in a file.

    ``by_frequency`` is (indices, data, rank): the same entries in the order of the solvers; None if it is not known,
    as for a part of the matrix.
    """

    by_frequency: tuple[IntArray, FloatArray, IntArray] | None = None


def is_mapped(folder: Path) -> bool:
    """Whether the folder contains a converted data set."""
    try:
        return f'"format": "{FORMAT}"' in (folder / MANIFEST).read_text("utf-8", errors="replace")
    except OSError:
        return False


def read_mapped(folder: Path, *, verify: bool = False) -> Dataset:
    """The data set of a folder; ``verify`` reads all files to compare their checksums."""
    try:
        return _read(folder, verify)
    except LinnaeusError:
        raise
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:  # a damaged manifest; other errors are about the disk
            raise
        raise DataError(f"{folder / MANIFEST} is damaged: it contains the name of a file that cannot exist.") from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise DataError(f"{folder} is not a readable data set ({error}); convert the data again.") from error


def _read(folder: Path, verify: bool) -> Dataset:
    manifest = _manifest(folder)
    for name, entry in manifest["files"].items():
        _check_file(folder / Path(name).name, entry, verify)
    lists = {key: _json(folder / f"{key}.json") for key in ("ids", "feature_names", "split") if key in manifest["has"]}
    has_taxonomy = "taxonomy" in manifest["has"]
    return Dataset(
        X=_matrix(folder, manifest),
        labels=_labels(folder) if "labels" in manifest["has"] else None,
        taxonomy=Taxonomy.read(folder / "taxonomy.json") if has_taxonomy else None,
        ids=lists.get("ids"),
        feature_names=lists.get("feature_names"),
        split=lists.get("split"),
        source=str(folder),
    )


def _manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} contains {type(content).__name__}; expected an object.")
    version = content.get("format_version")
    if content.get("format") != FORMAT or not isinstance(version, int):
        raise DataError(f'{path} does not belong to a converted data set: expected "format": "{FORMAT}".')
    if version > FORMAT_VERSION:
        raise DataError(f"{path} has format version {version}; this version of linnaeus reads up to {FORMAT_VERSION}.")
    return Manifest(kind=content["kind"], shape=content["shape"], has=content["has"], files=content["files"])


def _check_file(path: Path, entry: FileEntry, verify: bool) -> None:
    if not path.is_file():
        raise DataError(f"{path} is missing: the data set is incomplete.")
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise DataError(f"{path} has {size:,} bytes; expected {entry['bytes']:,}: it was cut off or altered.")
    if verify and file_sha256(path) != entry["sha256"]:
        raise DataError(f"{path} was altered: its checksum differs from {MANIFEST}.")


def _json(path: Path) -> list[str]:
    values: list[str] = json.loads(path.read_text("utf-8"))
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DataError(f"{path} does not contain a list of strings; convert the data again.")
    return values


def mapped_array(path: Path) -> Array:
    """The array of a file as a read-only array that is mapped to the file."""
    if not path.stat().st_size:
        return np.zeros(0)
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception as error:  # damaged headers raise various errors
        raise DataError(f"{path} is not a readable array ({error}); convert the data again.") from error


def _matrix(folder: Path, manifest: Manifest) -> Matrix:
    shape = tuple(manifest["shape"])
    if manifest["kind"] == "dense":
        X = mapped_array(folder / "X.npy")
        if X.ndim != 2 or X.dtype.kind != "f":
            raise DataError(f"{folder / 'X.npy'} is {X.dtype} of shape {X.shape}; expected a matrix of floats.")
        return X
    names = ("data", "indices", "indptr", "ranked_indices", "ranked_data", "rank")
    data, indices, indptr, *ranked = (mapped_array(folder / f"{name}.npy") for name in names)
    kinds = [(array.ndim, array.dtype.kind) for array in (data, indices, indptr, *ranked)]
    fits = kinds == [(1, "f"), (1, "i"), (1, "i"), (1, "i"), (1, "f"), (1, "i")] or not len(data)
    fits = fits and len(shape) == 2 and len(indptr) == shape[0] + 1 and int(indptr[-1]) == len(data) == len(indices)
    fits = fits and int(indptr[0]) == 0 and bool((indptr[1:] >= indptr[:-1]).all())
    fits = fits and len(ranked[0]) == len(ranked[1]) == len(data) and len(ranked[2]) == shape[1]
    if not fits:
        raise DataError(f"{folder}: the arrays do not fit each other; convert the data again.")
    for numbers, n in ((indices, shape[1]), (ranked[0], shape[1]), (ranked[2], shape[1])):
        if 0 < len(numbers) <= CHECKED and not (0 <= int(numbers.min()) and int(numbers.max()) < n):
            raise DataError(f"{folder}: a feature is outside 0..{n - 1}; convert the data again.")
    if len(data) < 2**31:  # scipy expects one dtype for both; indptr is the smaller array
        indptr = indptr.astype(np.int32)
    X = MappedCSR((data, indices, indptr), shape=shape)
    X.has_canonical_format = True  # as written, so scipy does not check, and does not sort a read-only file
    X.by_frequency = ranked[0], ranked[1], ranked[2]
    return X


def _labels(folder: Path) -> list[list[str]]:
    names = _json(folder / "label_names.json")
    numbers = mapped_array(folder / "label_indices.npy").tolist()
    ends = mapped_array(folder / "label_indptr.npy").tolist()
    if ends[:1] != [0] or ends[-1] != len(numbers) or sorted(ends) != ends or min(numbers, default=0) < 0:
        raise DataError(f"{folder}: the labels do not fit each other; convert the data again.")
    return [[names[v] for v in numbers[a:b]] for a, b in pairwise(ends)]


def read_folder(source: InputFile, options: ReadOptions) -> Dataset:
    """Open the folder; a given taxonomy replaces the one in the folder."""
    if not source.is_folder or source.path is None:
        raise DataError(f"{source.name} is a file; expected the folder of a converted data set.")
    data = read_mapped(source.path)
    if options.n_features is not None and data.X is not None and options.n_features != data.X.shape[1]:
        raise DataError(f"{source.name} has {data.X.shape[1]:,} features; n_features={options.n_features:,} was given.")
    if options.taxonomy is not None:
        data = replace(data, taxonomy=options.taxonomy)
    return data if options.limit is None else data.take(range(min(options.limit, len(data))))
