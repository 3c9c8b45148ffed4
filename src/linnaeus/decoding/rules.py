"""Rules of a request: which label sets may be answered.

    only under X           every label is X or below it (below one of them, where several are given)
    exclude Z              neither Z nor anything below it
    candidates             every label is one of these; one list for all documents, or a list for each
    require X              X is in the answer
    at least / at most k   bounds on the number of labels; likewise at or below a node
    one per subtree        at most one label at or below each of some nodes
    min depth, depth       labels at least, or exactly, so deep
    max children           bound on the number of children of any node that are followed

Labels are the most specific nodes of an answer: with AA its ancestor A is answered, too, but counts for nothing. Rules
are never relaxed: where no set obeys them, there is no answer. What is best among the sets that do is found by
`best_sets`. Candidates of each document are masks over the scores of a batch, so that a batch is decided in one pass
whatever its candidates are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from linnaeus.decoding.base import Hierarchy, hierarchy
from linnaeus.errors import ParameterError, TaxonomyError, check_number, nearest
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, IntArray

__all__ = ["NO_BOUND", "RULES_OF_NODES", "BoundRules", "DocumentCandidates", "Rules"]

NO_BOUND = np.iinfo(np.int32).max
# Rules about single labels; all others are about label sets.
RULES_OF_NODES = ("only_under", "exclude", "candidates", "min_depth", "depth", "keep_shallow", "leaves_only")
_LISTS = ("only_under", "exclude", "require")


@dataclass(frozen=True)
class Rules:
    """What an answer must obey; nodes are given by name.

    Parameters
    ----------
    only_under, exclude, require : object, default=()
        A node or several.
    candidates : iterable of str, or of such iterables, default=None
        The only labels that may be answered, apart from their ancestors: one list for all documents, or one list for
        each document, None for a document without such a rule.
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
    >>> Rules(candidates=[["AA", "B"], None]).candidates
    (('AA', 'B'), None)
    """

    only_under: str | Iterable[str] = ()
    exclude: str | Iterable[str] = ()
    require: str | Iterable[str] = ()
    candidates: Iterable[str] | Iterable[Iterable[str] | None] | None = None
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
        if self.candidates is not None:
            object.__setattr__(self, "candidates", _candidates(self.candidates))
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
        documents = self._document_candidates(taxonomy)
        if self.candidates is not None and (documents is None or documents.restricted.all()):
            labels = self._nodes(taxonomy, "candidates") if documents is None else np.unique(documents.labels.indices)
            own = np.zeros(n, dtype=bool)
            own[labels] = True
            may_stop &= own
            allowed &= _with_ancestors(taxonomy, own)
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
        least, most = self._bounds(taxonomy)
        children = None if self.max_children is None or self.max_children >= n else self.max_children
        return BoundRules(taxonomy, allowed, forced, may_stop, least, most, children, documents)

    @property
    def per_document(self) -> bool:
        """Whether every document has candidates of its own."""
        return self.candidates is not None and not all(isinstance(one, str) for one in self.candidates)

    def _document_candidates(self, taxonomy: Taxonomy) -> DocumentCandidates | None:
        if not self.per_document:
            return None
        assert self.candidates is not None
        index: dict[str, int] = {}
        indices: list[int] = []
        lengths, restricted = [], []
        for names in self.candidates:
            members = sorted({_known(taxonomy, name, index) for name in names or ()})
            indices += members
            lengths.append(len(members))
            restricted.append(names is not None)
        labels = pattern(pointers(np.array(lengths, dtype=np.int64)), np.array(indices, np.int32), taxonomy.n_nodes)
        return DocumentCandidates(labels, np.array(restricted, dtype=bool))

    def _bounds(self, taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
        """Least and largest number of labels at or below every node, and in all."""
        n = taxonomy.n_nodes
        least, most = np.zeros(n + 1, dtype=np.int32), np.full(n + 1, NO_BOUND, dtype=np.int32)
        least[n] = min(self.at_least, n + 1)  # no answer has more labels than there are nodes
        if self.at_most is not None and self.at_most < n:
            most[n] = self.at_most
        for name, bound in self.at_most_under.items():
            v = _index(taxonomy, name, "at_most_under")
            if bound < len(taxonomy.descendants(v)):
                most[v] = min(int(most[v]), bound)
        once = taxonomy.tops if self.one_per == "tops" else self._nodes(taxonomy, "one_per")
        most[np.asarray(once, dtype=np.int64)] = 1
        if taxonomy.root is not None:  # a bound at the root is one on all
            most[n] = min(most[n], most[taxonomy.root])
            most[taxonomy.root] = NO_BOUND
        return least, most

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
class DocumentCandidates:
    """Labels that each document may have (n_docs x n_nodes), and which documents are restricted to them."""

    labels: CSR
    restricted: BoolArray

    def __len__(self) -> int:
        return len(self.restricted)

    def part(self, start: int, stop: int) -> DocumentCandidates:
        """Those of some documents; an error if there are fewer."""
        if stop > len(self):
            raise ParameterError(f"candidates has {len(self):,} lists; expected one for each document.")
        return DocumentCandidates(self.labels[start:stop], self.restricted[start:stop])

    def obeyed(self, labels: CSR) -> BoolArray:
        """Which documents have only labels of their candidates; ``labels`` are most specific nodes."""
        inside = np.asarray(labels.astype(np.int32).multiply(self.labels).sum(axis=1)).ravel()
        return ~self.restricted | (inside == np.diff(labels.indptr))

    def masks(self, taxonomy: Taxonomy, columns: IntArray) -> tuple[BoolArray, BoolArray]:
        """Which nodes of ``columns`` may be labels, and which may be in an answer (n_docs x len(columns) each)."""
        free = ~self.restricted[:, None]
        ends = self.labels[:, columns].toarray() > 0
        inside = taxonomy.close(self.labels)[:, columns].toarray() > 0
        return ends | free, inside | free


@dataclass(frozen=True)
class BoundRules:
    """Rules over the nodes of one taxonomy; entry n_nodes of ``least`` and ``most`` is for whole answers.

    What the candidates of single documents allow is in ``documents`` only, unless no document may have it.
    """

    taxonomy: Taxonomy
    allowed: BoolArray
    forced: BoolArray
    may_stop: BoolArray
    least: IntArray
    most: IntArray
    max_children: int | None
    documents: DocumentCandidates | None = None  # of each document, beyond what holds for all

    def of_document(self, d: int) -> BoundRules:
        """The rules of one document, without candidates of documents."""
        if self.documents is None:
            return self
        ends, inside = self.documents.part(d, d + 1).masks(self.taxonomy, np.arange(self.taxonomy.n_nodes))
        return replace(self, allowed=self.allowed & inside[0], may_stop=self.may_stop & ends[0], documents=None)

    @property
    def counts(self) -> bool:
        """Whether numbers of labels are bounded, beyond that there is one at all."""
        return bool((self.most < NO_BOUND).any() or self.least[-1] > 1)

    @property
    def everything(self) -> bool:
        """Whether all sets are allowed, the empty one aside."""
        free = self.allowed.copy()
        free[[] if self.taxonomy.root is None else [self.taxonomy.root]] = True
        return bool(self.masks_only and free.all() and not self.forced.any() and self.documents is None)

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


def _candidates(given: object) -> tuple[str, ...] | tuple[tuple[str, ...] | None, ...]:
    """One tuple of names, or one for each document."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise ParameterError(f"candidates={given!r}; expected a list of labels, or one list for each document.")
    each = tuple(given)
    if not each:
        raise ParameterError("candidates is empty; expected one label or more, or one list for each document.")
    if all(isinstance(one, str) for one in each):
        return each
    return tuple(None if names is None else _names(names) for names in each)


def _with_ancestors(taxonomy: Taxonomy, mask: BoolArray) -> BoolArray:
    nodes = np.flatnonzero(mask).astype(np.int32)
    found = np.zeros(len(mask), dtype=bool)
    found[taxonomy.close(pattern(np.array([0, len(nodes)]), nodes, len(mask))).indices] = True
    return found


def _known(taxonomy: Taxonomy, name: str, index: dict[str, int]) -> int:
    """The number of a candidate, looked up once."""
    found = index.get(name)
    if found is None:
        found = index[name] = _index(taxonomy, name, "candidates")
    return found


def _index(taxonomy: Taxonomy, name: str, rule: str) -> int:
    try:
        return taxonomy.index(name)
    except TaxonomyError as error:
        raise TaxonomyError(f"{rule}: {error}") from None
