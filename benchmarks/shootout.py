"""Every model on every data set, through `linnaeus.experiments`, beside published figures.

    python -m benchmarks shootout --problem enron_hmc --budget 8m --output DIR
    python -m benchmarks shootout --page docs/results/shootout.md        # from the summaries there

Runs in DIR/NAME (the report, resumable) and writes the small summaries NAME.json and NAME.md to docs/results/shootout.
Problems of the hierarchical multi-label benchmark are compared by AU(PRC), all others by hierarchical F1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.accuracy import page
from benchmarks.problems.hmc import TOPS_OF_GO
from linnaeus import Taxonomy, registry
from linnaeus.auto.candidates import FAMILIES, FLAT_ENDS
from linnaeus.auto.search import choose_features
from linnaeus.engine import parse_seconds
from linnaeus.experiments.experiment import Experiment, Part
from linnaeus.experiments.report import write_report
from linnaeus.experiments.shootout import shootout
from linnaeus.features import DenseFeatures
from linnaeus.features.documents import default_features

SUMMARIES = Path(__file__).resolve().parents[1] / "docs" / "results" / "shootout"
DEFAULTS = SUMMARIES.parent / "defaults.json"
SYSTEMS = ("Clus-Ens", "HMCN-F", "C-HMCNN")
MARKS = {"done": "", "stopped early": "*", "no time": "t", "does not apply": "-", "failed": "failed"}
INTRODUCTION = (
    "One model at a time with one thread (`--jobs 1`), while other work ran on the machine: seconds are of the clock "
    "and larger than they need be, and budgets reach less far than on a machine of one's own. "
    "Features, C, what is learned and the cut are chosen on held-out training documents, never on "
    "test. The page is made of the summaries by "
    "`python -m benchmarks shootout --page docs/results/shootout.md`."
)
PUBLISHED_FIGURES = (
    "AU(PRC), micro-averaged over all nodes but the root (and the three tops of GO), labels closed. Ours are of "
    "probabilities: scores through a logistic curve per node, fitted on the held-out quarter, made coherent."
)
EVERY_MODEL = (
    "AU(PRC) where there are published figures, hierarchical F1 elsewhere, in points; bold: best; `*` stopped when its "
    "time was over; `t` no time within the budget; `-` does not apply (reasons on the page of the problem); blank: not "
    "asked."
)
JOINT_OR_FLAT = (
    "`RRSVM` and `RRLogistic` contain the flat models: their search begins with `pull=inf`, which is the flat model, "
    "and follows the pull from there. Difference in points, with the p-value of the comparison with the best flat "
    "model, corrected for all models, then beside the flat model of the same loss. Empty: one of the two had no time."
)
BESIDE_TRAIN = (
    "The best cell of a column is read off the test documents; [`linnaeus train`](defaults.md) chooses on training "
    "documents, within its own budget. Asked for: never more than 0.5 points below the best single model, above it on "
    "half of the problems."
)
OTHER_DOCUMENTS = {"medline_mesh": "not comparable: the shoot-out has 4,000 citations and labels on three levels"}
SHOWN = ("hierarchical_f1", "micro_f1", "macro_f1", "example_f1", "subset_accuracy", "precision_at_1", "au_prc")


@dataclass(frozen=True)
class Question:
    """A data set as it is asked about: which measure, how many training documents at most, what is fixed."""

    problem: str
    measure: str = "hierarchical_f1"
    most: int | None = None
    features: str = "as in the data set"
    published: tuple[float, float, float] | None = None  # AU(PRC) of Clus-Ens, HMCN-F, C-HMCNN
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)


# Far from convergence these rank as well; they stop where the figures do not change any more.
LOOSE: dict[str, dict[str, Any]] = {"HM3": {"tol": 0.02, "max_iter": 40}}
STANDARDISED = "standardised, missing values filled with the mean"
QUESTIONS = {
    "imclef07a": Question("imclef07a", "au_prc", None, STANDARDISED, (0.803, 0.950, 0.956), LOOSE),
    "enron_hmc": Question("enron_hmc", "au_prc", None, STANDARDISED, (0.696, 0.724, 0.756), LOOSE),
    "cellcycle_FUN": Question("cellcycle_FUN", "au_prc", None, STANDARDISED, (0.227, 0.252, 0.255), LOOSE),
    "eisen_FUN": Question("eisen_FUN", "au_prc", None, STANDARDISED, (0.286, 0.298, 0.306), LOOSE),
    "seq_FUN": Question("seq_FUN", "au_prc", None, STANDARDISED, (0.284, 0.291, 0.292), LOOSE),
    "cellcycle_GO": Question("cellcycle_GO", "au_prc", None, STANDARDISED, (0.387, 0.400, 0.413), LOOSE),
    "eisen_GO": Question("eisen_GO", "au_prc", None, STANDARDISED, (0.433, 0.440, 0.455), LOOSE),
    "seq_GO": Question("seq_GO", "au_prc", None, STANDARDISED, (0.438, 0.447, 0.446), LOOSE),
    "rcv1v2": Question("rcv1v2", features="log-TF x IDF of unit length"),
    "20newsgroups": Question("newsgroups20", features="TF x IDF of unit length, headers stripped"),
    # All 20,910 positions and 11,066 citations take hours; the third level and a part of them are a shoot-out.
    "medline_mesh": Question(
        "medline_mesh3", most=4_000, features="TF x IDF of unit length, title and abstract; labels lifted to level 3"
    ),
    "enzyme_ec": Question("enzyme_ec", features="weighted substrings of sequences"),
    "wordnet_nouns": Question("wordnet_nouns", features="sublinear TF x IDF of unit length"),
}


def run(arguments: list[str]) -> dict[str, Any]:
    """One problem, or the page of all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks shootout", description=__doc__.splitlines()[0])
    parser.add_argument("--problem", choices=list(QUESTIONS))
    parser.add_argument("--models", help="only these, as RRSVM,BSVM")
    parser.add_argument("--budget", default="8m")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most", type=int, help="training documents at most, drawn at random")
    parser.add_argument("--output", help="folder of reports; default: a new one for temporary files")
    parser.add_argument("--summaries", type=Path, default=SUMMARIES)
    parser.add_argument("--page", type=Path, help="write this page from the summaries instead of running")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.page or not options.problem:
        return _write_page(options)
    output = Path(options.output or tempfile.mkdtemp(prefix="linnaeus-shootout-")) / options.problem
    experiment = make(options.problem, options.most)
    found = shootout(
        experiment,
        output,
        models=options.models.split(",") if options.models else None,
        budget=parse_seconds(options.budget),
        jobs=options.jobs,
        command=page.command("shootout", _reproduced(arguments)),
        say=lambda message: print(message, file=sys.stderr, flush=True),
    )
    write_report(found, output)
    small = summary(found.to_json())
    options.summaries.mkdir(parents=True, exist_ok=True)
    (options.summaries / f"{options.problem}.json").write_text(json.dumps(small, indent=1) + "\n")
    (options.summaries / f"{options.problem}.md").write_text(markdown(small))
    print(json.dumps(small) if options.json else markdown(small))
    return small


