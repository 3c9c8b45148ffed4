"""Vectors of whole texts by a neural model in a local folder, without network access.

An ONNX folder holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`. With h_i (n_tokens x width) the last
hidden states of a text and a_i its attention mask, the vector is

    v = sum_i a_i h_i / sum_i a_i   (or h_1, where `1_Pooling/config.json` asks for the first token), divided by |v|

unless the model has a pooled output of two dimensions, which is taken instead. A sentence-transformers folder is loaded
by the package of this name.

Texts run in batches of a fixed shape: always `_BATCH` rows, filled with padding, of a length that depends on the text
alone, in one thread. The vector of a text is then the same in every batch.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linnaeus.errors import DataError, ParameterError, StoreError
from linnaeus.typing import Array, FloatArray, IntArray

__all__ = ["TextEncoder", "encoder_kind"]

ONNX, SENTENCE_TRANSFORMERS = "onnx", "sentence-transformers"
_EXTRAS = {ONNX: "onnx", SENTENCE_TRANSFORMERS: "transformers"}
_BATCH = 16  # texts of one run
_STEP = 16  # lengths are rounded up to a multiple of it
_LONGEST = 512  # tokens, where the folder does not say
_LARGEST_CONFIG = 1_000_000  # bytes
_BLOCK = 2**20  # bytes that are hashed at a time


class TextEncoder:
    """Vectors of texts by an ONNX or sentence-transformers model.

    Parameters
    ----------
    name : str
        The folder.
    kind : str or None, default=None
        "onnx" or "sentence-transformers"; None recognises it by the files of the folder.
    """

    uses_idf = False

    def __init__(self, name: str, kind: str | None = None) -> None:
        folder = Path(name)
        if not folder.is_dir():
            raise DataError(f"The embedding {name} is not a folder.")
        found = encoder_kind(folder) if kind is None else kind
        if found not in _EXTRAS:
            raise DataError(f"{folder} is neither an ONNX model nor a sentence-transformers model.")
        self.name, self.kind = str(folder.resolve()), found
        self.fingerprint = _fingerprint(folder, found)
        self._model: Any = None
        self.dimension = int(self.vectors(["text"]).shape[1])

    def vectors(self, words: Sequence[str]) -> FloatArray:
        """Vectors of texts, of length 1; zero for texts without a character that is not white space.

        Parameters
        ----------
        words : sequence of str
            Texts of any length; what is longer than the model takes is cut off.

        Returns
        -------
        ndarray of shape (n_texts, dimension)
            In single precision.
        """
        texts = [text.encode("utf-8", "replace").decode() for text in words]
        if self._model is None:
            made = _Onnx(Path(self.name)) if self.kind == ONNX else _SentenceTransformer(Path(self.name))
            self._model = made
        found = self._model(texts) if texts else np.zeros((0, self.dimension))
        if not np.isfinite(found).all():
            raise DataError(f"{self.name}: the model returns numbers that are not finite.")
        length = np.linalg.norm(found, axis=1, keepdims=True)
        empty = np.array([not text.strip() for text in texts], dtype=bool)
        found = np.where(empty[:, None], 0.0, found / np.where(length > 0, length, 1.0))
        return np.asarray(found, dtype=np.float32)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_model": None}  # loaded again when it is used

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Folder, kind and fingerprint as (values, arrays)."""
        return {"name": self.name, "kind": self.kind, "fingerprint": self.fingerprint}, {}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> TextEncoder:
        """The inverse of `state`; the folder is opened again and compared."""
        name = str(values["name"])
        try:
            made = cls(name, str(values["kind"]))
        except (DataError, ParameterError) as error:
            raise StoreError(
                f"The model was trained with the embedding {name}, which is needed to use it: {error}"
            ) from None
        if made.fingerprint != values["fingerprint"]:
            raise StoreError(f"The model was trained with the embedding {name}, which is not the same any more.")
        return made


def encoder_kind(folder: Path) -> str | None:
    """The kind of the model in a folder by its files; None for a model2vec folder or any other.

    Parameters
    ----------
    folder : Path
        An existing folder.

    Returns
    -------
    str or None
        "onnx", "sentence-transformers" or None.
    """
    if _config(folder / "config.json").get("model_type") == "model2vec":
        return None
    if _onnx_file(folder) is not None:
        return ONNX
    return SENTENCE_TRANSFORMERS if (folder / "modules.json").is_file() else None


def _onnx_file(folder: Path) -> Path | None:
    return next((file for file in (folder / "model.onnx", folder / "onnx" / "model.onnx") if file.is_file()), None)


def _config(file: Path) -> dict[str, Any]:
    """A JSON object of a folder; empty where there is no such file."""
    if not file.is_file() or file.stat().st_size > _LARGEST_CONFIG:
        return {}
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not valid JSON ({error}).") from None
    return found if isinstance(found, dict) else {}


def _package(name: str, kind: str, folder: Path) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise DataError(
            f"The embedding {folder} needs the package {name.replace('_', '-')}; "
            f"pip install 'linnaeus[{_EXTRAS[kind]}]' installs it."
        ) from None


