"""No answer violates the taxonomy or a rule, whatever the scores are: trees, DAGs, any rules, many documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import (
    BestBranching,
    BestClosure,
    ExactSearch,
    LeastCost,
    LocalSearch,
    Rules,
    Threshold,
    TopDown,
    best_sets,
    smoothed,
)
from linnaeus.taxonomy.closure import is_closed


def random_taxonomy(rng: np.random.Generator, dag: bool) -> Taxonomy:
    n = int(rng.integers(4, 14))
    edges = [("n0", "n1")]
    for v in range(2, n):
        parents = set(rng.integers(0, v, size=2 if dag and rng.random() < 0.4 else 1).tolist())
        edges += [(f"n{p}", f"n{v}") for p in parents]
    return Taxonomy.from_edges(edges)


def random_rules(rng: np.random.Generator, tax: Taxonomy) -> Rules:
    names = [str(name) for v, name in enumerate(tax.names) if v != tax.root]
    given: dict[str, Any] = {}
    if rng.random() < 0.3:
        given["only_under"] = str(rng.choice(names))
    if rng.random() < 0.3:
        given["exclude"] = str(rng.choice(names))
    if rng.random() < 0.3:
        given["at_least"] = int(rng.integers(1, 3))
    if rng.random() < 0.3:
        given["at_most"] = int(rng.integers(given.get("at_least", 1), 4))
    if rng.random() < 0.2:
        given["one_per"] = "tops"
    if rng.random() < 0.2:
        given["min_depth"] = int(rng.integers(1, 3))
    if rng.random() < 0.2:
        given["max_children"] = int(rng.integers(1, 3))
    return Rules(**given)


def look_at(n_matrices: int, seed: int) -> int:
    """Decode so many score matrices of one document each; how many answers were looked at."""
    rng, seen = np.random.default_rng(seed), 0
    while seen < n_matrices:
        dag = rng.random() < 0.2
        tax, n_docs = random_taxonomy(rng, dag), 40 if dag else 2000
        S = rng.normal(rng.normal(), 1.0, size=(n_docs, tax.n_nodes)) * rng.choice([0.01, 1.0, 100.0])
        if rng.random() < 0.3:
            S = np.round(S)  # ties
        rules = random_rules(rng, tax)
        found = best_sets(S, tax, k=int(rng.integers(1, 4)), rules=rules)
        some = found.sets[np.flatnonzero(found.scores.ravel() > -np.inf)]
        assert is_closed(tax, some)
        assert rules.bind(tax).obeyed(some).all()
        decoders = [Threshold(), Threshold(repair="suppress"), TopDown(), BestClosure()]
        decoders += [ExactSearch(), LocalSearch(theta=-0.5, r=2)]
        for decoder in decoders if dag else [*decoders, BestBranching(shared=rng.normal(size=3))]:
            assert is_closed(tax, decoder(S, tax))
        P = smoothed(1 / (1 + np.exp(-np.clip(S, -30, 30))), tax)
        assert is_closed(tax, tax.close(LeastCost()(P, tax)))
        for child, parent in zip(tax.edges[1].tolist(), tax.edges[0].tolist(), strict=True):
            assert parent == tax.root or (P[:, child] <= P[:, parent]).all()
        seen += n_docs
    return seen


def test_no_answer_violates_the_taxonomy_or_a_rule() -> None:
    assert look_at(20_000, 0) >= 20_000


@pytest.mark.slow
def test_no_answer_of_a_million_violates_the_taxonomy_or_a_rule() -> None:
    assert look_at(1_000_000, 1) >= 1_000_000
