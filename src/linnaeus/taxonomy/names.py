"""Names of nodes: which node a label stands for, suggestions for unknown labels, other names for the same taxonomy.

Ids that are not nodes may still stand for one: an *alias* is another id of a node and is accepted wherever labels are
read; a *deprecated* id used to be a node and is replaced only on request. The functions are methods of `Taxonomy`,
which documents them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linnaeus.errors import TaxonomyError, closest, nearest
from linnaeus.taxonomy.texts import CODE, KINDS, LABELS, has_words, listed, speaks, words_of_name

if TYPE_CHECKING:
    from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = [
    "PATH_MARKS",
    "Deprecated",
    "by_path",
    "changed",
    "has_words",
    "hint",
    "replaced",
    "with_display_labels",
    "with_language",
    "with_replacements",
    "with_texts_of",
    "without_dashes",
    "words_of_name",
]


PATH_MARKS = (" > ", " -> ", " › ", " » ", "::", " / ", "/")


_MISSING_STEPS = re.compile(r"(\.-)+\Z")


class Deprecated(NamedTuple):
    """A deprecated id: its replacements and its former label.

    Parameters
    ----------
    replaced_by : tuple of str, default=()
        Names of the nodes that replace it. A single replacement can be applied automatically.
    consider : tuple of str, default=()
        Names of nodes to consider instead (OBO ``consider``); these are suggested and never applied automatically.
    label : str, default=""
        Its former display label.

    Examples
    --------
    >>> Deprecated(replaced_by=("Beekeeping",), label="Apiculture").replaced_by
    ('Beekeeping',)
    """

    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()
    label: str = ""


def with_replacements(
    taxonomy: Taxonomy, aliases: Mapping[str, str] | None, deprecated: Mapping[str, Deprecated] | None
) -> Taxonomy:
    """The same taxonomy with these aliases and deprecated ids."""
    aliases, deprecated = dict(aliases or {}), dict(deprecated or {})
    targets: list[tuple[str, tuple[str, ...]]] = [(id, (name,)) for id, name in aliases.items()]
    targets += [(id, (*entry.replaced_by, *entry.consider)) for id, entry in deprecated.items()]
    for id, names in targets:
        if id in taxonomy.index_of:
            raise TaxonomyError(f"{id!r} is a node of the taxonomy; it cannot be an alias or deprecated as well.")
        missing = next((name for name in names if name not in taxonomy.index_of), None)
        if missing is not None:
            near = nearest(str(missing), taxonomy.names) or "."
            raise TaxonomyError(f"{missing!r}, which replaces {id!r}, is not a node of the taxonomy{near}")
    return changed(taxonomy, aliases=MappingProxyType(aliases), deprecated=MappingProxyType(deprecated))


def with_display_labels(taxonomy: Taxonomy, labels: Mapping[str, str]) -> Taxonomy:
    """The same taxonomy with other display labels."""
    before = [""] * taxonomy.n_nodes if taxonomy.display_labels is None else taxonomy.display_labels
    shown = np.empty(taxonomy.n_nodes, dtype=object)
    shown[:] = [str(labels.get(name) or label or "") for name, label in zip(taxonomy.names, before, strict=True)]
    shown.flags.writeable = False
    return changed(taxonomy, display_labels=shown)


def with_language(taxonomy: Taxonomy, language: str) -> Taxonomy:
    """The same taxonomy with its preferred labels in a language as display labels."""
    texts = taxonomy.texts
    preferred = texts.select("preferred")
    counts = Counter(texts.tags[code] for code in texts.language[preferred].tolist())
    if not any(speaks(tag, language) for tag in counts):
        has = listed(texts.languages)
        if any(speaks(tag, language) for tag in texts.languages):  # of other texts
            has += f", of preferred labels: {', '.join(tag or 'no language' for tag in sorted(counts)) or 'none'}"
        raise TaxonomyError(f"No preferred label of the taxonomy is in the language {language!r}; {has}.")
    found: dict[str, str] = {}
    for entry in map(texts.entry, texts.select("preferred", language).tolist()):
        found.setdefault(str(taxonomy.names[entry.node]), entry.text)  # "de" is sorted before "de-at"
    return with_display_labels(taxonomy, found)


def with_texts_of(taxonomy: Taxonomy, other: Taxonomy) -> Taxonomy:
    """The taxonomy with the texts of another one, whose nodes have other numbers or are not all there."""
    if other._texts is None:
        return taxonomy
    number = np.array([taxonomy.index_of.get(name, -1) for name in other.names])
    return taxonomy.with_texts(other.texts.renumbered(number))


def changed(taxonomy: Taxonomy, **values: object) -> Taxonomy:
    """A copy with other attributes; values computed from nodes and edges are shared."""
    from linnaeus.taxonomy.taxonomy import Taxonomy

    made = Taxonomy.__new__(Taxonomy)
    made.__dict__.update(taxonomy.__dict__)
    for name in ("display_index", "texts", "search_index"):  # computed from the former labels and texts
        made.__dict__.pop(name, None)
    made.__dict__.update(values)
    return made


def replaced(taxonomy: Taxonomy, labels: Iterable[Iterable[str]]) -> tuple[list[list[str]], Counter[str]]:
    """Label lists with aliases and deprecated ids replaced by names of nodes, and the number of times for each id."""
    counts: Counter[str] = Counter()
    rows = []
    for given in labels:
        row: dict[str, None] = {}
        for label in given:
            node = taxonomy.lookup(label, replace=True)
            row[label if node is None else str(taxonomy.names[node])] = None
            counts[label] += node is not None and label in taxonomy.deprecated
        rows.append(list(row))
    return rows, +counts


def without_dashes(code: str) -> str:
    """A code without the dashes that stand for missing steps: ``2.5.-.-`` (an incomplete EC number) is ``2.5``."""
    return _MISSING_STEPS.sub("", code)


def by_path(taxonomy: Taxonomy, label: str) -> int | None:
    """The node at the end of a whole path such as ``Sports > Tennis``; None if there is none or more than one.

    Steps are names or display labels. Nodes named by whole paths are also found with another mark between the steps.
    """
    for mark in (*PATH_MARKS, "|", ">"):
        steps = [step.strip() for step in label.split(mark)] if mark in label else []
        if len(steps) < 2 or "" in steps:
            continue
        for joint in ("/", " > "):
            if (node := taxonomy.index_of.get(joint.join(steps))) is not None:
                return node
        ends = [v for v in _called(taxonomy, steps[-1]) if _leads_to(taxonomy, steps[:-1], v)]
        if len(ends) == 1:
            return ends[0]
    return None


def _called(taxonomy: Taxonomy, step: str) -> list[int]:
    """The nodes with a name or display label."""
    node = taxonomy.index_of.get(step)
    return [*taxonomy.display_index.get(step, []), *([] if node is None else [node])]


def _leads_to(taxonomy: Taxonomy, steps: list[str], node: int) -> bool:
    """Whether the steps, from the last one upwards, are parents of a node."""
    if not steps:
        return True
    above = set(_called(taxonomy, steps[-1])).intersection(taxonomy.parents(node).tolist())
    return any(_leads_to(taxonomy, steps[:-1], parent) for parent in above)


def hint(taxonomy: Taxonomy, name: str) -> str:
    """End of an error message about an unknown name; see `Taxonomy.hint`."""
    if name in taxonomy.deprecated:
        return _deprecation(taxonomy, taxonomy.deprecated[name])
    shown = taxonomy.names[taxonomy.displayed_as(name)]
    if not len(shown) and (known := _text_hint(taxonomy, name)):
        return known
    if not len(shown):
        if (code := _from_number(taxonomy, name)) is not None:
            return f"; did you mean {taxonomy.titled(code)}? It was perhaps read as a number."
        if CODE.fullmatch(name):
            return ""  # a similar code is rarely the intended one
        near = closest(name, taxonomy.names)
        if near is None and (label := closest(name, taxonomy.display_index)) is not None:
            near = taxonomy.names[taxonomy.display_index[label][0]]
        return "" if near is None else f"; did you mean {taxonomy.titled(near)}?"
    which = f"node {shown[0]!r}" if len(shown) == 1 else f"{len(shown):,} nodes, {shown[0]!r} and others"
    return f"; it is the display label of {which}."


def _from_number(taxonomy: Taxonomy, name: str) -> str | None:
    """The code that became ``name`` where it was read as a number: 5321 as 5321.0, or 0211 as 211; None if none did."""
    code = name.removesuffix(".0")
    if not code.isdecimal():
        return None
    return next((known for n in range(4) if (known := "0" * n + code) in taxonomy and known != name), None)


def _text_hint(taxonomy: Taxonomy, name: str) -> str:
    """End of an error message about a name that is another label of a node, or empty."""
    if taxonomy._texts is None:  # texts made from display labels add nothing to them
        return ""
    entries = sorted(
        (taxonomy.texts.entry(i) for i in taxonomy.texts.equal_to(name)), key=lambda e: KINDS.index(e.kind)
    )
    if not entries or entries[0].kind not in (*LABELS, "notation"):
        return ""
    node, kind, language, _ = entries[0]
    titled = taxonomy.titled(node)
    if kind != "preferred" or not language:
        what = kind if kind == "notation" else f"{kind} label"
        return f"; it is {'an' if kind == 'alternative' else 'a'} {what} of {titled}."
    if taxonomy._label_option != "label":  # only SKOS names nodes by the labels of a language
        return f"; it is the label of {titled} in the language {language!r}."
    read = f"names='label' and language='{language}' (--names label --language {language})"
    return f"; it is the label of {titled} in the language {language!r}; to use it, give {read}."


def _deprecation(taxonomy: Taxonomy, entry: Deprecated) -> str:
    targets, verb = (entry.replaced_by, "use") if entry.replaced_by else (entry.consider, "consider")
    if not targets:
        return "; it is deprecated and has no replacement."
    some = ", ".join(map(taxonomy.titled, targets[:5])) + (", ..." if len(targets) > 5 else "")
    return f"; it is deprecated, {verb} {'one of ' if len(targets) > 1 else ''}{some}."
