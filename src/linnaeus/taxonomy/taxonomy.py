"""The taxonomy: a frozen tree, DAG or undirected graph on integer nodes.

Nodes are numbered by level: every parent has a smaller number than its children, and the nodes of one level are
consecutive. The level of a node is the longest path to it from the top. Names (ids) are unique strings; display labels
are optional and need not be unique. A *root* is a node above all others that carries no information about a document;
it is at level 0, and the top nodes are at level 1 whether or not the taxonomy has a root.

Names of nodes are in `names`, label sets in `closure`, distances in `distance`, construction in `build`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy import closure
from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.texts import Texts
from linnaeus.typing import CSR, Array, BoolArray, IntArray, Matrix, ObjectArray

if TYPE_CHECKING:
    from typing import Unpack

    import networkx as nx
    import pandas as pd

    from linnaeus.taxonomy.distance import Nodes
    from linnaeus.taxonomy.formats.draft import TaxonomyOptions
    from linnaeus.taxonomy.search import Match, SearchIndex

__all__ = ["Deprecated", "Taxonomy"]

A = TypeVar("A", bound=Array)

_MOST_SHOWN, _MOST_LEVELS = 25, 3  # children of a node, and levels, that a notebook shows


class Taxonomy:
    """A frozen tree, DAG or graph on nodes 0..n_nodes-1.

    Create one with `from_edges`, `from_paths`, `flat` or `read`; the constructor expects arrays in level order and does
    not validate them.

    Parameters
    ----------
    names : sequence of str
        Unique names of the nodes in level order.
    parent_indptr : int array of shape (n_nodes + 1,)
        Row pointers of the parents of every node in CSR form (for a graph: of its neighbours).
    parent_indices : int array of shape (n_edges,)
        Numbers of the parents, node by node.
    root : int, default=None
        Number of the root node, if there is one.
    kind : {"tree", "dag", "graph"}, default="tree"
        Whether every node has at most one parent, may have several, or edges have no direction.
    display_labels : sequence of str, default=None
        Labels to show to people, one per node; an empty label stands for the name.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> tax
    Taxonomy(tree, 5 nodes, 3 leaves, depth 2)
    >>> [tax.names[v] for v in tax.ancestors("AB")]
    ['A', 'AB']
    """

    names: ObjectArray
    display_labels: ObjectArray | None
    kind: str
    root: int | None
    parent_indptr: IntArray
    parent_indices: IntArray
    aliases: Mapping[str, str]
    deprecated: Mapping[str, Deprecated]
    _texts: Texts | None = None
    _label_option: str | None = None  # the option ``names`` of the format that was read, for nodes named by labels

    def __init__(
        self,
        names: Sequence[str],
        parent_indptr: IntArray,
        parent_indices: IntArray,
        *,
        root: int | None = None,
        kind: str = "tree",
        display_labels: Sequence[str] | None = None,
    ) -> None:
        values: dict[str, object] = {
            "names": _frozen(_object_array(names)),
            "display_labels": None if display_labels is None else _frozen(_object_array(display_labels)),
            "kind": kind,
            "root": root,
            "parent_indptr": _own(parent_indptr, np.int64),
            "parent_indices": _own(parent_indices, np.int32),
            "aliases": MappingProxyType({}),
            "deprecated": MappingProxyType({}),
        }
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Taxonomy is frozen: cannot set {name!r}")

    # -- construction --------------------------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[Hashable, Hashable]],
        *,
        nodes: Iterable[Hashable] = (),
        kind: str | None = None,
        root: str | None = "auto",
        display_labels: Mapping[str, str] | None = None,
    ) -> Taxonomy:
        """Create a taxonomy from (parent, child) pairs.

        Parameters
        ----------
        edges : iterable of (parent, child)
            Names of a parent and of its child; undirected pairs if ``kind="graph"``.
        nodes : iterable, default=()
            Names of nodes; adds those without edges.
        kind : {"tree", "dag", "graph"}, default=None
            The expected kind; by default a tree or a DAG, whichever the pairs form.
        root : str or None, default="auto"
            Name of the root, or None if there is none; "auto" takes the only node without a parent if it has children.
        display_labels : mapping of str to str, default=None
            Labels to show to people, by name.

        Returns
        -------
        Taxonomy
            The taxonomy, its nodes numbered by level.

        Examples
        --------
        >>> Taxonomy.from_edges([("Root", "Sports"), ("Sports", "Tennis")]).names.tolist()
        ['Root', 'Sports', 'Tennis']
        """
        from linnaeus.taxonomy import build

        return build.from_edges(edges, nodes=nodes, kind=kind, root=root, display_labels=display_labels)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[Hashable]], *, separator: str | None = None) -> Taxonomy:
        """Create a taxonomy from paths of names, top first. No root is assumed.

        Parameters
        ----------
        paths : iterable of sequences
            Paths of names; a path may end at any level, and may be padded with empty strings.
        separator : str, default=None
            If given, every node is named by its whole path, joined by the separator, so that equal names under
            different parents are different nodes. Otherwise a name under two parents is one node with two parents.

        Returns
        -------
        Taxonomy
            The taxonomy, its nodes numbered by level.

        Examples
        --------
        >>> Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]]).n_nodes
        4
        """
        from linnaeus.taxonomy import build

        return build.from_paths(paths, separator=separator)

    @classmethod
    def flat(cls, names: Iterable[Hashable]) -> Taxonomy:
        """Create a taxonomy of nodes without edges."""
        from linnaeus.taxonomy import build

        return build.from_edges([], nodes=names)

    @classmethod
    def read(cls, path: str | PathLike[str], format: str | None = None, **options: Unpack[TaxonomyOptions]) -> Taxonomy:
        """Read a file; the format is recognised from its content unless given; see `linnaeus.taxonomy.formats`."""
        from linnaeus.taxonomy import formats

        return formats.read(path, format=format, **options)

    def write(
        self,
        path: str | PathLike[str],
        format: str | None = None,
        *,
        language: str | None = None,
        separator: str | None = None,
    ) -> None:
        """Write a file; the format follows from the file name unless given (see `linnaeus.taxonomy.formats.write`)."""
        from linnaeus.taxonomy import formats

        formats.write(self, path, format=format, language=language, separator=separator)

    @classmethod
    def from_networkx(
        cls, graph: nx.Graph, *, kind: str | None = None, root: str | None = "auto", label: str = "label"
    ) -> Taxonomy:
        """Create a taxonomy from a networkx DiGraph (parent -> child) or Graph; see `from_edges`.

        The node attribute named by ``label`` is the display label.
        """
        from linnaeus.taxonomy import formats

        return formats.from_networkx(graph, kind=kind, root=root, label=label)

    def to_networkx(self) -> nx.Graph:
        """Convert to a networkx DiGraph (parent -> child), or Graph, with node attribute ``label``."""
        from linnaeus.taxonomy import formats

        return formats.to_networkx(self)

    def to_frame(self) -> pd.DataFrame:
        """One row for each node: name, label, parents (joined by " | "), depth, whether it is a leaf.

        Returns
        -------
        DataFrame
            A data frame of pandas, in the order of the nodes.

        Examples
        --------
        >>> Taxonomy.from_paths([["A", "AA"], ["B"]]).to_frame()["parents"].tolist()
        ['', '', 'A']
        """
        from linnaeus.display import data_frame

        rows = (
            {
                "name": str(self.names[v]),
                "label": self.display(v),
                "parents": " | ".join(str(self.names[u]) for u in self.parents(v)),
                "depth": int(self.depth[v]),
                "leaf": bool(self.is_leaf[v]),
            }
            for v in range(self.n_nodes)
        )
        return data_frame(rows, ("name", "label", "parents", "depth", "leaf"))

    def with_misc_leaves(self, nodes: Iterable[str | int] | None = None) -> Taxonomy:
        """Add a leaf ``<name>/self`` under each internal node of ``nodes`` (default: all but the root)."""
        from linnaeus.taxonomy import build

        return build.with_misc_leaves(self, nodes)

    def with_replacements(
        self, aliases: Mapping[str, str] | None = None, deprecated: Mapping[str, Deprecated] | None = None
    ) -> Taxonomy:
        """Return the same taxonomy with these aliases and deprecated ids instead of its own.

        They are not part of the fingerprint: a model depends on nodes and edges, and ids may be deprecated after it was
        trained.

        Parameters
        ----------
        aliases : mapping of str to str, default=None
            Other ids of nodes, with the names of the nodes. A label that is an alias stands for the node.
        deprecated : mapping of str to Deprecated, default=None
            Ids that are no longer nodes, and their replacements. Such an id as a label is an error that names the
            replacement; ``unknown="replace"`` replaces it.

        Returns
        -------
        Taxonomy
            A copy that shares nodes and edges.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("x", "x1"), ("x", "x2")], display_labels={"x2": "Neoplasms"})
        >>> tax = tax.with_replacements({"y2": "x2"}, {"x9": Deprecated(("x2",))})
        >>> tax.index("y2"), tax.lookup("x9"), tax.lookup("x9", replace=True)
        (2, None, 2)
        >>> tax.index("x9")
        Traceback (most recent call last):
        linnaeus.errors.TaxonomyError: 'x9' is not a node of the taxonomy; it is deprecated, use 'x2' (Neoplasms).
        """
        from linnaeus.taxonomy import names

        return names.with_replacements(self, aliases, deprecated)

    def with_display_labels(self, labels: Mapping[str, str]) -> Taxonomy:
        """Return the same taxonomy with other display labels, for example in another language.

        Parameters
        ----------
        labels : mapping of str to str
            Names of nodes and their display labels; other nodes keep theirs.

        Returns
        -------
        Taxonomy
            A copy that shares nodes and edges.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("m", "m1")], display_labels={"m1": "Opera"})
        >>> tax.with_display_labels({"m1": "Oper"}).display("m1")
        'Oper'
        """
        from linnaeus.taxonomy import names

        return names.with_display_labels(self, labels)

    def with_texts(self, texts: Texts) -> Taxonomy:
        """Return the same taxonomy with these texts instead of its own.

        Texts are not part of the fingerprint: a model depends on nodes and edges.

        Parameters
        ----------
        texts : Texts
            Texts of the nodes, by number.

        Returns
        -------
        Taxonomy
            A copy that shares nodes and edges.

        Examples
        --------
        >>> tax = Taxonomy.flat(["a", "b"]).with_texts(Texts.from_entries([(1, "alternative", "en", "Bee")]))
        >>> tax.texts.of(tax.index("b"))
        [NodeText(node=1, kind='alternative', language='en', text='Bee')]
        """
        from linnaeus.taxonomy import names

        texts.check(self.n_nodes)
        return names.changed(self, _texts=texts)

    def with_language(self, language: str) -> Taxonomy:
        """Return the same taxonomy with its preferred labels in a language as display labels.

        Nodes without a preferred label in the language keep their display label. A language in which there is no
        preferred label is an error that lists those that there are.

        Parameters
        ----------
        language : str
            A language tag such as "de".

        Returns
        -------
        Taxonomy
            A copy that shares nodes and edges.

        Examples
        --------
        >>> texts = Texts.from_entries([(0, "preferred", "en", "Opera"), (0, "preferred", "de", "Oper")])
        >>> Taxonomy.flat(["m1"]).with_texts(texts).with_language("de").display("m1")
        'Oper'
        """
        from linnaeus.taxonomy import names

        return names.with_language(self, language)

    def random_like(self, seed: int | np.random.Generator | None = None) -> Taxonomy:
        """Draw a random hierarchy on the same nodes with the same level sizes; see `linnaeus.taxonomy.random`."""
        from linnaeus.taxonomy import random

        return random.random_like(self, seed)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        return len(self.names)

    @property
    def n_edges(self) -> int:
        return len(self.parent_indices) // (2 if self.kind == "graph" else 1)

    @cached_property
    def index_of(self) -> Mapping[str, int]:
        """Number of a node by its name."""
        return {name: i for i, name in enumerate(self.names)}

    def lookup(self, label: str, *, replace: bool = False) -> int | None:
        """Number of the node that a label stands for: a name, an alias or a whole path; `find` searches.

        Parameters
        ----------
        label : str
            A name, an id in `aliases`, or a path of names or display labels (``Sports > Tennis``, also with ``/``,
            ``|``, ``::``), or an incomplete code (``2.5.-.-`` is the node ``2.5``).
        replace : bool, default=False
            Whether a deprecated id with exactly one replacement stands for its replacement.

        Returns
        -------
        int or None
            The number, or None if the label does not stand for a node.

        Examples
        --------
        >>> Taxonomy.from_edges([("A", "AA")]).with_replacements({"old": "AA"}).lookup("old")
        1
        """
        from linnaeus.taxonomy import names

        node = self.index_of.get(label)
        if node is None and label in self.aliases:
            node = self.index_of[self.aliases[label]]
        if node is None and label not in self.deprecated:
            node = self.index_of.get(names.without_dashes(label))
            node = names.by_path(self, label) if node is None else node
        if node is None and replace and label in self.deprecated:
            targets = self.deprecated[label].replaced_by
            node = self.index_of[targets[0]] if len(targets) == 1 else None
        return node

    def find(self, query: str, k: int = 10, language: str | None = None) -> list[Match]:
        """Search for nodes by id, label or notation: exact, folded, by prefix and by similarity.

        The first call builds an index, which takes about a second for 100,000 texts.

        Parameters
        ----------
        query : str
            What to look for, such as "heart attack".
        k : int, default=10
            Maximum number of nodes.
        language : str, default=None
            Search texts in this language only, and ids; all languages by default. A language that no text has is an
            error.

        Returns
        -------
        list of Match
            Different nodes, best first, each with its score, the text that matches, the kind of this text ("preferred",
            "alternative", "hidden", "notation" or "id") and how it matches ("exact", "folded", "prefix" or "fuzzy").

        Examples
        --------
        >>> texts = Texts.from_entries([(0, "alternative", "en", "Heart attack")])
        >>> tax = Taxonomy.flat(["i21", "i22"]).with_texts(texts)
        >>> tax.find("hart attack")
        [Match(node=0, score=0.825, text='Heart attack', kind='alternative', how='fuzzy')]
        """
        return self.search_index.find(query, k, language)

    @cached_property
    def search_index(self) -> SearchIndex:
        """The index of `find`; built on first use."""
        from linnaeus.taxonomy.search import SearchIndex

        return SearchIndex(self)

    def replaced(self, labels: Iterable[Iterable[str]]) -> tuple[list[list[str]], Counter[str]]:
        """Replace aliases, and deprecated ids with exactly one replacement, by the names of their nodes.

        Parameters
        ----------
        labels : iterable of iterables of str
            The labels of every document.

        Returns
        -------
        labels : list of list of str
            The same lists without repeated labels; labels that do not stand for a node are kept unchanged.
        counts : Counter
            Number of times each deprecated id was replaced. Aliases are not counted.

        Examples
        --------
        >>> tax = Taxonomy.flat(["a", "b"]).with_replacements({"A": "a"}, {"c": Deprecated(("b",))})
        >>> tax.replaced([["A", "c", "b"], ["d"]])
        ([['a', 'b'], ['d']], Counter({'c': 1}))
        """
        from linnaeus.taxonomy import names

        return names.replaced(self, labels)

    def index(self, node: str | int) -> int:
        """Number of a node given by name, by alias or by number."""
        if isinstance(node, (int, np.integer)):
            if not 0 <= node < self.n_nodes:
                raise TaxonomyError(f"Node number {node} is not in 0..{self.n_nodes - 1}.")
            return int(node)
        found = self.lookup(node)
        if found is None:
            raise TaxonomyError(f"{node!r} is not a node of the taxonomy{self.hint(str(node)) or '.'}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.index_of

    def __len__(self) -> int:
        return self.n_nodes

    def display(self, node: str | int) -> str:
        """The text to show to people: the display label, or the name if there is none."""
        i = self.index(node)
        return str(self.names[i] if self.display_labels is None else self.display_labels[i] or self.names[i])

    @cached_property
    def texts(self) -> Texts:
        """Labels, definitions, notes, examples and notations of the nodes, per language.

        Where none were read or given, these are the display labels as preferred labels without a language.
        """
        if self._texts is not None:
            return self._texts
        shown = () if self.display_labels is None else self.display_labels
        return Texts.from_entries((v, "preferred", "", label) for v, label in enumerate(shown))

    @cached_property
    def display_index(self) -> Mapping[str, list[int]]:
        """Numbers of the nodes with each display label; computed on first use."""
        found: dict[str, list[int]] = {}
        for v, label in enumerate(() if self.display_labels is None else self.display_labels):
            if label:
                found.setdefault(label, []).append(v)
        return found

    def displayed_as(self, label: str) -> IntArray:
        """The nodes that have a display label.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("m", "m1"), ("m", "m2")], display_labels={"m1": "Opera", "m2": "Ballet"})
        >>> tax.names[tax.displayed_as("Opera")].tolist()
        ['m1']
        """
        return np.array(self.display_index.get(label, []), dtype=np.int32)

    def hint(self, name: str) -> str:
        """End of an error message about an unknown name: a suggestion, or empty if no name is similar.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("m", "music1"), ("m", "music2")], display_labels={"music1": "Opera"})
        >>> tax.hint("Opera"), tax.hint("musik1")
        ("; it is the display label of node 'music1'.", "; did you mean 'music1' (Opera)?")
        >>> tax.hint("Oprea")
        "; did you mean 'music1' (Opera)?"
        """
        from linnaeus.taxonomy import names

        return names.hint(self, name)

    def titled(self, node: str | int) -> str:
        """A node in messages: its name in quotes, followed by its display label if that differs.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("m", "m1")], display_labels={"m1": "Opera"})
        >>> tax.titled("m"), tax.titled("m1")
        ("'m'", "'m1' (Opera)")
        """
        i = self.index(node)
        name, label = str(self.names[i]), self.display(i)
        return repr(name) if label == name else f"{name!r} ({label})"

    # -- structure -----------------------------------------------------------------------------------------------------

    @cached_property
    def edges(self) -> tuple[IntArray, IntArray]:
        """Parents and children of all edges, in the order of ``parent_indices``; in a graph edges have both directions.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C")])
        >>> [array.tolist() for array in tax.edges]
        [[0, 0, 1, 2], [1, 2, 3, 3]]
        """
        return self.parent_indices, _frozen(closure.row_numbers(self.parent_indptr))

    @cached_property
    def _children_csr(self) -> tuple[IntArray, IntArray]:
        if self.kind == "graph":
            return self.parent_indptr, self.parent_indices
        parent, child = self.edges
        order = np.argsort(parent, kind="stable")
        return _frozen(closure.pointers(np.bincount(parent, minlength=self.n_nodes))), _frozen(child[order])

    @property
    def child_indptr(self) -> IntArray:
        return self._children_csr[0]

    @property
    def child_indices(self) -> IntArray:
        return self._children_csr[1]

    def parents(self, node: str | int) -> IntArray:
        """Parents of a node (in a graph: its neighbours)."""
        v = self.index(node)
        return self.parent_indices[self.parent_indptr[v] : self.parent_indptr[v + 1]]

    def children(self, node: str | int) -> IntArray:
        """Children of a node (in a graph: its neighbours)."""
        v = self.index(node)
        return self.child_indices[self.child_indptr[v] : self.child_indptr[v + 1]]

    @cached_property
    def parent(self) -> IntArray:
        """The first parent of every node, -1 at the top; on a tree this is the whole structure."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        has = np.diff(self.parent_indptr) > 0
        if self.kind != "graph":
            parent[has] = self.parent_indices[self.parent_indptr[:-1][has]]
        return _frozen(parent)

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Which nodes have no children; in a graph, all."""
        return _frozen(np.diff(self.child_indptr) == 0 if self.kind != "graph" else np.ones(self.n_nodes, bool))

    @property
    def leaves(self) -> IntArray:
        return np.flatnonzero(self.is_leaf)

    @cached_property
    def depth(self) -> IntArray:
        """Level of every node: the longest path from the top; 0 is the root, top nodes are at 1."""
        from linnaeus._kernels.graph import topological_depth

        if self.kind == "graph":
            return _frozen(np.ones(self.n_nodes, dtype=np.int32))
        n_parents = np.diff(self.parent_indptr).astype(np.int32)
        return _frozen(topological_depth(self.child_indptr, self.child_indices, n_parents) + (self.root is None))

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """Nodes of each level: 0 (the root, or empty), 1, 2, ..."""
        return tuple(np.flatnonzero(self.depth == d) for d in range(int(self.depth.max(initial=0)) + 1))

    @property
    def tops(self) -> IntArray:
        """Nodes of level 1: the children of the root, or the nodes without a parent."""
        return np.flatnonzero(self.depth == 1)

    def ancestors(self, node: str | int, *, include_self: bool = True) -> IntArray:
        """The node and its ancestors without the root, in order of their numbers (highest level first)."""
        v = self.index(node)
        above = closure.ancestor_sets(self, np.array([v], dtype=np.int32))[1]
        return above if include_self else above[above != v]

    def path(self, node: str | int) -> IntArray:
        """The nodes from the top down to a node, along first parents, without the root.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C"), ("C", "D")])
        >>> tax.names[tax.path("D")].tolist()
        ['A', 'C', 'D']
        """
        path = [self.index(node)]
        while (parent := int(self.parent[path[-1]])) >= 0 and parent != self.root:
            path.append(parent)
        return np.array(path[::-1], dtype=np.int32)

    def paths(self, node: str | int, most: int = 10) -> list[IntArray]:
        """All paths from the top down to a node, without the root, at most ``most`` of them; on a tree there is one.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C")])
        >>> [tax.names[path].tolist() for path in tax.paths("C")]
        [['A', 'C'], ['B', 'C']]
        """
        found: list[IntArray] = []
        waiting = [[self.index(node)]]
        while waiting and len(found) < most:
            path = waiting.pop()
            above = [] if self.kind == "graph" else [p for p in self.parents(path[-1]).tolist() if p != self.root]
            if above:
                waiting += [[*path, p] for p in above[::-1]]
            else:
                found.append(np.array(path[::-1], dtype=np.int32))
        return found

    def descendants(self, node: str | int, *, include_self: bool = True) -> IntArray:
        """The node and its descendants."""
        v = self.index(node)
        below = closure.descendant_sets(self, np.array([v], dtype=np.int32))[1]
        return below if include_self else below[below != v]

    def lca(self, a: Nodes, b: Nodes) -> int | IntArray | list[IntArray]:
        """Lowest common ancestors of nodes or of arrays of nodes; see `linnaeus.taxonomy.distance`."""
        from linnaeus.taxonomy import distance

        return distance.lowest_common_ancestors(self, a, b)

    def path_length(self, a: Nodes, b: Nodes) -> int | IntArray:
        """Number of edges on the path between nodes or arrays of nodes; see `linnaeus.taxonomy.distance`."""
        from linnaeus.taxonomy import distance

        return distance.path_length(self, a, b)

    # -- label sets ----------------------------------------------------------------------------------------------------

    @cached_property
    def ancestor_matrix(self) -> CSR:
        """Row v holds the ancestors of v and v itself, without the root (n_nodes x n_nodes)."""
        return closure.ancestor_matrix(self)

    def close(self, Y: Matrix, *, keep_root: bool = True) -> CSR:
        """Add all ancestors but the root to every row of Y (n_docs x n_nodes); ``keep_root`` keeps a root in Y."""
        return closure.close(self, Y, keep_root=keep_root)

    def frontier(self, Y: Matrix) -> CSR:
        """Keep the most specific labels of every row: those that are not ancestors of another label."""
        return closure.frontier(self, Y)

    def indicator(self, labels: Iterable[object], *, unknown: str = "error") -> CSR:
        """Labels as a 0/1 matrix in CSR form (n_docs x n_nodes), columns in the order of ``names``.

        Parameters
        ----------
        labels : iterable
            One label or a list of labels per document. An alias stands for its node.
        unknown : {"error", "drop", "replace"}, default="error"
            What to do with labels that are not nodes: raise an error that names the replacement or the nearest node,
            drop them, or replace deprecated ids with exactly one replacement and raise an error for the others.

        Returns
        -------
        CSR matrix
            The indicator, int8.

        Examples
        --------
        >>> tax = Taxonomy.from_edges([("Root", "A"), ("A", "AA")])
        >>> tax.indicator([["A", "AA"], []]).toarray().tolist()
        [[0, 1, 1], [0, 0, 0]]
        """
        return closure.indicator(self, labels, unknown=unknown)

    def labels(self, Y: Matrix) -> list[list[str]]:
        """Rows of an indicator as lists of names; the inverse of `indicator`."""
        return closure.labels(self, Y)

    # -- identity ------------------------------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names and edges, which identifies the taxonomy of a model; display labels do not count."""
        digest = hashlib.sha256(f"{self.kind}\n{self.root}\n".encode())
        digest.update("\0".join(self.names).encode())  # a name cannot contain this character
        digest.update(self.parent_indptr.tobytes() + self.parent_indices.tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and (self is other or self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    # Frozen, so a copy can be the object itself: GridSearchCV must not copy a million nodes for every fit.
    def __deepcopy__(self, memo: object) -> Taxonomy:
        return self

    def __copy__(self) -> Taxonomy:
        return self

    def __sklearn_clone__(self) -> Taxonomy:
        return self

    def __reduce__(self) -> tuple[Callable[..., Taxonomy], tuple[object, ...]]:
        state = (self.names, self.parent_indptr, self.parent_indices, self.root, self.kind, self.display_labels)
        return _rebuild, (*state, dict(self.aliases), dict(self.deprecated), self._texts)

    def _repr_html_(self) -> str:
        """The upper part of the taxonomy as a tree that can be unfolded, for notebooks."""
        from linnaeus.display import escaped

        tops = self.tops.tolist() if self.root is None else [self.root]
        return f"<p>{escaped(self)}</p>" + self._html_branches(tops, 0)

    def _html_branches(self, nodes: list[int], level: int) -> str:
        from linnaeus.display import escaped

        parts = []
        for v in nodes[:_MOST_SHOWN]:
            children = self.children(v).tolist()
            name = escaped(self.titled(v))
            if not children or level >= _MOST_LEVELS:
                below = f" (+{len(self.descendants(v, include_self=False)):,})" if children else ""
                parts.append(f"<li>{name}{below}</li>")
            else:
                opened = " open" if level == 0 else ""
                inner = self._html_branches(children, level + 1)
                parts.append(f"<li><details{opened}><summary>{name}</summary>{inner}</details></li>")
        if len(nodes) > _MOST_SHOWN:
            parts.append(f"<li>{len(nodes) - _MOST_SHOWN:,} more</li>")
        return f"<ul>{''.join(parts)}</ul>"

    def __repr__(self) -> str:
        depth = int(self.depth.max(initial=0))
        return f"Taxonomy({self.kind}, {self.n_nodes:,} nodes, {len(self.leaves):,} leaves, depth {depth})"


def _rebuild(
    names: Sequence[str],
    indptr: IntArray,
    indices: IntArray,
    root: int | None,
    kind: str,
    display_labels: Sequence[str] | None,
    aliases: Mapping[str, str] | None = None,  # earlier pickles have no replacements
    deprecated: Mapping[str, Deprecated] | None = None,
    texts: Texts | None = None,
) -> Taxonomy:
    made = Taxonomy(names, indptr, indices, root=root, kind=kind, display_labels=display_labels)
    made = made.with_replacements(aliases, deprecated) if aliases or deprecated else made
    return made if texts is None else made.with_texts(texts)


def _frozen(array: A) -> A:
    array.flags.writeable = False
    return array


def _own(array: IntArray, dtype: npt.DTypeLike) -> IntArray:
    """The array, read-only; an array that a caller could still modify is copied."""
    array = np.ascontiguousarray(array, dtype=dtype)
    return array if not array.flags.writeable else _frozen(array.copy())


def _object_array(values: Sequence[str]) -> ObjectArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
