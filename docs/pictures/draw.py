"""Draw the pictures of the pages again: ``python docs/pictures/draw.py``. They are kept, for readers on code hosts."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from linnaeus import RRSVM, OneVsRestSVM, Pipeline, Taxonomy, plots
from linnaeus.features import TextFeatures

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREEN, GREY = "#1f5a99", "#c25b0e", "#2b6e3f", "#6b6b6b"
matplotlib.rcParams.update({"svg.hashsalt": "linnaeus", "font.size": 10, "svg.fonttype": "none"})


def keep(figure: Figure, name: str) -> None:
    path = HERE / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None, "Creator": None}, facecolor="white")
    path.write_text("\n".join(line.rstrip() for line in path.read_text("utf-8").splitlines()) + "\n", "utf-8")


def librarian() -> tuple[Taxonomy, list[str], list[list[str]], list[str]]:
    folder = HERE.parents[1] / "examples" / "librarian"
    records = [json.loads(line) for line in (folder / "train.jsonl").read_text("utf-8").splitlines()]
    new = [json.loads(line) for line in (folder / "new.jsonl").read_text("utf-8").splitlines()]
    tax = Taxonomy.read(folder / "subjects.ttl", language="en")
    texts = [f"{record['title']} {record['abstract']}" for record in records]
    return tax, texts, [r["subjects"] for r in records], [f"{r['title']} {r['abstract']}" for r in new]


def front() -> None:
    tax, texts, labels, new = librarian()
    pipe = Pipeline(RRSVM(taxonomy=tax, C=10.0, random_state=0), TextFeatures(sublinear_tf=True)).fit(texts, labels)
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
    plots.plot_taxonomy(tax, labels, ax=left)
    left.set_title("a vocabulary, with the documents of each node", loc="left")
    steps = pipe.explain(new[0], k=5)
    for step in steps:
        object.__setattr__(step, "node", tax.display(step.node))
    plots.plot_explanation(steps[-1:], k=5, ax=right)
    right.set_title("why “A hive on the roof” is about Beekeeping", loc="left")
    keep(figure, "front")


def kinds() -> None:
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    axes = figure.subplots(1, 3)
    tree = [("Root", "Animals"), ("Root", "Plants"), ("Animals", "Cats"), ("Animals", "Dogs")]
    forest = Taxonomy.from_edges(
        [("Animals", "Cats"), ("Animals", "Dogs"), ("Crafts", "Weaving"), ("Crafts", "Pottery")]
    )
    dag = Taxonomy.from_edges([("Farming", "Beekeeping"), ("Insects", "Beekeeping"), ("Insects", "Ants")])
    named = (("tree", Taxonomy.from_edges(tree)), ("forest", forest), ("DAG: a node with two parents", dag))
    for ax, (name, tax) in zip(axes, named, strict=True):
        plots.plot_taxonomy(tax, ax=ax)
        ax.set_title(name, loc="left")
    keep(figure, "kinds")


def decoding() -> None:
    names = ["Animals", "Cats", "Dogs", "Plants", "Trees"]
    scores = np.array([1.2, 0.7, -0.4, -0.9, 0.2])
    answers = {
        "scores": None,
        "threshold: above 0, ancestors added": [0, 1, 3, 4],
        "best label": [1],
        "promised risk": [0],
    }
    figure = Figure(figsize=(11, 2.9), layout="constrained")
    for ax, (title, chosen) in zip(figure.subplots(1, 4, sharey=True), answers.items(), strict=True):
        colours = [GREY if chosen is None else (BLUE if i in chosen else "#d0d0d0") for i in range(5)]
        ax.barh(range(5), scores, color=colours)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(range(5), ["Animals", "    Cats", "    Dogs", "Plants", "    Trees"])
        ax.set_ylim(4.6, -0.6)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel(f"{len(names)} nodes" if chosen is None else "answer in blue")
    keep(figure, "decoding")


def joint() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    leaves = ["AA", "AB", "BA", "BB"]
    centres = np.array([[2.0, 0.9], [2.0, -0.9], [-2.0, 0.9], [-2.0, -0.9]])
    sizes = [30, 3, 30, 3]
    X = np.concatenate([c + 0.8 * rng.normal(size=(n, 2)) for c, n in zip(centres, sizes, strict=True)])
    y = np.repeat(leaves, sizes)
    figure = Figure(figsize=(8.5, 4), layout="constrained")
    models = {
        "flat: each label alone": OneVsRestSVM(tax, C=0.004, random_state=0),
        "joint: pulled to the parent": RRSVM(tax, C=0.004, random_state=0),
    }
    for ax, (title, model) in zip(figure.subplots(1, 2, sharey=True), models.items(), strict=True):
        model.fit(X, y)
        longest = np.linalg.norm(np.asarray(model.coef_), axis=1).max()
        for i, (leaf, colour) in enumerate(zip(leaves, (BLUE, "#6baed6", ORANGE, "#f2a65e"), strict=True)):
            ax.scatter(*X[y == leaf].T, s=12, color=colour, label=f"{leaf} ({sizes[i]} documents)")
            w = np.asarray(model.coef_)[list(model.classes_).index(leaf)]
            ax.annotate("", 2.4 * w / longest, (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "lw": 2})
        ax.set_title(f"{title}\narrows: weights", fontsize=10)
        ax.axhline(0, color="#d0d0d0", zorder=0)
        ax.axvline(0, color="#d0d0d0", zorder=0)
    ax.legend(fontsize=8, loc="upper right")
    keep(figure, "joint")


def flow() -> None:
    figure = Figure(figsize=(10, 1.9), layout="constrained")
    ax = figure.add_subplot()
    boxes = [
        "documents\ntexts, vectors,\nsequences",
        "features\nX",
        "model\nscores S\ndocuments x nodes",
        "decoder\nlabel sets Y",
        "answers\nnames, paths,\nreasons",
    ]
    for i, text in enumerate(boxes):
        style = {"boxstyle": "round,pad=0.5", "fc": "#e8f0f8", "ec": BLUE}
        ax.text(i, 0, text, ha="center", va="center", bbox=style)
        if i:
            ax.annotate("", (i - 0.36, 0), (i - 0.64, 0), arrowprops={"arrowstyle": "->", "color": GREY, "lw": 1.5})
    ax.text(2.5, 0.95, "taxonomy and rules", ha="center", color=GREEN)
    for i in (2, 3):
        ax.annotate("", (i, 0.45), (2.5, 0.85), arrowprops={"arrowstyle": "->", "color": GREEN})
    ax.set(xlim=(-0.5, 4.5), ylim=(-0.8, 1.2))
    ax.set_axis_off()
    keep(figure, "flow")


if __name__ == "__main__":
    for draw in (front, kinds, decoding, joint, flow):
        draw()
