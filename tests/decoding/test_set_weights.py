"""Weights of whole sets against all closed sets: the best one is the answer of the decoder."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import (
    BestClosure,
    BestLabel,
    BestLeaf,
    Decoder,
    ExactSearch,
    InstanceCut,
    LeastHLoss,
    LocalSearch,
    PathClassifier,
    PCut,
    RCut,
    SCut,
    SetSize,
    Threshold,
    TopDown,
    best_sets,
)
from linnaeus.errors import LinnaeusError
from tests.decoding.oracles import closed_sets

TREE = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("AA", "AAA")])
DAG = Taxonomy.from_edges(
    [("R", "A"), ("R", "B"), ("A", "C"), ("B", "C"), ("B", "D"), ("C", "E"), ("D", "E"), ("A", "F")]
)
NONE = {"at_least_one": False}
SETS: list[Decoder] = [
    Threshold(0.2),
    Threshold(0.2, repair=None),
    Threshold(0.2, **NONE),
    Threshold(0.0, repair="suppress"),
    Threshold(0.4, repair="suppress", **NONE),
    SCut(theta=0.1, top=3),
    SCut(theta=0.3, repair="suppress"),
    InstanceCut(weights=[0.1] * 5, constant=0.2),
    SetSize(weights=[0.0] * 5, constant=0.7, sizes=(1, 3)),
    RCut(2),
    RCut(2, path_sum=True),
    RCut(1, per="parent"),
    RCut(2, per="parent"),
    TopDown(0.1),
    TopDown(0.1, parents="any"),
    TopDown(0.1, leaf_mandatory=False),
    LocalSearch(),
    ExactSearch(),
    BestClosure(0.1),
]
SINGLE: list[Decoder] = [
    BestLabel(),
    BestLabel(path_sum=True),
    BestLeaf(),
    BestLeaf(path_sum=True),
    TopDown(np.inf),
    TopDown(np.inf, parents="any"),
    ExactSearch(np.inf),
]


def scores(taxonomy: Taxonomy, seed: int) -> np.ndarray:
    """Some documents, the last two with many ties."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(20, taxonomy.n_nodes)) - 0.3
    S[-4:] = np.round(2 * S[-4:]) / 2
    return S


@pytest.mark.parametrize("tax", [TREE, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("decide", SETS, ids=repr)
def test_no_closed_set_scores_more_than_the_answer(decide: Decoder, tax: Taxonomy) -> None:
    S = scores(tax, 0)
    columns = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    S = S[:, columns]
    if not decide.may_be_empty and not isinstance(decide, (TopDown, RCut, SetSize)):
        assert (np.diff(decide(S, tax, columns).indptr) > 0).all()
    answers = tax.close(decide(S, tax, columns))
    weights = decide.set_weights(S, tax, columns)
    every = [sorted(members) for members in closed_sets(tax) if members or decide.may_be_empty]
    rows = tax.indicator([[str(tax.names[v]) for v in members] for members in every])
    for d in range(len(S)):
        same_weights = [d] * len(every)
        one = type(weights)(weights.nodes[same_weights], None if weights.ends is None else weights.ends[same_weights])
        own = weights.scores(answers, tax, columns)[d]
        others = one.scores(rows, tax, columns)
        assert own >= others.max() - 1e-9
        same = [i for i in np.flatnonzero(others > own - 1e-9) if every[i] != answers[[d]].indices.tolist()]
        assert d >= 16 or not same  # without ties there is no second set like it


@pytest.mark.parametrize("tax", [TREE, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("decide", SINGLE, ids=repr)
def test_no_label_scores_more_than_the_answer(decide: Decoder, tax: Taxonomy) -> None:
    columns = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    S = scores(tax, 1)[:, columns]
    answers = tax.frontier(decide(S, tax, columns))
    values = decide.label_scores(S, tax, columns)
    assert (np.diff(answers.indptr) == 1).all()
    own = values[np.arange(len(S)), np.searchsorted(columns, answers.indices)]
    np.testing.assert_allclose(own, values.max(axis=1), atol=1e-12)


def test_a_set_loses_the_least_change_of_scores_that_would_make_it_the_answer() -> None:
    """On a grid of scores, the nearest point at which the rule answers a set is as far as the set is behind."""
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    grid = np.array([[a, b, c] for a in range(-3, 4) for b in range(-3, 4) for c in range(-3, 4)]) + 0.5
    for repair in ("closure", "suppress"):
        decide = Threshold(0.0, repair=repair, at_least_one=False)
        answers = tax.labels(decide(grid, tax))
        for S in grid[::7]:
            weights = decide.set_weights(S[None], tax)
            best = weights.scores(decide(S[None], tax), tax, np.arange(3))[0]
            for members in closed_sets(tax):
                names = [str(tax.names[v]) for v in sorted(members)]
                behind = best - weights.scores(tax.indicator([names]), tax, np.arange(3))[0]
                there = [
                    np.abs(np.where(S * T > 0, 0, S)).sum() for T, a in zip(grid, answers, strict=True) if a == names
                ]
                assert np.isclose(behind, min(there), atol=1e-5)


def test_the_second_best_set_of_a_descent_follows_its_own_steps() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    S = [[-0.1, 0.5, 2.0]]  # A, B, AA: if A passed, AA would
    weights = TopDown(leaf_mandatory=False).set_weights(S, tax)
    found = best_sets(weights.nodes, tax, k=3, ends=weights.ends)
    assert tax.labels(found.sets) == [["B"], ["A", "B", "AA"], []]


@pytest.mark.parametrize(
    "decide",
    [PCut(shares=[0.5] * 7), LeastHLoss(), PathClassifier(), LocalSearch(r=2), LocalSearch(path_threshold=1.0)],
)
def test_decoders_that_cannot_rank_sets_say_so(decide: Decoder) -> None:
    with pytest.raises(LinnaeusError, match="does not rank label sets"):
        decide.set_weights(np.full((2, 7), 0.5), TREE)
