"""What every decoder shares: from scores S (n_docs x n_scored) to label sets Y (n_docs x n_nodes, CSR of int8 ones).

A decoder is a small frozen value: its parameters, and a call. It knows nothing of models; column k of S holds the
scores of node ``columns[k]``. A root says nothing about a document: edges from it are ignored here, so that its
children are tops.

Whole label sets have scores that agree with the decision rule: the set of largest score is the answer of the rule.

A closed set U scores

    sum over v in U of nodes_v  +  sum over the most specific v in U of ends_v

Decoders that maximise a sum over nodes have these weights already. Decoders that decide node by node have margins m_v
(score less threshold), and U loses the margins of all decisions that would have to be different for U to be the answer:

    closure    U is answered where its most specific nodes pass and nothing outside U does:
               nodes_v = max(m_v, 0),   ends_v = min(m_v, 0)
    suppress   only nodes whose parents are all in U are decided on; those in U pass and the others do not:
               nodes_v = m_v - sum of max(m_c, 0) over the children c of v

Both are, up to a constant, minus the least total change of the margins for which the rule answers U. Where a rule
departs from its margins (the best label where nothing passes, ties, a limit on the number of labels), the signs of the
margins follow the answer. With several parents, a child that passes is charged to one parent: to the first one that is
not in the answer, if there is one.

Cut-offs and probabilities are fitted on `HeldOut`: scores of documents that the model has not seen, beside their
labels. These scores are a dense array (n_docs x n_scored) or, where that would be too large, the k best of each
document (`TopScores`). Minus infinity means no score: a label that the model of a fold has never seen.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from linnaeus.data.check import check_labels
from linnaeus.engine import blocks as slices
from linnaeus.engine import rows_that_fit
from linnaeus.errors import DataError, ParameterError
from linnaeus.order import best_columns
from linnaeus.taxonomy.closure import parent_sets, pattern, places, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray

__all__ = [
    "Decoder",
    "HeldOut",
    "Hierarchy",
    "SetWeights",
    "Theta",
    "TopScores",
    "as_given",
    "blocks",
    "by_closure",
    "by_suppression",
    "checked",
    "families",
    "held_out",
    "hierarchy",
    "in_blocks",
    "less_theta",
    "lowered",
    "midway_margins",
    "plain_theta",
    "positions",
    "scored_families",
    "scored_inner",
    "stacked",
    "theta_per_node",
]

Theta: TypeAlias = float | Sequence[float] | FloatArray  # one threshold, or one for each node
_BLOCK = 4 * 2**20  # bytes of labels held at once


@dataclass(frozen=True)
class Decoder(ABC):
    """Scores in, label sets out.

    Call it with S (n_docs x n_scored, dense), the taxonomy and the node numbers of the columns of S (None: all nodes in
    order); the answer is a CSR array Y (n_docs x n_nodes) of int8 ones.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding import Threshold
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> Y = Threshold(0.0)(np.array([[-1.0, 0.5, -0.2]]), tax, [tax.index(name) for name in ("A", "AA", "B")])
    >>> tax.names[Y.indices].tolist()
    ['A', 'AA']
    """

    name: ClassVar[str]
    whole_batch: ClassVar[bool] = False  # whether documents that are decided together change each other's answers
    on_probabilities: ClassVar[bool] = False  # whether it takes calibrated probabilities, not scores

    @property
    def closed(self) -> bool:
        """Whether every answer holds all ancestors of its members."""
        return True

    @property
    def single(self) -> bool:
        """Whether every answer is exactly one node, with its ancestors if ``closed``."""
        return False

    def __call__(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> CSR:
        return self._decode(*checked(S, taxonomy, columns))

    def over_blocks(
        self, scores: Iterable[npt.ArrayLike], taxonomy: Taxonomy, columns: npt.ArrayLike | None = None
    ) -> CSR:
        """The answers for scores that come some documents at a time, as those of a model do."""
        return stacked([self(S, taxonomy, columns) for S in scores], taxonomy)

    @abstractmethod
    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        """S is C-contiguous float32 or float64, ``columns`` increasing."""

    @property
    def may_be_empty(self) -> bool:
        """Whether an answer may have no label."""
        return True

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        """Scores less where this decoder cuts: above 0 for what is answered (n_docs x n_scored); Y are its answers."""

        return midway_margins(S, Y, taxonomy, columns, closed=self.closed)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """Weights that rank whole label sets by this decision rule, columns as given; see `SetWeights`.

        The closed set of largest total weight is the answer of the decoder with all ancestors. By default a set loses
        the margins of the labels in which it differs from the answer.
        """

        S, nodes = as_given(S, taxonomy, columns)
        Y = self(S, taxonomy, nodes)
        return by_closure(self.margins(S, Y, taxonomy, nodes), Y, taxonomy, nodes, closed=self.closed)

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
        """Of a decoder that answers one label: what every node scores as this label, minus infinity: never answered."""
        raise ParameterError(
            f"{type(self).__name__} answers label sets; label_scores needs a decoder of single labels."
        )

    def to_dict(self) -> dict[str, object]:
        """Name and parameters as plain values; `linnaeus.decoding.decoder` takes them back."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"name": self.name} | {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def as_given(S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """Scores in double precision, and the nodes of their columns, in the order given."""
    nodes = np.arange(taxonomy.n_nodes) if columns is None else np.asarray(columns)
    return np.asarray(S, dtype=np.float64), nodes


def stacked(parts: list[CSR], taxonomy: Taxonomy) -> CSR:
    """Label rows of blocks of documents as one."""
    from scipy import sparse

    if len(parts) == 1:
        return parts[0]
    empty = pattern(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), taxonomy.n_nodes)
    return sparse.csr_array(sparse.vstack(parts, format="csr")) if parts else empty


def checked(
    S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None
) -> tuple[FloatArray, Taxonomy, IntArray]:
    """Scores without NaN, C-contiguous, in the order of node numbers, and these numbers."""
    S = np.asarray(S)
    if S.ndim != 2:
        raise DataError(f"Scores have {S.ndim} dimension(s), expected 2: documents x nodes.")
    if S.dtype not in (np.float32, np.float64):
        S = S.astype(np.float64)
    nodes = np.arange(taxonomy.n_nodes) if columns is None else np.asarray(columns)
    if S.shape[1] != len(nodes):
        raise DataError(f"Scores have {S.shape[1]} columns, expected {len(nodes)}: one for each scored node.")
    if columns is not None and len(nodes):
        if nodes.min() < 0 or nodes.max() >= taxonomy.n_nodes:
            bad = int(nodes.min() if nodes.min() < 0 else nodes.max())
            raise DataError(f"Column number {bad} is not a node: the taxonomy has the nodes 0..{taxonomy.n_nodes - 1}.")
        if (np.diff(nodes) <= 0).any():
            order = np.argsort(nodes, kind="stable")
            nodes, S = nodes[order], S[:, order]
            if (np.diff(nodes) == 0).any():
                twice = taxonomy.names[nodes[:-1][np.diff(nodes) == 0][0]]
                raise DataError(f"Node {twice!r} has two columns of scores, expected one.")
    if np.isnan(S.min(initial=0.0)):  # a minimum needs no room, and is NaN if one score is
        d, k = np.argwhere(np.isnan(S))[0]
        raise DataError(f"The score of node {taxonomy.names[nodes[k]]!r} for document {d} is NaN, expected a number.")
    return np.ascontiguousarray(S), taxonomy, nodes.astype(np.int32)


class Hierarchy(NamedTuple):
    """The edges that closed sets obey, as CSR arrays; child edge k is parent edge ``child_edges[k]``."""

    parent_indptr: IntArray
    parent_indices: IntArray
    child_indptr: IntArray
    child_indices: IntArray
    child_edges: IntArray
    tops: IntArray

    @property
    def is_forest(self) -> bool:
        """Whether every node has at most one parent."""
        return bool((np.diff(self.parent_indptr) <= 1).all())

    @property
    def parent(self) -> IntArray:
        """The parent of every node of a forest, -1 at the top."""
        parent = np.full(len(self.parent_indptr) - 1, -1, dtype=np.int32)
        parent[np.diff(self.parent_indptr) == 1] = self.parent_indices
        return parent


def hierarchy(taxonomy: Taxonomy, *, with_root: bool = False) -> Hierarchy:
    """The edges of a taxonomy, those from the root only if asked; an undirected graph has none."""
    indptr, parent = parent_sets(taxonomy, keep_root=with_root)
    edges = np.argsort(parent, kind="stable").astype(np.int64)
    child_indptr = pointers(np.bincount(parent, minlength=taxonomy.n_nodes))
    tops = np.flatnonzero(np.diff(indptr) == 0).astype(np.int32)
    if taxonomy.root is not None and not with_root:
        tops = tops[tops != taxonomy.root]
    return Hierarchy(indptr, parent, child_indptr, row_numbers(indptr)[edges], edges, tops)


def positions(taxonomy: Taxonomy, columns: IntArray, *, with_root: bool = False) -> IntArray:
    """The column of every node, -1 where it has none; the root has none unless asked."""
    position = places(columns, taxonomy.n_nodes)
    if taxonomy.root is not None and not with_root:
        position[taxonomy.root] = -1
    return position


def scored_families(taxonomy: Taxonomy, columns: IntArray) -> Iterator[IntArray]:
    """Columns of the top nodes, then of the children of every node; families without scores are empty."""
    edges, place = hierarchy(taxonomy), positions(taxonomy, columns)
    families = (edges.child_indices[a:b] for a, b in itertools.pairwise(edges.child_indptr))
    for family in itertools.chain([edges.tops], families):
        at = place[family]
        yield at[at >= 0]


def in_blocks(kernel: Callable[[FloatArray], tuple[IntArray, IntArray]], S: FloatArray, n_nodes: int) -> CSR:
    """Rows of labels from a kernel that takes some rows of S at a time, so that its room for answers stays small."""
    indptr: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    indices: list[IntArray] = [np.empty(0, dtype=np.int32)]
    n_labels = 0
    for rows in blocks(len(S), n_nodes):
        block_indptr, block_indices = kernel(S[rows])
        indptr.append(block_indptr[1:] + n_labels)
        indices.append(block_indices)
        n_labels += len(block_indices)
    return pattern(np.concatenate(indptr), np.concatenate(indices), n_nodes)


def blocks(n_docs: int, n_nodes: int) -> Iterator[slice]:
    """Slices of documents whose dense label rows would fit the block size."""
    return slices(n_docs, rows_that_fit(4 * n_nodes, _BLOCK))


def plain_theta(theta: object) -> float | tuple[float, ...]:
    """A threshold as a float, or one for each node as a tuple: values that compare, hash and write as JSON."""
    try:
        array = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim > 1 or np.isnan(array).any():
        raise ParameterError(f"theta={theta!r} is not a number or a list of numbers, one for each node.")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def less_theta(theta: Theta, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
    """Scores less the thresholds of their nodes."""
    S = np.asarray(S)
    each = theta_per_node(theta, taxonomy)
    return np.asarray(S - (each if columns is None else each[np.asarray(columns)]).astype(S.dtype, copy=False))


def theta_per_node(theta: Theta, taxonomy: Taxonomy) -> FloatArray:
    """One threshold for each node."""
    n = taxonomy.n_nodes
    if isinstance(theta, tuple) and len(theta) != n:
        raise ParameterError(f"theta has {len(theta)} values, expected one number or one for each of the {n} nodes.")
    return np.ascontiguousarray(np.broadcast_to(np.asarray(theta, dtype=np.float64), n))


_STEP = 1e-6  # of the largest margin: what a decision counts for that the margins do not explain


class SetWeights(NamedTuple):
    """Weights of nodes and of most specific nodes, n_docs x n_scored each; no ``ends`` are zeros."""

    nodes: FloatArray
    ends: FloatArray | None = None

    def scores(self, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        """Scores of closed sets Y, one for each document (n_docs x n_nodes)."""
        total = _sums(self.nodes, Y, columns)
        return total if self.ends is None else total + _sums(self.ends, taxonomy.frontier(Y), columns)


def _sums(W: FloatArray, Y: CSR, columns: IntArray) -> FloatArray:
    inside = Y[:, columns].tocoo()
    found = np.zeros(len(W))
    np.add.at(found, inside.row, W[inside.row, inside.col])
    return found


def midway_margins(S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray, *, closed: bool) -> FloatArray:
    """Scores less what lies midway between the lowest score of a label of the answer and the highest score outside."""
    answered = Y[:, columns].toarray() > 0
    labels = taxonomy.frontier(Y)[:, columns].toarray() > 0 if closed else answered
    low = np.where(labels, S, np.inf).min(axis=1, initial=np.inf)
    high = np.where(answered, -np.inf, S).max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        cut = np.where(np.isinf(low), high, np.where(np.isinf(high), low, 0.5 * (low + high)))
    return np.asarray(S - np.where(np.isfinite(cut), cut, 0.0)[:, None])


def by_closure(M: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray, *, closed: bool) -> SetWeights:
    """Weights of a rule that answers labels of positive margin M, with what is above them.

    ``Y`` are its answers; ``closed`` says that they hold all ancestors, so that only their most specific nodes are
    known to be labels.
    """
    answered = Y[:, columns].toarray() > 0
    labels = taxonomy.frontier(Y)[:, columns].toarray() > 0 if closed else answered
    step = _step(M)
    M = np.where(labels, np.maximum(M, step), np.where(answered, M, np.minimum(M, -step)))
    return SetWeights(np.maximum(M, 0.0), np.minimum(M, 0.0))


def by_suppression(M: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
    """Weights of nodes for a rule that answers nodes of positive margin M whose parents are all answered.

    ``Y`` are its answers, closed.
    """
    edges, place = hierarchy(taxonomy), positions(taxonomy, columns)
    inside = Y[:, columns].toarray() > 0
    step = _step(M)
    U = np.where(inside, np.maximum(M, step), M)
    above: list[tuple[int, IntArray]] = []
    for v in columns[place[columns] >= 0].tolist():
        at, parents = int(place[v]), place[edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]]
        above.append((at, parents[parents >= 0]))
        refused = inside[:, above[-1][1]].all(axis=1) & ~inside[:, at]
        U[:, at] = np.where(refused, np.minimum(-np.abs(U[:, at]), -step[:, 0]), U[:, at])
    passed = np.maximum(U, 0.0)
    for at, parents in above:
        if len(parents):
            charged = parents[inside[:, parents].argmin(axis=1)]  # the first parent, where none is missing
            U[np.arange(len(U)), charged] -= passed[:, at]
    return U


def lowered(
    M: FloatArray, S: FloatArray, taxonomy: Taxonomy, columns: IntArray, *, at_top: bool, inside: bool
) -> FloatArray:
    """Margins of a descent that takes the best child where none passes.

    Where no margin of a family (the scored children of a node; the scored tops) is positive, the threshold of the
    family falls to midway between its two best scores. ``at_top`` and ``inside`` say of which families.
    """
    M = np.array(M, dtype=np.float64)
    step = _step(S)[:, 0]
    for is_top, at in families(hierarchy(taxonomy), positions(taxonomy, columns)):
        if not (at_top if is_top else inside):
            continue
        rows = np.flatnonzero(M[:, at].max(axis=1) <= 0)
        if not len(rows):
            continue
        own = np.sort(S[np.ix_(rows, at)].astype(np.float64), axis=1)
        best, second = own[:, -1], own[:, -2] if len(at) > 1 else own[:, -1] - 2 * step[rows]
        second = np.where(np.isfinite(second), second, best - 2 * step[rows])
        cut = np.where(np.isfinite(best), 0.5 * (best + second), 0.0)
        M[np.ix_(rows, at)] = np.maximum(M[np.ix_(rows, at)], S[np.ix_(rows, at)] - cut[:, None])
    return M


def families(edges: Hierarchy, place: IntArray) -> Iterator[tuple[bool, IntArray]]:
    """(whether at the top, columns) of the scored tops and of the scored children of every node."""
    bounds = zip(edges.child_indptr[:-1].tolist(), edges.child_indptr[1:].tolist(), strict=True)
    for is_top, nodes in ((True, edges.tops), *((False, edges.child_indices[a:b]) for a, b in bounds if b > a)):
        at = place[nodes]
        if (at >= 0).any():
            yield is_top, at[at >= 0].astype(np.intp)


def scored_inner(edges: Hierarchy, place: IntArray) -> BoolArray:
    """Which nodes have a scored child."""
    inner = np.zeros(len(place), dtype=bool)
    inner[edges.parent_indices[place[row_numbers(edges.parent_indptr)] >= 0]] = True
    return inner


def _step(M: FloatArray) -> FloatArray:
    """What a decision without a margin counts for in each document, n_docs x 1."""
    size = np.where(np.isfinite(M), np.abs(M), 0.0).max(axis=1, initial=0.0)
    return np.asarray(_STEP * np.maximum(1.0, size))[:, None]


# -- scores of documents that the model has not seen ------------------------------------------------------------------


@dataclass(frozen=True)
class TopScores:
    """The k best scores of each document, best first: ``positions`` of the columns and ``scores``, n_docs x k each.

    Parameters
    ----------
    positions : ndarray of shape (n_docs, k)
        Columns of the best scores, best first.
    scores : ndarray of shape (n_docs, k)
        The best scores.
    n_columns : int
        Number of columns of the scores.

    Examples
    --------
    >>> top = TopScores.of(np.array([[0.1, 0.7, 0.3]]), 2)
    >>> top.positions.tolist(), top.scores.tolist()
    ([[1, 2]], [[0.7, 0.3]])
    """

    positions: IntArray
    scores: FloatArray
    n_columns: int

    @classmethod
    def of(cls, S: FloatArray, k: int) -> TopScores:
        """The best of dense scores, block by block."""
        k = min(k, S.shape[1])
        positions = np.empty((len(S), k), dtype=np.int32)
        for rows in blocks(len(S), S.shape[1]):
            positions[rows] = best_columns(S[rows], k)
        return cls(positions, np.take_along_axis(S, positions, axis=1), S.shape[1])

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def k(self) -> int:
        return int(self.scores.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Of the scores as if all were there."""
        return len(self.scores), self.n_columns

    def __getitem__(self, rows: slice | Array) -> TopScores:
        return TopScores(self.positions[rows], self.scores[rows], self.n_columns)

    def best(self, k: int) -> TopScores:
        """The k best of these."""
        return self if k >= self.k else TopScores(self.positions[:, :k], self.scores[:, :k], self.n_columns)

    def dense(self) -> FloatArray:
        """All columns, minus infinity where the score is not among the best."""
        S = np.full((len(self), self.n_columns), -np.inf, dtype=self.scores.dtype)
        np.put_along_axis(S, self.positions, self.scores, axis=1)
        return S

    def members(self, keep: BoolArray, columns: IntArray, n_nodes: int) -> CSR:
        """The nodes that ``keep`` (n_docs x k) marks, as label rows."""
        indices = np.where(keep, columns[self.positions], n_nodes)
        indices.sort(axis=1)
        return pattern(pointers(keep.sum(axis=1)), indices[indices < n_nodes].astype(np.int32), n_nodes)


