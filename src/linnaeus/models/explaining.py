"""Why a document went where it did: exact contributions of its features to every node of a path, and against a rival.

For scores that are sums over features, s_v = b_v + sum_j x_j w_jv, the contributions are the terms of the sum. Why v
and not its rival u is the difference  s_v - s_u = (b_v - b_u) + sum_j x_j (w_jv - w_ju).

A model whose scores decide along the path explains every scored node of it, each against the sibling of largest score
or, where no sibling has a score, against the best other node. A flat model decides by the score of the label alone: it
explains the label, against the best node outside its path; what is above the label had no part in the decision.

For other scores (`explain_by_occlusion`) the contribution of feature j to node v is  s_v(x) - s_v(x without j), with
feature j set to 0. The constant is what remains of the score, so that constant and contributions still sum to it; but
the contributions of two features that act together do not sum to their joint effect. These explanations are marked as
approximate.

The other explanation is by example: training documents that a user chose to keep with a model (`KeptDocuments`), and
which of them are nearest to a new one (cosine).

Which source of a mixture contributed to the score of a node, and which features of the document to that source.

    t_v = b_v + sum_s w_vs z_sv,      z_sv = a_sv f_su + o_sv

The terms of the sum are the contributions of the sources. f_su is the score of source s for a node u that stands
for v: v itself, or the best one below it, or of a source that goes down the taxonomy the weakest on the way. Where
the source explains f_su as a sum over features of the document, w_vs a_sv times its terms are the contributions of
features to t_v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from linnaeus.data.dataset import SuggestedDocuments
from linnaeus.data.matrices import is_sparse
from linnaeus.display import data_frame, escaped, html_table
from linnaeus.errors import DataError, LinnaeusError, ParameterError, nearest
from linnaeus.models.mixed_scores import MixtureWeights, SourceScores
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import places
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix, ObjectArray

if TYPE_CHECKING:
    import pandas as pd

    from linnaeus.models.base import TaxonomyClassifier

__all__ = [
    "Contrast",
    "KeptDocuments",
    "MixtureExplanation",
    "Neighbour",
    "NodeExplanation",
    "PathExplanation",
    "SourceContribution",
    "best_answer",
    "explain_by_occlusion",
    "explain_mixture",
    "explain_path",
    "one_row",
]

WORD, EMBEDDING, LABEL, PARENT = "word", "embedding", "label", "parent"  # origins of contributions
_FEW = 8  # rivals that are scored one by one
Weights = Callable[[IntArray, int], FloatArray]
_Terms = dict[tuple[Any, str | None], float]  # contributions of features and their origins


@dataclass(frozen=True)
class Contrast:
    """Why a node and not ``rival``: ``margin`` is exactly ``intercept`` plus the sum of all contributions."""

    rival: str
    rival_score: float
    margin: float
    intercept: float
    features: Array
    contributions: FloatArray
    origins: ObjectArray | None = None

    def named(self, names: ObjectArray) -> Contrast:
        """The same with names of features instead of their numbers."""
        return replace(self, features=names[self.features])

    def grouped(self, shares: CSR, k: int | None) -> Contrast:
        """The same with the k largest groups instead of features; see `NodeExplanation.grouped`."""
        features, contributions = _grouped(self.features, self.contributions, shares, k)
        return replace(self, features=features, contributions=contributions, origins=None)


@dataclass(frozen=True)
class NodeExplanation:
    """Why a node scored as it did: ``score`` is exactly ``intercept`` plus the sum of all contributions.

    ``features`` and ``contributions`` (the feature's value times its weight) are sorted by size, largest first.
    ``against`` compares with the runner-up: among the siblings, or of a flat model among all nodes outside the path;
    None where nothing else has a score. ``approximate`` says that contributions were found by leaving out one feature
    at a time, because the score is not a sum over features. ``origins`` say where each contribution comes from: "word"
    of the document, "embedding" for a word through its vector, "label" for a label text of the node, "parent" for the
    weights of the parents of a node without documents; None where documents are not texts.
    """

    node: str
    score: float
    intercept: float
    features: Array
    contributions: FloatArray
    against: Contrast | None = None
    approximate: bool = False
    origins: ObjectArray | None = None

    def of_words(self) -> NodeExplanation:
        """The same with the origin "word" of all contributions, unless they have origins."""
        against = self.against
        if self.origins is not None:
            return self
        if against is not None:
            against = replace(against, origins=np.full(len(against.features), WORD, dtype=object))
        return replace(self, origins=np.full(len(self.features), WORD, dtype=object), against=against)

    def named(self, names: ObjectArray) -> NodeExplanation:
        """The same with names of features instead of their numbers."""
        against = None if self.against is None else self.against.named(names)
        return replace(self, features=names[self.features], against=against)

    def grouped(self, shares: CSR, k: int | None) -> NodeExplanation:
        """The same with contributions of groups of features, such as words instead of their pieces.

        Parameters
        ----------
        shares : CSR of shape (n_groups, n_features)
            Share of each group in each feature; the shares of a feature sum to 1, so that nothing is lost.
        k : int or None
            Number of groups that are kept, largest contributions first; None keeps all.

        Returns
        -------
        NodeExplanation
            With numbers of groups as ``features``.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy import sparse
        >>> step = NodeExplanation("cat", 0.9, 0.1, np.array([0, 1, 2]), np.array([0.5, 0.2, 0.1]))
        >>> step.grouped(sparse.csr_array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]), None).contributions.round(2).tolist()
        [0.55, 0.25]
        """
        against = None if self.against is None else self.against.grouped(shares, k)
        features, contributions = _grouped(self.features, self.contributions, shares, k)
        return replace(self, features=features, contributions=contributions, origins=None, against=against)

    def __str__(self) -> str:
        terms = [f"{self.intercept:+.3f} (constant)"]
        terms += [f"{c:+.3f} ({j})" for j, c in zip(self.features[:5], self.contributions[:5], strict=False)]
        rest = self.score - self.intercept - float(self.contributions[:5].sum())
        if abs(rest) >= 5e-4:
            terms.append(f"{rest:+.3f} (others)")
        return f"{self.node}: {self.score:+.3f} {'~' if self.approximate else '='} {' '.join(terms)}"


class PathExplanation(list[NodeExplanation]):
    """Explanations of the nodes of a path: a list that notebooks show as tables.

    Examples
    --------
    >>> import numpy as np
    >>> step = NodeExplanation("cat", 0.9, 0.1, np.array(["purr"]), np.array([0.8]))
    >>> "purr" in PathExplanation([step])._repr_html_()
    True
    """

    def to_frame(self) -> pd.DataFrame:
        """One row for each contribution: node, feature, contribution, origin."""
        columns = ("node", "feature", "contribution", "origin")
        return data_frame((dict(zip(columns, row, strict=True)) for row in self._rows()), columns)

    def _rows(self) -> Iterator[tuple[str, object, float, object]]:
        for step in self:
            yield step.node, "(constant)", float(step.intercept), None
            origins = [None] * len(step.features) if step.origins is None else step.origins
            for feature, value, origin in zip(step.features, step.contributions, origins, strict=True):
                yield step.node, feature, float(value), origin

    def _repr_html_(self) -> str:
        parts = []
        for step in self:
            if not isinstance(step, NodeExplanation):
                parts.append(f"<p>{escaped(step)}</p>")
                continue
            rival = "" if step.against is None else f", against {step.against.rival}: {step.against.margin:+.3f}"
            parts.append(f"<p><b>{escaped(step.node)}</b> {step.score:+.3f}{escaped(rival)}</p>")
            shown = zip(step.features[:10], step.contributions[:10], strict=True)
            rows = [("(constant)", f"{step.intercept:+.3f}"), *((name, f"{value:+.3f}") for name, value in shown)]
            rest = float(step.contributions[10:].sum())
            if len(step.features) > 10:
                rows.append((f"({len(step.features) - 10} others)", f"{rest:+.3f}"))
            parts.append(html_table(["feature", "contribution"], rows))
            if isinstance(step, MixtureExplanation):
                spoke = [(one.name, f"{one.weight:+.3f}", f"{one.contribution:+.3f}") for one in step.sources]
                spoke.append(("(constant)", "", f"{step.constant:+.3f}"))
                parts.append(html_table(["source", "weight", "contribution"], spoke))
        return "".join(parts)


class _Scored(Protocol):
    """What has scores of nodes: a model, or one document that was scored before."""

    @property
    def taxonomy_(self) -> Taxonomy: ...
    @property
    def nodes_(self) -> IntArray: ...
    @property
    def nested_(self) -> bool: ...
    def _scores(self, X: Matrix) -> FloatArray: ...


class _Answering(Protocol):
    """What answers documents: a model."""

    @property
    def nodes_(self) -> IntArray: ...
    def answers(self, X: object, /, *, closed: bool | None = None) -> CSR: ...
    def top_nodes(self, X: object, k: int = 5, /) -> tuple[IntArray, FloatArray]: ...


def best_answer(model: _Answering, X: Matrix, scores: FloatArray) -> int:
    """The best of the most specific labels of one document's answer; the best node of all where it is empty.

    Parameters
    ----------
    model : TaxonomyClassifier
        A fitted model.
    X : matrix of shape (1, n_features)
        The document, as the model takes it.
    scores : ndarray of shape (n_nodes_with_scores,)
        Its scores of ``model.nodes_``.

    Returns
    -------
    int
        The number of the node; of equal scores the smallest.
    """
    answers = model.answers(X, closed=False)
    column_of = places(model.nodes_, answers.shape[1])
    answered: list[int] = answers.indices[column_of[answers.indices] >= 0].tolist()
    if not answered:
        return int(model.top_nodes(X, 1)[0][0, 0])
    return max(answered, key=lambda v: (scores[column_of[v]], -v))


def explain_path(
    model: _Scored, X: Matrix, target: int, k: int | None, weights_of: Weights, intercept: FloatArray
) -> PathExplanation:
    """Explanations of the scored nodes on the way to ``target``, of the only row of X.

    ``weights_of(features, column)`` gives the weights of some features for one of the model's nodes.
    """
    taxonomy = model.taxonomy_
    column_of = places(model.nodes_, taxonomy.n_nodes)
    flat = not model.nested_
    way = taxonomy.path(target).tolist()
    path = [v for v in ([target] if flat else way) if column_of[v] >= 0]
    if not path:
        names = taxonomy.names
        hint = nearest(str(names[target]), names[model.nodes_])
        what = "it was not trained" if flat else "neither it nor a node above it was trained"
        raise DataError(f"Node {names[target]!r} has no score: {what}{hint}")
    if is_sparse(X):
        features, values = X.indices, X.data
    else:
        features = np.flatnonzero(X[0])
        values = X[0, features]
    known: dict[int, tuple[float, FloatArray]] = {}

    def terms(v: int) -> tuple[float, FloatArray]:
        if v not in known:
            column = int(column_of[v])
            parts = values.astype(np.float64) * weights_of(features, column)
            known[v] = float(parts.sum() + intercept[column]), parts
        return known[v]

    found = []
    outside = {target, *taxonomy.ancestors(target).tolist()} if flat else set(path)
    for v in path:
        score, parts = terms(v)
        constant = float(intercept[column_of[v]])
        near = [] if flat else [u for u in _siblings(taxonomy, v) if column_of[u] >= 0]
        rivals = np.array(near or model.nodes_[~np.isin(model.nodes_, list(outside))])
        against = None
        if len(rivals):
            if len(rivals) <= (_FEW if flat else 2000):
                rival = max(rivals.tolist(), key=lambda u: (terms(u)[0], -u))
            else:
                rival = int(rivals[model._scores(X)[0, column_of[rivals]].argmax()])
            other, others = terms(rival)
            order = _largest(features, parts - others, k)
            away = constant - float(intercept[column_of[rival]])
            name = str(taxonomy.names[rival])
            against = Contrast(name, other, score - other, away, features[order], (parts - others)[order])
        order = _largest(features, parts, k)
        found.append(NodeExplanation(str(taxonomy.names[v]), score, constant, features[order], parts[order], against))
    return PathExplanation(found)


def _siblings(taxonomy: Taxonomy, v: int) -> list[int]:
    """The other children of the parents of v; the other tops, where it has none."""
    above = [p for p in taxonomy.parents(v).tolist() if p != taxonomy.root]
    near = {c for p in above for c in taxonomy.children(p).tolist()} if above else set(taxonomy.tops.tolist())
    return sorted(near - {v})


def _largest(features: IntArray, contributions: FloatArray, k: int | None) -> IntArray:
    order: IntArray = np.lexsort((features, -np.abs(contributions)))
    return order[:k]


def one_row(x: Any) -> object:
    """One document as a matrix of one row: a vector, sparse or not, a list, or such a matrix already."""
    if hasattr(x, "tocsr") and x.ndim == 1:
        return x.reshape(1, -1).tocsr()
    return x if hasattr(x, "tocsr") or hasattr(x, "columns") else np.atleast_2d(x)


# -- similar documents -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbour:
    """A kept document: its name, how similar it is (1: the same direction), and its labels."""

    name: str
    similarity: float
    labels: list[str]


@dataclass(frozen=True)
class KeptDocuments:
    """Rows of length 1 (sparse or dense), names, and closed labels Y (n_docs x n_nodes).

    ``lengths`` (n_docs) and ``labels`` as they were given (n_docs x n_nodes) are what else a model needs to learn from
    them again; models that were saved by earlier versions have neither.
    """

    X: Matrix
    names: ObjectArray
    Y: CSR
    lengths: FloatArray | None = None
    labels: CSR | None = None

    @classmethod
    def of(cls, X: Matrix, Y: CSR, names: Iterable[object] | None = None, labels: CSR | None = None) -> KeptDocuments:
        """Documents as the model takes them; without names they are numbered from 0."""
        names = [str(i) for i in range(X.shape[0])] if names is None else [str(name) for name in names]
        if len(names) != X.shape[0] or Y.shape[0] != X.shape[0]:
            raise DataError(
                f"There are {X.shape[0]} documents to keep, {len(names)} names and {Y.shape[0]} label sets."
            )
        return cls(_normed(X), np.array(names, dtype=object), Y, _lengths(X).astype(np.float32), labels)

    @property
    def as_given(self) -> Matrix | None:
        """The documents with their lengths, None where these were not kept."""
        from scipy import sparse

        if self.lengths is None:
            return None
        if not is_sparse(self.X):
            return np.asarray(self.X * self.lengths[:, None])
        data = self.X.data * np.repeat(self.lengths, np.diff(self.X.indptr)).astype(self.X.dtype)
        return sparse.csr_array((data, self.X.indices, self.X.indptr), shape=self.X.shape)

    def nearest(self, x: Matrix, k: int, taxonomy: Taxonomy, node: int | None = None) -> list[Neighbour]:
        """The k kept documents nearest to one row, at or below a node if given; at least something in common."""
        rows = np.arange(len(self.names)) if node is None else np.unique(self.Y[:, [node]].tocoo().row)
        if not len(rows):
            return []
        product = self.X[rows] @ _normed(x).T
        similarity = np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float64).ravel()
        best = best_columns(similarity[None], min(k, len(rows)))[0]
        chosen = [int(i) for i in best if similarity[i] > 0]
        labels = taxonomy.labels(taxonomy.frontier(self.Y[rows[chosen]])) if chosen else []
        return [
            Neighbour(str(self.names[rows[i]]), float(similarity[i]), own)
            for i, own in zip(chosen, labels, strict=True)
        ]

    def to_dict(self) -> dict[str, object]:
        """Its fields, for the store."""
        return {"X": self.X, "names": self.names, "Y": self.Y, "lengths": self.lengths, "labels": self.labels}


def _lengths(X: Matrix) -> FloatArray:
    """Lengths of the rows."""
    if is_sparse(X):
        return np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
    return np.asarray(np.linalg.norm(X, axis=1))


def _normed(X: Matrix) -> Matrix:
    """Rows of length 1, in single precision."""
    from scipy import sparse

    lengths = _lengths(X)
    lengths = np.where(lengths > 0, lengths, 1.0)
    if is_sparse(X):
        scale = np.repeat(1.0 / lengths, np.diff(X.indptr))
        return sparse.csr_array(((X.data * scale).astype(np.float32), X.indices, X.indptr), shape=X.shape)
    return np.asarray(X / lengths[:, None], dtype=np.float32)


# -- scores that are not sums over features ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _ScoredDocument:
    """The scores of one document, as `explain_path` asks a model for them."""

    taxonomy_: Taxonomy
    nodes_: IntArray
    nested_: bool
    S: FloatArray

    def _scores(self, X: Matrix) -> FloatArray:
        return self.S


def explain_by_occlusion(
    model: TaxonomyClassifier, x: Matrix, inputs: Callable[[Matrix], Matrix], node: str | None, k: int | None
) -> list[NodeExplanation]:
    """Approximate contributions of the features of one document to every scored node of a path.

    Parameters
    ----------
    model : TaxonomyClassifier
        A fitted model.
    x : matrix of shape (1, n_features)
        The document.
    inputs : callable
        Makes the matrix that the model takes of rows such as x.
    node : str or None
        The node to explain; None: the best of the most specific labels of the answer.
    k : int or None
        Number of contributions that are kept, largest first; None keeps all.

    Returns
    -------
    list of NodeExplanation
        One for each node of the path from the top to the node, in this order.
    """
    if x.shape[0] != 1:
        raise ParameterError(f"explain takes one document; got {x.shape[0]}.")
    row = np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)
    features = np.flatnonzero(row[0])
    without = np.repeat(row, len(features) + 1, axis=0)  # the last row leaves out nothing
    without[np.arange(len(features)), features] = 0.0
    S = np.concatenate([np.asarray(part, dtype=np.float64) for part in model.score_blocks(inputs(without))])
    change = S[-1] - S[:-1]
    target = best_answer(model, inputs(row), S[-1]) if node is None else model.taxonomy_.index(node)
    document = _ScoredDocument(model.taxonomy_, model.nodes_, model.nested_, S[-1:])

    def weights_of(_: IntArray, column: int) -> FloatArray:
        return np.asarray(change[:, column] / row[0, features])

    found = explain_path(document, row, target, k, weights_of, S[-1] - change.sum(axis=0))
    return [replace(step, approximate=True) for step in found]


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
        The node that the source scores for it; None where the source has no score at or below the node.
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

    It is also ``intercept`` plus all ``contributions`` of features, which are approximate where those of a source are.
    What sources say that do not explain themselves by the features of the document is part of ``intercept``.
    """

    constant: float = 0.0
    sources: tuple[SourceContribution, ...] = field(default=())

    def named(self, names: ObjectArray) -> MixtureExplanation:
        """The same with names of features instead of their numbers, in the explanations of sources too."""
        named = super().named(names)
        assert isinstance(named, MixtureExplanation)
        return replace(named, sources=self._of_sources(lambda explanation: explanation.named(names)))

    def grouped(self, shares: CSR, k: int | None) -> MixtureExplanation:
        """The same with contributions of groups of features, in the explanations of sources too."""
        grouped = super().grouped(shares, k)
        assert isinstance(grouped, MixtureExplanation)
        return replace(grouped, sources=self._of_sources(lambda explanation: explanation.grouped(shares, k)))

    def _of_sources(self, change: Callable[[NodeExplanation], NodeExplanation]) -> tuple[SourceContribution, ...]:
        """The sources, with other explanations of those that explain themselves by the features of the documents."""
        return tuple(
            replace(source, explanation=change(source.explanation))
            if source.explanation is not None and source.shares_features
            else source
            for source in self.sources
        )

    def __str__(self) -> str:
        spoke = [f"{source.contribution:+.3f} ({source.name})" for source in self.sources]
        return f"{super().__str__()}\n  sources: {self.constant:+.3f} (constant) {' '.join(spoke)}"


