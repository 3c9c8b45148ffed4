"""What `linnaeus train` gives a user who chooses nothing, beside the old default, on real data sets.

    python -m benchmarks defaults --problem enron_hmc --measure average_precision
    python -m benchmarks defaults --page docs/results/defaults.md          # from the results of all runs

A problem is written as files; `linnaeus train` and `linnaeus evaluate` then run as a user types them, each in a process
of its own. Everything is chosen on training documents; test documents are only evaluated. Results are kept in
docs/results/defaults.json, one entry for each problem, measure and setting.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, problems
from benchmarks.accuracy import page
from benchmarks.problems.base import DATA, Problem
from benchmarks.problems.hmc import TOPS_OF_GO, YEAST
from linnaeus import Taxonomy, load, metrics
from linnaeus.data import hash_split
from linnaeus.data.readers import read_dataset

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "defaults.json"
OLD = ("--model", "OneVsRestSVM", "--C", "1", "--decoder", "own")
ARFF = {
    "imclef07a": ("imclef07a/ImCLEF07A_Train.arff.gz", "imclef07a/ImCLEF07A_Test.arff.gz"),
    "enron_hmc": ("enron_hmc/Enron_corr_trainvalid.arff.gz", "enron_hmc/Enron_corr_test.arff.gz"),
    **{name: tuple(f"yeast/{name}.{part}.arff.gz" for part in ("train", "valid", "test")) for name in YEAST},
}
WRITTEN = ("rcv1v2", "20newsgroups", "medline_mesh", "enzyme_ec", "wordnet_nouns")
TITLES = {
    "au_prc": "AU(PRC)",
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "hierarchical_f1": "hierarchical F1",
    "precision_at_1": "P@1",
}
WANTED = {  # a figure of a run, its title, and what it should be
    "rcv1v2/hierarchical_f1": ("micro_f1", "micro-F1", 0.830),
    "rcv1v2/macro_f1": ("macro_f1", "macro-F1", 0.620),
    "imclef07a/average_precision": ("au_prc", "AU(PRC)", 0.945),
    "imclef07a/hierarchical_f1": ("leaf_micro_f1", "micro-F1 of leaves", 0.870),
    "enron_hmc/average_precision": ("au_prc", "AU(PRC)", 0.765),
    "cellcycle_FUN/average_precision": ("au_prc", "AU(PRC)", 0.252),
    "eisen_FUN/average_precision": ("au_prc", "AU(PRC)", 0.300),
    "seq_FUN/average_precision": ("au_prc", "AU(PRC)", 0.296),
    "cellcycle_GO/average_precision": ("au_prc", "AU(PRC)", 0.400),
    "eisen_GO/average_precision": ("au_prc", "AU(PRC)", 0.445),
    "seq_GO/average_precision": ("au_prc", "AU(PRC)", 0.447),
    "medline_mesh/hierarchical_f1": ("hierarchical_f1", "hierarchical F1", 0.590),
    "wordnet_nouns/precision_at_1": ("precision_at_1", "P@1", 0.432),
}
INTRODUCTION = (
    "Every row is one run of `python -m benchmarks defaults --problem NAME --measure MEASURE`, which writes the data "
    "set as files where it is not one already and then calls `linnaeus train --measure MEASURE` and `linnaeus "
    "evaluate` as a user would, with no other option. Everything is chosen on training documents; the figures are of "
    "the test documents. The old default (`--old`) is `OneVsRestSVM` with C 1 and its own decoder; shown is its figure "
    "of the measure that was asked for, or hierarchical F1 where it has none. Other work ran on the machine. Seconds "
    "are those of the whole command, with starting, reading and saving; the budget is that of the search and the last "
    "training. The whole results are in [defaults.json](defaults.json). The page is made of them by `python -m "
    "benchmarks defaults --page docs/results/defaults.md`; the text below the table is written by hand."
)
SHOWN = ("hierarchical_f1", "micro_f1", "macro_f1", "au_prc", "precision_at_1", "leaf_micro_f1", "top_macro_f1")


@dataclass(frozen=True)
class Files:
    """Files of a problem, as options of `linnaeus train` and as arguments of `linnaeus evaluate`."""

    train: tuple[str, ...]
    test: str
    taxonomy: str | None = None
    options: tuple[str, ...] = ()


def run(arguments: list[str]) -> dict[str, Any]:
    """One problem with one measure, or the page of all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks defaults", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", choices=[*ARFF, *WRITTEN])
    parser.add_argument("--measure", default="hierarchical_f1")
    parser.add_argument("--budget", help="as `linnaeus train --budget`; default: its default")
    parser.add_argument("--old", action="store_true", help="the old default: OneVsRestSVM with C 1 and its own decoder")
    parser.add_argument("--limit", type=float, help="seconds after which a training is stopped and noted as such")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write this page from the results instead of running")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    kept = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.page or not options.problem:
        text = markdown(kept)
        page.rewrite(options.page, text) if options.page else print(text)
        return {}
    with tempfile.TemporaryDirectory(prefix="linnaeus-defaults-") as folder:
        found = measured(
            options.problem, Path(folder), options.measure, options.budget, options.old, limit=options.limit
        )
    setting = "old" if options.old else options.measure
    kept = json.loads(options.results.read_text()) if options.results.exists() else {}
    kept[f"{options.problem}/{setting}"] = found
    options.results.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    print(json.dumps(found, indent=1) if options.json else _line(options.problem, setting, found))
    return found


