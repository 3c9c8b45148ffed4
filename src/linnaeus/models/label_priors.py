"""Prior weights of nodes from their texts, and scores that mean the same for nodes with few and with many documents.

The weights of node n are pulled towards

    the weights of its parents + p_n,        p_n = g * t_n   word by word

where t_n (n_features) is the text of the node in the features of the documents and g_j the gain of word j. A node
without documents has exactly these weights. Gains are learned from nodes with documents: with r_n the difference
between the weights of node n and those of its parents, and m_n its number of documents,

    min over g, c   sum_n m_n sum_j (r_nj - g_j t_nj)^2  +  ridge sum_j (g_j - c)^2

Words that many labels have get a gain of their own, the others the common gain c. The solution is in closed form
(`learn_gains`); ``residual`` is what the normal equations leave of it, and `choose_ridge` compares values on nodes that
were left out. A map with word embeddings on both sides (t_n in K dimensions to weights through a K x K matrix) was
measured as well and did not find more on nodes left out.

An embedding beside the words (`EmbeddedText`) is a block of columns with a ridge problem and a common gain of its own:
t_n is there the embedded text, less half of that of the parents. Words that resemble those of the text then count.

Weights of nodes with few documents are small, and gains with them: all gains of a block are multiplied by the number
that tells best the labels of nodes held out from those of their parents (`text_strengths`).

Scores of nodes with 0, 1-2, 3-5 and more training documents are not comparable: margins of rare nodes are smaller.
`GroupScales` fits P(label | score) = sigma(a s + b) to each group on held-out documents, and s' = (a s + b - b') / a'
brings a group to the scale (a', b') of nodes with many documents. Both are linear, so they end in the weights. Inner
nodes without documents of their own, but with many below them, are labels less often (`documents_below`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from linnaeus.data.matrices import is_sparse
from linnaeus.decoding.probability.curves import logistic_regression
from linnaeus.errors import DataError, ParameterError, warn_user
from linnaeus.models.explaining import LABEL, PARENT, WORD, NodeExplanation
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.names import words_of_name
from linnaeus.taxonomy.texts import listed
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["GROUPS", "GroupScales", "LabelGains", "check_label_features", "choose_ridge", "documents_below",
           "embedding_columns", "entries_of", "group_of", "label_features", "learn_gains", "node_texts",
           "nodes_with_texts", "text_strengths"]  # fmt: skip

GROUPS = ("0", "1-2", "3-5", "more")  # training documents of a node
_GROUP_ENDS = (1, 3, 6)
_MOST_LABELS = 50  # of a node, in the order of the vocabulary
_LONGEST, _LONGEST_NOTE = 500, 5_000  # characters of a label and of a definition that are read
_NOTE = 0.5  # weight of the words of a definition beside those of a label
_PARENTS = 0.5  # of the embedded texts of parents that is subtracted
_BATCH = 50_000  # texts that are vectorised at a time
_FEW_KNOWN = 0.1  # a smaller share of nodes with a known word is a warning
_MOST_DOCUMENTS = 50.0  # documents of a node beyond which it says no more about gains
_RIDGES = (0.1, 1.0, 10.0, 100.0, 1000.0)
_LEAST_POSITIVE = 5  # pairs of document and label that a group needs for a scale of its own
_MOST_NEGATIVE = 200_000  # negative pairs that a curve is fitted to
_MOST_STRENGTH = 100.0


# -- texts as features -------------------------------------------------------------------------------------------------


class _TextTransformer(Protocol):
    """Features of texts with fields: `TextFeatures`, `HashedText`."""

    weights_: dict[str, float]
    kinds_: dict[str, float]

    def transform(self, documents: object, /) -> CSR: ...


def embedding_columns(features: object) -> int:
    """Number of last columns of features that are an embedding; 0 where there is none.

    Examples
    --------
    >>> from linnaeus.features.embedding import EmbeddedText
    >>> embedding_columns(EmbeddedText(weight=1.0, dimension=2).fit(["cats purr", "cats purr", "dogs bark"]))
    2
    """
    return int(getattr(features, "n_embedding", 0))


def node_texts(taxonomy: Taxonomy) -> Iterator[tuple[int, float, str]]:
    """Number of the node, weight and text of labels and definitions of all nodes but the root, bounded per node.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "x")], display_labels={"x": "Heart attack"})
    >>> list(node_texts(tax))
    [(1, 1.0, 'Heart attack')]
    """
    texts = taxonomy.texts
    root = -1 if taxonomy.root is None else taxonomy.root
    if not len(texts):
        nodes = nodes_with_texts(taxonomy).tolist()
        yield from ((v, 1.0, words_of_name(taxonomy.display(v))[:_LONGEST]) for v in nodes)
        return
    for kinds, weight, longest in (
        (("preferred", "alternative", "hidden"), 1.0, _LONGEST),
        (("definition",), _NOTE, _LONGEST_NOTE),
    ):
        chosen = texts.select(kinds)
        node = texts.node[chosen]
        place = np.arange(len(node)) - np.searchsorted(node, node)  # among the texts of its node
        for i in chosen[(place < _MOST_LABELS) & (node != root)].tolist():
            entry = texts.entry(i)
            yield entry.node, weight, entry.text[:longest]


def nodes_with_texts(taxonomy: Taxonomy) -> IntArray:
    """Numbers of the nodes with a label or definition, without the root; where no node has one, of all nodes.

    Their names are their texts then, as in a list of headings.

    Examples
    --------
    >>> nodes_with_texts(Taxonomy.from_edges([("R", "x"), ("R", "y")])).tolist()
    [1, 2]
    >>> nodes_with_texts(Taxonomy.from_edges([("R", "x"), ("R", "y")], display_labels={"y": "Lungs"})).tolist()
    [2]
    """
    texts = taxonomy.texts
    kinds = ("preferred", "alternative", "hidden", "definition")
    found = np.unique(texts.node[texts.select(kinds)]) if len(texts) else np.arange(taxonomy.n_nodes)
    return found[found != (-1 if taxonomy.root is None else taxonomy.root)].astype(np.int32)


def label_features(features: object, taxonomy: Taxonomy) -> CSR:
    """Texts of the nodes in the features of documents, n_nodes x n_features.

    Each text counts as one document (in all text fields, where there are several); of the texts of a node the largest
    value of each word is kept, so that a document with one of its names is as near as one with another. Columns of an
    embedding hold the weighted mean of the texts of a node, less half of that of its parents.

    Parameters
    ----------
    features : TextFeatures, HashedText or EmbeddedText
        Fitted features of texts.
    taxonomy : Taxonomy
        Preferred, alternative and hidden labels and definitions of its nodes are used.

    Returns
    -------
    csr_array of shape (n_nodes, n_features)
        Rows of nodes without texts or known words are empty.

    Examples
    --------
    >>> from linnaeus.features.text import TextFeatures
    >>> tax = Taxonomy.from_edges([("R", "x")], display_labels={"x": "Cats"})
    >>> label_features(TextFeatures().fit(["cats purr", "dogs bark"]), tax).toarray().round(1).tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    from scipy import sparse

    n_embedding, fields = embedding_columns(features), getattr(features, "features_", features)
    if not hasattr(fields, "weights_") or not hasattr(fields, "kinds_"):
        given = "no features" if features is None else type(features).__name__
        raise ParameterError(
            f"answer='all' compares label texts with documents; got {given}, expected TextFeatures, HashedText or "
            "EmbeddedText, or label_features in fit."
        )
    transformer, named = cast(_TextTransformer, features), cast(_TextTransformer, fields)
    parts: list[tuple[IntArray, IntArray, FloatArray]] = []
    embedded = np.zeros((taxonomy.n_nodes, n_embedding))
    total = np.zeros(taxonomy.n_nodes)
    batch: list[tuple[int, float, str]] = []

    def flush() -> int:
        texts = [text for _, _, text in batch]
        columns: dict[str, list[object]] = {name: list(texts) for name in named.weights_}
        columns |= {name: [None] * len(texts) for name in named.kinds_}
        rows = transformer.transform(columns)
        weight = np.array([weight for _, weight, _ in batch])
        node = np.array([node for node, _, _ in batch], np.int64)
        n_terms = rows.shape[1] - n_embedding
        if n_embedding:
            E = rows[:, n_terms:].toarray()
            np.add.at(embedded, node, weight[:, None] * E)
            np.add.at(total, node, weight * E.any(axis=1))
        X = rows[:, :n_terms].tocoo()
        parts.append((node[X.row], X.col, X.data * weight[X.row]))
        batch.clear()
        return int(n_terms)

    for entry in node_texts(taxonomy):
        batch.append(entry)
        if len(batch) == _BATCH:
            flush()
    n_terms = flush()
    node, word, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((value, word, node))
    node, word, value = node[order], word[order], value[order]
    last = np.append((np.diff(node) != 0) | (np.diff(word) != 0), True) if len(node) else np.zeros(0, bool)
    T = sparse.csr_array((value[last], (node[last], word[last])), shape=(taxonomy.n_nodes, n_terms))
    if n_embedding:
        block = sparse.csr_array(_contrasted(embedded / np.where(total > 0, total, 1.0)[:, None], taxonomy))
        T = sparse.csr_array(sparse.hstack([T, block], format="csr"))
    _check_known(T, taxonomy)
    return T


