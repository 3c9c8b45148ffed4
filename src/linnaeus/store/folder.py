"""Model files: a folder with a JSON manifest and arrays in the safetensors format. Loading executes nothing.

    manifest.json                what the model is, its parameters and values, the files it consists of with checksums
    arrays-<hash>.safetensors    all arrays; opened memory-mapped

The manifest is the model: it is written last and replaced in one step, and it names files that are never changed.
A kill at any moment leaves the old model or the new one.

A loaded model is validated (`rules`).

Fitted objects become plain values and arrays, and back. Plain values stay JSON. Everything else is an object with one
key that begins with "$":

    {"$array": key}                      a numeric array in the arrays file
    {"$strings": [...]}                  an array of strings
    {"$sparse": key, "shape": [m, n]}    a CSR array: key.data, key.indices, key.indptr; narrowed by `pack`
    {"$taxonomy": key, ...}              a taxonomy: key.names (UTF-8), key.indptr, key.indices, key.texts.* (zlib)
    {"$object": name, ...}               an object of a class that `registry` names

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON: type, shape and place of
every array), and the arrays one after the other without gaps. Wide types come first, so that every array is aligned. A
memory-mapped array is copied to it piece by piece, without ever being whole in memory.

Sparse matrices are written in as few bytes as lose nothing (`pack`):

    indptr       row lengths in 8, 16 or 32 bits
    indices      16 bits where there are at most 65,536 columns
    data         half precision where all values have it (`prune` of linear models rounds to it)

Very large matrices are kept as they are, so that a loaded model maps them from the file instead of reading them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from linnaeus import __version__, registry
from linnaeus.errors import LinnaeusError, StoreError, nearest, warn_user
from linnaeus.files import file_sha256, naming, replace_file
from linnaeus.models.checkpoint import RUN_ONLY
from linnaeus.models.classifier import Classifier
from linnaeus.pipeline import Pipeline
from linnaeus.store.rules import check_model, check_taxonomy, is_strings
from linnaeus.store.tables import LARGE
from linnaeus.taxonomy import Deprecated, Taxonomy
from linnaeus.taxonomy.texts import Texts
from linnaeus.typing import CSR, Array, IntArray

__all__ = [
    "DAMAGED",
    "FORMAT_VERSION",
    "check_target",
    "decode",
    "encode",
    "load",
    "map_arrays",
    "pack",
    "read_manifest",
    "save",
    "unpack",
    "write_arrays",
]

FORMAT = "linnaeus-model"
FORMAT_VERSION = 3  # 2: sparse matrices are narrowed (`pack`); 3: subtrees may share weights
MANIFEST = "manifest.json"
# Array files, and the temporary files of ours and of the safetensors library that a kill may leave behind.
_OURS = re.compile(r"arrays-[0-9a-f]{16}\.safetensors|\.[^/]*\.part|\.tmp\w{6}")


def save(model: Classifier, folder: str | PathLike[str]) -> None:
    """Save a fitted model; an existing model in ``folder`` is replaced in one step.

    Parameters
    ----------
    model : TaxonomyClassifier or Pipeline
        A fitted model.
    folder : str or path
        The folder of the model.

    Examples
    --------
    >>> import tempfile, linnaeus
    >>> model = linnaeus.OneVsRestSVM(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     linnaeus.save(model, folder)
    ...     linnaeus.load(folder).predict([[0.0, 2.0]]).tolist()
    ['a']
    """
    folder = Path(folder)
    check_target(folder)
    model = getattr(model, "pipeline_", model)  # what an AutoClassifier has chosen
    if type(model).__name__ not in (*registry.ALL_MODELS, "Mixture") and not isinstance(model, Pipeline):
        given = f"{type(model).__module__}.{type(model).__name__}"
        raise StoreError(f"A {given} is not a linnaeus model or Pipeline and cannot be saved as one.")
    arrays: dict[str, Array] = {}
    content = encode(model, arrays)
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _one_writer(folder):
            _write(folder, model, content, arrays)
    except BaseException:
        if new:
            with contextlib.suppress(OSError):  # another writer may have used it meanwhile
                folder.rmdir()
        raise


def _write(folder: Path, model: Classifier, content: object, arrays: dict[str, Array]) -> None:
    _tidy(folder, _named_files(folder))  # free the space of files that a killed writer left
    name, entry = _write_arrays(folder, arrays)
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "linnaeus": __version__,
        "model": content,
        "taxonomy": _fingerprint(model),
        "files": {name: entry},
    }
    manifest["checksum"] = _checksum(manifest)
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False)
    replace_file(folder / MANIFEST, text.encode())
    _tidy(folder, {name})


def _tidy(folder: Path, used: set[str]) -> None:
    """Delete the files of earlier saves, finished or killed."""
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in used:
            path.unlink(missing_ok=True)


def _named_files(folder: Path) -> set[str]:
    """The array files of the model that is there."""
    try:
        return set(json.loads((folder / MANIFEST).read_text("utf-8"))["files"])
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # damaged: the names are not known
        return {path.name for path in folder.glob("arrays-*")}


@contextlib.contextmanager
def _one_writer(folder: Path) -> Iterator[None]:
    """Allow one writer of a folder at a time, so that the last model is complete; a killed one releases the lock."""
    try:
        import fcntl
    except ImportError:  # Windows: the user has to avoid simultaneous writers
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def load(folder: str | PathLike[str], *, verify: bool | None = None) -> Any:
    """Load a model; arrays are memory-mapped.

    The structure of the model is always checked: types, shapes, indices, and how they fit each other.

    Parameters
    ----------
    folder : str or path
        The folder of the model.
    verify : bool, default=None
        Whether to read all files to compare their checksums, and to look for NaN and infinity in arrays above 1 GB.
        None verifies models below 1 GB.

    Returns
    -------
    TaxonomyClassifier or Pipeline
        The model that was saved.

    Examples
    --------
    >>> import os, tempfile
    >>> from linnaeus import OneVsRestSVM, save
    >>> folder = os.path.join(tempfile.mkdtemp(), "model")
    >>> save(OneVsRestSVM(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]), folder)
    >>> load(folder).predict([[0.0, 1.0]]).tolist()
    ['a']
    """
    folder = Path(folder)
    while True:
        manifest = read_manifest(folder)
        try:
            return _load(folder, manifest, verify)
        except (StoreError, FileNotFoundError):
            if read_manifest(folder) == manifest:
                raise  # else another process has replaced the model meanwhile


def _load(folder: Path, manifest: dict[str, Any], verify: bool | None) -> Any:
    arrays: dict[str, Array] = {}
    try:
        files = {folder / Path(name).name: entry for name, entry in manifest["files"].items()}  # of this folder only
        checked = sum(entry["bytes"] for entry in files.values()) < LARGE if verify is None else verify
        for path, entry in files.items():
            _check_file(path, entry["bytes"], entry["sha256"], checked)
            arrays.update(map_arrays(path))
        model = decode(manifest["model"], arrays)
        check_model(model, deep=verify is True)
        fingerprint = manifest["taxonomy"]
    except LinnaeusError as error:
        known = str(error).startswith(str(folder))
        raise StoreError(str(error) if known else f"{folder / MANIFEST}: {str(error).rstrip('.')}.") from error
    except DAMAGED as error:
        raise StoreError(f"{folder / MANIFEST}: the manifest does not fit its arrays ({error!r}).") from error
    if fingerprint is not None and _fingerprint(model) != fingerprint:
        raise StoreError(f"{folder}: the taxonomy is not the one the model was trained on (its fingerprint differs).")
    return model


def read_manifest(folder: str | PathLike[str]) -> dict[str, Any]:
    """The manifest of a model folder, checked for format and version.

    Parameters
    ----------
    folder : str or path
        The folder of the model.

    Returns
    -------
    dict
        The manifest.

    Examples
    --------
    >>> read_manifest("missing")
    Traceback (most recent call last):
    linnaeus.errors.StoreError: missing is not a model: no such folder.
    """
    path = Path(folder) / MANIFEST
    if Path(folder).is_file():
        raise StoreError(f"{folder} is a file, not a model; expected a model folder.")
    if not Path(folder).is_dir():
        raise StoreError(f"{folder} is not a model: no such folder.")
    if not path.is_file():
        raise StoreError(f"{folder} is not a model: it has no {MANIFEST}.")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StoreError(f'{path} is not of a linnaeus model: expected "format": "{FORMAT}".')
    version = manifest.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION or version is True:
        raise StoreError(
            f"{path} has format version {version}; this linnaeus ({__version__}) reads up to {FORMAT_VERSION}."
        )
    try:
        checksum = _checksum(manifest)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: {error}.") from error
    if manifest.get("checksum") != checksum:
        raise StoreError(f"{path} was altered: its checksum differs from its content.")
    return manifest


def _fingerprint(model: Classifier) -> str | None:
    taxonomy: Taxonomy | None = getattr(model, "taxonomy_", None)
    return None if taxonomy is None else taxonomy.fingerprint


def check_target(folder: str | PathLike[str]) -> None:
    """Raise an error unless a folder is new, empty or a model; called before long work starts.

    Parameters
    ----------
    folder : str or path
        The folder of the model.

    Examples
    --------
    >>> import tempfile
    >>> check_target(tempfile.mkdtemp())
    """
    folder = Path(folder)
    if folder.is_file():
        raise StoreError(f"{folder} is a file; a model is saved as a folder.")
    if not os.access(_nearest_existing(folder), os.W_OK):
        raise StoreError(f"{folder} cannot be written: no permission.")
    if folder.is_dir() and not _is_model(folder):
        foreign = [path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name)]
        if foreign:
            raise StoreError(f"{folder} is not empty and not a model (it holds {foreign[0]!r}); choose another folder.")


def _nearest_existing(path: Path) -> Path:
    path = path.absolute()
    return path if path.exists() else _nearest_existing(path.parent)


def _is_model(folder: Path) -> bool:
    """Whether the folder contains a linnaeus model, damaged or not; other programs also write a manifest.json."""
    try:
        return f'"format": "{FORMAT}"' in (folder / MANIFEST).read_text("utf-8", errors="replace")
    except OSError:
        return False


def _checksum(manifest: Mapping[str, object]) -> str:
    """SHA-256 of the content of the manifest, to detect edits."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _write_arrays(folder: Path, arrays: dict[str, Array]) -> tuple[str, dict[str, int | str]]:
    """Write all arrays into a file named after its content."""
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        with naming(folder):
            digest, size = write_arrays(part, arrays)  # on disk before the manifest names it
        name = f"arrays-{digest[:16]}.safetensors"
        os.replace(part, folder / name)
    finally:
        part.unlink(missing_ok=True)
    return name, {"bytes": size, "sha256": digest}


