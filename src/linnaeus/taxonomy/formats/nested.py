"""Nested JSON, and YAML of the same content, in their usual forms:

    {"Sports": {"Tennis": {}, "Football": {}}}                       dictionaries of dictionaries (or of lists of names)
    ["Sports", {"Science": ["Physics"]}]                             lists
    {"id": "S", "name": "Sports and games", "children": []}          objects that describe a node, alone or in a list
    [{"id": "S", "parent": null}, {"id": "T", "parent": "S"}]        objects that name their parents
    [{"id": "T", "full_name": "Sports > Tennis"}, ...]                objects that give their whole path
    {"Tennis": "Sports", "Football": "Sports"}                       one flat object: child and parent

An object *describes* one node if it has a name (``id``, ``name``, ...) or is the value of a key that is its name;
otherwise its keys are names and its values are the nodes below them. A described node may name its parents (``parent``,
``broader``) and contain its children (``children``, ``narrower``); both are used, and values that cannot be interpreted
are an error. Keys such as ``altLabel`` and ``definition`` are texts of a described node: a text, a list of texts, or an
object with a language for each; lists and such objects under ``label``, ``name`` and ``title`` are preferred labels. An
object with a true ``deprecated`` is a deprecated id (see `linnaeus.taxonomy.formats.deprecations`). Where the objects
of a list give whole paths (``full_name``, ``path``), the parent of a node is the object with the nearest path above it.
Objects that name their parents or paths may be inside others that only group them (``{"version": 7, "verticals":
[{"name": "Sports", "categories": [...]}]}``). The same name under two parents is one node with two parents; with
``names="path"`` it is two nodes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.taxonomy.formats.deprecations import deprecated_object, object_of
from linnaeus.taxonomy.formats.draft import KEYS, Draft, FormatOptions, beside_label, is_label, text_column
from linnaeus.taxonomy.names import PATH_MARKS, Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText
from linnaeus.typing import JSON
from linnaeus.yaml_text import parse_yaml

__all__ = [
    "CHILDREN",
    "KNOWN_OPTIONS",
    "PARENTS",
    "Member",
    "child_to_parent",
    "compose",
    "members",
    "note_of",
    "parse",
    "take_paths",
]

KNOWN_OPTIONS = ("names", "obsolete")
HOLDS_TEXTS = True


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of nested JSON or YAML."""
    draft = Draft(source, repeats=True)
    try:
        content = parse_yaml(text, source, TaxonomyError) if format == "yaml" else _load(text, draft)
        _take_all(content, draft, text, options)
    except RecursionError:
        raise draft.error("nested too deeply for the reader; use 'edges' or 'indented'.") from None
    return draft


def _take_all(content: JSON, draft: Draft, text: str, options: FormatOptions) -> None:
    note_of(content, remove=True)
    content = _ungrouped(content)
    walk = _Walk(draft, text, options.choose("names", ("name", "path")) == "path", bool(options.obsolete))
    flat = child_to_parent(content)
    if (described := _by_paths(content, draft, text)) is not None:
        draft.root = None  # paths do not write what is above them
        walk.down(iter(described))
    elif flat is None:
        walk.down(members(content, draft))
    else:
        walk.down(Member(name, parents=() if above in (None, "") else (str(above),)) for name, above in flat.items())
    walk.declare()


def take_paths(rows: Sequence[tuple[str, str]], draft: Draft, text: str) -> None:
    """Add nodes that are given as pairs of an id and a whole path of labels."""
    _take_all([{"id": name, "full_name": path} for name, path in rows], draft, text, FormatOptions())


