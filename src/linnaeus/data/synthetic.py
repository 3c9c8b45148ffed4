"""Synthetic documents with labels from a tree, for tests, examples and experiments with a known solution.

A perfect tree of ``fan_out`` children per node and ``depth`` levels below the root. Every node has a random vector,
w_v ~ N(0, 2^-depth(v) I), deeper ones smaller; a leaf has the sum along its path, the root's included. A document is
x ~ N(0, I); its labels are all leaves y with W_y'x > 0, and it is kept if it has at least one and fewer than the square
root of all. So siblings are similar, and labels overlap. Based on the experiments in Cai's thesis (2008), which does
not specify the variances, the minimum number of labels, and the scaling of documents.
"""

from __future__ import annotations

import math

import numpy as np

from linnaeus.errors import check_number
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = ["overlapping", "perfect_tree"]

_BATCH = 1024


def perfect_tree(fan_out: int = 3, depth: int = 3) -> Taxonomy:
    """A tree with ``fan_out`` children at every inner node, named by their path from the root.

    Examples
    --------
    >>> perfect_tree(2, 2).names.tolist()
    ['root', '0', '1', '0.0', '0.1', '1.0', '1.1']
    """
    check_number("fan_out", fan_out, least=1, whole=True)
    check_number("depth", depth, least=1, whole=True)
    edges, level = [], [""]
    for _ in range(depth):
        below = [(node, f"{node}.{i}".lstrip(".")) for node in level for i in range(fan_out)]
        edges += [(parent or "root", child) for parent, child in below]
        level = [child for _, child in below]
    return Taxonomy.from_edges(edges, root="root")


def overlapping(
    n_docs: int = 200,
    *,
    fan_out: int = 3,
    depth: int = 3,
    n_features: int = 20,
    seed: int | np.random.Generator | None = None,
) -> tuple[FloatArray, list[list[str]], Taxonomy]:
    """Documents (n_docs x n_features), their labels, and the tree.

    Examples
    --------
    >>> X, labels, tax = overlapping(50, seed=0)
    >>> X.shape, tax, max(map(len, labels))
    ((50, 20), Taxonomy(tree, 40 nodes, 27 leaves, depth 3), 5)
    """
    check_number("n_docs", n_docs, least=1, whole=True)
    check_number("n_features", n_features, least=1, whole=True)
    rng = np.random.default_rng(seed)
    tax = perfect_tree(fan_out, depth)
    w = rng.normal(size=(tax.n_nodes, n_features)) * 2.0 ** (-0.5 * tax.depth[:, None])
    leaves = tax.leaves
    W = np.array([w[tax.ancestors(int(leaf))].sum(axis=0) for leaf in leaves]) + w[tax.root]
    most = math.sqrt(len(leaves))
    kept: list[FloatArray] = []
    labels: list[list[str]] = []
    while len(labels) < n_docs:
        drawn = rng.normal(size=(_BATCH, n_features))
        positive = drawn @ W.T > 0
        count = positive.sum(axis=1)
        for i in np.flatnonzero((count >= 1) & (count < most)):
            kept.append(drawn[i])
            labels.append([str(name) for name in tax.names[leaves[positive[i]]]])
    return np.array(kept[:n_docs]), labels[:n_docs], tax
