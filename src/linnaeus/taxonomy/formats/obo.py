"""OBO ontologies: ``[Term]`` stanzas with ``id``, ``name`` and ``is_a``; other relations if ``relations=`` names them.

Obsolete terms are left out, alternative ids and the other stanzas are ignored. Edges that leave the chosen
``namespaces`` are dropped; an edge to a term that the file does not have is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linnaeus.errors import nearest
from linnaeus.taxonomy.formats.draft import Draft
from linnaeus.taxonomy.formats.options import Options
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ("relations", "namespaces", "obsolete")

_COMMENT = re.compile(r"(?<!\\)\s!\s.*$")
_MODIFIERS = re.compile(r"(?<!\\)\{.*(?<!\\)\}\s*$")
_ESCAPES = {"n": "\n", "t": "\t", "W": " "}


@dataclass
class _Term:
    id: str = ""
    line: int = 0
    name: str = ""
    namespace: str = ""
    obsolete: bool = False
    above: list[tuple[str, str, int]] = field(default_factory=list)  # relation, parent, line


def parse(text: str, source: str, format: str, options: Options) -> Draft:
    """Names and pairs of the terms."""
    draft = Draft(source, repeats=True)
    relations = ("is_a",) if options.relations is None else _tuple(options.relations)
    everything = _terms(text, draft)
    kept = {term.id: term for term in everything.values() if options.obsolete or not term.obsolete}
    if options.namespaces is not None:
        wanted = _tuple(options.namespaces)
        kept = {id: term for id, term in kept.items() if term.namespace in wanted}
        if not kept:
            known = sorted({term.namespace for term in everything.values()})
            raise draft.error(f"no term is in the namespaces {list(wanted)}; the file has {known[:10]}.")
    for term in kept.values():
        draft.node(term.id, term.name)
    for term in kept.values():
        for relation, above, line in term.above:
            if relation not in relations:
                continue
            if above not in everything:
                hint = nearest(above, everything) or "."
                raise draft.error(f"parent {above!r} of {term.id!r} is not a term of the file{hint}", line)
            if above in kept:
                draft.edge(above, term.id, line)
            elif everything[above].obsolete and options.namespaces is None:
                raise draft.error(f"parent {above!r} of {term.id!r} is obsolete; obsolete=True keeps such terms.", line)
    return draft


def _tuple(value: str | object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]


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
                _fill(term, tag, _bare(value), number)
    _close(terms, term, draft)
    return terms


def _close(terms: dict[str, _Term], term: _Term | None, draft: Draft) -> None:
    if term is None:
        return
    if not term.id:
        raise draft.error("a [Term] has no id.", term.line)
    if term.id in terms:
        raise draft.error(f"the id {term.id!r} was given before, in line {terms[term.id].line}.", term.line)
    terms[term.id] = term


def _bare(value: str) -> str:
    """The value without a comment at its end and without modifiers in braces; escapes stay."""
    return _MODIFIERS.sub("", _COMMENT.sub("", " " + value)).strip()


def _fill(term: _Term, tag: str, value: str, number: int) -> None:
    if tag == "id":
        term.id, term.line = _plain(value), number
    elif tag == "name":
        term.name = _plain(value)
    elif tag == "namespace":
        term.namespace = value
    elif tag == "is_obsolete":
        term.obsolete = value == "true"
    elif tag == "is_a":
        term.above.append(("is_a", _plain(value), number))
    elif tag == "relationship":
        relation, _, target = value.partition(" ")
        term.above.append((relation, _plain(target.strip()), number))


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(1)), value)


def _escaped(value: str, *, spaces: bool) -> str:
    value = re.sub(r"([\\!{}])", r"\\\1", value).replace("\n", "\\n").replace("\t", "\\t")
    return value.replace(" ", "\\W") if spaces else value


def compose(taxonomy: Taxonomy, format: str, options: Options) -> str:
    """One term per node in node order, all edges as ``is_a``."""
    ids = [_escaped(name, spaces=True) for name in taxonomy.names]
    stanzas = ["format-version: 1.2"]
    for v, id in enumerate(ids):
        shown = taxonomy.display(v)
        lines = ["[Term]", f"id: {id}", f"name: {_escaped(shown, spaces=shown != shown.strip())}"]
        lines += [f"is_a: {ids[p]}" for p in taxonomy.parents(v)]
        stanzas.append("\n".join(lines))
    return "\n\n".join(stanzas) + "\n"
