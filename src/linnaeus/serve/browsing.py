"""Addresses that describe: models and their cards, and taxonomies node by node.

Nodes are parameters of the query, since names of nodes may be IRIs with slashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Request as HttpRequest
from starlette.responses import Response

from linnaeus.answering.documents import node_meant
from linnaeus.serve.models import ServedModel
from linnaeus.serve.problems import PROBLEMS, json_answer
from linnaeus.serve.service import Service
from linnaeus.taxonomy import Taxonomy

__all__ = ["router", "shown_node"]

Offset = Annotated[int, Query(ge=0, le=10**9, description="Number of nodes to leave out.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of nodes to return.")]
NodeName = Annotated[str, Query(max_length=2000, description="Name of a node, or a display label of one node only.")]


class BrowsingHandlers:
    """What the addresses of models and taxonomies answer."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def models(self, http: HttpRequest) -> Response:
        """The models that are served."""
        found = [{**served.reference, "kind": type(served.model.estimator).__name__} for served in self.service.models]
        return json_answer(http, models=found)

    def card(self, http: HttpRequest, name: str) -> Response:
        """The card of a model: what it is, what it takes, what it can answer."""
        served = self.service.models.get(name)
        return json_answer(http, **served.card, reload_failure=self.service.models.failures.get(name))

    def taxonomy(self, http: HttpRequest, name: str) -> Response:
        """Size, depth and languages of the taxonomy."""
        served = self.service.models.get(name)
        tax = served.taxonomy
        return json_answer(
            http,
            model=served.reference,
            nodes=tax.n_nodes,
            edges=tax.n_edges,
            leaves=len(tax.leaves),
            tops=len(tax.tops),
            depth=int(tax.depth.max()) if tax.n_nodes else 0,
            languages=tax.texts.languages,
            texts=tax.texts.kinds,
        )

    def tops(self, http: HttpRequest, name: str, offset: Offset = 0, limit: Limit = 100) -> Response:
        """The nodes at the top, page by page."""
        served = self.service.models.get(name)
        return _page(http, served, served.taxonomy.tops.tolist(), offset, limit)

    def children(
        self, http: HttpRequest, name: str, node: NodeName, offset: Offset = 0, limit: Limit = 100
    ) -> Response:
        """The children of a node, page by page."""
        served = self.service.models.get(name)
        v = _index(served.taxonomy, node)
        return _page(http, served, served.taxonomy.children(v).tolist(), offset, limit)

    def node(self, http: HttpRequest, name: str, node: NodeName) -> Response:
        """A node with its texts in all languages, its parents, and the number of its children."""
        served = self.service.models.get(name)
        tax = served.taxonomy
        v = _index(tax, node)
        texts = [{"kind": t.kind, "language": t.language or None, "text": t.text} for t in tax.texts.of(v)]
        parents = [shown_node(tax, int(p)) for p in tax.parents(v) if int(p) != tax.root]
        return json_answer(
            http,
            model=served.reference,
            **shown_node(tax, v),
            depth=int(tax.depth[v]),
            texts=texts,
            parents=parents,
            answerable=bool((served.model.nodes_ == v).any()),
        )

    def paths(
        self, http: HttpRequest, name: str, node: NodeName, limit: Annotated[int, Query(ge=1, le=100)] = 10
    ) -> Response:
        """The paths from the top to a node; there are several where nodes have several parents."""
        served = self.service.models.get(name)
        tax = served.taxonomy
        v = _index(tax, node)
        found = [[shown_node(tax, int(u)) for u in path] for path in tax.paths(v, limit)]
        return json_answer(http, model=served.reference, label=str(tax.names[v]), paths=found)

    def search(
        self,
        http: HttpRequest,
        name: str,
        q: Annotated[str, Query(max_length=1000, description="Beginning of a text or code, or something similar.")],
        limit: Annotated[int, Query(ge=1, le=1000)] = 10,
        language: Annotated[str | None, Query(max_length=50)] = None,
    ) -> Response:
        """Nodes by labels, alternative labels and codes: exact matches, beginnings, and similar texts."""
        served = self.service.models.get(name)
        tax = served.taxonomy
        found = [
            {**shown_node(tax, m.node), "score": round(m.score, 6), "text": m.text, "kind": m.kind, "how": m.how}
            for m in tax.find(q, limit, language)
        ]
        return json_answer(http, model=served.reference, matches=found)


def router(service: Service) -> APIRouter:
    """The addresses of models and taxonomies."""
    api = APIRouter(prefix="/api/v1/models", responses=PROBLEMS)
    on = BrowsingHandlers(service)
    api.get("", tags=["models"])(on.models)
    api.get("/{name}", tags=["models"])(on.card)
    api.get("/{name}/taxonomy", tags=["taxonomy"])(on.taxonomy)
    api.get("/{name}/taxonomy/tops", tags=["taxonomy"])(on.tops)
    api.get("/{name}/taxonomy/children", tags=["taxonomy"])(on.children)
    api.get("/{name}/taxonomy/node", tags=["taxonomy"])(on.node)
    api.get("/{name}/taxonomy/paths", tags=["taxonomy"])(on.paths)
    api.get("/{name}/taxonomy/search", tags=["taxonomy"])(on.search)
    return api


def _index(tax: Taxonomy, node: str) -> int:
    return tax.index(node_meant(tax, node))


def shown_node(tax: Taxonomy, v: int) -> dict[str, object]:
    """A node as lists show it."""
    return {"label": str(tax.names[v]), "name": tax.display(v), "children": len(tax.children(v))}


def _page(http: HttpRequest, served: ServedModel, nodes: Sequence[int], offset: int, limit: int) -> Response:
    tax = served.taxonomy
    shown = [shown_node(tax, v) for v in nodes[offset : offset + limit]]
    after = offset + limit if offset + limit < len(nodes) else None
    return json_answer(http, model=served.reference, total=len(nodes), offset=offset, next_offset=after, nodes=shown)
