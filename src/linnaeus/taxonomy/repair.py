"""Repairs of SKOS vocabularies: for some findings of `linnaeus.taxonomy.checks`, the statements to remove and to add.

A repair is a patch of statements. All other statements of the file are kept as they are, also those that are not SKOS;
only the layout of the file changes. Each repair removes what its check reports and nothing else, so that repairing
again changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.errors import ParameterError, TaxonomyError, nearest, place
from linnaeus.taxonomy.checks import redundant_pairs
from linnaeus.taxonomy.formats import FORMATS, recognise_text
from linnaeus.taxonomy.formats.draft import Draft, decode, load, source_name
from linnaeus.taxonomy.formats.skos import OURS, RDF_TYPE, SKOS, prepared, stray_characters, syntax_of
from linnaeus.taxonomy.vocabulary_checks import in_hierarchy

if TYPE_CHECKING:
    import pyoxigraph as ox

__all__ = ["FIXES", "Patch", "repair"]

LABELS = ("prefLabel", "altLabel", "hiddenLabel")


@dataclass
class Patch:
    """Statements to remove and to add, with the repair that asks for each.

    Parameters
    ----------
    removed : dict of statement to code, default={}
        Statements to remove.
    added : dict of statement to code, default={}
        Statements to add.
    text : str, default=""
        The repaired file.
    format : str, default=""
        Its format.
    """

    removed: dict[ox.Triple, str] = field(default_factory=dict)
    added: dict[ox.Triple, str] = field(default_factory=dict)
    text: str = ""
    format: str = ""

    def lines(self) -> list[str]:
        """The patch in words, one line per statement: ``- s p o`` and ``+ s p o``."""
        return [*(f"- {_shown(one)}" for one in self.removed), *(f"+ {_shown(one)}" for one in self.added)]

    @property
    def counts(self) -> dict[str, int]:
        """Number of statements by code."""
        return dict(Counter([*self.removed.values(), *self.added.values()]))


def _shown(triple: ox.Triple) -> str:
    return f"{triple.subject} {triple.predicate} {triple.object}"


class _Graph:
    """The statements of a vocabulary in the order of the file, and the hierarchy in them."""

    def __init__(self, triples: list[ox.Triple]) -> None:
        self.triples = triples
        self.by_relation: dict[str, list[ox.Triple]] = {}
        for triple in triples:
            if triple.predicate.value.startswith(SKOS):
                self.by_relation.setdefault(triple.predicate.value[len(SKOS) :], []).append(triple)

    def of(self, *relations: str) -> list[ox.Triple]:
        return [triple for relation in relations for triple in self.by_relation.get(relation, ())]

    def edges(self) -> list[tuple[str, str, ox.Triple]]:
        """Parent, child and statement of the hierarchy."""
        up = [(_id(t.object), _id(t.subject), t) for t in self.of("broader")]
        return up + [(_id(t.subject), _id(t.object), t) for t in self.of("narrower")]

    def draft(self) -> Draft:
        draft = Draft(repeats=True)
        for above, below, _ in self.edges():
            draft.edge(above, below)
        return draft

    def with_parents(self) -> set[str]:
        return {below for above, below, _ in self.edges() if above != below}


Fix = Callable[[_Graph], tuple[Iterable["ox.Triple"], Iterable["ox.Triple"]]]


def repair(path: str | PathLike[str], codes: Iterable[str], *, encoding: str | None = None) -> Patch:
    """Repair a SKOS file.

    Parameters
    ----------
    path : str or path-like
        The file: Turtle, RDF/XML, N-Triples or JSON-LD.
    codes : iterable of str
        Findings to repair, names of `FIXES`.
    encoding : str, default=None
        The encoding, as for `Taxonomy.read`.

    Returns
    -------
    Patch
        What is removed and added, and the text of the repaired file; nothing is written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "v.ttl"
    >>> prefix = "@prefix s: <http://www.w3.org/2004/02/skos/core#> ."
    >>> _ = file.write_text(f'{prefix} <urn:a> s:prefLabel "A", "A b"@en, "B"@en .')
    >>> patch = repair(file, ["several-preferred"])
    >>> patch.lines()
    ['- <urn:a> <http://www.w3.org/2004/02/skos/core#prefLabel> "B"@en', \
'+ <urn:a> <http://www.w3.org/2004/02/skos/core#altLabel> "B"@en']
    """
    import pyoxigraph as ox

    codes = list(dict.fromkeys(codes))
    for code in codes:
        if code not in FIXES:
            hint = nearest(code, FIXES) or f"; there are repairs of {', '.join(FIXES)}."
            raise ParameterError(f"There is no repair of {code!r}{hint}")
    source = source_name(path)
    text = decode(load(path), source, encoding)
    format = recognise_text(text)
    if format is None or FORMATS[format].module != "skos":
        kind = FORMATS[format].about if format in FORMATS else "another format"
        raise TaxonomyError(
            f"{source}: only SKOS files can be repaired, where all other statements are kept; got {kind}. Convert it "
            "first (linnaeus taxonomy convert FILE new.ttl), or correct the file by hand."
        )
    try:
        parser = ox.parse(prepared(text, source, format), format=syntax_of(format), base_iri=OURS)
        triples = [quad.triple for quad in parser]
    except SyntaxError as error:
        raise TaxonomyError(f"{place(source, error.lineno)}: not {format}: {error.msg}.") from None
    patch = Patch(format=format)
    for code in codes:
        # Each repair sees what the ones before it left.
        kept = [triple for triple in triples if triple not in patch.removed]
        removed, added = FIXES[code](_Graph([*kept, *patch.added]))
        for triple in removed:
            if triple in patch.added:
                del patch.added[triple]
            else:
                patch.removed[triple] = code
        here = set(kept)
        patch.added.update((triple, code) for triple in added if triple not in here)
    kept = [triple for triple in triples if triple not in patch.removed]
    prefixes = None if format in ("n-triples", "json-ld") else dict(parser.prefixes)
    content = ox.serialize(_sorted_in([*kept, *patch.added]), format=syntax_of(format), prefixes=prefixes) or b""
    patch.text = f'{{"@graph": {content.decode()}}}\n' if format == "json-ld" else content.decode()
    return patch


def _sorted_in(triples: list[ox.Triple]) -> list[ox.Triple]:
    """The statements with those about one subject together, subjects in their order."""
    place_of: dict[object, int] = {}
    for triple in triples:
        place_of.setdefault(triple.subject, len(place_of))
    return sorted(triples, key=lambda triple: place_of[triple.subject])


def _id(term: object) -> str:
    """The IRI or text of a term; empty for a quoted statement."""
    return str(getattr(term, "value", ""))


def _relation(name: str) -> ox.NamedNode:
    import pyoxigraph as ox

    return ox.NamedNode(SKOS + name)


def _loops(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    return [triple for above, below, triple in graph.edges() if above == below], []


def _redundant(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    pairs = graph.draft().pairs()
    chosen = np.flatnonzero(redundant_pairs(pairs)).tolist()
    covered = {(pairs.names[pairs.parent[i]], pairs.names[pairs.child[i]]) for i in chosen}
    return [triple for above, below, triple in graph.edges() if (above, below) in covered], []


def _several_preferred(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    """Further preferred labels in one language become alternative ones; the first in alphabetical order stays."""
    import pyoxigraph as ox

    groups: dict[tuple[object, str], list[ox.Triple]] = {}
    for triple in graph.of("prefLabel"):
        if isinstance(triple.object, ox.Literal):
            groups.setdefault((triple.subject, (triple.object.language or "").lower()), []).append(triple)
    further = [triple for group in groups.values() for triple in sorted(group, key=lambda t: _id(t.object))[1:]]
    return further, [ox.Triple(triple.subject, _relation("altLabel"), triple.object) for triple in further]


def _label_clash(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    seen: set[tuple[object, object]] = set()
    clash = []
    for relation in LABELS:
        for triple in graph.of(relation):
            if (triple.subject, triple.object) in seen:
                clash.append(triple)
        seen.update((triple.subject, triple.object) for triple in graph.of(relation))
    return clash, []


def _empty(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    import pyoxigraph as ox

    return [t for t in graph.of(*LABELS) if isinstance(t.object, ox.Literal) and not t.object.value.strip()], []


def _stray(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    """Texts without control characters and surrounding white space."""
    import pyoxigraph as ox

    removed, added = [], []
    texts = (
        *LABELS,
        "notation",
        "definition",
        "scopeNote",
        "note",
        "historyNote",
        "editorialNote",
        "changeNote",
        "example",
    )
    for relation in texts:
        for triple in graph.of(relation):
            value = triple.object
            if not isinstance(value, ox.Literal) or not value.value.strip():
                continue
            if value.value == value.value.strip() and not stray_characters(value.value, relation):
                continue
            lines = relation not in (*LABELS, "notation")
            clean = "".join(c for c in value.value if c.isprintable() or c.isspace()).strip()
            clean = clean if lines else re.sub(r"\s+", " ", clean)
            literal = (
                ox.Literal(clean, language=value.language)
                if value.language
                else ox.Literal(clean, datatype=value.datatype)
            )
            removed.append(triple)
            added.append(ox.Triple(triple.subject, triple.predicate, literal))
    return removed, added


def _relation_clash(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    pairs = graph.draft().pairs()
    index = {name: v for v, name in enumerate(pairs.names)}
    related = graph.of("related")
    ends = [(index.get(_id(t.subject), -1), index.get(_id(t.object), -1)) for t in related]
    known = [(a, b) for a, b in ends if a >= 0 and b >= 0 and a != b]
    clash = set(in_hierarchy(known, pairs))
    return [triple for triple, pair in zip(related, ends, strict=True) if pair in clash], []


def _one_way(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    import pyoxigraph as ox

    given = {(t.subject, t.object) for t in graph.of("related")}
    concepts = {t.subject for t in graph.triples if t.predicate.value == RDF_TYPE and t.object == _relation("Concept")}
    added = []
    for t in graph.of("related"):
        other = t.object
        if (
            isinstance(other, ox.NamedNode)
            and other in concepts
            and other != t.subject
            and (other, t.subject) not in given
        ):
            added.append(ox.Triple(other, t.predicate, t.subject))
    return [], added


def _top_with_broader(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    below = graph.with_parents()
    wrong = [t for t in graph.of("topConceptOf") if _id(t.subject) in below]
    return wrong + [t for t in graph.of("hasTopConcept") if _id(t.object) in below], []


def _omitted_top(graph: _Graph) -> tuple[list[ox.Triple], list[ox.Triple]]:
    """Top concepts of their scheme; where it is not said, of the only scheme of the file."""
    import pyoxigraph as ox

    types = [t for t in graph.triples if t.predicate.value == RDF_TYPE]
    schemes = [t.subject for t in types if t.object == _relation("ConceptScheme")]
    tops = {t.subject for t in graph.of("topConceptOf")} | {t.object for t in graph.of("hasTopConcept")}
    member = {t.subject: t.object for t in graph.of("inScheme")}
    below, added = graph.with_parents(), []
    deprecated = {t.subject for t in graph.triples if t.predicate.value.endswith("#deprecated")}
    for concept in [t.subject for t in types if t.object == _relation("Concept")]:
        scheme = member.get(concept, schemes[0] if len(schemes) == 1 else None)
        if _id(concept) not in below and concept not in tops and concept not in deprecated and scheme is not None:
            added.append(ox.Triple(concept, _relation("topConceptOf"), scheme))
    return [], added


FIXES: dict[str, Fix] = {
    "self-loop": _loops,
    "redundant-edge": _redundant,
    "several-preferred": _several_preferred,
    "label-clash": _label_clash,
    "empty-label": _empty,
    "stray-characters": _stray,
    "relation-clash": _relation_clash,
    "one-way-related": _one_way,
    "top-with-broader": _top_with_broader,
    "omitted-top": _omitted_top,
}
