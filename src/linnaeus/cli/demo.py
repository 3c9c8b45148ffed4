"""`linnaeus demo`: from documents to answers in one command, on the docstrings of installed packages."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from linnaeus.cli.console import JsonOption, print_json, print_table

__all__ = ["demo"]

_METRICS = ("micro_f1", "macro_f1", "example_f1", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1")

_LEGEND = """Flat: every label decides alone and may leave a document without any; with rescue, the best one is taken.
Consistent sets: every node of the tree learns; the answer is the best set that holds all its ancestors.
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
    flat, pipe, seconds = _train(train, tax, jobs)
    scores = {name: _measure(test.labels, found, tax) for name, found in _answers(flat, pipe, test.documents).items()}
    if not as_json:
        print_table(["measure", *scores], [(m.replace("_", " "), *(s[m] for s in scores.values())) for m in _METRICS])
        say(_LEGEND)
        _show_examples(pipe, test)
    store.save(pipe, output)
    examples = f"{output}-examples.jsonl"
    _write_examples(test, examples)
    if as_json:
        print_json(
            {"documents": len(corpus), "nodes": tax.n_nodes, "seconds": seconds, "scores": scores, "output": output}
        )
        return
    print(f"\nTrained in {seconds:.1f} s. The model is in {output}/, test documents are in {examples}. Try next:")
    for command in (
        f"linnaeus predict {output} {examples} --top 3",
        f"linnaeus evaluate {output} {examples}",
        f'linnaeus explain {output} --text "Solve a sparse linear system with a direct factorisation."',
        "linnaeus train --help",
    ):
        print(f"  {command}")


def _train(train: Any, taxonomy: Any, jobs: int) -> tuple[Any, Any, float]:
    """The flat baseline on the labels as given, and a model of all nodes decoded to consistent sets."""
    from linnaeus import OneVsRestSVM
    from linnaeus.decoding import BestSubtree
    from linnaeus.features.text import TextFeatures
    from linnaeus.pipeline import Pipeline

    start = time.perf_counter()
    features = TextFeatures(sublinear_tf=True, min_df=2)
    # C and theta were chosen on a held-out quarter of the training documents.
    shared = {"taxonomy": taxonomy, "C": 4.0, "n_jobs": jobs, "random_state": 0, "verbose": 1}
    flat = Pipeline(OneVsRestSVM(**shared), features).fit(train.documents, train.labels)
    pipe = Pipeline(OneVsRestSVM(learn="closed", **shared), features, decoder=BestSubtree(theta=-0.3))
    pipe.fit(train.documents, train.labels)
    return flat, pipe, time.perf_counter() - start


def _answers(flat: Any, pipe: Any, documents: Any) -> dict[str, Any]:
    """Most specific labels of the baseline, of the baseline with rescue, and of the best consistent sets."""
    from linnaeus.decoding import Threshold

    return {
        "flat baseline": flat.predict(documents, decoder=Threshold(0.0, repair=None, at_least_one=False)),
        "flat with rescue": flat.predict(documents),
        "consistent sets": pipe.predict(documents),
    }


def _measure(gold: Any, predicted: Any, taxonomy: Any) -> dict[str, float]:
    from linnaeus import metrics

    return {name: float(getattr(metrics, name)(gold, predicted, taxonomy=taxonomy)) for name in _METRICS}


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
