"""Random hierarchies of the same shape, to measure how much of a result is due to the true hierarchy.

On a tree whose leaves are all at the last level every node draws its parent uniformly from the level above, given that
every parent gets a child. The numbers of children are then independent zero-truncated Poisson variables given their
sum: they are drawn until the sum is right, and the children are assigned in random order. Otherwise (leaves at several
levels, several parents) the nodes of each level exchange their parents, and the leaves their names: every parent keeps
its number of children, every level its size.
"""

from __future__ import annotations

import math

import numpy as np

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.names import with_texts_of
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray

__all__ = ["random_like"]


def random_like(taxonomy: Taxonomy, seed: int | np.random.Generator | None = None) -> Taxonomy:
    """A random hierarchy on the same nodes, with the same number of nodes on every level.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    >>> other = random_like(tax, seed=1)
    >>> [len(level) for level in other.levels], sorted(other.names[other.leaves])
    ([1, 2, 4], ['AA', 'AB', 'BA', 'BB'])
    """
    if taxonomy.kind == "graph":
        raise TaxonomyError("random_like: got an undirected graph, which has no levels; expected a tree or a DAG.")
    rng = np.random.default_rng(seed)
    uniform = taxonomy.kind == "tree" and len(set(taxonomy.depth[taxonomy.leaves].tolist())) <= 1
    edges = _drawn_edges(taxonomy, rng) if uniform else _exchanged_edges(taxonomy, rng)
    names = taxonomy.names
    pairs = [(names[p], names[v]) for p, v in edges]
    root = None if taxonomy.root is None else str(names[taxonomy.root])
    shown = taxonomy.display_labels
    labels = None if shown is None else dict(zip(names, shown, strict=True))
    kind = None if taxonomy.kind == "tree" else taxonomy.kind
    made = Taxonomy.from_edges(pairs, nodes=list(names), kind=kind, root=root, display_labels=labels)
    return with_texts_of(made.with_replacements(taxonomy.aliases, taxonomy.deprecated), taxonomy)


def _drawn_edges(taxonomy: Taxonomy, rng: np.random.Generator) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    for above, below in zip(taxonomy.levels, taxonomy.levels[1:], strict=False):
        if len(above):
            parents = np.repeat(above, occupancy(len(below), len(above), rng))
            edges += zip(parents.tolist(), rng.permutation(below).tolist(), strict=True)
    return edges


def _exchanged_edges(taxonomy: Taxonomy, rng: np.random.Generator) -> list[tuple[int, int]]:
    edges = []
    for level in taxonomy.levels:
        takes_from = rng.permutation(level)
        edges += [(int(p), int(v)) for v, u in zip(level, takes_from, strict=True) for p in taxonomy.parents(int(u))]
    leaves = taxonomy.leaves
    renamed = np.arange(taxonomy.n_nodes)
    renamed[leaves] = rng.permutation(leaves)
    return [(int(renamed[p]), int(renamed[v])) for p, v in edges]


def occupancy(n_children: int, n_parents: int, rng: np.random.Generator) -> IntArray:
    """Number of children of each parent if all children choose uniformly, given that every parent has one.

    Examples
    --------
    >>> occupancy(3, 3, np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """
    if n_children < n_parents:
        raise TaxonomyError(f"{n_parents} parents cannot each have a child: there are only {n_children} children.")
    if n_children == n_parents or n_parents == 1:
        return np.full(n_parents, n_children // n_parents)
    chance = _truncated_poisson(n_children / n_parents, n_children - n_parents + 1)
    values = np.arange(1, len(chance) + 1)
    while True:
        counts = rng.choice(values, size=n_parents, p=chance)
        if counts.sum() == n_children:
            return counts


def _truncated_poisson(mean: float, most: int) -> FloatArray:
    """Probabilities of 1..most under the zero-truncated Poisson distribution with this mean (above 1)."""
    low, high = 0.0, mean
    for _ in range(100):  # mean(rate) = rate / (1 - e^-rate) grows with the rate
        rate = 0.5 * (low + high)
        low, high = (rate, high) if rate / -math.expm1(-rate) < mean else (low, rate)
    count = np.arange(1, min(most, int(mean + 40 * math.sqrt(mean) + 40)) + 1, dtype=np.float64)
    logarithm = count * math.log(high) - np.cumsum(np.log(count))
    chance = np.exp(logarithm - logarithm.max())
    return np.asarray(chance / chance.sum())
