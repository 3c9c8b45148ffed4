"""Nested JSON, in the shapes people have:

    {"Sports": {"Tennis": {}, "Football": {}}}                       dictionaries of dictionaries (or of lists of names)
    ["Sports", {"Science": ["Physics"]}]                             lists
    {"id": "S", "name": "Sports and games", "children": []}          objects that describe a node, alone or in a list
    [{"id": "S", "parent": null}, {"id": "T", "parent": "S"}]        objects that name their parents
    {"Tennis": "Sports", "Football": "Sports"}                       one flat object: child and parent

What an object says is told by `records`. The same name under two parents is one node with two parents; with
``names="path"`` it is two nodes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.taxonomy.formats.draft import Draft
from linnaeus.taxonomy.formats.options import Options
from linnaeus.taxonomy.formats.records import Member, child_to_parent, members
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "note_of", "parse"]

KNOWN_OPTIONS = ("names",)


def parse(text: str, source: str, format: str, options: Options) -> Draft:
    """Names and pairs of nested JSON."""
    draft = Draft(source, repeats=True)
    try:
        _take_all(_load(text, draft), draft, text, options)
    except RecursionError:
        raise draft.error("nested too deep for the JSON reader; use 'edges' or 'indented'.") from None
    return draft


def _take_all(content: Any, draft: Draft, text: str, options: Options) -> None:
    note_of(content, remove=True)
    walk = _Walk(draft, text, options.choose("names", ("name", "path")) == "path")
    flat = child_to_parent(content)
    if flat is None:
        walk.down(members(content, draft))
    else:
        walk.down(Member(name, parents=() if above in (None, "") else (str(above),)) for name, above in flat.items())
    walk.declare()


class _Walk:
    """Takes the nodes of all levels into a draft; ``whole`` calls them by their whole path."""

    def __init__(self, draft: Draft, text: str, whole: bool) -> None:
        self.draft, self.text, self.whole = draft, text, whole
        self.given: set[tuple[str, str, tuple[str, ...] | None]] = set()
        self.opened: set[str] = set()  # nodes whose children were given, for `compose` writes them only once
        self.referred: dict[tuple[str, str], None] = {}  # pairs that were given by naming the parent
        self.nested: set[tuple[str, str]] = set()

    def down(self, tops: Iterator[Member]) -> None:
        # A stack, not recursion: an outline may be deeper than Python's stack.
        todo = [("", tops)]
        while todo:
            above, level = todo[-1]
            member = next(level, None)
            if member is None:
                todo.pop()
                continue
            name = self._take(above, member)
            if any(held not in ([], {}) for held in member.below):
                if name in self.opened:
                    twice = f"the children of {name!r} are given twice; names='path' keeps the two apart."
                    raise self.draft.error(twice, _line(self.text, member.name))
                self.opened.add(name)
                below = [members(held, self.draft) for held in member.below]
                todo.append((name, itertools.chain.from_iterable(below)))

    def _take(self, above: str, member: Member) -> str:
        """Add a node found below another one (or at the top) and return what it is called."""
        draft, step = self.draft, member.name
        name = f"{above}/{step}" if self.whole and above else step
        if self.whole:
            draft.refuse_long(name)
        if (above, name, member.parents) in self.given:
            where = f" under {above!r}" if above else ""
            raise draft.error(f"{step!r} is given twice{where}.", _line(self.text, step))
        self.given.add((above, name, member.parents))
        known = draft.labels.get(name)
        if known and member.label and known != member.label:
            raise draft.error(f"node {name!r} has two labels, {known!r} and {member.label!r}.", _line(self.text, step))
        draft.node(name, member.label or (step if self.whole else None))
        if above and (above, name) not in self.nested:
            self.nested.add((above, name))
            draft.edge(above, name)
        if member.parents and self.whole:
            raise ParameterError(f"names='path' is for nested nodes; {step!r} names its parent {member.parents[0]!r}.")
        self.referred.update(((parent, name), None) for parent in member.parents or ())
        return name

    def declare(self) -> None:
        """Add the pairs given by naming the parent; where a node is at the top, every parent must be in the file."""
        described = set(self.draft.index)
        for pair in self.referred:
            if pair not in self.nested:
                self.draft.edge(*pair)
        below = {name for _, name in (*self.nested, *self.referred)}
        if self.referred and described - below:
            self.draft.declared |= described


def _load(text: str, draft: Draft) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise draft.error(f"the key {twice!r} is given twice in one object.", _line(text, twice))
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise draft.error(f"not JSON: {error.msg}, column {error.colno}.", error.lineno) from None
    except TaxonomyError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise draft.error(f"not JSON that can be read: {error}.") from None


def _line(text: str, word: str) -> int:
    """Line of the second place of a word in quotes, or 0."""
    quoted = json.dumps(word, ensure_ascii=False)
    first = text.find(quoted)
    second = text.find(quoted, first + 1)
    return 0 if second < 0 else text.count("\n", 0, second) + 1


def note_of(content: Any, *, remove: bool = False) -> dict[str, Any]:
    """The note of the writer: the key ``linnaeus`` of the outermost object."""
    if not isinstance(content, dict) or not isinstance(content.get("linnaeus"), dict):
        return {}
    note: dict[str, Any] = content.pop("linnaeus") if remove else content["linnaeus"]
    return note


def compose(taxonomy: Taxonomy, format: str, options: Options) -> str:
    """Records ``name, label, children``; what lies below a node of several parents is written once."""
    if int(taxonomy.depth.max(initial=0)) > 300:
        raise TaxonomyError(
            "The taxonomy is deeper than 300 levels, too deep for nested JSON; use 'edges' or 'indented'."
        )
    written: set[int] = set()

    def record(v: int) -> dict[str, Any]:
        made: dict[str, Any] = {"name": taxonomy.names[v]}
        if v not in written:
            written.add(v)
            if taxonomy.display_labels is not None and taxonomy.display_labels[v]:
                made["label"] = taxonomy.display_labels[v]
            below = [record(int(c)) for c in taxonomy.children(v)]
            if below:
                made["children"] = below
        return made

    tops = [record(v) for v in range(taxonomy.n_nodes) if not len(taxonomy.parents(v))]
    return json.dumps({"children": tops}, ensure_ascii=False, indent=1) + "\n"
