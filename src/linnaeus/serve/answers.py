"""Requests to answers: one request of the service gives the records that the command line and Python give.

Documents with the same rules are answered together, whatever their candidates are; the answer to a document does not
depend on the others, except for decoders that look at a whole batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.answering.documents import as_dataset, named_rules, node_meant
from linnaeus.answering.explanations import explained_nodes, plain_explanation, single_document
from linnaeus.answering.records import Answering, PromisedRisk, Record
from linnaeus.decoding import decoder as make_decoder
from linnaeus.decoding.rules import RULES_OF_NODES, Rules
from linnaeus.errors import LinnaeusError, ParameterError
from linnaeus.order import best_columns
from linnaeus.serve.schemas import Document, Explain, NBest, Predict, Probabilities, Request, Risk, Top

if TYPE_CHECKING:
    from linnaeus.decoding import Decoder
    from linnaeus.serve.models import ServedModel

__all__ = ["explain", "probabilities", "records"]

_AT_ONCE = 256  # documents between two looks at the clock


def records(served: ServedModel, request: Request, deadline: float, first: int = 1) -> list[Record]:
    """One record per document, in their order; documents without an id are numbered from ``first``."""
    documents = request.given()
    decide = _decoder(request)
    whole_request = as_dataset(served.model, [document.content for document in documents])
    found: list[Record | None] = [None] * len(documents)
    groups = _by_rules(served, request, documents)
    for rules, rows in groups:
        answering = _answering(served, request, rules, decide)
        answering.texts = served.texts
        whole = not answering.top and getattr(answering.decoder, "whole_batch", False)
        for start in range(0, len(rows), len(rows) if whole else _AT_ONCE):
            part = rows[start:] if whole else rows[start : start + _AT_ONCE]
            check_time(deadline)
            if rules and Rules.of(rules).per_document:
                lists = rules["candidates"]
                assert isinstance(lists, list)
                answering.rules = {**rules, "candidates": lists[start : start + len(part)]}
            try:
                batch = whole_request if len(part) == len(documents) else whole_request.take(part)
                records = list(answering.records(batch))
            except LinnaeusError as error:
                if len(groups) == 1:
                    raise
                one = _id(documents[rows[0]], first + rows[0])
                raise type(error)(f"Documents with the rules of {one!r}: {error}") from error
            for i, record in zip(part, records, strict=True):
                record["id"] = _id(documents[i], first + i)
                found[i] = record
    return [record for record in found if record is not None]


def probabilities(served: ServedModel, request: Probabilities, deadline: float) -> list[dict[str, object]]:
    """Probabilities of the given nodes, or of the k most probable ones, for each document."""
    _require_probabilities(served)
    taxonomy, inner = served.taxonomy, served.model.estimator
    documents = [Document(text=one) if isinstance(one, str) else one for one in request.documents]
    if any(document.rules for document in documents):
        raise ParameterError("Probabilities do not depend on rules; leave out 'rules', or use predict or top.")
    wanted = None if request.nodes is None else [taxonomy.index(node_meant(taxonomy, n)) for n in request.nodes]
    whole_request = as_dataset(served.model, [document.content for document in documents])
    results: list[dict[str, object]] = []
    for start in range(0, len(documents), _AT_ONCE):
        check_time(deadline)
        part = documents[start : start + _AT_ONCE]
        X = served.model.matrix(whole_request.take(range(start, start + len(part))).documents)
        P, nodes = inner.predict_proba(X), inner.nodes_
        if wanted is not None and not np.isin(wanted, nodes).all():
            of_all = inner.node_probabilities(X)
            of_all[:, nodes] = P
            P, nodes = of_all, np.arange(taxonomy.n_nodes)
        if wanted is None:
            columns = best_columns(P, min(request.k, P.shape[1]))
        else:
            place = {node: i for i, node in enumerate(nodes.tolist())}
            columns = np.tile([place[node] for node in wanted], (len(part), 1))
        for i, document in enumerate(part):
            shown = [(int(nodes[c]), float(P[i, c])) for c in columns[i]]
            entries = [
                {"label": str(taxonomy.names[v]), "name": taxonomy.display(v), "probability": round(p, 6)}
                for v, p in shown
            ]
            results.append({"id": _id(document, start + i + 1), "probabilities": entries})
    return results


def explain(served: ServedModel, request: Explain) -> list[dict[str, object]]:
    """The contributions to every node of the paths to a node, or to the labels of the answer."""
    document = request.document if isinstance(request.document, Document) else Document(text=request.document)
    if document.rules is not None:
        raise ParameterError("An explanation is of a score, which does not depend on rules; leave out 'rules'.")
    model, taxonomy = served.model, served.taxonomy
    batch = as_dataset(model, [document.content])
    given = single_document(batch)
    node = None if request.node is None else node_meant(taxonomy, request.node)
    steps = explained_nodes(model, batch, given, node)
    kept = model.estimator.kept_ is not None and request.neighbours > 0
    return [
        plain_explanation(
            step, taxonomy, request.k, model.nearest(given, request.neighbours, step.node) if kept else None
        )
        for step in steps
    ]


def check_time(deadline: float) -> None:
    """Raise `TimeoutError` once a deadline of `time.monotonic` has passed."""
    if time.monotonic() > deadline:
        raise TimeoutError


# -- parts of a request ------------------------------------------------------------------------------------------------


def _by_rules(
    served: ServedModel, request: Request, documents: Sequence[Document]
) -> list[tuple[dict[str, object], list[int]]]:
    """Rules that say something, and the documents that have them; candidates are a list for each of these documents.

    A promised risk has the candidates of the whole group, if any, so that documents with others are another group.
    """
    common = {} if request.rules is None else request.rules.given()
    if not common and all(document.rules is None for document in documents):
        return [({}, list(range(len(documents))))]
    groups: dict[str, tuple[dict[str, object], list[int], list[object]]] = {}
    for i, document in enumerate(documents):
        rules = common if document.rules is None else {**common, **document.rules.given()}
        own = rules.get("candidates")
        shared = rules if isinstance(request, Risk) else {**rules, "candidates": own is not None}
        found = groups.setdefault(json.dumps(shared, sort_keys=True), (rules, [], []))
        found[1].append(i)
        found[2].append(own)
    result = []
    for rules, rows, lists in groups.values():
        each = {} if lists.count(lists[0]) == len(lists) else {"candidates": lists}
        named = named_rules({**rules, **each}, served.taxonomy)
        result.append(({name: value for name, value in named.items() if value}, rows))
    return result


def _answering(served: ServedModel, request: Request, rules: dict[str, object], decide: Decoder | None) -> Answering:
    """The form of the answers that is requested."""
    if isinstance(request, Top):
        return _ranking(served, request, rules)
    if isinstance(request, Risk):
        return _promising(served, request, rules)
    assert isinstance(request, Predict | NBest)
    if isinstance(request, Predict) and request.probabilities:
        _require_probabilities(served)
    return Answering(
        served.model,
        closed=request.closed,
        decoder=decide,
        probabilities=isinstance(request, Predict) and request.probabilities,
        rules=rules,
        n_best=request.n if isinstance(request, NBest) else None,
        answer_unknown=request.answer_unknown,
    )


def _ranking(served: ServedModel, request: Top, rules: dict[str, object]) -> Answering:
    """The best nodes."""
    of_sets = [name for name in rules if name not in RULES_OF_NODES]
    if of_sets:
        raise ParameterError(f"top ranks single nodes; the rule {of_sets[0]!r} applies to label sets.")
    if request.ancestors and not request.probabilities:
        raise ParameterError("'ancestors' requires 'probabilities'.")
    if request.probabilities:
        _require_probabilities(served)
    return Answering(
        served.model,
        top=request.k,
        probabilities=request.probabilities,
        rules=rules,
        ancestors=request.ancestors,
        answer_unknown=request.answer_unknown,
    )


def _promising(served: ServedModel, request: Risk, rules: dict[str, object]) -> Answering:
    """Label sets at a promised risk."""
    if served.model.risk_control_ is None:
        raise ParameterError("risk: the model is not calibrated; run `linnaeus calibrate MODEL UNSEEN` first.")
    for name in ("require", "at_least"):
        if name in rules:
            raise ParameterError(f"risk and {name!r} contradict each other: an uncertain document gets no answer.")
    promise: PromisedRisk = {
        "risk": request.risk,
        "risk_of": request.risk_of,
        "confidence": request.confidence,
        "rules": rules or None,
    }
    return Answering(served.model, closed=request.closed, rules=rules, promise=promise, n_candidates=request.candidates)


def _decoder(request: Request) -> Decoder | None:
    given = getattr(request, "decoder", None)
    return None if given is None else make_decoder(given)


def _require_probabilities(served: ServedModel) -> None:
    if not served.has_probabilities:
        raise ParameterError(
            f"The model {served.name!r} has no probabilities; run `linnaeus calibrate` on its folder first."
        )


def _id(document: Document, number: int) -> str:
    return str(number) if document.id is None else document.id