class Explainable(Protocol):
    """A fitted model whose scores are sums over features, or are explained like such."""

    def explain(self, X: Matrix, node: str | None, k: int | None, /) -> list[NodeExplanation]:
        """Explanations of the nodes on the path to a node of the only row of X; the largest k contributions."""
        ...


class MixedModel(Protocol):
    """What the explanation of a mixture asks of it; see `linnaeus.mixture.Mixture`."""

    taxonomy_: Taxonomy
    nodes_: IntArray
    nested_: bool
    mixture_: MixtureWeights
    sources_: Sequence[Any]  # fitted models, or pipelines

    @property
    def takes_documents(self) -> bool:
        """Whether it takes documents as they were read."""
        ...

    def _source_scores(self, X: Matrix) -> dict[str, SourceScores]: ...


def explain_mixture(model: MixedModel, X: Matrix, target: int, k: int | None) -> list[MixtureExplanation]:
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


class _Explainer:
    """Scores of one document by every source, and explanations of single nodes, each made once."""

    def __init__(self, model: MixedModel, X: Matrix, column_of: dict[int, int]) -> None:
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
            difference = terms.copy()
            for term, value in self._terms(rival, self._sources(rival)).items():
                difference[term] = difference.get(term, 0.0) - value
            name = str(self.taxonomy.names[rival])
            away = margin - sum(difference.values())
            against = Contrast(name, self.score(rival), margin, away, *_largest_named(difference, k))
        constant = self.score(v) - sum(source.contribution for source in sources)
        rest = self.score(v) - sum(terms.values())
        features, parts, origins = _largest_named(terms, k)
        approximate = any(
            source.shares_features and source.explanation is not None and source.explanation.approximate
            for source in sources
        )
        return MixtureExplanation(
            str(self.taxonomy.names[v]), self.score(v), rest, features, parts, against, approximate, origins,
            constant=constant, sources=tuple(sources),
        )  # fmt: skip

    def _sources(self, v: int) -> list[SourceContribution]:
        """What every source said about a node."""
        j, found = self.column_of[v], []
        for s, (name, scores) in enumerate(self.given.items()):
            source = self.model.sources_[s]
            weight, z = float(self.mixture.weights[j, s]), float(self.Z[s][0, j])
            u = self._speaker(v, scores)
            same = not self.model.takes_documents and _explains_inputs(source)
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
                    X = self.X.documents if isinstance(self.X, SuggestedDocuments) else self.X
                    document = X[0] if self.model.takes_documents else X
                    made = source.explain(document, str(self.taxonomy.names[u]))[-1]
                except LinnaeusError:  # a kernel, or a model that explains only what it answers
                    made = None
            self._known[s, u] = made
        return self._known[s, u]

    def _terms(self, v: int, sources: list[SourceContribution]) -> _Terms:
        """Contributions of all features to the score of a node, through the sources that have them.

        Where the mixture takes documents, of their words, which sources with different features share.
        """
        terms: _Terms = {}
        for s, source in enumerate(sources):
            found = source.explanation
            if found is None:
                continue
            by_words = None if source.shares_features or not self.model.takes_documents else found.origins
            if by_words is None and not source.shares_features:
                continue
            scale = source.weight * float(self.mixture.slope[self.column_of[v], s])
            origins = [None] * len(found.features) if by_words is None else by_words.tolist()
            for feature, origin, part in zip(found.features.tolist(), origins, found.contributions, strict=True):
                terms[feature, origin] = terms.get((feature, origin), 0.0) + scale * float(part)
        return terms


