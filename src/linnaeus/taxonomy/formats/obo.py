"""OBO ontologies: ``[Term]`` stanzas with ``id``, ``name`` and ``is_a``; other relations if ``relations=`` names them.

Obsolete terms are left out unless ``obsolete=True`` keeps them: they become deprecated ids with the terms that
``replaced_by`` and ``consider`` name, and every ``alt_id`` becomes an alias of its term. Other stanzas are ignored.
Edges that leave the chosen ``namespaces`` are dropped; an edge to a term that is not in the file is an error.

Names, synonyms (exact ones are alternative labels, others hidden labels), definitions, comments and properties such as
``skos:scopeNote`` are texts; a modifier ``{language="de"}`` gives their language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from linnaeus.errors import nearest
from linnaeus.taxonomy.formats.draft import KEYS, Draft, FormatOptions, beside_label
from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ("relations", "namespaces", "obsolete")
HOLDS_TEXTS = True

_COMMENT = re.compile(r"(?<!\\)\s!\s.*$")
_OPENED = re.compile(r"(?<!\\)\{")
_QUOTED = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"\s*(\w*)')
_LANGUAGE = re.compile(r'\{[^{}]*\blanguage="([^"{}]*)"')
_PROPERTIES = {f"skos:{key}": kind for kind, key in KEYS.items()} | {
    "IAO:0000112": "example",
    "IAO:0000115": "definition",
}
_ESCAPES = {"n": "\n", "t": "\t", "W": " "}


@dataclass
class _Term:
    id: str = ""
    line: int = 0
    name: str = ""
    namespace: str = ""
    obsolete: bool = False
    above: list[tuple[str, str, int]] = field(default_factory=list)  # relation, parent, line
    other_ids: list[str] = field(default_factory=list)
    replaced_by: list[str] = field(default_factory=list)
    consider: list[str] = field(default_factory=list)
    texts: list[tuple[str, str, str]] = field(default_factory=list)  # kind, language, text


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the terms."""
    draft = Draft(source, repeats=True)
    everything = _terms(text, draft)
    relations = _relations(options, everything, draft)
    kept = {term.id: term for term in everything.values() if options.obsolete or not term.obsolete}
    if options.namespaces is not None:
        wanted = _tuple(options.namespaces)
        known = sorted({term.namespace for term in everything.values()})
        missing = next((name for name in wanted if name not in known), None)
        if missing is not None:
            raise draft.error(f"no term is in the namespace {missing!r}; the file has {_listed(known)}.")
        kept = {id: term for id, term in kept.items() if term.namespace in wanted}
        everything_wanted = {id: term for id, term in everything.items() if term.namespace in wanted}
    else:
        everything_wanted = everything
    for term in kept.values():
        draft.node(term.id, term.name if term.name != term.id else None)
        draft.add_texts(term.id, term.texts)
    for term in everything_wanted.values():
        if term.id not in kept:
            draft.deprecated[term.id] = Deprecated(tuple(term.replaced_by), tuple(term.consider), term.name)
        for other in term.other_ids:
            draft.aliases.setdefault(other, []).append(term.id)
    for term in kept.values():
        for relation, above, line in term.above:
            if relation not in relations:
                draft.unused_relations[relation] += 1
                continue
            if above not in everything:
                hint = nearest(above, everything) or "."
                raise draft.error(f"parent {above!r} of {term.id!r} is not a term of the file{hint}", line)
            if above in kept:
                draft.edge(above, term.id, line)
            elif everything[above].obsolete and options.namespaces is None:
                keep = "keep such terms with obsolete=True, or --obsolete on the command line"
                raise draft.error(f"parent {above!r} of {term.id!r} is obsolete; {keep}.", line)
    return draft


