"""Problems of the texts and relations of a vocabulary: the quality checks of qSKOS that matter for classification.

Texts of any format are examined: labels that are missing, given twice, shared or contradictory, languages, notations.
What only RDF has (associations, mappings, top concepts, terms of SKOS) is collected in `ConceptRelations` when read.
Everything is one pass over arrays or lists, so that a million concepts take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from linnaeus.taxonomy.build import EdgeList
from linnaeus.taxonomy.closure import pointers
from linnaeus.taxonomy.findings import EXAMPLES, Finding, finding
from linnaeus.taxonomy.formats.draft import ConceptRelations
from linnaeus.taxonomy.texts import KINDS, LABELS, Texts
from linnaeus.typing import BoolArray, IntArray

__all__ = ["check_relations", "check_texts", "in_hierarchy"]

COVERED = 0.5  # share of the nodes above which a language is expected of all
_TAG = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*|x(-[a-z0-9]{1,8})+|i-[a-z0-9]+")
_LONG = 500  # characters; longer labels are not looked for in documents
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|&(?:[a-z]{2,8}|#[0-9]{1,7});")
_DOCUMENTED = tuple(KINDS.index(kind) for kind in ("definition", "scope_note", "note", "example"))


def check_texts(texts: Texts, pairs: EdgeList, *, labels_expected: bool = False) -> Iterator[Finding]:
    """Problems of labels, languages and notations; texts belong to the nodes of ``pairs`` by number.

    ``labels_expected`` is true if names are ids, so that nodes without a preferred label are reported.
    """
    if not len(texts):
        return
    n = len(pairs.names)
    kinds = {kind: texts.kind == KINDS.index(kind) for kind in KINDS}
    preferred = np.flatnonzero(kinds["preferred"])
    unlabelled = np.setdiff1d(np.arange(n), texts.node[preferred]) if labels_expected else np.array([], np.int64)
    shown = [pairs.shown(v) for v in unlabelled[:EXAMPLES].tolist()]
    yield from finding("warning", "missing-label", "nodes without a preferred label", len(unlabelled), shown)
    yield from _several_preferred(texts, preferred, pairs)
    yield from _label_clash(texts, pairs)
    yield from _shared_labels(texts, kinds, pairs)
    yield from _odd_labels(texts, pairs)
    yield from _languages(texts, preferred, pairs)
    yield from _notations(texts, np.flatnonzero(kinds["notation"]), pairs)
    bare = np.setdiff1d(np.arange(n), texts.node[np.isin(texts.kind, _DOCUMENTED)])
    if len(bare) < n:  # a vocabulary without any notes does not document
        shown = [pairs.shown(v) for v in bare[:EXAMPLES].tolist()]
        yield from finding("info", "undocumented", "nodes without definition, note or example", len(bare), shown)


def _several_preferred(texts: Texts, preferred: IntArray, pairs: EdgeList) -> list[Finding]:
    key = texts.node[preferred].astype(np.int64) * (len(texts.tags) + 1) + texts.language[preferred]
    again = preferred[1:][key[1:] == key[:-1]]
    shown = [
        f"{pairs.shown(int(texts.node[i]))}: {texts.entry(i - 1).text}, {texts.entry(i).text}"
        for i in again[:EXAMPLES].tolist()
    ]
    message = "further preferred labels of a node in one language"
    return finding("warning", "several-preferred", message, len(again), shown)


def _label_clash(texts: Texts, pairs: EdgeList) -> list[Finding]:
    """Texts that are labels of one node in two kinds, in the same language."""
    labels = np.flatnonzero(texts.kind < len(LABELS))
    several = np.flatnonzero(np.bincount(texts.node[labels], minlength=len(pairs.names)) > 1)
    labels = labels[np.isin(texts.node[labels], several)]
    words = texts.decoded(labels).tolist()
    seen: set[tuple[int, int, str]] = set()
    clash = []
    for i, v, tag, text in zip(
        labels.tolist(), texts.node[labels].tolist(), texts.language[labels].tolist(), words, strict=True
    ):
        if (v, tag, text) in seen:
            clash.append(i)
        seen.add((v, tag, text))
    shown = [
        f"{pairs.shown(int(texts.node[i]))}: {texts.entry(i).text} is also {texts.entry(i).kind}"
        for i in clash[:EXAMPLES]
    ]
    return finding("warning", "label-clash", "labels that a node has in two kinds", len(clash), shown)


def _shared_labels(texts: Texts, kinds: dict[str, BoolArray], pairs: EdgeList) -> Iterator[Finding]:
    """Preferred labels of several nodes, and alternative labels that are the preferred ones of others."""
    owner: dict[tuple[int, str], int] = {}
    twins: dict[tuple[int, str], list[int]] = {}
    preferred = np.flatnonzero(kinds["preferred"])
    for key, v in _keyed(texts, preferred):
        first = owner.setdefault(key, v)
        if first != v:
            twins.setdefault(key, [first]).append(v)
    shown = [f"{key[1]}: {', '.join(pairs.names[v] for v in nodes[:3])}" for key, nodes in [*twins.items()][:EXAMPLES]]
    yield from finding("info", "shared-label", "preferred labels that several nodes have", len(twins), shown)
    ambiguous: list[tuple[str, int, int]] = []
    for key, v in _keyed(texts, np.flatnonzero(kinds["alternative"] | kinds["hidden"])):
        first = owner.get(key, v)
        if first != v:
            ambiguous.append((key[1], v, first))
    shown = [f"{text}: also of {pairs.shown(v)}, preferred of {pairs.shown(u)}" for text, v, u in ambiguous[:EXAMPLES]]
    message = "other labels of a node that are the preferred label of another one"
    yield from finding("info", "ambiguous-label", message, len(ambiguous), shown)


def _odd_labels(texts: Texts, pairs: EdgeList) -> Iterator[Finding]:
    """Labels that documents do not repeat as they are: very long ones, and ones with HTML or XML markup."""
    labels = np.flatnonzero(texts.kind < len(LABELS))
    size = np.diff(texts.offsets)[labels] - 1  # bytes
    long = [i for i in labels[size > _LONG].tolist() if len(texts.entry(i).text) > _LONG]
    shown = [f"{pairs.names[int(texts.node[i])]}: {len(texts.entry(i).text):,} characters" for i in long[:EXAMPLES]]
    message = f"labels of more than {_LONG} characters, which are not looked for in documents"
    yield from finding("warning", "long-label", message, len(long), shown)
    if b"<" not in texts.pool and b"&" not in texts.pool:
        return
    words = texts.decoded(labels[size <= _LONG])
    marked = [i for i, text in zip(labels[size <= _LONG].tolist(), words.tolist(), strict=True) if _MARKUP.search(text)]
    shown = [f"{pairs.names[int(texts.node[i])]}: {texts.entry(i).text}" for i in marked[:EXAMPLES]]
    yield from finding("warning", "label-markup", "labels with HTML or XML markup", len(marked), shown)


def _keyed(texts: Texts, entries: IntArray) -> Iterator[tuple[tuple[int, str], int]]:
    words = [text.casefold() for text in texts.decoded(entries).tolist()]
    return zip(zip(texts.language[entries].tolist(), words, strict=True), texts.node[entries].tolist(), strict=True)


def _languages(texts: Texts, preferred: IntArray, pairs: EdgeList) -> Iterator[Finding]:
    used = texts.languages
    wrong = [tag for tag in used if tag and not _TAG.fullmatch(tag)]
    count = sum(used[tag] for tag in wrong)
    yield from finding("warning", "invalid-language", "texts whose language tag is not valid", count, wrong)
    tags = np.bincount(texts.language[preferred], minlength=len(texts.tags))
    if tags.sum() and any(tag for tag in used) and "" in texts.tags:
        bare = preferred[texts.language[preferred] == texts.tags.index("")]
        shown = [f"{pairs.shown(int(texts.node[i]))}: {texts.entry(i).text}" for i in bare[:EXAMPLES].tolist()]
        message = "preferred labels without a language where others have one"
        yield from finding("info", "no-language", message, len(bare), shown)
    n = len(pairs.names)
    for code, tag in enumerate(texts.tags):
        having = np.unique(texts.node[preferred[texts.language[preferred] == code]])
        if tag and COVERED * n < len(having) < n:
            lacking = np.setdiff1d(np.arange(n), having)
            shown = [pairs.shown(v) for v in lacking[:EXAMPLES].tolist()]
            yield from finding(
                "info", "language-gap", f"nodes without a preferred label in {tag!r}", len(lacking), shown
            )


def _notations(texts: Texts, entries: IntArray, pairs: EdgeList) -> list[Finding]:
    owner: dict[str, int] = {}
    clash = []
    for text, v in zip(texts.decoded(entries).tolist(), texts.node[entries].tolist(), strict=True):
        if owner.setdefault(text, v) != v:
            clash.append(f"{text}: {pairs.shown(owner[text])}, {pairs.shown(v)}")
    return finding("warning", "notation-clash", "notations that several nodes have", len(clash), clash)


def check_relations(relations: ConceptRelations, pairs: EdgeList) -> Iterator[Finding]:
    """Problems of what only RDF has: associations, mappings, top concepts, texts as they were written, SKOS terms."""
    index = {name: v for v, name in enumerate(pairs.names)}

    def shown(names: Sequence[str]) -> list[str]:
        return [pairs.shown(index[name]) if name in index else name for name in names[:EXAMPLES]]

    yield from finding("warning", "empty-label", "empty labels", len(relations.empty), shown(relations.empty))
    message = "texts with control characters or surrounding white space"
    yield from finding("warning", "stray-characters", message, len(relations.stray), shown(relations.stray))
    terms = [f"skos:{term}: {count:,}" for term, count in relations.unknown_terms.most_common(EXAMPLES)]
    message = "statements with terms that SKOS does not have"
    yield from finding("warning", "unknown-term", message, relations.unknown_terms.total(), terms)
    related = [(index[a], index[b]) for a, b in relations.related if a in index and b in index and a != b]
    given = set(related)
    one_way = [(a, b) for a, b in related if (b, a) not in given]
    examples = [f"{pairs.shown(a)} - {pairs.shown(b)}" for a, b in one_way[:EXAMPLES]]
    yield from finding(
        "info", "one-way-related", "associations that are given in one direction only", len(one_way), examples
    )
    clash = in_hierarchy(related, pairs)
    examples = [f"{pairs.shown(a)} - {pairs.shown(b)}" for a, b in clash[:EXAMPLES]]
    message = "associations between a node and its ancestor or descendant"
    yield from finding("warning", "relation-clash", message, len(clash), examples)
    parent_sets: dict[int, set[int]] = {}
    inside = np.zeros(len(pairs.names), bool)
    inside[[v for pair in related for v in pair]] = True
    chosen = inside[pairs.child]
    for above, below in zip(pairs.parent[chosen].tolist(), pairs.child[chosen].tolist(), strict=True):
        parent_sets.setdefault(below, set()).add(above)
    siblings = [(a, b) for a, b in related if parent_sets.get(a, set()) & parent_sets.get(b, set())]
    examples = [f"{pairs.shown(a)} - {pairs.shown(b)}" for a, b in siblings[:EXAMPLES]]
    yield from finding(
        "info", "related-siblings", "associations between siblings, which say little", len(siblings), examples
    )
    yield from _mappings(relations)
    yield from _tops(relations, pairs, index)
    used = [f"{a} > {b}" for a, b in relations.to_deprecated]
    yield from finding(
        "warning", "deprecated-in-use", "hierarchical relations with deprecated concepts", len(used), used
    )


def _mappings(relations: ConceptRelations) -> list[Finding]:
    by_pair: dict[tuple[str, str], set[str]] = {}
    for relation, a, b in relations.mappings:
        by_pair.setdefault((a, b), set()).add(relation)
    clash = [
        f"{a} - {b}: {', '.join(sorted(kinds))}"
        for (a, b), kinds in by_pair.items()
        if "exactMatch" in kinds and kinds & {"broadMatch", "narrowMatch", "relatedMatch"}
    ]
    return finding(
        "warning", "mapping-clash", "exact matches that are also broader, narrower or related", len(clash), clash
    )


def _tops(relations: ConceptRelations, pairs: EdgeList, index: dict[str, int]) -> Iterator[Finding]:
    below = [name for name in relations.tops if name in index and pairs.n_parents[index[name]]]
    examples = [pairs.shown(index[name]) for name in below[:EXAMPLES]]
    yield from finding("warning", "top-with-broader", "top concepts that have a broader concept", len(below), examples)
    if relations.schemes:
        free = [v for v in np.flatnonzero(pairs.n_parents == 0).tolist() if pairs.names[v] not in relations.tops]
        examples = [pairs.shown(v) for v in free[:EXAMPLES]]
        message = "concepts without a broader one that are not declared as top concepts"
        yield from finding("info", "omitted-top", message, len(free), examples)
    n = len(pairs.names)
    links = [(index[a], index[b]) for a, b in relations.related if a in index and b in index]
    a = np.concatenate([pairs.parent, np.array([x for x, _ in links], np.int32)])
    b = np.concatenate([pairs.child, np.array([y for _, y in links], np.int32)])
    _, part = connected_components(sparse.coo_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n)), directed=False)
    sizes = np.bincount(part)
    small = [i for i in np.argsort(-sizes, kind="stable")[1:].tolist() if sizes[i] > 1]
    first = {int(p): v for v, p in reversed(list(enumerate(part.tolist())))} if small else {}
    examples = [f"{sizes[i]:,} nodes with {pairs.shown(first[i])}" for i in small[:EXAMPLES]]
    message = "groups of nodes without a relation to the largest group"
    yield from finding("info", "cluster", message, len(small), examples)


def in_hierarchy(related: Sequence[tuple[int, int]], pairs: EdgeList) -> list[tuple[int, int]]:
    """The pairs of which one node is an ancestor of the other."""
    from linnaeus._kernels.graph import upward_closure

    if not related:
        return []
    ends = np.array(related, np.int32)
    rows = np.concatenate([ends[:, 0], ends[:, 1]])
    others = np.concatenate([ends[:, 1], ends[:, 0]]).astype(np.int64)
    indptr = np.arange(len(rows) + 1, dtype=np.int64)
    bounds, nodes = upward_closure(indptr, rows, pointers(pairs.n_parents), pairs.parent, -1)
    n = len(pairs.names)
    row = np.repeat(np.arange(len(rows), dtype=np.int64), np.diff(bounds))
    inside = np.isin(np.arange(len(rows)) * n + others, row * n + nodes)
    both = inside[: len(ends)] | inside[len(ends) :]
    return [pair for pair, clash in zip(related, both.tolist(), strict=True) if clash]
