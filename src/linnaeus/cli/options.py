"""Options that several commands share, and what they mean: which columns of a file hold what."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from linnaeus.errors import ParameterError
from linnaeus.progress import waiting

__all__ = [
    "CategoricalOption",
    "DataFormatOption",
    "HeaderOption",
    "LabelsOption",
    "TaxonomyOption",
    "TextOption",
    "UnknownOption",
    "read_labelled",
    "weighted_fields",
]

TaxonomyOption = Annotated[
    str | None, typer.Option("--taxonomy", "-t", help="Taxonomy file; its format is recognised.")
]
TextOption = Annotated[
    list[str] | None, typer.Option("--text", help="Text column or key; with a weight as title=2. May be repeated.")
]
LabelsOption = Annotated[str | None, typer.Option("--labels", help="Column or key of the labels.")]
CategoricalOption = Annotated[
    list[str] | None, typer.Option("--categorical", help="Column that becomes binary features.")
]
DataFormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the documents (default: recognised).")
]
HeaderOption = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the file begins with column names.")
]
UnknownOption = Annotated[str, typer.Option("--unknown", help="Labels that are not in the taxonomy: error or drop.")]


def weighted_fields(text: list[str] | None) -> dict[str, float] | None:
    """``["title=2", "abstract"]`` as {"title": 2.0, "abstract": 1.0}."""
    if not text:
        return None
    fields = {}
    for entry in text:
        name, _, weight = entry.partition("=")
        try:
            fields[name] = float(weight or 1)
        except ValueError:
            raise ParameterError(
                f"--text {entry}: the weight {weight!r} is not a number (expected for example title=2)."
            ) from None
    return fields


def read_labelled(
    paths: list[str],
    taxonomy_path: str | None,
    *,
    format: str | None = None,
    text: list[str] | None = None,
    labels: str | None = None,
    categorical: list[str] | None = None,
    header: bool | None = None,
) -> tuple[Any, Any]:
    """Documents and taxonomy: the file given, the one the documents carry, or None."""
    from linnaeus import Taxonomy
    from linnaeus.data.readers import read_dataset

    fields = weighted_fields(text)
    with waiting(f"reading {', '.join(paths)}"):
        taxonomy = None if taxonomy_path is None else Taxonomy.read(taxonomy_path)
        data = read_dataset(
            paths,
            format,
            taxonomy=taxonomy,
            text=None if fields is None else list(fields),
            labels=labels,
            categorical=categorical or None,
            header=header,
        )
    return data, taxonomy if taxonomy is not None else data.taxonomy