@dataclass(frozen=True)
class HeldOut:
    """Scores of ``columns`` (increasing node numbers) and labels (n_docs x n_nodes).

    ``gold`` is what answers are compared with, closed where they are; ``given`` are the labels as they were given.
    """

    S: FloatArray | TopScores
    columns: IntArray
    gold: CSR
    given: CSR
    taxonomy: Taxonomy

    def __len__(self) -> int:
        return len(self.S)

    @property
    def truncated(self) -> int | None:
        """How many scores of each document are known, None if all are."""
        return self.S.k if isinstance(self.S, TopScores) and self.S.k < self.S.n_columns else None

    def top(self, k: int) -> TopScores:
        """The k best scores of each document."""
        return self.S.best(k) if isinstance(self.S, TopScores) else TopScores.of(self.S, k)

    def is_gold(self, top: TopScores, labels: CSR | None = None) -> BoolArray:
        """Which of the best columns are labels of their document (n_docs x k); by default those of ``gold``."""
        labels = self.gold if labels is None else labels
        n_nodes = self.taxonomy.n_nodes
        pairs = np.arange(len(self), dtype=np.int64)[:, None] * n_nodes + self.columns[top.positions]
        gold = row_numbers(labels.indptr).astype(np.int64) * n_nodes + labels.indices  # increasing
        if not len(gold):
            return np.zeros(pairs.shape, dtype=bool)
        found: BoolArray = gold[np.minimum(np.searchsorted(gold, pairs), len(gold) - 1)] == pairs
        return found

    @cached_property
    def _by_column(self) -> CSR:
        from scipy import sparse

        assert isinstance(self.S, TopScores)
        indptr = np.arange(len(self) + 1, dtype=np.int64) * self.S.k
        parts = (self.S.scores.ravel(), self.S.positions.ravel(), indptr)
        return sparse.csr_array(parts, shape=(len(self), self.S.n_columns)).tocsc()

    def column(self, position: int) -> tuple[IntArray, FloatArray]:
        """(documents, scores) of one column, where there is a score."""
        if isinstance(self.S, TopScores):
            part = slice(*self._by_column.indptr[position : position + 2])
            docs, scores = self._by_column.indices[part], self._by_column.data[part]
        else:
            docs, scores = np.arange(len(self)), np.ascontiguousarray(self.S[:, position])
        known = np.isfinite(scores)
        return (docs, scores) if known.all() else (docs[known], scores[known])

    def take(self, docs: IntArray) -> HeldOut:
        """Some of the documents."""
        return HeldOut(self.S[docs], self.columns, self.gold[docs], self.given[docs], self.taxonomy)

    def dense_blocks(self) -> Iterator[FloatArray]:
        """Dense scores of some documents at a time."""
        for rows in blocks(len(self), len(self.columns)):
            yield self.S[rows].dense() if isinstance(self.S, TopScores) else self.S[rows]

    def answers(self, decoder: Decoder) -> CSR:
        """What a decoder makes of the scores."""
        return decoder.over_blocks(self.dense_blocks(), self.taxonomy, self.columns)