def _check_file(path: Path, n_bytes: int, sha256: str, verify: bool) -> None:
    if not path.is_file():
        raise StoreError(f"{path} is missing: the model is incomplete.")
    size = path.stat().st_size
    if size != n_bytes:
        raise StoreError(f"{path} has {size:,} bytes; expected {n_bytes:,}: it was truncated or altered.")
    if verify and file_sha256(path) != sha256:
        raise StoreError(f"{path} was altered: its checksum differs from the manifest.")


# What Python and NumPy raise where values are not what they should be.
DAMAGED = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    ArithmeticError,
    StopIteration,
    RecursionError,
    MemoryError,
)
MAX_PACKED = 2**27  # entries; a gigabyte after unpacking
# Names of types in the header -> numpy's.
DTYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2",
    "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
    "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}
_PIECE = 16 * 2**20


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> tuple[str, int]:
    """Write arrays to a new file, to the disk; returns the file's SHA-256 and its size.

    Examples
    --------
    >>> import tempfile
    >>> from safetensors.numpy import load_file
    >>> path = Path(tempfile.mkdtemp(), "arrays.safetensors")
    >>> digest, size = write_arrays(path, {"weights": np.arange(3.0), "nodes": np.array([1, 2], np.int32)})
    >>> load_file(path)["weights"].tolist(), size == path.stat().st_size
    ([0.0, 1.0, 2.0], True)
    """
    state, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for piece in _content(arrays):
            file.write(piece)
            state.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return state.hexdigest(), size


