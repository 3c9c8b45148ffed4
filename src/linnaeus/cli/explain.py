"""`linnaeus explain`: the exact contribution of each word to every node of the path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import JsonOption, note, print_json, print_table
from linnaeus.errors import DataError, ParameterError

if TYPE_CHECKING:
    from linnaeus.data import Dataset

__all__ = ["explain"]


@dataclass(frozen=True, kw_only=True)
class _Reading(options.Reading):
    """As everywhere, but that --id says which document is explained."""

    id: Annotated[
        str | None,
        typer.Option("--id-column", help="Column or key of the documents' ids.", rich_help_panel=options.DOCUMENTS),
    ] = None


@options.with_groups
def explain(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    *,
    document: Annotated[
        str | None, typer.Option("--document", "-D", help="The text of the document; or use --data.")
    ] = None,
    data: Annotated[str | None, typer.Option("--data", "-d", help="File with the document; - is stdin.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Id of the document in --data, or its number from 1.")] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", help="Node to explain, or its display label (default: all labels of the answer)."),
    ] = None,
    k: Annotated[int, typer.Option("--top", "-k", min=1, help="Contributions to show per node.")] = 10,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=0, help="Similar training documents to show, where the model kept them.")
    ] = 3,
    reading: _Reading,
    taxonomy: options.OptionalTaxonomy,
    verify: options.Verify = None,
    as_json: JsonOption = False,
) -> None:
    """Show which words speak for and against each node of the paths to the labels."""
    from linnaeus.cli.documents import documents_for, known_terms, texts_for

    if words:
        what = (
            "a file is given as --data" if Path(words[0]).exists() else "the text of a document is given as --document"
        )
        raise ParameterError(f"explain takes one argument, the model, and got {words[0]!r} as well; {what}.")
    if data is None and reading.text:
        raise ParameterError(f"--text {reading.text[0]} is a column of --data; the text itself is given as --document.")
    if (document is None) == (data is None):
        raise ParameterError("Give the document either as --document TEXT or as --data FILE.")
    loaded = options.load_model(model, verify)
    taxonomy.show_labels(loaded)
    if not hasattr(loaded, "explain"):
        raise DataError(f"{type(loaded).__name__} has no explanations.")
    if document is not None:
        reading.refuse("says how --data is read, and none is given")
        documents = texts_for(loaded, [document])
    else:
        documents = _chosen(documents_for(loaded, [str(data)], reading, labelled=False), str(data), id_)
    if not known_terms(loaded, documents).any():
        note("note: the model knows no word of this document; what follows are its constants")
    given = _single(documents)
    node = None if node is None else options.node_meant(loaded.taxonomy_, node)
    steps = _steps(loaded, documents, given, node)
    if node is not None and steps[-1].node != node:
        note(f"note: {node} itself has no score; its path is shown as far as it was trained")
    kept = getattr(loaded.estimator, "kept_", None) is not None
    near = {step.node: loaded.nearest(given, neighbours, step.node) for step in steps} if kept and neighbours else {}
    if as_json:
        print_json([_plain(step, loaded.taxonomy_, k, near.get(step.node)) for step in steps])
        return
    for step in steps:
        shown = [(f, float(c)) for f, c in zip(step.features[:k], step.contributions[:k], strict=True)]
        rest = float(step.contributions[k:].sum())
        rows = [
            *shown,
            *([(f"{len(step.contributions) - k} others", rest)] if rest else []),
            ("constant", step.intercept),
        ]
        how = " (approximate: changes when a feature is left out)" if step.approximate else ""
        title = f"{loaded.taxonomy_.display(step.node)}: score {step.score:+.4f}{how}"
        print_table(["feature", "contribution"], rows, title=title)
        if step.against is not None:
            _show_rival(step, loaded.taxonomy_, k)
        if near.get(step.node):
            found = [
                (n.name, n.similarity, ", ".join(map(loaded.taxonomy_.display, n.labels))) for n in near[step.node]
            ]
            title = f"nearest documents at or below {loaded.taxonomy_.display(step.node)}"
            print_table(["document", "similarity", "labels"], found, title=title)


def _steps(model: Any, documents: Dataset, given: object, node: str | None) -> list[Any]:
    """The nodes on the paths to a node, or to all labels of the answer, each once."""
    labels: list[str | None] = [node]
    if node is None:
        answer = model.taxonomy_.frontier(model.answers(documents.documents))
        labels = list(model.taxonomy_.labels(answer)[0]) or [None]
    steps = {step.node: step for label in labels for step in model.explain(given, label)}
    return list(steps.values())


def _show_rival(step: Any, taxonomy: Any, k: int) -> None:
    """What spoke for the node and not for its runner-up."""
    rival = step.against
    rows = [(f, float(c)) for f, c in zip(rival.features[:k], rival.contributions[:k], strict=True)]
    rest = float(rival.contributions[k:].sum())
    rows += [(f"{len(rival.contributions) - k} others", rest)] if rest else []
    title = f"  rather than {taxonomy.display(rival.rival)} ({rival.rival_score:+.4f}): by {rival.margin:+.4f}"
    print_table(["feature", "difference"], [*rows, ("constant", rival.intercept)], title=title)


def _chosen(documents: Any, data: str, name: str | None) -> Any:
    """The document with an id or number; a single document needs neither."""
    ids = documents.ids or [str(i) for i in range(1, len(documents) + 1)]
    if name is None and len(documents) == 1:
        return documents
    if name is None:
        raise ParameterError(
            f"{data} has {len(ids):,} documents; choose one with --id, for example {', '.join(ids[:3])}."
        )
    number = int(name) - 1 if name.isdecimal() and len(name) < 10 and 0 < int(name) <= len(ids) else None
    if name not in ids and number is None:
        raise ParameterError(f"--id {name}: {data} has no such document; its ids begin with {', '.join(ids[:3])}.")
    return documents.take([ids.index(name) if name in ids else number])


def _single(documents: Any) -> Any:
    """The only document of a data set, as `explain` takes it."""
    if documents.X is not None:
        return documents.X
    fields = documents.fields or {"sequence": documents.sequences}
    return {field: values[0] for field, values in fields.items()} if len(fields) > 1 else documents.documents[0]


def _plain(step: Any, taxonomy: Any, k: int, near: Any = None) -> dict[str, Any]:
    contributions = [[str(f), float(c)] for f, c in zip(step.features[:k], step.contributions[:k], strict=True)]
    more: dict[str, Any] = {}
    if step.against is not None:
        rival = step.against
        shown = zip(rival.features[:k], rival.contributions[:k], strict=True)
        more["against"] = {
            "rival": rival.rival,
            "display": taxonomy.display(rival.rival),
            "score": rival.rival_score,
            "margin": rival.margin,
            "constant": rival.intercept,
            "contributions": [[str(f), float(c)] for f, c in shown],
            "others": float(rival.contributions[k:].sum()),
        }
    if near is not None:
        more["nearest"] = [{"id": n.name, "similarity": n.similarity, "labels": n.labels} for n in near]
    return {
        "node": step.node,
        "display": taxonomy.display(step.node),
        "score": step.score,
        "approximate": step.approximate,
        "constant": step.intercept,
        "contributions": contributions,
        "others": float(step.contributions[k:].sum()),
        **more,
    }
