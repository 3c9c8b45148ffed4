"""Fitted objects as plain values and arrays, and back: what `store` writes and reads.

Plain values stay JSON. Everything else is an object with one key that begins with "$":

    {"$array": key}                      a numeric array in the arrays file
    {"$strings": [...]}                  an array of strings
    {"$sparse": key, "shape": [m, n]}    a CSR array: key.data, key.indices, key.indptr; narrowed by `pack`
    {"$taxonomy": key, ...}              a taxonomy: key.names (UTF-8), key.indptr, key.indices, key.texts.* (zlib)
    {"$object": name, ...}               an object of a class that `registry` names
"""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from linnaeus import registry
from linnaeus.errors import StoreError, nearest
from linnaeus.models.checkpoint import RUN_ONLY
from linnaeus.store.arrays import pack, unpack
from linnaeus.store.rules import check_taxonomy, is_strings
from linnaeus.taxonomy import Deprecated, Taxonomy
from linnaeus.taxonomy.texts import Texts
from linnaeus.typing import CSR, Array

__all__ = ["decode", "encode"]

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
            warnings.warn(
                "The promised risks of this model were fixed by an earlier version of linnaeus and are dropped; "
                "calibrate the model again to have them.",
                stacklevel=2,
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
