"""Exact decoding on any graph by elimination: the labelling y that maximises a sum over pairs of nodes.

    max_y  sum_e g_e(y_first(e), y_second(e))        y in {0, 1}^n_nodes

Nodes are eliminated one by one, each time one whose elimination joins the fewest neighbours that were not joined yet
(min-fill). A node and the neighbours that are left when its turn comes are a clique of the triangulated graph. Its
table has one entry for each labelling of the clique; what remains of it when its own label is chosen best is a message
to the clique of the neighbour eliminated next: a junction tree. Time and room grow with 2^width, where the width is the
largest number of such neighbours: 1 for a tree, 2 for a cycle. Wide graphs are refused.

With messages down the tree as well, every node has its two max-marginals: the best score with its label 0 and with 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import blocks
from linnaeus.errors import DataError, TaxonomyError
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["MOST_WIDTH", "JunctionTree", "junction_tree"]

MOST_WIDTH = 20


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in the order of elimination; make one with `junction_tree`.

    Attributes
    ----------
    order : the nodes as they are eliminated.
    scopes : for each of them the neighbours left then, as places in ``order``, increasing.
    first, second : the pairs; -1 as first is a label that is always 1.
    """

    order: IntArray
    scopes: Sequence[IntArray]
    first: IntArray
    second: IntArray

    @property
    def width(self) -> int:
        """The most neighbours that a node has when its turn comes."""
        return max((len(scope) for scope in self.scopes), default=0)

    @cached_property
    def _place(self) -> IntArray:
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    @cached_property
    def _children(self) -> list[list[int]]:
        """For each clique, those that send it a message."""
        found: list[list[int]] = [[] for _ in self.order]
        for t, scope in enumerate(self.scopes):
            if len(scope):
                found[scope[0]].append(t)
        return found

    @cached_property
    def _pairs(self) -> list[list[tuple[int, int]]]:
        """For each clique its pairs: (pair, axis of the other node), negated where the clique's node is the second."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.order]
        for e, (a, b) in enumerate(zip(self.first.tolist(), self.second.tolist(), strict=True)):
            if a < 0:
                found[self._place[b]].append((e, 0))
                continue
            at, other = self._place[a], self._place[b]
            t, u, sign = (at, other, 1) if at < other else (other, at, -1)
            found[t].append((e, sign * (1 + int(np.searchsorted(self.scopes[t], u)))))
        return found

    def best(self, G: npt.ArrayLike) -> tuple[BoolArray, FloatArray]:
        """The best labelling of every document (n_docs x n_nodes) and its score; a tie prefers 0.

        ``G`` is n_docs x n_pairs x 4: ``G[d, e, 2 a + b]`` scores label a of the first node of pair e with label b of
        the second. Minus infinity forbids a pair of labels.

        Examples
        --------
        >>> triangle = junction_tree(3, [0, 1, 2], [1, 2, 0])
        >>> y, score = triangle.best(np.tile([0.0, 1.0, 1.0, 0.0], (1, 3, 1)))   # 1 for every pair that differs
        >>> y.astype(int).tolist(), score.tolist()
        ([[1, 0, 0]], [2.0])
        """
        G = self._checked(G)
        labels, scores = np.zeros((len(G), len(self.order)), dtype=bool), np.zeros(len(G))
        for part in self._parts(len(G)):
            labels[part], scores[part] = self._best(G[part])
        return labels, scores

    def _best(self, G: FloatArray) -> tuple[BoolArray, FloatArray]:
        messages: list[FloatArray] = []
        choices: list[BoolArray] = []
        total = np.zeros(len(G))
        for t, scope in enumerate(self.scopes):
            table = self._with_messages(t, G, messages)
            choices.append(table[:, 1] > table[:, 0])
            messages.append(table.max(axis=1))
            if not len(scope):
                total += messages[t]
        labels = np.zeros((len(G), len(self.order)), dtype=np.int8)
        rows = np.arange(len(G))
        for t in range(len(self.order) - 1, -1, -1):
            chosen = labels[:, self.order[self.scopes[t]]]
            labels[:, self.order[t]] = choices[t][(rows, *chosen.T)]
        return labels.astype(bool), total

    def max_marginals(self, G: npt.ArrayLike) -> FloatArray:
        """The best score with every node's label 0 and 1, n_docs x n_nodes x 2.

        Examples
        --------
        >>> pair = junction_tree(2, [0], [1])
        >>> pair.max_marginals([[[0.0, 1.0, 2.0, 5.0]]]).tolist()
        [[[1.0, 5.0], [2.0, 5.0]]]
        """
        G = self._checked(G)
        found = np.empty((len(G), len(self.order), 2))
        for part in self._parts(len(G)):
            found[part] = self._max_marginals(G[part])
        return found

    def _max_marginals(self, G: FloatArray) -> FloatArray:
        n, k = len(G), len(self.order)
        up: list[FloatArray] = []
        for t in range(k):
            up.append(self._with_messages(t, G, up).max(axis=1))
        roots = [t for t in range(k) if not len(self.scopes[t])]
        total = np.sum([up[t] for t in roots], axis=0)
        down: list[FloatArray] = [np.empty(0)] * k
        found = np.empty((n, k, 2))
        for t in range(k - 1, -1, -1):
            if not len(self.scopes[t]):
                down[t] = total - up[t]  # what the other components score
            own = self._table(t, G) + np.expand_dims(down[t], 1)
            parts = [self._widened(up[child], child) for child in self._children[t]]
            for child, others in zip(self._children[t], _all_but_one(own, parts), strict=True):
                away = tuple(axis + 1 for axis, size in enumerate(self._shapes[child]) if size == 1)
                down[child] = others.max(axis=away) if away else others
            whole = own + sum(parts) if parts else own
            found[:, self.order[t]] = whole.max(axis=tuple(range(2, whole.ndim)))
        return found

    def _with_messages(self, t: int, G: FloatArray, up: list[FloatArray]) -> FloatArray:
        table = self._table(t, G)
        for child in self._children[t]:
            table += self._widened(up[child], child)
        return table

    def _table(self, t: int, G: FloatArray) -> FloatArray:
        """Scores of the pairs of clique t, n_docs x 2 x 2 ..: its node, then its scope."""
        shape = [1] * (1 + len(self.scopes[t]))
        table = np.zeros((len(G), *([2] * len(shape))))
        for e, axis in self._pairs[t]:
            if not axis:
                table += G[:, e, 2:].reshape(-1, 2, *shape[1:])
                continue
            pair = G[:, e].reshape(-1, 2, 2)
            pair = pair.transpose(0, 2, 1) if axis < 0 else pair
            wide = [2, *shape[1:]]
            wide[abs(axis)] = 2
            table += pair.reshape(len(G), *wide)
        return table

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        """For each clique, its message in the table of the clique that gets it: 2 along the axes that it has, else 1.

        The first axis, the getter's own node, is always among them.
        """
        found: list[tuple[int, ...]] = []
        for scope in self.scopes:
            getter = self.scopes[scope[0]] if len(scope) else scope
            found.append((2, *(2 if u in scope else 1 for u in getter.tolist())))
        return found

    def _widened(self, message: FloatArray, child: int) -> FloatArray:
        return message.reshape(len(message), *self._shapes[child])

    def _checked(self, G: npt.ArrayLike) -> FloatArray:
        G = np.asarray(G, dtype=np.float64)
        if G.ndim != 3 or G.shape[1:] != (len(self.first), 4):
            raise DataError(f"Pair scores have the shape {G.shape}, expected (n_docs, {len(self.first)}, 4).")
        return G

    def _parts(self, n_docs: int) -> Iterator[slice]:
        return blocks(n_docs, 4 * sum(2 ** (1 + len(scope)) for scope in self.scopes))


def _all_but_one(own: FloatArray, parts: list[FloatArray]) -> Iterator[FloatArray]:
    """own plus all parts but one, for each of them; without subtraction, for scores may be minus infinity."""
    after: list[FloatArray | float] = [0.0]
    for part in reversed(parts[1:]):
        after.append(after[-1] + part)
    before = own
    for part in parts:
        yield before + after.pop()
        before = before + part


def junction_tree(n_nodes: int, first: npt.ArrayLike, second: npt.ArrayLike, *, most: int = MOST_WIDTH) -> JunctionTree:
    """The junction tree of a graph given by its pairs of nodes; -1 as first is a label that is always 1.

    Examples
    --------
    >>> junction_tree(4, [0, 1, 2, 3], [1, 2, 3, 0]).width
    2
    >>> first, second = np.triu_indices(23, 1)
    >>> junction_tree(23, first, second)
    Traceback (most recent call last):
    linnaeus.errors.TaxonomyError: The graph has width 22; exact labellings take tables of 2^width entries, expected \
