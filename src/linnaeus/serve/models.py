"""The models of a service by name, loaded from their folders, and loaded again when a folder is replaced."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linnaeus import store
from linnaeus.answering.card import saved_model
from linnaeus.answering.documents import fields_of
from linnaeus.errors import LinnaeusError, ParameterError, StoreError, nearest
from linnaeus.serve.batching import AnswerQueue
from linnaeus.store.folder import encode
from linnaeus.typing import Array

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.answering.records import NodeTexts
    from linnaeus.taxonomy import Taxonomy

__all__ = ["ModelRegistry", "ServedModel", "UnknownModelError"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MANIFEST = "manifest.json"


class UnknownModelError(ParameterError):
    """A request names a model that is not served."""


@dataclass(frozen=True)
class ServedModel:
    """A loaded model; it never changes, a replaced folder gives another one."""

    name: str
    folder: Path
    model: SavedModel
    fingerprint: str  # of the whole folder
    stamp: tuple[int, int, int]
    lock: threading.Lock = field(default_factory=threading.Lock)  # one request at a time: features keep working memory
    texts: dict[int, NodeTexts] = field(default_factory=dict)  # of nodes that were answered
    subjects: dict[tuple[str | None, str], dict[str, object]] = field(default_factory=dict)  # the same for Annif

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy of the answers."""
        return self.model.taxonomy_

    @cached_property
    def queue(self) -> AnswerQueue:
        """Requests for records, those that wait are answered together."""
        return AnswerQueue(self)

    @cached_property
    def decides_batches(self) -> bool:
        """Whether the answer to a document depends on the others of its request."""
        return self.model.default_decoder().whole_batch

    @cached_property
    def reference(self) -> dict[str, str]:
        """What every answer says about the model that gave it."""
        return {"name": self.name, "fingerprint": self.fingerprint, "taxonomy": self.taxonomy.fingerprint}

    @cached_property
    def features_fingerprint(self) -> str | None:
        """The SHA-256 of what turns documents into numbers; None for models of vectors."""
        features = getattr(self.model, "features_", None)
        if features is None:
            return None
        arrays: dict[str, Array] = {}
        digest = hashlib.sha256(json.dumps(encode(features, arrays), sort_keys=True).encode())
        for name in sorted(arrays):
            digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
        return digest.hexdigest()

    @cached_property
    def migrated_from(self) -> dict[str, str]:
        """Fingerprints of the taxonomy that a migrated model had before, and of the table; empty for other models."""
        try:
            versions = json.loads((self.folder / "migration.json").read_text(encoding="utf-8"))["versions"]
            if versions["new_taxonomy"] == self.taxonomy.fingerprint:
                return {name: str(versions[name]) for name in ("old_taxonomy", "table")}
        except (OSError, ValueError, KeyError, TypeError):  # no such file, or not one of ours
            pass
        return {}

    @property
    def fingerprints(self) -> dict[str, str | None]:
        """What the audit log says about the model: fingerprints of its folder, taxonomy, features and past version."""
        return {**self.reference, "features": self.features_fingerprint, **self.migrated_from}

    @property
    def has_probabilities(self) -> bool:
        """Whether the model has probabilities of nodes."""
        return hasattr(self.model, "predict_proba")

    @cached_property
    def held_out_f1(self) -> float | None:
        """Hierarchical F1 of nodes more probable than 1/2, on the documents of the calibration; None without these."""
        control = self.model.estimator.risk_control_
        if control is None:
            return None
        from linnaeus.metrics import hierarchical_f1

        answers = control.P.copy()
        answers.data = (answers.data > 0.5).astype(np.int8)
        answers.eliminate_zeros()
        return float(hierarchical_f1(control.gold, answers, self.taxonomy))

    @cached_property
    def card(self) -> dict[str, object]:
        """Properties of the model for people and programs."""
        about = {key.replace(" ", "_"): value for key, value in saved_model(self.folder, self.model).items()}
        can = {
            "explain": hasattr(self.model, "explain"),
            "probabilities": self.has_probabilities,
            "risk": self.model.risk_control_ is not None,
        }
        return {**self.reference, "takes": fields_of(self.model), "can": can, "properties": about}


