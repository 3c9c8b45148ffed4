"""Label sets over a taxonomy: close (add ancestors), frontier (keep most specific), names to 0/1 rows and back.

Label sets are CSR arrays Y (n_docs x n_nodes) of int8 ones, or only their index arrays: row r holds
``indices[indptr[r]:indptr[r + 1]]``. A set is closed if it holds all ancestors of its members. The root stands above
every node and carries no information about a document, so it is never added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.errors import DataError, ParameterError, UnknownLabelError, nearest
from linnaeus.typing import CSR, BoolArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = [
    "UNKNOWN",
    "ancestor_matrix",
    "ancestor_sets",
    "canonical",
    "close",
    "descendant_sets",
    "expanded",
    "frontier",
    "indicator",
    "is_closed",
    "labels",
    "parent_sets",
    "pattern",
    "places",
    "pointers",
    "row_numbers",
    "select",
]

UNKNOWN = ("error", "drop", "replace")  # what to do with labels that are not nodes


def pointers(sizes: IntArray | BoolArray | Sequence[int]) -> IntArray:
    """``indptr`` of rows of these sizes: where each begins, and the end of the last.

    Examples
    --------
    >>> pointers(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    indptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def places(members: IntArray, n: int) -> IntArray:
    """The position of each number below ``n`` among the members; -1 for those that are not members.

    Examples
    --------
    >>> places(np.array([3, 1]), 5).tolist()
    [-1, 1, -1, 0, -1]
    """
    place = np.full(n, -1, dtype=np.int32)
    place[members] = np.arange(len(members), dtype=np.int32)
    return place


def row_numbers(indptr: IntArray) -> IntArray:
    """The row of every entry.

    Examples
    --------
    >>> row_numbers(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))


def expanded(rows: IntArray, indptr: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """The values of a list of rows, one after the other: places in the list, repeated, and values.

    Examples
    --------
    >>> place, value = expanded(np.array([1, 0, 1]), np.array([0, 1, 3]), np.array([7, 8, 9]))
    >>> place.tolist(), value.tolist()
    ([0, 0, 1, 2, 2], [8, 9, 7, 8, 9])
    """
    lengths = indptr[rows + 1] - indptr[rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    before = np.cumsum(lengths) - lengths
    return place, values[np.arange(len(place)) + np.repeat(indptr[rows] - before, lengths)]


def select(indptr: IntArray, indices: IntArray, keep: BoolArray) -> tuple[IntArray, IntArray]:
    """The rows with only the entries that ``keep`` marks.

    Examples
    --------
    >>> indptr, indices = select(np.array([0, 2, 3]), np.array([4, 7, 5]), np.array([True, False, True]))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2], [4, 5])
    """
    return pointers(keep)[indptr], indices[keep]


def pattern(indptr: IntArray, indices: IntArray, n_columns: int) -> CSR:
    """CSR array of int8 ones from index arrays."""
    from scipy import sparse

    if len(indices) < 2**31:  # scipy expects both index arrays to have the same dtype
        indptr = indptr.astype(np.int32, copy=False)
    data = np.ones(len(indices), dtype=np.int8)
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))


def canonical(rows: CSR) -> CSR:
    """The same matrix with sorted indices and without duplicates; a copy unless it is so already."""
    if not rows.has_canonical_format:
        rows = rows.copy()  # because duplicates are summed in place
        rows.sum_duplicates()
    return rows


def _as_pattern(taxonomy: Taxonomy, Y: Matrix) -> CSR:
    """Y as canonical CSR without stored zeros, one column per node; the input is not modified."""
    from scipy import sparse

    rows = sparse.csr_array(Y)
    if rows.ndim != 2:
        raise DataError(f"Label sets Y: got {rows.ndim} dimension(s), expected 2: documents x nodes.")
    if rows.shape[1] != taxonomy.n_nodes:
        raise DataError(f"Label sets Y: got {rows.shape[1]} columns, expected {taxonomy.n_nodes} nodes.")
    if rows.nnz and not rows.data.all():
        rows = rows.copy()
        rows.eliminate_zeros()
    return canonical(rows)


def _index_arrays(Y: CSR) -> tuple[IntArray, IntArray]:
    return Y.indptr.astype(np.int64), Y.indices.astype(np.int32, copy=False)


def _barrier(taxonomy: Taxonomy) -> int:
    return -1 if taxonomy.root is None else taxonomy.root


def _singletons(nodes: IntArray) -> tuple[IntArray, IntArray]:
    return np.arange(len(nodes) + 1, dtype=np.int64), nodes.astype(np.int32, copy=False)


def parent_sets(taxonomy: Taxonomy, *, keep_root: bool = False) -> tuple[IntArray, IntArray]:
    """CSR arrays (indptr, indices) of the parents of every node, without the root unless asked; none in a graph.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C")])
    >>> [array.tolist() for array in parent_sets(tax)]
    [[0, 0, 0, 0, 2], [1, 2]]
    """
    if taxonomy.kind == "graph":
        return np.zeros(taxonomy.n_nodes + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    indptr, indices = taxonomy.parent_indptr, taxonomy.parent_indices
    if keep_root or taxonomy.root is None:
        return indptr, indices
    return select(indptr, indices, indices != taxonomy.root)


def ancestor_sets(taxonomy: Taxonomy, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """CSR arrays (indptr, indices) of the ancestors of each node, including the node and excluding the root."""
    from linnaeus._kernels.graph import upward_closure

    indptr, indices = taxonomy.parent_indptr, taxonomy.parent_indices
    if taxonomy.kind == "graph":
        return _singletons(nodes)
    result: tuple[IntArray, IntArray] = upward_closure(*_singletons(nodes), indptr, indices, _barrier(taxonomy))
    return result


def descendant_sets(taxonomy: Taxonomy, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """CSR arrays (indptr, indices) of the descendants of each node, including the node."""
    from linnaeus._kernels.graph import upward_closure

    if taxonomy.kind == "graph":
        return _singletons(nodes)
    result: tuple[IntArray, IntArray] = upward_closure(
        *_singletons(nodes), taxonomy.child_indptr, taxonomy.child_indices, -1
    )
    return result


def ancestor_matrix(taxonomy: Taxonomy) -> CSR:
    """Row v holds the ancestors of v and v itself, without the root unless v is the root (n_nodes x n_nodes)."""
    return pattern(*ancestor_sets(taxonomy, np.arange(taxonomy.n_nodes, dtype=np.int32)), taxonomy.n_nodes)


def close(taxonomy: Taxonomy, Y: Matrix, *, keep_root: bool = True) -> CSR:
    """Add all ancestors of its members to every row; the root is never added, and removed if not ``keep_root``."""
    from linnaeus._kernels.graph import upward_closure

    Y = _as_pattern(taxonomy, Y)
    if not keep_root and taxonomy.root is not None:
        Y = pattern(*select(Y.indptr, Y.indices, Y.indices != taxonomy.root), Y.shape[1])
    if taxonomy.kind == "graph":
        return pattern(Y.indptr, Y.indices, Y.shape[1])
    parents = taxonomy.parent_indptr, taxonomy.parent_indices
    indptr, indices = upward_closure(*_index_arrays(Y), *parents, _barrier(taxonomy))
    return pattern(indptr, indices, taxonomy.n_nodes)


def is_closed(taxonomy: Taxonomy, Y: Matrix) -> bool:
    """Whether every row already holds all ancestors of its members."""
    Y = _as_pattern(taxonomy, Y)
    return bool(close(taxonomy, Y).nnz == Y.nnz)


def frontier(taxonomy: Taxonomy, Y: Matrix) -> CSR:
    """Remove from every row the members that are ancestors of other members."""
    from linnaeus._kernels.graph import covered_members

    Y = _as_pattern(taxonomy, Y)
    if taxonomy.kind == "graph":
        return pattern(Y.indptr, Y.indices, Y.shape[1])
    covered = covered_members(*_index_arrays(Y), taxonomy.parent_indptr, taxonomy.parent_indices).astype(bool)
    return pattern(*select(Y.indptr, Y.indices, ~covered), taxonomy.n_nodes)


def indicator(taxonomy: Taxonomy, labels: Iterable[object], *, unknown: str = "error") -> CSR:
    """Labels, one per document or a list per document, as 0/1 rows."""
    if unknown not in UNKNOWN:
        choices = ", ".join(map(repr, UNKNOWN))
        raise ParameterError(f"unknown={unknown!r} is not one of {choices}{nearest(str(unknown), UNKNOWN)}")
    index_of, replace = taxonomy.index_of, unknown == "replace"
    indices: list[int] = []
    indptr = [0]
    for document, given in enumerate(labels):
        members = given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
        row = set()
        for label in members:
            name = label if isinstance(label, str) else str(label)
            node = index_of.get(name)
            if node is None:
                node = taxonomy.lookup(name, replace=replace)
            if node is not None:
                row.add(node)
            elif unknown != "drop":
                hint = taxonomy.hint(name) or "."
                raise UnknownLabelError(f"Label {label!r} (document {document}) is not in the taxonomy{hint}")
        indices += sorted(row)
        indptr.append(len(indices))
    return pattern(np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), taxonomy.n_nodes)


def labels(taxonomy: Taxonomy, Y: Matrix) -> list[list[str]]:
    """0/1 rows as lists of names."""
    Y = _as_pattern(taxonomy, Y)
    names = taxonomy.names[Y.indices].tolist()
    return [names[a:b] for a, b in zip(Y.indptr[:-1].tolist(), Y.indptr[1:].tolist(), strict=True)]