def _content(arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    header: dict[str, dict[str, object]] = {}
    offset = 0
    ordered = sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key))
    for key in ordered:
        array = arrays[key]
        kind = _NAMES.get(array.dtype.newbyteorder("="))
        if kind is None:
            raise StoreError(f"An array of type {array.dtype} cannot be saved (as {key!r}).")
        header[key] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for key in ordered:
        yield from _pieces(arrays[key])


def _pieces(array: Array) -> Iterator[bytes | memoryview]:
    """The bytes of an array in C order, little-endian, some rows at a time."""
    array = np.atleast_1d(array)
    row = max(1, array.nbytes // max(1, len(array)))
    rows = max(1, _PIECE // row)
    for a in range(0, len(array), rows):
        piece = np.ascontiguousarray(array[a : a + rows])
        if piece.nbytes:
            yield piece.astype(piece.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def map_arrays(path: Path) -> dict[str, Array]:
    """Arrays of a safetensors file as read-only views of the mapped file: length (8 bytes), JSON header, data."""
    try:
        mapped = np.memmap(path, dtype=np.uint8, mode="r")
        start = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
        if start > len(mapped):
            raise ValueError("the header is longer than the file")
        header = json.loads(mapped[8:start].tobytes())
        return {key: _mapped(mapped[start:], entry) for key, entry in header.items() if key != "__metadata__"}
    except DAMAGED as error:
        raise StoreError(f"{path} is not a safetensors file written by linnaeus: {error}.") from error


class ArrayEntry(TypedDict):
    """An array in the header of a safetensors file."""

    dtype: str
    shape: list[int]
    data_offsets: list[int]


def _mapped(content: Array, entry: ArrayEntry) -> Array:
    """One array of the file at the place in its header; aligned, as kernels expect it."""
    dtype, shape, (start, stop) = np.dtype(DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    sizes = [*shape, start, stop]
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
        raise ValueError(f"shape {shape} and place {start, stop} are not integers")
    if not start <= stop <= len(content) or stop - start != dtype.itemsize * math.prod(shape):
        raise ValueError(f"an array of shape {shape} does not lie at {start} .. {stop}")
    if dtype.kind == "b" and stop > start and int(content[start:stop].max()) > 1:
        raise ValueError("truth values are not 0 or 1")
    array = np.frombuffer(content[start:stop], dtype).reshape(shape)
    return array if array.flags.aligned else array.copy()


def pack(matrix: CSR) -> dict[str, Array]:
    """The arrays of a CSR matrix, narrow.

    Examples
    --------
    >>> from scipy import sparse
    >>> {name: array.dtype.name for name, array in pack(sparse.csr_array(np.eye(2, dtype=np.float32))).items()}
    {'data': 'float16', 'indices': 'uint16', 'lengths': 'uint8'}
    """
    if matrix.nnz > MAX_PACKED:
        return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    lengths, indices = np.diff(matrix.indptr), matrix.indices
    indices = indices.astype(np.uint16 if matrix.shape[1] <= 2**16 else np.int32)
    return {"data": _half(matrix.data), "indices": indices, "lengths": lengths.astype(_narrowest(lengths))}


def unpack(arrays: Mapping[str, Array], dtype: str | None, shape: tuple[int, int]) -> CSR:
    """The inverse of `pack`; matrices of the first format have no ``dtype``, theirs is that of the data."""
    from scipy import sparse

    indices, data = arrays["indices"], arrays["data"]
    data = data if dtype is None else data.astype(dtype, copy=False)
    if indices.dtype == np.uint16:
        indices = indices.astype(np.int32)
    indptr = arrays.get("indptr")
    if indptr is None:
        indptr = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)]).astype(np.int32)
    if indices.dtype not in (np.int32, np.int64) or indptr.dtype.kind not in "iu" or data.ndim != 1:
        raise ValueError(f"a sparse array has {indices.dtype} indices and {indptr.dtype} row ends")
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)  # rows end in order, columns exist
    return matrix


