"""What the decoders are measured against: all closed sets, scores with exact sums, taxonomies renumbered."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.typing import CSR

Set = frozenset[int]


def parents_of(taxonomy: Taxonomy, v: int, *, with_root: bool = False) -> list[int]:
    return [int(p) for p in taxonomy.parents(v) if with_root or p != taxonomy.root]


def closed_sets(taxonomy: Taxonomy, *, with_root: bool = False) -> list[Set]:
    """All closed sets; without the root, or with the root as an ordinary node."""
    nodes = [v for v in range(taxonomy.n_nodes) if with_root or v != taxonomy.root]
    found = []
    for bits in product([False, True], repeat=len(nodes)):
        members = {v for v, bit in zip(nodes, bits, strict=True) if bit}
        if all(members.issuperset(parents_of(taxonomy, v, with_root=with_root)) for v in members):
            found.append(frozenset(members))
    return found


def smallest_best(taxonomy: Taxonomy, weight: np.ndarray, *, with_root: bool = False) -> Set:
    """The best closed set of one document by trying all; of several best ones the smallest."""
    sets = closed_sets(taxonomy, with_root=with_root)
    return max(sets, key=lambda members: (sum(weight[v] for v in members), -len(members)))


def rows(Y: CSR) -> list[Set]:
    """The rows of an answer as sets, after a look at its form."""
    assert Y.dtype == np.int8
    assert Y.has_canonical_format
    assert (Y.data == 1).all()
    return [frozenset(Y.indices[a:b].tolist()) for a, b in pairwise(Y.indptr)]


def exact_scores(n_columns: int, max_docs: int = 3) -> st.SearchStrategy[np.ndarray]:
    """Scores in quarters: every sum is exact, ties are frequent and real."""
    row = st.lists(st.integers(-8, 8), min_size=n_columns, max_size=n_columns)
    return st.lists(row, min_size=1, max_size=max_docs).map(lambda S: np.array(S, dtype=np.float64) / 4)


@st.composite
def some_columns(draw: st.DrawFn, taxonomy: Taxonomy) -> np.ndarray:
    """Some nodes of a taxonomy in any order, at least one."""
    nodes = draw(st.permutations(range(taxonomy.n_nodes)))
    return np.array(nodes[: draw(st.integers(1, taxonomy.n_nodes))])


def renumbered(taxonomy: Taxonomy, seed: int) -> Taxonomy:
    """The same taxonomy with the nodes of every level in another order."""
    order = np.random.default_rng(seed).permutation(taxonomy.n_nodes)
    edges = [(str(taxonomy.names[p]), str(taxonomy.names[v])) for v in order for p in taxonomy.parents(int(v))]
    root = None if taxonomy.root is None else str(taxonomy.names[taxonomy.root])
    nodes = [str(taxonomy.names[v]) for v in order]
    return Taxonomy.from_edges(edges, nodes=nodes, kind=taxonomy.kind, root=root)
