"""Packed figures of nodes are the figures."""

from __future__ import annotations

from linnaeus.experiments.report.node_data import node_data
from tests.experiments.report.sample import make_result


def test_figures_are_thousandths_and_missing_ones_minus_one() -> None:
    result = make_result(60)
    packed = node_data(result)
    run = result["runs"][2]
    rows = {row["node"]: row for row in run["by_node"]}
    for node, value in enumerate(packed["models"][run["model"]]["f1"]):
        expected = rows[node]["f1"]
        assert value == (-1 if expected is None else round(1000 * expected))
    assert packed["test"] == [rows[node]["n_test"] for node in range(60)]


def test_a_node_without_a_row_has_no_figure() -> None:
    result = make_result(12)
    for run in result["runs"]:
        run["by_node"] = [row for row in run["by_node"] if row["node"] != 5]
    packed = node_data(result)
    assert packed["models"]["RRSVM"]["recall"][5] == -1
    assert packed["train"][5] == 0
