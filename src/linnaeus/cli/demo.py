"""`linnaeus demo`: from documents to answers in one command, on the docstrings of installed packages."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated, Any

import typer

from linnaeus.cli.console import JsonOption, print_json, print_table

__all__ = ["demo"]

_METRICS = ("micro_f1", "macro_f1", "example_f1", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1")
_RARE = 5  # documents to learn from, at most: what makes a label a rare one

_LEGEND = """Flat: every label decides alone and may leave a document without any; with rescue, the best one is taken.
Joint: all labels are learned together, each pulled towards its relatives in the tree of modules (RRSVM).
Flat measures look at the most specific nodes of an answer, hierarchical ones at all nodes above them, too."""


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder for the model and the example files.")
    ] = "demo-model",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.")] = -1,
    as_json: JsonOption = False,
) -> None:
    """Train on the built-in corpus, measure, explain three documents, save, and say what to try next."""
    from linnaeus import store
    from linnaeus.data.corpora import demo_corpus
    from linnaeus.data.splits import train_test_split

    say = (lambda message: None) if as_json else print
    store.check_target(output)
    corpus = demo_corpus()
    tax: Any = corpus.taxonomy
    train, test = train_test_split(corpus, 0.25, random_state=0)
    say(f"{len(corpus):,} docstrings of installed packages, labelled with the modules that export them; {tax}.")
    say(f"{len(train):,} to learn from, {len(test):,} to test on.\n")
    start = time.perf_counter()
    flat, joint = _train(train, tax, jobs)
    seconds = time.perf_counter() - start
    answers = _answers(flat, joint, test.documents)
    rare = _rare_rows(train.labels, test.labels)
    scores = {name: _measure(test.labels, found, rare, tax) for name, found in answers.items()}
    gain = _gain(test.labels, answers["joint"], answers["flat with rescue"], tax)
    if not as_json:
        measures = [*_METRICS, "hierarchical_f1_rare"]
        print_table(["measure", *scores], [(m.replace("_", " "), *(s[m] for s in scores.values())) for m in measures])
        say(f"{_LEGEND}\nRare: the {len(rare)} test documents with a label of at most {_RARE} documents to learn from.")
        say(_verdict(gain))
        _show_examples(joint, test)
    store.save(joint, output)
    examples = f"{output}-examples.jsonl"
    _write_examples(test, examples)
    if as_json:
        found = {"documents": len(corpus), "nodes": tax.n_nodes, "seconds": seconds, "scores": scores, "gain": gain}
        print_json({**found, "output": output})
        return
    print(f"\nTrained in {seconds:.1f} s. The model is in {output}/, test documents are in {examples}. Try next:")
    for command in (
        f"linnaeus predict {output} {examples} --top 3",
        f"linnaeus evaluate {output} {examples}",
        f'linnaeus explain {output} --document "Solve a sparse linear system with a direct factorisation."',
        "linnaeus train --help",
    ):
        print(f"  {command}")


def _train(train: Any, taxonomy: Any, jobs: int) -> tuple[Any, Any]:
    """The flat baseline and the joint model, both on the labels as given."""
    from linnaeus import RRSVM, OneVsRestSVM
    from linnaeus.features.text import TextFeatures
    from linnaeus.pipeline import Pipeline

    shared: dict[str, Any] = {"taxonomy": taxonomy, "n_jobs": jobs, "random_state": 0, "verbose": 1}
    # Each with the C that was best for it on a held-out quarter of the training documents.
    models = OneVsRestSVM(C=4.0, **shared), RRSVM(C=2.0, **shared)
    flat, joint = (Pipeline(model, TextFeatures(sublinear_tf=True, min_df=2)) for model in models)
    return flat.fit(train.documents, train.labels), joint.fit(train.documents, train.labels)


def _answers(flat: Any, joint: Any, documents: Any) -> dict[str, Any]:
    """Most specific labels of the baseline, of the baseline with rescue, and of the joint model."""
    from linnaeus.decoding import Threshold

    return {
        "flat baseline": flat.predict(documents, decoder=Threshold(0.0, repair=None, at_least_one=False)),
        "flat with rescue": flat.predict(documents),
        "joint": joint.predict(documents),
    }


def _rare_rows(train: list[list[str]], test: list[list[str]]) -> list[int]:
    """Test documents with a label that few training documents have."""
    seen = Counter(label for labels in train for label in labels)
    return [i for i, labels in enumerate(test) if any(seen[label] <= _RARE for label in labels)]


def _measure(gold: Any, predicted: Any, rare: list[int], taxonomy: Any) -> dict[str, float]:
    from linnaeus import metrics

    found = {name: float(getattr(metrics, name)(gold, predicted, taxonomy=taxonomy)) for name in _METRICS}
    few, answered = ([rows[i] for i in rare] for rows in (gold, predicted))
    return {**found, "hierarchical_f1_rare": float(metrics.hierarchical_f1(few, answered, taxonomy))}


def _gain(gold: Any, joint: Any, flat: Any, taxonomy: Any) -> dict[str, float]:
    """Difference of hierarchical F1 with its bootstrap interval: on a thousand documents much of it is chance."""
    from linnaeus.metrics import compare

    rows = compare(gold, joint, flat, taxonomy, n_resamples=1_000)
    row = next(row for row in rows if row["measure"] == "hierarchical_f1")
    return {name: row[name] for name in ("difference", "low", "high")}


def _verdict(gain: dict[str, float]) -> str:
    interval = "{difference:+.4f}, with 95% confidence {low:+.4f} to {high:+.4f}".format(**gain)
    chance = "; that may be chance" if gain["low"] <= 0 <= gain["high"] else ""
    return f"Joint beside flat with rescue, hierarchical F1: {interval}{chance}."


def _show_examples(pipe: Any, test: Any) -> None:
    """Three test documents of different packages, with the words that decided each step down."""
    tax = pipe.taxonomy_
    seen: set[str] = set()
    for i, labels in enumerate(test.labels):
        package = str(tax.names[tax.ancestors(labels[0])[0]])
        text = test.documents[i]
        if package in seen or package == "python" or len(text) < 200 or tax.depth[tax.index(labels[0])] < 2:
            continue
        seen.add(package)
        answer = sorted(pipe.predict([text])[0], key=lambda name: -tax.depth[tax.index(name)])
        steps = pipe.explain(text, answer[0] if answer else None)
        print(f"\n{test.ids[i]}: {' '.join(text.split())[:90]} ...")
        print(f"  labels {', '.join(labels)}; predicted {' > '.join(step.node for step in steps)}")
        for step in steps:
            best = [(f, c) for f, c in zip(step.features, step.contributions, strict=True) if c > 0][:5]
            print(f"    {step.node:<28} {step.score:+.2f}  because of {', '.join(f'{f} {c:+.2f}' for f, c in best)}")
        if len(seen) == 3:
            return


def _write_examples(test: Any, path: str) -> None:
    import json

    from linnaeus.files import replace_file

    records = zip(test.ids, test.documents, test.labels, strict=True)
    lines = [json.dumps({"id": i, "text": text, "labels": labels}, ensure_ascii=False) for i, text, labels in records]
    replace_file(path, "".join(f"{line}\n" for line in lines).encode())
