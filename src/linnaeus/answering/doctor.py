"""What documents and a model say about a taxonomy: findings beside those of `linnaeus.taxonomy.checks`.

Documents: labels of ancestors beside those of descendants, labels that never occur without another one, and near
duplicates with different labels. A model: siblings that it confuses, and nodes whose documents look like those of
another parent, by its answers and by the mean documents of nodes in its features (the tree that a hierarchical
clustering of these would learn, against the given one). Figures of a model on its own training documents are too good;
give others.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from linnaeus.data import Dataset
from linnaeus.data.matrices import is_sparse
from linnaeus.pipeline import Pipeline
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.findings import Finding, finding
from linnaeus.taxonomy.search import fold
from linnaeus.typing import CSR, IntArray, Matrix

__all__ = ["check_documents", "check_model", "near_duplicates"]

SHINGLE = 3  # words
LEAST_WORDS = 8  # of documents that are compared; shorter ones are compared as a whole only
ALIKE = 0.8  # share of common shingles of near duplicates
BANDS = 16  # each of two of 32 smallest hashes
CONFUSED = 0.2  # share of the documents of a node that get a sibling
CLOSER = 0.05  # how much closer a cousin has to be than the closest sibling, as a cosine
STRAYED = 0.5  # share of the documents of a node that get nodes of one other parent


def check_documents(taxonomy: Taxonomy, data: Dataset, *, min_examples: int = 5) -> list[Finding]:
    """Look for problems of labels in documents.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy; labels that are not its nodes are ignored here.
    data : Dataset
        Documents with labels.
    min_examples : int, default=5
        Labels with fewer documents are not judged.

    Returns
    -------
    list of Finding
        The findings.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("Top", "Sports"), ("Sports", "Tennis")])
    >>> data = Dataset(fields={"text": ["a goal"]}, labels=[["Sports", "Tennis"]])
    >>> [found.code for found in check_documents(tax, data)]
    ['ancestor-beside-descendant']
    """
    Y = taxonomy.indicator(data.labels or [], unknown="drop")
    found = [*_ancestors(taxonomy, Y), *_never_alone(taxonomy, Y, min_examples)]
    if data.fields is not None:
        texts = [" ".join(parts) for parts in zip(*data.fields.values(), strict=True)]
        found += _duplicates(taxonomy, Y, texts, data.ids)
    return found


def _named(taxonomy: Taxonomy, v: int) -> str:
    name, label = str(taxonomy.names[v]), taxonomy.display(v)
    return name if name == label else f"{name} ({label})"


def _ancestors(taxonomy: Taxonomy, Y: CSR) -> list[Finding]:
    """Documents with a label and one above it."""
    if taxonomy.kind == "graph":
        return []
    front = taxonomy.frontier(Y)
    extra = Y.astype(np.int64) - front.astype(np.int64)
    extra.eliminate_zeros()
    n_docs = int((np.diff(extra.indptr) > 0).sum())
    counts = np.bincount(extra.indices, minlength=taxonomy.n_nodes)
    most = np.argsort(-counts, kind="stable")[:5].tolist()
    shown = [f"{_named(taxonomy, v)} beside a node below it ({counts[v]:,} documents)" for v in most if counts[v]]
    labelled = int((np.diff(Y.indptr) > 0).sum())
    message = f"documents with a label and its ancestor, of {labelled:,}"
    return finding("info", "ancestor-beside-descendant", message, n_docs, shown)


def _never_alone(taxonomy: Taxonomy, Y: CSR, least: int) -> list[Finding]:
    """Labels that never occur without another one that is neither above nor below it."""
    front = taxonomy.frontier(Y) if taxonomy.kind != "graph" else Y
    sizes = np.diff(front.indptr)
    if (sizes <= 1).all():
        return []
    rows = np.repeat(np.arange(front.shape[0]), sizes)
    total = np.bincount(front.indices, minlength=taxonomy.n_nodes)
    alone = np.bincount(front.indices[sizes[rows] == 1], minlength=taxonomy.n_nodes)
    never = np.flatnonzero((total >= least) & (alone == 0))
    order = never[np.argsort(-total[never], kind="stable")]
    shown = []
    columns = front.tocsc()
    for v in order[:5].tolist():
        others = Counter(
            u for d in columns.indices[columns.indptr[v] : columns.indptr[v + 1]].tolist() for u in _row(front, d)
        )
        del others[v]
        u, count = others.most_common(1)[0]
        shown.append(f"{_named(taxonomy, v)}: with {_named(taxonomy, u)} in {count:,} of {total[v]:,} documents")
    message = f"labels with {least} documents or more that never occur alone"
    return finding("info", "never-alone", message, len(never), shown)


def _row(Y: CSR, i: int) -> list[int]:
    row: list[int] = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
    return row


def _duplicates(taxonomy: Taxonomy, Y: CSR, texts: Sequence[str], ids: Sequence[str] | None) -> list[Finding]:
    labels = [frozenset(_row(Y, i)) for i in range(Y.shape[0])]
    pairs = [(i, j) for i, j in near_duplicates(texts) if labels[i] != labels[j]]
    name = [str(i + 1) for i in range(len(texts))] if ids is None else ids
    shown = [
        f"{name[i]} and {name[j]}: {_set(taxonomy, labels[i])} and {_set(taxonomy, labels[j])}" for i, j in pairs[:5]
    ]
    message = "pairs of nearly equal documents with different labels"
    return finding("warning", "duplicates-disagree", message, len(pairs), shown)


def _set(taxonomy: Taxonomy, nodes: Iterable[int]) -> str:
    return "{" + ", ".join(_named(taxonomy, v) for v in sorted(nodes)) + "}"


def near_duplicates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of documents that share at least 80% of their three-word sequences (Jaccard), or all words in order.

    Candidates agree in two smallest hashes of their sequences, so that documents are not compared with all others: a
    pair at 80% is found with a probability above 0.999. Of a group of more than 50 candidates only neighbours are
    compared.

    Parameters
    ----------
    texts : sequence of str
        The documents.

    Returns
    -------
    list of (int, int)
        Numbers of documents, the smaller one first, in order.

    Examples
    --------
    >>> near_duplicates(["The price of oil rose.", "a vote", "the price of oil rose"])
    [(0, 2)]
    """
    words = [fold(text).split() for text in texts]
    buckets: dict[tuple[int, object], list[int]] = {}
    shingles: list[IntArray | None] = []
    for i, one in enumerate(words):
        if len(one) < LEAST_WORDS:
            shingles.append(None)
            if one:
                buckets.setdefault((-1, tuple(one)), []).append(i)
            continue
        hashes = np.unique([_hash(" ".join(one[k : k + SHINGLE])) for k in range(len(one) - SHINGLE + 1)])
        shingles.append(hashes)
        for band in range(BANDS):
            # Two independent permutations of the hashes, by multiplication with odd numbers.
            key = tuple(int((hashes * _ODD[2 * band + half]).min()) for half in (0, 1))
            buckets.setdefault((band, key), []).append(i)
    found: set[tuple[int, int]] = set()
    for (band, _), members in buckets.items():
        near = members if len(members) <= 50 else []
        candidates = list(itertools.combinations(near, 2)) or list(itertools.pairwise(members))
        for pair in candidates:
            if pair not in found and (band < 0 or _jaccard(shingles[pair[0]], shingles[pair[1]]) >= ALIKE):
                found.add(pair)
    return sorted(found)