def _narrowest(lengths: IntArray) -> type[np.uint8] | type[np.uint16] | type[np.int32]:
    longest = lengths.max(initial=0)
    return np.uint8 if longest < 2**8 else np.uint16 if longest < 2**16 else np.int32


def _half(data: Array) -> Array:
    """The data in half precision, if this is exact."""
    if data.dtype not in (np.float32, np.float64):
        return data
    with np.errstate(over="ignore"):
        half = data.astype(np.float16)
    exact = np.array_equal(half.astype(data.dtype), data)
    return half if exact else data


# Parameters of the computation, not of the model: they may be objects and are not stored.
_RUN_ONLY = RUN_ONLY | {"random_state"}


def encode(value: object, arrays: dict[str, Array], key: str = "model") -> object:
    """``value`` as JSON; arrays go into ``arrays`` under names that begin with ``key``."""
    from scipy import sparse

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OUS":
            return {"$strings": [str(v) for v in value.ravel()], "shape": list(value.shape)}
        arrays[key] = value
        return {"$array": key}
    if sparse.issparse(value):
        matrix: CSR = sparse.csr_array(value)
        arrays.update({f"{key}.{name}": array for name, array in pack(matrix).items()})
        return {"$sparse": key, "shape": list(matrix.shape), "dtype": matrix.dtype.name}
    if isinstance(value, Taxonomy):
        return _encode_taxonomy(value, arrays)
    if isinstance(value, (list, tuple)):
        return [encode(v, arrays, f"{key}.{i}") for i, v in enumerate(value)]
    if isinstance(value, dict):
        return {"$dict": [[k, encode(v, arrays, f"{key}.{k}")] for k, v in value.items()]}
    return _encode_object(value, arrays, key)


