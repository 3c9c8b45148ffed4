"""PECOS XR-Linear with its defaults: a tree of label clusters, beam search (package libpecos)."""

from __future__ import annotations

from typing import Any

import numpy as np


def train(X: Any, Y: Any, folder: str) -> None:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    Y = Y.astype(np.float32)
    clusters = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"))
    XLinearModel.train(X, Y, C=clusters, threads=1).save(folder)


def load(folder: str) -> Any:
    from pecos.xmc.xlinear.model import XLinearModel

    return XLinearModel.load(folder, is_predict_only=True)


def prepare(X: Any) -> Any:
    return X


def top(model: Any, X: Any, k: int) -> Any:
    found = model.predict(X, only_topk=k, threads=1)
    if X.shape[0] == 1:
        return [found.indices]
    order = np.argsort(-found.data.reshape(X.shape[0], k), axis=1)  # rows come sorted by column
    return np.take_along_axis(found.indices.reshape(X.shape[0], k), order, axis=1)
