"""`linnaeus serve`: models behind a REST interface."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from linnaeus.cli.common import Group, note, with_groups
from linnaeus.errors import ParameterError

__all__ = ["DocumentShares", "address", "import_quickly", "prepare_service", "serve"]


def _kept(*names: str, help: str) -> object:
    return typer.Option(*names, help=help, rich_help_panel="Documents and verdicts")


def _share(*names: str, help: str, min: int | None = None, max: int | None = None) -> object:
    return typer.Option(*names, help=help, min=min, max=max, rich_help_panel="Shares of documents")


@dataclass(frozen=True, kw_only=True)
class DocumentShares(Group):
    """Shares of documents that are set apart; fields are those of `Settings`."""

    control: Annotated[float, _share("--control", min=0, max=1, help="Share of random control documents.")] = 0.05
    blind: Annotated[float, _share("--blind", min=0, max=1, help="Share shown without suggestions.")] = 0.02
    double: Annotated[float, _share("--double", min=0, max=1, help="Share coded by two coders.")] = 0.05
    seed: Annotated[int, _share("--seed", help="Seed that selects these documents.")] = 0


@dataclass(frozen=True, kw_only=True)
class Keeping(Group):
    """What is kept of documents, verdicts and answers; fields are those of `Settings`."""

    store: Annotated[
        str | None, _kept("--store", help="Folder in which documents and verdicts of coders are kept.")
    ] = None
    database: Annotated[
        str | None, _kept("--database", help="PostgreSQL instead of a file in --store: postgresql://...")
    ] = None
    memory: Annotated[bool, _kept("--memory/--no-memory", help="Show decisions on similar documents.")] = True
    training: Annotated[
        list[str] | None, _kept("--training", help="Labelled documents that later trainings include.")
    ] = None
    audit_answers: Annotated[
        bool, _kept("--audit-answers/--no-audit-answers", help="Record all answers in the log.")
    ] = True

    def settings(self) -> dict[str, Any]:
        """Parameters of `Settings`; paths stay valid in other folders."""
        return {**self.given(), "training": tuple(str(Path(file).resolve()) for file in self.training or ())}


@with_groups
def serve(
    models: Annotated[
        list[str], typer.Argument(help="Model folders, folders of model folders, or NAME=FOLDER.", show_default=False)
    ],
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of processes.")] = 1,
    max_bytes: Annotated[
        str, typer.Option("--max-bytes", help="Maximum size of a request, such as 16MB.", metavar="SIZE")
    ] = "16MB",
    max_documents: Annotated[
        int, typer.Option("--max-documents", min=1, help="Maximum number of documents in a request.")
    ] = 1000,
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Time limit of a request in seconds.")] = 60.0,
    reload: Annotated[
        bool, typer.Option("--reload/--no-reload", help="Load a model again when its folder is replaced.")
    ] = True,
    proxy_header: Annotated[
        str | None,
        typer.Option("--proxy-header", help="Header in which a proxy on this machine names the user."),
    ] = None,
    rate: Annotated[
        int, typer.Option("--rate", min=0, help="Maximum number of requests per minute and user; 0: no limit.")
    ] = 0,
    *,
    kept: Keeping,
    shares: DocumentShares,
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
        proxy_header=proxy_header,
        rate=rate,
        **kept.settings(),
        **shares.given(),
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
    import_quickly()


# scikit-learn imports these for functions that models do not call: `scipy.stats` takes a third of the time of all
# imports of the service, and pandas, where it is installed, another tenth. While scikit-learn is imported they are
# represented by modules that are loaded when something of theirs is used; everything else finds them as always.
_LATER = ("scipy.stats", "pandas")


class _Later(ModuleType):
    """A module that is imported when it is used."""

    def __getattr__(self, name: str) -> object:
        own = self.__name__
        if sys.modules.get(own) is self:
            del sys.modules[own]
        return getattr(importlib.import_module(own), name)


def import_quickly() -> None:
    """Import scikit-learn; does nothing where it is imported already."""
    if "sklearn" in sys.modules:
        return
    for name in _LATER:
        found = find_spec(name) if name not in sys.modules else None
        if found is not None:
            sys.modules[name] = _Later(name)
            sys.modules[name].__spec__ = found
    try:
        importlib.import_module("sklearn.utils.fixes")
    finally:
        for name in _LATER:
            if isinstance(sys.modules.get(name), _Later):
                del sys.modules[name]  # the next import loads it


def address(host: str, port: int) -> str:
    """The address of a service, also where the host is an address of IPv6."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