at most width 20.
    """
    first, second = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    near: list[set[int]] = [set() for _ in range(n_nodes)]
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if a >= 0 and a != b:
            near[a].add(b)
            near[b].add(a)
    order, later = _min_fill(near)
    width = max(map(len, later), default=0)
    if width > most:
        raise TaxonomyError(
            f"The graph has width {width}; exact labellings take tables of 2^width entries, expected at most "
            f"width {most}."
        )
    place = {v: t for t, v in enumerate(order)}
    scopes = [np.array(sorted(place[u] for u in scope), dtype=np.int64) for scope in later]
    return JunctionTree(np.array(order, dtype=np.int64), scopes, first, second)


def _min_fill(near: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """Nodes in the order of elimination, and the neighbours of each that were left; ``near`` is used up.

    Priorities in a heap are looked at again when they come up: only those near an elimination change.
    """
    import heapq

    heap = [(_fill(near, v), v) for v in range(len(near))]
    heapq.heapify(heap)
    current = {v: fill for fill, v in heap}
    order: list[int] = []
    later: list[set[int]] = []
    while heap:
        fill, v = heapq.heappop(heap)
        if current.get(v) != fill:
            continue
        del current[v]
        scope = near[v]
        order.append(v)
        later.append(scope)
        for u in scope:
            near[u] |= scope
            near[u] -= {u, v}
        touched = set(scope).union(*(near[u] for u in scope)) if fill else set(scope)
        for u in touched:
            current[u] = _fill(near, u)
            heapq.heappush(heap, (current[u], u))
    return order, later


def _fill(near: list[set[int]], v: int) -> int:
    """Pairs of neighbours of v that are not neighbours themselves."""
    scope = near[v]
    joined = sum(len(scope & near[u]) for u in scope)
    return (len(scope) * (len(scope) - 1) - joined) // 2
