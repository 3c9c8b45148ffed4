"""The shape of a taxonomy in a few counts, in the same words wherever it is shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.taxonomy.pairs import Pairs
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["shape", "shape_of_pairs"]


def shape(taxonomy: Taxonomy) -> dict[str, Any]:
    """Counts that describe a taxonomy; tops are the nodes of level 1, depth the deepest level (the root is level 0).

    Examples
    --------
    >>> found = shape(Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")]))
    >>> found["n_tops"], found["depth"], found["nodes_per_level"]
    (2, 2, [2, 1])
    """
    n_children = np.diff(taxonomy.child_indptr)
    internal = n_children[n_children > 0]
    return {
        "kind": taxonomy.kind,
        "root": None if taxonomy.root is None else taxonomy.names[taxonomy.root],
        "n_nodes": taxonomy.n_nodes,
        "n_edges": taxonomy.n_edges,
        "n_leaves": len(taxonomy.leaves),
        "n_tops": len(taxonomy.tops),
        "n_multi_parent": 0 if taxonomy.kind == "graph" else int((np.diff(taxonomy.parent_indptr) > 1).sum()),
        "depth": int(taxonomy.depth.max(initial=0)),
        "nodes_per_level": [len(level) for level in taxonomy.levels[1:]],
        "mean_children": float(internal.mean()) if len(internal) else 0.0,
        "max_children": int(n_children.max(initial=0)),
    }


def shape_of_pairs(pairs: Pairs) -> dict[str, Any]:
    """The same counts, as far as a circular taxonomy has them: it has neither root nor levels."""
    internal = pairs.n_children[pairs.n_children > 0]
    return {
        "kind": None,
        "root": None,
        "n_nodes": len(pairs.names),
        "n_edges": len(pairs.parent),
        "n_leaves": int((pairs.n_children == 0).sum()),
        "n_tops": None,
        "n_multi_parent": int((pairs.n_parents > 1).sum()),
        "depth": None,
        "nodes_per_level": None,
        "mean_children": float(internal.mean()) if len(internal) else 0.0,
        "max_children": int(pairs.n_children.max(initial=0)),
    }