def measured(
    name: str, folder: Path, measure: str, budget: str | None, old: bool, *, limit: float | None = None
) -> dict[str, Any]:
    """Train and evaluate on the command line; what was chosen, and the figures, none where the limit was reached."""
    files = files_of(name, folder)
    model = folder / "model"
    command = ["train", *(part for path in files.train for part in ("--data", path)), "--output", str(model)]
    command += [] if files.taxonomy is None else ["--taxonomy", files.taxonomy]
    command += [*files.options, *(OLD if old else ("--measure", measure))]
    command += [] if budget is None or old else ["--budget", budget]
    began, used = time.perf_counter(), _processor_seconds()
    shown = " ".join(["linnaeus", *command]).replace(f"{DATA}/", "").replace(f"{folder}/", "")
    try:
        said = _called([*command, "--json"], limit)
    except subprocess.TimeoutExpired:
        stopped = {"command": shown, "seconds": limit, "stopped": True, "budget": None, "chosen": None}
        stopped["processor_seconds"] = round(_processor_seconds() - used, 1)
        return {**stopped, "held_out": None, "figures": {}, "machine": machine.describe()}
    seconds, processor = time.perf_counter() - began, _processor_seconds() - used
    figures = _called(["evaluate", str(model), files.test, *files.options, "--json"])
    report = said.get("search") or {}
    return {
        "command": shown,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "budget": report.get("budget"),
        "chosen": report.get("chosen"),
        "held_out": report.get("value"),
        "figures": {**figures["metrics"], **_more(name, model, files)},
        "machine": machine.describe(),
    }


