"""Figures of nodes for the scripts of the page, packed: thousands of nodes x models would be megabytes otherwise.

Shares are whole thousandths (``834``); a model has three lists as long as that of nodes, ``-1`` where it has none.
"""

from __future__ import annotations

from typing import Any

from linnaeus.experiments.report.schema import Result, Run
from linnaeus.experiments.report.standing import ranked
from linnaeus.experiments.report.wording import node_label

__all__ = ["node_data"]

SHARES = ("precision", "recall", "f1")


def node_data(result: Result) -> dict[str, Any]:
    """Everything the page shows of nodes: the tree, their documents, and each model's figures and confusions."""
    tree = result["taxonomy"]
    n_nodes = len(tree["names"])
    runs = ranked(result)
    train, test = [0] * n_nodes, [0] * n_nodes
    for run in runs:
        for row in run["by_node"]:
            train[row["node"]], test[row["node"]] = row["n_train"], row["n_test"]
    return {
        "names": tree["names"],
        "labels": [node_label(tree, node) for node in range(n_nodes)],
        "parent": tree["parent"],
        "level": tree["level"],
        "train": train,
        "test": test,
        "best": result["best"],
        "flat": result["flat"],
        "models": {run["model"]: _packed(run, n_nodes) for run in runs},
    }


def _packed(run: Run, n_nodes: int) -> dict[str, Any]:
    packed: dict[str, Any] = {share: [-1] * n_nodes for share in SHARES}
    for row in run["by_node"]:
        for share in SHARES:
            value = row[share]  # type: ignore[literal-required]
            packed[share][row["node"]] = -1 if value is None else round(1000 * value)
    packed["confusion"] = [[row["gold"], row["answered"], row["n"]] for row in run["confusion"]]
    return packed
