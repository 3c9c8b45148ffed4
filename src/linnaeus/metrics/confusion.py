"""Which siblings are taken for each other.

Both label sets are closed (all ancestors added). In a document, a node that is a gold label and was not answered is
missed, one that was answered and is not a gold label is added; a pair of siblings counts once for each document in
which the first is missed and the second added. Pictures, reports of shoot-outs and the review desk use these counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from linnaeus.errors import DataError
from linnaeus.metrics.sets import as_pair
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, IntArray

__all__ = ["SiblingConfusion", "confused_siblings", "most_confused_parent", "sibling_confusion"]


@dataclass(frozen=True)
class SiblingConfusion:
    """How often children of a node were answered for each other.

    Parameters
    ----------
    names : list of str
        The children, as they are displayed.
    parent : str
        Their parent, as it is displayed; "the top" if they have none.
    table : ndarray of int, shape (n_children, n_children)
        Row: child in the gold labels; column: child in the answers. The diagonal counts right answers.
    unanswered : ndarray of int, shape (n_children,)
        Documents of each child without an answer below the node.
    documents : ndarray of int, shape (n_children,)
        Documents of each child.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B")])
    >>> sibling_confusion(["A", "B"], ["B", "B"], tax).table.tolist()
    [[0, 1], [0, 1]]
    """

    names: list[str]
    parent: str
    table: IntArray
    unanswered: IntArray
    documents: IntArray


def sibling_confusion(
    gold: object, predicted: object, taxonomy: Taxonomy, node: str | None = None, *, max_children: int = 20
) -> SiblingConfusion:
    """Count which children of a node are taken for which of their siblings.

    What is below a child counts as the child. A document with several children counts once for each pair of a child
    that was missed and one that was added, and on the diagonal for each child that is right.

    Parameters
    ----------
    gold, predicted : labels
        Labels of the same documents, in any kind that metrics take.
    taxonomy : Taxonomy
        The taxonomy.
    node : str, default=None
        The parent of the siblings; None is the top of the taxonomy.
    max_children : int, default=20
        Maximum number of children: those with most documents.

    Returns
    -------
    SiblingConfusion
        The counts.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> found = sibling_confusion([["AA"], ["AB"], ["B"]], [["AA"], ["B"], ["B"]], tax)
    >>> found.names, found.table.tolist()
    (['A', 'B'], [[1, 1], [0, 1]])
    """
    children = taxonomy.tops if node is None else taxonomy.children(node)
    if len(children) < 2:
        raise DataError(f"Node {node!r} has {len(children)} children; confusion between siblings needs two.")
    pair = as_pair(gold, predicted, taxonomy).closed()
    Y, H = pair.Y[:, children], pair.H[:, children]
    largest = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:max_children])
    Y, H, children = Y[:, largest], H[:, largest], children[largest]
    table = _taken_for(Y, H).toarray() + np.diag(np.asarray(Y.multiply(H).sum(axis=0)).ravel().astype(np.int64))
    silent = np.asarray(H.sum(axis=1)).ravel() == 0
    counts = (np.asarray(Z.sum(axis=0)).ravel().astype(np.int64) for Z in (Y[silent], Y))
    names = [taxonomy.display(int(child)) for child in children]
    return SiblingConfusion(names, "the top" if node is None else taxonomy.display(node), table, *counts)


def confused_siblings(Y: CSR, H: CSR, taxonomy: Taxonomy) -> Iterator[tuple[int, int, int]]:
    """(node, sibling answered instead, documents) over the whole taxonomy, most frequent first.

    Y and H are closed indicators over the nodes of the taxonomy.
    """
    pairs = _taken_for(Y, H).tocoo()
    order = np.lexsort((pairs.col, pairs.row, -pairs.data))
    above: dict[int, set[int]] = {}
    for gold, answered, n in zip(*(part[order].tolist() for part in (pairs.row, pairs.col, pairs.data)), strict=True):
        for v in (gold, answered):
            above.setdefault(v, _parents(taxonomy, v))
        if above[gold] & above[answered]:
            yield gold, answered, n


def most_confused_parent(Y: CSR, H: CSR, taxonomy: Taxonomy) -> str | None:
    """The node whose children are most often taken for each other; None is the top of the taxonomy."""
    counted: Counter[int] = Counter()
    for gold, answered, n in confused_siblings(Y, H, taxonomy):
        counted.update(dict.fromkeys(_parents(taxonomy, gold) & _parents(taxonomy, answered), n))
    node = min(counted, key=lambda v: (-counted[v], v)) if counted else -1
    return None if node in (-1, taxonomy.root) else str(taxonomy.names[node])


def _parents(taxonomy: Taxonomy, v: int) -> set[int]:
    """The parents of a node; -1 stands for the top."""
    return set(taxonomy.parents(v).tolist()) or {-1}


def _taken_for(Y: CSR, H: CSR) -> CSR:
    """Documents in which the row's node is missed and the column's node is added."""
    both = Y.multiply(H)
    missed, added = Y > both, H > both
    return missed.astype(np.int64).T @ added.astype(np.int64)
