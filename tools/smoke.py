"""A smoke test of an installed linnaeus: every model fits, answers, is saved and loaded; the command line runs.

Needs nothing but linnaeus and its dependencies: ``python tools/smoke.py`` in an empty environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import linnaeus
from linnaeus import OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.features import TextFeatures
from linnaeus.registry import MODELS, resolve


def check_models(folder: Path) -> None:
    tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    X = np.repeat(np.eye(4), 5, axis=0) + 0.05 * np.random.default_rng(0).normal(size=(20, 4))
    y = np.repeat(["AA", "AB", "BA", "BB"], 5)
    for name in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = resolve(name)(tax).fit(X, y)
        score = model.score(X, y)
        assert score > 0.6, f"{name}: hierarchical F1 {score:.2f}"
        linnaeus.save(model, folder / name)
        loaded = linnaeus.load(folder / name)
        assert np.array_equal(np.asarray(loaded.predict(X)), np.asarray(model.predict(X))), name


def check_commands(folder: Path) -> None:
    records = [("cats purr", "Cats"), ("dogs bark", "Dogs"), ("oaks grow", "Trees"), ("a cat purrs", "Cats")] * 3
    lines = (json.dumps({"text": text, "labels": [label]}) for text, label in records)
    (folder / "docs.jsonl").write_text("\n".join(lines), "utf-8")
    (folder / "topics.csv").write_text("parent,child\nAnimals,Cats\nAnimals,Dogs\nPlants,Trees\n", "utf-8")
    run = [sys.executable, "-m", "linnaeus"]
    train = ["train", "--taxonomy", "topics.csv", "--data", "docs.jsonl", "--model", "OneVsRestSVM", "--budget", "0"]
    subprocess.run([*run, *train, "--output", "model"], cwd=folder, check=True, capture_output=True)
    asked = [*run, "predict", "model", "--document", "a cat that purrs"]
    said = subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "Cats" in said, said


def main() -> None:
    start = time.perf_counter()
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    assert pipe.predict(["cats"]).tolist() == ["cat"]
    with tempfile.TemporaryDirectory() as folder:
        check_models(Path(folder))
        check_commands(Path(folder))
    seconds = time.perf_counter() - start
    print(f"linnaeus {linnaeus.__version__}: {len(MODELS)} models and the command line work, {seconds:.0f} s")


if __name__ == "__main__":
    main()