class _Walk:
    """Adds the nodes of all levels to a draft; ``whole`` names them by their whole path, ``obsolete`` keeps deprecated
    ones.
    """

    def __init__(self, draft: Draft, text: str, whole: bool, obsolete: bool) -> None:
        self.draft, self.text, self.whole, self.obsolete = draft, text, whole, obsolete
        self.given: set[tuple[str, str, tuple[str, ...] | None]] = set()
        self.opened: set[str] = set()  # nodes whose children were given
        self.referred: dict[tuple[str, str], None] = {}  # pairs that were given by naming the parent
        self.nested: set[tuple[str, str]] = set()

    def down(self, tops: Iterator[Member]) -> None:
        # A stack instead of recursion: the nesting may be deeper than the stack of Python.
        todo = [("", tops)]
        while todo:
            above, level = todo[-1]
            member = next(level, None)
            if member is None:
                todo.pop()
                continue
            name = self._take(above, member)
            if any(held not in ([], {}) for held in member.below):
                if name and name in self.opened:
                    twice = f"the children of {name!r} are given twice; names='path' keeps the two apart."
                    raise self.draft.error(twice, _line(self.text, member.name))
                self.opened.add(name)
                below = [members(held, self.draft) for held in member.below]
                todo.append((name, itertools.chain.from_iterable(below)))

    def _take(self, above: str, member: Member) -> str:
        """Add a node below another one (or at the top) and return its name; empty if it is left out."""
        draft, step = self.draft, member.name
        name = f"{above}/{step}" if self.whole and above else step
        if self.whole:
            draft.refuse_long(name)
        if member.deprecated is not None and not self.obsolete:
            draft.deprecated.setdefault(name, member.deprecated)
            return ""
        if (above, name, member.parents) in self.given:
            where = f" under {above!r}" if above else ""
            raise draft.error(f"{step!r} is given twice{where}.", _line(self.text, step))
        self.given.add((above, name, member.parents))
        known = draft.labels.get(name)
        if known and member.label and known != member.label:
            raise draft.error(f"node {name!r} has two labels, {known!r} and {member.label!r}.", _line(self.text, step))
        draft.node(name, member.label or (step if self.whole else None))
        draft.add_texts(name, member.texts)
        if above and (above, name) not in self.nested:
            self.nested.add((above, name))
            draft.edge(above, name)
        if member.parents and self.whole:
            raise ParameterError(f"names='path' is for nested nodes; {step!r} names its parent {member.parents[0]!r}.")
        self.referred.update(((parent, name), None) for parent in member.parents or ())
        return name

    def declare(self) -> None:
        """Add the pairs given by naming the parent; if a node is at the top, every parent must be in the file."""
        described = set(self.draft.index)
        referred = [pair for pair in self.referred if pair[0] in described or pair[0] not in self.draft.deprecated]
        for pair in referred:
            if pair not in self.nested:
                self.draft.edge(*pair)
        below = {name for _, name in (*self.nested, *referred)}
        if referred and described - below:
            self.draft.declared |= described


def _load(text: str, draft: Draft) -> JSON:
    def unique(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise draft.error(f"the key {twice!r} is given twice in one object.", _line(text, twice))
        return found

    try:
        content: JSON = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise draft.error(f"not JSON: {error.msg}, column {error.colno}.", error.lineno) from None
    except TaxonomyError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise draft.error(f"not JSON that can be read: {error}.") from None
    return content


def _line(text: str, word: str) -> int:
    """Line of the second occurrence of a word in quotes, or 0."""
    quoted = json.dumps(word, ensure_ascii=False)
    first = text.find(quoted)
    second = text.find(quoted, first + 1)
    return 0 if second < 0 else text.count("\n", 0, second) + 1


def note_of(content: JSON, *, remove: bool = False) -> dict[str, JSON]:
    """The note of the writer: the key ``linnaeus`` of the outermost object."""
    note = content.get("linnaeus") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(note, dict):
        return {}
    if remove:
        del content["linnaeus"]
    return note


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """JSON objects with ``name, label, children``, the descendants of a node with several parents once; in YAML a list
    of objects with ``id, label, parents``; then deprecated ids.
    """
    if format == "yaml":
        nodes = [_object(taxonomy, v) for v in range(taxonomy.n_nodes)]
        others = [{"id": id, **object_of(entry)} for id, entry in taxonomy.deprecated.items()]
        return "---\n" + "".join(f"- {_in_lines(made)}\n" for made in (*nodes, *others))
    if int(taxonomy.depth.max(initial=0)) > 300:
        raise TaxonomyError(
            "The taxonomy is deeper than 300 levels, too deep for nested JSON; use 'edges' or 'indented'."
        )
    written: set[int] = set()

    def record(v: int) -> dict[str, JSON]:
        made: dict[str, JSON] = {"name": taxonomy.names[v]}
        if v not in written:
            written.add(v)
            if taxonomy.display_labels is not None and taxonomy.display_labels[v]:
                made["label"] = taxonomy.display_labels[v]
            made |= _written_texts(beside_label(taxonomy, v))
            below: list[JSON] = [record(int(c)) for c in taxonomy.children(v)]
            if below:
                made["children"] = below
        return made

    tops: list[JSON] = [record(v) for v in range(taxonomy.n_nodes) if not len(taxonomy.parents(v))]
    tops += [{"name": id, **object_of(entry)} for id, entry in taxonomy.deprecated.items()]
    return json.dumps({"children": tops}, ensure_ascii=False, indent=1) + "\n"


def _object(taxonomy: Taxonomy, v: int) -> dict[str, JSON]:
    made: dict[str, JSON] = {"id": taxonomy.names[v]}
    if taxonomy.display_labels is not None and taxonomy.display_labels[v]:
        made["label"] = taxonomy.display_labels[v]
    made["parents"] = taxonomy.names[taxonomy.parents(v)].tolist()
    return made | _written_texts(beside_label(taxonomy, v))


def _in_lines(made: dict[str, JSON]) -> str:
    return "\n  ".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in made.items())


