"""`linnaeus audit`: check the log of what a service has answered and stored."""

from __future__ import annotations

from typing import Annotated

import typer

from linnaeus.cli.common import JsonOption, note, print_json, print_table

__all__ = ["app"]

app = typer.Typer(name="audit", help="Check the log of a service.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command()
def verify(
    folder: Annotated[str, typer.Argument(help="The folder that `linnaeus serve --store` uses.")],
    database: Annotated[
        str | None, typer.Option("--database", help="The PostgreSQL database of the store, if it has one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that no line of the audit log was changed, removed or added, and that the store agrees with it.

    The exit code is 1 if something is wrong. Erased texts are not an error.

    linnaeus audit verify coding/
    """
    from dataclasses import asdict
    from pathlib import Path

    from linnaeus.serve.store.audit import verify as verified
    from linnaeus.serve.store.database import open_database

    path = Path(folder)
    has_store = database is not None or (path / "store.sqlite").exists()
    store = open_database(path, database) if has_store else None
    try:
        report = verified(path, store)
    finally:
        if store is not None:
            store.close()
    if as_json:
        print_json({"intact": not report.problems, **asdict(report)})
    else:
        rows = [("lines", report.lines), *sorted(report.kinds.items())]
        if store is not None:
            rows += [("verdicts in the store", report.verdicts), ("texts in the store", report.texts)]
            rows += [("erased texts", report.erased)]
        print_table(["audit log", ""], [*rows, ("hash of the last line", report.last)])
        if report.incomplete:
            note("note: the last line is incomplete, as after a kill; the service completes it when it starts")
        for problem in report.problems[:20]:
            note(f"problem: {problem}")
        if len(report.problems) > 20:
            note(f"and {len(report.problems) - 20} more")
        note("the log was changed" if report.problems else "the log is intact")
    if report.problems:
        raise typer.Exit(1)
