"""Hypothesis strategies shared by the tests: small random taxonomies and label sets."""

from __future__ import annotations

from hypothesis import strategies as st

from linnaeus import Taxonomy


@st.composite
def taxonomies(
    draw: st.DrawFn, max_nodes: int = 7, kinds: tuple[str, ...] = ("tree", "dag"), rooted: bool | None = None
) -> Taxonomy:
    """A random tree or DAG of 1..max_nodes nodes, with a root or as a forest."""
    kind = draw(st.sampled_from(kinds))
    n = draw(st.integers(1, max_nodes))
    with_root = draw(st.booleans()) if rooted is None else rooted
    edges = []
    for v in range(1, n):
        most = 1 if kind == "tree" else min(v, 3)
        least = 1 if with_root else 0
        for p in draw(st.sets(st.integers(0, v - 1), min_size=least, max_size=most)):
            edges.append((f"n{p}", f"n{v}"))
    root = "n0" if with_root and n > 1 else None
    return Taxonomy.from_edges(
        edges, nodes=[f"n{v}" for v in range(n)], root=root, kind=None if kind == "tree" else kind
    )


def label_sets(taxonomy: Taxonomy, max_docs: int = 4) -> st.SearchStrategy[list[list[str]]]:
    """Lists of label lists over the nodes of a taxonomy, empty ones included."""
    one = st.lists(st.sampled_from(list(taxonomy.names)), unique=True, max_size=taxonomy.n_nodes)
    return st.lists(one, min_size=1, max_size=max_docs)
