"""SKOS vocabularies in Turtle, RDF/XML, N-Triples and JSON-LD (whose context must be in the file).

Edges are read from ``broader`` and ``narrower``; ``topConceptOf`` and ``hasTopConcept`` only declare a node, and the
transitive relations are ignored because they repeat the others. A node is named by its IRI, its notation or its
preferred label.

The display label is the preferred label in the requested language, otherwise in English, otherwise without a language,
otherwise the first one; a language that no label has is an error. All labels, notes, examples and notations are kept as
texts, in all languages; labels may be SKOS-XL labels, and notes may be resources with an ``rdf:value``.

Concepts that are ``owl:deprecated`` are left out unless ``obsolete=True`` keeps them (also those that are not of the
type ``skos:Concept`` any more): they become deprecated ids,
replaced by the concepts that ``dcterms:isReplacedBy`` (or ``dcterms:replaces``) names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats.draft import ConceptRelations, Draft, FormatOptions, without_collection
from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText, TextCollector

if TYPE_CHECKING:
    import pyoxigraph as ox

__all__ = ["KNOWN_OPTIONS", "compose", "iri_of", "name_of", "parse", "prepared", "stray_characters", "syntax_of"]

KNOWN_OPTIONS = ("language", "names", "obsolete")
HOLDS_TEXTS = True

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDF_VALUE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#value"
SKOS_XL = "http://www.w3.org/2008/05/skos-xl#"
OWL = "http://www.w3.org/2002/07/owl#"
REPLACED_BY = ("http://purl.org/dc/terms/isReplacedBy", "http://purl.obolibrary.org/obo/IAO_0100001")
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
REPLACES = "http://purl.org/dc/terms/replaces"
NAME_BY_IRI = "name the nodes by their IRI (names='iri')"
OURS = "urn:linnaeus:"  # names that are not IRIs are written as urn:linnaeus:<percent-encoded>
_DECLARED = re.compile(r"""(<\?xml[^>]{0,80}?)(\sencoding\s*=\s*["'][\w.:-]+["'])([^>]*\?>)""")
_ENTITY = re.compile(r"""<!ENTITY\s+(?:%\s+)?([^\s"'%&;<>]+)\s+("[^"]*"|'[^']*')""")
_REFERENCE = re.compile(r"[&%]([^\s&;#%]{1,100});")
LARGEST_ENTITY = 1 << 20
_IRI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)[^\x00-\x20<>\"{}|\\^`]+")


# Relations that are texts. The first one of a kind is written; ``note`` also holds the notes about the concept itself.
TEXTS = {
    "prefLabel": "preferred",
    "altLabel": "alternative",
    "hiddenLabel": "hidden",
    "definition": "definition",
    "scopeNote": "scope_note",
    "note": "note",
    "historyNote": "note",
    "editorialNote": "note",
    "changeNote": "note",
    "example": "example",
    "notation": "notation",
}


SKOS_TERMS = frozenset(
    [
        "Concept",
        "ConceptScheme",
        "Collection",
        "OrderedCollection",
        "altLabel",
        "broadMatch",
        "broader",
        "broaderTransitive",
        "changeNote",
        "closeMatch",
        "definition",
        "editorialNote",
        "exactMatch",
        "example",
        "hasTopConcept",
        "hiddenLabel",
        "historyNote",
        "inScheme",
        "mappingRelation",
        "member",
        "memberList",
        "narrowMatch",
        "narrower",
        "narrowerTransitive",
        "notation",
        "note",
        "prefLabel",
        "related",
        "relatedMatch",
        "scopeNote",
        "semanticRelation",
        "topConceptOf",
    ]
)


_CONCEPT = SKOS + "Concept"
_TEXT_RELATIONS = {space + relation: relation for space in (SKOS, SKOS_XL) for relation in TEXTS}

# Subject, predicate, object and, if the object is a literal, its language in lower case; otherwise None.
_Statement = tuple[str, str, str, str | None]


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the concepts."""
    names = options.choose("names", ("iri", "notation", "label"))
    concepts = _Concepts(Draft(source, repeats=True), options.language)
    with without_collection():
        for statement in _statements(text, source, format):
            concepts.add(statement)
        return concepts.draft_named_by(names, bool(options.obsolete))


def _statements(text: str, source: str, format: str) -> Iterator[_Statement]:
    import pyoxigraph as ox

    of_resources = (SKOS_XL + "literalForm", RDF_VALUE)
    try:
        # Types are compared in this way because a large vocabulary has millions of statements.
        for quad in ox.parse(prepared(text, source, format), format=syntax_of(format), base_iri=OURS):
            subject, value, predicate = quad.subject, quad.object, quad.predicate.value
            if type(value) is ox.Literal:
                language = value.language
                language = language.lower() if language else ""
            elif type(value) is ox.Triple:
                continue
            else:
                language = None
            if type(subject) is ox.NamedNode:
                yield subject.value, predicate, value.value, language
            elif type(subject) is ox.BlankNode and predicate in of_resources:
                yield f"_:{subject.value}", predicate, value.value, language
    except SyntaxError as error:
        if format == "json-ld" and "LoadDocumentCallback" in str(error.msg):
            raise Draft(source).error("the @context is at another address; expected it in the file.") from None
        raise Draft(source).error(f"not {format}: {error.msg}.", error.lineno or 0) from None


def prepared(text: str, source: str, format: str) -> str:
    """The text as the parser expects it: it is already decoded, whatever encoding an XML file declares."""
    if format == "rdf-xml":
        text = _DECLARED.sub(r"\1\3", text, count=1)
        _refuse_expansion(text, source)
    return text


def _refuse_expansion(text: str, source: str) -> None:
    """Raise an error if the entities that an XML file declares would make it much longer."""
    if "<!ENTITY" not in text:
        return
    size: dict[str, int] = {}  # of expanded entities; an entity may refer only to earlier ones
    for found in _ENTITY.finditer(text):
        value = found.group(2)[1:-1]
        size[found.group(1)] = len(value) + sum(size.get(name, 0) for name in _REFERENCE.findall(value))
        if size[found.group(1)] > LARGEST_ENTITY:
            break
    total = sum(size.get(name, 0) for name in _REFERENCE.findall(text))
    if max(size.values(), default=0) > LARGEST_ENTITY or total > max(LARGEST_ENTITY, 20 * len(text)):
        line = text.count("\n", 0, text.index("<!ENTITY")) + 1
        raise Draft(source).error("the entities declared in the XML file expand to more than the allowed size.", line)


class _Concepts:
    """The statements about each concept, in the order in which the file first mentions them."""

    def __init__(self, draft: Draft, language: str | None) -> None:
        self.draft = draft
        self.wanted = language
        self.order: dict[str, None] = {}  # every IRI that is a concept or occurs in a relation
        self.described: set[str] = set()  # those that the file describes and does not only refer to
        self.pairs: dict[tuple[str, str], None] = {}
        self.label: dict[str, tuple[int, str]] = {}  # rank of the language, label
        self.languages: Counter[str] = Counter()  # of all preferred labels
        self.ranks: dict[str, int] = {}  # of languages
        self.notation: dict[str, str] = {}
        self.deprecated: dict[str, None] = {}
        self.rdfs_label: dict[str, str] = {}  # which deprecated concepts may have instead of a preferred label
        self.texts = TextCollector()
        self.owner: dict[str, int] = {}  # number of an IRI as the owner of texts
        self.linked: list[tuple[str, str, str]] = []  # concept, relation and resource of labels and notes
        self.forms: dict[str, list[tuple[str, str]]] = {}  # texts and languages of resources that may be such
        self.replaced_by: dict[str, dict[str, None]] = {}
        self.relations = ConceptRelations()

    def add(self, statement: _Statement) -> None:
        subject, predicate, value, language = statement
        relation = _TEXT_RELATIONS.get(predicate)  # the most frequent statements first
        if relation is not None:
            self._tell(subject, relation, value, language)
        elif predicate == RDF_TYPE:
            if value == _CONCEPT:
                self._describe(subject)
            elif value == OWL + "DeprecatedClass":
                self.deprecated[subject] = None
            elif value == SKOS + "ConceptScheme":
                self.relations.schemes.add(subject)
        elif predicate.startswith(SKOS):
            self._relate(subject, predicate[len(SKOS) :], value)
        elif predicate == OWL + "deprecated":
            if value.lower() in ("true", "1"):
                self.deprecated[subject] = None
        elif predicate == RDFS_LABEL:
            if subject not in self.rdfs_label or self._rank(language or "") <= 2:
                self.rdfs_label[subject] = value
        elif predicate in REPLACED_BY:
            self.replaced_by.setdefault(subject, {})[value] = None
        elif predicate == REPLACES:
            self.replaced_by.setdefault(value, {})[subject] = None
        elif predicate in (SKOS_XL + "literalForm", RDF_VALUE) and language is not None:
            self.forms.setdefault(subject, []).append((value, language))

    def _describe(self, iri: str) -> None:
        self.order.setdefault(iri)
        self.described.add(iri)

    def _relate(self, subject: str, relation: str, value: str) -> None:
        if relation == "broader":
            self._describe(subject)
            self.order.setdefault(value)
            self.pairs.setdefault((value, subject))
        elif relation == "narrower":
            self._describe(subject)
            self.order.setdefault(value)
            self.pairs.setdefault((subject, value))
        elif relation == "topConceptOf":
            self._describe(subject)
            self.relations.tops[subject] = None
        elif relation == "hasTopConcept":
            self.order.setdefault(value)
            self.relations.tops[value] = None
        elif relation == "related":
            self.relations.related.append((subject, value))
        elif relation.endswith("Match") and relation in SKOS_TERMS:
            self.relations.mappings.append((relation, subject, value))
        elif relation not in SKOS_TERMS:
            self.relations.unknown_terms[relation] += 1

    def _tell(self, subject: str, relation: str, value: str, language: str | None) -> None:
        """Add a text of a concept, or the resource that holds it."""
        if language is None:
            self.linked += [(subject, relation, value), (subject, relation, f"_:{value}")]
            return
        if not value.isprintable() or value[:1] == " " or value[-1:] == " " or not value:
            self._note_characters(subject, relation, value)
        if relation == "notation":
            self.notation.setdefault(subject, value)
        elif relation == "prefLabel":
            self._keep_better(subject, value, language)
        self.texts.add(self.owner.setdefault(subject, len(self.owner)), TEXTS[relation], language, value)

    def _note_characters(self, subject: str, relation: str, value: str) -> None:
        """Remember labels that are empty, and texts that hold more than characters to print (notes may have lines)."""
        if not value.strip():
            if relation in ("prefLabel", "altLabel", "hiddenLabel"):
                self.relations.empty.append(subject)
        elif value != value.strip() or stray_characters(value, relation):
            self.relations.stray.append(subject)

    def _follow_links(self) -> None:
        """Add the texts of resources, which the file may describe after it refers to them."""
        for subject, relation, resource in self.linked:
            for text, language in self.forms.get(resource, ()):
                self._tell(subject, relation, text, language)

    def _keep_better(self, subject: str, label: str, language: str) -> None:
        rank = self.ranks.get(language)
        if rank is None:
            rank = self.ranks[language] = self._rank(language)
        self.languages[language] += 1
        known = self.label.get(subject)
        if known is None or rank < known[0]:
            self.label[subject] = (rank, label)

    def _rank(self, language: str) -> int:
        if self.wanted and language.split("-")[0] == self.wanted.lower().split("-")[0]:
            return 0 if language == self.wanted.lower() else 1
        return 2 if language.split("-")[0] == "en" else 3 if not language else 4

    def _refuse_missing_language(self) -> None:
        if self.wanted is None or any(rank < 2 for rank, _ in self.label.values()):
            return
        listed = ", ".join(f"{name or 'none'} ({count:,})" for name, count in self.languages.most_common(20))
        has = f"the languages of its labels are {listed}" if listed else "it has no preferred labels"
        raise self.draft.error(f"no preferred label is in the language {self.wanted!r}; {has}.")

    def draft_named_by(self, names: str, obsolete: bool) -> Draft:
        draft = self.draft
        self._follow_links()
        self._refuse_missing_language()
        left_out: dict[str, None] = {} if obsolete else self.deprecated
        if obsolete:  # they may have lost their type, and their label may be an rdfs:label
            for iri in self.deprecated:
                if iri in self.label or iri in self.rdfs_label or iri in self.replaced_by:
                    self._describe(iri)
                    if iri not in self.label and iri in self.rdfs_label:
                        self.label[iri] = (4, self.rdfs_label[iri])
        known = [iri for iri in self.order if iri not in left_out]
        described = {iri for iri in known if iri in self.described or iri in self.label}
        for above, below in self.pairs:
            if below not in described and below not in left_out:
                raise draft.error(f"concept <{below}>, narrower than <{above}>, is not described in the file.")
        called = self._called(known, names)
        if any(above not in described and above not in left_out for above, _ in self.pairs):
            draft.declared = {called[iri] for iri in described}  # the others are unknown parents
        for iri in known:
            label = self.label.get(iri)
            draft.node(called[iri], label[1] if label and names != "label" else None)
        for above, below in self.pairs:
            if above not in left_out and below not in left_out:
                draft.edge(called[above], called[below])
        self.relations.to_deprecated = [
            (name_of(above), name_of(below))
            for above, below in self.pairs
            if (above in left_out) != (below in left_out)
        ]
        draft.relations = self.relations.renamed(called)
        numbers = {self.owner[iri]: draft.index[name] for iri, name in called.items() if iri in self.owner}
        draft.texts = self.texts.owned_by(numbers)
        draft.labels_from_texts = False
        texts = self._texts(names)
        in_order = (iri for iri in self.order if iri in left_out)
        for iri in dict.fromkeys([*in_order, *self.deprecated, *self.replaced_by]):
            if iri not in called:
                targets = tuple(texts.get(other, name_of(other)) for other in self.replaced_by.get(iri, ()))
                shown = self.label[iri][1] if iri in self.label else self.rdfs_label.get(iri, "")
                name = shown if shown and names == "label" else texts.get(iri, name_of(iri))
                draft.deprecated.setdefault(name, Deprecated(targets, label=shown))
        return draft

    def _texts(self, names: str) -> dict[str, str]:
        """Names of concepts that are not named by their IRI."""
        if names == "iri":
            return {}
        return self.notation if names == "notation" else {iri: label[1] for iri, label in self.label.items()}

    def _called(self, known: list[str], names: str) -> dict[str, str]:
        if names == "iri":
            return {iri: name_of(iri) for iri in known}
        texts = self._texts(names)
        owner: dict[str, str] = {}
        for iri in known:
            if iri not in texts:
                raise self.draft.error(f"concept <{iri}> has no {names}; {NAME_BY_IRI}.")
            first = owner.setdefault(texts[iri], iri)
            if first != iri:
                both = f"<{first}> and <{iri}> share the {names} {texts[iri]!r}"
                raise self.draft.error(f"{both}; {NAME_BY_IRI}.")
        return {iri: texts[iri] for iri in known}


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """A vocabulary with ``broader``, ``topConceptOf`` and all texts; ``language`` is the tag of texts without one."""
    import pyoxigraph as ox

    nodes = [ox.NamedNode(iri_of(name)) for name in taxonomy.names]
    relation_of = {kind: ox.NamedNode(SKOS + word) for word, kind in reversed(TEXTS.items())}

    def literal(text: str, kind: str = "preferred", language: str = "") -> ox.Literal:
        tag = language or (options.language if kind != "notation" else None)
        try:
            return ox.Literal(text, language=tag) if tag else ox.Literal(text)
        except ValueError:
            raise TaxonomyError(f"{tag!r} is not a language tag that RDF accepts; expected one such as 'de'.") from None

    scheme = ox.NamedNode(OURS + "//scheme")
    triples = [ox.Triple(scheme, ox.NamedNode(RDF_TYPE), ox.NamedNode(SKOS + "ConceptScheme"))]
    for v, node in enumerate(nodes):
        triples.append(ox.Triple(node, ox.NamedNode(RDF_TYPE), ox.NamedNode(SKOS + "Concept")))
        texts = taxonomy.texts.of(v)
        if taxonomy.display_labels is None and not texts and node.value.startswith(OURS):
            texts = [NodeText(v, "preferred", "", taxonomy.names[v])]
        shown = taxonomy.display_labels[v] if taxonomy.display_labels is not None else ""
        if shown.strip() and not any(entry.kind == "preferred" and entry.text == shown.strip() for entry in texts):
            texts = [NodeText(v, "preferred", "", shown), *texts]  # a display label that was given later
        for _, kind, language, text in texts:
            triples.append(ox.Triple(node, relation_of[kind], literal(text, kind, language)))
        above = taxonomy.parents(v).tolist()
        triples += [ox.Triple(node, ox.NamedNode(SKOS + "broader"), nodes[p]) for p in above]
        if not above:
            triples.append(ox.Triple(node, ox.NamedNode(SKOS + "topConceptOf"), scheme))
    for id, entry in taxonomy.deprecated.items():
        node = ox.NamedNode(iri_of(id))
        triples.append(ox.Triple(node, ox.NamedNode(RDF_TYPE), ox.NamedNode(SKOS + "Concept")))
        triples.append(ox.Triple(node, ox.NamedNode(OWL + "deprecated"), ox.Literal(True)))
        if entry.label:
            triples.append(ox.Triple(node, relation_of["preferred"], literal(entry.label)))
        targets = [ox.NamedNode(iri_of(name)) for name in entry.replaced_by]
        triples += [ox.Triple(node, ox.NamedNode(REPLACED_BY[0]), target) for target in targets]
    prefixes = {"skos": SKOS} if format in ("turtle", "rdf-xml") else None
    text = (ox.serialize(triples, format=syntax_of(format), prefixes=prefixes) or b"").decode()
    return f'{{"@graph": {text}}}\n' if format == "json-ld" else text


def stray_characters(text: str, relation: str) -> bool:
    """Whether a text has control characters; line breaks and tabs are usual in notes."""
    lines = relation not in ("prefLabel", "altLabel", "hiddenLabel", "notation")
    return any(not c.isprintable() and not (c.isspace() and (lines or c == "\u00a0")) for c in text)


def syntax_of(format: str) -> ox.RdfFormat:
    """The syntax of a format in pyoxigraph."""
    import pyoxigraph as ox

    syntaxes = {"turtle": ox.RdfFormat.TURTLE, "rdf-xml": ox.RdfFormat.RDF_XML, "n-triples": ox.RdfFormat.N_TRIPLES}
    return syntaxes.get(format, ox.RdfFormat.JSON_LD)


def name_of(iri: str) -> str:
    """The name of a node whose IRI this is."""
    return unquote(iri[len(OURS) :]) if iri.startswith(OURS) else iri


def iri_of(name: str) -> str:
    """The IRI that a name is written as: the name itself if it is one."""
    return name if _IRI.fullmatch(name) and not name.startswith(OURS) else OURS + quote(name, safe="")
