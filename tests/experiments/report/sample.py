"""A made-up result of a shoot-out, of any size, with names that try to break out of the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.experiments.records import Result

HOSTILE = '<script>alert(1)</script> & "quotes" </script> <!-- |*_` \u202eneddih\u202c \x1b[31mred\x9b1m'
MODELS = {
    "RRSVM": (0.842, 31.0, 410.0),
    "RRLogistic": (0.838, 64.0, 430.0),
    "HM3": (0.829, 190.0, 620.0),
    "OneVsRestSVM": (0.821, 12.0, 380.0),
    "HierarchicalSVM": (0.818, 88.0, 500.0),
    "OneVsRestLogistic": (0.815, 21.0, 390.0),
    "GlobalTreeModel": (0.812, 47.0, 450.0),
    "NodeSVM": (0.806, 9.0, 360.0),
    "TopDownSVM": (0.794, 7.5, 340.0),
    "HierarchicalPerceptron": (0.771, 2.4, 310.0),
    "OneVsRestPA": (0.768, 1.9, 300.0),
    "Hieron": (0.752, 3.1, 305.0),
}
MEASURES = [
    ("hierarchical_f1", "hierarchical F1", "hierarchical", True),
    ("hierarchical_precision", "h. precision", "hierarchical", True),
    ("hierarchical_recall", "h. recall", "hierarchical", True),
    ("tree_distance", "tree distance", "hierarchical", False),
    ("micro_f1", "micro F1", "flat", True),
    ("macro_f1", "macro F1", "flat", True),
    ("hamming_loss", "Hamming loss", "flat", False),
    ("subset_accuracy", "exact sets", "flat", True),
    ("average_precision", "AU(PRC)", "ranking", True),
    ("one_error", "one-error", "ranking", False),
    ("precision_at_3", "precision at 3", "ranking", True),
]
SUBJECTS = ["Sport", "Economy", "Health", "Science", "Culture", "Law", "Energy", "Transport", "Housing", "Education"]
PARTS = ["general", "policy", "history", "markets", "methods", "regions", "people", "events", "statistics", "tools"]


def make_result(n_nodes: int = 180, seed: int = 0) -> Result:
    """A whole result over a tree of ``n_nodes`` nodes; one name is hostile."""
    return Result.from_json(make_json(n_nodes, seed))


def make_json(n_nodes: int = 180, seed: int = 0) -> dict[str, Any]:
    """The same as plain values, as ``shootout.json`` holds them."""
    random = np.random.default_rng(seed)
    tree = _tree(n_nodes)
    train = np.sort(np.maximum(1, random.pareto(0.8, n_nodes) * 6).astype(int))[::-1]
    train[random.random(n_nodes) < 0.05] = 0
    hardness = random.random(n_nodes)
    runs: list[Any] = [
        _run(name, quality, seconds, memory, tree, train, hardness, random)
        for name, (quality, seconds, memory) in MODELS.items()
    ]
    runs.append(_absent("MulticlassSVM", "does not apply", "it takes one label per document; documents have up to 5."))
    runs.append(_absent("HBLR", "no time", "its forecast of 14 minutes is more than the 2 minutes left."))
    return {
        "format": 1,
        "title": "Shoot-out on made-up news",
        "made": "2026-11-15T18:00:00+00:00",
        "command": "linnaeus shootout --taxonomy topics.ttl --data news.jsonl --budget 10m --output report/",
        "versions": {"linnaeus": "0.1.0", "numpy": "2.3.4", "scipy": "1.16.2", "scikit-learn": "1.9.1"},
        "machine": "2 cores, 8 GB, Linux",
        "problem": {
            "name": "made-up news",
            "n_train": 8000,
            "n_test": 2000,
            "n_nodes": n_nodes,
            "n_leaves": n_nodes - len(set(tree["parent"])) + 1,
            "depth": max(tree["level"]),
            "kind": "tree",
            "n_features": 41234,
            "labels_per_document": 2.37,
            "split": "held-out quarter",
            "features": "TF-IDF of words",
        },
        "taxonomy": tree,
        "measures": [
            {"key": key, "name": name, "group": group, "higher_is_better": up, "main": key == "hierarchical_f1"}
            for key, name, group, up in MEASURES
        ],
        "runs": runs,
        "comparisons": _comparisons(),
        "best": "RRSVM",
        "flat": "OneVsRestSVM",
        "sentence": (
            "RRSVM is best by 2.1 points of hierarchical F1 over a flat SVM, p < 0.001; "
            "a flat SVM is as good on nodes with more than 100 examples."
        ),
    }


def _tree(n_nodes: int) -> Any:
    parent = [-1 if node < 10 else (node - 10) // 7 for node in range(n_nodes)]
    level: list[int] = []
    labels: list[str | None] = []
    for node, above in enumerate(parent):
        level.append(1 if above < 0 else level[above] + 1)
        place = (node - 10) % 7
        labels.append(SUBJECTS[node] if above < 0 else f"{labels[above]} {PARTS[place]}" if level[-1] < 3 else None)
    labels[min(3, n_nodes - 1)] = HOSTILE
    return {"names": [f"T{node:04d}" for node in range(n_nodes)], "labels": labels, "parent": parent, "level": level}


def _run(
    name: str, quality: float, seconds: float, memory: float, tree: Any, train: Any, hard: Any, random: Any
) -> Any:
    learned = np.clip(quality + 0.14 - 0.55 * hard * np.exp(-train / 60) + random.normal(0, 0.03, len(train)), 0, 1)
    learned[train == 0] = 0.0
    test = train // 4
    nodes = [
        {
            "node": node,
            "n_train": int(train[node]),
            "n_test": int(test[node]),
            "precision": float(min(1, learned[node] * 1.05)) if test[node] else None,
            "recall": float(learned[node] * 0.95) if test[node] else None,
            "f1": float(learned[node]) if test[node] else None,
        }
        for node in range(len(train))
    ]
    levels = np.asarray(tree["level"])
    values = {key: quality - 0.03 * place for place, (key, *_) in enumerate(MEASURES)}
    values |= {"tree_distance": 3 * (1 - quality), "hamming_loss": 0.1 * (1 - quality), "one_error": 1 - quality}
    if name == "Hieron":
        values["average_precision"] = None  # type: ignore[assignment]
    sure = np.linspace(0.05, 0.95, 10)
    return {
        "model": name,
        "status": "done",
        "reason": None,
        "note": None,
        "parameters": {"C": 1.0, "loss": "squared_hinge"},
        "tried": [
            {"C": C, "value": quality - 0.01 * abs(np.log10(C)), "seconds": seconds / 9} for C in (0.1, 1.0, 10.0)
        ],
        "seconds": {"search": seconds / 3, "fit": seconds, "predict": seconds / 40},
        "peak_memory_mb": memory,
        "model_mb": memory / 30,
        "measures": values,
        "intervals": {
            "hierarchical_f1": [quality - 0.011, quality + 0.012],
            "micro_f1": [quality - 0.14, quality - 0.1],
        },
        "by_level": [
            {
                "level": level,
                "n_nodes": int((levels == level).sum()),
                "n_documents": int(test[levels == level].sum()),
                "precision": quality,
                "recall": quality,
                "f1": float(learned[levels == level].mean() - 0.04 * level),
            }
            for level in range(1, int(levels.max()) + 1)
        ],
        "by_size": [_size(low, high, train, learned) for low, high in _sizes(train)],
        "by_node": nodes,
        "confusion": [
            {"gold": node, "answered": node + 1, "n": int(40 / (place + 1))}
            for place, node in enumerate(range(10, min(30, len(train) - 1)))
        ],
        "siblings": {
            "names": ["Science", "Sports <b>", "A name that is much too long for a column"],
            "parent": "Root",
            "table": [[30, 4, 0], [2, 41, 1], [0, 9, 12]],
            "unanswered": [1, 0, 0],
            "documents": [35, 44, 21],
        },
        "reliability": [
            {
                "low": s - 0.05,
                "high": s + 0.05,
                "n": int(900 * s**2),
                "confidence": s,
                "accuracy": s ** (1.6 - quality / 2),
            }
            for s in sure.tolist()
        ]
        if name in ("RRSVM", "RRLogistic", "OneVsRestLogistic", "OneVsRestSVM", "HM3")
        else None,
        "curve": [
            {"share": share, "n_documents": int(8000 * share), "value": quality - 0.1 * (1 - share) ** 2}
            for share in (0.125, 0.25, 0.5, 1.0)
        ],
    }


def _sizes(train: Any) -> list[tuple[int, int | None]]:
    bins: list[tuple[int, int | None]] = [(0, 0), (1, 5), (6, 10), (11, 50), (51, 100), (101, 1000), (1001, None)]
    return [
        (low, high)
        for low, high in bins
        if ((train >= low) & (train <= (high or 10**9) if high != 0 else train == 0)).any()
    ]


def _size(low: int, high: int | None, train: Any, learned: Any) -> Any:
    inside = (train >= low) & (train <= (10**9 if high is None else high))
    return {
        "low": low,
        "high": high,
        "n_nodes": int(inside.sum()),
        "f1": float(learned[inside].mean()) if inside.any() else None,
    }


def _absent(name: str, status: str, reason: str) -> Any:
    return {
        "model": name,
        "status": status,
        "reason": reason,
        "note": None,
        "parameters": {},
        "tried": [],
        "seconds": {},
        "peak_memory_mb": None,
        "model_mb": None,
        "measures": {},
        "intervals": {},
        "by_level": [],
        "by_size": [],
        "by_node": [],
        "confusion": [],
        "siblings": None,
        "reliability": None,
        "curve": None,
    }


def _comparisons() -> list[Any]:
    made = []
    for kind, against in (("best", "RRSVM"), ("flat", "OneVsRestSVM")):
        for name, (quality, *_) in MODELS.items():
            if name != against:
                gap = quality - MODELS[against][0]
                p = float(np.exp(-900 * abs(gap)))
                bounds = [gap - 0.006, gap + 0.006]
                made.append(
                    {
                        "model": name,
                        "against": against,
                        "kind": kind,
                        "measure": "hierarchical_f1",
                        "difference": gap,
                        "interval": bounds,
                        "p": p,
                    }
                )
    return made
