"""The classifier of paths: what it sees of a path, and that it mends what thresholds on single nodes cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import PathClassifier, decoder
from linnaeus.decoding.sets.path_classifier import path_features
from linnaeus.errors import LinnaeusError

TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])  # A, B, AA, AB


def test_features_are_those_of_the_path_by_hand() -> None:
    S = np.array([[0.0, 2.0, -1.0, 3.0]])
    (found,) = path_features(S, TREE.indicator([["AA"]]), TREE, np.arange(4))
    sigma = [0.5, 1 / (1 + np.e)]
    ranks, gaps = [np.log(2), np.log(2)], [-2.0, -4.0]  # B is above A, AB above AA
    expected = [*sigma, *ranks, *gaps, min(sigma), max(sigma), np.mean(sigma), sum(sigma), 2]
    np.testing.assert_allclose(found, expected)
    (short,) = path_features(S, TREE.indicator([["B"]]), TREE, np.arange(4))
    np.testing.assert_allclose(short[:6], [1 / (1 + np.exp(-2)), 0, 0, 0, 0, 0])  # nothing on the second level


def labelled(n_docs: int, seed: int) -> tuple[np.ndarray, list[list[str]]]:
    """AA or AB is right where it is clearly ahead of the other one, whatever the score of A: no threshold says that."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n_docs, 4))
    S[:, 0] -= 0.5
    ahead = S[:, 2] - S[:, 3]
    return S, [["AA"] if gap > 0.7 else ["AB"] if gap < -0.7 else ["B"] for gap in ahead]


def test_it_learns_what_thresholds_of_nodes_cannot_say() -> None:
    S, gold = labelled(800, 0)
    chosen = PathClassifier(theta=-5.0).fit(S, TREE.indicator(gold), TREE)
    S, gold = labelled(400, 1)
    answers = TREE.labels(TREE.frontier(chosen(S, TREE)))
    inner = [(a, b) for a, b in zip(answers, gold, strict=True) if b != ["B"]]
    assert np.mean([b[0] in a for a, b in inner]) > 0.9
    assert np.mean([{"AA", "AB"} <= set(a) for a in answers]) < 0.1
    assert all(answers)  # at least the best


def test_it_survives_its_dictionary() -> None:
    S, gold = labelled(100, 0)
    chosen = PathClassifier().fit(S, TREE.indicator(gold), TREE)
    again = decoder(**json.loads(json.dumps(chosen.to_dict())))
    assert again == chosen
    assert (again(S, TREE) != chosen(S, TREE)).nnz == 0


def test_what_is_not_fitted_or_cannot_be_says_so() -> None:
    with pytest.raises(LinnaeusError, match="is not fitted"):
        PathClassifier()(np.zeros((1, 4)), TREE)
    with pytest.raises(LinnaeusError, match="needs both kinds"):
        PathClassifier(theta=np.inf).fit(np.zeros((2, 4)), TREE.indicator([["AA"], ["AA"]]), TREE)
    S, gold = labelled(100, 0)
    chosen = PathClassifier().fit(S, TREE.indicator(gold), TREE)
    with pytest.raises(LinnaeusError, match="expected one for each of the 3 nodes"):
        chosen(np.zeros((1, 3)), Taxonomy.flat("ABC"))
