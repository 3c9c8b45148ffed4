"""An outline: one name per line, a child indented more than its parent, by tabs or by any number of spaces.

    Sports
        Tennis
        Football
    Science

The same name under two parents is one node with two parents; with ``names="path"`` it is two nodes.
"""

from __future__ import annotations

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats.draft import Draft, FormatOptions, body_lines
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ("names",)


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of an outline."""
    draft = Draft(source, repeats=True)
    whole = options.choose("names", ("name", "path")) == "path"
    above: list[tuple[int, str]] = []  # indentation and name of the open ancestors
    under: dict[tuple[str, str], int] = {}
    marks: dict[str, int] = {}
    for number, line in body_lines(text):
        step = line.strip()
        margin = line[: len(line) - len(line.lstrip())]
        for character in set(margin):
            marks.setdefault(character, number)
        if len(marks) > 1:
            raise draft.error(
                f"indented by tabs and by spaces (line {min(marks.values())}); use only one of them.", number
            )
        while above and above[-1][0] >= len(margin):
            closed = above.pop()
            if above and above[-1][0] < len(margin) < closed[0]:
                raise draft.error(_unmatched(step, margin), number)
        if not above and margin and under:
            raise draft.error(_unmatched(step, margin), number)
        parent = above[-1][1] if above else ""
        name = f"{parent}/{step}" if whole and parent else step
        if whole:
            draft.refuse_long(name, number)
        if (parent, name) in under:
            raise draft.error(
                f"{step!r} was already given under the same parent in line {under[parent, name]}.", number
            )
        under[parent, name] = number
        draft.node(name, step if whole else None)
        if parent:
            draft.edge(parent, name, number)
        above.append((len(margin), name))
    return draft


def _unmatched(step: str, margin: str) -> str:
    return f"{step!r} is indented by {len(margin)}, which does not match the indentation of any line above it."


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """An outline with tabs; descendants of a node with several parents are written once, at its first place."""
    for name in taxonomy.names:
        if name != name.strip() or "\n" in name or not name:
            raise TaxonomyError(
                f"Name {name!r} cannot be written to an outline: it is empty or begins or ends with white space; "
                "use 'edges'."
            )
    lines: list[str] = []
    written: set[int] = set()
    tops = [v for v in range(taxonomy.n_nodes) if not len(taxonomy.parents(v))]
    todo = [(v, 0) for v in reversed(tops)]
    while todo:
        v, level = todo.pop()
        lines.append("\t" * level + taxonomy.names[v])
        if v not in written:
            written.add(v)
            todo += [(int(c), level + 1) for c in reversed(taxonomy.children(v))]
    return "\n".join(lines) + "\n"
