"""What is odd about a taxonomy, and about labels that should fit it; broken taxonomies are examined whole.

Findings have a severity: an *error* stops models from working, a *warning* is probably a mistake, an *info* is
worth knowing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from linnaeus.errors import nearest, place
from linnaeus.taxonomy.formats.draft import Draft, strong_components
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, IntArray

__all__ = ["Finding", "Report", "check"]

EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One kind of oddity: how bad, what, how many, and a few of them by name."""

    severity: str
    code: str
    message: str
    count: int
    examples: list[str]


@dataclass(frozen=True)
class Report:
    """All findings, worst first, and a summary of the shape."""

    summary: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not any(finding.severity == "error" for finding in self.findings)

    def find(self, code: str) -> Finding | None:
        """The finding of a code, if there is one."""
        return next((finding for finding in self.findings if finding.code == code), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"ok": self.ok, **asdict(self)}


def check(
    source: Taxonomy | Draft | Iterable[tuple[Hashable, Hashable]],
    labels: Iterable[Iterable[str]] | None = None,
    *,
    min_examples: int = 5,
) -> Report:
    """Look for oddities in a taxonomy, a draft of one (`formats.draft`) or (parent, child) pairs.

    Parameters
    ----------
    labels : the labels of every document; adds what concerns data.
    min_examples : a leaf with fewer documents is starving.

    Examples
    --------
    >>> report = check([("A", "B"), ("B", "C"), ("C", "B")])
    >>> report.ok, report.findings[0].code, report.findings[0].examples
    (False, 'cycle', ['B > C > B'])
    """
    view = _View(source)
    findings = [*_pairs(view), *_cycles(view), *_shape(view), *_shown(view)]
    if labels is not None:
        findings += _data(view, labels, min_examples)
    order = ("error", "warning", "info")
    findings.sort(key=lambda finding: order.index(finding.severity))
    return Report(_summary(view), findings)


