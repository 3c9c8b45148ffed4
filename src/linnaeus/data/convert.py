"""Convert any data set to a folder of memory-mapped arrays (see `mapped`).

Sparse vectors as text (libsvm, XMC, LSHTC) are converted in batches: memory is needed for one batch, the names of the
labels and one number per document, whatever the size of the file. Other formats are first read completely.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.data.mapped import FORMAT, FORMAT_VERSION, MANIFEST, is_mapped, mapped_array, read_mapped
from linnaeus.data.readers import format_of, read_dataset
from linnaeus.data.readers.columns import ReadOptions
from linnaeus.errors import DataError
from linnaeus.files import InputFile, file_sha256, naming, replace_file
from linnaeus.taxonomy.closure import canonical, pointers
from linnaeus.typing import IntArray, Matrix

__all__ = ["MappedWriter", "check_output", "convert", "write_mapped"]

BATCH = 1_000_000  # entries kept in memory at a time
_STREAMED = ("libsvm", "xmc", "lshtc")


def convert(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    format: str | None = None,
    **options: Any,
) -> Dataset:
    """Write a data set into a folder of memory-mapped arrays.

    Parameters
    ----------
    paths : str, path-like or sequence of these
        Files of the data set, see `read_dataset`.
    output : str or path-like
        The folder.
    format : str, default=None
        Format of the files; recognised by default.
    **options : object
        Further options of `read_dataset`.

    Returns
    -------
    Dataset
        The data set of the folder, with X memory-mapped.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.txt").write_text("3,5 0:0.5 7:1\\n5 2:1\\n")
    >>> data = convert(folder / "docs.txt", folder / "converted")
    >>> data.X.shape, data.labels
    ((2, 8), [['3', '5'], ['5']])
    """
    several = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    source = InputFile(several[0])
    streamed = set(options) <= {"n_features", "encoding", "taxonomy"} and len(several) == 1 and not source.is_folder
    if streamed:
        source.check_not_empty(options.get("encoding"))
        if (format or format_of(source, ReadOptions(encoding=options.get("encoding")))) in _STREAMED:
            return _stream(source, ReadOptions(**options), Path(output))
    return write_mapped(read_dataset(several, format, **options), output)


def write_mapped(data: Dataset, output: str | PathLike[str]) -> Dataset:
    """Write a data set of vectors into a folder, and open the folder."""
    if data.X is None:
        raise DataError(
            f"{data.source or 'The data set'} contains {data.kind} documents, not vectors; write them with "
            "`linnaeus.features.vectorise.vectorise`, or give `linnaeus data convert` a file, which it can read twice."
        )
    writer = MappedWriter(Path(output))
    if data.kind == "dense":
        X = np.asarray(data.X)
        np.save(writer.folder / "X.npy", X if X.dtype == np.float32 else X.astype(np.float64))
        writer.add_labels(data.labels)
    else:
        X = sparse.csr_array(data.X)
        labels = data.labels
        for part in _row_blocks(X.indptr):
            writer.add_rows(X[part], None if labels is None else labels[part])
    writer.finish(data, data.X.shape)
    return read_mapped(Path(output))


def _stream(source: InputFile, options: ReadOptions, output: Path) -> Dataset:
    from linnaeus.data.readers.svmlight import batches

    writer = MappedWriter(output)
    width, n_docs = 0, 0
    for X, labels in batches(source, options, BATCH):
        writer.add_rows(X, labels)
        width, n_docs = max(width, X.shape[1]), n_docs + X.shape[0]
    writer.finish(Dataset(X=np.zeros((n_docs, 0)), source=source.name), (n_docs, width))
    return read_mapped(output)


def check_output(folder: str | PathLike[str]) -> None:
    """Raise an error unless a folder is new, empty or a converted data set; called before long work starts."""
    folder = Path(folder)
    if folder.is_file():
        raise DataError(f"{folder} is a file; expected a folder.")
    if folder.is_dir() and not is_mapped(folder) and any(folder.iterdir()):
        raise DataError(f"{folder} is not empty and not a converted data set; choose another folder.")


class _Array:
    """A one-dimensional .npy file that grows; its header is written again at the end, with the length."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.dtype, self.length = np.dtype(dtype), 0
        self.file = open(path, "wb")  # noqa: SIM115 - stays open for many batches
        self._head()

    def _head(self) -> None:
        head = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self.file, head)  # padded, so that any length has the same size

    def append(self, values: npt.ArrayLike) -> None:
        array = np.ascontiguousarray(values, self.dtype)
        with naming(self.file.name):
            self.file.write(array.data)
        self.length += len(array)

    def close(self) -> None:
        self.file.seek(0)
        self._head()
        self.file.close()


class _Strings:
    """A JSON list of strings that grows."""

    def __init__(self, path: Path) -> None:
        self.file = open(path, "w", encoding="utf-8")  # noqa: SIM115 - it stays open for many batches
        self.before = "["

    def append(self, values: list[str]) -> None:
        with naming(self.file.name):
            for value in values:
                self.file.write(self.before + json.dumps(value, ensure_ascii=False))
                self.before = ", "

    def close(self) -> None:
        self.file.write("]" if self.before == ", " else "[]")
        self.file.close()