def _contrasted(E: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """Embedded texts of nodes less half of the mean of their parents' (n_nodes x dimension), as long as before.

    What a node has in common with its siblings, also in words such as "comp sys", says less than what is its own.
    """
    up = np.array([E[above].mean(axis=0) if len(above := taxonomy.parents(v)) else 0.0 * E[v] for v in range(len(E))])
    found = E - _PARENTS * up
    before, after = np.linalg.norm(E, axis=1), np.linalg.norm(found, axis=1)
    return np.asarray(found * (before / np.where(after > 1e-9, after, 1.0))[:, None])


def _check_known(T: CSR, taxonomy: Taxonomy) -> None:
    """An error if label texts and documents have no word in common, a warning if few nodes have one."""
    with_texts = nodes_with_texts(taxonomy)
    known = int((np.diff(T.indptr)[with_texts] > 0).sum())
    if known < _FEW_KNOWN * len(with_texts):
        message = (
            f"{known:,} of the {len(with_texts):,} nodes with texts have a word that documents have; "
            f"{listed(taxonomy.texts.languages) if len(taxonomy.texts) else 'the texts are names of nodes'}. "
            "Texts in the language of the documents are needed to answer nodes without documents."
        )
        if not known:
            raise DataError(message)
        warn_user(message)


def check_label_features(T: object, n_nodes: int, n_features: int, *, method: str = "fit") -> CSR:
    """Label features as CSR in double precision, or an error."""
    from scipy import sparse

    if T is None:
        raise ParameterError(
            "answer='all' needs the texts of the nodes as features: fit a Pipeline with TextFeatures, or give "
            f"label_features (n_nodes x n_features) to {method}."
        )
    try:
        found = sparse.csr_array(T, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise DataError("label_features is not a matrix of numbers.") from None
    if found.shape != (n_nodes, n_features):
        raise DataError(
            f"label_features has the shape {found.shape}; expected ({n_nodes}, {n_features}), a row for each node."
        )
    if not np.isfinite(found.data).all():
        raise DataError("label_features holds NaN or infinity.")
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


# -- gains -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelGains:
    """Gains of words: ``gains`` (n_features), the ``common`` gain, and the ``residual`` of the normal equations."""

    gains: FloatArray
    common: float
    ridge: float
    residual: float

    def times(self, strength: float) -> LabelGains:
        """All gains multiplied by a number."""
        return replace(self, gains=self.gains * strength, common=self.common * strength)

    def beside(self, others: LabelGains) -> LabelGains:
        """Gains of these columns, then of others; common gain and ridge are those of the first columns."""
        return replace(
            self, gains=np.concatenate([self.gains, others.gains]), residual=max(self.residual, others.residual)
        )

    def prior(self, T: CSR) -> CSR:
        """p_n = g * t_n of all nodes, n_nodes x n_features."""
        from scipy import sparse

        return sparse.csr_array((T.data * self.gains[T.indices], T.indices, T.indptr), shape=T.shape)


def learn_gains(T: CSR, R: CSR, documents: FloatArray, ridge: float = 1.0) -> LabelGains:
    """The ridge problem above, solved exactly.

    Parameters
    ----------
    T : csr_array of shape (n_nodes, n_features)
        Texts of nodes with documents.
    R : csr_array of shape (n_nodes, n_features)
        Weights of the nodes less those of their parents; only entries where T is not zero matter.
    documents : ndarray of shape (n_nodes,)
        Weight of each node: its number of documents.
    ridge : float, default=1.0
        Weight of the pull to the common gain.

    Returns
    -------
    LabelGains
        Gains of all words; words without a node have the common gain.

    Examples
    --------
    >>> from scipy import sparse
    >>> T = sparse.csr_array(np.array([[1.0, 0.0], [0.5, 1.0]]))
    >>> found = learn_gains(T, 2 * T, np.ones(2))
    >>> found.gains.round(6).tolist(), round(found.common, 6), found.residual < 1e-12
    ([2.0, 2.0], 2.0, True)
    """
    rt, tt = _moments(T, R, documents)
    return _gains_of(rt, tt, ridge)


def _moments(T: CSR, R: CSR, documents: FloatArray) -> tuple[FloatArray, FloatArray]:
    """sum_n m_n r_nj t_nj and sum_n m_n t_nj^2 of every word."""
    rows = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
    residuals = entries_of(R, rows, T.indices)
    m, n = documents[rows], T.shape[1]
    rt: FloatArray = np.bincount(T.indices, m * residuals * T.data, minlength=n).astype(np.float64)
    tt: FloatArray = np.bincount(T.indices, m * T.data**2, minlength=n).astype(np.float64)
    return rt, tt


def _gains_of(rt: FloatArray, tt: FloatArray, ridge: float) -> LabelGains:
    shrink = ridge / (tt + ridge)
    free = float(shrink @ tt)
    common = float(shrink @ rt) / free if free > 0 else 0.0
    gains = (rt + ridge * common) / (tt + ridge)
    left = np.append(tt * gains - rt + ridge * (gains - common), ridge * (gains - common).sum())
    scale = max(float(np.abs(rt).max(initial=0.0)), np.finfo(float).tiny)
    return LabelGains(gains, common, ridge, float(np.abs(left).max()) / scale)


def entries_of(R: Matrix, rows: IntArray, columns: IntArray) -> FloatArray:
    """Entries of a matrix, dense or CSR."""
    if not len(rows):
        return np.zeros(0)
    return np.asarray(R[rows, columns], dtype=np.float64).ravel()


def choose_ridge(
    T: CSR, R: CSR, documents: FloatArray | IntArray, *, ridges: Sequence[float] = _RIDGES, folds: int = 5
) -> LabelGains:
    """Gains with the ridge that predicts best the weights of nodes left out, fold by fold; then of all nodes.

    Examples
    --------
    >>> from scipy import sparse
    >>> T = sparse.csr_array(np.eye(4))
    >>> choose_ridge(T, 2 * T, np.ones(4), ridges=[1.0, 100.0]).ridge  # only the common gain tells about the others
    1.0
    """
    n = T.shape[0]
    documents = np.minimum(documents.astype(np.float64), _MOST_DOCUMENTS)
    fold = np.arange(n) % max(2, min(folds, n))
    parts = [_moments(T[fold == k], R[fold == k], documents[fold == k]) for k in range(int(fold.max(initial=0)) + 1)]
    rt, tt = (np.sum([part[i] for part in parts], axis=0) for i in range(2))
    errors = []
    for ridge in ridges:
        error = 0.0
        for held_rt, held_tt in parts:
            g = _gains_of(rt - held_rt, tt - held_tt, ridge).gains
            error += float(held_tt @ g**2 - 2 * held_rt @ g)
        errors.append(error)
    return _gains_of(rt, tt, float(ridges[int(np.argmin(errors))]))


# -- groups by number of documents -------------------------------------------------------------------------------------


def group_of(documents: IntArray) -> IntArray:
    """The number of the group of `GROUPS` of nodes with this many training documents.

    Examples
    --------
    >>> group_of(np.array([0, 1, 2, 3, 5, 6])).tolist()
    [0, 1, 1, 2, 2, 3]
    """
    return np.searchsorted(_GROUP_ENDS, documents, side="right")


@dataclass(frozen=True)
class GroupScales:
    """s' = slope[g] s + shift[g] for nodes of group g."""

    slope: FloatArray
    shift: FloatArray

    @classmethod
    def identity(cls) -> GroupScales:
        return cls(np.ones(len(GROUPS)), np.zeros(len(GROUPS)))

    @classmethod
    def fit(cls, S: FloatArray, Y: BoolArray, groups: IntArray, rates: FloatArray | None = None) -> GroupScales:
        """Scales from scores and labels of held-out documents.

        Parameters
        ----------
        S : ndarray of shape (n_docs, n_nodes)
            Scores.
        Y : ndarray of bool of shape (n_docs, n_nodes)
            Labels.
        groups : ndarray of int of shape (n_nodes,)
            Group of each node.
        rates : ndarray of shape (4,), default=None
            Expected share of labels among the pairs of each group in new documents, where held-out nodes are labels
            more often than others of their group; NaN where it is that of ``Y``.

        Returns
        -------
        GroupScales
            Groups with fewer than five labels keep the scale of the next larger one.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> Y = rng.random((400, 2)) < 0.3
        >>> S = np.where(Y, 1.0, -1.0) + rng.normal(size=(400, 2))
        >>> S[:, 0] = S[:, 0] / 2 - 3  # smaller margins, far below zero
        >>> scales = GroupScales.fit(S, Y, np.array([0, 3]))
        >>> float(scales.slope[3]), float(scales.shift[3]), bool(1.5 < scales.slope[0] < 2.5)
        (1.0, 0.0, True)
        """
        curves: list[tuple[float, float] | None] = []
        for group in range(len(GROUPS)):
            mine = groups == group
            s, y = S[:, mine].ravel(), Y[:, mine].ravel()
            enough = y.sum() >= _LEAST_POSITIVE and (~y).sum() >= _LEAST_POSITIVE
            curve = _logistic_curve(s, y) if enough else None
            if curve is not None and rates is not None and np.isfinite(rates[group]):
                now, wanted = float(y.mean()), float(np.clip(rates[group], 1e-9, 1 - 1e-9))
                curve = curve[0], curve[1] + _logit(wanted) - _logit(now)
            curves.append(curve)
        largest = next((curve for curve in reversed(curves) if curve is not None), None)
        if largest is None:
            return cls.identity()
        reference = curves[-1] or largest
        slope, shift = np.ones(len(GROUPS)), np.zeros(len(GROUPS))
        for group in range(len(GROUPS) - 2, -1, -1):
            curve = curves[group]
            if curve is None:
                slope[group], shift[group] = slope[group + 1], shift[group + 1]
            else:
                slope[group] = curve[0] / reference[0]
                shift[group] = (curve[1] - reference[1]) / reference[0]
        return cls(slope, shift)


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


def text_strengths(parents: FloatArray, texts: Sequence[FloatArray], Y: BoolArray) -> list[float]:
    """How much a unit of the score of each block of texts counts beside one of the parents, without documents.

    Weights of nodes with few documents are small, and so are gains learned from them; what decides is whether the text
    tells the labels of held-out nodes, by P(label) = sigma(a parents + sum_b strength_b a texts_b + constant). A block
    that would count against the label gets the strength 0. So does one after the first, an embedding, where labels do
    not stand further above the other nodes with it: among many nodes it may tell labels on average and yet put others
    before them.

    Parameters
    ----------
    parents : ndarray of shape (n_docs, n_nodes)
        Scores of held-out nodes by their parents, on held-out documents.
    texts : sequence of ndarray of shape (n_docs, n_nodes)
        Their scores by the words of their texts, then by the embedding of these, if there is one.
    Y : ndarray of bool of shape (n_docs, n_nodes)
        Labels.

    Returns
    -------
    list of float
        A number for each of ``texts``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parents, words, vectors = rng.normal(size=(3, 5000, 2))
    >>> Y = rng.random((5000, 2)) < 1 / (1 + np.exp(-parents - 3 * words + vectors))
    >>> words_count, vectors_count = text_strengths(parents, [words, vectors], Y)
    >>> 2.5 < words_count < 3.5, vectors_count
    (True, 0.0)
    """
    if Y.sum() < _LEAST_POSITIVE:
        return [1.0] * len(texts)
    strengths = _fitted_strengths(parents, texts, Y)
    if len(texts) > 1 and any(strengths[1:]):
        first = [*_fitted_strengths(parents, texts[:1], Y), *[0.0] * (len(texts) - 1)]
        ranks = [_reciprocal_rank(parents, texts, found, Y) for found in (first, strengths)]
        return strengths if ranks[1] > ranks[0] else first
    return strengths


def _fitted_strengths(parents: FloatArray, texts: Sequence[FloatArray], Y: BoolArray) -> list[float]:
    rows = _sampled(Y.ravel())
    used = [b for b, scores in enumerate(texts) if scores.any()]
    strengths = [0.0 if b in used else 1.0 for b in range(len(texts))]
    while used:
        scores = np.column_stack([parents.ravel()[rows], *(texts[b].ravel()[rows] for b in used)])
        a, *found = logistic_regression(scores, Y.ravel()[rows], Y.size).tolist()[:-1]
        against = [b for b, weight in zip(used, found, strict=True) if weight <= 0]
        if not against:
            least = max(a, max(found) / _MOST_STRENGTH)  # where parents say little
            for b, weight in zip(used, found, strict=True):
                strengths[b] = weight / least
            break
        used = [b for b in used if b not in against]
    return strengths


def _reciprocal_rank(
    parents: FloatArray, texts: Sequence[FloatArray], strengths: Sequence[float], Y: BoolArray
) -> float:
    """Mean of 1 / rank of the labels among the nodes of their document."""
    total = 0.0
    for d in np.flatnonzero(Y.any(axis=1)).tolist():
        s = parents[d] + sum(strength * scores[d] for strength, scores in zip(strengths, texts, strict=True))
        above = len(s) - np.searchsorted(np.sort(s), s[Y[d]], side="left")
        total += float((1.0 / above).sum())
    return total / max(1, int(Y.sum()))


def documents_below(S: FloatArray, Y: BoolArray, log_below: FloatArray) -> float:
    """What is subtracted from scores of nodes without documents for each unit of log(1 + documents below them).

    None of the N documents below such a node has it as a label. Where nodes are labels of documents as often as their
    descendants are, the odds of the next one are 1 / (1 + N); with P(label) = sigma(a s - c log(1 + N) + b) this is
    c = 1, the largest value that is taken. Other taxonomies (c = 0) have many inner nodes that are labels, but not yet.

    Parameters
    ----------
    S : ndarray of shape (n_docs, n_nodes)
        Scores of nodes without documents for held-out documents.
    Y : ndarray of bool of shape (n_docs, n_nodes)
        Labels.
    log_below : ndarray of shape (n_nodes,)
        log(1 + N) of every node.

    Returns
    -------
    float
        c / a, at least 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> log_below, S = np.array([0.0, 0.0, 3.0, 5.0]), rng.normal(size=(4000, 4))
    >>> Y = rng.random((4000, 4)) < 1 / (1 + np.exp(2 - 2 * S + 0.6 * log_below))
    >>> 0.25 < documents_below(S, Y, log_below) < 0.35
    True
    """
    if Y.sum() < _LEAST_POSITIVE or not np.ptp(log_below) > 0:
        return 0.0
    rows = _sampled(Y.ravel())
    F = np.column_stack([S.ravel()[rows], np.broadcast_to(log_below, S.shape).ravel()[rows]])
    a, c, _ = logistic_regression(F, Y.ravel()[rows], Y.size).tolist()
    return float(np.clip(-c, 0.0, 1.0)) / a if a > 1e-6 else 0.0


def _sampled(y: BoolArray) -> IntArray:
    """All positive pairs, and negative ones at equal distances where there are many."""
    negative = np.flatnonzero(~y)
    return np.concatenate([np.flatnonzero(y), negative[:: max(1, len(negative) // _MOST_NEGATIVE)]])


def _logistic_curve(s: FloatArray, y: BoolArray) -> tuple[float, float] | None:
    """a > 0 and b of P(y | s) = sigma(a s + b); None if scores say nothing."""
    rows = _sampled(y)
    if not np.ptp(s[rows]) > 0:
        return None
    a, b = logistic_regression(s[rows, None], y[rows], len(y)).tolist()
    return (a, b) if a > 1e-6 else None


# -- explanations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTextExplanation(NodeExplanation):
    """An explanation that also says what the words of the node's own text gave, and who gave the rest.

    Contributions have ``origins``: "label" for what the node's text gives to a word (``text_features`` and
    ``text_contributions``), and for the rest "parent" where the node has no training documents, so that all of it comes
    from the weights of its parents, or "word" where it has ``n_documents``.
    """

    text_features: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    text_contributions: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_documents: int = 0

    @classmethod
    def of(
        cls,
        step: NodeExplanation,
        x: Matrix,
        prior: Callable[[str], tuple[FloatArray, int]],
        k: int | None = None,
    ) -> LabelTextExplanation:
        """An explanation of a document (a row) by origin.

        Parameters
        ----------
        step : NodeExplanation
            Contributions of all features, without origins.
        x : matrix of shape (1, n_features)
            The document.
        prior : callable
            The prior weights (n_features) and the number of documents of a node by its name.
        k : int or None, default=None
            Number of contributions that are kept, largest first; None keeps all.

        Returns
        -------
        LabelTextExplanation
            The contributions sum to those of ``step``.
        """
        values = np.asarray(x.toarray()[0] if is_sparse(x) else np.asarray(x)[0], dtype=np.float64)
        weights, n_documents = prior(step.node)
        parts = values * weights
        order = np.lexsort((np.arange(len(parts)), -np.abs(parts)))[: np.count_nonzero(parts)]
        origin = WORD if n_documents else PARENT
        whole = np.zeros(len(values))
        whole[step.features] = step.contributions
        split: dict[str, FloatArray] = {LABEL: parts, origin: whole - parts}
        against = step.against
        if against is not None:
            rival_weights, rival_documents = prior(against.rival)
            rival_parts = values * rival_weights
            rival = whole.copy()
            rival[against.features] -= against.contributions
            other = WORD if rival_documents else PARENT
            away: dict[str, FloatArray] = {LABEL: parts - rival_parts, WORD: 0.0 * whole, PARENT: 0.0 * whole}
            away[origin] += whole - parts
            away[other] -= rival - rival_parts
            against = replace(against, **_by_origin(away, k))
        made = {**vars(step), **_by_origin(split, k), "against": against}
        return cls(**made, text_features=order, text_contributions=parts[order], n_documents=n_documents)

    def named(self, names: ObjectArray) -> LabelTextExplanation:
        """The same with names of features instead of their numbers."""
        return replace(cast(LabelTextExplanation, super().named(names)), text_features=names[self.text_features])

    @property
    def evidence(self) -> list[str]:
        """Sources of the score in words."""
        return self.evidence_for(self.node)

    def evidence_for(self, name: str) -> list[str]:
        """Sources of the score in words, with the node shown by its display label."""
        lines = []
        if len(self.text_features):
            shown = zip(self.text_features[:5], self.text_contributions[:5], strict=True)
            words = ", ".join(f"{word} {value:+.3f}" for word, value in shown)
            lines.append(f"words of the label text of {name}: {words}")
        rest = self.score - float(self.text_contributions.sum())
        n = self.n_documents
        documents = f"{n:,} training document{'s' if n > 1 else ''} and the " if n else ""
        without = "" if n else "; it has no training documents"
        return [*lines, f"from the {documents}parents of {name}: {rest:+.3f}{without}"]


def _by_origin(parts: dict[str, FloatArray], k: int | None) -> dict[str, Any]:
    """Features, contributions and origins of all parts that are not 0 (n_features each), largest first."""
    features = np.concatenate([np.flatnonzero(part) for part in parts.values()])
    values = np.concatenate([part[part != 0] for part in parts.values()])
    origins = np.concatenate([np.full(np.count_nonzero(part), name, dtype=object) for name, part in parts.items()])
    order = np.lexsort((features, -np.abs(values)))[:k]
    return {"features": features[order], "contributions": values[order], "origins": origins[order]}
