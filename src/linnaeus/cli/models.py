"""`linnaeus models`: what exists with one line each, or the parameters of one."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from linnaeus.cli.console import JsonOption, print_json, print_table

__all__ = ["models"]


def models(
    name: Annotated[str | None, typer.Argument(help="Show the parameters of this model.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the models, or the parameters of one."""
    from linnaeus.registry import MODELS

    if name is not None:
        _parameters(name, as_json)
    elif as_json:
        print_json([{"name": key, "also": list(e.aliases), "summary": e.summary} for key, e in MODELS.items()])
    else:
        rows = [(key, ", ".join(e.aliases), e.summary) for key, e in MODELS.items()]
        print_table(["model", "also", "what it is"], rows)


def _parameters(name: str, as_json: bool) -> None:
    from linnaeus import registry

    name = registry.find_model(name)
    kind: Any = registry.resolve(name)
    defaults = {key: p.default for key, p in inspect.signature(kind).parameters.items() if key != "taxonomy"}
    if as_json:
        print_json({"name": name, "summary": registry.MODELS[name].summary, "parameters": defaults})
        return
    print(f"{name}: {registry.MODELS[name].summary}")
    print_table(["parameter (--set NAME=VALUE)", "default"], [(key, repr(value)) for key, value in defaults.items()])