def _relations(options: FormatOptions, terms: dict[str, _Term], draft: Draft) -> tuple[str, ...]:
    if options.relations is None:
        return ("is_a",)
    wanted = _tuple(options.relations)
    known = {relation for term in terms.values() for relation, _, _ in term.above} | {"is_a"}
    missing = next((relation for relation in wanted if relation not in known), None)
    if missing is not None:
        raise draft.error(f"no term has the relation {missing!r}; the file has {_listed(sorted(known))}.")
    return wanted


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def _tuple(value: Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _terms(text: str, draft: Draft) -> dict[str, _Term]:
    terms: dict[str, _Term] = {}
    default = ""
    term: _Term | None = None
    in_header = True
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("["):
            in_header = False
            _close(terms, term, draft)
            term = _Term(line=number, namespace=default) if line == "[Term]" else None
        elif line and not line.startswith("!"):
            tag, found, value = line.partition(":")
            if not found:
                raise draft.error(f"expected 'tag: value', got {line[:60]!r}.", number)
            if in_header and tag == "default-namespace":
                default = value.strip()
            elif term is not None:
                if tag in ("synonym", "def", "property_value"):
                    _add_text(term, tag, value.strip())
                else:
                    _fill(term, tag, _bare(value), number)
    _close(terms, term, draft)
    return terms


def _close(terms: dict[str, _Term], term: _Term | None, draft: Draft) -> None:
    if term is None:
        return
    if not term.id:
        raise draft.error("a [Term] has no id.", term.line)
    if term.id in terms:
        raise draft.error(f"the id {term.id!r} was already given in line {terms[term.id].line}.", term.line)
    terms[term.id] = term


def _bare(value: str) -> str:
    """The value without a comment at its end and without modifiers in braces; escapes are kept."""
    value = _COMMENT.sub("", " " + value).strip()
    if value.endswith("}") and not value.endswith("\\}") and (opened := _OPENED.search(value)):
        return value[: opened.start()].rstrip()
    return value


def _add_text(term: _Term, tag: str, value: str) -> None:
    """Add a text in quotes; a value that is not one is ignored."""
    kind = {"synonym": "alternative", "def": "definition"}.get(tag)
    if kind is None:
        name, _, value = value.partition(" ")
        kind = _PROPERTIES.get(name)
    found = _QUOTED.match(value.lstrip())
    if kind is None or found is None:
        return
    if tag == "synonym" and found[2] not in ("EXACT", ""):
        kind = "hidden"  # broader, narrower and related terms
    language = _LANGUAGE.search(value.lstrip(), found.end())
    term.texts.append((kind, language[1] if language else "", _plain(found[1])))


def _fill(term: _Term, tag: str, value: str, number: int) -> None:
    if tag == "id":
        term.id, term.line = _plain(value), number
    elif tag == "name":
        term.name = _plain(value)
    elif tag == "comment":
        term.texts.append(("note", "", _plain(value)))
    elif tag == "namespace":
        term.namespace = value
    elif tag == "is_obsolete":
        term.obsolete = value == "true"
    elif tag == "is_a":
        term.above.append(("is_a", _plain(value), number))
    elif tag == "alt_id":
        term.other_ids.append(_plain(value))
    elif tag == "replaced_by":
        term.replaced_by.append(_plain(value))
    elif tag == "consider":
        term.consider.append(_plain(value))
    elif tag == "relationship":
        relation, _, target = value.partition(" ")
        term.above.append((relation, _plain(target.strip()), number))


def _plain(value: str) -> str:
    if "\\" not in value:
        return value
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(1)), value)


def _escaped(value: str, *, spaces: bool) -> str:
    value = re.sub(r"([\\!{}])", r"\\\1", value).replace("\n", "\\n").replace("\t", "\\t")
    return value.replace(" ", "\\W") if spaces else value


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """One term per node in node order, all edges as ``is_a``; then one per deprecated id."""
    ids = [_escaped(name, spaces=True) for name in taxonomy.names]
    stanzas = ["format-version: 1.2"]
    others: dict[str, list[str]] = {}
    for other, name in taxonomy.aliases.items():
        others.setdefault(name, []).append(other)
    for v, id in enumerate(ids):
        shown = taxonomy.display(v)
        lines = ["[Term]", f"id: {id}", f"name: {_escaped(shown, spaces=shown != shown.strip())}"]
        lines += [f"alt_id: {_escaped(other, spaces=True)}" for other in others.get(taxonomy.names[v], [])]
        lines += [_text_line(entry) for entry in beside_label(taxonomy, v)]
        lines += [f"is_a: {ids[p]}" for p in taxonomy.parents(v)]
        stanzas.append("\n".join(lines))
    for id, entry in taxonomy.deprecated.items():
        lines = ["[Term]", f"id: {_escaped(id, spaces=True)}"]
        label = entry.label
        lines += [f"name: {_escaped(label, spaces=label != label.strip())}"] if label else []
        lines += [f"replaced_by: {_escaped(name, spaces=True)}" for name in entry.replaced_by]
        lines += [f"consider: {_escaped(name, spaces=True)}" for name in entry.consider]
        stanzas.append("\n".join([*lines, "is_obsolete: true"]))
    return "\n\n".join(stanzas) + "\n"


def _text_line(entry: NodeText) -> str:
    """A line that holds one text: a synonym, or a property because a term has only one definition and comment."""
    escaped = re.sub(r'(["\\])', r"\\\1", entry.text).replace("\n", "\\n").replace("\t", "\\t")
    language = f' {{language="{entry.language}"}}' if entry.language else ""
    scope = {"alternative": "EXACT", "hidden": "RELATED"}.get(entry.kind)
    if scope is not None:
        return f'synonym: "{escaped}" {scope} []{language}'
    return f'property_value: skos:{KEYS[entry.kind]} "{escaped}" xsd:string{language}'
