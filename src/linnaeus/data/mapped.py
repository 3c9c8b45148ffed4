"""Data sets on disk that are used without being read: arrays in .npy files, opened memory-mapped.

    dataset.json                            kind, shape, what there is, size and SHA-256 of every file; written last
    data.npy indices.npy indptr.npy         sparse X: CSR, float32, int32, int64          (dense X: X.npy)
    ranked_data.npy ranked_indices.npy      the same entries with features numbered by document frequency, the most
    rank.npy                                frequent first, in this order, as solvers want; rank[j] is j's new number
    label_indices.npy label_indptr.npy      labels of the documents, numbers into label_names.json
    ids.json feature_names.json split.json  where the data has them
    taxonomy.json                           where the data carries one

The entries lie there twice, so that training copies nothing and features keep the numbers that other files of the same
data use.
"""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy

__all__ = ["FORMAT", "FORMAT_VERSION", "MANIFEST", "MappedCSR", "is_mapped", "read_mapped"]

FORMAT = "linnaeus-data"
FORMAT_VERSION = 1
MANIFEST = "dataset.json"


class MappedCSR(sparse.csr_array):
    """A CSR matrix whose arrays lie in a file.

    ``by_frequency`` is (indices, data, rank): the same entries in the order of the solvers; None where it is not known,
    as in a part of the matrix.
    """

    by_frequency: tuple[Any, Any, Any] | None = None


def is_mapped(folder: Path) -> bool:
    """Whether the folder holds a converted data set."""
    try:
        return f'"format": "{FORMAT}"' in (folder / MANIFEST).read_text("utf-8", errors="replace")
    except OSError:
        return False


def read_mapped(folder: Path, *, verify: bool = False) -> Dataset:
    """The data set of a folder; ``verify`` reads all files once to compare their checksums."""
    manifest = _manifest(folder)
    for name, entry in manifest["files"].items():
        _check_file(folder / Path(name).name, entry, verify)
    lists: dict[str, Any] = {
        key: _json(folder / f"{key}.json") for key in ("ids", "feature_names", "split") if key in manifest["has"]
    }
    has_taxonomy = "taxonomy" in manifest["has"]
    return Dataset(
        X=_matrix(folder, manifest),
        labels=_labels(folder) if "labels" in manifest["has"] else None,
        taxonomy=Taxonomy.read(folder / "taxonomy.json") if has_taxonomy else None,
        source=str(folder),
        **lists,
    )


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    version = manifest.get("format_version")
    if manifest.get("format") != FORMAT or not isinstance(version, int):
        raise DataError(f'{path} is not of a converted data set: expected "format": "{FORMAT}".')
    if version > FORMAT_VERSION:
        raise DataError(f"{path} has format version {version}; this linnaeus reads up to {FORMAT_VERSION}.")
    return manifest


def _check_file(path: Path, entry: dict[str, Any], verify: bool) -> None:
    if not path.is_file():
        raise DataError(f"{path} is missing: the data set is incomplete.")
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise DataError(f"{path} has {size:,} bytes; expected {entry['bytes']:,}: it was cut off or altered.")
    if verify and checksum(path) != entry["sha256"]:
        raise DataError(f"{path} was altered: its checksum differs from {MANIFEST}.")


def checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(path: Path) -> list[str]:
    values: list[str] = json.loads(path.read_text("utf-8"))
    return values


def mapped_array(path: Path) -> Any:
    """An array of a file as a plain array over the mapped file, read-only."""
    array = np.load(path, mmap_mode="r") if path.stat().st_size else np.zeros(0)
    return np.asarray(array)


def _matrix(folder: Path, manifest: dict[str, Any]) -> Any:
    shape = tuple(manifest["shape"])
    if manifest["kind"] == "dense":
        return mapped_array(folder / "X.npy")
    names = ("data", "indices", "indptr", "ranked_indices", "ranked_data", "rank")
    data, indices, indptr, *ranked = (mapped_array(folder / f"{name}.npy") for name in names)
    if len(indptr) != shape[0] + 1 or int(indptr[-1]) != len(data) or len(indices) != len(data):
        raise DataError(f"{folder}: the arrays do not fit each other; convert the data again.")
    if len(data) < 2**31:  # scipy wants one type for both: better the ends of the rows converted than the indices
        indptr = indptr.astype(np.int32)
    X = MappedCSR((data, indices, indptr), shape=shape)
    X.has_canonical_format = True  # as written: scipy need not look, nor sort in a file that is read-only
    X.by_frequency = ranked[0], ranked[1], ranked[2]
    return X


def _labels(folder: Path) -> list[list[str]]:
    names = _json(folder / "label_names.json")
    numbers = mapped_array(folder / "label_indices.npy").tolist()
    ends = mapped_array(folder / "label_indptr.npy").tolist()
    return [[names[v] for v in numbers[a:b]] for a, b in pairwise(ends)]