# The first key present is the name of the node; another one of them is the display label.
IDS = ("id", "@id", "uri", "iri")
NAMES = (*IDS, "child", "name", "label", "prefLabel", "title", "text")
SHOWN = ("label", "prefLabel", "name", "title", "text")
PARENTS = ("parent", "parents", "parent_id", "parentId", "broader")
PATHS = ("full_name", "fullName", "full_path", "path")
CHILDREN = ("children", "narrower", "subcategories", "nodes")


class Member(NamedTuple):
    """A node: its name, its display label, the parents it names (None: not given), and the content below it."""

    name: str
    label: str = ""
    parents: tuple[str, ...] | None = None
    below: tuple[JSON, ...] = ()
    texts: tuple[tuple[str, str, str], ...] = ()  # kind, language, text
    deprecated: Deprecated | None = None


def child_to_parent(content: JSON) -> dict[str, JSON] | None:
    """The content if it is one flat object of names, ``{"Tennis": "Sports"}``, otherwise None.

    Keys are unique and values are not, so the key is the child and the value its parent (null at the top).
    """
    if not isinstance(content, dict) or _describes(content, keyed=False):
        return None
    flat = all(value is None or _is_name(value) for value in content.values())
    return content if flat and any(value is not None for value in content.values()) else None


def _ungrouped(content: JSON) -> JSON:
    """The objects of nodes inside objects and lists that only group them; any other content as it is."""
    found: list[JSON] = []
    return found if isinstance(content, dict) and _collect(content, found) and found else content


def _collect(content: JSON, found: list[JSON]) -> bool:
    """Collect the objects in lists that name their parents or paths; False if other structures are beside them."""
    if isinstance(content, list):
        for item in content:
            if not isinstance(item, dict):
                return False
            if any(word in item for word in IDS) and any(word in item for word in (*PARENTS, *PATHS)):
                found.append(item)
            elif not _collect(item, found):
                return False
        return True
    if not isinstance(content, dict) or any(word in content for word in IDS):
        return False
    groups = [value for value in content.values() if isinstance(value, (list, dict))]
    named = any(_is_name(content.get(word)) for word in NAMES)
    if named and any(word in content for word in CHILDREN):
        return False
    return bool(groups) and all(_collect(value, found) for value in groups)


def _by_paths(content: JSON, draft: Draft, text: str) -> list[Member] | None:
    """The nodes of a list of objects that give their whole paths; None if the content is something else."""
    if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
        return None
    objects = [item for item in content if isinstance(item, dict)]
    word = next((word for word in PATHS if objects and all(isinstance(item.get(word), str) for item in objects)), None)
    if word is None or any(key in item for item in objects for key in (*PARENTS, *CHILDREN)):
        return None
    paths = [" ".join(str(item[word]).split()) for item in objects]
    mark = next((mark for mark in PATH_MARKS if any(mark in path for path in paths)), " > ")
    found = [
        _described({k: v for k, v in item.items() if k != word} or {"id": item[word]}, None, draft) for item in objects
    ]
    owner: dict[str, str] = {}
    for member, path in zip(found, paths, strict=True):
        if owner.setdefault(path, member.name) != member.name:
            raise draft.error(f"{owner[path]!r} and {member.name!r} have the same path {path!r}.", _line(text, path))
    placed = []
    for member, path in zip(found, paths, strict=True):
        above, _, last = path.rpartition(mark)
        if above and above not in owner:
            draft.gaps.append(member.name)
            draft.aliases.setdefault(path, []).append(member.name)  # its steps do not lead to it
        while above and above not in owner:
            above = above.rpartition(mark)[0]
        parents = (owner[above],) if above else ()
        placed.append(member._replace(label=member.label or (last if last != member.name else ""), parents=parents))
    return placed


