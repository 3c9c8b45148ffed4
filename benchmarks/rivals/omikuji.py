"""Omikuji with its defaults: three trees of label clusters (package omikuji); it takes one document at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def train(X: Any, Y: Any, folder: str) -> None:
    import omikuji

    with tempfile.TemporaryDirectory() as parts:
        file = Path(parts, "train.txt")  # the training of this package reads files only
        with file.open("w") as out:
            out.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
            for i, labels in enumerate(np.split(Y.indices, Y.indptr[1:-1])):
                row = slice(X.indptr[i], X.indptr[i + 1])
                pairs = zip(X.indices[row], X.data[row], strict=True)
                out.write(",".join(map(str, labels)) + "".join(f" {j}:{x:.7g}" for j, x in pairs) + "\n")
        omikuji.Model.train_on_data(str(file), n_threads=1).save(folder)


def load(folder: str) -> Any:
    import omikuji

    return omikuji.Model.load(folder)


def prepare(X: Any) -> Any:
    entries = list(zip(X.indices.tolist(), X.data.tolist(), strict=True))
    return [entries[a:b] for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def top(model: Any, documents: Any, k: int) -> Any:
    return [[label for label, _ in model.predict(row, top_k=k)] for row in documents]