def decode(value: Any, arrays: dict[str, Array], taxonomies: dict[str, Taxonomy] | None = None) -> Any:
    """The inverse of `encode`; a taxonomy that occurs twice is created once."""
    taxonomies = {} if taxonomies is None else taxonomies
    if isinstance(value, list):
        return [decode(v, arrays, taxonomies) for v in value]
    if not isinstance(value, dict):
        if isinstance(value, float) and not math.isfinite(value):
            raise StoreError(f"The manifest holds the number {value}, which JSON does not have.")
        return value
    match next(iter(value)):
        case "$float":
            return float(value["$float"])
        case "$array":
            return arrays[value["$array"]]
        case "$strings":
            if not all(isinstance(text, str) for text in value["$strings"]):
                raise StoreError("The manifest holds an array of strings with something else in it.")
            return np.array(value["$strings"], dtype=object).reshape(value["shape"])
        case "$sparse":
            key = value["$sparse"]
            names = [name for name in ("data", "indices", "indptr", "lengths") if f"{key}.{name}" in arrays]
            found = {name: arrays[f"{key}.{name}"] for name in names}
            return unpack(found, value.get("dtype"), tuple(value["shape"]))
        case "$taxonomy":
            key = value["$taxonomy"]
            if key not in taxonomies:
                taxonomies[key] = _decode_taxonomy(value, arrays)
            return taxonomies[key]
        case "$dict":
            return {_key(k): decode(v, arrays, taxonomies) for k, v in value["$dict"]}
        case "$object":
            return _decode_object(value, arrays, taxonomies)
        case other:
            raise StoreError(f"The manifest holds the unknown entry {other!r}.")


