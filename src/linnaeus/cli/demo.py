"""`linnaeus demo`: from documents to answers in one command, on the docstrings of installed packages."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from linnaeus.cli.common import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.pipeline import Pipeline
    from linnaeus.taxonomy import Taxonomy

__all__ = ["demo"]

_METRICS = ("micro_f1", "macro_f1", "example_f1", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1")
_RARE = 5  # maximum number of training documents of a rare label

_LEGEND = """Flat: one classifier per label; a document may get no label, or with rescue the best one.
Joint: all labels are learned together, each regularised towards its relatives in the taxonomy (RRSVM).
Flat measures compare the most specific nodes of an answer, hierarchical measures also their ancestors."""

_CONTENT = {
    "docstrings": "docstrings of installed packages, labelled with the modules that export them",
    "manuals": "manual pages, labelled with their manual and section",
    "packages": "descriptions of installed Debian packages, labelled with their source package and section",
}
_Labels = list[list[str]]


class _Gain(TypedDict):
    """A difference with its 95 % interval."""

    difference: float
    low: float
    high: float


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder for the model and the example files.")
    ] = "demo-model",
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            help="docstrings (of Python packages), manuals (manual pages of this computer) or packages (descriptions "
            "of installed Debian packages).",
        ),
    ] = "docstrings",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.")] = -1,
    as_json: JsonOption = False,
) -> None:
    """Train on the built-in corpus, evaluate, explain three documents, save, and suggest next steps."""
    from linnaeus import store
    from linnaeus.data.corpora import CORPORA, demo_corpus
    from linnaeus.data.splits import train_test_split
    from linnaeus.errors import ParameterError, nearest

    say = (lambda message: None) if as_json else print
    store.check_target(output)
    if corpus not in CORPORA:
        raise ParameterError(f"--corpus {corpus} is unknown; expected {', '.join(CORPORA)}{nearest(corpus, CORPORA)}")
    documents = demo_corpus(corpus=corpus)
    tax = documents.taxonomy
    assert tax is not None
    train, test = train_test_split(documents, 0.25, random_state=0)
    gold = test.labels or []
    say(f"{len(documents):,} {_CONTENT[corpus]}; {tax}.")
    say(f"{len(train):,} to learn from, {len(test):,} to test on.\n")
    start = time.perf_counter()
    flat, joint = _train(train, tax, jobs)
    seconds = time.perf_counter() - start
    answers = _answers(flat, joint, test.documents)
    rare = _rare_rows(train.labels or [], gold)
    scores = {name: _measure(gold, found, rare, tax) for name, found in answers.items()}
    gain = _gain(gold, answers["joint"], answers["flat with rescue"], tax)
    if not as_json:
        measures = [*_METRICS, "hierarchical_f1_rare"]
        print_table(["measure", *scores], [(m.replace("_", " "), *(s[m] for s in scores.values())) for m in measures])
        say(f"{_LEGEND}\nRare: the {len(rare)} test documents with a label of at most {_RARE} training documents.")
        say(_verdict(gain))
        _show_examples(joint, test)
    store.save(joint, output)
    examples, learned, tree = f"{output}-examples.jsonl", f"{output}-train.jsonl", f"{output}-taxonomy.tsv"
    _write_examples(test, examples)
    _write_examples(train, learned)
    tax.write(tree)
    if as_json:
        found = {"documents": len(documents), "nodes": tax.n_nodes, "seconds": seconds, "scores": scores, "gain": gain}
        print_json({**found, "output": output})
        return
    print(f"\nTrained in {seconds:.1f} s. The model is in {output}/, its documents are in {learned} and {examples}.")
    print("Next, let `train` choose the model, or use the one that was saved:")
    for command in (
        f"linnaeus train --data {learned} --taxonomy {tree} --test {examples} --output {output}-chosen",
        f"linnaeus predict {output} {examples} --top 3",
        f"linnaeus evaluate {output} {examples}",
        f'linnaeus explain {output} --document "Solve a sparse linear system with a direct factorisation."',
    ):
        print(f"  {command}")


def _train(train: Dataset, taxonomy: Taxonomy, jobs: int) -> tuple[Pipeline, Pipeline]:
    """The flat baseline and the joint model, both trained on the labels as given."""
    from linnaeus import RRSVM, OneVsRestSVM
    from linnaeus.features.text import TextFeatures
    from linnaeus.pipeline import Pipeline

    # Each with the C that was best for it on a held-out quarter of the training documents.
    one_by_one = OneVsRestSVM(taxonomy=taxonomy, C=4.0, n_jobs=jobs, random_state=0, verbose=1)
    together = RRSVM(taxonomy=taxonomy, C=2.0, n_jobs=jobs, random_state=0, verbose=1)
    flat, joint = (Pipeline(model, TextFeatures(sublinear_tf=True, min_df=2)) for model in (one_by_one, together))
    return flat.fit(train.documents, train.labels), joint.fit(train.documents, train.labels)


def _answers(flat: Pipeline, joint: Pipeline, documents: object) -> dict[str, _Labels]:
    """Most specific labels of the baseline, of the baseline with rescue, and of the joint model."""
    from linnaeus.decoding import Threshold

    return {
        "flat baseline": flat.predict(documents, decoder=Threshold(0.0, repair=None, at_least_one=False)),
        "flat with rescue": flat.predict(documents),
        "joint": joint.predict(documents),
    }


def _rare_rows(train: _Labels, test: _Labels) -> list[int]:
    """Test documents with a rare label."""
    seen = Counter(label for labels in train for label in labels)
    return [i for i, labels in enumerate(test) if any(seen[label] <= _RARE for label in labels)]


def _measure(gold: _Labels, predicted: _Labels, rare: list[int], taxonomy: Taxonomy) -> dict[str, float]:
    from linnaeus import metrics

    found = {name: float(getattr(metrics, name)(gold, predicted, taxonomy=taxonomy)) for name in _METRICS}
    few, answered = ([rows[i] for i in rare] for rows in (gold, predicted))
    return {**found, "hierarchical_f1_rare": float(metrics.hierarchical_f1(few, answered, taxonomy))}


def _gain(gold: _Labels, joint: _Labels, flat: _Labels, taxonomy: Taxonomy) -> _Gain:
    """Difference of hierarchical F1 with its bootstrap interval, which is wide for a thousand documents."""
    from linnaeus.metrics import compare

    rows = compare(gold, joint, flat, taxonomy, n_resamples=1_000)
    row = next(row for row in rows if row["measure"] == "hierarchical_f1")
    return {"difference": row["difference"], "low": row["low"], "high": row["high"]}


def _verdict(gain: _Gain) -> str:
    interval = "{difference:+.4f}, with 95% confidence {low:+.4f} to {high:+.4f}".format(**gain)
    chance = "; this may be due to chance" if gain["low"] <= 0 <= gain["high"] else ""
    return f"Joint compared with flat with rescue, hierarchical F1: {interval}{chance}."


def _show_examples(pipe: Pipeline, test: Dataset) -> None:
    """Print three test documents of different packages, with the words that decided each step of the path."""
    tax = pipe.taxonomy_
    ids, seen = test.ids or [], set[str]()
    for i, labels in enumerate(test.labels or []):
        package = str(tax.names[tax.ancestors(labels[0])[0]])
        text = test.documents[i]
        if package in seen or package == "python" or len(text) < 200 or tax.depth[tax.index(labels[0])] < 2:
            continue
        seen.add(package)
        answer = sorted(pipe.predict([text])[0], key=lambda name: -tax.depth[tax.index(name)])
        steps = pipe.explain(text, answer[0] if answer else None)
        print(f"\n{ids[i]}: {' '.join(text.split())[:90]} ...")
        print(f"  labels {', '.join(labels)}; predicted {' > '.join(step.node for step in steps)}")
        for step in steps:
            best = [(f, c) for f, c in zip(step.features, step.contributions, strict=True) if c > 0][:5]
            print(f"    {step.node:<28} {step.score:+.2f}  because of {', '.join(f'{f} {c:+.2f}' for f, c in best)}")
        if len(seen) == 3:
            return


def _write_examples(documents: Dataset, path: str) -> None:
    import json

    from linnaeus.files import replace_file

    records = zip(documents.ids or [], documents.documents, documents.labels or [], strict=True)
    lines = [json.dumps({"id": i, "text": text, "labels": labels}, ensure_ascii=False) for i, text, labels in records]
    replace_file(path, "".join(f"{line}\n" for line in lines).encode())
