"""Lexical evidence on MEDLINE: time of matching, and LexicalModel with no, few and many training documents."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.problems.base import DATA
from linnaeus import LexicalModel, Taxonomy
from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.lexical.model import NOT_FOUND
from linnaeus.lexical.words import as_documents
from linnaeus.metrics.resampling import bootstrap, permutation_test

FOLDER = DATA / "medline_mesh"
MLLM = Path(__file__).parent / "rivals" / "mllm.py"


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
    scattered = time.process_time()
    model = LexicalModel(taxonomy).fit()
    model._matching()
    start_of_all = time.process_time()
    model._candidates(texts)
    candidates = time.process_time()
    model.top_nodes(texts, 10)
    return {
        "documents": len(texts),
        "matches": len(found),
        "build_seconds": round(built - start, 2),
        "match_seconds": round(exact - built, 2),
        "with_scattered_seconds": round(scattered - built, 2),
        "candidates_seconds": round(candidates - start_of_all, 2),  # stems of words are known here
        "top_seconds": round(time.process_time() - candidates, 2),
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


def beside_mllm(
    python: str, taxonomy: Taxonomy, train: list[dict[str, Any]], test: list[dict[str, Any]]
) -> dict[str, Any]:
    """F1 of up to five suggestions of MLLM and of LexicalModel, title and abstract as one text for both."""
    texts, held = ([_line(d) for d in part] for part in (train, test))
    named = [f"http://example.org/{i}" for i in range(taxonomy.n_nodes)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        display = {uri: str(label) for uri, label in zip(named, taxonomy.names, strict=True)}
        edges = [(named[p], named[v]) for v in range(taxonomy.n_nodes) for p in taxonomy.parents(v)]
        same = Taxonomy.from_edges(edges, nodes=named, root=None, display_labels=display)
        same.write(folder / "vocab.ttl", language="en")
        rows = [
            f"{t}\t{' '.join(f'<{named[taxonomy.index(label)]}>' for label in d['labels'])}"
            for t, d in zip(texts, train, strict=True)
        ]
        (folder / "train.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        (folder / "test.txt").write_text("\n".join(held) + "\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run([python, MLLM, folder], env=environment, check=True, capture_output=True, text=True)
        theirs = json.loads(done.stdout.splitlines()[-1])
        suggested = [[display[uri] for uri in row] for row in json.loads((folder / "suggested.json").read_text())]
    gold = [set(d["labels"]) for d in test]
    mllm = _f1_of_five(gold, suggested)
    result: dict[str, Any] = {"documents": len(train), "test": len(test), "mllm": {**theirs, "f1_at_5": _mean(mllm)}}
    for use_frequency in (False, True):
        start = time.process_time()
        model = LexicalModel(taxonomy, use_frequency=use_frequency).fit(texts, [d["labels"] for d in train])
        seconds = round(time.process_time() - start, 2)
        nodes, scores = model.top_nodes(held, 5)
        found = scores > NOT_FOUND if not use_frequency else np.ones_like(scores, bool)
        best = [[str(taxonomy.names[v]) for v in row[kept]] for row, kept in zip(nodes, found, strict=True)]
        ours = _f1_of_five(gold, best)
        low, high = bootstrap(ours, mllm).interval
        result["all" if use_frequency else "found"] = {
            "f1_at_5": _mean(ours),
            "train_seconds": seconds,
            "p": permutation_test(ours, mllm).p_value,
            "difference": [round(low, 4), round(high, 4)],
        }
    print(json.dumps(result), flush=True)
    return result


def _line(document: dict[str, Any]) -> str:
    return " ".join(f"{document['text']['title']} {document['text']['abstract']}".split())


def _f1_of_five(gold: list[set[str]], suggested: list[list[str]]) -> np.ndarray:
    """Per document; as `annif eval`, of the suggestions that there are, up to five."""
    return np.array([2 * len(g & set(s)) / (len(g) + len(s)) for g, s in zip(gold, suggested, strict=True)])


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 4)


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lexical", description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[0, 50, 500, 5000, 30000])
    parser.add_argument("--test", type=int, default=3000, help="number of test documents")
    parser.add_argument("--annif", help="interpreter with Annif; compares with its MLLM, and nothing else is measured")
    options = parser.parse_args(arguments)
    taxonomy = mesh()
    train, test = citations(taxonomy)
    if options.annif:
        sizes = [n for n in options.documents if n]
        rows = [beside_mllm(options.annif, taxonomy, train[:n], test[: options.test]) for n in sizes]
        return {"machine": machine.describe(), "beside_mllm": rows}
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
    result["within_budget"] = result["matching"]["top_seconds"] < 5
    return result
