"""networkx graphs: a DiGraph (parent -> child) is a tree or DAG, a Graph is an undirected graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linnaeus.errors import LinnaeusError, TaxonomyError
from linnaeus.taxonomy.formats.draft import Draft
from linnaeus.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_networkx", "to_networkx"]


def from_networkx(
    graph: nx.Graph, *, kind: str | None = None, root: str | None = "auto", label: str = "label"
) -> Taxonomy:
    """A taxonomy from a networkx graph; the node attribute ``label`` is the display label.

    Examples
    --------
    >>> import networkx as nx
    >>> from_networkx(nx.DiGraph([("R", "A"), ("R", "B")]))
    Taxonomy(tree, 3 nodes, 2 leaves, depth 1)
    """
    draft = Draft("the networkx graph", repeats=True)
    for node, attributes in graph.nodes(data=True):
        if str(node) in draft.index:
            raise TaxonomyError(f"Two nodes of the networkx graph have the name {str(node)!r}.")
        draft.node(str(node), str(attributes.get(label) or "") or None)
    for above, below in graph.edges():
        draft.edge(str(above), str(below))
    if kind is None:
        kind = graph.graph.get("kind") if graph.is_directed() else "graph"
    if root == "auto" and "root" in graph.graph:
        root = graph.graph["root"]
    return draft.taxonomy(kind=kind, root=root)


def to_networkx(taxonomy: Taxonomy) -> nx.Graph:
    """A networkx DiGraph (parent -> child), or Graph, with the node attribute ``label``; keeps ``kind`` and ``root``.

    Examples
    --------
    >>> sorted(to_networkx(Taxonomy.from_edges([("R", "A"), ("R", "B")])).successors("R"))
    ['A', 'B']
    """
    try:
        import networkx as nx
    except ImportError:
        raise LinnaeusError("networkx is not installed: pip install linnaeus[networkx]") from None
    root = None if taxonomy.root is None else taxonomy.names[taxonomy.root]
    graph = (nx.Graph if taxonomy.kind == "graph" else nx.DiGraph)(kind=taxonomy.kind, root=root)
    graph.add_nodes_from((name, {"label": taxonomy.display(v)}) for v, name in enumerate(taxonomy.names))
    for v in range(taxonomy.n_nodes):
        graph.add_edges_from((taxonomy.names[p], taxonomy.names[v]) for p in taxonomy.parents(v))
    return graph