class MappedWriter:
    """The folder while it is being written; ``dataset.json`` is written last."""

    def __init__(self, folder: Path) -> None:
        check_output(folder)
        self.target, self.folder = folder, folder.with_name(f".{folder.name}.part")
        self.before = folder.with_name(f".{folder.name}.before")
        if self.before.exists() and not folder.exists():  # the process was killed between the two renames of `finish`
            self.before.rename(folder)
        for left in (self.folder, self.before):
            shutil.rmtree(left, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.arrays: dict[str, _Array] = {}
        self.number_of: dict[str, int] = {}
        self.ends = {"indptr": 0, "label_indptr": 0}
        self.frequency = np.zeros(0, np.int64)
        self.labelled = False
        self.strings: dict[str, _Strings] = {}

    def _append(self, name: str, dtype: npt.DTypeLike, values: npt.ArrayLike) -> None:
        if name not in self.arrays:
            self.arrays[name] = _Array(self.folder / f"{name}.npy", dtype)
        self.arrays[name].append(values)

    def _append_ends(self, name: str, ends: IntArray) -> None:
        if name not in self.arrays:
            self._append(name, np.int64, [0])
        self._append(name, np.int64, np.asarray(ends)[1:] + self.ends[name])
        self.ends[name] += int(ends[-1])

    def add_rows(self, X: Matrix, labels: list[list[str]] | None) -> None:
        rows = canonical(sparse.csr_array(X))
        self._append("data", np.float32, rows.data)
        self._append("indices", np.int32, rows.indices)
        self._append_ends("indptr", rows.indptr)
        counts = np.bincount(rows.indices, minlength=len(self.frequency))
        counts[: len(self.frequency)] += self.frequency
        self.frequency = counts
        self.add_labels(labels)

    def add_labels(self, labels: list[list[str]] | None) -> None:
        if labels is None:
            return
        self.labelled = True
        number_of = self.number_of
        numbers = [number_of.setdefault(label, len(number_of)) for row in labels for label in row]
        self._append("label_indices", np.int32, numbers)
        self._append_ends("label_indptr", pointers(list(map(len, labels))))

    def add_strings(self, name: str, values: list[str] | None) -> None:
        """Append to the ids or parts of the documents, if they have any."""
        if values is None:
            return
        if name not in self.strings:
            self.strings[name] = _Strings(self.folder / f"{name}.json")
        self.strings[name].append(values)

    def _open(self) -> list[_Array | _Strings]:
        return [*self.arrays.values(), *self.strings.values()]

    def discard(self) -> None:
        """Remove what was written; the folder that was there before stays."""
        for one in self._open():
            one.file.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def finish(self, data: Dataset, shape: tuple[int, int], feature_names: list[str] | None = None) -> None:
        """Write what is known only at the end, then rename the folder."""
        for one in self._open():
            one.close()
        kind = "sparse" if "data" in self.arrays else "dense"
        if kind == "sparse":
            self._rank(shape)
        has = list(self.strings)
        if self.labelled:
            has.append("labels")
            self._write_json("label_names", list(self.number_of))
        lists = {"ids": data.ids, "feature_names": feature_names or data.feature_names, "split": data.split}
        for name, values in lists.items():
            if values is not None:
                has.append(name)
                self._write_json(name, values)
        if data.taxonomy is not None:
            has.append("taxonomy")
            data.taxonomy.write(self.folder / "taxonomy.json")
        files = {
            path.name: {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
            for path in sorted(self.folder.iterdir())
        }
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "kind": kind,
            "shape": [int(n) for n in shape],
            "n_entries": self.ends["indptr"] if kind == "sparse" else int(np.prod(shape)),
            "has": has,
            "source": data.source,
            "files": files,
        }
        replace_file(self.folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode())
        if self.target.exists():
            self.target.rename(self.before)
        self.folder.rename(self.target)
        shutil.rmtree(self.before, ignore_errors=True)

    def _write_json(self, name: str, values: list[str]) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(values, ensure_ascii=False), "utf-8")

    def _rank(self, shape: tuple[int, int]) -> None:
        """The same rows with features numbered by frequency, as `prepare_rows` would compute them in memory."""
        frequency = np.zeros(shape[1], np.int64)
        frequency[: len(self.frequency)] = self.frequency
        rank = np.empty(shape[1], np.int32)
        rank[np.argsort(-frequency, kind="stable")] = np.arange(shape[1], dtype=np.int32)
        np.save(self.folder / "rank.npy", rank)
        arrays = [
            _Array(self.folder / f"ranked_{name}.npy", kind) for name, kind in (("data", "f4"), ("indices", "i4"))
        ]
        indptr = mapped_array(self.folder / "indptr.npy")
        with _reading(self.folder / "data.npy") as data, _reading(self.folder / "indices.npy") as indices:
            for part in _row_blocks(indptr):
                ends = indptr[part.start : part.stop + 1]
                n_entries = int(ends[-1] - ends[0])
                rows = sparse.csr_array(
                    (np.fromfile(data, "f4", n_entries), rank[np.fromfile(indices, "i4", n_entries)], ends - ends[0]),
                    shape=(len(ends) - 1, shape[1]),
                )
                rows.sort_indices()
                arrays[0].append(rows.data)
                arrays[1].append(rows.indices)
        for array in arrays:
            array.close()


def _reading(path: Path) -> BinaryIO:
    """An array file at its first entry: reading it in order needs less memory than mapping all of it."""
    file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    np.lib.format.read_magic(file)
    np.lib.format.read_array_header_1_0(file)
    return file


def _row_blocks(indptr: IntArray) -> Iterator[slice]:
    """Consecutive rows with at most `BATCH` entries together; a longer row is a block of its own."""
    n_docs, start = len(indptr) - 1, 0
    while start < n_docs:
        stop = int(np.searchsorted(indptr, indptr[start] + BATCH, side="right")) - 1
        stop = min(max(stop, start + 1), n_docs, start + BATCH)
        yield slice(start, stop)
        start = stop
