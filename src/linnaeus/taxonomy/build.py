"""From pairs, paths or lists of names to a taxonomy in level order; cycles and orphans are named here."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from linnaeus.errors import TaxonomyError, nearest
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["assemble", "from_edges", "from_paths", "with_misc_leaves"]


def from_edges(
    edges: Iterable[tuple[Hashable, Hashable]],
    *,
    nodes: Iterable[Hashable] = (),
    kind: str | None = None,
    root: str | None = "auto",
    display_labels: Mapping[str, str] | None = None,
) -> Taxonomy:
    """A taxonomy from (parent, child) pairs; see `Taxonomy.from_edges`."""
    index: dict[str, int] = {}
    parent: list[int] = []
    child: list[int] = []
    for node in nodes:
        index.setdefault(str(node), len(index))
    for above, below in edges:
        parent.append(index.setdefault(str(above), len(index)))
        child.append(index.setdefault(str(below), len(index)))
    shown = None if not display_labels else [display_labels.get(name, "") for name in index]
    return assemble(list(index), np.array(parent, np.int32), np.array(child, np.int32), kind, root, shown)


def from_paths(paths: Iterable[Sequence[Hashable]], *, separator: str | None = None) -> Taxonomy:
    """A taxonomy from paths of names, top first; see `Taxonomy.from_paths`."""
    nodes: dict[str, str] = {}
    edges: dict[tuple[str, str], None] = {}
    for path in paths:
        steps = [str(step) for step in path]
        names = steps if separator is None else [separator.join(steps[: i + 1]) for i in range(len(steps))]
        nodes.update(zip(names, steps, strict=True))
        edges.update(dict.fromkeys(itertools.pairwise(names)))
    return from_edges(edges, nodes=nodes, root=None, display_labels=None if separator is None else nodes)


def assemble(
    names: Sequence[str],
    parent: IntArray,
    child: IntArray,
    kind: str | None = None,
    root: str | None = "auto",
    display_labels: Sequence[str] | None = None,
) -> Taxonomy:
    """A taxonomy from numbered edges ``parent[e] -> child[e]`` over ``names`` in any order."""
    from linnaeus._kernels.graph import topological_depth

    n = len(names)
    if not n:
        raise TaxonomyError("The taxonomy is empty: it needs at least one node.")
    if kind not in (None, "tree", "dag", "graph"):
        raise TaxonomyError(
            f"kind={kind!r} is not one of 'tree', 'dag', 'graph'{nearest(str(kind), ['tree', 'dag', 'graph'])}"
        )
    pairs = np.unique(parent.astype(np.int64) * n + child)
    if kind == "graph":
        a, b = pairs // n, pairs % n
        both = np.unique(np.concatenate([a * n + b, b * n + a])[np.concatenate([a != b, a != b])])
        return Taxonomy(names, *_csr(both // n, both % n, n), kind="graph", display_labels=display_labels)

    above, below = (pairs // n).astype(np.int32), (pairs % n).astype(np.int32)
    n_parents = np.bincount(below, minlength=n).astype(np.int32)
    depth = topological_depth(*_csr(above, below, n), n_parents)
    if (depth < 0).any():
        raise TaxonomyError(f"The taxonomy has a cycle: {_name_cycle(names, above, below, depth)}.")
    root_number = _find_root(names, n_parents, above, root)
    order = np.lexsort((np.arange(n), depth))
    number = np.empty(n, dtype=np.int32)
    number[order] = np.arange(n, dtype=np.int32)
    found = "dag" if (n_parents > 1).any() else "tree"
    if kind == "tree" and found == "dag":
        v = int(np.flatnonzero(n_parents > 1)[0])
        two = [names[p] for p in above[below == v][:2]]
        raise TaxonomyError(f"Not a tree: node {names[v]!r} has the parents {two[0]!r} and {two[1]!r}; use kind='dag'.")
    return Taxonomy(
        [names[i] for i in order],
        *_csr(number[below], number[above], n),
        root=None if root_number is None else int(number[root_number]),
        kind=kind or found,
        display_labels=None if display_labels is None else [display_labels[i] for i in order],
    )


def _csr(row: IntArray, column: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """CSR arrays of pairs, rows and columns sorted."""
    order = np.lexsort((column, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
    return indptr, np.ascontiguousarray(column[order], dtype=np.int32)


def _find_root(names: Sequence[str], n_parents: IntArray, above: IntArray, root: str | None) -> int | None:
    parentless = np.flatnonzero(n_parents == 0).tolist()
    if root is None:
        return None
    if root != "auto":
        wanted = [i for i in parentless if names[i] == root]
        if not wanted:
            raise TaxonomyError(
                f"Root {root!r} is not a node without parents{nearest(root, [names[i] for i in parentless])}"
            )
        orphans = [names[i] for i in parentless if names[i] != root]
        if orphans:
            some = ", ".join(map(repr, orphans[:5])) + (", ..." if len(orphans) > 5 else "")
            raise TaxonomyError(f"{len(orphans)} orphans are not below the root {root!r}: {some}.")
        return int(wanted[0])
    only = parentless[0] if len(parentless) == 1 else None
    return int(only) if only is not None and (above == only).any() else None


def _name_cycle(names: Sequence[str], above: IntArray, below: IntArray, depth: IntArray) -> str:
    """Walk up among the nodes that the topological order could not reach, until one comes again."""
    parent_of = {int(c): int(p) for p, c in zip(above, below, strict=True) if depth[p] < 0 and depth[c] < 0}
    # A node merely below a cycle has an unreached parent too, so walking up always ends in the cycle itself.
    node = next(iter(parent_of))
    seen: dict[int, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        node = parent_of[node]
    cycle = [v for v, position in seen.items() if position >= seen[node]][::-1]
    shown = [names[v] for v in cycle[:10]] + (["..."] if len(cycle) > 10 else []) + [names[cycle[0]]]
    return " > ".join(shown)


def with_misc_leaves(taxonomy: Taxonomy, nodes: Iterable[str | int] | None = None) -> Taxonomy:
    """One more leaf ``<name>/self`` under each internal node of ``nodes``; see `Taxonomy.with_misc_leaves`."""
    chosen = taxonomy.names if nodes is None else nodes
    internal = [v for v in dict.fromkeys(map(taxonomy.index, chosen)) if not taxonomy.is_leaf[v]]
    if nodes is None:
        internal = [v for v in internal if v != taxonomy.root]
    n = taxonomy.n_nodes
    names = [*taxonomy.names, *(f"{taxonomy.names[v]}/self" for v in internal)]
    taken = [name for name in names[n:] if name in taxonomy]
    if taken:
        raise TaxonomyError(f"Cannot add the leaf {taken[0]!r}: a node of that name exists already.")
    child = np.repeat(np.arange(n), np.diff(taxonomy.parent_indptr))
    shown = taxonomy.display_labels
    return assemble(
        names,
        np.concatenate([taxonomy.parent_indices, np.array(internal, dtype=np.int32)]),
        np.concatenate([child, np.arange(n, n + len(internal))]),
        taxonomy.kind,
        None if taxonomy.root is None else taxonomy.names[taxonomy.root],
        None if shown is None else [*shown, *(shown[v] for v in internal)],
    )
