"""Repairs of local search, learned on scores of documents that the classifiers have not seen.

Folds of the documents are scored by copies of the model that have learned from the others, leaves ``<node>/self``
included. On these scores one of the repairs of `decoding.search` is fitted:

    "prune"         theta and a threshold on sums along paths, both from a grid, by F1 of documents
    "scut"          a threshold for every classifier, by its F1
    "rcut"          r, the leaves of best paths that are kept;  "rcut_parent": r, the children followed at every node
    "paths"         a classifier of whole paths (`decoding.path_classifier`)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.data.check import check_labels
from linnaeus.data.splits import kfold
from linnaeus.decoding import LocalSearch, PathClassifier, SCut
from linnaeus.decoding.sets.search import Descent, chosen_ends, path_scores
from linnaeus.errors import check_choice
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.typing import CSR, FloatArray, IntArray

if TYPE_CHECKING:
    from linnaeus.models.topdown.base import LocalClassifiers

__all__ = ["REPAIRS", "HeldOutPaths", "fit_search"]

REPAIRS = ("prune", "scut", "rcut", "rcut_parent", "paths")
THETAS = (0.0, -0.1, -0.2, -0.4, -0.6, -1.0)
_WIDE = -1.0  # where paths are looked for that a repair chooses from
_QUANTILES = 40


@dataclass(frozen=True)
class HeldOutPaths:
    """Scores S over ``columns`` of a taxonomy with leaves ``<node>/self``, right leaves, and documents per node."""

    S: FloatArray
    gold: CSR
    taxonomy: Taxonomy
    columns: IntArray
    seen: IntArray

    @classmethod
    def of(cls, model: LocalClassifiers, X: object, y: object, cv: int, random_state: int | None) -> HeldOutPaths:
        """Scores of all documents by copies of a fitted model, ``cv`` trainings."""
        from sklearn.base import clone

        X = model._check_X(X, reset=False)
        Y = check_labels(y, model.taxonomy_, X.shape[0])[0]
        taxonomy, columns, origin = model._with_stops()
        place = {str(taxonomy.names[v]): i for i, v in enumerate(columns)}
        S = np.full((X.shape[0], len(columns)), -np.inf, dtype=np.float32)
        for train, held in kfold(Y, min(int(cv), X.shape[0]), random_state=random_state):
            fold = clone(model).set_params(taxonomy=model.taxonomy_, verbose=0).fit(X[train], Y[train])
            names = fold._with_stops()[0].names[fold._with_stops()[1]]
            known = np.array([(i, place[str(name)]) for i, name in enumerate(names) if str(name) in place])
            scores = np.hstack([fold._scores(X[held]), fold._stop_scores(X[held])])
            S[np.ix_(held, known[:, 1])] = scores[:, known[:, 0]]
        gold = leaves_of(model.taxonomy_.frontier(Y), taxonomy, origin, model.taxonomy_.n_nodes)
        seen = np.asarray(taxonomy.close(gold).sum(axis=0, dtype=np.int64)).ravel()
        return cls(S, gold, taxonomy, columns, seen)

    def quality(self, decoder: Descent) -> float:
        return self.f1(self.taxonomy.frontier(decoder(self.S, self.taxonomy, self.columns)))

    def f1(self, found: CSR) -> float:
        """Mean F1 of documents."""
        both = np.asarray(found.multiply(self.gold).sum(axis=1)).ravel()
        sizes = np.diff(found.indptr) + np.diff(self.gold.indptr)
        return float(np.mean(2 * both / np.maximum(sizes, 1)))


def leaves_of(Y: CSR, grown: Taxonomy, origin: IntArray, n_nodes: int) -> CSR:
    """Labels as leaves of a taxonomy with leaves ``<node>/self``."""
    stands_for = np.zeros(n_nodes, dtype=np.int32)
    stands_for[origin] = np.arange(len(origin))  # a leaf <node>/self comes after its node
    gold = pattern(Y.indptr.astype(np.int64), stands_for[Y.indices], grown.n_nodes)
    gold.sort_indices()
    return gold


def fit_search(
    model: LocalClassifiers, X: object, y: object, repair: str, cv: int, random_state: int | None
) -> Descent:
    """A repair fitted on held-out scores of a fitted model."""
    check_choice("repair", repair, REPAIRS)
    held = HeldOutPaths.of(model, X, y, cv, random_state)
    fit = {"prune": _prune, "scut": _scut, "rcut": _rcut, "rcut_parent": _rcut_parent, "paths": _paths}[repair]
    return fit(held)


def _best(held: HeldOutPaths, choices: Iterable[Descent]) -> Descent:
    """The first of the best."""
    return max(choices, key=lambda decoder: held.quality(decoder))


def _prune(held: HeldOutPaths) -> Descent:
    found: list[tuple[float, Descent]] = []
    for theta in THETAS:
        ends = held.taxonomy.frontier(LocalSearch(theta=theta)(held.S, held.taxonomy, held.columns))
        values = path_scores(held.S, ends, held.taxonomy, held.columns)
        for threshold in [None, *np.unique(np.quantile(values, np.linspace(0, 1, _QUANTILES))).tolist()]:
            chosen = LocalSearch(theta=theta, path_threshold=threshold)
            found.append((held.f1(chosen_ends(ends, values, threshold)), chosen))
    return max(found, key=lambda pair: pair[0])[1]


def _scut(held: HeldOutPaths) -> Descent:
    cut = SCut().fit(held.S, held.taxonomy.close(held.gold), held.taxonomy, held.columns)
    assert cut.theta is not None
    return LocalSearch(theta=cut.theta)


def _rcut(held: HeldOutPaths) -> Descent:
    most = 2 * int(np.diff(held.gold.indptr).max(initial=1))
    return _best(held, (LocalSearch(theta=_WIDE, r=r) for r in range(1, most + 1)))


def _rcut_parent(held: HeldOutPaths) -> Descent:
    return _best(held, (LocalSearch(r_children=r) for r in range(1, 6)))


def _paths(held: HeldOutPaths) -> Descent:
    return PathClassifier(theta=_WIDE).fit(held.S, held.gold, held.taxonomy, held.columns, seen=held.seen)
