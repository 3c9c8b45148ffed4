"""Model files: a folder with a JSON manifest and arrays in the safetensors format. Loading executes nothing.

    manifest.json                what the model is, its parameters and values, the files it consists of with checksums
    arrays-<hash>.safetensors    all arrays; opened memory-mapped

The manifest is the model: it is written last and replaced in one step, and it names files that are never changed.
A kill at any moment leaves the old model or the new one.

A loaded model is validated: its tables, its rules, and the classification of one empty document.

The document is classified so that values that fit the tables but not each other are found here, and not by the first
user. What is prepared for it (the weights in the layout of the kernels) is used by all later documents.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import warnings
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from linnaeus import __version__, registry
from linnaeus.data.check import LabelCodec
from linnaeus.decoding import Decoder
from linnaeus.decoding import decoder as make_decoder
from linnaeus.errors import LinnaeusError, StoreError
from linnaeus.files import file_sha256, naming, replace_file
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.classifier import Classifier
from linnaeus.pipeline import Pipeline
from linnaeus.store.codec import DAMAGED, decode, encode, map_arrays, write_arrays
from linnaeus.store.rules import RULES, check_features, check_names, is_strings
from linnaeus.store.tables import (
    KERNELS,
    LARGE,
    ON_SEQUENCES,
    TABLES,
    Declared,
    Sizes,
    check_array,
    check_plain,
    check_table,
    described,
    tables_of,
    within,
)
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import Array, IntArray

__all__ = ["FORMAT_VERSION", "check_model", "check_target", "load", "read_manifest", "save"]


def check_model(model: object, *, deep: bool = False) -> None:
    """Raise an error if the values of a loaded model or pipeline are inconsistent; ``deep`` also reads large arrays."""
    try:
        if isinstance(model, Pipeline):
            _check_pipeline(model, deep)
        elif isinstance(model, TaxonomyClassifier):
            _check_classifier(model, deep)
        else:
            raise StoreError(f"expected a model, found {described(model)}")
    except StoreError:
        raise
    except LinnaeusError as error:
        raise StoreError(str(error)) from error


def _check_pipeline(pipe: Pipeline, deep: bool) -> None:
    if not isinstance(pipe.model_, TaxonomyClassifier):
        raise StoreError(f"the model of the pipeline is {described(pipe.model_)}")
    _check_classifier(pipe.model_, deep)
    width = check_features(pipe.features_, deep)
    expected = getattr(pipe.model_, "n_features_in_", None)
    if width is not None and width != expected:
        raise StoreError(f"the features have {width} columns, but the model expects {expected}")
    names = pipe.feature_names_
    if hasattr(pipe.features_, "vectors"):  # names are of the vectors before the map
        expected = getattr(pipe.features_, "n_features_in_", None)
    if names is not None and not (is_strings(names) and (expected is None or len(names) == expected)):
        raise StoreError(f"feature_names are not {expected} names")
    check_names(dict(pipe.about_), "about")
    if pipe.decoder_ is not None:
        _try_decoder(pipe.decoder_, pipe.model_)


def _check_classifier(model: TaxonomyClassifier, deep: bool) -> None:
    name = type(model).__name__
    model._check_parameters()
    if not isinstance(model.taxonomy, (Taxonomy, type(None))):
        raise StoreError(f"taxonomy is {described(model.taxonomy)}")
    learned = {key: value for key, value in vars(model).items() if key.endswith("_")}
    taxonomy, nodes = learned.get("taxonomy_"), learned.get("nodes_")
    if not isinstance(taxonomy, Taxonomy) or not isinstance(nodes, np.ndarray):
        raise StoreError("the model has no taxonomy_ or no nodes_")
    sizes: Sizes = {"nodes": taxonomy.n_nodes, "labels": len(nodes), "states": 3}
    features = learned.get("n_features_in_")
    if features is not None:
        check_plain(Declared.of("n_features_in_ int"), features, "n_features_in_")
        sizes["features"] = features
        sizes["inputs"] = features + bool(getattr(model, "fit_intercept", False))
    elif type(learned.get("kernel_")).__name__ not in ON_SEQUENCES and not model.takes_documents:
        raise StoreError(f"{name}.n_features_in_ is missing")
    tables = tables_of(model)
    known = {line.name for line in tables}
    strange = sorted(set(learned) - known)
    if strange:
        raise StoreError(f"{name} does not learn {strange[0]!r}")
    check_table(
        tables,
        learned,
        sizes,
        name,
        deep=deep,
        check_object=lambda kind, value, where: _check_object(kind, value, where, sizes, learned, deep),
    )
    if not len(nodes):
        raise StoreError(f"{name}.nodes_ is empty")
    check_codec(model.codec_, taxonomy, nodes)
    if name in RULES:
        RULES[name](model, sizes)
    if learned.get("set_size_") is not None:
        _try_decoder(make_decoder(**learned["set_size_"]), model)
    _try(model)


def _check_object(kind: str, value: Any, where: str, sizes: Sizes, beside: Mapping[str, object], deep: bool) -> None:
    """An object with a table of its own, or one of the kinds that several classes are."""
    name = type(value).__name__
    if kind == "Decoder":
        check_names(value, where)
        make_decoder(**value)
        return
    if kind == "Models":
        _check_sources(value, sizes, where, deep)
        return
    if kind == "Documents":
        _check_documents(value, beside.get("kernel_"), sizes, where, deep)
        return
    if name not in (KERNELS if kind == "Kernel" else (kind,)):
        raise StoreError(f"{where} is {described(value)}; expected a {kind}")
    if kind == "Taxonomy":
        return
    own = {key: size for key, size in sizes.items() if key in ("nodes", "labels", "features", "inputs")}
    if kind == "MixtureWeights" and not np.array_equal(value.nodes, np.asarray(beside["nodes_"])):
        raise StoreError(f"{where}.nodes are not those of the mixture")
    check_table(TABLES.get(name, []), vars(value), own, where, deep=deep)
    if name in RULES:
        RULES[name](value, own)
    if name == "LabelTree":
        sizes["vertices"] = own["vertices"]


def _check_sources(value: object, sizes: Sizes, where: str, deep: bool) -> None:
    """The sources of a mixture: models or pipelines for its documents."""
    if not isinstance(value, list) or not value:
        raise StoreError(f"{where} is {described(value)}; expected a list of models")
    for source in value:
        check_model(source, deep=deep)
        model = source.model_ if isinstance(source, Pipeline) and source.features_ is None else source
        if isinstance(model, TaxonomyClassifier) and getattr(model, "n_features_in_", None) != sizes.get("features"):
            raise StoreError(f"{where}: a source takes other features than the mixture")


def _check_documents(value: Any, kernel: object, sizes: Sizes, where: str, deep: bool) -> None:
    """Documents kept for a kernel: sequences, columns of a Gram matrix, or rows of X, one for each coefficient."""
    wanted = {"Precomputed": "GramRows", **dict.fromkeys(ON_SEQUENCES, "Sequences")}
    expected, given = wanted.get(type(kernel).__name__, "rows of X"), type(value).__name__
    if expected == "rows of X":
        check_array(Declared.of("documents float[support, features] sparse"), value, sizes, where, deep)
        return
    if given != expected:
        raise StoreError(f"{where} is {described(value)}; expected {expected}")
    if expected == "Sequences":
        RULES["Sequences"](value, sizes)
    elif not isinstance(n_docs := getattr(kernel, "n_docs", None), int) or not within(value.numbers, 0, n_docs):
        raise StoreError(f"{where} numbers documents outside the Gram matrix")
    if sizes.setdefault("support", len(value)) != len(value):
        raise StoreError(f"{where} has {len(value)} documents; expected {sizes['support']}")


def check_codec(codec: LabelCodec, taxonomy: Taxonomy, nodes: IntArray) -> None:
    """Raise an error for kinds and types of labels that predictions cannot be converted to."""
    if codec.kind not in ("labels", "sets", "paths", "indicator"):
        raise StoreError(f"codec_.kind is {codec.kind!r}; expected labels, sets, paths or indicator")
    numeric = codec.dtype not in ("str", "bytes", "object")
    if numeric and np.dtype(codec.dtype).kind not in ("biuf" if codec.kind == "indicator" else "biu"):
        raise StoreError(f"codec_.dtype is {codec.dtype!r}; expected the type of a label")
    if codec.kind == "indicator" and not numeric:
        raise StoreError(f"codec_.dtype is {codec.dtype!r}; expected the type of a number")
    if codec.columns is not None and codec.kind == "labels":
        if len(codec.columns) != 1 or not isinstance(codec.columns[0], str):
            raise StoreError(f"codec_.columns is {codec.columns!r}; expected the name of the column of labels")
    elif codec.columns is not None:
        unknown = [name for name in codec.columns if not isinstance(name, str) or name not in taxonomy]
        if codec.kind != "indicator" or unknown:
            raise StoreError(f"codec_.columns has {unknown[:1]}; expected names of nodes, for an indicator")
    if codec.width > 2**31:
        raise StoreError(f"codec_.width is {codec.width}")
    codec.values(taxonomy.names)


def _try(model: TaxonomyClassifier) -> None:
    """Classify one empty document; what is prepared for it is used by all later ones."""
    from scipy import sparse

    if not hasattr(model, "n_features_in_") and (not model.takes_documents or hasattr(model, "sources_")):
        return  # which fields the documents of a mixture have is known to its sources only, which were tried
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        X: Any = [""] if model.takes_documents else sparse.csr_array((1, model.n_features_in_), dtype=np.float32)
        S = model._scores(model._check_X(X, reset=False))
        if S.shape != (1, len(model.nodes_)) or not np.isfinite(S).all():
            raise StoreError(f"the scores of an empty document are not {len(model.nodes_)} finite numbers")
        model.answers(X)


def _try_decoder(decoder: Decoder, model: TaxonomyClassifier) -> None:
    """Decide on scores of 0, and of 1."""
    if getattr(decoder, "fitted", True) is not True:
        raise StoreError(f"the decoder {decoder.name} is not fitted")
    for score in (0.0, 1.0):
        decoder(np.full((2, len(model.nodes_)), score), model.taxonomy_, model.nodes_)


FORMAT = "linnaeus-model"
FORMAT_VERSION = 3  # 2: sparse matrices are narrowed (`codec`); 3: subtrees may share weights
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