_ODD = np.random.default_rng(0).integers(1, 2**62, 2 * BANDS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _hash(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "little"))


def _jaccard(one: IntArray | None, other: IntArray | None) -> float:
    if one is None or other is None:
        return 0.0
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


def check_model(pipeline: Pipeline, data: Dataset, *, min_examples: int = 5) -> list[Finding]:
    """Look for nodes that a model confuses.

    Parameters
    ----------
    pipeline : Pipeline
        A trained model; its taxonomy is examined.
    data : Dataset
        Documents with labels, preferably not those of the training.
    min_examples : int, default=5
        Nodes with fewer documents are not judged.

    Returns
    -------
    list of Finding
        Confused siblings, nodes whose documents look like those of another parent, and nodes whose documents are closer
        to those of a node elsewhere in the taxonomy than to those of any sibling.
    """
    taxonomy = pipeline.taxonomy_
    Y = taxonomy.indicator(data.labels or [], unknown="drop")
    front = taxonomy.frontier(Y) if taxonomy.kind != "graph" else Y
    answered = pipeline.top_nodes(data.documents, 1)[0][:, 0]
    total: Counter[int] = Counter()
    wrong: Counter[tuple[int, int]] = Counter()
    closed = taxonomy.close(Y)
    for i, best in enumerate(np.asarray(answered).tolist()):
        gold = _row(front, i)
        total.update(gold)
        if best >= 0 and best not in _row(closed, i):
            wrong.update((v, best) for v in gold)
    return [
        *_confused(taxonomy, total, wrong, min_examples),
        *_strayed(taxonomy, total, wrong, min_examples),
        *_learned_elsewhere(taxonomy, front, pipeline.matrix(data.documents), min_examples),
    ]


