"""``linnaeus taxonomy diff``: what changed between two versions of a taxonomy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli.common import (
    JsonOption,
    LabelledReading,
    TaxonomyReading,
    note,
    one_of,
    print_json,
    print_table,
    waiting,
)
from linnaeus.errors import DataError, LinnaeusError, ParameterError

if TYPE_CHECKING:
    from linnaeus.revisions import Correspondence, Diff
    from linnaeus.taxonomy import Taxonomy

__all__ = ["diff"]

MOST_ROWS = 20  # of each kind of change on the terminal
OUTPUTS = (".csv", ".tsv", ".xlsx", ".jsonl", ".json", ".ttl", ".html")


def diff(
    old: Annotated[Path, typer.Argument(help="The old version; any taxonomy format.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="The new version.", show_default=False)],
    *,
    tables: Annotated[
        list[Path] | None,
        typer.Option("--map", help="Correspondence of old and new codes: CSV, TSV, Excel, YAML, JSON or RDF."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--map-columns", help="Columns of the old and of the new codes in --map, as OLD,NEW."),
    ] = None,
    guess: Annotated[
        bool,
        typer.Option(
            "--proposals/--no-proposals", help="Pair old nodes without a known target by texts and structure."
        ),
    ] = True,
    least: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Minimum confidence of the proposals that are used.")
    ] = 0.5,
    propose: Annotated[
        str | None,
        typer.Option("--propose", help="Write all pairs as a table (.csv, .tsv, .xlsx) to confirm; a --map later."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the changes: .csv, .tsv, .xlsx, .jsonl (rows), .json, .ttl (SKOS change set) or .html.",
        ),
    ] = None,
    html: Annotated[str | None, typer.Option("--html", help="Write an HTML page.")] = None,
    old_data: Annotated[
        str | None, typer.Option("--old-data", help="Documents with old labels, as evidence for proposals.")
    ] = None,
    new_data: Annotated[
        str | None, typer.Option("--new-data", help="The same documents with new labels, paired by id.")
    ] = None,
    new_format: Annotated[
        str | None, typer.Option("--new-from", help="Format of the new version, if it is not that of --from.")
    ] = None,
    old_obsolete: Annotated[
        bool, typer.Option("--old-obsolete", help="Keep deprecated nodes in the old version (SKOS, OBO).")
    ] = False,
    reading: TaxonomyReading,
    documents: LabelledReading,
    json: JsonOption = False,
) -> None:
    """Compare two versions of a taxonomy: added, removed, moved, renamed, merged and split nodes; exit code 1 if the
    table does not fit the versions.

    linnaeus taxonomy diff 2024.ttl 2025.ttl --map table.csv --html changes.html
    """
    from linnaeus.revisions import compare
    from linnaeus.revisions.report import to_dict

    table = one_of("--map", tables)
    files = [*(output or []), *([html] if html else [])]
    for file in files:
        if Path(file).suffix.lower() not in OUTPUTS:
            raise ParameterError(f"--output {file}: expected a name that ends in {', '.join(OUTPUTS)}.")
    if table is None and columns is not None:
        raise ParameterError(f"--map-columns {columns} names columns of --map, which is not given.")
    if (old_data is None) != (new_data is None):
        raise ParameterError("--old-data and --new-data are the same documents in two versions; expected both.")
    if old_data is None:
        documents.refuse("applies to --old-data and --new-data, which are not given", allowed=("encoding",))
    before = reading.read(str(old)) if not old_obsolete else replace(reading, obsolete=True).read(str(old))
    after = (reading if new_format is None else replace(reading, format=new_format)).read(str(new))
    with waiting("comparing"):
        pairs = _pairs(table, columns, before, after, (old, new), documents.encoding)
        labels = None if old_data is None or new_data is None else _shared(old_data, new_data, documents, before, after)
        found = compare(before, after, pairs, propose=guess, least_confidence=least, documents=labels)
    if propose is not None:
        _write_pairs(found, propose)
    for file in files:
        _write(found, file, f"linnaeus taxonomy diff {old} {new}" + (f" --map {table}" if table else ""))
    if json:
        print_json(to_dict(found))
    else:
        _print(found)
    if not found.ok:
        raise typer.Exit(1)


def _pairs(
    table: Path | None,
    columns: str | None,
    old: Taxonomy,
    new: Taxonomy,
    versions: tuple[Path, Path],
    encoding: str | None,
) -> Correspondence | None:
    """The pairs of --map; without one, SKOS matches and associations in the files of the versions."""
    from linnaeus.revisions import Correspondence
    from linnaeus.revisions.tables import matches_between

    if table is None:
        return matches_between(versions, old, new)
    if columns is None:
        chosen = None
    else:
        first, _, second = columns.partition(",")
        if not first or not second:
            raise ParameterError(f"--map-columns {columns}: expected two names or numbers of columns, as OLD,NEW.")
        chosen = first.strip(), second.strip()
    try:
        return Correspondence.read(table, old, new, columns=chosen, encoding=encoding)
    except LinnaeusError as error:
        raise type(error)(str(error).replace("columns=(old, new)", "--map-columns OLD,NEW")) from None


def _shared(
    old_data: str, new_data: str, reading: LabelledReading, old: Taxonomy, new: Taxonomy
) -> tuple[list[list[str]], list[list[str]]]:
    """Labels of the documents that are in both files, by id."""
    sides = [reading.read([old_data], old), reading.read([new_data], new)]
    for side in sides:
        if side.labels is None:
            raise DataError(f"{side.source}: the documents have no labels.")
        if side.ids is None:
            raise DataError(f"{side.source}: the documents have no ids, by which those of the two versions are paired.")
    by_id = [dict(zip(side.ids or [], side.labels or [], strict=True)) for side in sides]
    both = [id for id in by_id[0] if id in by_id[1]]
    if not both:
        raise DataError(f"{old_data} and {new_data} have no id in common.")
    return [by_id[0][id] for id in both], [by_id[1][id] for id in both]


def _write_pairs(found: Diff, path: str) -> None:
    from linnaeus.cli.tables import write_table
    from linnaeus.revisions.report import PAIR_COLUMNS, pair_rows

    rows = sorted(pair_rows(found.correspondence, found.old, found.new), key=lambda row: float(str(row[6])))
    listed = [[name, found.old.display(name), *[None] * (len(PAIR_COLUMNS) - 2)] for name in _open(found)]
    write_table(path, PAIR_COLUMNS, [*listed, *rows])
    note(
        f"{path}: {len(rows):,} pairs, {len(found.proposals):,} of them proposed, and {len(listed):,} nodes without one"
    )


def _open(found: Diff) -> list[str]:
    return [str(name) for name in found.old.names if name not in found.correspondence.targets]


def _write(found: Diff, path: str, command: str) -> None:
    import json

    from linnaeus.cli.tables import write_table
    from linnaeus.files import replace_file
    from linnaeus.revisions import report

    ending = Path(path).suffix.lower()
    if ending == ".html":
        replace_file(path, report.html(found, command=command).encode())
    elif ending == ".ttl":
        replace_file(path, report.turtle(found).encode())
    elif ending == ".json":
        text = json.dumps(report.to_dict(found), ensure_ascii=False, indent=1) + "\n"
        replace_file(path, text.encode())
    else:
        write_table(path, report.CHANGE_COLUMNS, report.change_rows(found))
    note(f"{path}: {len(found.changes):,} changes")


def _print(found: Diff) -> None:
    from linnaeus.revisions.report import CHANGE_COLUMNS, change_rows, sentence

    print(sentence(found))
    shown: dict[str, int] = {}
    rows = []
    for row in change_rows(found):
        kind = str(row[0])
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] <= MOST_ROWS:
            rows.append([*row[:-1], "" if row[-1] == 1 else f"{row[-1]:.2f}"])
    if rows:
        print_table([name.replace("_", " ") for name in CHANGE_COLUMNS], rows)
    hidden = sum(max(0, number - MOST_ROWS) for number in shown.values())
    if hidden:
        note(f"{hidden:,} more changes are not shown; --output changes.csv writes all.")
    if found.findings:
        print_table(
            ["severity", "code", "count", "what", "examples"],
            [(f.severity, f.code, f.count, f.message, "; ".join(f.examples)) for f in found.findings],
        )
    for text in found.assumptions:
        note(text)
