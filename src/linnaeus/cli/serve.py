"""`linnaeus serve`: models behind a REST interface."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from linnaeus.cli.console import note
from linnaeus.errors import ParameterError

__all__ = ["address", "prepare_service", "serve"]

KEPT = "Documents and verdicts"  # heading of these options in --help


def serve(
    models: Annotated[
        list[str], typer.Argument(help="Model folders, folders of model folders, or NAME=FOLDER.", show_default=False)
    ],
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of processes.")] = 1,
    max_bytes: Annotated[
        str, typer.Option("--max-bytes", help="Largest body of a request, such as 16MB.", metavar="SIZE")
    ] = "16MB",
    max_documents: Annotated[
        int, typer.Option("--max-documents", min=1, help="Largest number of documents of a request.")
    ] = 1000,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, help="Seconds after which a request is given up.")
    ] = 60.0,
    reload: Annotated[
        bool, typer.Option("--reload/--no-reload", help="Load a model again when its folder is replaced.")
    ] = True,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", help="Folder in which documents and verdicts of coders are kept.", rich_help_panel=KEPT
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database", help="PostgreSQL instead of a file in --store: postgresql://...", rich_help_panel=KEPT
        ),
    ] = None,
    control: Annotated[
        float, typer.Option("--control", min=0, max=1, help="Share of random control documents.", rich_help_panel=KEPT)
    ] = 0.05,
    blind: Annotated[
        float,
        typer.Option("--blind", min=0, max=1, help="Share of documents without suggestions.", rich_help_panel=KEPT),
    ] = 0.02,
    double: Annotated[
        float, typer.Option("--double", min=0, max=1, help="Share of documents for two coders.", rich_help_panel=KEPT)
    ] = 0.05,
    memory: Annotated[
        bool,
        typer.Option("--memory/--no-memory", help="Show decisions on similar documents.", rich_help_panel=KEPT),
    ] = True,
    training: Annotated[
        list[str] | None,
        typer.Option("--training", help="Labelled documents to train on again.", rich_help_panel=KEPT),
    ] = None,
    proxy_header: Annotated[
        str | None,
        typer.Option("--proxy-header", help="Header in which a proxy on this machine names the user."),
    ] = None,
    rate: Annotated[
        int, typer.Option("--rate", min=0, help="Largest number of requests a minute of a user; 0: no limit.")
    ] = 0,
    audit_answers: Annotated[
        bool,
        typer.Option("--audit-answers/--no-audit-answers", help="Record all answers in the log.", rich_help_panel=KEPT),
    ] = True,
    seed: Annotated[int, typer.Option("--seed", help="Changes which documents these are.", rich_help_panel=KEPT)] = 0,
) -> None:
    """Serve models over HTTP: a REST interface, Annif's addresses, and metrics.

    linnaeus serve model/ --port 8000
    """
    prepare_service("serve")
    from linnaeus.engine import parse_bytes
    from linnaeus.serve.run import run
    from linnaeus.serve.settings import Settings

    settings = Settings(
        tuple(models),
        max_bytes=parse_bytes(max_bytes),
        max_documents=max_documents,
        timeout=timeout,
        reload_every=1.0 if reload else 0.0,
        workers=workers,
        store=store,
        database=database,
        control=control,
        blind=blind,
        double=double,
        seed=seed,
        audit_answers=audit_answers,
        memory=memory,
        training=tuple(str(Path(file).resolve()) for file in training or ()),
        proxy_header=proxy_header,
        rate=rate,
    )
    shown = address(host, port)
    run(
        settings,
        host,
        port,
        announce=lambda: note(f"serving at {shown} (documentation: {shown}/docs); stop with Ctrl-C"),
    )


def prepare_service(command: str) -> None:
    """Refuse a command where packages of the service are missing; otherwise import them, the later ones when used."""
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise ParameterError(f"linnaeus {command} needs {package}; install it with pip install 'linnaeus[serve]'.")
    from linnaeus.serve.quick_start import import_quickly

    import_quickly()


def address(host: str, port: int) -> str:
    """The address of a service, also where the host is an address of IPv6."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
