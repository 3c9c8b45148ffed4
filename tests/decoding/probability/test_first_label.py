"""Probabilities of labels of models that learned closed sets: a label is compared with its ancestors."""

from __future__ import annotations

import numpy as np

from linnaeus import Taxonomy
from linnaeus.decoding.probability.curves import Calibrator, fit_calibrator

TAX = Taxonomy.from_paths([[f"P{i}", f"P{i}.{j}"] for i in range(12) for j in range(6)])
NODES = np.arange(1, TAX.n_nodes, dtype=np.int32)


def scored(n: int, seed: int) -> tuple[np.ndarray, list[list[str]]]:
    """Margins of a model of closed sets, and one label for each document, a third of them inner nodes."""
    rng = np.random.default_rng(seed)
    names = [str(TAX.names[v]) for v in NODES]
    inner = [name for name in names if "." not in name]
    leaves = [name for name in names if "." in name]
    labels = [str(rng.choice(inner if i % 3 == 0 else leaves)) for i in range(n)]
    truth = TAX.close(TAX.indicator([[label] for label in labels]), keep_root=False).toarray()[:, NODES] > 0
    leaf = np.array(["." in name for name in names])
    mean = np.where(leaf, -0.5, 0.4)
    S = np.where(truth, mean + 0.4 * rng.normal(size=truth.shape), -1.0 + 0.15 * rng.normal(size=truth.shape))
    return S, [[label] for label in labels]


def first_hits(Q: np.ndarray, nodes: np.ndarray, y: list[list[str]]) -> float:
    return float(np.mean([str(TAX.names[v]) in row for v, row in zip(nodes[Q.argmax(axis=1)], y, strict=True)]))


def fitted(n: int = 300) -> Calibrator:
    S, y = scored(n, 0)
    return fit_calibrator(S, y, TAX, NODES, own=True, method="platt", coherent="project")


def test_the_best_label_is_right_more_often_than_by_differences_of_probabilities() -> None:
    curve, (S, y) = fitted(), scored(2000, 1)
    assert curve.labels is not None
    P = np.zeros((len(S), TAX.n_nodes))
    P[:, curve.nodes] = curve(S, TAX, NODES)
    below = np.zeros_like(P)
    for v in range(TAX.n_nodes):
        children = TAX.children(v)
        if len(children):
            below[:, v] = P[:, children].max(axis=1)
    differences = (P - below)[:, curve.labels]
    Q = curve.label_probabilities(S, TAX, NODES)
    assert first_hits(Q, curve.labels, y) > first_hits(differences, curve.labels, y) + 0.02


def test_probabilities_of_labels_have_no_ties_between_different_scores() -> None:
    curve, (S, _) = fitted(), scored(50, 2)
    Q = curve.label_probabilities(S, TAX, NODES)
    assert np.isfinite(Q).all()
    assert (0 <= Q).all()
    assert (Q <= 1).all()
    assert all(len(np.unique(row)) == len(row) for row in Q)


def test_probabilities_of_labels_sum_to_the_number_of_labels_on_average() -> None:
    curve, (S, _) = fitted(), scored(3000, 3)
    assert abs(curve.label_probabilities(S, TAX, NODES).sum(axis=1).mean() - 1.0) < 0.1
