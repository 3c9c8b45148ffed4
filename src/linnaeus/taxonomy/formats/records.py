"""Nodes in JSON values: what an object, a list or a name says about the nodes of one level.

An object *describes* one node if it has a name of its own (``id``, ``name``, ...) or is found under a key that is its
name; otherwise its keys are names and its values what lies below them. A described node may name its parents
(``parent``, ``broader``) and hold its children (``children``, ``narrower``); both count, and what stands there but
cannot be understood is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from linnaeus.taxonomy.formats.draft import Draft

__all__ = ["CHILDREN", "PARENTS", "Member", "child_to_parent", "members"]

# The first that is there names the node; the display label is another one of them.
NAMES = ("id", "@id", "uri", "iri", "child", "name", "label", "prefLabel", "title", "text")
SHOWN = ("label", "prefLabel", "name", "title", "text")
PARENTS = ("parent", "parents", "parent_id", "parentId", "broader")
CHILDREN = ("children", "narrower", "subcategories", "nodes")


class Member(NamedTuple):
    """A node: its name, its display label, the parents it names (None: it says nothing of them), what lies below."""

    name: str
    label: str = ""
    parents: tuple[str, ...] | None = None
    below: tuple[Any, ...] = ()


def child_to_parent(content: Any) -> dict[str, Any] | None:
    """The content if it is one flat object of names, ``{"Tennis": "Sports"}``, else None.

    Keys are unique and values are not, so the key is the child and the value its parent (null at the top).
    """
    if not isinstance(content, dict) or _describes(content, keyed=False):
        return None
    flat = all(value is None or _is_name(value) for value in content.values())
    return content if flat and any(value is not None for value in content.values()) else None


def members(content: Any, draft: Draft) -> Iterator[Member]:
    """The nodes on one level."""
    if _is_name(content):
        yield Member(str(content))
    elif isinstance(content, dict):
        yield from _of_object(content, draft)
    elif isinstance(content, list):
        for item in content:
            if not _is_name(item) and not isinstance(item, dict):
                raise draft.error(f"expected a name or an object, got {_short(item)}.")
            yield from members(item, draft)
    elif content is not None:
        raise draft.error(f"expected an object, a list or a name, got {_short(content)}.")


def _of_object(content: dict[str, Any], draft: Draft) -> Iterator[Member]:
    if _describes(content, keyed=False):
        yield _described(content, None, draft)
        return
    holders = [key for key in CHILDREN if isinstance(content.get(key), (list, dict))]
    if holders and len(holders) == len(content):
        for key in holders:
            yield from members(content[key], draft)
        return
    for key in holders:
        if isinstance(content[key], list):
            raise draft.error(f"an object has {key!r} but neither id nor name: {_short(content)}.")
    for name, value in content.items():
        if isinstance(value, dict) and _describes(value, keyed=True):
            yield _described(value, name, draft)
        else:
            yield Member(name, below=() if value in (None, "", [], {}) else (value,))


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]


def _describes(content: dict[str, Any], *, keyed: bool) -> bool:
    """Whether an object is about one node; ``keyed`` if it lies under a key that may be the name of the node."""
    if any(_is_name(content.get(key)) for key in ("id", "name")):
        return True
    if any(key in content and _is_reference(content[key]) for key in PARENTS):
        return True
    structured = any(key in CHILDREN for key in content)
    if keyed and structured:
        return True
    known = all(key in (*NAMES, *CHILDREN) for key in content)
    return (structured or known) and any(_is_name(content.get(key)) for key in NAMES)


def _is_reference(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_reference(item) for item in value)
    if isinstance(value, dict):
        return any(_is_name(value.get(key)) for key in NAMES)
    return value is None or isinstance(value, (str, int, float))


def _described(content: dict[str, Any], key: str | None, draft: Draft) -> Member:
    named_by = next((word for word in NAMES if _is_name(content.get(word)) and content[word] != ""), None)
    if key is not None:
        own = next((str(content[word]) for word in NAMES[:4] if _is_name(content.get(word))), key)
        if own != key:
            raise draft.error(f"the object under the key {key!r} has the id {own!r}; expected the same.")
        name = key
    elif named_by is None:
        raise draft.error(f"an object has neither id nor name: {_short(content)}.")
    else:
        name = str(content[named_by])
    label = next(
        (str(content[w]) for w in SHOWN if (key is not None or w != named_by) and _is_name(content.get(w))), ""
    )
    said = [word for word in PARENTS if word in content]
    parents = tuple(dict.fromkeys(above for word in said for above in _references(content[word], word, name, draft)))
    below = tuple(_held(content[word], word, name, draft) for word in CHILDREN if content.get(word) not in (None, ""))
    return Member(name, label, parents if said else None, below)


def _held(value: Any, word: str, name: str, draft: Draft) -> Any:
    if not isinstance(value, (list, dict, str)):
        raise draft.error(f"{word!r} of {name!r} is {_short(value)}; expected a list, an object or a name.")
    return value


def _references(value: Any, word: str, name: str, draft: Draft) -> Iterator[str]:
    """The names in a reference: a name, an object that has one, or a list of these; null and "" are none."""
    if isinstance(value, list):
        for item in value:
            yield from _references(item, word, name, draft)
    elif isinstance(value, dict) and _is_reference(value):
        yield next(str(value[key]) for key in NAMES if _is_name(value.get(key)))
    elif isinstance(value, float) and (value != value or value.is_integer()):  # tables write 1.0, and NaN for none
        yield from [] if value != value else [str(int(value))]
    elif _is_name(value):
        yield from [] if value == "" else [str(value)]
    elif value is not None:
        raise draft.error(f"{word!r} of {name!r} is {_short(value)}; expected a name, a list of names or null.")
