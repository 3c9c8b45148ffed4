"""`linnaeus explain`: the exact contribution of each word to every node of the path."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import JsonOption, note, print_json, print_table
from linnaeus.cli.predicting import documents_for, main_field
from linnaeus.errors import DataError, ParameterError

__all__ = ["explain"]


def explain(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    text: Annotated[str | None, typer.Option("--text", help="The document; or use --data and --id.")] = None,
    data: Annotated[str | None, typer.Option("--data", "-d", help="File with the document.")] = None,
    document: Annotated[str | None, typer.Option("--id", help="Its id, or its number from 0.")] = None,
    format: options.DataFormatOption = None,
    header: options.HeaderOption = None,
    node: Annotated[
        str | None, typer.Option("--node", help="Node to explain, or its display label (default: the best answer).")
    ] = None,
    k: Annotated[int, typer.Option("--top", "-k", min=1, help="Contributions to show per node.")] = 10,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=0, help="Similar training documents to show, where the model kept them.")
    ] = 3,
    as_json: JsonOption = False,
) -> None:
    """Show which words speak for and against each node of the path."""
    from linnaeus import store

    loaded = store.load(model)
    if not hasattr(loaded, "explain"):
        raise DataError(f"{type(loaded).__name__} has no explanations.")
    if (text is None) == (data is None):
        raise typer.BadParameter("Give the document either as --text or as --data with --id.")
    given = _from_text(loaded, text) if text is not None else _from_file(loaded, str(data), document, format, header)
    node = None if node is None else options.node_meant(loaded.taxonomy_, node)
    steps = loaded.explain(given, node)
    if node is not None and steps[-1].node != node:
        note(f"note: {node} itself has no score; its path is shown as far as it was trained")
    kept = getattr(getattr(loaded, "model_", loaded), "kept_", None) is not None
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
        title = f"{loaded.taxonomy_.display(step.node)}: score {step.score:+.4f}"
        print_table(["feature", "contribution"], rows, title=title)
        if step.against is not None:
            _show_rival(step, loaded.taxonomy_, k)
        if near.get(step.node):
            found = [(n.name, n.similarity, ", ".join(n.labels)) for n in near[step.node]]
            title = f"nearest documents at or below {loaded.taxonomy_.display(step.node)}"
            print_table(["document", "similarity", "labels"], found, title=title)


def _show_rival(step: Any, taxonomy: Any, k: int) -> None:
    """What spoke for the node and not for its runner-up."""
    rival = step.against
    rows = [(f, float(c)) for f, c in zip(rival.features[:k], rival.contributions[:k], strict=True)]
    rest = float(rival.contributions[k:].sum())
    rows += [(f"{len(rival.contributions) - k} others", rest)] if rest else []
    title = f"  rather than {taxonomy.display(rival.rival)} ({rival.rival_score:+.4f}): by {rival.margin:+.4f}"
    print_table(["feature", "difference"], [*rows, ("constant", rival.intercept)], title=title)


def _from_text(model: Any, text: str) -> Any:
    """A text as the model takes it: as the first field where there are several."""
    features: Any = getattr(model, "features_", None)
    if hasattr(features, "vocabulary_") and hasattr(features, "alphabet"):
        return text  # a sequence
    if not hasattr(features, "weights_"):
        raise DataError("The model was trained on vectors; give the document as --data FILE --id NAME.")
    fields = [*features.weights_, *features.kinds_]
    given: Any = text if len(fields) == 1 else {**dict.fromkeys(fields, ""), main_field(features): text}
    if not features.transform([text] if len(fields) == 1 else {name: [value] for name, value in given.items()}).nnz:
        note("note: the model knows no word of this text")
    return given


def _from_file(model: Any, data: str, name: str | None, format: str | None, header: bool | None) -> Any:
    documents = documents_for(model, [data], options.Reading(format, header=header))
    ids = documents.ids or [str(i) for i in range(len(documents))]
    if name is None:
        raise typer.BadParameter(f"Say which document with --id; the ids begin with {', '.join(ids[:3])}.")
    number = int(name) if name.isdecimal() and int(name) < len(ids) else None
    if name not in ids and number is None:
        raise ParameterError(f"--id {name}: {data} has no such document; its ids begin with {', '.join(ids[:3])}.")
    chosen = documents.take([ids.index(name) if name in ids else number])
    if chosen.X is not None:
        return chosen.X
    fields = chosen.fields or {"sequence": chosen.sequences}
    return {field: values[0] for field, values in fields.items()} if len(fields) > 1 else chosen.documents[0]


def _plain(step: Any, taxonomy: Any, k: int, near: Any = None) -> dict[str, Any]:
    contributions = [[str(f), float(c)] for f, c in zip(step.features[:k], step.contributions[:k], strict=True)]
    more: dict[str, Any] = {}
    if step.against is not None:
        rival = step.against
        shown = zip(rival.features[:k], rival.contributions[:k], strict=True)
        more["against"] = {
            "rival": rival.rival,
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
        "constant": step.intercept,
        "contributions": contributions,
        "others": float(step.contributions[k:].sum()),
        **more,
    }