def _fingerprint(folder: Path, kind: str) -> str:
    """A hash of the names and contents of all files that the vectors depend on."""
    if kind == ONNX:
        model = _onnx_file(folder)
        if model is None:
            raise DataError(f"{folder} is not an ONNX model: it has no model.onnx.")
        weights = sorted(file for file in model.parent.glob("*") if file.name.startswith("model.onnx"))
        names = ("tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json")
        files = [*weights, *(folder / name for name in names if (folder / name).is_file())]
    else:
        inside = (file for file in sorted(folder.rglob("*")) if file.is_file())
        files = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(folder).parts)]
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.relative_to(folder).as_posix()} {file.stat().st_size}\n".encode())
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                found.update(block)
    return found.hexdigest()


class _Onnx:
    """A session of onnxruntime on one thread, and its tokenizer."""

    def __init__(self, folder: Path) -> None:
        runtime = _package("onnxruntime", ONNX, folder)
        tokenizers = _package("tokenizers", ONNX, folder)
        file, self.folder = _onnx_file(folder), folder
        if not (folder / "tokenizer.json").is_file():
            raise DataError(f"{folder} is not an ONNX model with a tokenizer: it has no tokenizer.json.")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self.session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises exceptions of its own
            raise DataError(f"{file} is damaged or not an ONNX model ({str(error)[:200]}).") from None
        try:
            self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # tokenizers raises plain exceptions
            raise DataError(f"The tokenizer of {folder} is damaged ({str(error)[:200]}).") from None
        said = self.tokenizer.truncation or {}
        longest = said.get("max_length") or _config(folder / "tokenizer_config.json").get("model_max_length")
        self.longest = int(longest) if isinstance(longest, (int, float)) and 0 < longest <= 100_000 else _LONGEST
        self.tokenizer.enable_truncation(self.longest)
        self.padding = int((self.tokenizer.padding or {}).get("pad_id", 0))
        self.tokenizer.no_padding()
        self.first_token = bool(_config(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token"))
        self.inputs = {entry.name: entry.type for entry in self.session.get_inputs()}
        unknown = sorted(set(self.inputs) - {"input_ids", "attention_mask", "token_type_ids"})
        if "input_ids" not in self.inputs or unknown:
            what = unknown[0] if unknown else "no input_ids"
            raise DataError(f"{file} is not a model of texts: its inputs have {what}; expected input_ids.")

    def __call__(self, texts: list[str]) -> FloatArray:
        ids = [np.asarray(one.ids, dtype=np.int64) for one in self.tokenizer.encode_batch(texts)]
        sizes = np.array([max(1, min(self.longest, -(-len(one) // _STEP) * _STEP)) for one in ids])
        found: FloatArray | None = None
        for size in np.unique(sizes):
            members = np.flatnonzero(sizes == size)
            for start in range(0, len(members), _BATCH):
                rows = members[start : start + _BATCH]
                part = self._run([ids[i] for i in rows], int(size))
                if found is None:
                    found = np.zeros((len(texts), part.shape[1]))
                found[rows] = part
        assert found is not None
        return found

    def _run(self, ids: list[IntArray], size: int) -> FloatArray:
        """Vectors of up to `_BATCH` texts of ``size`` tokens."""
        tokens = np.full((_BATCH, size), self.padding, dtype=np.int64)
        mask = np.zeros((_BATCH, size), dtype=np.int64)
        mask[:, 0] = 1  # a row without any token would divide by 0
        for row, own in enumerate(ids):
            tokens[row, : len(own)], mask[row, : len(own)] = own, 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        types = {"tensor(int32)": np.int32}
        feed = {name: given[name].astype(types.get(kind, np.int64)) for name, kind in self.inputs.items()}
        try:
            outputs = self.session.run(None, feed)
        except Exception as error:  # onnxruntime raises exceptions of its own
            raise DataError(f"The ONNX model in {self.folder} cannot be run ({str(error)[:200]}).") from None
        names = [entry.name for entry in self.session.get_outputs()]
        pooled = [out for name, out in zip(names, outputs, strict=True) if out.ndim == 2 and name != "pooler_output"]
        if pooled:
            return np.asarray(pooled[0][: len(ids)], dtype=np.float64)
        hidden = next((out for out in outputs if out.ndim == 3), None)
        if hidden is None and outputs and outputs[0].ndim == 2:
            return np.asarray(outputs[0][: len(ids)], dtype=np.float64)
        if hidden is None:
            shapes = ", ".join(str(out.shape) for out in outputs)
            raise DataError(f"The ONNX model in {self.folder} has outputs of shape {shapes}; expected vectors.")
        states = np.asarray(hidden[: len(ids)], dtype=np.float64)
        if self.first_token:
            return states[:, 0]
        weight = mask[: len(ids), :, None]
        return np.asarray((states * weight).sum(axis=1) / weight.sum(axis=1))


class _SentenceTransformer:
    """A model of the package sentence-transformers, on the processor; one text at a time has no padding."""

    def __init__(self, folder: Path) -> None:
        package = _package("sentence_transformers", SENTENCE_TRANSFORMERS, folder)
        try:
            self.model = package.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # whatever its parts raise
            raise DataError(f"{folder} cannot be loaded by sentence-transformers ({str(error)[:200]}).") from None

    def __call__(self, texts: list[str]) -> FloatArray:
        return np.asarray(
            self.model.encode(texts, batch_size=1, convert_to_numpy=True, show_progress_bar=False), dtype=np.float64
        )
