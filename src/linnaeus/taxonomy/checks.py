"""Problems of a taxonomy, and of labels that should be its nodes; a broken taxonomy is examined completely.

Findings have a severity: models do not work with an *error*, a *warning* is probably a mistake, an *info* is worth
knowing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, field
from typing import TypedDict

import numpy as np

from linnaeus.errors import TaxonomyError, lost_zeros, nearest
from linnaeus.taxonomy import build
from linnaeus.taxonomy.build import EdgeList
from linnaeus.taxonomy.closure import pointers
from linnaeus.taxonomy.findings import EXAMPLES, SEVERITIES, Finding, finding
from linnaeus.taxonomy.formats.draft import Draft, similar_column, without_collection
from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import Texts
from linnaeus.taxonomy.vocabulary_checks import check_relations, check_texts
from linnaeus.typing import BoolArray, IntArray

__all__ = ["CheckReport", "Finding", "Shape", "check", "redundant_pairs", "shape", "shape_of_pairs"]


class Shape(TypedDict):
    """Counts that describe a taxonomy; None for what a taxonomy with cycles does not have."""

    kind: str | None
    root: str | None
    n_nodes: int
    n_edges: int
    n_leaves: int
    n_tops: int | None
    n_multi_parent: int
    depth: int | None
    nodes_per_level: list[int] | None
    mean_children: float
    max_children: int


@dataclass(frozen=True)
class CheckReport:
    """All findings, the most severe first, and a summary of the shape."""

    summary: Shape
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not any(found.severity == "error" for found in self.findings)

    def find(self, code: str) -> Finding | None:
        """The finding with a code, if there is one."""
        return next((found for found in self.findings if found.code == code), None)

    def to_dict(self) -> dict[str, object]:
        """The report as plain values, for JSON."""
        return {"ok": self.ok, **asdict(self)}


def check(
    source: Taxonomy | Draft | Iterable[tuple[Hashable, Hashable]],
    labels: Iterable[Iterable[str]] | None = None,
    *,
    min_examples: int = 5,
) -> CheckReport:
    """Look for problems in a taxonomy, a draft of one (`formats.draft`) or (parent, child) pairs.

    Parameters
    ----------
    source : Taxonomy, Draft or iterable of (parent, child)
        What to examine.
    labels : iterable of iterables of str, default=None
        The labels of every document, to compare with the nodes.
    min_examples : int, default=5
        Leaves with fewer documents are reported.

    Returns
    -------
    CheckReport
        The findings and the shape of the taxonomy.

    Examples
    --------
    >>> report = check([("A", "B"), ("B", "C"), ("C", "B")])
    >>> report.ok, report.findings[0].code, report.findings[0].examples
    (False, 'cycle', ['B > C > B'])
    """
    with without_collection():
        return _report(source, labels, min_examples)


def _report(
    source: Taxonomy | Draft | Iterable[tuple[Hashable, Hashable]],
    labels: Iterable[Iterable[str]] | None,
    min_examples: int,
) -> CheckReport:
    draft = source if isinstance(source, Draft) else _draft(source)
    pairs, directed = draft.pairs(), draft.kind != "graph"
    taxonomy = source if isinstance(source, Taxonomy) else _built(draft, pairs, with_texts=labels is not None)
    findings = [*_pairs(draft, pairs), *_reading(draft, pairs), *_shape(pairs, directed), *_shown(draft, pairs)]
    if directed:
        cycles = [pairs.placed(text, e) for text, e in pairs.cycles(EXAMPLES)]
        findings += finding("error", "cycle", "cycles", pairs.n_cycles, cycles)
    findings += check_texts(_texts(source, draft), pairs, labels_expected=draft.relations is not None)
    if draft.relations is not None:
        findings += check_relations(draft.relations, pairs)
    if labels is not None:
        findings += _data(pairs, directed, labels, min_examples, taxonomy)
    findings.sort(key=lambda found: SEVERITIES.index(found.severity))
    return CheckReport(shape_of_pairs(pairs) if taxonomy is None else shape(taxonomy), findings)


def _texts(source: object, draft: Draft) -> Texts:
    """Texts of the file by the number of a node in the draft; those of a taxonomy by its own numbers."""
    if isinstance(source, Taxonomy):
        return source.texts
    if draft.order is None:
        return draft.texts.texts()
    number = {name: v for v, name in enumerate(draft.pairs().names)}
    return draft.texts.texts(np.array([number[name] for name in draft.index]))


def _built(draft: Draft, pairs: EdgeList, *, with_texts: bool) -> Taxonomy | None:
    """The taxonomy without repetitions and with unknown parents as nodes; None if it has cycles.

    Texts are needed for hints about labels only.
    """
    shown = [draft.labels.get(name, "") for name in pairs.names] if draft.labels else None
    try:
        made = build.from_pairs(pairs, draft.kind, draft.root, shown).with_replacements(*draft.replacements())
        return draft.add_texts_to(made) if with_texts else made
    except TaxonomyError:
        return None


def _draft(source: Taxonomy | Iterable[tuple[Hashable, Hashable]]) -> Draft:
    draft = Draft(repeats=isinstance(source, Taxonomy))
    if not isinstance(source, Taxonomy):
        for pair in source:
            draft.edge(*build.edge_names(pair))
        return draft
    for v, name in enumerate(source.names):
        draft.node(name, None if source.display_labels is None else source.display_labels[v])
    draft.aliases = {id: [name] for id, name in source.aliases.items()}
    draft.deprecated = dict(source.deprecated)
    draft.kind, draft.root = source.kind, None if source.root is None else source.names[source.root]
    for above, below in zip(*(source.names[nodes] for nodes in source.edges), strict=True):
        if source.kind != "graph" or source.index_of[above] < source.index_of[below]:
            draft.edge(above, below)
    return draft


def _some(pairs: EdgeList, nodes: IntArray) -> list[str]:
    return [pairs.shown(v) for v in nodes[:EXAMPLES]]


def _placed(pairs: EdgeList, numbers: IntArray) -> list[str]:
    return [pairs.placed(pairs.pair(e), e) for e in numbers[:EXAMPLES].tolist()]


def _pairs(draft: Draft, pairs: EdgeList) -> list[Finding]:
    """Problems of single pairs: loops, repetitions, parents that are not declared."""
    loops = _placed(pairs, pairs.loops)
    found = finding("error", "self-loop", "nodes that are their own parent", len(pairs.loops), loops)
    if not draft.repeats:
        again = _placed(pairs, pairs.repeated)
        found += finding("error", "duplicate-edge", "pairs given more than once", len(pairs.repeated), again)
    n_unknown, unknown = pairs.unknown_parents(draft.declared, EXAMPLES)
    named = [pairs.names[pairs.given_parent[e]] + hint for e, hint in unknown]
    return found + finding("error", "unknown-parent", "parents that are not declared", n_unknown, named)


def _with_similar(column: str) -> str:
    """A column that was not read, with the name of a column of texts that it resembles."""
    near = similar_column(column)
    return column if near is None else f"{column} (did you mean {near}?)"


def _reading(draft: Draft, pairs: EdgeList) -> list[Finding]:
    """Signs that the file was misread, and parts of it that were left out."""
    found = []
    if len(pairs.names) > 1 and not len(pairs.given_parent):
        message = "nodes without edges between them: a flat list, or a file that was read in the wrong format"
        found += finding("warning", "no-edges", message, len(pairs.names), _some(pairs, np.arange(len(pairs.names))))
    header = _header(draft, pairs)
    found += finding("warning", "header-as-node", "first lines that look like a header", len(header) > 0, header)
    unused = draft.unused_columns
    message, level = "columns that were not read", "info"
    if len(unused) > 1:
        message, level = f"{message}; the file may be a table of something else", "warning"
    found += finding(level, "unused-columns", message, len(unused), list(map(_with_similar, unused[:EXAMPLES])))
    gaps = [pairs.shown(pairs.names.index(code)) for code in draft.gaps[:EXAMPLES]]
    found += finding("warning", "code-gap", "codes without the parent level that others have", len(draft.gaps), gaps)
    relations = [f"{name}: {count:,}" for name, count in draft.unused_relations.most_common(EXAMPLES)]
    count = draft.unused_relations.total()
    found += finding("info", "unused-relation", "edges of relations that were not selected", count, relations)
    deprecated = draft.replacements()[1]
    named = [_deprecated(id, entry, draft) for id, entry in list(deprecated.items())[:EXAMPLES]]
    return found + finding("info", "deprecated", "deprecated ids that were left out", len(deprecated), named)


def _deprecated(id: str, entry: Deprecated, draft: Draft) -> str:
    name = f"{id} ({entry.label})" if entry.label else id
    targets = [
        f"{target} ({draft.labels[target]})" if target in draft.labels else target for target in entry.replaced_by
    ]
    return f"{name}, replaced by {', '.join(targets)}" if targets else name


def _header(draft: Draft, pairs: EdgeList) -> list[str]:
    """The nodes of the first line of a table if they form a chain without other edges."""
    if not draft.headless or not len(pairs.lines):
        return []
    first = np.flatnonzero(pairs.lines == pairs.lines.min())
    nodes = np.unique(np.concatenate([pairs.given_parent[first], pairs.given_child[first]]))
    degree = pairs.n_parents[nodes].sum() + pairs.n_children[nodes].sum()
    alone = degree == 2 * len(first) and len(nodes) == len(first) + 1 and len(nodes) < len(pairs.names)
    return (
        [" > ".join(pairs.names[v] for v in [pairs.given_parent[first[0]], *pairs.given_child[first]])] if alone else []
    )


def _shape(pairs: EdgeList, directed: bool) -> list[Finding]:
    """Orphans, one-child chains, several parents, redundant edges."""
    n_parents, n_children = pairs.n_parents, pairs.n_children
    alone = np.flatnonzero((n_parents == 0) & (n_children == 0)) if len(pairs.parent) else np.array([], int)
    found = finding("warning", "orphan", "nodes with neither parent nor child", len(alone), _some(pairs, alone))
    if not directed:
        return found
    single = np.flatnonzero((n_children == 1) & ~pairs.circular)
    below = dict(zip(pairs.parent.tolist(), pairs.child.tolist(), strict=True))
    chains = [f"{pairs.shown(v)} > {pairs.shown(below[v])}" for v in single[:EXAMPLES].tolist()]
    found += finding("warning", "one-child", "nodes with a single child", len(single), chains)
    several = np.flatnonzero(n_parents > 1)
    found += finding("info", "multi-parent", "nodes with several parents", len(several), _some(pairs, several))
    redundant = np.flatnonzero(redundant_pairs(pairs))
    edges = _placed(pairs, pairs.first[redundant])
    return found + finding(
        "warning",
        "redundant-edge",
        "edges to an ancestor that is also reached through another parent",
        len(redundant),
        edges,
    )


def redundant_pairs(pairs: EdgeList) -> BoolArray:
    """Pairs whose parent is an ancestor of another parent of the same child, cycles excepted."""
    from linnaeus._kernels.graph import covered_members

    parents = pointers(pairs.n_parents), pairs.parent
    covered = covered_members(*parents, *parents).astype(bool)
    return np.asarray(covered & ~pairs.circular[pairs.parent] & ~pairs.circular[pairs.child])


def _shown(draft: Draft, pairs: EdgeList) -> list[Finding]:
    """Display labels that siblings share (top nodes are siblings as well)."""
    if not draft.labels:
        return []
    shown = [draft.labels.get(name, "") for name in pairs.names]
    tops = np.flatnonzero(pairs.n_parents == 0)
    parent = np.concatenate([pairs.parent, np.full(len(tops), -1)]).tolist()
    child = np.concatenate([pairs.child, tops]).tolist()
    places: dict[tuple[int, str], list[int]] = {}
    for above, below in zip(parent, child, strict=True):
        if shown[below]:
            places.setdefault((above, shown[below].casefold()), []).append(below)
    twins = [nodes for nodes in places.values() if len(nodes) > 1]
    named = [f"{shown[nodes[0]]}: {', '.join(pairs.names[v] for v in nodes[:3])}" for nodes in twins[:EXAMPLES]]
    return finding("warning", "same-label", "display labels shared by siblings", len(twins), named)


def _data(
    pairs: EdgeList, directed: bool, labels: Iterable[Iterable[str]], min_examples: int, taxonomy: Taxonomy | None
) -> list[Finding]:
    """Labels that are not nodes, nodes (except the root) without data, leaves with too few documents."""
    from linnaeus._kernels.graph import upward_closure

    counts: Counter[str] = Counter()
    for given in labels:
        counts.update({given} if isinstance(given, str) else set(map(str, given)))
    index = {name: v for v, name in enumerate(pairs.names)}
    if taxonomy is not None:  # an alias counts for its node
        for alias in [label for label in counts if label in taxonomy.aliases]:
            counts[taxonomy.aliases[alias]] += counts.pop(alias)
    unknown = Counter({label: count for label, count in counts.items() if label not in index}).most_common()
    named = []
    for label, count in unknown[:EXAMPLES]:
        hint = nearest(label, pairs.names) if taxonomy is None else taxonomy.hint(label)
        named.append(f"{label} ({count} documents{hint.removesuffix('.')})")
    found = finding("error", "label-without-node", "labels that are not nodes", len(unknown), named)
    lost = lost_zeros(counts, pairs.names)
    examples = [f"{label} ({counts[label]} documents)" for label in lost[:EXAMPLES]]
    message = "labels that are codes without their leading zeros, which a spreadsheet removes"
    found += finding("warning", "lost-zeros", message, len(lost), examples)
    n_docs = np.zeros(len(pairs.names), dtype=np.int64)
    for label, count in counts.items():
        if label in index:
            n_docs[index[label]] = count
    start = np.flatnonzero(n_docs).astype(np.int32)
    indptr = np.array([0, len(start)], dtype=np.int64)
    reached = upward_closure(indptr, start, pointers(pairs.n_parents), pairs.parent, -1)[1] if directed else start
    root = [] if taxonomy is None or taxonomy.root is None else [index[taxonomy.names[taxonomy.root]]]
    empty = np.setdiff1d(np.arange(len(pairs.names)), np.append(reached, root))
    found += finding(
        "info", "node-without-data", "nodes without a document on or below them", len(empty), _some(pairs, empty)
    )
    starving = np.flatnonzero((pairs.n_children == 0) & (n_docs > 0) & (n_docs < min_examples))
    few = [f"{pairs.shown(v)} ({n_docs[v]})" for v in starving[:EXAMPLES]]
    return found + finding(
        "warning", "starving-leaf", f"leaves with fewer than {min_examples} documents", len(starving), few
    )


def shape(taxonomy: Taxonomy) -> Shape:
    """Counts that describe a taxonomy; tops are the nodes of level 1, depth the deepest level (the root is level 0).

    Examples
    --------
    >>> found = shape(Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")]))
    >>> found["n_tops"], found["depth"], found["nodes_per_level"]
    (2, 2, [2, 1])
    """
    n_children = np.diff(taxonomy.child_indptr)
    internal = n_children[n_children > 0]
    return {
        "kind": taxonomy.kind,
        "root": None if taxonomy.root is None else taxonomy.names[taxonomy.root],
        "n_nodes": taxonomy.n_nodes,
        "n_edges": taxonomy.n_edges,
        "n_leaves": len(taxonomy.leaves),
        "n_tops": len(taxonomy.tops),
        "n_multi_parent": 0 if taxonomy.kind == "graph" else int((np.diff(taxonomy.parent_indptr) > 1).sum()),
        "depth": int(taxonomy.depth.max(initial=0)),
        "nodes_per_level": [len(level) for level in taxonomy.levels[1:]],
        "mean_children": float(internal.mean()) if len(internal) else 0.0,
        "max_children": int(n_children.max(initial=0)),
    }


def shape_of_pairs(pairs: EdgeList) -> Shape:
    """The same counts for pairs with cycles, which have neither root nor levels."""
    internal = pairs.n_children[pairs.n_children > 0]
    return {
        "kind": None,
        "root": None,
        "n_nodes": len(pairs.names),
        "n_edges": len(pairs.parent),
        "n_leaves": int((pairs.n_children == 0).sum()),
        "n_tops": None,
        "n_multi_parent": int((pairs.n_parents > 1).sum()),
        "depth": None,
        "nodes_per_level": None,
        "mean_children": float(internal.mean()) if len(internal) else 0.0,
        "max_children": int(pairs.n_children.max(initial=0)),
    }
