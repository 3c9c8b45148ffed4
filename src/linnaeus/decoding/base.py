"""What every decoder shares: from scores S (n_docs x n_scored) to label sets Y (n_docs x n_nodes, CSR of int8 ones).

A decoder is a small frozen value: its parameters, and a call. It knows nothing of models; column k of S holds the
scores of node ``columns[k]``. A root says nothing about a document: edges from it are ignored here, so that its
children are tops.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from linnaeus.engine import limits
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.closure import parent_sets, pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

if TYPE_CHECKING:
    from linnaeus.decoding.set_weights import SetWeights

__all__ = [
    "Decoder",
    "Hierarchy",
    "Theta",
    "as_given",
    "blocks",
    "checked",
    "hierarchy",
    "in_blocks",
    "less_theta",
    "plain_theta",
    "positions",
    "scored_families",
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
        from linnaeus.decoding.set_weights import midway_margins

        return midway_margins(S, Y, taxonomy, columns, closed=self.closed)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """Weights that rank whole label sets by this decision rule, columns as given; see `set_weights`.

        The closed set of largest total weight is the answer of the decoder with all ancestors. By default a set loses
        the margins of the labels in which it differs from the answer.
        """
        from linnaeus.decoding.set_weights import by_closure

        S, nodes = as_given(S, taxonomy, columns)
        Y = self(S, taxonomy, nodes)
        return by_closure(self.margins(S, Y, taxonomy, nodes), Y, taxonomy, nodes, closed=self.closed)

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
        """Of a decoder that answers one label: what every node scores as this label, minus infinity: never answered."""
        raise NotImplementedError(f"{type(self).__name__} answers label sets.")

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
    position = np.full(taxonomy.n_nodes, -1, dtype=np.int32)
    position[columns] = np.arange(len(columns), dtype=np.int32)
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
    return limits.blocks(n_docs, limits.rows_that_fit(4 * n_nodes, _BLOCK))


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
