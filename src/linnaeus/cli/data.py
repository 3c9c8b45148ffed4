"""`linnaeus data`: describe documents before training on them, and convert them to memory-mapped arrays."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnaeus.cli.common import (
    AnalyserOptions,
    JsonOption,
    OptionalTaxonomy,
    TrainingReading,
    in_words,
    kind_words,
    note,
    note_columns,
    print_json,
    print_table,
    progress,
    waiting,
    weighted_fields,
    with_groups,
)
from linnaeus.cli.training import TERM_OPTIONS
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from linnaeus.data import Dataset
    from linnaeus.features import HashedText, TextFeatures
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
        str | None,
        typer.Option(
            "--features",
            help="Folder of a model or of converted texts, whose features are used; or hashed, hashed:20. Default: "
            "weighted terms of these documents, in two passes.",
        ),
    ] = None,
    weighting: Annotated[
        str | None,
        typer.Option(
            "--weighting",
            help="Term weighting: tfidf (default), idf (x ln(N/n): words of all documents get weight 0), or "
            "log2 (raw counts x log2(N/n)).",
        ),
    ] = None,
    min_df: Annotated[
        int | None, typer.Option("--min-df", help="Minimum number of documents that contain a term (default: 2).")
    ] = None,
    words: AnalyserOptions,
    reading: TrainingReading,
    as_json: JsonOption = False,
) -> None:
    """Write documents as memory-mapped arrays, from which training and prediction read X as needed.

    linnaeus data convert train.txt --output train/

    linnaeus train --data train/ --taxonomy topics.ttl --output model/

    Texts become vectors of weighted terms, in two passes over the files and at constant memory; the folder keeps the
    features, which --features applies to further documents:

    linnaeus data convert test.txt --features train/ --output test/
    """
    from linnaeus.data.convert import check_output

    check_output(output)
    given = {"weighting": weighting, "min_df": min_df, **words.parameters()}
    given = {name: value for name, value in given.items() if value is not None}
    about = {"output": output, **_convert(files, output, features, given, reading)}
    if as_json:
        print_json(about)
    else:
        print_table(["converted", ""], list(about.items()))


def _convert(
    files: list[str], output: str, features: str | None, given: dict[str, Any], reading: TrainingReading
) -> dict[str, object]:
    """Write the folder, and say what is in it."""
    from linnaeus.data.convert import convert, write_mapped
    from linnaeus.features.named import is_hashed
    from linnaeus.features.vectorise import load_features

    if features is not None and not is_hashed(features):
        if given:
            raise ParameterError(f"{_option(given)} has no effect with --features {features}.")
        fitted = load_features(features)
        if fitted is not None:
            return _vectorise(files, output, fitted, reading, fitted=True)
        data = write_mapped(_as_vectors(features, files, reading), output)
    elif (kind := _kind(files, reading)) in ("text", "sequence"):
        return _vectorise(files, output, _new_features(kind, features, given, reading), reading)
    elif features is not None or given:
        option = _option(given) if features is None else f"--features {features}"
        raise ParameterError(f"{option} has no effect on {kind_words(kind)}, as in {files[0]}.")
    elif reading.given().keys() - {"format", "encoding"}:
        data = write_mapped(reading.read(files), output)
    else:
        with reading.named(), waiting(f"converting {', '.join(files)}"):
            data = convert(files, output, reading.format, encoding=reading.encoding)
    n_features = 0 if data.X is None else data.X.shape[1]
    return {"kind": data.kind, "documents": len(data), "features": n_features, "labelled": data.labels is not None}


def _as_vectors(model: str, files: list[str], reading: TrainingReading) -> Dataset:
    """The documents as vectors of the features of a model."""
    from dataclasses import replace

    from linnaeus import store
    from linnaeus.cli.documents import documents_for

    pipe = store.load(model)
    if getattr(pipe, "features_", None) is None:
        raise ParameterError(f"--features {model}: the model takes vectors as they are; it has no features to apply.")
    data = documents_for(pipe, files, reading)
    names = [str(name) for name in pipe.features_.get_feature_names_out()]
    X = pipe.matrix(data.documents)
    return replace(data, X=X, fields=None, sequences=None, feature_names=names, lines=None, files=None, extra={})


def _option(given: dict[str, Any]) -> str:
    name = next(iter(given))
    return {"min_df": "--min-df", **TERM_OPTIONS}.get(name, f"--{name}")


def _kind(files: list[str], reading: TrainingReading) -> str:
    """The kind of the documents, from the format, or from the first ones where the format leaves it open."""
    from linnaeus.data.readers import BATCHED, format_of
    from linnaeus.data.readers.columns import ReadOptions
    from linnaeus.files import InputFile

    if "-" in files:
        return "numeric"  # standard input cannot be read twice: texts are refused there
    source = InputFile(files[0])
    name = reading.format
    if name is None:
        if not source.is_folder:
            source.check_not_empty(reading.encoding)
        with reading.named():
            how = ReadOptions(encoding=reading.encoding, text=tuple(reading.text or ()), header=reading.header)
            name = format_of(source, how)
    if name in BATCHED:
        return next(iter(reading.batches(files[:1], size=1000))).kind
    return {"fasta": "sequence", "folder": "text", "reuters": "text"}.get(name, "numeric")


def _new_features(
    kind: str, named: str | None, given: dict[str, Any], reading: TrainingReading
) -> TextFeatures | HashedText:
    """Unfitted features of texts or sequences, for the options of the command."""
    from linnaeus.features.documents import default_features
    from linnaeus.features.named import hashed_text

    fields = weighted_fields(reading.text)
    if kind == "sequence":
        useless = [name for name in given if name != "min_df"]
        if useless or named is not None:
            option = f"--features {named}" if named is not None else _option(dict.fromkeys(useless))
            raise ParameterError(f"{option} has no effect on sequence documents.")
        return default_features(kind, **given)
    if named is not None:
        for name in ("weighting", "min_df"):
            if name in given:
                option = _option({name: None})
                raise ParameterError(
                    f"{option} has no effect with --features {named}: hashed features have no vocabulary."
                )
        return hashed_text(named, fields=fields, categorical=reading.categorical or (), **given)
    return default_features(kind, fields=fields, categorical=reading.categorical or (), **given)


def _vectorise(
    files: list[str],
    output: str,
    features: TextFeatures | HashedText,
    reading: TrainingReading,
    *,
    fitted: bool = False,
) -> dict[str, object]:
    """Write texts as vectors, reading them some at a time; ``fitted`` features are used as they are."""
    from dataclasses import replace

    from linnaeus.features.vectorise import vectorise

    if fitted and features.kinds_:
        reading = replace(reading, categorical=reading.categorical or list(features.kinds_))
    usual = list(features.weights_) if fitted else None
    with progress("vectorising") as advance:
        made = vectorise(
            lambda: reading.batches(files, usual_text=usual), output, features, fitted=fitted, advance=advance
        )
    return {"kind": "sparse", "documents": made.n_docs, "features": made.n_features, "labelled": made.labelled}


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
        label = prefix + (name if prefix in ("fields: ", "split: ") else in_words(name))
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
