"""Paths, one per line, top first: ``Sports,Ball games,Tennis``. A path may stop anywhere.

A name under two parents is one node with two parents. With ``names="path"`` nodes are called by their whole path
(``Sports/Tennis``), so that equal names in different places are different nodes.
"""

from __future__ import annotations

import itertools
import re

from linnaeus.taxonomy.formats.draft import Draft, FormatOptions
from linnaeus.taxonomy.formats.source import column_mark, quoted, table
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "is_header", "parse"]

KNOWN_OPTIONS = ("separator", "header", "names")

_LEVEL = re.compile(r"(level|lvl|l|tier|depth|step|category|cat)[ _-]?\d+", re.IGNORECASE)


def is_header(cells: list[str]) -> bool:
    """Whether the cells are column names such as ``level1, level2``."""
    return len(cells) > 1 and all(_LEVEL.fullmatch(cell) for cell in cells)


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the paths."""
    draft = Draft(source, root=None, repeats=True)
    whole = options.choose("names", ("name", "path")) == "path"
    mark = options.column_mark() or column_mark(text) or ","
    seen: set[tuple[str, str]] = set()
    for row, (number, cells) in enumerate(table(text, mark, source)):
        if row == 0:
            draft.headless = not (is_header(cells) if options.header is None else options.header)
            if not draft.headless:
                continue
        while cells and not cells[-1]:
            cells.pop()
        if "" in cells:
            raise draft.error(f"step {cells.index('') + 1} of the path is empty: {cells!r}.", number)
        if whole:
            draft.refuse_long("/".join(cells), number)
        names = ["/".join(cells[: i + 1]) for i in range(len(cells))] if whole else cells
        for name, step in zip(names, cells, strict=True):
            draft.node(name, step if whole else None)
        for pair in itertools.pairwise(names):
            if pair not in seen:
                seen.add(pair)
                draft.edge(*pair, number)
    return draft


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """The path to every node, in node order; one path per parent where there are several."""
    mark = options.column_mark() or ","
    first = taxonomy.parent.tolist()
    names = taxonomy.names
    lines = []
    for v in range(taxonomy.n_nodes):
        for above in taxonomy.parents(v).tolist() or [-1]:
            steps = [v]
            while above >= 0:
                steps.append(above)
                above = first[above]
            lines.append(quoted([names[step] for step in reversed(steps)], mark))
    return "\n".join(lines) + "\n"