def _reproduced(arguments: list[str]) -> list[str]:
    """The arguments without where files of this machine go."""
    return [
        a
        for a, before in zip(arguments, ["", *arguments], strict=False)
        if not {a, before} & {"--output", "--summaries"}
    ]


def make(name: str, most: int | None = None) -> Experiment:
    """The experiment of a question."""
    question = QUESTIONS[name]
    problem = problems.load(question.problem)
    if name == "imclef07a":  # one leaf per image, with its path: models of one label take it, too
        problem = problems.leaves_only(problem)
    X, Y, X_test, vectors, features = problem.X, problem.Y, problem.X_test, None, question.features
    if problem.read is not None:
        X, vectors, X_test = filled(*problem.read)
    if name == "enzyme_ec":
        X, X_test, name_of_features = substrings(X, Y, X_test, problem.taxonomy)
        features = f"{features}: {name_of_features}"
    most = most or question.most
    split = "given split"
    if most is not None and most < Y.shape[0]:
        rows = np.sort(np.random.default_rng(0).permutation(Y.shape[0])[:most])
        X, Y, split = X[rows], Y[rows], f"given split, {most:,} of {Y.shape[0]:,} training documents"
    tax = problem.taxonomy
    excluded = tuple(node for node in TOPS_OF_GO if node in tax)
    part = Part.of(X, Y, X_test, problem.Y_test)
    how: dict[str, Any] = {"measure": question.measure, "settings": question.settings, "exclude": excluded}
    how["vectors"] = vectors
    return Experiment(name, tax, (part,), split, features, **how)


def filled(X: Any, X_test: Any) -> tuple[Any, DenseFeatures, Any]:
    """Vectors without missing values, and the features that `linnaeus shootout` makes of them."""
    values = DenseFeatures().filling_only().fit(X)
    return values.transform(X), DenseFeatures(), values.transform(X_test)


