"""Rankings of label sets agree with the answers of ``predict``, for every model and every kind of taxonomy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from linnaeus import Taxonomy, registry
from linnaeus.decoding import Rules
from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import ONE_LABEL, QUICK, make

KINDS = ("tree", "forest", "dag", "graph")
NO_GRAPH = {"CorrMNL"}
SETTINGS: dict[str, dict[str, Any]] = {
    "HBLR": {"parents": "first", "schedule": "leaves", "tol": 1e-2},
    "CorrMNL": {"parents": "first", "n_iter": 40, "burn_in": 20, "n_chains": 1},
    "HierarchicalSVM": {"set_size": "training"},
}
MORE: dict[str, list[dict[str, Any]]] = {
    "OneVsRestSVM": [{}, {"learn": "closed"}],
    "EdgePA": [{}, {"search": "local"}],
    "GlobalTreeModel": [{}, {"branching": False}],
    "DivideAndConquerSVM": [{}, {"descent": "ranked", "set_size": "mean"}],
}


def small_taxonomy(kind: str, rng: np.random.Generator) -> Taxonomy:
    """Five to eight nodes."""
    n = int(rng.integers(5, 9))
    if kind == "graph":
        edges = [(f"n{i}", f"n{int(rng.integers(0, i))}") for i in range(1, n)] + [("n0", f"n{n - 1}")]
        return Taxonomy.from_edges(edges, kind="graph")
    tops = 1 if kind == "tree" else 2
    edges = []
    for i in range(tops, n):
        parents = rng.choice(i, size=min(i, 2 if kind == "dag" and rng.random() < 0.5 else 1), replace=False)
        edges += [(f"n{p}", f"n{i}") for p in parents.tolist()]
    rooted = [("R", f"n{i}") for i in range(tops)] if kind == "tree" else []
    return Taxonomy.from_edges(rooted + edges, kind="dag" if kind == "dag" else None) if edges else Taxonomy.flat(n)


def small_problem(seed: int) -> tuple[str, dict[str, Any], Taxonomy, Any, Any]:
    """A model, its parameters, a taxonomy, documents and labels, all by the seed."""
    rng = np.random.default_rng(seed)
    names = list(registry.MODELS)
    name = names[seed % len(names)]
    kind = KINDS[(seed // len(names)) % 4]
    several = (seed // (4 * len(names))) % 3  # one label, sets, sets of which some are empty
    tax = small_taxonomy(kind, rng)
    nodes = [str(v) for i, v in enumerate(tax.names) if i != tax.root]
    X = rng.normal(size=(24, 4))
    if several == 0 or name in ONE_LABEL:
        y: Any = np.array([nodes[int(np.abs(row[0] * 3 + row[1]) * 2) % len(nodes)] for row in X])
    else:
        y = [sorted(rng.choice(nodes, size=int(rng.integers(1 - (several == 2), 4)), replace=False)) for _ in X]
        if several == 2 and seed % 2:
            y = tax.labels(tax.close(tax.indicator(y), keep_root=False))
    choices = MORE.get(name, [{}])
    settings = {**QUICK.get(name, {}), **SETTINGS.get(name, {}), **choices[seed % len(choices)]}
    return name, settings, tax, X, y


def check(seed: int) -> int:
    """How many documents were compared; an assertion fails where a ranking contradicts an answer."""
    name, settings, tax, X, y = small_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = make(name, settings, taxonomy=tax).fit(X, y)
        except LinnaeusError:
            return 0  # a combination that the model does not take
    new = np.vstack([np.random.default_rng(seed + 1).normal(size=(6, 4)), np.zeros((1, 4))])
    where = f"seed {seed}: {name} {settings} on a {tax.kind}"
    answers = tax.close(model.answers(new, closed=True), keep_root=False)
    found = model.ranked_sets(new, 4)
    first = tax.close(found.best, keep_root=False)
    assert found.proved.all(), where
    assert tax.labels(first) == tax.labels(answers), where
    assert (found.scores[:, 0] > -np.inf).all(), where
    with np.errstate(invalid="ignore"):
        assert not (np.diff(found.scores, axis=1) > 1e-6 * np.abs(found.scores[:, :1]) + 1e-9).any(), where
    for rows in found.labels(tax):
        assert len({tuple(names) for names, _ in rows}) == len(rows), where
    assert is_closed(tax, tax.close(found.sets, keep_root=False)), where
    for given in ({"at_most": 5}, {"exclude": str(tax.names[-1])}, {"max_children": 1}):
        obeyed = Rules(**given).bind(tax).obeyed(answers)
        try:
            best = model.answers(new, rules=given, closed=True)
        except LinnaeusError:
            assert not obeyed.any(), where
            continue
        assert Rules(**given).bind(tax).obeyed(best).all(), where
        assert tax.labels(best[obeyed]) == tax.labels(answers[obeyed]), (where, given)
    return len(new)


@pytest.mark.parametrize("name", list(registry.MODELS))
def test_the_first_ranked_set_is_the_answer_of_predict(name) -> None:
    n, first = len(registry.MODELS), list(registry.MODELS).index(name)
    assert sum(check(first + n * turn) for turn in range(first % 4, 12, 4)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_first_ranked_set_is_the_answer_of_predict_on_many_problems(part) -> None:
    n = len(registry.MODELS)
    assert sum(check(12 * n + seed) for seed in range(part, 1000, 20)) > 0