def members(content: JSON, draft: Draft) -> Iterator[Member]:
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


def _of_object(content: dict[str, JSON], draft: Draft) -> Iterator[Member]:
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


def _is_name(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _short(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]


def _describes(content: dict[str, JSON], *, keyed: bool) -> bool:
    """Whether an object describes one node; ``keyed`` if it is the value of a key that may be the name of the node."""
    if any(_is_name(content.get(key)) for key in ("id", "name")):
        return True
    if any(key in content and _is_reference(content[key]) for key in PARENTS):
        return True
    structured = any(key in CHILDREN for key in content)
    if keyed and structured:
        return True
    known = all(key in (*NAMES, *CHILDREN) for key in content)
    return (structured or known) and any(_is_name(content.get(key)) for key in NAMES)


def _is_reference(value: JSON) -> bool:
    if isinstance(value, list):
        return all(_is_reference(item) for item in value)
    if isinstance(value, dict):
        return any(_is_name(value.get(key)) for key in NAMES)
    return value is None or isinstance(value, (str, int, float))


def _described(content: dict[str, JSON], key: str | None, draft: Draft) -> Member:
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
    given = [word for word in PARENTS if word in content]
    parents = tuple(dict.fromkeys(above for word in given for above in _references(content[word], word, name, draft)))
    below = tuple(_held(content[word], word, name, draft) for word in CHILDREN if content.get(word) not in (None, ""))
    texts = [entry for word, value in content.items() for entry in _texts_under(word, value)]
    deprecated = deprecated_object(content, label)
    return Member(name, label, parents if given else None, below, tuple(texts), deprecated)


def _texts_under(key: str, value: JSON) -> Iterator[tuple[str, str, str]]:
    """Texts of a key of a described node; values of other types are ignored, like other keys."""
    column = text_column(key)
    if column is None and isinstance(value, (dict, list)) and is_label(key):  # one text is the display label
        column = "preferred", ""
    if column is None:
        return
    kind, language = column
    by_language = value if isinstance(value, dict) else {language: value}
    for tag, held in by_language.items():
        for text in held if isinstance(held, list) else [held]:
            if isinstance(text, str):
                yield kind, "" if tag == "@none" else tag, text


def _written_texts(texts: Sequence[NodeText]) -> dict[str, JSON]:
    """Texts by key: a list, or an object of lists if they have languages."""
    found: dict[str, dict[str, list[JSON]]] = {}
    for _, kind, language, text in texts:
        found.setdefault(KEYS[kind], {}).setdefault(language, []).append(text)
    return {key: held[""] if [*held] == [""] else {**held} for key, held in found.items()}


def _held(value: JSON, word: str, name: str, draft: Draft) -> JSON:
    if not isinstance(value, (list, dict, str)):
        raise draft.error(f"{word!r} of {name!r} is {_short(value)}; expected a list, an object or a name.")
    return value


def _references(value: JSON, word: str, name: str, draft: Draft) -> Iterator[str]:
    """The names in a reference: a name, an object with a name, or a list of these; null and "" stand for no name."""
    if isinstance(value, list):
        for item in value:
            yield from _references(item, word, name, draft)
    elif isinstance(value, dict) and _is_reference(value):
        yield next(str(value[key]) for key in NAMES if _is_name(value.get(key)))
    elif isinstance(value, float) and (
        value != value or value.is_integer()
    ):  # tables write 1.0, and NaN for a missing parent
        yield from [] if value != value else [str(int(value))]
    elif _is_name(value):
        yield from [] if value == "" else [str(value)]
    elif value is not None:
        raise draft.error(f"{word!r} of {name!r} is {_short(value)}; expected a name, a list of names or null.")
