"""Model files: a folder with a JSON manifest and arrays in the safetensors format. Loading executes nothing.

    manifest.json                what the model is, its parameters and values, the files it consists of with checksums
    arrays-<hash>.safetensors    all arrays; opened memory-mapped

The manifest is the model: it is written last and replaced in one step, and it names files that are never changed.
A kill at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from linnaeus import __version__, registry
from linnaeus.errors import StoreError
from linnaeus.files import replace_file
from linnaeus.pipeline import Pipeline
from linnaeus.store.codec import decode, encode
from linnaeus.store.writing import DTYPES, write_safetensors

__all__ = ["FORMAT_VERSION", "check_target", "load", "read_manifest", "save"]

FORMAT = "linnaeus-model"
FORMAT_VERSION = 3  # 2: sparse matrices are narrowed (`packing`); 3: subtrees may share weights
MANIFEST = "manifest.json"
# Array files, and the temporary files of ours and of the safetensors library that a kill may leave behind.
_OURS = re.compile(r"arrays-[0-9a-f]{16}\.safetensors|\.[^/]*\.part|\.tmp\w{6}")


def save(model: Any, folder: str | PathLike[str]) -> None:
    """Save a fitted model; an existing model in ``folder`` is replaced in one step.

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
    if type(model).__name__ not in registry.MODELS and not isinstance(model, Pipeline):
        given = f"{type(model).__module__}.{type(model).__name__}"
        raise StoreError(f"A {given} is not a linnaeus model or Pipeline and cannot be saved as one.")
    arrays: dict[str, Any] = {}
    content = encode(model, arrays)
    folder.mkdir(parents=True, exist_ok=True)
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
    for path in folder.iterdir():  # what earlier saves, finished or killed, left behind
        if _OURS.fullmatch(path.name) and path.name != name:
            path.unlink(missing_ok=True)


def load(folder: str | PathLike[str], *, verify: bool = True) -> Any:
    """Load a model; arrays are memory-mapped. ``verify=False`` skips the checksums of very large files."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    arrays: dict[str, Any] = {}
    try:
        for name, entry in manifest["files"].items():
            path = folder / Path(name).name  # a manifest names files of its own folder only
            _check_file(path, entry, verify)
            arrays.update(_map_arrays(path))
        model = decode(manifest["model"], arrays)
    except StoreError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise StoreError(f"{folder / MANIFEST}: the manifest does not fit its arrays ({error!r}).") from error
    if manifest["taxonomy"] is not None and _fingerprint(model) != manifest["taxonomy"]:
        raise StoreError(f"{folder}: the taxonomy is not the one the model was trained on (its fingerprint differs).")
    return model


def read_manifest(folder: str | PathLike[str]) -> dict[str, Any]:
    """The manifest of a model folder, checked for format and version."""
    path = Path(folder) / MANIFEST
    if not Path(folder).is_dir():
        raise StoreError(f"{folder} is not a model: no such folder.")
    if not path.is_file():
        raise StoreError(f"{folder} is not a model: it has no {MANIFEST}.")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise StoreError(f"{path} is damaged: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StoreError(f'{path} is not of a linnaeus model: expected "format": "{FORMAT}".')
    version = manifest.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION or version is True:
        raise StoreError(
            f"{path} has format version {version}; this linnaeus ({__version__}) reads up to {FORMAT_VERSION}."
        )
    if manifest.get("checksum") != _checksum(manifest):
        raise StoreError(f"{path} was altered: its checksum differs from its content.")
    return manifest


def _fingerprint(model: Any) -> str | None:
    taxonomy = getattr(model, "taxonomy_", None)
    return None if taxonomy is None else taxonomy.fingerprint


def check_target(folder: str | PathLike[str]) -> None:
    """Refuse a target that is neither new, nor empty, nor a model; callers ask before long work."""
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
    """Whether the folder holds a model of ours, damaged or not; other programs have files called manifest.json, too."""
    try:
        return f'"format": "{FORMAT}"' in (folder / MANIFEST).read_text("utf-8", errors="replace")
    except OSError:
        return False


def _checksum(manifest: dict[str, Any]) -> str:
    """SHA-256 of everything the manifest says, so that an edited one is noticed."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _write_arrays(folder: Path, arrays: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Write all arrays into a file named after its content."""
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        digest, size = write_safetensors(part, arrays)  # on disk before the manifest names it
        name = f"arrays-{digest[:16]}.safetensors"
        os.replace(part, folder / name)
    finally:
        part.unlink(missing_ok=True)
    return name, {"bytes": size, "sha256": digest}


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_file(path: Path, entry: dict[str, Any], verify: bool) -> None:
    if not path.is_file():
        raise StoreError(f"{path} is missing: the model is incomplete.")
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise StoreError(f"{path} has {size:,} bytes; expected {entry['bytes']:,}: it was truncated or altered.")
    if verify and _sha256(path) != entry["sha256"]:
        raise StoreError(f"{path} was altered: its checksum differs from the manifest.")


def _map_arrays(path: Path) -> dict[str, Any]:
    """Arrays of a safetensors file as read-only views of the mapped file: length (8 bytes), JSON header, data."""
    try:
        mapped = np.memmap(path, dtype=np.uint8, mode="r")
        length = int.from_bytes(mapped[:8].tobytes(), "little")
        header = json.loads(mapped[8 : 8 + length].tobytes())
        arrays = {}
        for key, entry in header.items():
            if key != "__metadata__":
                start, stop = (8 + length + offset for offset in entry["data_offsets"])
                raw = mapped[start:stop]
                arrays[key] = np.frombuffer(raw, DTYPES[entry["dtype"]]).reshape(entry["shape"])
        return arrays
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is not a safetensors file of ours: {error}.") from error
