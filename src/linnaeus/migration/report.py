"""The report of a migration of documents as one HTML page, and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from linnaeus.migration.documents import MigratedDocuments
from linnaeus.migration.models import MigratedModel
from linnaeus.pages import Section, opening, table, whole_page
from linnaeus.pages.text import Markup, count, figure, tag

__all__ = ["documents_page", "model_page", "model_summary", "next_step", "summary"]

_SHOWN = 200  # rows of a table
_MEANING = {
    "univocal": "all labels have one new node",
    "decided": "labels with several new nodes were decided by the model",
    "hand": "coded by hand",
    "review": "a label is undecided: in the queue",
    "lost": "no label has a new node",
}


def summary(found: MigratedDocuments) -> dict[str, object]:
    """The figures of a migration as plain values."""
    by = Counter(case.by for case in found.cases)
    return {
        "versions": versions_of(found),
        "documents": len(found.labels),
        "by_status": found.counts,
        "labels_recoded": found.recoded.total(),
        "labels_without_target": dict(found.lost.most_common()),
        "cases": {"hand": by["hand"], "model": by["model"], "queue": by["nobody"]},
        "threshold": round(found.threshold, 6),
        "calibrated": found.calibrated,
        "curve": [
            {"coded": point.coded, "accuracy": round(point.accuracy, 4), "tested": point.tested}
            for point in found.curve
        ],
        "next": next_step(found),
        "notes": found.notes,
    }


def versions_of(found: MigratedDocuments) -> dict[str, str]:
    """Fingerprints of the old and of the new taxonomy, and of the table."""
    return {
        "old_taxonomy": found.old.fingerprint,
        "new_taxonomy": found.new.fingerprint,
        "table": found.correspondence.fingerprint,
    }


def _version_facts(versions: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"fingerprint of the {name.replace('_', ' ')}", value[:16]) for name, value in versions.items()]


def next_step(found: MigratedDocuments) -> str:
    """What to do next, in a sentence."""
    n = len(found.queue)
    if not n:
        return "All cases are decided; train on the new documents, or migrate the model."
    if not found.calibrated:
        return f"Code some of the {n:,} cases of the queue by hand, a random sample or from its top, and run again."
    gain = found.curve[-1].accuracy - found.curve[-2].accuracy
    if gain < 0.01:
        return f"More codes hardly help: the last doubling gave {100 * gain:+.1f} points; code the {n:,} cases left."
    return f"Code more of the {n:,} cases of the queue: the last doubling gave {100 * gain:+.1f} points."


def documents_page(found: MigratedDocuments, made: str = "") -> str:
    """The report as the text of one HTML page.

    Parameters
    ----------
    found : MigratedDocuments
        The result of `migrate_documents`.
    made : str, default=""
        Date and time in ISO form.

    Returns
    -------
    str
        The page.
    """
    by = Counter(case.by for case in found.cases)
    sentence = (
        f"{count(len(found.labels))} documents: {count(found.recoded.total())} labels recoded by the table, "
        f"{count(by['model'])} decided by the model, {count(by['hand'])} by hand, {count(by['nobody'])} in the queue."
    )
    facts = [
        ("nodes", f"{count(found.old.n_nodes)} old, {count(found.new.n_nodes)} new"),
        ("pairs of the table", count(len(found.correspondence.pairs))),
        ("threshold", figure(found.threshold)),
        ("accuracy on hidden cases", figure(found.accuracy)),
        *_version_facts(versions_of(found)),
    ]
    top = opening("Migration of documents", sentence, facts, made, tag("p", next_step(found)))
    return whole_page("Migration of documents", top, list(_sections(found)))


def _sections(found: MigratedDocuments) -> Iterator[Section]:
    rows = [(status, n, _MEANING[status]) for status, n in found.counts.items()]
    yield "documents", "Documents", [table(["status", "documents", ""], rows)]
    if found.cases:
        yield "splits", "Labels with several new nodes", [_families(found)]
    if found.curve:
        points = [(point.coded, round(100 * point.accuracy, 1), point.tested) for point in found.curve]
        words = "Accuracy among the candidates, on cases coded by hand that the model did not see."
        yield (
            "curve",
            "What coding by hand is worth",
            [
                tag("p", words),
                table(["coded by hand", "accuracy in %", "tested on"], points),
            ],
        )
    yield "cells", "Documents of the new nodes", [_cells(found)]
    if found.lost:
        yield "lost", "Labels without a new node", [table(["old label", "documents"], found.lost.most_common(_SHOWN))]
    if found.queue:
        first = [
            (case.old, found.new.display(case.candidates[0]), round(case.probabilities[0], 3), case.document + 1)
            for case in found.queue[:20]
        ]
        yield (
            "queue",
            "To code by hand first",
            [table(["old label", "best candidate", "probability", "document"], first)],
        )
    if found.notes:
        yield "notes", "Assumptions", [tag("ul", [tag("li", note) for note in found.notes])]


def _families(found: MigratedDocuments) -> Markup:
    by_old: dict[str, Counter[str]] = {}
    for case in found.cases:
        by_old.setdefault(case.old, Counter())[case.by] += 1
    targets = found.correspondence.targets
    rows = sorted(
        (
            (found.old.display(old), len(targets[old]), by.total(), by["hand"], by["model"], by["nobody"])
            for old, by in by_old.items()
        ),
        key=lambda row: (-row[5], -row[2], row[0]),
    )
    heads = ["old node", "new nodes", "documents", "by hand", "by the model", "in the queue"]
    return table(heads, rows[:_SHOWN], _more(len(rows)))


def _cells(found: MigratedDocuments) -> Markup:
    rows = [
        (found.new.display(cell.node), cell.certain, round(cell.expected, 1), round(cell.low, 1), round(cell.high, 1))
        for cell in sorted(found.cells, key=lambda cell: cell.low - cell.high)
    ]
    heads = ["new node", "certain", "expected", "low", "high"]
    return table(heads, rows[:_SHOWN], f"Intervals contain about 90% of the true numbers. {_more(len(rows))}".strip())


def _more(n: int) -> str:
    return f"The first {_SHOWN} of {n:,}." if n > _SHOWN else ""


# -- models ------------------------------------------------------------------------------------------------------------


def model_summary(found: MigratedModel) -> dict[str, object]:
    """The figures of a migrated model as plain values."""
    return {
        "versions": found.versions,
        "certificate": found.certificate,
        "labels": found.counts,
        "refitted": sum(origin.refitted for origin in found.origins),
        "lost": found.lost,
        "worse": [
            {"node": origin.node, "before": origin.before, "after": origin.after, "documents": origin.documents}
            for origin in found.worse
        ],
        "notes": found.notes,
    }


def model_page(found: MigratedModel, made: str = "") -> str:
    """The report about a model as the text of one HTML page: origins of weights, and F1 before and after."""
    n = len(found.origins)
    shown = ", ".join(f"{count(number)} {kind}" for kind, number in found.counts.items())
    sentence = f"{count(n)} labels: {shown}; {count(sum(o.refitted for o in found.origins))} were solved again."
    facts = _version_facts(found.versions)
    if found.certificate is not None:
        facts.append(("certified duality gap", f"{found.certificate['duality_gap']:.4g}"))
    rows = [
        (o.node, o.kind, ", ".join(o.sources[:5]), o.documents, figure(o.before), figure(o.after))
        for o in sorted(found.origins, key=lambda o: (o.kind == "kept", o.after is None, o.after or 0.0, o.node))
    ]
    heads = ["label", "origin", "old labels", "documents", "F1 before", "F1 after"]
    sections: list[Section] = [("labels", "Labels", [table(heads, rows[:_SHOWN], _more(n))])]
    if found.worse:
        worse = [(o.node, o.documents, figure(o.before), figure(o.after)) for o in found.worse[:_SHOWN]]
        sections.insert(0, ("worse", "What got worse", [table(["label", "documents", "F1 before", "F1 after"], worse)]))
    if found.lost:
        sections.append(("lost", "Labels without a new node", [tag("ul", [tag("li", o) for o in found.lost[:_SHOWN]])]))
    if found.notes:
        sections.append(("notes", "Assumptions", [tag("ul", [tag("li", note) for note in found.notes])]))
    return whole_page("Migration of a model", opening("Migration of a model", sentence, facts, made), sections)
