"""`linnaeus models`: what exists, with one line each."""

from __future__ import annotations

from linnaeus.cli.console import JsonOption, print_json, print_table

__all__ = ["models"]


def models(as_json: JsonOption = False) -> None:
    """List the models."""
    from linnaeus.registry import MODELS

    if as_json:
        print_json([{"name": name, "also": list(e.aliases), "summary": e.summary} for name, e in MODELS.items()])
    else:
        print_table(
            ["model", "also", "what it is"], [(name, ", ".join(e.aliases), e.summary) for name, e in MODELS.items()]
        )
