"""`linnaeus data`: look at documents before training on them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from linnaeus.cli.console import JsonOption, print_json, print_table

__all__ = ["app"]

app = typer.Typer(help="Look at documents and labels.", no_args_is_help=True)


@app.callback()
def _data() -> None:
    """Look at documents and labels."""


@app.command("describe")
def describe_command(
    files: Annotated[list[str], typer.Argument(help="Data files or folders; - is standard input.", show_default=False)],
    taxonomy: Annotated[str | None, typer.Option("--taxonomy", "-t", help="Taxonomy to count the labels on.")] = None,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Format of the data; recognised if not given.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Text column or key; may be repeated.")] = None,
    labels: Annotated[list[str] | None, typer.Option(help="Label column or key; may be repeated.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a table begins with names.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of the text; UTF-8 if not given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Count documents, features and labels of each file."""
    from linnaeus.data.describe import describe
    from linnaeus.data.readers import read_dataset
    from linnaeus.taxonomy import Taxonomy

    tree = None if taxonomy is None else Taxonomy.read(taxonomy)
    found = []
    for file in files:
        data = read_dataset(
            file, format, taxonomy=tree, text=text or (), labels=labels or (), header=header, encoding=encoding
        )
        found.append(describe(data))
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: list[dict[str, Any]]) -> None:
    """One column per file, one row per count."""
    flat = [dict(_flattened(counts)) for counts in found]
    names = dict.fromkeys(name for counts in flat for name in counts if name != "source")
    rows = [[name, *(_shown(counts.get(name)) for counts in flat)] for name in names]
    print_table(["", *(str(counts["source"]) for counts in flat)], rows)


def _flattened(counts: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs = []
    for name, value in counts.items():
        label = prefix + name.replace("_", " ")
        pairs += _flattened(value, f"{label}: ") if isinstance(value, dict) else [(label, value)]
    return pairs


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " / ".join(_shown(v) for v in value)
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