class ModelRegistry:
    """Models by name.

    Parameters
    ----------
    folders : iterable of str
        Model folders, which are named after the folder, folders of model folders, or ``NAME=FOLDER``.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders: dict[str, Path] = {}
        for name, folder in _named(folders):
            if not _NAME.fullmatch(name):
                raise ParameterError(
                    f"{name!r} cannot be the name of a model in URLs; give another one as NAME=FOLDER, with letters, "
                    "digits, '.', '_' and '-'."
                )
            if self.folders.setdefault(name, folder) != folder:
                raise ParameterError(
                    f"{self.folders[name]} and {folder} would both be called {name!r}; name one as NAME=FOLDER."
                )
        if not self.folders:
            raise ParameterError("There is no model to serve; give at least one model folder.")
        self.failures: dict[str, str] = {}  # why a replaced folder could not be loaded, by name
        self.reloads: dict[tuple[str, str], int] = {}  # by name and "loaded" or "failed"
        self._failed: dict[str, tuple[int, int, int]] = {}
        self._models = {name: _loaded(name, folder) for name, folder in self.folders.items()}
        self._refreshing = threading.Lock()

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(list(self._models.values()))

    def __len__(self) -> int:
        return len(self._models)

    def get(self, name: str | None = None) -> ServedModel:
        """The model of a name, by default the first."""
        if name is None:
            return next(iter(self))
        found = self._models.get(name)
        if found is None:
            known = ", ".join(sorted(self._models))
            raise UnknownModelError(
                f"There is no model {name!r}; the models are {known}{nearest(name, list(self._models))}"
            )
        return found

    def refresh(self) -> list[str]:
        """Load models whose folders were replaced; returns their names. One that cannot be loaded stays as it was."""
        changed = []
        with self._refreshing:
            for name, folder in self.folders.items():
                stamp = _stamp(folder)
                if stamp is None or stamp in (self._models[name].stamp, self._failed.get(name)):
                    continue
                try:
                    self._models[name] = _loaded(name, folder)
                except (LinnaeusError, OSError) as error:
                    self.failures[name], self._failed[name], outcome = str(error), stamp, "failed"
                else:
                    self.failures.pop(name, None)
                    self._failed.pop(name, None)
                    changed.append(name)
                    outcome = "loaded"
                self.reloads[name, outcome] = self.reloads.get((name, outcome), 0) + 1
        return changed


def _named(folders: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Names and model folders of what was given."""
    for given in folders:
        name, separator, rest = given.partition("=")
        if separator and not Path(given).exists():
            yield name, Path(rest).resolve()
            continue
        folder = Path(given).resolve()
        inner = [] if (folder / _MANIFEST).exists() or not folder.is_dir() else sorted(folder.iterdir())
        models = [path for path in inner if (path / _MANIFEST).is_file()]
        yield from ((path.name, path.resolve()) for path in models)
        if not models:  # a model, or the error of `store.load` says what it is
            yield folder.name, folder


def _stamp(folder: Path) -> tuple[int, int, int] | None:
    """What changes when a model is saved again; None while there is no model."""
    try:
        found = (folder / _MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _loaded(name: str, folder: Path) -> ServedModel:
    while True:
        stamp = _stamp(folder)
        model = store.load(folder)
        fingerprint = str(store.read_manifest(folder)["checksum"])
        if stamp is not None and _stamp(folder) == stamp:
            if not hasattr(model, "estimator"):
                raise StoreError(f"{folder} holds {type(model).__name__}, which cannot be served; expected a model.")
            return ServedModel(name, folder, model, fingerprint, stamp)