class _View:
    """The arrays the checks look at, whatever they come from: distinct pairs without loops, sorted by child."""

    def __init__(self, source: Taxonomy | Draft | Iterable[tuple[Hashable, Hashable]]) -> None:
        if isinstance(source, Taxonomy):
            self._from_taxonomy(source)
        else:
            self._from_draft(source if isinstance(source, Draft) else _drawn(source))
        n = len(self.names)
        self.loops = np.flatnonzero(self.given_parent == self.given_child)
        code = self.given_child.astype(np.int64) * n + self.given_parent
        distinct, self.first = np.unique(code, return_index=True)
        self.repeated = np.setdiff1d(np.arange(len(code)), self.first)
        apart = distinct // max(n, 1) != distinct % max(n, 1)
        distinct, self.first = distinct[apart], self.first[apart]
        self.child = (distinct // max(n, 1)).astype(np.int32)
        self.parent = (distinct % max(n, 1)).astype(np.int32)
        self.n_parents = np.bincount(self.child, minlength=n)
        self.n_children = np.bincount(self.parent, minlength=n)
        self.parent_indptr = np.concatenate([[0], np.cumsum(self.n_parents)]).astype(np.int64)
        self.component = strong_components(self.parent, self.child, n)
        self.circular: BoolArray = np.bincount(self.component)[self.component] > 1

    given_parent: IntArray
    given_child: IntArray
    lines: IntArray

    def _from_taxonomy(self, taxonomy: Taxonomy) -> None:
        self.names = [str(name) for name in taxonomy.names]
        self.shown = None if taxonomy.display_labels is None else list(taxonomy.display_labels)
        child = np.repeat(np.arange(taxonomy.n_nodes, dtype=np.int32), np.diff(taxonomy.parent_indptr))
        keep = slice(None) if taxonomy.kind != "graph" else taxonomy.parent_indices < child
        self.given_parent, self.given_child = taxonomy.parent_indices[keep], child[keep]
        self.lines = np.zeros(len(self.given_child), dtype=np.int32)
        self.source: str | None = None
        self.declared: set[str] = set()
        self.directed = taxonomy.kind != "graph"
        self.repeats = True

    def _from_draft(self, draft: Draft) -> None:
        self.names = list(draft.index)
        self.shown = [draft.labels.get(name, "") for name in self.names] if draft.labels else None
        self.given_parent, self.given_child, self.lines = draft.pairs()
        self.source = draft.source
        self.declared = draft.declared
        self.directed = draft.kind != "graph"
        self.repeats = draft.repeats

    def pair(self, e: int) -> str:
        """A given pair with its place."""
        text = f"{self.names[self.given_parent[e]]} > {self.names[self.given_child[e]]}"
        return f"{text} ({place(self.source, int(self.lines[e]))})" if self.lines[e] else text

    def some(self, nodes: IntArray) -> list[str]:
        return [self.names[v] for v in nodes[:EXAMPLES]]


def _drawn(edges: Iterable[tuple[Hashable, Hashable]]) -> Draft:
    draft = Draft()
    for above, below in edges:
        draft.edge(str(above), str(below))
    return draft


def _finding(severity: str, code: str, message: str, count: int, examples: list[str]) -> list[Finding]:
    return [Finding(severity, code, message, count, examples[:EXAMPLES])] if count else []


def _pairs(view: _View) -> list[Finding]:
    """Oddities of single pairs: loops, repetitions, parents without a line of their own."""
    loops = [view.pair(int(e)) for e in view.loops[:EXAMPLES]]
    found = _finding("error", "self-loop", "nodes that are their own parent", len(view.loops), loops)
    if not view.repeats:
        again = [view.pair(int(e)) for e in view.repeated[:EXAMPLES]]
        found += _finding("error", "duplicate-edge", "pairs given more than once", len(view.repeated), again)
    if view.declared:
        known = view.n_parents > 0
        known[[v for v, name in enumerate(view.names) if name in view.declared]] = True
        unknown = np.flatnonzero(~known & (view.n_children > 0))
        pool = [name for name, there in zip(view.names, known, strict=True) if there]
        named = [view.names[v] + nearest(view.names[v], pool) for v in unknown[:EXAMPLES]]
        found += _finding("error", "unknown-parent", "parents that are not declared", len(unknown), named)
    return found


def _cycles(view: _View) -> list[Finding]:
    """One cycle for every strongly connected component; an undirected graph has none to speak of."""
    if not view.directed or not view.circular.any():
        return []
    inside = view.component[view.parent] == view.component[view.child]
    above = dict(zip(view.child[inside].tolist(), view.parent[inside].tolist(), strict=True))
    components, first = np.unique(view.component[view.circular], return_index=True)
    starts = np.flatnonzero(view.circular)[np.sort(first)]
    named = [_cycle(view, above, int(start)) for start in starts[:EXAMPLES]]
    return _finding("error", "cycle", "cycles", len(components), named)


def _cycle(view: _View, above: dict[int, int], node: int) -> str:
    seen: dict[int, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        node = above[node]
    cycle = [v for v, position in seen.items() if position >= seen[node]][::-1]
    start = cycle.index(min(cycle))
    cycle = cycle[start:] + cycle[:start]
    names = [view.names[v] for v in cycle[:10]] + (["..."] if len(cycle) > 10 else []) + [view.names[cycle[0]]]
    pairs = {(above[v], v) for v in cycle}
    e = [
        int(view.first[i])
        for i, pair in enumerate(zip(view.parent.tolist(), view.child.tolist(), strict=True))
        if pair in pairs
    ]
    line = min(int(view.lines[i]) for i in e)
    return " > ".join(names) + (f" ({place(view.source, line)})" if line else "")


def _shape(view: _View) -> list[Finding]:
    """Orphans, one-child chains, several parents, redundant edges."""
    n_parents, n_children = view.n_parents, view.n_children
    alone = np.flatnonzero((n_parents == 0) & (n_children == 0)) if len(view.parent) else np.array([], int)
    found = _finding("warning", "orphan", "nodes with neither parent nor child", len(alone), view.some(alone))
    if not view.directed:
        return found
    single = np.flatnonzero((n_children == 1) & ~view.circular)
    below = dict(zip(view.parent.tolist(), view.child.tolist(), strict=True))
    chains = [f"{view.names[v]} > {view.names[below[v]]}" for v in single[:EXAMPLES].tolist()]
    found += _finding("warning", "one-child", "nodes with a single child", len(single), chains)
    several = np.flatnonzero(n_parents > 1)
    found += _finding("info", "multi-parent", "nodes with several parents", len(several), view.some(several))
    redundant = np.flatnonzero(_redundant(view))
    edges = [view.pair(int(e)) for e in view.first[redundant[:EXAMPLES]]]
    return found + _finding(
        "warning",
        "redundant-edge",
        "edges to an ancestor that is reached through another parent anyway",
        len(redundant),
        edges,
    )


def _redundant(view: _View) -> BoolArray:
    """Pairs whose parent is an ancestor of another parent of the same child; on a cycle that says nothing."""
    from linnaeus._kernels.graph import covered_members

    covered = covered_members(view.parent_indptr, view.parent, view.parent_indptr, view.parent).astype(bool)
    return np.asarray(covered & ~view.circular[view.parent] & ~view.circular[view.child])


def _shown(view: _View) -> list[Finding]:
    """Display labels that siblings share (the nodes at the top are siblings too)."""
    if view.shown is None:
        return []
    tops = np.flatnonzero(view.n_parents == 0)
    parent = np.concatenate([view.parent, np.full(len(tops), -1)]).tolist()
    child = np.concatenate([view.child, tops]).tolist()
    places: dict[tuple[int, str], list[int]] = {}
    for above, below in zip(parent, child, strict=True):
        if view.shown[below]:
            places.setdefault((above, view.shown[below].casefold()), []).append(below)
    twins = [nodes for nodes in places.values() if len(nodes) > 1]
    named = [f"{view.shown[nodes[0]]}: {', '.join(view.names[v] for v in nodes[:3])}" for nodes in twins[:EXAMPLES]]
    return _finding("warning", "same-label", "display labels shared by siblings", len(twins), named)


def _data(view: _View, labels: Iterable[Iterable[str]], min_examples: int) -> list[Finding]:
    """Labels without node, nodes without data, leaves with too few documents."""
    from linnaeus._kernels.graph import upward_closure

    counts: Counter[str] = Counter()
    for given in labels:
        counts.update({given} if isinstance(given, str) else set(map(str, given)))
    index = {name: v for v, name in enumerate(view.names)}
    unknown = Counter({label: count for label, count in counts.items() if label not in index}).most_common()
    named = [f"{label} ({count} documents{nearest(label, view.names)})" for label, count in unknown[:EXAMPLES]]
    found = _finding("error", "label-without-node", "labels that are not nodes", len(unknown), named)
    n_docs = np.zeros(len(view.names), dtype=np.int64)
    for label, count in counts.items():
        if label in index:
            n_docs[index[label]] = count
    start = np.flatnonzero(n_docs).astype(np.int32)
    indptr = np.array([0, len(start)], dtype=np.int64)
    reached = upward_closure(indptr, start, view.parent_indptr, view.parent, -1)[1] if view.directed else start
    empty = np.setdiff1d(np.arange(len(view.names)), reached)
    found += _finding(
        "info", "node-without-data", "nodes without a document on or below them", len(empty), view.some(empty)
    )
    starving = np.flatnonzero((view.n_children == 0) & (n_docs > 0) & (n_docs < min_examples))
    few = [f"{view.names[v]} ({n_docs[v]})" for v in starving[:EXAMPLES]]
    return found + _finding(
        "warning", "starving-leaf", f"leaves with fewer than {min_examples} documents", len(starving), few
    )


def _summary(view: _View) -> dict[str, Any]:
    from linnaeus._kernels.graph import topological_depth

    order = np.lexsort((view.child, view.parent))
    child_indptr = np.concatenate([[0], np.cumsum(view.n_children)]).astype(np.int64)
    depth = topological_depth(child_indptr, np.ascontiguousarray(view.child[order]), view.n_parents.astype(np.int32))
    internal = view.n_children[view.n_children > 0]
    return {
        "n_nodes": len(view.names),
        "n_edges": len(view.parent),
        "n_leaves": int((view.n_children == 0).sum()),
        "n_tops": int((view.n_parents == 0).sum()),
        "n_multi_parent": int((view.n_parents > 1).sum()),
        "levels": int(depth.max(initial=-1)) + 1,
        "mean_children": float(internal.mean()) if len(internal) else 0.0,
        "max_children": int(view.n_children.max(initial=0)),
    }
