"""A second classifier over whole paths: local search looks wide, and every path it finds is accepted or not.

    accept the path to leaf l  where  beta'f(l) + beta_0 > 0,   at least the best one           (after Wang et al. 2011)

f(l) are what the scores along the path look like: sigma(score), log-rank among siblings and gap to the best sibling on
every level (0 below the leaf), least, largest, mean and sum of sigma over the path, its length, how many documents were
learned from at the leaf, and how many paths were found (logarithms). Weights are those of a logistic regression on
scores of documents that the first classifiers have not seen (`EdgePA.fit_search`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import Theta, scored_families
from linnaeus.decoding.sets.search import Descent, LocalSearch, chosen_ends
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["PathClassifier", "path_features"]


@dataclass(frozen=True)
class PathClassifier(Descent):
    """Paths of a wide local search that a logistic regression accepts, and at least the best.

    Parameters
    ----------
    theta : object, default=-1.0
        Children above it are followed, and at least the best; the further below 0, the more paths are judged.
    leaf_mandatory : bool, default=True
        Take the best child where none is above theta.
    parents : {"all", "any"}, default="any"
        Which parents of a node must be kept before the node can be.
    weights : object, default=field(default=None, repr=False)
        Learned: of the features of a path, and last a constant.
    counts : object, default=field(default=None, repr=False)
        Learned: the logarithm of 1 + documents of every node in training.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> rng = np.random.default_rng(0)
    >>> S = rng.normal(size=(200, 6))                                       # A, B, AA, AB, BA, BB
    >>> gold = tax.indicator([[name for v, name in enumerate(tax.names) if v > 1 and row[v] > 1] for row in S])
    >>> chosen = PathClassifier(theta=-1.0).fit(S, gold, tax)
    >>> tax.labels(tax.frontier(chosen([[0.5, -2.0, 3.0, -0.9, 0.0, 0.0]], tax)))
    [['AA']]
    """

    name: ClassVar[str] = "path_classifier"
    theta: Theta = -1.0
    parents: str = "any"
    weights: Sequence[float] | None = field(default=None, repr=False)
    counts: Sequence[float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weights", "counts"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(float(w) for w in getattr(self, name)))

    @property
    def fitted(self) -> bool:
        return self.weights is not None

    def descent_margins(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray, *, at_top: bool) -> FloatArray:
        raise ParameterError(
            "PathClassifier does not rank label sets, so it takes no rules and no n_best: it accepts single paths; "
            "LocalSearch() and ExactSearch() do."
        )

    def fit(
        self,
        S: npt.ArrayLike,
        gold: CSR,
        taxonomy: Taxonomy,
        columns: npt.ArrayLike | None = None,
        *,
        seen: npt.ArrayLike | None = None,
    ) -> PathClassifier:
        """The classifier fitted on held-out scores; ``gold`` are right leaves (n_docs x n_nodes).

        ``seen`` (n_nodes) says how many documents the scores of each node were learned from; None: those of ``gold``.
        """
        from sklearn.linear_model import LogisticRegression

        S = np.asarray(S)
        columns = np.arange(taxonomy.n_nodes) if columns is None else np.asarray(columns)
        seen = np.asarray(taxonomy.close(gold).sum(axis=0)).ravel() if seen is None else np.asarray(seen)
        known = replace(self, counts=np.log1p(seen))
        ends = known._ends(S, taxonomy, columns)
        F = known._features(S, ends, taxonomy, columns)
        right = np.asarray(gold[row_numbers(ends.indptr), ends.indices]).ravel() > 0
        if right.all() or not right.any():
            raise DataError(
                f"All {len(right)} paths that local search finds are {'right' if right.any() else 'wrong'}; a "
                "classifier of paths needs both kinds: take a lower theta, or more documents."
            )
        mean, scale = F.mean(axis=0), np.maximum(F.std(axis=0), 1e-9)
        found = LogisticRegression(C=1.0, max_iter=500).fit((F - mean) / scale, right)
        weights = found.coef_[0] / scale
        return replace(known, weights=[*weights, float(found.intercept_[0] - weights @ mean)])

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        if not self.fitted:
            raise ParameterError("PathClassifier is not fitted: EdgePA.fit_search(X, y, 'paths'), or .fit, does that.")
        ends = self._ends(S, taxonomy, columns)
        F = self._features(S, ends, taxonomy, columns)
        weights = np.asarray(self.weights, dtype=np.float64)
        if F.shape[1] + 1 != len(weights):
            raise ParameterError(
                f"PathClassifier was fitted on a taxonomy whose paths have {len(weights) - 1} features; here they "
                f"have {F.shape[1]}."
            )
        values = F @ weights[:-1] + weights[-1]
        return taxonomy.close(chosen_ends(ends, values, 0.0))

    def _ends(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        return taxonomy.frontier(LocalSearch(theta=self.theta)(S, taxonomy, columns))

    def _features(self, S: FloatArray, ends: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        counts, n = np.asarray(self.counts, dtype=np.float64), taxonomy.n_nodes
        if len(counts) != n:
            raise ParameterError(f"counts has {len(counts)} values, expected one for each of the {n} nodes.")
        F = path_features(S, ends, taxonomy, columns)
        sizes = np.diff(ends.indptr)
        return np.column_stack([F, counts[ends.indices], np.log1p(np.repeat(sizes, sizes))])


def path_features(S: FloatArray, ends: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
    """What the scores along the path to every entry of ``ends`` look like, in their order (n_entries x n_features).

    On a DAG, where a level of a path may have several nodes, theirs are averaged.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> S = np.array([[0.0, -1.0, 2.0, 1.0]])
    >>> path_features(S, tax.indicator([["AB"]]), tax, np.arange(4)).round(2).tolist()
    [[0.5, 0.73, 0.0, 0.69, 0.0, -1.0, 0.5, 0.73, 0.62, 1.23, 2.0]]
    """
    from scipy.special import expit

    S = np.asarray(S, dtype=np.float64)
    above = taxonomy.ancestor_matrix[ends.indices][:, columns]
    entry = row_numbers(above.indptr)
    document = row_numbers(ends.indptr)[entry]
    level = np.maximum(taxonomy.depth[columns[above.indices]], 1) - 1
    n, depth = len(ends.indices), int(taxonomy.depth.max())
    rank, gap = _among_siblings(S, taxonomy, columns)
    at = document, above.indices
    sigma = expit(S[at])
    cell, length = entry * depth + level, np.bincount(entry, minlength=n)
    per_cell = np.maximum(np.bincount(cell, minlength=n * depth), 1)
    levels = [
        (np.bincount(cell, value, minlength=n * depth) / per_cell).reshape(n, depth)
        for value in (sigma, np.log1p(rank[at]), gap[at])
    ]
    total = np.bincount(entry, sigma, minlength=n)
    starts = above.indptr[:-1]
    least, most = (np.minimum.reduceat(sigma, starts), np.maximum.reduceat(sigma, starts)) if n else (total, total)
    return np.column_stack([*levels, least, most, total / np.maximum(length, 1), total, length])


def _among_siblings(S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> tuple[FloatArray, FloatArray]:
    """How many siblings score higher, and the score less that of the best sibling of all (at most 0, at least -10)."""
    rank, gap = np.zeros(S.shape), np.zeros(S.shape)
    for at in scored_families(taxonomy, columns):
        if len(at) > 1:
            own = S[:, at]
            rank[:, at] = np.argsort(np.argsort(-own, axis=1, kind="stable"), axis=1)
            with np.errstate(invalid="ignore"):
                gap[:, at] = np.nan_to_num(np.clip(own - own.max(axis=1, keepdims=True), -10.0, 0.0), nan=-10.0)
    return rank, gap
