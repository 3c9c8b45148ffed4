"""Problems of the size of DMOZ-2010 and of the large Wikipedia set, made on the device.

A random tree; class sizes and word frequencies after Zipf. Every node has some words of its own; a document draws its
words in part from all words, in part from the nodes on the path to its class. Values are TF-IDF of unit length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOPICAL, WORDS, DRAWS = 0.6, 64, 1.35


@dataclass(frozen=True)
class Size:
    """What a data set is as large as."""

    n_docs: int
    n_features: int
    n_words: int
    n_leaves: int
    n_nodes: int
    several: float = 0.0  # share of the leaves with a second parent


DMOZ_2010 = Size(128_710, 381_580, 70, 12_294, 15_358)
LWIKI = Size(2_365_436, 1_617_899, 43, 325_056, 478_020, several=0.1)


@dataclass
class Made:
    """X (CSR), the leaf of every document, the parent of every node (inner nodes first), second parents of leaves."""

    X: Any
    leaf: Any
    parent: Any
    second: dict[int, int]
    n_inner: int


def make(size: Size, device: str, seed: int = 0) -> Made:
    """A problem of some size."""
    import torch
    from scipy import sparse

    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    n_inner = size.n_nodes - size.n_leaves
    parent = np.full(size.n_nodes, -1)
    parent[1:n_inner] = (np.arange(1, n_inner) * rng.random(n_inner - 1) ** 1.5).astype(int)
    weight = 1 / np.arange(1, n_inner + 1) ** 0.3
    parent[n_inner:] = rng.permutation(rng.choice(n_inner, size.n_leaves, p=weight / weight.sum()))
    path = [np.arange(n_inner, size.n_nodes)]
    while (path[-1] > 0).any():
        path.append(np.where(path[-1] > 0, parent[path[-1]], 0))
    paths = torch.as_tensor(np.stack(path, 1)[:, :-1], device=device)
    sizes = 1 / np.arange(1, size.n_leaves + 1)
    more = rng.choice(size.n_leaves, size.n_docs - size.n_leaves, p=sizes / sizes.sum())
    leaf = torch.as_tensor(np.concatenate([np.arange(size.n_leaves), more]), device=device)

    def zipf(shape: tuple[int, ...], low: int) -> Any:
        u = torch.rand(shape, device=device)
        return (low * torch.exp(u * np.log(size.n_features / low))).long().clamp(max=size.n_features - 1)

    topics = zipf((size.n_nodes, WORDS), 200)
    draws = int(size.n_words * DRAWS)
    words = zipf((size.n_docs, draws), 1)
    for column in range(draws):
        own = torch.rand(size.n_docs, device=device) < TOPICAL
        level = (torch.rand(size.n_docs, device=device) * paths.shape[1]).long()
        at = (WORDS * torch.rand(size.n_docs, device=device) ** 2).long()
        words[:, column] = torch.where(own, topics[paths[leaf, level], at], words[:, column])
    words = words.sort(1).values
    new = torch.ones_like(words, dtype=torch.bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    new &= new.cumsum(1) <= size.n_words
    indices, indptr = words[new], np.concatenate([[0], new.sum(1).cumsum(0).cpu().numpy()])
    frequency = torch.bincount(indices, minlength=size.n_features)
    values = torch.log(size.n_docs / frequency.clamp(min=1).float())[indices] + 1
    X = sparse.csr_array(
        (values.cpu().numpy(), indices.to(torch.int32).cpu().numpy(), indptr), shape=(size.n_docs, size.n_features)
    )
    norm = np.sqrt(np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[:-1]))
    X.data /= np.repeat(norm, np.diff(X.indptr)).astype(np.float32)
    chosen = np.flatnonzero(rng.random(size.n_leaves) < size.several)
    second = {int(n_inner + i): int(p) for i, p in zip(chosen, rng.integers(1, n_inner, len(chosen)), strict=True)}
    return Made(X, leaf.cpu().numpy(), parent, second, n_inner)


def network(made: Made, leaves: Any) -> tuple[Any, Any, Any]:
    """(order of the leaves, network, E) of some leaves and the vertices above them."""
    from linnaeus.models.gpu.inner import inner_matrix
    from linnaeus.models.recursive.network import Links, in_order, leaf_order, make_network, reduce_links

    def links_of(chosen: Any) -> Links:
        used = {0}
        for leaf in chosen:
            for v in (int(made.parent[made.n_inner + leaf]), made.second.get(made.n_inner + int(leaf), 0)):
                while v > 0 and v not in used:
                    used.add(v)
                    v = int(made.parent[v])
        links, number = Links(), {}
        for v in sorted(used):
            number[v] = links.add_inner(v)
        links.anchor[number[0]] = 1.0
        for v in used - {0}:
            links.join(number[v], number[int(made.parent[v])])
        for leaf in chosen:
            above = {int(made.parent[made.n_inner + leaf]), made.second.get(made.n_inner + int(leaf), -1)} - {-1}
            links.add_leaf({number[v]: 1.0 for v in above})
        return links

    order = np.asarray(leaves)[leaf_order(reduce_links(links_of(leaves)))]
    reduced = in_order(reduce_links(links_of(order)))
    return order, make_network(reduced, np.float32), inner_matrix(reduced)


def positives(made: Made, leaves: Any) -> Any:
    """n_docs x leaves, CSC of 0 and 1."""
    from scipy import sparse

    place = np.full(made.leaf.max() + 1, -1)
    place[leaves] = np.arange(len(leaves))
    docs = np.flatnonzero(place[made.leaf] >= 0)
    ones = np.ones(len(docs), np.int8)
    return sparse.csc_array((ones, (docs, place[made.leaf[docs]])), shape=(len(made.leaf), len(leaves)))
