"""What every command shares: JSON or a table on stdout, messages and progress bars on stderr."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.errors import visible
from linnaeus.progress import progress, waiting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from linnaeus.data import Dataset

__all__ = [
    "STARTED",
    "JsonOption",
    "in_words",
    "note",
    "note_columns",
    "print_json",
    "print_table",
    "progress",
    "show",
    "waiting",
]

STARTED = time.perf_counter()  # when the command was started, nearly

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(value: object) -> None:
    """Print one JSON document on stdout; NumPy scalars and arrays are written as plain numbers."""
    json.dump(value, sys.stdout, ensure_ascii=False, default=_plain)
    sys.stdout.write("\n")


def _plain(value: object) -> object:
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    return str(value)


_COUNTS = {"n_docs": "documents", "n_tops": "top nodes", "n_multi_parent": "nodes with several parents"}


def in_words(name: str) -> str:
    """The name of a value in tables: leaves for ``n_leaves``, mean children for ``mean_children``."""
    return _COUNTS.get(name, name.removeprefix("n_").replace("_", " "))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table on stdout: numbers right-aligned, floats with four digits; not truncated outside a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    table = Table(box=SIMPLE_HEAD)
    for i, column in enumerate(columns):
        numeric = all(row[i] is None or isinstance(row[i], (int, float)) for row in cells)
        # On a narrow terminal long texts wrap; numbers are never truncated.
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in cells:
        table.add_row(*(Text(_cell(value)) for value in row))
    if title is not None:
        show(Text(title, style="italic"))  # the table would wrap its own title to its width
    show(table)


def show(renderable: RenderableType) -> None:
    """Print an object of rich on stdout, never wider than the terminal; a closed pipe is left to the entry point."""
    from rich.console import Console

    at_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if at_terminal else 200
    page = io.StringIO()
    Console(file=page, width=width, force_terminal=at_terminal, legacy_windows=False).print(renderable)
    sys.stdout.write(page.getvalue())


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else visible(str(value))


def note_columns(documents: Dataset) -> None:
    """Print on stderr how the columns of a file were read, and what was left out or replaced."""
    from linnaeus.data.dataset import columns_line

    line = columns_line(documents)
    if line:
        note(f"{documents.source}: {line}")
    for name, text in documents.notes.items():
        if name != "header":
            note(f"note: {name.replace('_', ' ')}: {text}")


def note(message: str) -> None:
    """Print a line on stderr."""
    print(visible(message), file=sys.stderr)
