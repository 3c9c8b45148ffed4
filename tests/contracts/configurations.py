"""For every registered model: the settings under which the contract is checked, and small problems to check it on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linnaeus import OneVsRestLogistic, OneVsRestSVM, Taxonomy, registry

# A new model is a line in the registry and a line here.
CONFIGURATIONS: dict[str, list[dict[str, Any]]] = {
    "OneVsRestSVM": [{}, {"loss": "hinge", "fit_intercept": False}, {"learn": "closed"}],
    "OneVsRestLogistic": [{}, {"learn": "frontier", "class_weight": "balanced"}],
    "MulticlassSVM": [{}, {"fit_intercept": False}],
    "SoftmaxRegression": [{}],
    "OneVsRestPA": [{}, {"average": "none", "fit_intercept": False, "learn": "closed"}],
    "TopDownSVM": [{}, {"loss": "hinge", "fit_intercept": False}],
    "DivideAndConquerSVM": [{}, {"descent": "ranked", "fit_intercept": True, "set_size": "mean"}],
    "NodeSVM": [{}, {"loss": "hinge", "fit_intercept": False}],
    "EdgePA": [{}, {"training_set": "siblings", "search": "local", "average": "none", "fit_intercept": False}],
    "HierarchicalRLS": [{}, {"margin": "exact"}],
    "RRSVM": [
        {},
        {"loss": "hinge", "fit_intercept": False, "spawn": "all"},
        {"learn": "closed"},
        {"schedule": "colours"},
    ],
    "HierarchicalPerceptron": [
        {},
        {"variant": "online", "attributes": "flat", "cost": "zero_one", "fit_intercept": True},
        {"variant": "minover", "set_size": "training"},
        {"kernel": "rbf", "set_size": "mean"},
    ],
    "Hieron": [
        {},
        {"variant": "online", "augmented": False, "attributes": "one", "cost": "normalised"},
        {"kernel": "poly"},
    ],
    "RRLogistic": [{}, {"class_weight": "balanced"}, {"schedule": "all"}],
    "HBLR": [
        {"parents": "first", "schedule": "leaves", "tol": 1e-2},
        {"parents": "first", "model": "M1", "learn": "given", "tol": 1e-2},
        {"parents": "first", "inference": "variational", "max_iter": 5, "fit_intercept": False},
    ],
    "HierarchicalSVM": [
        {},
        {"attributes": "flat", "cost": "zero_one", "fit_intercept": True},
        {"slack": "pair", "set_size": "training"},
        {"kernel": "rbf"},
    ],
    "HM3": [{}, {"cost": "hierarchical", "train_labellings": "consistent", "fit_intercept": False}],
    "GlobalTreeModel": [
        {},
        {"branching": False, "average": "none", "fit_intercept": False, "shards": 1},
        {"update": "max_loss", "shards": 1, "C": 0.1},
    ],
    "CorrMNL": [{"parents": "first", "n_iter": 20, "burn_in": 10, "n_chains": 2}],
    "OrthogonalTransfer": [{"fit_intercept": False}],
    # Not a registered model, for it takes others: what every model promises, a mixture does too.
    "Mixture": [
        {
            "sources": [("svm", OneVsRestSVM(tol=1e-7)), ("closed", OneVsRestLogistic(learn="closed", tol=1e-7))],
            "cv": 3,
        }
    ],
}

# Models that learn exactly one label per document; they are shown the first label of every document.
ONE_LABEL = {"CorrMNL", "OrthogonalTransfer", "MulticlassSVM", "SoftmaxRegression"}

# What scikit-learn's checks are shown instead of the defaults, where those take a second for every fit.
QUICK: dict[str, dict[str, Any]] = {
    "CorrMNL": {"n_iter": 20, "burn_in": 10},
    "OrthogonalTransfer": {"max_iter": 50},
    "Mixture": {"sources": [("given", OneVsRestSVM()), ("closed", OneVsRestSVM(learn="closed"))], "cv": 2},
}

# What a search is shown to vary; for all others it is C.
SEARCHED: dict[str, dict[str, list[Any]]] = {
    "HierarchicalPerceptron": {"max_iter": [2, 20]},
    "Hieron": {"max_iter": [2, 20]},
    "HBLR": {"prior_scale": [0.1, 10.0]},
    "CorrMNL": {"n_leapfrog": [9, 10]},
}

# Parameters that only some models have: those that stop at a tolerance, or have something to give to threads.
_OPTIONAL = {"tol", "n_jobs", "random_state"}

CASES = [(name, settings) for name in (*registry.MODELS, "Mixture") for settings in CONFIGURATIONS.get(name, [])]

# One model of each family. Contracts that take many fits are checked on these in `make test`, and on all models in
# `make test-all`.
REPRESENTATIVES = ("OneVsRestSVM", "MulticlassSVM", "TopDownSVM", "RRSVM", "Hieron", "HBLR", "HM3", "Mixture")


def is_first(name: str, settings: dict[str, Any]) -> bool:
    """Whether these are the first settings of the model."""
    return settings is CONFIGURATIONS[name][0]


def is_representative(name: str, settings: dict[str, Any]) -> bool:
    """Whether these are the first settings of the model that stands for its family."""
    return name in REPRESENTATIVES and is_first(name, settings)


def each_case(quick: Callable[..., bool], *more: Any) -> pytest.MarkDecorator:
    """Run a test for every case, where ``quick`` is false only under `make test-all`.

    ``more`` are a further parameter and its values: the test runs for every case with every value, and ``quick`` is
    called with the name, the settings and the value.
    """
    argument, values = more or (None, [None])
    parameters = []
    for name, settings in CASES:
        for value in values:
            given = (name, settings) if argument is None else (name, settings, value)
            marks = () if quick(*given) else pytest.mark.slow
            parameters.append(pytest.param(*given, marks=marks, id="-".join(map(str, given))))
    return pytest.mark.parametrize(
        ("name", "settings") if argument is None else ("name", "settings", argument), parameters
    )


each_model = each_case(lambda name, settings: True)
each_first = each_case(is_first)
each_family = each_case(is_representative)


def make(name: str, settings: dict[str, Any], **more: Any) -> Any:
    kind = registry.resolve(name)
    left_out = _OPTIONAL - set(inspect.signature(kind).parameters)
    given = {"random_state": 0, **settings, **more}
    return kind(**{key: value for key, value in given.items() if key not in left_out})


def fitted(name: str, settings: dict[str, Any], kind: str = "tree", form: str = "sets") -> Any:
    """A model of `documents`, fitted once for all tests that change nothing about it.

    ``form`` is "sets", "single" (the first label of every document, as a list) or "dense" (sets, and a dense matrix).
    """
    return _fitted(CASES.index((name, settings)), kind, form)


@cache
def _fitted(case: int, kind: str, form: str) -> Any:
    name, settings = CASES[case]
    tax = taxonomy(kind)
    X, labels = documents(tax, name=name)
    y = [row[0] for row in labels] if form == "single" else labels
    return make(name, settings, taxonomy=tax).fit(X.toarray() if form == "dense" else X, y)


def taxonomy(kind: str = "tree") -> Taxonomy:
    """Fourteen nodes on three levels; as a DAG, two of them have two parents."""
    edges = [("R", "A"), ("R", "B"), ("R", "C"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB"), ("C", "CA")]
    edges += [("AA", "AAA"), ("AA", "AAB"), ("BA", "BAA"), ("BA", "BAB"), ("CA", "CAA")]
    return Taxonomy.from_edges(edges + ([("B", "AA"), ("AB", "BAA")] if kind == "dag" else []))


def documents(tax: Taxonomy, n_docs: int = 80, seed: int = 0, name: str = "") -> tuple[Any, list[list[str]]]:
    """Documents whose features depend on the nodes of their labels; one to three labels each, internal ones too.

    Where ``name`` is a model that learns one label per document, the first label only.
    """
    rng = np.random.default_rng(seed)
    nodes = [v for v in range(tax.n_nodes) if v != tax.root]
    topics = rng.random((tax.n_nodes, 30)) < 0.2
    X, labels = np.zeros((n_docs, 30)), []
    for i in range(n_docs):
        chosen = rng.choice(nodes, size=rng.integers(1, 4), replace=False)
        for v in chosen:
            X[i] += topics[tax.ancestors(int(v))].sum(axis=0)
        X[i] *= rng.random(30) < 0.8
        X[i] += (rng.random(30) < 0.1) * 0.5
        labels.append([str(tax.names[v]) for v in sorted(chosen)][: 1 if name in ONE_LABEL else None])
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return sparse.csr_array(X.astype(np.float32)), labels
