"""Where does a gain come from? Macro-F1 of two systems by level, and by how many documents a label was learned from.

By level: gold and answers are closed under ancestors, every node below which there are training documents has an F1,
and the nodes of a level are averaged (Gopal and Yang 2015, Table VIII; their level 1 is the root, ours the top nodes).
By size: labels as given, averaged by their number of training documents (Table IX).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accuracy.figures import label_f1
from linnaeus import Taxonomy
from linnaeus.metrics import wilcoxon
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["SIZES", "by_level", "by_size"]

SIZES = ((1, 1), (2, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, None))


def by_level(taxonomy: Taxonomy, Y_train: CSR, Y: CSR, flat: CSR, other: CSR) -> list[dict[str, Any]]:
    """Rows level, n_nodes, n_gold (documents at its nodes), flat, other, gain, p."""
    gold, *answers = (taxonomy.close(Z, keep_root=False) for Z in (Y, flat, other))
    learned = np.bincount(taxonomy.close(Y_train, keep_root=False).indices, minlength=taxonomy.n_nodes) > 0
    counts = np.bincount(gold.indices, minlength=taxonomy.n_nodes)
    rows = []
    for level in range(1, int(taxonomy.depth.max()) + 1):
        nodes = np.flatnonzero(learned & (taxonomy.depth == level))
        if len(nodes):
            rows.append({"level": level, **_row(counts, nodes, *(label_f1(gold, H, nodes) for H in answers))})
    return rows


def by_size(Y_train: CSR, Y: CSR, flat: CSR, other: CSR) -> list[dict[str, Any]]:
    """Rows size, n_nodes, n_gold, flat, other, gain, p."""
    sizes, counts = (np.bincount(Z.indices, minlength=Z.shape[1]) for Z in (Y_train, Y))
    rows = []
    for low, high in SIZES:
        nodes = np.flatnonzero((sizes >= low) & (sizes <= (high or np.inf)))
        if len(nodes):
            name = f"{low}-{high}" if high and high > low else str(low) if high else f"> {low - 1}"
            rows.append({"size": name, **_row(counts, nodes, *(label_f1(Y, H, nodes) for H in (flat, other)))})
    return rows


def _row(counts: IntArray, nodes: IntArray, flat: FloatArray, other: FloatArray) -> dict[str, Any]:
    means = {"flat": 100 * float(flat.mean()), "other": 100 * float(other.mean())}
    gain = means["other"] - means["flat"]
    told = {"n_nodes": len(nodes), "n_gold": int(counts[nodes].sum()), **means, "gain": gain}
    return {**told, "p": wilcoxon(other - flat).p_value}
