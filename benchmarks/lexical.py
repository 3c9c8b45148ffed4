"""Lexical evidence on MEDLINE: time of matching, and LexicalModel with no, few and many training documents."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import time
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.problems.base import DATA
from linnaeus import LexicalModel, Taxonomy
from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.lexical.words import as_documents

FOLDER = DATA / "medline_mesh"


def mesh() -> Taxonomy:
    """All descriptors as a DAG, named by their headings."""
    with gzip.open(FOLDER / "mtrees2014.csv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").rsplit(";", 1) for line in file]
    name_of = {number: name for name, number in rows}
    above = ((name_of.get(number.rpartition(".")[0]), name) for name, number in rows)
    edges = sorted({(up, name) for up, name in above if up is not None and up != name})
    return Taxonomy.from_edges(edges, nodes=sorted({name for name, _ in rows}), root=None)


def citations(taxonomy: Taxonomy) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Training and test documents: title, abstract and headings of the tree; the md5 of the id divides them."""
    parts: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    with lzma.open(FOLDER / "medline_pubmed20n0014.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            given = json.loads(line)
            labels = sorted({name for _, name, _ in given["mesh"] if name in taxonomy})
            test = int(hashlib.md5(str(given["pmid"]).encode()).hexdigest(), 16) % 4 == 0
            if labels:
                text = {"title": given["title"] or "", "abstract": given["abstract"] or ""}
                parts[test].append({"text": text, "labels": labels})
    return parts


def matching(taxonomy: Taxonomy, documents: list[dict[str, Any]]) -> dict[str, float]:
    """Processor seconds for 10,000 documents of 150 words: words of abstracts one after the other."""
    words = [word for d in documents for word in f"{d['text']['title']} {d['text']['abstract']}".split()]
    texts = as_documents([" ".join(words[i : i + 150]) for i in range(0, 150 * min(10_000, len(words) // 150), 150)])
    start = time.process_time()
    matcher = LabelMatcher.of(taxonomy)
    built = time.process_time()
    stream = matcher.stream(texts)
    found = matcher.find(stream)
    exact = time.process_time()
    matcher.find(stream, scattered=True)
    return {
        "documents": len(texts),
        "matches": len(found),
        "build_seconds": round(built - start, 2),
        "match_seconds": round(exact - built, 2),
        "with_scattered_seconds": round(time.process_time() - built, 2),
    }


def figures(model: LexicalModel, test: list[dict[str, Any]], seen: set[str]) -> dict[str, float]:
    """F1 of the five best, micro-F1 of the answers, recall of unseen labels among the ten best."""
    texts, names = [d["text"] for d in test], model.taxonomy_.names
    start = time.process_time()
    best = [[str(names[v]) for v in row] for row in model.top_nodes(texts, 10)[0]]
    seconds = time.process_time() - start
    gold = [set(d["labels"]) for d in test]
    f1 = [2 * len(g & set(top[:5])) / (5 + len(g)) for g, top in zip(gold, best, strict=True)]
    answers = [set(row) for row in model.predict(texts)]
    right = sum(len(g & a) for g, a in zip(gold, answers, strict=True))
    unseen = [(len(g - seen), len((g - seen) & set(top))) for g, top in zip(gold, best, strict=True)]
    return {
        "f1_at_5": round(float(np.mean(f1)), 4),
        "micro_f1": round(2 * right / (sum(map(len, gold)) + sum(map(len, answers))), 4),
        "unseen_assignments": sum(n for n, _ in unseen),
        "unseen_recall_at_10": round(sum(n for _, n in unseen) / max(1, sum(n for n, _ in unseen)), 4),
        "seconds": round(seconds, 2),
    }


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lexical", description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[0, 50, 500, 5000, 30000])
    parser.add_argument("--test", type=int, default=3000, help="number of test documents")
    options = parser.parse_args(arguments)
    taxonomy = mesh()
    train, test = citations(taxonomy)
    seen = {label for d in train for label in d["labels"]}
    result: dict[str, Any] = {"machine": machine.describe(), "matching": matching(taxonomy, train)}
    print(json.dumps(result["matching"]), flush=True)
    for n in options.documents:
        start = time.process_time()
        some = train[:n]
        model = LexicalModel(taxonomy)
        model = model.fit([d["text"] for d in some], [d["labels"] for d in some]) if n else model.fit()
        fitted = round(time.process_time() - start, 2)
        row = {"documents": len(some), "fit_seconds": fitted, **figures(model, test[: options.test], seen)}
        result.setdefault("models", []).append(row)
        print(json.dumps(row), flush=True)
    result["within_budget"] = result["matching"]["match_seconds"] < 5
    return result
