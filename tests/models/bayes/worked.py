"""The five-node tree of the worked examples: root 0, node 1 under it with leaves 2 and 3, leaf 4 under the root."""

from __future__ import annotations

import numpy as np

from linnaeus.models.bayes.precisions import Owners, Precisions
from linnaeus.models.label_tree import LabelTree

TREE = LabelTree(np.array([-1, 0, 1, 1, 0]), np.array([2, 3, 4]), np.arange(5))
X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
Y = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
ONES = np.ones(4)


def ones(model: str, tree: LabelTree = TREE, n_features: int = 2) -> Precisions:
    """Every prior Gamma(1, 1)."""
    owners = Owners(model, tree, n_features)
    shape = (len(owners.vertices), n_features if model == "M2" else 1)
    return Precisions.start(owners, np.ones(shape), np.ones(shape))


def random_tree(rng: np.random.Generator, n_inner: int = 4, n_leaves: int = 5) -> LabelTree:
    """Inner vertices first, every one with something below it."""
    parent = [-1, *(int(rng.integers(v)) for v in range(1, n_inner))]
    childless = [v for v in range(n_inner) if v not in parent]
    parent += [*childless, *(int(rng.integers(n_inner)) for _ in range(n_leaves))]
    leaves = np.arange(n_inner, len(parent))
    return LabelTree(np.array(parent), leaves, np.arange(len(parent)))
