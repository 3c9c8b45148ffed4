"""``linnaeus taxonomy check``: problems of a taxonomy, by itself, against documents and against a model."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli.common import (
    JsonOption,
    LabelledReading,
    TaxonomyReading,
    in_words,
    load_model,
    note,
    print_json,
    print_table,
    waiting,
)
from linnaeus.errors import DataError, ParameterError, TaxonomyError

if TYPE_CHECKING:
    from linnaeus.data import Dataset
    from linnaeus.taxonomy import Taxonomy
    from linnaeus.taxonomy.checks import CheckReport
    from linnaeus.taxonomy.formats import Draft
    from linnaeus.taxonomy.repair import Patch

__all__ = ["check"]


def check(
    file: Annotated[Path, typer.Argument(help="The taxonomy; its format is detected.", show_default=False)],
    *,
    data: Annotated[Path | None, typer.Option(help="Documents whose labels should be nodes.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="A trained model that is tried on --data: which nodes it confuses.")
    ] = None,
    min_examples: Annotated[
        int | None, typer.Option(min=0, help="Report leaves with fewer documents in --data (default: 5).")
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option("--fix", help="Repair this finding of a SKOS file and write it to --output. May be repeated."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File that --fix writes.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the findings as an HTML page.")] = None,
    reading: TaxonomyReading,
    documents: LabelledReading,
    json: JsonOption = False,
) -> None:
    """Look for problems: cycles, redundant edges, labels, languages, unknown labels; exit code 1 if there are errors.

    linnaeus taxonomy check vocabulary.ttl --data docs.jsonl --model model/ --html report.html

    linnaeus taxonomy check vocabulary.ttl --fix redundant-edge --fix label-clash --output repaired.ttl

    A repair changes the statements it lists and no others. Without --data, --encoding is the encoding of the taxonomy.
    """
    if data is None and min_examples is not None:
        raise ParameterError(f"--min-examples {min_examples} requires --data, whose documents are counted.")
    if data is None and model is not None:
        raise ParameterError(f"--model {model} requires --data, documents with labels that it is tried on.")
    if bool(fix) != (output is not None):
        given = f"--fix {fix[0]}" if fix else f"--output {output}"
        raise ParameterError(f"{given}: expected --fix CODE together with --output FILE.")
    if data is None:
        documents.refuse("applies to --data, which is not given", allowed=("encoding",))
        reading = replace(reading, encoding=reading.encoding or documents.encoding)
    patch = None if not fix or output is None else _repaired(file, fix, output, reading)
    with waiting(f"checking {file}"):
        report = _report(file, reading, data, documents, 5 if min_examples is None else min_examples, model)
    if html is not None:
        from linnaeus.files import replace_file

        replace_file(html, _page(report, file).encode())
        note(f"{html}: {len(report.findings):,} findings")
    if json:
        changed = {} if patch is None else {"repaired": patch.counts, "patch": patch.lines(), "output": str(output)}
        print_json({**report.to_dict(), **changed})
    else:
        _print(report)
    if not report.ok:
        raise typer.Exit(1)


def _report(
    file: Path, reading: TaxonomyReading, data: Path | None, documents: LabelledReading, least: int, model: str | None
) -> CheckReport:
    from linnaeus.taxonomy import checks, formats
    from linnaeus.taxonomy.findings import SEVERITIES

    with reading.named():
        draft = formats.draft(file, **reading.given())
    given = None if data is None else _documents(data, documents, draft)
    report = checks.check(draft, None if given is None else given.labels, min_examples=least)
    if given is None:
        return report
    from linnaeus.answering.doctor import check_documents, check_model

    more = []
    with contextlib.suppress(TaxonomyError):  # a broken taxonomy is reported as such
        more += check_documents(draft.taxonomy(), given, min_examples=least)
    if model is not None:
        loaded = load_model(model)
        taxonomy = _taxonomy_of(loaded)
        unknown = {label for labels in given.labels or [] for label in labels if taxonomy.lookup(str(label)) is None}
        if unknown:
            note(f"{len(unknown):,} labels are not nodes of the model and are ignored, such as {sorted(unknown)[0]!r}.")
        more += check_model(loaded, given, min_examples=least)
    findings = sorted([*report.findings, *more], key=lambda one: SEVERITIES.index(one.severity))
    return replace(report, findings=findings)


def _taxonomy_of(loaded: object) -> Taxonomy:
    from linnaeus.pipeline import Pipeline

    if not isinstance(loaded, Pipeline):
        raise ParameterError("--model has no features of its own; expected a model that linnaeus train wrote.")
    return loaded.taxonomy_


def _documents(data: Path, reading: LabelledReading, draft: Draft) -> Dataset:
    """Labels as training reads them: of a --labels-file, deprecated ids are read as their replacements."""
    taxonomy = None
    if reading.labels_file is not None:
        with contextlib.suppress(TaxonomyError):  # its errors are reported as findings
            taxonomy = draft.taxonomy()
    given = reading.read([str(data)], taxonomy)
    if given.labels is None or not any(len(labels) for labels in given.labels):
        raise DataError(f"{data}: the documents have no labels to compare with the taxonomy.")
    return given


def _repaired(file: Path, codes: list[str], output: Path, reading: TaxonomyReading) -> Patch:
    from linnaeus.files import packed, replace_file
    from linnaeus.taxonomy.formats import FORMATS
    from linnaeus.taxonomy.repair import repair

    if output.exists() and file.exists() and output.samefile(file):
        raise ParameterError(f"--output {output} is the input itself; write another file.")
    patch = repair(file, codes, encoding=reading.encoding)
    plain = output.name.lower().removesuffix(".gz").removesuffix(".xz").removesuffix(".bz2")
    if not plain.endswith(FORMATS[patch.format].endings):
        endings = " or ".join(FORMATS[patch.format].endings)
        raise ParameterError(
            f"--output {output}: the syntax of {file} is kept; expected a name that ends in {endings}."
        )
    replace_file(output, packed(patch.text.encode(), output))
    said = ", ".join(f"{code} {count:,}" for code, count in patch.counts.items()) or "nothing to repair"
    note(f"{output}: {len(patch.removed):,} statements removed, {len(patch.added):,} added ({said})")
    for line in patch.lines()[:20]:
        note(f"  {line}")
    if len(patch.lines()) > 20:
        note(f"  ... {len(patch.lines()) - 20:,} more; --json lists all")
    return patch


def _print(report: CheckReport) -> None:
    rows = [(in_words(key), _flat(value)) for key, value in report.summary.items()]
    print_table(["property", "value"], rows)
    found = [(f.severity, f.code, f.count, f.message, "; ".join(f.examples)) for f in report.findings]
    if found:
        print_table(["severity", "code", "count", "what", "examples"], found)
    else:
        print("No problems were found.")


def _flat(value: object) -> object:
    return " ".join(f"{one:,}" for one in value) if isinstance(value, list) else value


def _page(report: CheckReport, file: Path) -> str:
    from linnaeus.pages import opening, table, whole_page
    from linnaeus.pages.text import count, tag
    from linnaeus.taxonomy.findings import SEVERITIES
    from linnaeus.taxonomy.repair import FIXES

    by_severity = {severity: [f for f in report.findings if f.severity == severity] for severity in SEVERITIES}
    words = {"error": "errors", "warning": "warnings", "info": "notes"}
    said = ", ".join(f"{len(found)} kinds of {words[severity]}" for severity, found in by_severity.items() if found)
    facts = [(in_words(key), str(_flat(value))) for key, value in report.summary.items() if value is not None]
    title = f"Check of {file.name}"
    top = opening(
        title, f"{said}." if said else "No problems were found.", facts, datetime.now(UTC).isoformat(timespec="seconds")
    )
    sections = []
    for severity, found in by_severity.items():
        if found:
            rows = [
                (f.code, count(f.count), f.message, "; ".join(f.examples), f"--fix {f.code}" if f.code in FIXES else "")
                for f in found
            ]
            content = [table(["code", "count", "what", "examples", "repair"], rows)]
            sections.append((severity, {"error": "Errors", "warning": "Warnings", "info": "Notes"}[severity], content))
    command = f"linnaeus taxonomy check {file}"
    sections.append(("method", "How it was made", [tag("pre", tag("code", command), tabindex="0")]))
    return whole_page(title, top, sections)
