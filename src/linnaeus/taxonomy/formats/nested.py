"""Nested JSON, in the shapes people have:

    {"Sports": {"Tennis": {}, "Football": {}}}                       dictionaries of dictionaries (or of lists of names)
    ["Sports", {"Science": ["Physics"]}]                             lists
    {"name": "Sports", "label": "Sports and games", "children": []}  records, alone or in a list

The same name under two parents is one node with two parents; with ``names="path"`` it is two nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats.draft import Draft
from linnaeus.taxonomy.formats.options import Options
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "note_of", "parse"]

KNOWN_OPTIONS = ("names",)

_CHILDREN = ("children", "narrower", "subcategories", "nodes")
_NAME = ("name", "id")


def parse(text: str, source: str, format: str, options: Options) -> Draft:
    """Names and pairs of nested JSON."""
    draft = Draft(source, repeats=True)
    whole = options.choose("names", ("name", "path")) == "path"
    content = _load(text, draft)
    note_of(content, remove=True)
    # A stack, not recursion: an outline may be deeper than Python's stack.
    todo: list[tuple[str, Iterator[tuple[str, str, Any]]]] = [("", _members(content, draft))]
    beneath: list[set[str]] = [set()]
    opened: dict[str, int] = {}  # nodes whose children were given, for `compose` writes them only once
    while todo:
        parent, members = todo[-1]
        member = next(members, None)
        if member is None:
            todo.pop()
            beneath.pop()
            continue
        step, label, inside = member
        name = f"{parent}/{step}" if whole and parent else step
        if name in beneath[-1]:
            raise draft.error(
                f"{step!r} is given twice under {parent!r}." if parent else f"{step!r} is given twice.",
                _line(text, step),
            )
        beneath[-1].add(name)
        draft.node(name, label or (step if whole else None))
        if parent:
            draft.edge(parent, name)
        if inside:
            if name in opened:
                raise draft.error(
                    f"the children of {name!r} are given twice; names='path' keeps the two apart.", _line(text, step)
                )
            opened[name] = 1
            todo.append((name, _members(inside, draft)))
            beneath.append(set())
    return draft


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
    except RecursionError:
        raise draft.error("nested too deep for the JSON reader; use 'edges' or 'indented'.") from None


def _line(text: str, word: str) -> int:
    """Line of the second place of a word in quotes, or 0."""
    quoted = json.dumps(word, ensure_ascii=False)
    first = text.find(quoted)
    second = text.find(quoted, first + 1)
    return 0 if second < 0 else text.count("\n", 0, second) + 1


def _members(content: Any, draft: Draft) -> Iterator[tuple[str, str, Any]]:
    """Name, label and what lies below, for every node on one level."""
    if isinstance(content, (str, int)) and not isinstance(content, bool):
        yield str(content), "", None
    elif isinstance(content, dict):
        name_key = next((key for key in _NAME if isinstance(content.get(key), (str, int))), None)
        below_key = next((key for key in _CHILDREN if isinstance(content.get(key), (list, dict))), None)
        if name_key is not None:
            label = content.get("label") or (content.get("name") if name_key != "name" else "") or ""
            yield str(content[name_key]), str(label), content.get(below_key) if below_key else None
        elif below_key is not None and all(key in (*_CHILDREN, "linnaeus") for key in content):
            yield from _members(content[below_key], draft)
        else:
            for name, below in content.items():
                yield str(name), "", below
    elif isinstance(content, list):
        for item in content:
            if not isinstance(item, (str, int, dict)) or isinstance(item, bool):
                raise draft.error(f"expected a name or an object, got {json.dumps(item)[:60]}.")
            yield from _members(item, draft)
    elif content is not None:
        raise draft.error(f"expected an object, a list or a name, got {json.dumps(content)[:60]}.")


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
