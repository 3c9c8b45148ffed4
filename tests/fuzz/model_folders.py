"""Saved models, their mutations, and what a mutated folder does; run as a program, it works through some cases.

    python -m tests.fuzz.model_folders MODELS FIRST LAST

prints a line for every case: its number, what it did (ok, error, or a failure with its reason), so that whoever started
it knows which case it was that killed it. A case mutates the manifest or the arrays of one of the folders in MODELS,
with checksums repaired (mostly), loads the result and asks it for answers.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import linnaeus
from linnaeus import (
    HM3,
    RRSVM,
    HierarchicalPerceptron,
    HierarchicalRLS,
    HierarchicalSVM,
    Hieron,
    LexicalModel,
    OneVsRestSVM,
    Pipeline,
    Taxonomy,
    calibrate,
)
from linnaeus.errors import LinnaeusError
from linnaeus.features import (
    DenseFeatures,
    EmbeddedText,
    KernelMap,
    SideBySide,
    SpectrumFeatures,
    SpectrumKernel,
    SubsequenceKernel,
    TextFeatures,
)
from linnaeus.store.folder import DTYPES, _checksum, write_arrays
from linnaeus.taxonomy import Deprecated
from tests.contracts.configurations import CASES, documents, make, taxonomy

QUICK = {"CorrMNL": {"n_iter": 20, "burn_in": 10, "n_chains": 1}, "HM3": {"tol": 0.1}, "HBLR": {"tol": 0.1}}
TEXTS = ["a furry cat purrs", "a loyal dog barks", "the green oak", "an old elm tree", "cat and dog", "oak and elm"]
SEQUENCES = ["ACGTAC", "AACCGG", "TTGGCC", "TGTGTG", "ACACGT", "GGGTTT"]


# -- models ------------------------------------------------------------------------------------------------------------


def models() -> Iterator[tuple[str, Any]]:
    """Every kind of thing that can be saved, small: all models, features, kernels, decoders, calibrators."""
    tax = taxonomy("dag")
    for i, (name, settings) in enumerate(CASES):
        kind = "tree" if name in ("HBLR", "CorrMNL") or i % 2 else "dag"
        over = taxonomy(kind)
        settings = {**settings, **{k: v for k, v in QUICK.get(name, {}).items() if k not in settings or k == "n_iter"}}
        yield (
            f"{name}-{i}",
            make(name, {**settings, **QUICK.get(name, {})}, taxonomy=over).fit(*documents(over, 40, name=name)),
        )
    X, y = documents(tax, 80)
    yield "calibrated", calibrate(OneVsRestSVM(tax, random_state=0).fit(X, y), X, y, cv=None, method="platt")
    yield "isotonic", calibrate(RRSVM(tax, random_state=0).fit(X, y), *documents(tax, 300), cv=None)
    kept = OneVsRestSVM(tax, random_state=0).fit(X, y).keep_documents(X, y)
    yield (
        "deprecated",
        OneVsRestSVM(
            tax.with_replacements({"old": "A"}, {"gone": Deprecated(("A",), ("B",), "x")}), random_state=0
        ).fit(X, y),
    )
    yield "kept", kept.prune(0.05, half=True)
    yield "subtrees", RRSVM(_wide(), random_state=0).fit(*documents(_wide(), 60)).prune(0.1, half=True)
    yield "pruned-online", HierarchicalPerceptron(tax, random_state=0).fit(X, y).prune(0.01)
    yield "numbers", OneVsRestSVM(random_state=0).fit(X.toarray(), [i % 3 for i in range(80)])
    yield "paths", OneVsRestSVM(random_state=0).fit(X, np.array([["A", "AA"], ["B", ""]] * 40))
    yield "indicator", OneVsRestSVM(tax, random_state=0).fit(X, tax.indicator(y).toarray())
    graph = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], kind="graph")
    yield "graph", RRSVM(graph, random_state=0).fit(X[:40], list("abcd") * 10)
    gram = (X @ X.T).toarray().astype(np.float64)
    yield "precomputed", HierarchicalSVM(tax, kernel="precomputed", random_state=0).fit(gram, y)
    yield "exact-kernel", HierarchicalRLS(tax, kernel="rbf", margin="exact").fit(X[:40].toarray(), y[:40])
    trees = Taxonomy.from_paths([["animals", "cat"], ["animals", "dog"], ["trees", "oak"], ["trees", "elm"]])
    labels = [["cat"], ["dog"], ["oak"], ["elm"], ["cat", "dog"], ["oak", "elm"]]
    for decoder in ("scut", "rcut", "pcut", "instance_cut", "set_size", "top_down", "best_closure"):
        pipe = Pipeline(OneVsRestSVM(trees, learn="closed", random_state=0), TextFeatures(), decoder=decoder)
        yield f"text-{decoder}", pipe.fit(TEXTS * 3, labels * 3)
    records = {"title": TEXTS, "body": SEQUENCES, "journal": list("AABBCC")}
    fields = TextFeatures(fields={"title": 2.0, "body": 1.0}, categorical=["journal"], stop_words=["a", "the"])
    yield "fields", Pipeline(RRSVM(trees, random_state=0), fields).fit(records, labels)
    vectors = Pipeline(RRSVM(trees, random_state=0), DenseFeatures())
    yield "dense", vectors.fit(X[:6, :5].toarray(), labels, feature_names=list("abcde"))
    mapped = Pipeline(RRSVM(trees, random_state=0), KernelMap(DenseFeatures(), 4, projection=3))
    yield "feature-map", mapped.fit(X[:6, :5].toarray(), labels, feature_names=list("abcde"))
    parts = [DenseFeatures(profiles=True), KernelMap(DenseFeatures(), 4, gamma=0.5)]
    both = Pipeline(RRSVM(trees, random_state=0), SideBySide(parts))
    yield "side-by-side", both.fit(X[:6, :5].toarray(), labels, feature_names=list("abcde"))
    embedded = Pipeline(RRSVM(trees, random_state=0), EmbeddedText(TextFeatures(), weight=0.5, dimension=3))
    yield "embedding", embedded.fit(TEXTS, labels)
    yield "LexicalModel", LexicalModel(trees).fit(TEXTS, labels)
    yield "spectrum", Pipeline(RRSVM(trees, random_state=0), SpectrumFeatures(p=2)).fit(SEQUENCES, labels)
    kernels = {"spectrum": SpectrumKernel(p=2), "gaps": SubsequenceKernel(p=2)}
    yield "kernel-spectrum", Pipeline(HM3(trees, kernel=kernels["spectrum"], tol=0.1)).fit(SEQUENCES, labels)
    yield "kernel-gaps", Pipeline(Hieron(trees, kernel=kernels["gaps"], random_state=0)).fit(SEQUENCES, labels)


def _wide() -> Taxonomy:
    edges = [("R", top) for top in "AB"] + [(top, f"{top}{i}") for top in "AB" for i in range(12)]
    return Taxonomy.from_edges(edges)


def save_all(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models():
            linnaeus.save(model, folder / name)


# -- mutations ---------------------------------------------------------------------------------------------------------

OTHERS: list[Any] = [
    None, True, False, -1, 0, 1, 3, 2**31, 2**70, 0.5, -1e300, 1e999, "", "x", "nodes_", [], [1], [None], {}, {"a": 1},
    {"$float": "nan"}, {"$float": "inf"}, {"$float": "x"}, {"$array": "nowhere"}, {"$object": "os.system"},
    {"$object": "Calibrator", "fields": {"$dict": []}}, {"$dict": [[["list"], 1]]}, {"$dict": [[1, 2]]},
    {"$strings": ["a", 1], "shape": [2]}, {"$strings": ["a"], "shape": [-1, 7]}, {"$strange": 1},
    {"$sparse": "nowhere", "shape": [1, 1]},
]  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything in a JSON value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _places(value[key], (*path, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def other_value(manifest: Any, arrays: Any, rng: random.Random) -> None:
    places = list(_places(manifest["model"]))
    if rng.random() < 0.7:  # the value of a name, rather than what spells it
        places = [place for place in places if len(place) > 2 and place[-1] == 1 and place[-3] == "$dict"] or places
    *above, key = rng.choice(places)
    _at(manifest["model"], tuple(above))[key] = rng.choice(OTHERS)


def other_number(manifest: Any, arrays: Any, rng: random.Random) -> None:
    model = manifest["model"]
    numbers = [path for path in _places(model) if isinstance(_at(model, path), (int, float))]
    *above, key = rng.choice(numbers or [("$object",)])
    _at(model, tuple(above))[key] = rng.choice([0, 1, 2, 7, -1, 10**6, 0.1, -0.5, 1e30, True])


def other_string(manifest: Any, arrays: Any, rng: random.Random) -> None:
    model = manifest["model"]
    strings = [path for path in _places(model) if isinstance(_at(model, path), str)]
    one, two = rng.choice(strings), rng.choice(strings)
    _at(model, one[:-1])[one[-1]] = _at(model, two)


def no_entry(manifest: Any, arrays: Any, rng: random.Random) -> None:
    places = list(_places(manifest["model"]))
    names = [place for place in places if len(place) > 1 and place[-2] == "$dict"]
    *above, key = rng.choice(names if names and rng.random() < 0.7 else places)
    del _at(manifest["model"], tuple(above))[key]


def other_key(manifest: Any, arrays: Any, rng: random.Random) -> None:
    places = [path for path in _places(manifest["model"]) if isinstance(path[-1], str)]
    *above, key = rng.choice(places)
    holder = _at(manifest["model"], tuple(above))
    holder[rng.choice(["x", "weights_", "$dict", key + "_"])] = holder.pop(key)


def swapped_entries(manifest: Any, arrays: Any, rng: random.Random) -> None:
    model = manifest["model"]
    one, two = rng.choice(list(_places(model))), rng.choice(list(_places(model)))
    if one[: len(two)] != two and two[: len(one)] != one:
        a, b = _at(model, one), _at(model, two)
        _at(model, one[:-1])[one[-1]], _at(model, two[:-1])[two[-1]] = b, a


def manifest_value(manifest: Any, arrays: Any, rng: random.Random) -> None:
    manifest[rng.choice(list(manifest))] = rng.choice(OTHERS)


def _array(arrays: Any, rng: random.Random) -> str:
    keys = sorted(arrays)
    own = [key for key in keys if not key.startswith("taxonomy")]  # mutations of the taxonomy end early
    return rng.choice(own if own and rng.random() < 0.85 else keys)


def other_length(manifest: Any, arrays: Any, rng: random.Random) -> None:
    key = _array(arrays, rng)
    array = np.atleast_1d(arrays[key])
    axis = rng.randrange(array.ndim)
    change = rng.choice(["less", "more", "none", "flat", "turned", "one more axis"])
    arrays[key] = {
        "less": lambda: np.take(array, range(max(0, array.shape[axis] - 1)), axis),
        "more": lambda: np.concatenate([array, np.take(array, range(min(1, array.shape[axis])), axis)], axis),
        "none": lambda: array[:0],
        "flat": lambda: array.ravel(),
        "turned": lambda: np.ascontiguousarray(array.T),
        "one more axis": lambda: array[None],
    }[change]()


def other_dtype(manifest: Any, arrays: Any, rng: random.Random) -> None:
    key = _array(arrays, rng)
    with np.errstate(all="ignore"):
        arrays[key] = arrays[key].astype(rng.choice(sorted(DTYPES.values())))


def odd_entry(manifest: Any, arrays: Any, rng: random.Random) -> None:
    key = _array(arrays, rng)
    array = arrays[key] = arrays[key].copy()
    if not array.size:
        return
    if array.dtype.kind == "f":
        values = [np.nan, np.inf, -np.inf, np.finfo(array.dtype).max, np.finfo(array.dtype).tiny, 0.0, -1.0]
    else:
        limits = (0, 1) if array.dtype.kind == "b" else (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        values = [*limits, 0, 1, int(array.max()), int(array.min())]
        values += [int(array.max()) + 1] if int(array.max()) < limits[1] else []
    for _ in range(rng.choice([1, 1, 3])):
        array.flat[rng.randrange(array.size)] = rng.choice(values)


def shuffled(manifest: Any, arrays: Any, rng: random.Random) -> None:
    key = _array(arrays, rng)
    arrays[key] = arrays[key][::-1].copy() if arrays[key].ndim else arrays[key]


def swapped_arrays(manifest: Any, arrays: Any, rng: random.Random) -> None:
    one, two = _array(arrays, rng), _array(arrays, rng)
    arrays[one], arrays[two] = arrays[two], arrays[one]


def no_array(manifest: Any, arrays: Any, rng: random.Random) -> None:
    del arrays[_array(arrays, rng)]


MANIFEST = [other_value, other_value, other_number, other_number, other_string, no_entry, other_key, swapped_entries]
ARRAYS = [other_length, other_length, other_dtype, odd_entry, odd_entry, odd_entry, shuffled, swapped_arrays, no_array]


def flipped(content: bytes, rng: random.Random) -> bytes:
    """Bits of the arrays file, half of them in its header."""
    changed = bytearray(content)
    header = min(len(content), 8 + int.from_bytes(content[:8], "little"))
    for _ in range(rng.choice([1, 2, 8])):
        changed[rng.randrange(header if rng.random() < 0.5 else len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def lying_header(content: bytes, rng: random.Random) -> bytes:
    """A header that says other types, shapes or places, or is no header."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    entry = header[rng.choice(sorted(header))]
    name = rng.choice(["dtype", "shape", "data_offsets"])
    entry[name] = rng.choice(
        [*OTHERS, [0], [-1], [0, 10**12], [2**62, 2**62], [8, 0], "F64", "U8", "BOOL", "C64", [True, 8]]
    )
    text = json.dumps(header).encode()
    length = rng.choice([len(text), len(text), len(text) - 1, 2**63, 0])
    return length.to_bytes(8, "little") + text + content[end:]


