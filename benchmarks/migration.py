"""Documents of merged MeSH headings, split again: accuracy among candidates, and promised risks.

    python -m benchmarks migration --families 150 --draws 3
    python -m benchmarks migration --families 2000 --risk 0.1 --draws 20
    python -m benchmarks migration --families 40 --model --documents 4000

Leaves that citations carry are merged into their first parent, which is the old version; the new version has the leaves
again, and their headings are all that is known about them besides the citations coded by hand. A third of the families
(by the md5 of their name) served to choose settings, on training citations only; the others are measured, in all
citations. A decision is right if the citation carries the leaf.

Rivals: the leaf that is most frequent among those coded by hand; the leaf of whose heading the citation has most words;
and a flat one-vs-rest SVM of the citations coded by hand that knows nothing of the table.

``--model`` compares an RR model of the old version that is migrated, with training citations in the new labels, with
one that is trained on them from the start: P@1 on test citations, and processor seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.lexical import citations, mesh
from benchmarks.zero import first_parents
from linnaeus import RRSVM, OneVsRestSVM, Taxonomy
from linnaeus.features.text import TextFeatures
from linnaeus.migration import migrate_documents, migrate_model
from linnaeus.models.label_priors import label_features
from linnaeus.revisions import Correspondence, compare

CODED = (0, 5, 50)  # by hand in each family
LEAST = 5  # documents of a family
MOST = 300  # documents of a family that are used


class Split:
    """Some families: the documents that carry their leaves, the two versions and the table."""

    def __init__(self, n_families: int, seed: int) -> None:
        taxonomy = mesh()
        documents = [one for part in citations(taxonomy) for one in part]
        counts = Counter(label for one in documents for label in one["labels"])
        family_of: dict[str, str] = {}
        for v in np.flatnonzero(taxonomy.is_leaf).tolist():
            parents = sorted(str(taxonomy.names[p]) for p in taxonomy.parents(v))
            if parents and counts[str(taxonomy.names[v])]:
                family_of[str(taxonomy.names[v])] = parents[0]
        sizes = Counter(family_of.values())
        measured = sorted(name for name, n in sizes.items() if n > 1 and _md5(name) % 3 != 0)
        rng = np.random.default_rng(seed)
        chosen = set(rng.permutation(np.array(measured))[:n_families].tolist())
        rows = [[label for label in one["labels"] if family_of.get(label) in chosen] for one in documents]
        kept = [d for d in rng.permutation(len(rows)).tolist() if rows[d]]
        left: Counter[str] = Counter()
        self.texts: list[str] = []
        self.gold: list[list[str]] = []
        for d in kept:
            families = {family_of[label] for label in rows[d]}
            if all(left[name] < MOST for name in families):
                left.update(families)
                self.texts.append(" ".join(documents[d]["text"].values()))
                self.gold.append(rows[d])
        self.family_of = family_of
        self.labels = [sorted({family_of[label] for label in row}) for row in self.gold]
        leaves = sorted({label for row in self.gold for label in row})
        self.old = Taxonomy.flat(sorted({name for row in self.labels for name in row}))
        self.new = Taxonomy.flat(leaves)
        pairs = [(family_of[leaf], leaf) for leaf in leaves]
        self.revision = compare(self.old, self.new, Correspondence.from_pairs(pairs), propose=False)
        self.features = TextFeatures(analyzer="stems", sublinear_tf=True, min_df=2, stop_words="en")
        self.X = self.features.fit_transform(self.texts)

    def hand_by_family(self, n: int, seed: int) -> dict[int, list[str]]:
        """n documents of each family, at most half of them, with their leaves."""
        rng, taken = np.random.default_rng(seed), Counter[str]()
        sizes = Counter(name for row in self.labels for name in row)
        found = {}
        for d in rng.permutation(len(self.labels)).tolist():
            wanting = [name for name in self.labels[d] if taken[name] < min(n, sizes[name] // 2)]
            if wanting and sizes[self.labels[d][0]] >= LEAST:
                taken.update(self.labels[d])
                found[d] = self.gold[d]
        return found


def _md5(name: str) -> int:
    return int(hashlib.md5(name.encode()).hexdigest(), 16)


def accuracies(split: Split, n: int, seed: int) -> dict[str, float]:
    """Accuracy of cases that are not coded by hand, of migration and of its rivals."""
    hand = split.hand_by_family(n, seed)
    start = time.process_time()
    found = migrate_documents(split.revision, split.texts, split.labels, hand=hand, features=split.features)
    seconds = time.process_time() - start
    majority, flat = _majority(split, hand), _flat(split, hand)
    cover = _cover(split)
    right: Counter[str] = Counter()
    cases = [case for case in found.cases if case.by == "model" and len(case.candidates) > 1]
    for case in cases:
        gold, leaves = set(split.gold[case.document]) & set(case.candidates), sorted(case.candidates)
        right["migration"] += case.labels[0] in gold
        right["majority"] += max(leaves, key=lambda leaf: majority[leaf]) in gold
        right["name"] += max(leaves, key=lambda leaf: cover[case.document, split.new.index(leaf)]) in gold
        right["flat"] += flat.get(case.document) in gold
    result = {name: 100 * right[name] / len(cases) for name in ("migration", "majority", "name", "flat")}
    return {"cases": len(cases), "coded": len(hand), **result, "seconds": seconds}


def _majority(split: Split, hand: dict[int, list[str]]) -> Counter[str]:
    return Counter(label for row in hand.values() for label in row)


def _cover(split: Split) -> Any:
    """Share of the words of each heading that each document has."""
    T = label_features(split.features, split.new)
    present = (split.X > 0).astype(np.float64)
    return np.asarray((present @ (T > 0).astype(np.float64).T).toarray()) / np.maximum(np.diff(T.indptr), 1)


def _flat(split: Split, hand: dict[int, list[str]]) -> dict[int, str]:
    rows = sorted(hand)
    if len({label for row in hand.values() for label in row}) < 2:
        return {}
    model = OneVsRestSVM(split.new, random_state=0).fit(split.X[rows], [hand[d] for d in rows])
    return dict(enumerate(model.top(split.X, 1)[0][:, 0].tolist()))


def promise(split: Split, risk: float, share: float, seed: int) -> dict[str, float]:
    """Wrong among the decided, and the share that is decided, with a random sample coded by hand."""
    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(split.gold))[: round(share * len(split.gold))].tolist()
    hand = {d: split.gold[d] for d in sample}
    found = migrate_documents(split.revision, split.texts, split.labels, hand=hand, features=split.features, risk=risk)
    machine = [case for case in found.cases if case.by == "model"]
    wrong = sum(case.labels[0] not in split.gold[case.document] for case in machine)
    open_cases = sum(case.by != "hand" for case in found.cases)
    return {"wrong": 100 * wrong / max(1, len(machine)), "decided": 100 * len(machine) / open_cases, "coded": len(hand)}


def model(n_families: int, n_documents: int) -> dict[str, float]:
    """A migrated RR model, and one trained from the start on the same citations."""
    taxonomy = first_parents(mesh())
    train, test = citations(taxonomy)
    train = train[:n_documents]
    counts = Counter(label for one in train for label in one["labels"])
    leaves = [str(taxonomy.names[v]) for v in np.flatnonzero(taxonomy.is_leaf).tolist()]
    family_of = {
        leaf: str(taxonomy.names[taxonomy.parents(taxonomy.index(leaf))[0]]) for leaf in leaves if counts[leaf]
    }
    sizes = Counter(family_of.values())
    several = sorted(name for name, n in sizes.items() if n > 1 and _md5(name) % 3 != 0)
    chosen = set(np.random.default_rng(0).permutation(np.array(several))[:n_families].tolist())
    merged = {leaf: name for leaf, name in family_of.items() if name in chosen}
    kept = [str(name) for name in taxonomy.names if str(name) not in merged]
    names = [str(name) for name in taxonomy.names]
    edges = [(names[taxonomy.parents(v)[0]], names[v]) for v in range(len(names)) if len(taxonomy.parents(v))]
    old = Taxonomy.from_edges([edge for edge in edges if edge[1] not in merged], nodes=kept, root=None)
    pairs = [(name, leaf) for leaf, name in merged.items()] + [(name, name) for name in sorted(chosen)]
    revision = compare(old, taxonomy, Correspondence.from_pairs(pairs), propose=False)
    terms = TextFeatures(analyzer="stems", sublinear_tf=True, min_df=2, stop_words="en")
    X = terms.fit_transform([" ".join(one["text"].values()) for one in train])
    X_test = terms.transform([" ".join(one["text"].values()) for one in test])
    gold = [set(one["labels"]) for one in test]
    before = RRSVM(old, random_state=0).fit(X, [sorted({merged.get(l, l) for l in one["labels"]}) for one in train])

    def hits(fitted: Any) -> float:
        best = fitted.top(X_test, 1)[0][:, 0].tolist()
        return 100 * float(np.mean([label in own for label, own in zip(best, gold, strict=True)]))

    new = [one["labels"] for one in train]
    start = time.process_time()
    found = migrate_model(before, revision, X, new, evaluate=False)
    migrated = time.process_time() - start
    start = time.process_time()
    again = RRSVM(taxonomy, random_state=0).fit(X, new)
    retrained = time.process_time() - start
    return {
        "labels": len(again.nodes_),
        "changed": sum(origin.refitted for origin in found.origins),
        "P@1 migrated": hits(found.model),
        "P@1 retrained": hits(again),
        "P@1 not solved again": hits(migrate_model(before, revision).model),
        "seconds migrated": migrated,
        "seconds retrained": retrained,
    }


def run(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks migration")
    parser.add_argument("--families", type=int, default=150)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--risk", type=float)
    parser.add_argument("--share", type=float, default=0.2, help="share of documents coded by hand, with --risk")
    parser.add_argument("--model", action="store_true", help="compare migrated and retrained RR models")
    parser.add_argument("--documents", type=int, default=4000, help="training citations, with --model")
    given = parser.parse_args(arguments)
    if given.model:
        figures = model(given.families, given.documents)
        print({key: round(value, 2) for key, value in figures.items()}, flush=True)
        return {"model": figures}
    split = Split(given.families, 0)
    print(f"{len(split.old.names)} families, {len(split.new.names)} leaves, {len(split.texts)} documents", flush=True)
    rows: dict[str, Any] = {}
    for n in CODED if given.risk is None else (None,):
        found = []
        for seed in range(given.draws):
            found.append(accuracies(split, n, seed) if n is not None else promise(split, given.risk, given.share, seed))
            print(n, {key: round(value, 1) for key, value in found[-1].items()}, flush=True)
        rows[str(n)] = {key: round(float(np.mean([one[key] for one in found])), 1) for key in found[0]}
        print("mean", n, rows[str(n)], flush=True)
    return rows
