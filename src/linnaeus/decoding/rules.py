"""Rules of a request: which label sets may be answered.

    only under X           every label is X or below it (below one of them, where several are given)
    exclude Z              neither Z nor anything below it
    require X              X is in the answer
    at least / at most k   bounds on the number of labels; likewise at or below a node
    one per subtree        at most one label at or below each of some nodes
    min depth, depth       labels at least, or exactly, so deep
    max children           bound on the number of children of any node that are followed

Labels are the most specific nodes of an answer: with AA its ancestor A is answered, too, but counts for nothing. Rules
are never relaxed: where no set obeys them, there is no answer. What is best among the sets that do is found by
`best_sets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from linnaeus.decoding.base import Hierarchy, hierarchy
from linnaeus.errors import ParameterError, TaxonomyError, check_number, nearest
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, IntArray

__all__ = ["NO_BOUND", "BoundRules", "Rules"]

NO_BOUND = np.iinfo(np.int32).max
_LISTS = ("only_under", "exclude", "require")


@dataclass(frozen=True)
class Rules:
    """What an answer must obey; nodes are given by name.

    Parameters
    ----------
    only_under, exclude, require : object, default=()
        A node or several.
    at_least, at_most : int, default=0
        How many labels an answer has.
    at_most_under : Mapping[str, int], default=field(default_factory=dict)
        {node: k}, at most k labels at or below a node.
    one_per : object, default=()
        Nodes with at most one label at or below each of them; "tops" for all nodes at the top.
    min_depth, depth : int, default=None
        Labels at this depth or below it, or exactly there; top nodes have depth 1.
    keep_shallow : bool, default=False
        Let leaves that end above ``min_depth`` or ``depth`` be answered all the same.
    max_children : int, default=None
        Maximum number of children of every node, and of top nodes, that are followed; 1 gives a single path.
    leaves_only : bool, default=False
        Labels are leaves.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> rules = Rules(only_under="A", at_most=1)
    >>> rules.bind(tax).obeyed(tax.indicator([["A", "AA"], ["B"], ["A", "AA", "AB"]])).tolist()
    [True, False, False]
    """

    only_under: str | Iterable[str] = ()
    exclude: str | Iterable[str] = ()
    require: str | Iterable[str] = ()
    at_least: int = 0
    at_most: int | None = None
    at_most_under: Mapping[str, int] = field(default_factory=dict)
    one_per: str | Iterable[str] = ()
    min_depth: int | None = None
    depth: int | None = None
    keep_shallow: bool = False
    max_children: int | None = None
    leaves_only: bool = False

    def __post_init__(self) -> None:
        for name in (*_LISTS, "one_per"):
            given = getattr(self, name)
            plain = given == "tops" and name == "one_per"
            object.__setattr__(self, name, given if plain else _names(given))
        for name in ("at_least", "at_most", "min_depth", "depth", "max_children"):
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, least=0 if name == "at_least" else 1, whole=True)
        for name, most in self.at_most_under.items():
            check_number(f"at_most_under[{name!r}]", most, least=1, whole=True)
        if self.at_most is not None and self.at_most < self.at_least:
            raise ParameterError(f"at_least={self.at_least} and at_most={self.at_most} contradict each other.")

    @classmethod
    def of(cls, given: Rules | Mapping[str, object] | None) -> Rules:
        """Rules as they are, from a dictionary of the parameters above, or none."""
        if given is None or isinstance(given, Rules):
            return given or cls()
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise ParameterError(
                    f"There is no rule {name!r}; the rules are {', '.join(known)}{nearest(name, known)}"
                )
        make: Callable[..., Rules] = cls
        return make(**given)

    def bind(self, taxonomy: Taxonomy) -> BoundRules:
        """The rules as arrays over the nodes of a taxonomy; unknown names are errors."""
        n = taxonomy.n_nodes
        allowed = np.ones(n, dtype=bool)
        may_stop = np.ones(n, dtype=bool)
        if taxonomy.root is not None:
            allowed[taxonomy.root] = False
        if self.only_under:
            inside = np.zeros(n, dtype=bool)
            above = np.zeros(n, dtype=bool)
            for v in self._nodes(taxonomy, "only_under"):
                inside[taxonomy.descendants(v)] = True
                above[taxonomy.ancestors(v)] = True
            for v in np.flatnonzero(inside).tolist():  # on a DAG, other ways lead to what is below as well
                above[taxonomy.ancestors(v)] = True
            allowed &= inside | above
            may_stop &= inside
        for v in self._nodes(taxonomy, "exclude"):
            allowed[taxonomy.descendants(v)] = False
        if taxonomy.root is not None:
            allowed[taxonomy.root] = False
        forced = np.zeros(n, dtype=bool)
        for v in self._nodes(taxonomy, "require"):
            forced[taxonomy.ancestors(v)] = True
        self._by_depth(taxonomy, allowed, may_stop)
        if self.leaves_only:
            may_stop &= taxonomy.is_leaf
        least, most = np.zeros(n + 1, dtype=np.int32), np.full(n + 1, NO_BOUND, dtype=np.int32)
        least[n] = self.at_least
        most[n] = NO_BOUND if self.at_most is None else self.at_most
        for name, bound in self.at_most_under.items():
            v = _index(taxonomy, name, "at_most_under")
            most[v] = min(int(most[v]), bound)
        once = taxonomy.tops if self.one_per == "tops" else self._nodes(taxonomy, "one_per")
        most[np.asarray(once, dtype=np.int64)] = 1
        if taxonomy.root is not None:  # a bound at the root is one on all
            most[n] = min(most[n], most[taxonomy.root])
            most[taxonomy.root] = NO_BOUND
        return BoundRules(taxonomy, allowed, forced, may_stop, least, most, self.max_children)

    def _by_depth(self, taxonomy: Taxonomy, allowed: BoolArray, may_stop: BoolArray) -> None:
        least = max(self.depth or 0, self.min_depth or 0)
        shallow = taxonomy.depth < least
        if self.keep_shallow:
            shallow &= ~taxonomy.is_leaf
        may_stop &= ~shallow
        if self.depth is not None:
            allowed &= taxonomy.depth <= self.depth

    def _nodes(self, taxonomy: Taxonomy, name: str) -> list[int]:
        return [_index(taxonomy, node, name) for node in getattr(self, name)]


@dataclass(frozen=True)
class BoundRules:
    """Rules over the nodes of one taxonomy; entry n_nodes of ``least`` and ``most`` is for whole answers."""

    taxonomy: Taxonomy
    allowed: BoolArray
    forced: BoolArray
    may_stop: BoolArray
    least: IntArray
    most: IntArray
    max_children: int | None

    @property
    def counts(self) -> bool:
        """Whether numbers of labels are bounded, beyond that there is one at all."""
        return bool((self.most < NO_BOUND).any() or self.least[-1] > 1)

    @property
    def everything(self) -> bool:
        """Whether all sets are allowed, the empty one aside."""
        free = self.allowed.copy()
        free[[] if self.taxonomy.root is None else [self.taxonomy.root]] = True
        return bool(self.masks_only and free.all() and not self.forced.any())

    @property
    def masks_only(self) -> bool:
        """Whether every closed set of allowed nodes obeys that holds the forced ones (and is not empty, if asked)."""
        return not self.counts and self.max_children is None and bool(self.may_stop[self.allowed].all())

    def obeyed(self, Y: CSR, edges: Hierarchy | None = None) -> BoolArray:
        """Which closed rows of Y obey."""
        taxonomy, n = self.taxonomy, self.taxonomy.n_nodes
        rows, labels = row_numbers(Y.indptr), taxonomy.frontier(Y)
        wrong = np.bincount(rows, weights=~self.allowed[Y.indices], minlength=Y.shape[0])
        wrong += np.bincount(rows, weights=self.forced[Y.indices], minlength=Y.shape[0]) != self.forced.sum()
        wrong += np.bincount(row_numbers(labels.indptr), weights=~self.may_stop[labels.indices], minlength=Y.shape[0])
        sizes = np.diff(labels.indptr)
        wrong += (sizes < self.least[n]) | (sizes > self.most[n])
        bounded = np.flatnonzero(self.most[:n] < NO_BOUND)
        if len(bounded):
            below = [taxonomy.descendants(int(v)) for v in bounded]
            subtrees = pattern(pointers(np.array([len(b) for b in below])), np.concatenate(below), n)
            counts = (labels.astype(np.int32) @ subtrees.T.astype(np.int32)).toarray()
            wrong += (counts > self.most[bounded]).any(axis=1)
        if self.max_children is not None:
            edges = edges or hierarchy(taxonomy)
            counts = _children_in(Y, edges, n)
            wrong += (counts > self.max_children).any(axis=1)
        return np.asarray(wrong == 0)


def _children_in(Y: CSR, edges: Hierarchy, n: int) -> IntArray:
    """How many children of every node, and (last) how many tops, are in each row."""
    from scipy import sparse

    n_parents = np.diff(edges.parent_indptr)
    child = np.concatenate([np.repeat(np.arange(n), n_parents), edges.tops])
    parent = np.concatenate([edges.parent_indices, np.full(len(edges.tops), n)])
    matrix = sparse.csr_array((np.ones(len(child), dtype=np.int32), (child, parent)), shape=(n, n + 1))
    return (Y.astype(np.int32) @ matrix).toarray()


def _names(given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise ParameterError(f"{given!r} is not the name of a node or a list of names.")
    return tuple(str(name) for name in given)


def _index(taxonomy: Taxonomy, name: str, rule: str) -> int:
    try:
        return taxonomy.index(name)
    except TaxonomyError as error:
        raise TaxonomyError(f"{rule}: {error}") from None
