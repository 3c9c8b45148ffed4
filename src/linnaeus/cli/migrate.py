"""`linnaeus migrate`: bring labelled documents, or a saved model, to a new version of their taxonomy."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus import files
from linnaeus.cli import common, tables
from linnaeus.cli.common import JsonOption, note, note_columns, print_json, print_table
from linnaeus.cli.risk import share_of
from linnaeus.errors import DataError, ParameterError, TaxonomyError, nearest

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel
    from linnaeus.data import Dataset
    from linnaeus.migration import MigratedDocuments
    from linnaeus.revisions import Diff
    from linnaeus.taxonomy import Taxonomy

__all__ = ["migrate"]

_SHOWN = 10  # candidates of a case in the queue


@dataclass(frozen=True, kw_only=True)
class Deciding(common.Group):
    """How documents with several possible new labels are decided, and where undecided ones go."""

    hand: Annotated[
        str | None,
        typer.Option(
            "--hand", help="Table of documents coded by hand: ids and new labels, such as the queue filled in."
        ),
    ] = None
    risk: Annotated[
        float | None,
        typer.Option(
            "--risk",
            help="Largest share of wrong decisions, as 0.1 or 10% (default: decide every case).",
            parser=share_of,
            metavar="SHARE",
        ),
    ] = None
    risk_of: Annotated[
        str, typer.Option("--risk-of", help="What --risk is a share of: answered (the decided cases) or all.")
    ] = "answered"
    confidence: Annotated[
        float | None, typer.Option("--confidence", help="Probability with which the promise holds (default: 0.9).")
    ] = None
    queue: Annotated[
        str | None, typer.Option("--queue", help="Table of the cases to code by hand, most useful first.")
    ] = None
    counts: Annotated[
        str | None,
        typer.Option("--counts", help="Table of documents per new node, with intervals."),
    ] = None


@common.with_groups
def migrate(
    model: Annotated[str | None, typer.Argument(help="Model folder, to migrate a model instead of documents.")] = None,
    *,
    old: Annotated[
        str | None, typer.Option("--from", help="Taxonomy file of the old version; a model has its own.")
    ] = None,
    new: Annotated[str, typer.Option("--to", help="Taxonomy file of the new version.")],
    maps: Annotated[
        list[str] | None,
        typer.Option(
            "--map", help="Correspondence table: CSV, TSV, Excel, YAML or RDF (default: by code and replacement)."
        ),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", help="Documents with old labels. May be repeated.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="New documents (.jsonl, .csv, .tsv, .xlsx).")],
    deciding: Deciding,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="RR models with --data: continue until the duality gap of the whole problem is certified.",
        ),
    ] = False,
    html: Annotated[str | None, typer.Option("--html", help="Report as one HTML page.")] = None,
    reading: common.LabelledReading,
    analysers: common.AnalyserOptions,
    as_json: JsonOption = False,
) -> None:
    """Bring labelled documents, or a saved model, to the next version of their taxonomy.

    Documents: a label that corresponds to one new node is recoded. If it corresponds to several, a model decides among
    exactly these; it is trained on label texts, on documents whose new label is certain, and on those coded by hand.
    Cases that --risk does not allow it to decide are written to --queue: fill in the column labels and pass the table
    as --hand. Nothing is written before everything is computed.

    linnaeus migrate --from old.ttl --to new.ttl --map table.csv --data docs.jsonl --output new.jsonl --queue queue.csv

    A model: unchanged nodes keep their weights, and merged nodes get the average. Parts of a split node and new nodes
    start from the weights of related nodes and from their label texts; with --data (documents with new labels) all
    changed nodes are trained again.

    linnaeus migrate model/ --to new.ttl --map table.csv --data new.jsonl --output new-model/
    """
    map_ = common.one_of("--map", maps)
    if model is not None:
        deciding.refuse("applies to documents, but a model is migrated; leave it out", ("risk_of", "confidence"))
        _migrate_model(model, old, new, map_, data, output, html, reading, certify, as_json)
        return
    if certify:
        raise ParameterError("--certify applies to a model, but documents are migrated; leave it out.")
    if old is None or not data:
        missing = "--from" if old is None else "--data"
        raise ParameterError(f"{missing} is missing; documents need --from, --to and --data, a model its folder.")
    _migrate_documents(old, new, map_, data, output, html, reading, analysers, deciding, as_json)


def _migrate_documents(
    old: str,
    new: str,
    map_: str | None,
    data: list[str],
    output: str,
    html: str | None,
    reading: common.LabelledReading,
    analysers: common.AnalyserOptions,
    deciding: Deciding,
    as_json: bool,
) -> None:
    """Recode documents, and write those that are left, counts and a report."""
    from linnaeus.migration import migrate_documents
    from linnaeus.migration.report import documents_page, summary

    hand, queue, counts = deciding.hand, deciding.queue, deciding.counts
    for path in (output, queue, counts):
        if path is not None:
            tables.format_of(path, None)
    _check_targets([path for path in (output, queue, counts, html) if path is not None], [*data, hand, old, new, map_])
    revision = _revision(old, new, map_)
    documents = reading.read(data, revision.old, unlabelled=reading.unlabelled or "drop")
    note_columns(documents)
    if documents.labels is None:
        raise DataError(f"{documents.source} has no labels; name their column with --labels.")
    labels, _ = revision.old.replaced(documents.labels)
    coded = {} if hand is None else _coded_by_hand(hand, documents, revision.new)
    found = migrate_documents(
        revision,
        documents.documents,
        labels,
        hand=coded,
        features=_features(analysers, documents),
        risk=deciding.risk,
        risk_of=deciding.risk_of,
        confidence=deciding.confidence,
    )
    ids = documents.ids or [str(d + 1) for d in range(len(documents))]
    tables.write_table(output, *_new_documents(found, documents, labels, ids))
    if queue is not None:
        tables.write_table(queue, *_queue(found, documents, ids))
    if counts is not None:
        tables.write_table(counts, *_counts(found))
    if html is not None:
        files.replace_file(html, documents_page(found, _now()).encode())
    if as_json:
        print_json({**summary(found), "output": output})
    else:
        _show(found, output)


def _migrate_model(
    folder: str,
    old: str | None,
    new: str,
    map_: str | None,
    data: list[str] | None,
    output: str,
    html: str | None,
    reading: common.LabelledReading,
    certify: bool,
    as_json: bool,
) -> None:
    """Carry a model over, and save it in another folder."""
    from linnaeus import store
    from linnaeus.cli import training
    from linnaeus.migration import migrate_model
    from linnaeus.migration.report import model_page, model_summary
    from linnaeus.taxonomy import Taxonomy

    if Path(output).resolve() == Path(folder).resolve():
        raise ParameterError("--output is the folder of the old model; give another folder.")
    if certify and not data:
        raise ParameterError("--certify needs --data, documents with new labels.")
    store.check_target(output)
    loaded = common.load_model(folder)
    revision = _revision(loaded.taxonomy_ if old is None else Taxonomy.read(old), new, map_)
    documents, labels = _new_labels(data, reading, revision.new, loaded) if data else (None, None)
    found = migrate_model(loaded, revision, documents, labels, certify=certify)
    training.save(found.model, output)
    now = _now()
    about = {"migrated": now, "from": folder, "table": map_, **model_summary(found)}
    files.replace_file(Path(output) / "migration.json", (json.dumps(about, indent=1) + "\n").encode())
    if html is not None:
        files.replace_file(html, model_page(found, now).encode())
    if as_json:
        print_json({**model_summary(found), "output": output})
        return
    print_table(["labels", ""], list(found.counts.items()))
    if found.worse:
        worse = [(origin.node, origin.before, origin.after) for origin in found.worse[:20]]
        print_table(["worse than before", "F1 before", "F1 after"], worse)
    for line in found.notes:
        note(f"note: {line}")
    note(f"saved to {output}")


def _new_labels(
    data: list[str], reading: common.LabelledReading, new: Taxonomy, loaded: SavedModel
) -> tuple[object, list[str] | list[list[str]]]:
    """Documents as the model takes them, and their labels in the new version."""
    from linnaeus.cli.documents import fit_to

    read = reading.read(data, new, unlabelled=reading.unlabelled or "drop")
    if read.labels is None:
        raise DataError(f"{read.source} has no labels; name their column with --labels.")
    for d, row in enumerate(read.labels):
        for label in row:
            if label not in new:
                raise DataError(
                    f"Label {label!r} of document {d + 1} is not in the new version{nearest(label, new.names)}"
                )
    read = fit_to(loaded, read)
    rows = read.labels or []
    single = loaded.estimator.codec_.single_label and all(len(row) == 1 for row in rows)
    return read.documents, [row[0] for row in rows] if single else rows


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def _revision(old: str | Taxonomy, new: str, map_: str | None) -> Diff:
    """The two versions with their correspondence; errors in the table are errors of the command."""
    from linnaeus.revisions import Correspondence, compare
    from linnaeus.taxonomy import Taxonomy

    before, after = Taxonomy.read(old) if isinstance(old, str) else old, Taxonomy.read(new)
    table = None if map_ is None else Correspondence.read(map_, before, after)
    revision = compare(before, after, table, propose=False)
    for finding in revision.findings:
        if finding.severity == "error":
            shown = ", ".join(map(str, finding.examples[:3]))
            raise TaxonomyError(f"{map_ or new}: {finding.count:,} {finding.message}: {shown}.")
    return revision


def _check_targets(written: list[str], read: list[str | None]) -> None:
    """Refuse to write one file twice, or over a file that is read."""
    seen: dict[Path, str] = {}
    for path in written:
        place = Path(path).resolve()
        if place in seen:
            raise ParameterError(f"{path} would be written twice; give different files.")
        seen[place] = path
    for given in read:
        if given is not None and given != "-" and Path(given).resolve() in seen:
            raise ParameterError(f"{given} is read, and would be overwritten; give another file to write.")


def _coded_by_hand(path: str, documents: Dataset, new: Taxonomy) -> dict[int, list[str]]:
    """New labels by the number of the document; entries without a label are not coded yet."""
    from linnaeus.data.label_files import read_label_file

    file = read_label_file(path, known=new.index_of)
    ids = documents.ids or [str(d + 1) for d in range(len(documents))]
    place = {name: d for d, name in enumerate(ids)}
    found: dict[int, list[str]] = {}
    unknown = []
    for name, row in zip(file.ids or [], file.labels, strict=True):
        if not row:
            continue
        if name not in place:
            unknown.append(name)
            continue
        for label in row:
            if label not in new:
                raise DataError(
                    f"{path}: label {label!r} of {name!r} is not in the new version{nearest(label, new.names)}"
                )
        found.setdefault(place[name], []).extend(row)
    if unknown:
        raise DataError(f"{path}: {len(unknown):,} ids are not among the documents, such as {unknown[0]!r}.")
    return found


def _features(analysers: common.AnalyserOptions, documents: Dataset) -> object:
    from linnaeus.features.text import TextFeatures

    if documents.fields is None:
        analysers.refuse("applies to texts, but the documents are not texts")
        return None
    return TextFeatures(
        **({"sublinear_tf": True, "min_df": 2 if len(documents) > 1000 else 1} | analysers.parameters())
    )


def _new_documents(
    found: MigratedDocuments, documents: Dataset, labels: list[list[str]], ids: list[str]
) -> tuple[list[str], Iterator[list[object]]]:
    """Columns and rows: the documents with labels of both versions."""
    fields = _fields(documents)
    columns = ["id", *fields, "labels", "old_labels", "status"]

    def rows() -> Iterator[list[object]]:
        for d, name in enumerate(ids):
            own = [values[d] for values in fields.values()]
            yield [name, *own, _joined(found.labels[d]), _joined(labels[d]), found.statuses[d]]

    return columns, rows()


def _joined(labels: list[str]) -> str:
    return ";".join(labels)


def _queue(found: MigratedDocuments, documents: Dataset, ids: list[str]) -> tuple[list[str], Iterator[list[object]]]:
    """Columns and rows of the queue; ``labels`` is for the person who codes. The desk reads it as documents."""
    fields = _fields(documents)
    columns = ["id", "labels", "old_label", "candidates", "probabilities", *fields]

    def rows() -> Iterator[list[object]]:
        for case in found.queue:
            candidates, values = case.candidates[:_SHOWN], case.probabilities[:_SHOWN]
            shown = "; ".join(f"{p:.3f}" for p in values)
            own = [texts[case.document] for texts in fields.values()]
            yield [ids[case.document], None, case.old, "; ".join(candidates), shown, *own]

    return columns, rows()


def _counts(found: MigratedDocuments) -> tuple[list[str], Iterator[list[object]]]:
    """Columns and rows: how many documents every new node has, with intervals."""
    columns = ["label", "name", "certain", "expected", "low", "high"]

    def rows() -> Iterator[list[object]]:
        for cell in found.cells:
            interval = (round(x, 3) for x in (cell.expected, cell.low, cell.high))
            yield [cell.node, found.new.display(cell.node), cell.certain, *interval]

    return columns, rows()


def _fields(documents: Dataset) -> dict[str, list[str]]:
    """Texts and sequences of the documents by the names of their columns."""
    fields = dict(documents.fields or {})
    if documents.sequences is not None:
        fields["sequence"] = documents.sequences
    return fields


def _show(found: MigratedDocuments, output: str) -> None:
    from linnaeus.migration.report import next_step

    print_table(["documents", ""], list(found.counts.items()))
    if found.curve:
        points = [(point.coded, round(100 * point.accuracy, 1)) for point in found.curve]
        print_table(["coded by hand", "accuracy on hidden cases in %"], points)
    for line in found.notes:
        note(f"note: {line.replace('risk=', '--risk ')}")
    note(next_step(found))
    note(f"saved to {output}")