def held_out(
    S: npt.ArrayLike | TopScores,
    Y: object,
    taxonomy: Taxonomy,
    columns: npt.ArrayLike | None = None,
    *,
    close: bool = False,
) -> HeldOut:
    """Checked scores and labels of any kind; ``close`` compares with the labels and all that is above them.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> held = held_out([[0.1, 0.7, 0.3]], [["AA"]], tax, close=True)
    >>> tax.labels(held.gold)
    [['A', 'AA']]
    """
    if isinstance(S, TopScores):
        S, nodes = _checked_top(S, taxonomy, columns)
    else:
        S, _, nodes = checked(S, taxonomy, columns)
    if not len(S):
        raise DataError("There are no held-out documents to fit on; expected at least one.")
    given = check_labels(Y, taxonomy, len(S))[0]
    if not close:
        return HeldOut(S, nodes, given, given, taxonomy)
    return HeldOut(*_without_root(S, taxonomy, nodes), taxonomy.close(given, keep_root=False), given, taxonomy)


def _checked_top(S: TopScores, taxonomy: Taxonomy, columns: npt.ArrayLike | None) -> tuple[TopScores, IntArray]:
    if np.isnan(S.scores.min(initial=0.0)):
        raise DataError(f"A score of document {int(np.isnan(S.scores).any(axis=1).argmax())} is NaN.")
    _, _, nodes = checked(np.empty((0, S.n_columns)), taxonomy, columns)
    if columns is None or np.array_equal(nodes, columns):
        return S, nodes
    new = np.empty(S.n_columns, dtype=np.int32)
    new[np.argsort(np.asarray(columns), kind="stable")] = np.arange(S.n_columns, dtype=np.int32)
    return TopScores(new[S.positions], S.scores, S.n_columns), nodes


def _without_root(
    S: FloatArray | TopScores, taxonomy: Taxonomy, nodes: IntArray
) -> tuple[FloatArray | TopScores, IntArray]:
    """Closed answers never hold the root."""
    at = np.flatnonzero(nodes == taxonomy.root)
    if not len(at):
        return S, nodes
    if not isinstance(S, TopScores):
        return np.delete(S, at, axis=1), np.delete(nodes, at)
    scores = np.where(S.positions == at[0], -np.inf, S.scores)
    order = np.argsort(-scores, axis=1, kind="stable")
    positions, scores = (np.take_along_axis(array, order, axis=1) for array in (S.positions, scores))
    return TopScores(positions, scores, S.n_columns), nodes
