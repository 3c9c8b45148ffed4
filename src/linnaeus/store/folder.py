"""Model files: a folder with a JSON manifest and arrays in the safetensors format. Loading executes nothing.

    manifest.json                what the model is, its parameters and values, the files it consists of with checksums
    arrays-<hash>.safetensors    all arrays; opened memory-mapped

The manifest is the model: it is written last and replaced in one step, and it names files that are never changed.
A kill at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from linnaeus import __version__, registry
from linnaeus.errors import LinnaeusError, StoreError
from linnaeus.files import file_sha256, naming, replace_file
from linnaeus.models.classifier import Classifier
from linnaeus.pipeline import Pipeline
from linnaeus.store.arrays import DAMAGED, map_arrays, write_arrays
from linnaeus.store.checking import check_model
from linnaeus.store.codec import decode, encode
from linnaeus.store.tables import LARGE
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Array

__all__ = ["FORMAT_VERSION", "check_target", "load", "read_manifest", "save"]

FORMAT = "linnaeus-model"
FORMAT_VERSION = 3  # 2: sparse matrices are narrowed (`arrays`); 3: subtrees may share weights
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