def _encode_object(value: Any, arrays: dict[str, Array], key: str) -> dict[str, object]:
    """An object of a registered class: its ``state`` or ``to_dict``, or parameters and what ends in an underscore."""
    name = type(value).__name__
    known = name in registry.ALL_MODELS or name in registry.STORABLE
    if not known or type(value) is not registry.resolve(name):
        raise StoreError(f"A {name} cannot be saved: it is not a linnaeus model or part of one.")
    if hasattr(value, "state"):
        return {"$object": name, "state": [encode(part, arrays, f"{key}.{name}") for part in value.state()]}
    if hasattr(value, "to_dict"):
        return {"$object": name, "fields": encode(value.to_dict(), arrays, key)}
    parameters = {k: v for k, v in value.get_params(deep=False).items() if k not in _RUN_ONLY}
    learned = {k: v for k, v in vars(value).items() if k.endswith("_") and not k.startswith("_")}
    if not learned:
        raise StoreError(f"This {name} is not fitted; fit it before saving.")
    return {
        "$object": name,
        "parameters": encode(parameters, arrays, f"{key}.parameters"),
        "learned": encode(learned, arrays, f"{key}.learned"),
    }


def _decode_object(value: dict[str, Any], arrays: dict[str, Array], taxonomies: dict[str, Taxonomy]) -> Any:
    name = value["$object"]
    if name not in registry.ALL_MODELS and name not in registry.STORABLE:
        known = [*registry.ALL_MODELS, *registry.STORABLE]
        raise StoreError(f"The model file names {name!r}, which this linnaeus does not know{nearest(str(name), known)}")
    kind = registry.resolve(name)
    if "state" in value:
        return kind.from_state(*decode(value["state"], arrays, taxonomies))
    if "fields" in value:
        fields = decode(value["fields"], arrays, taxonomies)
        if name == "RiskControl" and "level" in fields:  # written before promises followed rules
            warn_user(
                "The promised risks of this model were fixed by an earlier version of linnaeus and are dropped; "
                "calibrate the model again to have them."
            )
            return None
        return kind(**fields)
    renamed = getattr(kind, "renamed_parameters", {})  # since the model was saved
    parameters = decode(value["parameters"], arrays, taxonomies)
    made = kind(**{renamed.get(key, key): parameter for key, parameter in parameters.items()})
    learned = decode(value["learned"], arrays, taxonomies)
    strange = [key for key in learned if not key.endswith("_") or key.startswith("_")]
    if strange:
        raise StoreError(f"The manifest has learned {strange[0]!r}, which is not the name of a learned value.")
    vars(made).update(learned)
    return made


def _key(key: object) -> str | float | None:
    """A key of a dictionary, stored next to its value: a name, or a number as in class weights."""
    if isinstance(key, (str, int, float)) or key is None:
        return key
    raise StoreError(f"The manifest holds a dictionary with the key {key!r}; expected a name.")


def _encode_taxonomy(taxonomy: Taxonomy, arrays: dict[str, Array]) -> dict[str, object]:
    key = f"taxonomy.{taxonomy.fingerprint[:12]}"
    arrays[f"{key}.names"] = _pack(taxonomy.names)
    arrays[f"{key}.indptr"], arrays[f"{key}.indices"] = taxonomy.parent_indptr, taxonomy.parent_indices
    if taxonomy.display_labels is not None:
        arrays[f"{key}.display"] = _pack(taxonomy.display_labels)
    entry: dict[str, object] = {"$taxonomy": key, "kind": taxonomy.kind, "root": taxonomy.root}
    if taxonomy.aliases or taxonomy.deprecated:
        entry["aliases"] = dict(taxonomy.aliases)
        entry["deprecated"] = {
            id: [list(s.replaced_by), list(s.consider), s.label] for id, s in taxonomy.deprecated.items()
        }
    if taxonomy._texts is not None:
        entry["texts"] = _encode_texts(taxonomy.texts, arrays, f"{key}.texts")
    return entry