def _processor_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _called(command: list[str], limit: float | None = None) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "linnaeus", *command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=limit,
    )
    if done.returncode:
        raise SystemExit(f"linnaeus {' '.join(command)}\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def _more(name: str, folder: Path, files: Files) -> dict[str, float]:
    """Figures in the conventions of publications, from the stored model."""
    model = load(folder)
    found: dict[str, float] = {}
    data = read_dataset(files.test)
    gold = data.indicator(model.taxonomy_) if name in ARFF else None
    if name == "imclef07a" and gold is not None:
        leaf = model.taxonomy_.leaves
        H, Y = model.taxonomy_.close(model.answers(data.documents)), model.taxonomy_.close(gold)
        found["leaf_micro_f1"] = float(metrics.micro_f1(Y[:, leaf], H[:, leaf]))
    if name.endswith("_GO") and gold is not None and hasattr(model, "predict_proba"):
        P = model.node_probabilities(data.documents)
        found["au_prc"] = float(metrics.au_prc(gold, P, model.taxonomy_, exclude=TOPS_OF_GO))
    if name == "wordnet_nouns":  # the best label of every document
        best = model.top(data.documents, k=1, **({"probabilities": True} if model.nested_ else {}))[0]
        found["precision_at_1"] = float(np.mean([b[0] in row for b, row in zip(best, data.labels or [], strict=True)]))
        first = [[str(b[0])] for b in best]
        found["top_macro_f1"] = float(metrics.macro_f1(data.labels, first, model.taxonomy_))
    return found


# -- files -------------------------------------------------------------------------------------------------------------


def files_of(name: str, folder: Path) -> Files:
    """The files of a problem; those that the data set does not have as such are written to a folder."""
    if name in ARFF:
        *train, test = (str(DATA / path) for path in ARFF[name])
        return Files(tuple(train), test)
    if name == "wordnet_nouns":
        base = DATA / name
        return Files((str(base / "train.jsonl.xz"),), str(base / "test.jsonl.xz"), str(base / "taxonomy.tsv.xz"))
    if name == "rcv1v2":
        return _vectors(problems.load(name), folder)
    documents, test, taxonomy = {"20newsgroups": _posts, "medline_mesh": _citations, "enzyme_ec": _enzymes}[name]()
    for part, rows in (("train", ~test), ("test", test)):
        lines = [json.dumps(document) for document, here in zip(documents, rows, strict=True) if here]
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    taxonomy.write(folder / "taxonomy.tsv")
    return Files((str(folder / "train.jsonl"),), str(folder / "test.jsonl"), str(folder / "taxonomy.tsv"))


def _vectors(problem: Problem, folder: Path) -> Files:
    for part, X, Y in (("train", problem.X, problem.Y), ("test", problem.X_test, problem.Y_test)):
        arrays = {f"X_{key}": getattr(X, key) for key in ("data", "indices", "indptr", "shape")}
        arrays |= {f"Y_{key}": getattr(Y, key) for key in ("indices", "indptr", "shape")}
        np.savez(folder / f"{part}.npz", **arrays, label_names=problem.taxonomy.names.astype(str))
    problem.taxonomy.write(folder / "taxonomy.tsv")
    return Files((str(folder / "train.npz"),), str(folder / "test.npz"), str(folder / "taxonomy.tsv"))


def _posts() -> tuple[list[dict[str, Any]], Any, Taxonomy]:
    data = read_dataset(DATA / "20newsgroups" / "20news-bydate.tar.xz", headers="strip")
    rows = [{"text": text, "labels": row} for text, row in zip(data.documents, data.labels or [], strict=True)]
    return rows, np.array(data.split) != "train", problems.load("newsgroups20").taxonomy


def _citations() -> tuple[list[dict[str, Any]], Any, Taxonomy]:
    taxonomy = Taxonomy.read(DATA / "medline_mesh" / "mtrees2014.csv.gz")
    data = read_dataset(DATA / "medline_mesh" / "medline_pubmed20n0014.jsonl.xz")
    fields = data.fields or {}
    rows, kept = [], []
    for i, labels in enumerate(data.labels or []):
        known = [label for label in labels if label in taxonomy]
        if known and fields["abstract"][i].strip():
            rows.append({"title": fields["title"][i], "abstract": fields["abstract"][i], "labels": known})
            kept.append((data.ids or [])[i])
    return rows, hash_split(kept, 4), taxonomy


def _enzymes() -> tuple[list[dict[str, Any]], Any, Taxonomy]:
    problem = problems.load("enzyme_ec")
    rows = []
    for X, Y in ((problem.X, problem.Y), (problem.X_test, problem.Y_test)):
        labels = problem.taxonomy.labels(Y)
        rows += [{"sequence": str(x), "labels": row} for x, row in zip(X, labels, strict=True)]
    return rows, np.arange(len(rows)) >= len(problem.X), problem.taxonomy


# -- the page ----------------------------------------------------------------------------------------------------------


def markdown(kept: dict[str, dict[str, Any]]) -> str:
    """The page of all runs: what was asked for and chosen, its figures, and the same figure of the old default."""
    rows = []
    for key, found in kept.items():
        name, setting = key.split("/")
        if setting == "old":
            continue
        figures = {title: _short(found["figures"].get(measure)) for measure, title in TITLES.items()}
        if (leaves := found["figures"].get("leaf_micro_f1")) is not None:
            figures["micro-F1"] += f" (leaves {_short(leaves)})"
        rows.append(
            {
                "problem": name,
                "asked for": setting.replace("_", " "),
                "chosen": _chosen(found),
                **figures,
                "old default": _old(setting, kept.get(f"{name}/old")),
                "seconds": f"{found['seconds']:.0f}",
                "budget": f"{found['budget']:.0f}",
                "measured": found["machine"]["date"],
                "wanted": _wanted(key, found["figures"]),
            }
        )
    about = next(iter(kept.values()))["machine"]
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", "numpy", "scipy", "scikit-learn"))
    where = f"{about['processor']}, {about['cores']} cores; {versions}."
    return "\n\n".join(["# What `linnaeus train` gives by default", f"{where} {INTRODUCTION}", page.table(rows), ""])


def _old(setting: str, old: dict[str, Any] | None) -> str:
    """The figure that was asked for as the old default has it."""
    if old is None:
        return ""
    used = old.get("processor_seconds")
    took = f"{old['seconds']:.0f} s" if used is None else f"{used:.0f} processor seconds"
    if old.get("stopped"):
        return f"stopped after {took}"
    measure = {"average_precision": "au_prc"}.get(setting, setting)
    measure = measure if old["figures"].get(measure) is not None else "hierarchical_f1"
    return f"{TITLES[measure]} {_short(old['figures'][measure])} in {took}"


def _wanted(key: str, figures: dict[str, float | None]) -> str:
    if key not in WANTED:
        return ""
    measure, title, value = WANTED[key]
    missed = value - round(figures.get(measure) or 0.0, 3)
    end = "reached" if missed <= 0 else f"missed by {_short(missed)}"
    return f"{title} {_short(value)}: {end}"


def _line(name: str, setting: str, found: dict[str, Any]) -> str:
    figures = {key: round(value, 4) for key, value in found["figures"].items() if key in SHOWN and value is not None}
    return f"{name} {setting} {found['seconds']} s: {_chosen(found)}; {figures}"


def _chosen(found: dict[str, Any]) -> str:
    chosen = found["chosen"]
    if not chosen:
        return "OneVsRestSVM, C 1" + (", stopped at the limit" if found.get("stopped") else "")
    learned = {"closed": "closed sets", "frontier": "most specific labels"}.get(chosen.get("learn") or "")
    said = [chosen["model"], *(f"{key} {chosen[key]:g}" for key in ("C",) if chosen.get(key) is not None)]
    said += [f"pull {chosen['pull']}"] if chosen.get("pull") else []
    said += [learned] if learned else []
    said += [chosen["features"]] if chosen.get("features") not in (None, "as they are", "texts") else []
    return ", ".join([*said, f"decoder {chosen['cut']}"])


def _short(value: float | None) -> str:
    """.896"""
    return "" if value is None else f"{value:.3f}".removeprefix("0")