def _learned_elsewhere(taxonomy: Taxonomy, Y: CSR, X: Matrix, least: int) -> list[Finding]:
    """Nodes whose mean document is closer to that of a cousin than to those of all siblings with documents."""
    counts = np.bincount(Y.indices, minlength=taxonomy.n_nodes)
    nodes = np.flatnonzero(counts >= least)
    if taxonomy.kind == "graph" or len(nodes) < 3:
        return []
    total = (Y[:, nodes].T @ X).astype(np.float64)
    means = np.asarray(total.toarray() if is_sparse(total) else total)
    means = means - (counts[nodes] @ means / counts[nodes].sum())[None]  # what all documents share says nothing
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    parents = [set(taxonomy.parents(v).tolist()) for v in nodes.tolist()]
    found = []
    for i, v in enumerate(nodes.tolist()):
        similar = means @ means[i]
        related = set(taxonomy.ancestors(v).tolist()) | set(taxonomy.descendants(v).tolist())
        siblings = [j for j in range(len(nodes)) if j != i and parents[j] & parents[i]]
        cousins = [j for j, u in enumerate(nodes.tolist()) if u not in related and not parents[j] & parents[i]]
        if not siblings or not cousins:
            continue
        own, other = max(siblings, key=lambda j: similar[j]), max(cousins, key=lambda j: similar[j])
        if similar[other] > similar[own] + CLOSER:
            found.append((float(similar[other] - similar[own]), v, int(nodes[other]), int(nodes[own])))
    shown = [
        f"{_named(taxonomy, v)} is closer to {_named(taxonomy, other)} than to {_named(taxonomy, own)}"
        for _, v, other, own in sorted(found, key=lambda one: (-one[0], one[1]))[:5]
    ]
    message = "nodes whose documents are closer to those of a node elsewhere than to those of any sibling"
    return finding("info", "learned-elsewhere", message, len(found), shown)


def _confused(taxonomy: Taxonomy, total: Counter[int], wrong: Counter[tuple[int, int]], least: int) -> list[Finding]:
    parents = {v: set(taxonomy.parents(v).tolist()) for pair in wrong for v in pair}
    both: Counter[tuple[int, int]] = Counter()
    for (v, u), count in wrong.items():
        siblings = parents[v] & parents[u] or (not parents[v] and not parents[u])
        if siblings and total[v] >= least and count >= CONFUSED * total[v]:
            both[min(v, u), max(v, u)] += count
    shown = [
        f"{_named(taxonomy, v)} and {_named(taxonomy, u)}: {count:,} of {total[v] + total[u]:,} documents"
        for (v, u), count in both.most_common(5)
    ]
    message = f"pairs of siblings of which one gets {CONFUSED:.0%} or more of the documents of the other"
    return finding("warning", "confused-siblings", message, len(both), shown)


def _strayed(taxonomy: Taxonomy, total: Counter[int], wrong: Counter[tuple[int, int]], least: int) -> list[Finding]:
    elsewhere: Counter[tuple[int, int]] = Counter()
    for (v, u), count in wrong.items():
        own = set(taxonomy.parents(v).tolist())
        for parent in taxonomy.parents(u).tolist():
            if parent not in own and parent != v and parent != taxonomy.root:
                elsewhere[v, parent] += count
    found = [(v, p, n) for (v, p), n in elsewhere.most_common() if total[v] >= least and n >= STRAYED * total[v]]
    shown = [
        f"{_named(taxonomy, v)}: {n:,} of {total[v]:,} documents look like {_named(taxonomy, p)}"
        for v, p, n in found[:5]
    ]
    return finding(
        "warning", "other-parent", "nodes whose documents look like those of another parent", len(found), shown
    )
