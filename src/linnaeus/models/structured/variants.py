"""Which labels, features and slacks the parameters of H-M3 ask for, and what goes together.

taxonomy   features             slack                  cost                              exact by
tree       edges                example, free, edge    symmetric, hierarchical, zero_one tree programme
tree       paths                example, free          the same                          tree programme
tree       additive, or local   example                symmetric, hierarchical           tree programme
DAG        edges                example                symmetric, hierarchical           minimum cut
graph      edges                example, free          symmetric, zero_one               junction tree
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.decoding.base import hierarchy
from linnaeus.errors import ParameterError
from linnaeus.models.fitting import check_choice
from linnaeus.models.kernels import Linear
from linnaeus.models.structured.active import ActiveBlocks
from linnaeus.models.structured.closures import ClosureStructure
from linnaeus.models.structured.faces import Face, make_face, with_constant
from linnaeus.models.structured.graph import GraphStructure
from linnaeus.models.structured.local import AdditiveFace, LocalColumns, LocalFace, local_columns
from linnaeus.models.structured.paths import PathStructure
from linnaeus.models.structured.slack import SlackTree
from linnaeus.models.structured.structure import Structure
from linnaeus.models.structured.tree import TreeStructure
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["check_variant", "variant_face", "variant_structure"]

_ORACLE_BATCH = 128  # an oracle written in Python takes hardly longer for more documents


def check_variant(model: Any) -> None:
    """Refuse parameters that do not go together, whatever the taxonomy."""
    check_choice("cost", model.cost, ("symmetric", "hierarchical", "zero_one"))
    check_choice("slack", model.slack, ("example", "free", "edge"))
    check_choice("features", model.features, ("edges", "paths", "additive"))
    if model.cost == "zero_one" and model.slack == "edge":
        raise ParameterError("cost='zero_one' is no sum over edges; slack='edge' needs another cost.")
    if model.features == "additive" and model.local_features is None:
        raise ParameterError("features='additive' needs local_features: what all edges see alike tells them not apart.")
    if model.features == "paths" and model.slack == "edge":
        raise ParameterError("slack='edge' needs features='edges'; partial paths have none.")
    if model.local_features is not None and (model.slack != "example" or model.cost == "zero_one"):
        raise ParameterError("local_features need slack='example' and cost='symmetric' or 'hierarchical'.")
    if model.local_features is not None and model.features == "paths":
        raise ParameterError("local_features need features='edges' or 'additive'.")
    plain = model.slack == "example" and model.features == "edges" and model.cost != "zero_one"
    if model.algorithm == "conditional-gradient" and not (plain and model.local_features is None):
        raise ParameterError("algorithm='conditional-gradient' is for slack='example' and features='edges' only.")


def variant_structure(model: Any, taxonomy: Taxonomy, nodes: IntArray) -> Structure:
    """The labels of a (checked) model over the nodes that it learns."""
    free, zero_one = model.slack == "free", model.cost == "zero_one"
    if taxonomy.kind == "graph":
        if model.features != "edges" or model.slack == "edge" or model.local_features is not None:
            raise ParameterError("A graph takes features='edges', slack='example' or 'free', and no local_features.")
        return GraphStructure(taxonomy, nodes, free=free)
    edges = hierarchy(taxonomy)
    if not edges.is_forest:
        if model.features != "edges" or model.slack != "example" or zero_one or model.local_features is not None:
            several = taxonomy.names[int(np.flatnonzero(np.diff(edges.parent_indptr) > 1)[0])]
            raise ParameterError(
                f"Node {several!r} has several parents: a DAG takes features='edges', slack='example', no "
                "local_features, and cost='symmetric' or 'hierarchical'."
            )
        if model.root == "paper":
            raise ParameterError("root='paper' needs a tree, and nodes of this taxonomy have several parents.")
        return ClosureStructure(taxonomy, nodes)
    if model.features == "paths":
        return PathStructure(taxonomy, nodes, free=free)
    consistent = model.train_labelings == "consistent"
    if model.slack == "example" and not zero_one and model.features == "edges":
        return TreeStructure(taxonomy, nodes, model.root, consistent=consistent)
    return SlackTree(taxonomy, nodes, model.root, consistent=consistent, slack=model.slack)


def variant_face(
    model: Any, structure: Structure, blocks: Any, X: Any, taxonomy: Taxonomy, dtype: Any
) -> tuple[Face, int | None]:
    """The documents as the solver sees them, and how many may take a turn at a time (None: as many as usual)."""
    bias = float(model.fit_intercept)
    if model.local_features is None:
        face = make_face(model.kernel_, X, structure.width, structure.columns, dtype, bias)
        return face, _ORACLE_BATCH if isinstance(blocks, ActiveBlocks) else None
    if model.kernel_ != Linear():
        raise ParameterError("local_features need kernel='linear': they are columns of X.")
    local = local_columns(model.local_features, taxonomy, structure.nodes, X.shape[1])
    if bias:
        X, local = with_constant(X, bias), LocalColumns(np.append(local.owner, -1), local.table)
    if model.features == "additive":
        tied = structure.layout.tied  # type: ignore[attr-defined]
        shared = AdditiveFace(X, structure.width, structure.columns, local, tied)
        blocks.products = shared.products
        return shared, 1
    return LocalFace(X, structure.width, structure.columns, local), 1
