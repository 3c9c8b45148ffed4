"""`linnaeus data`: describe documents before training on them, and convert them to memory-mapped arrays."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli.console import JsonOption, note, note_columns, print_json, print_table, waiting
from linnaeus.cli.options import OptionalTaxonomy, TrainingReading, with_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from linnaeus.data import Dataset
    from linnaeus.taxonomy import Taxonomy

__all__ = ["app"]

app = typer.Typer(help="Describe and convert documents and labels.", no_args_is_help=True)


@app.callback()
def _data() -> None:
    """Describe and convert documents and labels."""


@app.command("describe")
@with_groups
def describe_command(
    files: Annotated[list[str], typer.Argument(help="Data files or folders; - is standard input.", show_default=False)],
    *,
    taxonomy: OptionalTaxonomy,
    reading: TrainingReading,
    as_json: JsonOption = False,
) -> None:
    """Count documents, features and labels of each file."""
    from linnaeus.data.describe import describe

    tax = taxonomy.read_if_given()
    found = []
    for file in files:
        data = reading.read([file], tax)
        note_columns(data)
        with waiting(f"counting {file}"):
            found.append(describe(data, tax or data.taxonomy))
        _note_unknown(data, tax or data.taxonomy)
    if as_json:
        print_json(found)
    else:
        _print(found)


@app.command("convert")
@with_groups
def convert_command(
    files: Annotated[list[str], typer.Argument(help="Data files or folders, which are joined.", show_default=False)],
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder to write.")],
    features: Annotated[
        str | None, typer.Option("--features", help="Model folder whose features turn texts into vectors.")
    ] = None,
    reading: TrainingReading,
    as_json: JsonOption = False,
) -> None:
    """Write documents as memory-mapped arrays, from which training and prediction read X as needed.

    linnaeus data convert train.txt --output train/

    linnaeus train --data train/ --taxonomy topics.ttl --output model/
    """
    from linnaeus.data.convert import check_output, convert, write_mapped

    check_output(output)
    if features is not None:
        data = write_mapped(_as_vectors(features, files, reading), output)
    elif reading.given().keys() - {"format", "encoding"}:
        data = write_mapped(reading.read(files), output)
    else:
        with reading.named(), waiting(f"converting {', '.join(files)}"):
            data = convert(files, output, reading.format, encoding=reading.encoding)
    n_features = 0 if data.X is None else data.X.shape[1]
    about = {"output": output, "kind": data.kind, "documents": len(data), "features": n_features}
    about["labelled"] = data.labels is not None
    if as_json:
        print_json(about)
    else:
        print_table(["converted", ""], list(about.items()))


def _as_vectors(model: str, files: list[str], reading: TrainingReading) -> Dataset:
    """The documents as vectors of the features of a model."""
    from dataclasses import replace

    from linnaeus import store
    from linnaeus.cli.documents import documents_for
    from linnaeus.errors import ParameterError

    pipe = store.load(model)
    if getattr(pipe, "features_", None) is None:
        raise ParameterError(f"--features {model}: the model takes vectors as they are; it has no features to apply.")
    data = documents_for(pipe, files, reading)
    names = [str(name) for name in pipe.features_.get_feature_names_out()]
    X = pipe.matrix(data.documents)
    return replace(data, X=X, fields=None, sequences=None, feature_names=names, lines=None, files=None, extra={})


def _note_unknown(data: Dataset, taxonomy: Taxonomy | None) -> None:
    """Suggest a node for the most frequent label that is not in the taxonomy."""
    if taxonomy is None or data.labels is None:
        return
    for label, _ in data.unknown_labels(taxonomy).most_common(1):
        hint = taxonomy.hint(label)
        if len(taxonomy.displayed_as(label)):
            hint += " --names label names the concepts of a SKOS file by their labels."
        if hint:
            note(f"note: label {label!r} is not in the taxonomy{hint}")


def _print(found: Sequence[Mapping[str, object]]) -> None:
    """Print a table with one column per file and one row per count."""
    flat = [dict(_flattened(counts)) for counts in found]
    names = dict.fromkeys(name for counts in flat for name in counts if name != "source")
    rows = [[name, *(_shown(counts.get(name)) for counts in flat)] for name in names]
    sources = [str(counts["source"]) for counts in flat]
    short = [PurePath(source).name for source in sources]
    print_table(["", *(short if len(set(short)) == len(short) else sources)], rows)


def _flattened(counts: Mapping[str, object], prefix: str = "") -> list[tuple[str, object]]:
    """(``labels: per doc``, value) pairs; names that come from the file itself are left as they are."""
    pairs: list[tuple[str, object]] = []
    for name, value in counts.items():
        label = prefix + (name if prefix in ("fields: ", "split: ") else name.replace("_", " "))
        if name == "unknown" and isinstance(value, dict):
            pairs.append((label, ", ".join(f"{label} ({n:,})" for label, n in value.items()) or None))
        else:
            pairs += _flattened(value, f"{label}: ") if isinstance(value, dict) else [(label, value)]
    return pairs


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " / ".join(_shown(v) for v in value)
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
