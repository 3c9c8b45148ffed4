"""From pairs, paths or lists of names to a taxonomy in level order; what is wrong is named."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from linnaeus.errors import TaxonomyError, nearest
from linnaeus.taxonomy.pairs import Pairs
from linnaeus.taxonomy.rows import pointers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["assemble", "edge_names", "from_edges", "from_pairs", "from_paths", "with_misc_leaves"]


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
        if node is None:
            raise TaxonomyError("A node is None; expected a name.")
        index.setdefault(str(node), len(index))
    for pair in edges:
        above, below = edge_names(pair)
        parent.append(index.setdefault(above, len(index)))
        child.append(index.setdefault(below, len(index)))
    shown = None if not display_labels else [display_labels.get(name, "") for name in index]
    return assemble(list(index), np.array(parent, np.int32), np.array(child, np.int32), kind, root, shown)


def edge_names(pair: tuple[Hashable, Hashable]) -> tuple[str, str]:
    """The names of a (parent, child) pair as text; what is no name is an error.

    Examples
    --------
    >>> edge_names(("Sports", 7))
    ('Sports', '7')
    >>> edge_names((None, "Sports"))
    Traceback (most recent call last):
    linnaeus.errors.TaxonomyError: The pair (None, 'Sports') has no parent; a node at the top needs no pair (nodes=).
    """
    above, below = pair
    if _no_name(above) or _no_name(below):
        hint = "parent; a node at the top needs no pair (nodes=)" if _no_name(above) else "child"
        raise TaxonomyError(f"The pair ({above!r}, {below!r}) has no {hint}.")
    return str(above), str(below)


def _no_name(value: object) -> bool:
    """None, an empty text, or the not-a-number that tables have where nothing is."""
    return value is None or value == "" or (isinstance(value, float) and value != value)


def from_paths(paths: Iterable[Sequence[Hashable]], *, separator: str | None = None) -> Taxonomy:
    """A taxonomy from paths of names, top first; see `Taxonomy.from_paths`."""
    nodes: dict[str, str] = {}
    edges: dict[tuple[str, str], None] = {}
    for path in paths:
        steps = _steps(path)
        names = steps if separator is None else [separator.join(steps[: i + 1]) for i in range(len(steps))]
        nodes.update(zip(names, steps, strict=True))
        edges.update(dict.fromkeys(itertools.pairwise(names)))
    return from_edges(edges, nodes=nodes, root=None, display_labels=None if separator is None else nodes)


def _steps(path: Sequence[Hashable]) -> list[str]:
    """The names of a path; what is empty at its end only fills it up."""
    steps = list(path)
    while steps and _no_name(steps[-1]):
        steps.pop()
    gap = next((i for i, step in enumerate(steps) if _no_name(step)), None)
    if gap is not None:
        raise TaxonomyError(f"Step {gap + 1} of the path {steps!r} is empty; only the end of a path may be.")
    return [str(step) for step in steps]


def assemble(
    names: Sequence[str],
    parent: IntArray,
    child: IntArray,
    kind: str | None = None,
    root: str | None = "auto",
    display_labels: Sequence[str] | None = None,
) -> Taxonomy:
    """A taxonomy from numbered edges ``parent[e] -> child[e]`` over ``names`` in any order."""
    return from_pairs(Pairs(names, parent, child), kind, root, display_labels)


def from_pairs(
    pairs: Pairs, kind: str | None = None, root: str | None = "auto", display_labels: Sequence[str] | None = None
) -> Taxonomy:
    """A taxonomy from pairs; the first thing wrong with them is raised."""
    from linnaeus._kernels.graph import topological_depth

    names, above, below = pairs.names, pairs.parent, pairs.child
    _check_names(pairs, display_labels)
    if kind not in (None, "tree", "dag", "graph"):
        raise TaxonomyError(
            f"kind={kind!r} is not one of 'tree', 'dag', 'graph'{nearest(str(kind), ['tree', 'dag', 'graph'])}"
        )
    n = len(names)
    if kind == "graph":
        both = np.unique(np.concatenate([above.astype(np.int64) * n + below, below.astype(np.int64) * n + above]))
        return Taxonomy(names, *_csr(both // n, both % n, n), kind="graph", display_labels=display_labels)

    pairs.refuse_loops()
    depth = topological_depth(*_csr(above, below, n), pairs.n_parents.astype(np.int32))
    if (depth < 0).any():
        pairs.refuse_cycles()
    if kind == "tree":
        pairs.refuse_second_parents()
    root_number = _find_root(pairs, root)
    order = np.lexsort((np.arange(n), depth))
    number = np.empty(n, dtype=np.int32)
    number[order] = np.arange(n, dtype=np.int32)
    return Taxonomy(
        [names[i] for i in order],
        *_csr(number[below], number[above], n),
        root=None if root_number is None else int(number[root_number]),
        kind=kind or ("dag" if (pairs.n_parents > 1).any() else "tree"),
        display_labels=None if display_labels is None else [display_labels[i] for i in order],
    )


def _check_names(pairs: Pairs, display_labels: Sequence[str] | None) -> None:
    if not pairs.names:
        raise pairs.error("the taxonomy is empty: it needs at least one node.")
    odd = next((name for name in pairs.names if "\0" in name), None)
    if odd is not None:
        raise pairs.error(f"the name {odd[:60]!r} holds a zero character; names are text.")
    for text in (pairs.names, display_labels or ()):
        try:
            "".join(text).encode()
        except UnicodeEncodeError as wrong:
            half = wrong.object[wrong.start]
            odd = next(name for name in text if half in name)
            raise pairs.error(f"{odd[:60]!r} holds half of a character ({half!r}), which is not text.") from None


def _csr(row: IntArray, column: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """CSR arrays of pairs, rows and columns sorted."""
    order = np.lexsort((column, row))
    return pointers(np.bincount(row, minlength=n)), np.ascontiguousarray(column[order], dtype=np.int32)


def _find_root(pairs: Pairs, root: str | None) -> int | None:
    names, parentless = pairs.names, np.flatnonzero(pairs.n_parents == 0).tolist()
    if root is None:
        return None
    if root != "auto":
        wanted = [i for i in parentless if names[i] == root]
        if not wanted:
            hint = nearest(root, [names[i] for i in parentless])
            raise pairs.error(f"root {root!r} is not a node without parents{hint}")
        orphans = [names[i] for i in parentless if names[i] != root]
        if orphans:
            some = ", ".join(map(repr, orphans[:5])) + (", ..." if len(orphans) > 5 else "")
            raise pairs.error(f"{len(orphans)} orphans are not below the root {root!r}: {some}.")
        return int(wanted[0])
    only = parentless[0] if len(parentless) == 1 else None
    return int(only) if only is not None and pairs.n_children[only] else None


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
    parent, child = taxonomy.edges
    shown = taxonomy.display_labels
    made = assemble(
        names,
        np.concatenate([parent, np.array(internal, dtype=np.int32)]),
        np.concatenate([child, np.arange(n, n + len(internal), dtype=np.int32)]),
        taxonomy.kind,
        None if taxonomy.root is None else taxonomy.names[taxonomy.root],
        None if shown is None else [*shown, *(shown[v] for v in internal)],
    )
    return made.with_replacements(taxonomy.aliases, taxonomy.deprecated)