def substrings(X: Any, Y: Any, X_test: Any, taxonomy: Taxonomy) -> tuple[Any, Any, str]:
    """Matrices of sequences, and the name of the features, chosen as `linnaeus shootout` does."""
    name, features = choose_features(list(X), Y, taxonomy, default_features("sequence"))
    assert features is not None
    return features.fit_transform(list(X)), features.transform(list(X_test)), name


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """What is worth committing: no nodes, no documents."""
    runs = []
    for one in found["runs"]:
        kept = {key: one[key] for key in ("model", "status", "reason", "note", "parameters", "seconds", "model_mb")}
        kept["peak_memory_mb"] = one["peak_memory_mb"]
        runs.append({**kept, **{key: one[key] for key in ("tried", "measures", "intervals", "by_level", "by_size")}})
    keys = ("format", "title", "made", "command", "versions", "machine", "problem", "measures", "comparisons")
    return {**{key: found[key] for key in (*keys, "best", "flat", "sentence")}, "runs": runs}


def markdown(found: dict[str, Any]) -> str:
    """The summary of one problem."""
    about = found["problem"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    said = (
        f"{about['n_train']:,} training and {about['n_test']:,} test documents ({about['split']}), "
        f"{about['n_nodes']:,} nodes ({about['kind']}, depth {about['depth']}), "
        f"{about['n_features']:,} features ({about['features']}), "
        f"{about['labels_per_document']:.2f} labels per document."
    )
    lines = [f"# {about['name']}", "", f"{found['made'][:10]}, {found['machine']}; {versions}.", ""]
    lines += [f"`{found['command']}`", "", said, "", f"**{found['sentence']}**", "", _measured(found)]
    others = [one for one in found["runs"] if not one["measures"]]
    if others:
        lines += ["", page.table([{"model": o["model"], "status": o["status"], "why": o["reason"]} for o in others])]
    noted = [one for one in found["runs"] if one["note"]]
    if noted:
        lines += ["", *(f"- {one['model']}: {one['note']}" for one in noted)]
    return "\n".join(lines) + "\n"


def _measured(found: dict[str, Any]) -> str:
    main = next(row["key"] for row in found["measures"] if row["main"])
    p = {row["model"]: row["p"] for row in found["comparisons"] if row["kind"] == "best"}
    shown = [main, *(key for key in SHOWN if key != main)]
    done = [one for one in found["runs"] if one["measures"].get(main) is not None]
    rows = [
        {
            "model": one["model"] + (" (stopped early)" if one["status"] == "stopped early" else ""),
            **{key.replace("_", " "): page.number(_hundred(one["measures"].get(key)), 1) for key in shown},
            "p vs best": page.p_value(p[one["model"]]) if one["model"] in p else "",
            "C": one["parameters"].get("C", ""),
            "search s": f"{one['seconds']['search']:.1f}",
            "fit s": f"{one['seconds']['fit']:.1f}",
            "MB": f"{one['peak_memory_mb']:.0f}",
            "model MB": f"{one['model_mb']:.1f}",
        }
        for one in sorted(done, key=lambda one: -one["measures"][main])
    ]
    return page.table(rows) if rows else "Nothing could be measured."


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


# -- the page of all problems ------------------------------------------------------------------------------------------


def _write_page(options: argparse.Namespace) -> dict[str, Any]:
    """All summaries on one page; what was found by hand stands below the mark and is kept."""
    found = {name: options.summaries / f"{name}.json" for name in QUESTIONS}
    all_of_them = {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}
    trained = json.loads(DEFAULTS.read_text()) if DEFAULTS.exists() else {}
    text = overview(all_of_them, trained) if all_of_them else "No problem has been run yet.\n"
    if options.page:
        page.rewrite(options.page, text)
    print(text)
    return {"problems": list(all_of_them)}


def overview(found: dict[str, dict[str, Any]], trained: dict[str, dict[str, Any]]) -> str:
    """The page: how it is made, published figures, the sentences, every model on every problem, and comparisons.

    ``trained`` are the runs of `linnaeus train` by problem and measure, as `benchmarks.defaults` keeps them.
    """
    first = next(iter(found.values()))
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    parts = [
        "# The shoot-out",
        f"{first['made'][:10]}, {first['machine']}; {versions}. {INTRODUCTION}",
        page.table(_command(name, one) for name, one in found.items()),
        "## Beside published figures",
        PUBLISHED_FIGURES,
        page.table(_published(name, one) for name, one in found.items() if QUESTIONS[name].published),
        "## In one sentence each",
        "\n".join(f"- **{name}**: {one['sentence']}" for name, one in found.items()),
        "## Every model on every problem",
        EVERY_MODEL,
        page.table(_model_row(model, found) for model in registry.MODELS),
        "## Joint or flat?",
        JOINT_OR_FLAT,
        page.table(filter(None, (_joint_row(name, one) for name, one in found.items()))),
        "## Beside `linnaeus train`",
        BESIDE_TRAIN,
        page.table(filter(None, (_train_row(name, one, trained) for name, one in found.items()))),
    ]
    return "\n\n".join(parts) + "\n\n"


def _command(name: str, one: dict[str, Any]) -> dict[str, Any]:
    counted = Counter(run["status"] for run in one["runs"])
    about = one["problem"]
    size = f"{about['n_train']:,} / {about['n_test']:,}"
    statuses = ("done", "stopped early", "no time", "does not apply", "failed")
    return {
        "problem": f"[{name}](shootout/{name}.md)",
        "train / test": size,
        "nodes": f"{about['n_nodes']:,} ({about['kind']})",
        "run": one["made"][:10],
        **{status: counted.get(status, 0) for status in statuses},
        "command": f"`{one['command'].removeprefix('python -m benchmarks ')}`",
    }


def _published(name: str, one: dict[str, Any]) -> dict[str, Any]:
    best, flat = (next((run for run in one["runs"] if run["model"] == one[key]), None) for key in ("best", "flat"))
    area = None if best is None else best["measures"]["au_prc"]
    published = QUESTIONS[name].published or ()
    return {
        "problem": name,
        "best model": one["best"],
        "AU(PRC)": "" if area is None else f"{area:.3f}",
        "best flat": "" if flat is None else f"{flat['measures']['au_prc']:.3f} ({one['flat']})",
        **{system: f"{value:.3f}" for system, value in zip(SYSTEMS, published, strict=True)},
        "above": ", ".join(s for s, v in zip(SYSTEMS, published, strict=True) if area is not None and area > v)
        or "none",
    }


def _main(one: dict[str, Any]) -> str:
    """The measure that models are compared by."""
    return str(next(measure["key"] for measure in one["measures"] if measure["main"]))


def _joint_row(name: str, one: dict[str, Any]) -> dict[str, Any] | None:
    """The best joint model beside the best flat one; None where one of the two was not measured."""
    main, flat = _main(one), next((run for run in one["runs"] if run["model"] == one["flat"]), None)
    joint = [run for run in one["runs"] if run["model"] in FAMILIES["joint"] and run["measures"].get(main) is not None]
    if flat is None or not joint:
        return None
    best = max(joint, key=lambda run: run["measures"][main])
    p = next((row["p"] for row in one["comparisons"] if (row["kind"], row["model"]) == ("flat", best["model"])), None)
    difference = 100 * (best["measures"][main] - flat["measures"][main])
    chance = "" if p is None else f" (p {'' if p < 1e-4 else '= '}{page.p_value(p)})"
    return {
        "problem": name,
        "best flat model": f"{flat['model']} {100 * flat['measures'][main]:.1f}",
        "best of RRSVM and RRLogistic": f"{best['model']} {100 * best['measures'][main]:.1f}",
        "difference": f"{difference:+.1f}{chance}",
        **{f"{model} - {other}": _less(one, model, other) for model, other in FLAT_ENDS.items()},
    }


def _less(one: dict[str, Any], model: str, other: str) -> str:
    """The difference of two models in points; empty where one of them was not measured."""
    value = {run["model"]: run["measures"].get(_main(one)) for run in one["runs"]}
    first, second = value.get(model), value.get(other)
    return "" if first is None or second is None else f"{100 * (first - second):+.1f}"


def _train_row(name: str, one: dict[str, Any], trained: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """What the default command reaches beside the best model; None where there is no such run."""
    main = _main(one)
    run = trained.get(f"{name}/{'average_precision' if main == 'au_prc' else main}")
    best = next((run for run in one["runs"] if run["model"] == one["best"]), None)
    if run is None or best is None or run["figures"].get(main) is None:
        return None
    by_train, in_hindsight = 100 * run["figures"][main], 100 * best["measures"][main]
    return {
        "problem": name,
        "measure": next(measure["name"] for measure in one["measures"] if measure["main"]),
        "linnaeus train": f"{by_train:.1f}",
        "best single model in hindsight": f"{best['model']} {in_hindsight:.1f}",
        "difference": OTHER_DOCUMENTS.get(name) or f"{by_train - in_hindsight:+.1f}",
    }


def _model_row(model: str, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    row = {"model": model}
    for name, one in found.items():
        main = _main(one)
        run = next((run for run in one["runs"] if run["model"] == model), None)
        value = None if run is None else run["measures"].get(main)
        if value is None:
            row[name] = "" if run is None else MARKS[run["status"]]
        else:
            row[name] = f"{100 * value:.1f}{MARKS.get(run['status'], '')}"
            row[name] = f"**{row[name]}**" if one["best"] == model else row[name]
    return row
