"""Repairs of local search that are learned: each better than none on held-out documents, stop leaves included."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import EdgePA, Taxonomy
from linnaeus.decoding import LocalSearch
from linnaeus.errors import LinnaeusError
from linnaeus.models.topdown.edge_pa import REPAIRS, HeldOutPaths
from linnaeus.taxonomy.closure import is_closed

TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])


def noisy(n_docs: int, seed: int) -> tuple[np.ndarray, list[list[str]]]:
    """Labels of five nodes, one of them inner, that features tell with noise."""
    rng = np.random.default_rng(seed)
    names = np.array(["A", "AA", "AB", "BA", "BB"])
    y = [sorted(rng.choice(names, size=rng.integers(1, 3), replace=False).tolist()) for _ in range(n_docs)]
    y = [[name for name in row if name != "A" or not any(n in row for n in ("AA", "AB"))] for row in y]
    X = np.array([[float(name in row) for name in names] for row in y])
    return X + 0.6 * rng.normal(size=X.shape), y


@pytest.fixture(scope="module")
def model() -> EdgePA:
    return EdgePA(TREE, search="local", random_state=0, max_iter=3).fit(*noisy(300, 0))


@pytest.fixture(scope="module")
def held(model: EdgePA) -> HeldOutPaths:
    return HeldOutPaths.of(model, *noisy(300, 0), 3, 0)


@pytest.mark.parametrize("repair", REPAIRS)
def test_repairs_answer_labels_and_pruning_is_no_worse_than_none_where_it_was_learned(
    repair: str, model: EdgePA, held: HeldOutPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeldOutPaths, "of", lambda *_: held)
    found = model.fit_search(*noisy(300, 0), repair)
    if repair == "prune":  # none is on its grid
        assert held.quality(found) >= held.quality(LocalSearch())
    X, _ = noisy(50, 1)
    answers = model.predict(X, decoder=found)
    assert all(answers)
    assert {name for row in answers for name in row} <= {"A", "AA", "AB", "BA", "BB"}
    assert is_closed(TREE, model.answers(X, decoder=found, closed=True))


def test_s_cut_has_thresholds_of_stop_leaves(
    model: EdgePA, held: HeldOutPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeldOutPaths, "of", lambda *_: held)
    found = model.fit_search(*noisy(300, 0), "scut")
    grown, columns, _ = model._with_stops()
    assert "A/self" in grown.names
    assert len(found.theta) == grown.n_nodes
    at = columns.tolist().index(grown.index("A/self"))
    gold = np.asarray(held.gold[:, [grown.index("A/self")]].todense()).ravel() > 0
    values = np.unique(held.S[:, at])
    f1 = [2 * (gold & (held.S[:, at] > t)).sum() / (gold.sum() + (held.S[:, at] > t).sum()) for t in values]
    theta = found.theta[grown.index("A/self")]
    own = 2 * (gold & (held.S[:, at] > theta)).sum() / (gold.sum() + (held.S[:, at] > theta).sum())
    assert own == pytest.approx(max(f1))


def test_held_out_scores_are_of_models_that_have_not_seen_the_document(held: HeldOutPaths, model: EdgePA) -> None:
    X, y = noisy(300, 0)
    seen = np.hstack([model.decision_function(X), model._stop_scores(X)])
    assert np.isfinite(held.S).all()
    assert not np.allclose(held.S, seen, atol=1e-3)
    assert held.gold.shape == (300, held.taxonomy.n_nodes)
    assert (np.diff(held.gold.indptr) == [len(row) for row in y]).all()


def test_an_unknown_repair_is_named(model: EdgePA) -> None:
    with pytest.raises(LinnaeusError, match="repair='path'.*did you mean 'paths'"):
        model.fit_search(*noisy(30, 0), "path")