def _explains_inputs(source: Any) -> bool:
    """Whether a source explains itself by the columns of the vectors that it is given, possibly through a map."""
    features: Any = getattr(source, "features", None)
    features = getattr(features, "features", None) if hasattr(features, "vectors") else features
    return features is None or getattr(features, "keeps_columns", False)


def _grouped(features: Array, contributions: FloatArray, shares: CSR, k: int | None) -> tuple[IntArray, FloatArray]:
    """Groups of the k largest contributions, and these."""
    terms = np.zeros(shares.shape[1])
    terms[features] = contributions
    return _largest_terms(shares @ terms, k)


def _largest_named(terms: _Terms, k: int | None) -> tuple[Array, FloatArray, ObjectArray | None]:
    """Features of the k largest contributions that are not 0, these, and their origins, where they have any."""
    found = sorted((item for item in terms.items() if item[1]), key=lambda item: (-abs(item[1]), item[0][0]))[:k]
    origins = [origin for (_, origin), _ in found]
    plain = any(origin is None for origin in origins)
    features = np.array([feature for (feature, _), _ in found], dtype=np.int64 if plain or not found else object)
    return features, np.array([part for _, part in found]), None if plain else np.array(origins, dtype=object)


def _largest_terms(terms: FloatArray, k: int | None) -> tuple[IntArray, FloatArray]:
    """Features of the k largest contributions that are not 0, and these."""
    features = np.flatnonzero(terms)
    order = np.lexsort((features, -np.abs(terms[features])))[:k]
    return features[order], terms[features[order]]
