"""`linnaeus explain`: the exact contribution of each word to every node of the path."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from linnaeus.cli.console import JsonOption, print_json, print_table
from linnaeus.errors import DataError, ParameterError

__all__ = ["explain"]


def explain(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    text: Annotated[str | None, typer.Option("--text", help="The document; or use --data and --id.")] = None,
    data: Annotated[str | None, typer.Option("--data", "-d", help="File with the document.")] = None,
    document: Annotated[str | None, typer.Option("--id", help="Its id, or its number from 0.")] = None,
    node: Annotated[str | None, typer.Option("--node", help="Node to explain (default: the best one).")] = None,
    k: Annotated[int, typer.Option("--top", "-k", min=1, help="Contributions to show per node.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show which words speak for and against each node of the path."""
    from linnaeus import store

    loaded = store.load(model)
    if not hasattr(loaded, "explain"):
        raise DataError(f"{type(loaded).__name__} has no explanations.")
    steps = loaded.explain(_document(loaded, text, data, document), node)
    if as_json:
        print_json([_plain(step, loaded.taxonomy_, k) for step in steps])
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


def _document(model: Any, text: str | None, data: str | None, name: str | None) -> Any:
    from linnaeus.cli.predicting import documents_for

    if (text is None) == (data is None):
        raise ParameterError("Give the document either as --text or as --data with --id.")
    if text is not None:
        features = getattr(model, "features_", None)
        fields = list(getattr(features, "weights_", {"text": 1.0}))
        if features is None:
            raise DataError("The model was trained on vectors; give the document as --data FILE --id NAME.")
        return (
            text
            if len(fields) == 1 and not features.kinds_
            else {**dict.fromkeys([*fields, *features.kinds_], ""), fields[0]: text}
        )
    documents = documents_for(model, [str(data)])
    ids = documents.ids or [str(i) for i in range(len(documents))]
    if name is None or name not in ids:
        raise ParameterError(f"--id {name}: {data} has no such document; its ids begin with {', '.join(ids[:3])}.")
    chosen = documents.take([ids.index(name)])
    if chosen.fields is not None:
        return (
            {field: values[0] for field, values in chosen.fields.items()}
            if len(chosen.fields) > 1
            else chosen.documents[0]
        )
    return chosen.documents if chosen.X is not None else chosen.documents[0]


def _plain(step: Any, taxonomy: Any, k: int) -> dict[str, Any]:
    contributions = [[str(f), float(c)] for f, c in zip(step.features[:k], step.contributions[:k], strict=True)]
    return {
        "node": step.node,
        "display": taxonomy.display(step.node),
        "score": step.score,
        "constant": step.intercept,
        "contributions": contributions,
        "others": float(step.contributions[k:].sum()),
    }