def mutate(source: Path, target: Path, rng: random.Random) -> str:
    """A mutated copy of a model folder, with checksums repaired; returns what was done."""
    manifest = json.loads((source / "manifest.json").read_text("utf-8"))
    (name,) = manifest["files"]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    how = rng.random()
    if how < 0.15:  # the files as bytes
        change: Callable[[bytes, random.Random], bytes] = rng.choice([flipped, flipped, lying_header, truncated])
        content = change((source / name).read_bytes(), rng)
        (target / name).write_bytes(content)
        done = change.__name__
    else:
        from safetensors.numpy import load_file

        arrays = load_file(source / name)
        done = ""
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutation = rng.choice(MANIFEST if how < 0.6 else ARRAYS)
            mutation(manifest, arrays, rng)
            done = f"{done} {mutation.__name__}"
        if rng.random() < 0.03:
            manifest_value(manifest, arrays, rng)
        write_arrays(target / name, arrays)
        content = (target / name).read_bytes()
    files = manifest.get("files")
    if isinstance(files, dict) and name in files and rng.random() < 0.97:
        files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if isinstance(manifest.get("taxonomy"), str) and rng.random() < 0.9:
        manifest["taxonomy"] = None  # a taxonomy with a right fingerprint would be no better
    manifest["checksum"] = _checksum(manifest)
    text = json.dumps(manifest)
    if rng.random() < 0.03:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", "9" * 5000, "[" * 50_000, "NaN", "\udc80", "\0"]) + text[at + 1 :]
    (target / "manifest.json").write_text(text, "utf-8", errors="replace")
    return done.strip()


def truncated(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


# -- asking ------------------------------------------------------------------------------------------------------------


def asked(folder: Path, source: str) -> str:
    """ "ok", "error" for one of our errors, or what went wrong."""
    try:
        model = linnaeus.load(folder)
    except LinnaeusError:
        return "error"
    except Exception:
        return f"load: {_last(traceback.format_exc())}"
    batch = _batch(model, source)
    single = getattr(model, "model_", model)
    for name, ask in {
        "decision_function": lambda: model.decision_function(batch),
        "predict": lambda: model.predict(batch),
        "closed": lambda: model.predict(batch, closed=True),
        "top": lambda: model.top(batch, 3)[1],
        "predict_proba": lambda: model.predict_proba(batch) if hasattr(model, "predict_proba") else 0.0,
        "risk": lambda: model.predict(batch, risk=0.4) if single.risk_control_ is not None else 0.0,
        "nearest": lambda: single.nearest(_row(batch)) if single.kept_ is not None else 0.0,
        "explain": lambda: [step.score for step in model.explain(_row(batch))] if hasattr(single, "explain") else 0.0,
    }.items():
        try:
            found = ask()
        except LinnaeusError:
            if name == "explain" or name == "risk":
                continue  # not every model has it, nor every document a risk that can be kept
            return f"{name}: {_last(traceback.format_exc())}"
        except Exception:
            return f"{name}: {_last(traceback.format_exc())}"
        if name in ("decision_function", "top", "predict_proba", "explain"):
            numbers = np.asarray(found, dtype=np.float64)
            if not np.isfinite(numbers).all():
                return f"{name}: not finite"
    return "ok"


def _batch(model: Any, source: str) -> Any:
    features = getattr(model, "features_", None)
    features = getattr(features, "features_", features)  # those before a map
    features = getattr(features, "values_", features)  # or that several features are made of
    if isinstance(features, TextFeatures):
        names = [*features.weights_, *features.kinds_]
        return TEXTS if len(names) == 1 else dict.fromkeys(names, TEXTS)
    if model.estimator.takes_documents:
        return TEXTS
    if isinstance(features, SpectrumFeatures) or source.startswith("kernel-"):
        return SEQUENCES
    width = len(features.mean_) if features is not None else getattr(model, "model_", model).n_features_in_
    X = np.abs(np.random.default_rng(0).normal(size=(3, min(width, 10_000)))).astype(np.float32)
    return X if features is not None else sparse.csr_array(X * (X > 0.5))


def _row(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {name: values[0] for name, values in batch.items()}
    return batch[0] if isinstance(batch, list) else batch[:1]


def _last(text: str) -> str:
    """The last place of ours in a traceback, and the error."""
    lines = text.strip().splitlines()
    place = [line.strip() for line in lines if "linnaeus" in line and line.strip().startswith("File")]
    return f"{lines[-1][:200]} at {place[-1] if place else '?'}"


def main() -> None:
    folders = sorted(path for path in Path(sys.argv[1]).iterdir())
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(int(sys.argv[2]), int(sys.argv[3])):
            rng = random.Random(f"model folders:{number}")
            source = folders[number % len(folders)]
            print(f"{number}\tstarted", flush=True)
            signal.alarm(60)  # a case that hangs is a failure, too
            done = mutate(source, Path(scratch) / "mutated", rng)
            print(f"{number}\t{asked(Path(scratch) / 'mutated', source.name)}\t{source.name}: {done}", flush=True)
            signal.alarm(0)


if __name__ == "__main__":
    main()
