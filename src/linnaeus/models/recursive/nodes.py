"""Weights of nodes that are no labels: what the regulariser makes of them, given the weights of all labels.

Inner vertices without a loss stand at the mean of their neighbours. All of them together solve A x = B w (A the
network's Laplacian with its anchors, B the links of the leaves), so that one row of A^-1 B tells how much of each
label's weights a node has. A node without documents and children has exactly its parents' weights.
"""

from __future__ import annotations

import numpy as np

from linnaeus.models.recursive.links import Links
from linnaeus.typing import FloatArray

__all__ = ["shares_of_leaves"]


def shares_of_leaves(links: Links, vertices: list[int]) -> FloatArray:
    """How much of each leaf's weights the mean of some inner vertices has at the optimum.

    Examples
    --------
    >>> links = Links()
    >>> root, node = links.add_inner(), links.add_inner()
    >>> links.join(root, node)
    >>> links.anchor[root] = 1.0
    >>> links.add_leaf({node: 1.0})
    >>> links.add_leaf({node: 1.0})
    >>> shares_of_leaves(links, [node]).tolist()  # two leaves, and half a link to zero
    [0.4, 0.4]
    """
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    n = len(links.inner)
    degree = np.array(links.anchor, np.float64)
    entries = [(u, v, -weight) for u, near in enumerate(links.inner) for v, weight in near.items()]
    for u, near in enumerate(links.inner):
        degree[u] += sum(near.values())
    for near in links.leaves:
        for u, weight in near.items():
            degree[u] += weight
    entries += [(u, u, float(total)) for u, total in enumerate(degree)]
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    laplacian = sparse.csc_array(sparse.coo_array((values, (rows, columns)), shape=(n, n)))
    unit = np.zeros(n)
    unit[vertices] = 1 / len(vertices)
    reach = np.atleast_1d(spsolve(laplacian, unit))
    return np.array([sum(weight * reach[u] for u, weight in near.items()) for near in links.leaves])
