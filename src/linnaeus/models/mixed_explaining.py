"""Which source of a mixture spoke for a node, and what of the document moved that source.

    t_v = b_v + sum_s w_vs z_sv,      z_sv = a_sv f_su + o_sv

The terms of the sum are the contributions of the sources. f_su is the score of source s for the node u that spoke: v
itself, or the best one below it, or of a source that goes down the taxonomy the weakest on the way. Where the source
explains f_su as a sum over features of the document, w_vs a_sv times its terms are contributions of features to t_v.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linnaeus.errors import DataError, LinnaeusError, nearest
from linnaeus.models.explaining import Contrast, NodeExplanation
from linnaeus.models.mixed_scores import SourceScores
from linnaeus.typing import FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["MixtureExplanation", "SourceContribution", "explain_mixture"]


@dataclass(frozen=True)
class SourceContribution:
    """What one source said about a node.

    Attributes
    ----------
    name : str
        The source.
    weight : float
        Its weight at the node.
    log_odds : float
        Its calibrated score.
    contribution : float
        The product of the two, its part of the mixed score.
    node : str or None
        The node of the source that spoke; None where the source has no score at or below the node.
    explanation : NodeExplanation or None
        The source's own explanation of that node; None where it has none.
    shares_features : bool
        Whether that explanation is by the features of the mixture's documents.
    """

    name: str
    weight: float
    log_odds: float
    contribution: float
    node: str | None
    explanation: NodeExplanation | None
    shares_features: bool


@dataclass(frozen=True)
class MixtureExplanation(NodeExplanation):
    """Why a node scored as it did: the score is exactly ``constant`` plus the contributions of the ``sources``.

    It is also ``intercept`` plus all ``contributions`` of features. What sources say that do not explain themselves by
    the features of the document is part of ``intercept``.
    """

    constant: float = 0.0
    sources: tuple[SourceContribution, ...] = field(default=())

    def named(self, names: ObjectArray) -> MixtureExplanation:
        """The same with names of features instead of their numbers, in the explanations of sources too."""
        sources = tuple(
            replace(source, explanation=source.explanation.named(names))
            if source.explanation is not None and source.shares_features
            else source
            for source in self.sources
        )
        against = None if self.against is None else self.against.named(names)
        return replace(self, features=names[self.features], against=against, sources=sources)

    def __str__(self) -> str:
        spoke = [f"{source.contribution:+.3f} ({source.name})" for source in self.sources]
        return f"{super().__str__()}\n  sources: {self.constant:+.3f} (constant) {' '.join(spoke)}"


def explain_mixture(model: Any, X: Matrix, target: int, k: int | None) -> list[MixtureExplanation]:
    """Explanations of the scored nodes on the way to ``target``, of the only row of X."""
    taxonomy = model.taxonomy_
    column_of = {int(v): i for i, v in enumerate(model.nodes_)}
    way = taxonomy.path(target).tolist() if model.nested_ else [target]
    path = [v for v in way if v in column_of]
    if not path:
        hint = nearest(str(taxonomy.names[target]), taxonomy.names[model.nodes_])
        raise DataError(f"Node {taxonomy.names[target]!r} has no score: it was not trained{hint}")
    explainer = _Explainer(model, X, column_of)
    outside = {target, *taxonomy.ancestors(target).tolist()}
    steps = []
    for v in path:
        near = _siblings(taxonomy, v) if model.nested_ else []
        rivals = [u for u in near if u in column_of] or [u for u in column_of if u not in outside]
        rival = max(rivals, key=lambda u: (explainer.score(u), -u)) if rivals else None
        steps.append(explainer.step(v, rival, k))
    return steps


def _siblings(taxonomy: Any, v: int) -> list[int]:
    above = [p for p in taxonomy.parents(v).tolist() if p != taxonomy.root]
    near = {c for p in above for c in taxonomy.children(p).tolist()} if above else set(taxonomy.tops.tolist())
    return sorted(near - {v})


class _Explainer:
    """Scores of one document by every source, and explanations of single nodes, each made once."""

    def __init__(self, model: Any, X: Matrix, column_of: dict[int, int]) -> None:
        self.model, self.X, self.column_of = model, X, column_of
        self.taxonomy, self.mixture = model.taxonomy_, model.mixture_
        self.given: dict[str, SourceScores] = model._source_scores(X)
        lifts, nodes = self.mixture.lifts, self.mixture.nodes
        scores = [s.over(slice(0, 1), self.taxonomy, nodes, closed=lifts) for s in self.given.values()]
        self.Z = self.mixture.log_odds(scores)
        self.S = self.mixture.mix(self.Z)[0]
        self._known: dict[tuple[int, int], NodeExplanation | None] = {}

    def score(self, v: int) -> float:
        return float(self.S[self.column_of[v]])

    def step(self, v: int, rival: int | None, k: int | None) -> MixtureExplanation:
        sources = self._sources(v)
        terms = self._terms(v, sources)
        against = None
        if rival is not None:
            margin = self.score(v) - self.score(rival)
            difference = terms - self._terms(rival, self._sources(rival))
            features, parts = _largest(difference, k)
            away = margin - float(difference.sum())
            name = str(self.taxonomy.names[rival])
            against = Contrast(name, self.score(rival), margin, away, features, parts)
        features, parts = _largest(terms, k)
        constant = float(self.mixture.intercept[self.column_of[v]])
        rest = self.score(v) - float(terms.sum())
        name = str(self.taxonomy.names[v])
        return MixtureExplanation(
            name, self.score(v), rest, features, parts, against, constant=constant, sources=tuple(sources)
        )

    def _sources(self, v: int) -> list[SourceContribution]:
        """What every source said about a node."""
        j, found = self.column_of[v], []
        for s, (name, scores) in enumerate(self.given.items()):
            source = self.model.sources_[s]
            weight, z = float(self.mixture.weights[j, s]), float(self.Z[s][0, j])
            u = self._speaker(v, scores)
            same = getattr(source, "features", None) is None and not self.model.takes_documents
            explanation = None if u is None else self._explanation(s, u)
            spoke = None if u is None else str(self.taxonomy.names[u])
            found.append(SourceContribution(name, weight, z, weight * z, spoke, explanation, same))
        return found

    def _speaker(self, v: int, scores: SourceScores) -> int | None:
        """The node whose score a source has for a node."""
        place = {int(u): i for i, u in enumerate(scores.nodes)}
        S, taxonomy = np.asarray(scores.S)[0], self.taxonomy
        lifted = self.mixture.lifts and taxonomy.n_edges > 0 and not (scores.nested and v in place)
        near = [u for u in (taxonomy.descendants(v).tolist() if lifted else [v]) if u in place]

        def weakest(u: int) -> int:
            way = [a for a in taxonomy.ancestors(u).tolist() if a in place] if scores.conditional else [u]
            return min(way, key=lambda a: (S[place[a]], a))

        return max((weakest(u) for u in near), key=lambda u: (S[place[u]], -u), default=None)

    def _explanation(self, s: int, u: int) -> NodeExplanation | None:
        if (s, u) not in self._known:
            source, made = self.model.sources_[s], None
            if hasattr(source.estimator, "explain"):
                try:
                    document = self.X[0] if self.model.takes_documents else self.X
                    made = source.explain(document, str(self.taxonomy.names[u]))[-1]
                except LinnaeusError:  # a kernel, or a model that explains only what it answers
                    made = None
            self._known[s, u] = made
        return self._known[s, u]

    def _terms(self, v: int, sources: list[SourceContribution]) -> FloatArray:
        """Contributions of all features to the score of a node, through the sources that have them."""
        n_features = 0 if self.model.takes_documents else self.X.shape[1]
        terms, j = np.zeros(n_features), self.column_of[v]
        for s, source in enumerate(sources):
            if source.explanation is not None and source.shares_features:
                scale = source.weight * float(self.mixture.slope[j, s])
                np.add.at(terms, source.explanation.features, scale * source.explanation.contributions)
        return terms


def _largest(terms: FloatArray, k: int | None) -> tuple[IntArray, FloatArray]:
    """Features of the k largest contributions that are not 0, and these."""
    features = np.flatnonzero(terms)
    order = np.lexsort((features, -np.abs(terms[features])))[:k]
    return features[order], terms[features[order]]
