"""`linnaeus card`: a card of a model for people and for the Hugging Face Hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from linnaeus.cli.common import Verify, load_model
from linnaeus.errors import DataError

__all__ = ["card"]


def card(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write, such as model/README.md (default: print it).")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Title (default: the name of the folder).")] = None,
    licence: Annotated[
        str | None, typer.Option("--licence", "--license", help="Licence of the model, such as cc-by-4.0.")
    ] = None,
    evaluation: Annotated[
        str | None, typer.Option("--evaluation", help="Output of `linnaeus evaluate --json`, whose figures are shown.")
    ] = None,
    verify: Verify = None,
) -> None:
    """Write a model card: what the model is, its labels, figures, and how to use it.

    With the metadata of the Hugging Face Hub; a model folder with its card can be uploaded as it is.

    linnaeus card model/ --output model/README.md
    """
    from linnaeus.answering.model_card import model_card
    from linnaeus.files import replace_file

    figures = None
    if evaluation is not None:
        try:
            figures = json.loads(Path(evaluation).read_text("utf-8"))
        except ValueError as error:
            raise DataError(
                f"{evaluation} is not JSON: {error}; expected what `linnaeus evaluate --json` wrote."
            ) from None
        if not isinstance(figures, dict):
            raise DataError(f"{evaluation} is not a JSON object; expected what `linnaeus evaluate --json` wrote.")
    title = name or Path(model).resolve().name
    text = model_card(model, load_model(model, verify), name=title, licence=licence, evaluation=figures)
    if output is None:
        print(text, end="")
    else:
        replace_file(output, text.encode("utf-8"))
