"""`linnaeus desk`: code documents in the browser, with the suggestions of a model."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli import common
from linnaeus.cli.common import OptionalTaxonomy, Reading, note
from linnaeus.cli.serve import DocumentShares, address, prepare_service
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.serve.service import Service
    from linnaeus.serve.settings import Settings

__all__ = ["desk"]

_DEMO = "desk-demo"
_PORTS = 20  # ports that are tried where --port is not given
_AT_ONCE = 1000  # documents that are added together


@common.with_groups
def desk(
    model: Annotated[str | None, typer.Argument(help="Model folder.", show_default=False)] = None,
    documents: Annotated[
        list[str] | None, typer.Argument(help="Documents to code; any format.", show_default=False)
    ] = None,
    *,
    demo: Annotated[
        bool, typer.Option("--demo", help=f"Use the built-in corpus; everything is kept in {_DEMO}/.")
    ] = False,
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", help="Documents to code if there is no model yet.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", help="Folder of documents and verdicts (default: DOCUMENTS with the ending .desk)."),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            "--verdicts",
            help="Documents that were coded elsewhere: Annif TSV, Label Studio JSON, JSON lines, CSV. May be repeated.",
        ),
    ] = None,
    coder: Annotated[
        str, typer.Option("--coder", help="Coder of the --verdicts, where the file does not name one.")
    ] = "imported",
    export: Annotated[
        list[str] | None,
        typer.Option(
            "--export",
            help="Write what was coded, and stop: .jsonl, .csv, .tsv (Annif), .json (Label Studio) or .ttl (SKOS).",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="Port to listen on (default: a free one from 8000).")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    shares: DocumentShares,
    taxonomy: OptionalTaxonomy,
    reading: Reading,
) -> None:
    """Code documents in the browser, with suggestions of a model.

    linnaeus desk model/ documents.jsonl

    linnaeus desk --taxonomy codes.ttl --data documents.jsonl

    Without a model, labels that occur in the texts are suggested, and a model can be trained from the verdicts.

    linnaeus desk --store documents.desk --export coded.csv
    """
    prepare_service("desk")
    from linnaeus.serve.run import run
    from linnaeus.serve.settings import Settings

    written = {path: _export_format(path) for path in export or []}
    if demo:
        if model or documents or data or taxonomy.path:
            raise ParameterError("--demo brings its own model and documents; leave out MODEL, --data and --taxonomy.")
        model, store = _demo_model(Path(store or _DEMO)), store or _DEMO
        documents = [str(Path(store) / "documents.jsonl")]
    elif model is None:
        model, store = _lexical_model(taxonomy, data or [], store)
        documents = data
    elif data or taxonomy.path:
        raise ParameterError(
            "--taxonomy and --data are for a desk without a model; give MODEL and DOCUMENTS, or these."
        )
    files = list(documents or [])
    folder = store or f"{Path(files[0] if files else model).resolve().with_suffix('')}.desk"
    settings = Settings((model,), store=folder, **shares.given())

    def add(service: Service) -> None:
        from linnaeus.cli.documents import documents_for

        served = next(iter(service.models))
        if files:
            _add(service, documents_for(served.model, files, reading, labelled=False), ", ".join(files))
        for path in verdicts or []:
            _read_verdicts(service, path, coder)
        if not written:
            served.taxonomy.find("a", 1)  # makes the index of labels before somebody waits for it

    if written:
        _write_exports(settings, written, add)
        return
    chosen = port or _free_port(host)
    shown = f"{address(host, chosen)}/desk/"
    note(f"the desk is at {shown} (documents and verdicts: {folder}); stop with Ctrl-C")
    if browser:
        threading.Thread(target=_open, args=(host, chosen, shown), daemon=True).start()
    run(settings, host, chosen, prepare=add)


def _add(service: Service, found: Dataset, source: str) -> None:
    from linnaeus.serve.review import documents_of

    served = next(iter(service.models))
    new = documents_of(found, source)
    counts = [service.review.add(served, new[i : i + _AT_ONCE]) for i in range(0, len(new), _AT_ONCE)]
    added, known = (sum(part) for part in zip(*counts, strict=True))
    note(f"{added:,} documents added, {known:,} were already stored")


def _export_format(path: str) -> str:
    from linnaeus.serve.exports import ENDINGS

    by_ending = {f".{ending}": format for format, ending in ENDINGS.items()}
    if Path(path).suffix.lower() not in by_ending:
        raise ParameterError(f"--export {path}: expected a name that ends in {', '.join(by_ending)}.")
    return by_ending[Path(path).suffix.lower()]


def _write_exports(settings: Settings, written: dict[str, str], prepare: Callable[[Service], None]) -> None:
    """Files of what was coded, without a server."""
    from linnaeus.files import replace_file
    from linnaeus.serve.exports import export
    from linnaeus.serve.service import Service

    service = Service(settings)
    try:
        prepare(service)
        served = next(iter(service.models))
        for path, format in written.items():
            parts = list(export(service.review.database, served.name, format, served.taxonomy, None))
            replace_file(path, b"".join(parts))
            note(f"{path}: {len(parts) - 2:,} documents")
    finally:
        service.close()


def _read_verdicts(service: Service, path: str, coder: str) -> None:
    from linnaeus.serve.imports import import_verdicts, read_verdicts

    served = next(iter(service.models))
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ParameterError(f"--verdicts {path} cannot be read: {error.strerror}.") from None
    coded = read_verdicts(service.review, served, content, path, None, coder)
    found = import_verdicts(service.review, served, coded)
    note(
        f"{path}: {found.stored:,} verdicts stored, {found.repeated:,} were already stored; "
        f"{found.added:,} new documents"
    )


def _demo_model(folder: Path) -> str:
    """A calibrated model of the built-in corpus and documents that it has not seen; made once."""
    from linnaeus import RRSVM, Pipeline, calibrate
    from linnaeus import store as models
    from linnaeus.cli.demo import _write_examples
    from linnaeus.data.corpora import demo_corpus
    from linnaeus.data.splits import train_test_split
    from linnaeus.features.text import TextFeatures

    model = folder / "model"
    if (folder / "documents.jsonl").exists() and (model / "manifest.json").exists():
        return str(model)
    folder.mkdir(parents=True, exist_ok=True)
    note("training on the docstrings of installed packages, about half a minute")
    corpus = demo_corpus()
    train, rest = train_test_split(corpus, 0.3, random_state=0)
    unseen, to_code = train_test_split(rest, 0.5, random_state=0)
    pipe = Pipeline(RRSVM(corpus.taxonomy, C=2.0, random_state=0), TextFeatures(sublinear_tf=True, min_df=2))
    pipe.fit(train.documents, train.labels).keep_documents(train.documents, train.labels, train.ids)
    calibrate(pipe, unseen.documents, unseen.labels)
    models.save(pipe, model)
    _write_examples(to_code, str(folder / "documents.jsonl"))
    return str(model)


def _lexical_model(given: OptionalTaxonomy, data: list[str], store: str | None) -> tuple[str, str]:
    """A model that suggests labels whose texts occur in documents, in the folder of the store; made once."""
    from linnaeus import store as models
    from linnaeus.lexical.model import LexicalModel

    made = store is not None and (Path(store) / "model" / "manifest.json").exists()
    if not data and not made:
        raise ParameterError("There is nothing to code; give MODEL and DOCUMENTS, --taxonomy and --data, or --demo.")
    folder = Path(store) if store else Path(f"{Path(data[0]).resolve().with_suffix('')}.desk")
    model = folder / "model"
    if not (model / "manifest.json").exists():
        taxonomy = given.read_if_given()
        if taxonomy is None:
            raise ParameterError("A desk without a model needs --taxonomy, the labels to choose from.")
        folder.mkdir(parents=True, exist_ok=True)
        models.save(LexicalModel(taxonomy).fit(), model)
    return str(model), str(folder)


def _free_port(host: str) -> int:
    """The first port from 8000 that nobody uses."""
    for port in range(8000, 8000 + _PORTS):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((host, port))
                return port
    raise ParameterError(f"The ports 8000 to {7999 + _PORTS} are in use; give another one as --port.")


def _open(host: str, port: int, url: str) -> None:
    """Open the page once the service answers."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
            webbrowser.open(url)
            return
        time.sleep(0.1)
