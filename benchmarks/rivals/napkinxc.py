"""napkinXC's probabilistic label tree with its defaults (package napkinxc)."""

from __future__ import annotations

from typing import Any

import numpy as np


def train(X: Any, Y: Any, folder: str) -> None:
    from napkinxc.models import PLT

    labels = [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]
    PLT(folder, threads=1, verbose=False).fit(X, labels)


def load(folder: str) -> Any:
    from napkinxc.models import PLT

    model = PLT(folder, threads=1, verbose=False)
    model.load()
    return model


def prepare(X: Any) -> Any:
    return X


def top(model: Any, X: Any, k: int) -> Any:
    return model.predict(X, top_k=k)