def _encode_texts(texts: Texts, arrays: dict[str, Array], key: str) -> dict[str, object]:
    lengths = np.diff(texts.offsets) - 1
    arrays[f"{key}.node"], arrays[f"{key}.kind"] = texts.node, texts.kind
    arrays[f"{key}.language"] = texts.language
    arrays[f"{key}.lengths"] = lengths.astype(np.uint16 if lengths.max(initial=0) < 2**16 else np.int64)
    arrays[f"{key}.pool"] = np.frombuffer(zlib.compress(texts.pool, 6), dtype=np.uint8)
    return {"tags": list(texts.tags)}


def _decode_texts(entry: dict[str, Any], arrays: dict[str, Array], key: str) -> Texts:
    """Texts that are decompressed when the first one is read; their size is stored, which limits the memory needed."""
    tags = entry["tags"]
    parts = [arrays[f"{key}.{part}"] for part in ("node", "kind", "language", "lengths")]
    if not is_strings(tags) or any(part.ndim != 1 or part.dtype.kind not in "iu" for part in parts):
        raise StoreError("The texts of the taxonomy are not whole numbers and language tags.")
    node, kind, language, lengths = parts
    packed, size = arrays[f"{key}.pool"], 1 + int(lengths.sum(dtype=np.int64)) + len(lengths)

    def pool() -> bytes:
        try:
            found = zlib.decompressobj().decompress(packed.tobytes(), size + 1)
        except zlib.error as error:
            raise StoreError(f"The texts of the taxonomy are damaged: {error}.") from error
        if len(found) != size:
            raise StoreError(f"The texts of the taxonomy have {len(found):,} bytes; expected {size:,}.")
        return found

    return Texts(node, kind, language, tags, lengths, pool)


def _decode_taxonomy(value: dict[str, Any], arrays: dict[str, Array]) -> Taxonomy:
    key = value["$taxonomy"]
    display = arrays.get(f"{key}.display")
    for part in ("indptr", "indices"):
        if arrays[f"{key}.{part}"].dtype.kind not in "iu":
            raise StoreError(f"The taxonomy has {part} of {arrays[f'{key}.{part}'].dtype}; expected whole numbers.")
    made = Taxonomy(
        _unpack(arrays[f"{key}.names"]),
        arrays[f"{key}.indptr"],
        arrays[f"{key}.indices"],
        root=value["root"],
        kind=value["kind"],
        display_labels=None if display is None else _unpack(display),
    )
    check_taxonomy(made)
    deprecated = {
        id: Deprecated(tuple(replaced_by), tuple(consider), label)
        for id, (replaced_by, consider, label) in value.get("deprecated", {}).items()
    }
    aliases = dict(value.get("aliases") or {})
    texts = [text for one in deprecated.values() for text in (*one.replaced_by, *one.consider, one.label or "")]
    if not all(isinstance(text, str) for text in (*aliases.values(), *texts)):
        raise StoreError("The taxonomy has an alias or a deprecated id that is not a string.")
    made = made.with_replacements(aliases, deprecated)
    if "texts" not in value:
        return made
    return made.with_texts(_decode_texts(value["texts"], arrays, f"{key}.texts"))


def _pack(texts: Iterable[str]) -> Array:
    """Strings as UTF-8 bytes, each followed by a zero byte, which names do not contain."""
    return np.frombuffer("".join(f"{text}\0" for text in texts).encode(), dtype=np.uint8)


def _unpack(packed: Array) -> list[str]:
    return packed.tobytes().decode().split("\0")[:-1]
