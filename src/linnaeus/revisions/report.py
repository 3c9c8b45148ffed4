"""A diff for people and programs: plain values, rows of tables, a SKOS change set, and an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

from linnaeus.pages import Section, opening, table, whole_page
from linnaeus.pages.text import count, tag
from linnaeus.revisions.compare import CHANGES, Change, Diff
from linnaeus.revisions.correspondence import Correspondence
from linnaeus.taxonomy import Taxonomy

__all__ = ["CHANGE_COLUMNS", "PAIR_COLUMNS", "change_rows", "html", "pair_rows", "to_dict", "turtle"]

CHANGE_COLUMNS = ["change", "old", "old_label", "new", "new_label", "detail", "confidence"]
PAIR_COLUMNS = ["old", "old_label", "new", "new_label", "kind", "weight", "confidence", "origin", "confirmed"]
MOST_ROWS = 2000  # of one kind on the page
_WORDS = {
    "added": "New nodes to which nothing of the old version corresponds.",
    "removed": "Old nodes to which nothing of the new version corresponds. Their documents need another label.",
    "merged": "Several old nodes ended in one new node. Documents can be recoded.",
    "taken over": "Old nodes that ended in a node that continues. Documents can be recoded.",
    "split": "Old nodes that ended in several new ones. Their documents have to be decided one by one.",
    "split off": "Nodes that continue, but lost a part to new nodes. Their documents have to be decided one by one.",
    "transferred": "Nodes that continue, but lost a part to others. Their documents have to be decided one by one.",
    "moved": "The same nodes below other parents. Labels stay; what they imply changes.",
    "renamed": "The same nodes with other labels.",
    "recoded": "The same nodes with other codes. Documents can be recoded.",
}


def change_rows(diff: Diff) -> Iterator[list[object]]:
    """A row per change, with the columns `CHANGE_COLUMNS`."""
    for change in diff.changes:
        yield [
            change.kind,
            "; ".join(change.old),
            _labels(diff.old, change.old),
            "; ".join(change.new),
            _labels(diff.new, change.new),
            change.detail,
            change.confidence,
        ]


def pair_rows(correspondence: Correspondence, old: Taxonomy, new: Taxonomy) -> Iterator[list[object]]:
    """A row per pair, with the columns `PAIR_COLUMNS`; only what is certain is marked as confirmed."""
    for pair in correspondence.pairs:
        sure = "" if pair.origin == "proposal" else "yes"
        labels = [_labels(old, (pair.old,)), _labels(new, (pair.new,))]
        yield [
            pair.old,
            labels[0],
            pair.new,
            labels[1],
            pair.kind,
            pair.weight,
            pair.confidence,
            pair.origin,
            sure,
        ]


def _labels(taxonomy: Taxonomy, names: tuple[str, ...]) -> str:
    return "; ".join(taxonomy.display(name) for name in names if name in taxonomy.index_of)


def to_dict(diff: Diff) -> dict[str, object]:
    """The diff as plain values, for JSON.

    Examples
    --------
    >>> from linnaeus.revisions import compare
    >>> found = to_dict(compare(Taxonomy.flat(["a"]), Taxonomy.flat(["a", "b"])))
    >>> found["counts"], found["changes"][0]["new"]
    ({'added': 1}, ['b'])
    """
    changes = [
        {
            **asdict(change),
            "old": list(change.old),
            "new": list(change.new),
            "old_labels": [diff.old.display(name) for name in change.old],
            "new_labels": [diff.new.display(name) for name in change.new],
        }
        for change in diff.changes
    ]
    return {
        "ok": diff.ok,
        "n_old": diff.old.n_nodes,
        "n_new": diff.new.n_nodes,
        "n_unchanged": diff.n_unchanged,
        "counts": diff.counts,
        "n_univocal": len(diff.correspondence.univocal),
        "n_multivocal": len(diff.correspondence.multivocal),
        "n_proposed": len(diff.proposals),
        "assumptions": list(diff.assumptions),
        "findings": [asdict(finding) for finding in diff.findings],
        "changes": changes,
    }


def turtle(diff: Diff) -> str:
    """The diff as a SKOS change set in Turtle.

    Old nodes that ended are deprecated and name their replacements, pairs with other codes are SKOS matches, and every
    change is a change note. `Correspondence.read` reads the pairs from it. Codes that both versions use cannot be
    kept apart in RDF; pairs of such codes that changed their meaning are only in the notes.

    Examples
    --------
    >>> from linnaeus.revisions import compare
    >>> text = turtle(compare(Taxonomy.flat(["a", "b"]), Taxonomy.flat(["a"]), Correspondence.from_pairs([("b", "a")])))
    >>> "isReplacedBy" in text
    True
    """
    import pyoxigraph as ox

    from linnaeus.taxonomy.formats.skos import OWL, REPLACED_BY, SKOS, iri_of

    def node(name: str) -> ox.NamedNode:
        return ox.NamedNode(iri_of(name))

    triples = []
    for change in diff.changes:
        note = ox.Literal(f"{change.kind}: {change.detail}" if change.detail else change.kind, language="en")
        for name in change.old or change.new:
            triples.append(ox.Triple(node(name), ox.NamedNode(SKOS + "changeNote"), note))
    ended = [name for name in map(str, diff.old.names) if name not in diff.same and name not in diff.new.index_of]
    for name in ended:
        triples.append(ox.Triple(node(name), ox.NamedNode(OWL + "deprecated"), ox.Literal(True)))
    for pair in diff.correspondence.pairs:
        if pair.old == pair.new or (pair.old in diff.new.index_of and pair.origin != "table"):
            continue
        if pair.old not in diff.same and pair.old not in diff.new.index_of:
            triples.append(ox.Triple(node(pair.old), ox.NamedNode(REPLACED_BY[0]), node(pair.new)))
        relation = f"{_match(diff, pair.old, pair.new, pair.kind)}Match"
        triples.append(ox.Triple(node(pair.old), ox.NamedNode(SKOS + relation), node(pair.new)))
    prefixes = {"skos": SKOS, "dct": "http://purl.org/dc/terms/", "owl": OWL}
    return (ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes) or b"").decode()


def _match(diff: Diff, old: str, new: str, kind: str) -> str:
    """The SKOS match of a pair: as stated, otherwise by the number of targets and sources."""
    several_new, several_old = (
        len(diff.correspondence.targets[old]) > 1,
        len(diff.correspondence.sources[new]) > 1,
    )
    if kind:
        return kind
    if several_new:
        return "close" if several_old else "narrow"
    return "broad" if several_old else "exact"


def html(diff: Diff, title: str = "Changes of a taxonomy", command: str = "") -> str:
    """The diff as one self-contained HTML page.

    Parameters
    ----------
    diff : Diff
        The changes.
    title : str, default="Changes of a taxonomy"
        Title of the page.
    command : str, default=""
        The command that made it.

    Returns
    -------
    str
        HTML with a table of contents and a section for each kind of change.

    Examples
    --------
    >>> from linnaeus.revisions import compare
    >>> page = html(compare(Taxonomy.flat(["a"]), Taxonomy.flat(["a", "b"])))
    >>> "1 of 1 nodes is unchanged" in page
    True
    """
    facts = [
        ("old version", f"{count(diff.old.n_nodes)} nodes"),
        ("new version", f"{count(diff.new.n_nodes)} nodes"),
        ("one target", count(len(diff.correspondence.univocal))),
        ("several targets", count(len(diff.correspondence.multivocal))),
        ("proposed, to be confirmed", count(len(diff.proposals))),
    ]
    made = datetime.now(UTC).isoformat(timespec="seconds")
    top = opening(title, sentence(diff), facts, made)
    return whole_page(title, top, _sections(diff, command))


def sentence(diff: Diff) -> str:
    """The main result in one sentence."""
    said = [f"{count(number)} {kind}" for kind, number in diff.counts.items()]
    kept = "is" if diff.n_unchanged == 1 else "are"
    return f"{count(diff.n_unchanged)} of {count(diff.old.n_nodes)} nodes {kept} unchanged" + (
        f"; {', '.join(said)}." if said else "."
    )


def _sections(diff: Diff, command: str) -> Iterator[Section]:
    summary = table(["change", "number", "meaning"], [(kind, n, _WORDS[kind]) for kind, n in diff.counts.items()])
    yield "summary", "What changed", [summary if diff.counts else tag("p", "Nothing changed.")]
    todo = list(_next_steps(diff))
    if todo:
        yield "next", "What to do next", [tag("ul", [tag("li", item) for item in todo])]
    if diff.assumptions:
        yield "assumptions", "Assumptions", [tag("ul", [tag("li", text) for text in diff.assumptions])]
    if diff.findings:
        rows = [(f.severity, f.code, f.count, f.message, "; ".join(f.examples)) for f in diff.findings]
        yield "findings", "Findings", [table(["severity", "code", "count", "what", "examples"], rows)]
    for kind in CHANGES:
        changes = diff.of(kind)
        if changes:
            yield kind.replace(" ", "-"), kind.capitalize(), _listed(diff, kind, changes)
    if command:
        yield "method", "How it was made", [tag("pre", tag("code", command), tabindex="0")]


def _next_steps(diff: Diff) -> Iterator[str]:
    errors = [finding for finding in diff.findings if finding.severity == "error"]
    if errors:
        yield f"Correct the table: {'; '.join(f'{f.count:,} {f.message}' for f in errors)}."
    if diff.proposals:
        yield f"Confirm {count(len(diff.proposals))} proposed pairs, the least sure first (--propose writes them)."
    if diff.correspondence.multivocal:
        yield f"Decide the documents of {count(len(diff.correspondence.multivocal))} old nodes with several targets."
    removed = diff.of("removed")
    if removed:
        yield f"Give the documents of {count(len(removed))} removed nodes other labels."


def _listed(diff: Diff, kind: str, changes: list[Change]) -> list[object]:
    columns = {"added": ["new", "where"], "removed": ["old", "where"]}.get(kind, ["old", "new", "what"])
    unsure = any(change.confidence < 1 for change in changes)
    rows: list[list[object]] = []
    for change in changes[:MOST_ROWS]:
        sides = [_shown(diff.old, change.old), _shown(diff.new, change.new)]
        cells: list[object] = [side for side, names in zip(sides, (change.old, change.new), strict=True) if names]
        rows.append([*cells, change.detail, *([f"{change.confidence:.2f}"] if unsure else [])])
    more = f" The first {count(MOST_ROWS)} of {count(len(changes))} are shown." if len(changes) > MOST_ROWS else ""
    listed = table([*columns, *(["confidence"] if unsure else [])], rows)
    return [tag("p", _WORDS[kind] + more), tag("details", tag("summary", f"{count(len(changes))} changes"), listed)]


def _shown(taxonomy: Taxonomy, names: tuple[str, ...]) -> str:
    shown = [name if taxonomy.display(name) == name else f"{taxonomy.display(name)} ({name})" for name in names[:50]]
    return "; ".join(shown) + (f"; {len(names) - 50} more" if len(names) > 50 else "")
