"""Paths, one per line, top first: ``Sports,Ball games,Tennis`` or ``Sports > Ball games > Tennis``.

A path may end at any level. A name under two parents is one node with two parents. With ``names="path"`` nodes are
named by their whole path (``Sports/Tennis``), so that equal names in different places are different nodes. This is the
default if the steps are separated by a mark that does not separate columns, such as `` > ``; the names are then the
paths as they are written, because documents are labelled with these. Where every line is an id, a colon between spaces
and such a path (``aa-1 : Apparel > Clothing``), the ids are the names and the last steps the labels.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from linnaeus.taxonomy.formats.draft import (
    Draft,
    FormatOptions,
    body_lines,
    column_mark,
    is_header,
    path_mark,
    quoted,
    table,
)
from linnaeus.taxonomy.formats.nested import take_paths
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ("separator", "header", "names")

SAMPLE = 2000  # lines examined for a number in front of every path
_COLUMN = re.compile(r"(.*_)?(categor(y|ies)|paths?|labels?|class(es)?|taxonomy|topics?|subjects?|names?|product_type)")
_CODED = re.compile(r"(\S+)\s+:\s+(\S.*)")  # gid://shopify/TaxonomyCategory/aa-1  : Apparel & Accessories > Clothing
_NUMBERED = re.compile(r"(\d+) - ")  # 1604 - Apparel & Accessories > Clothing


def _mark(text: str, options: FormatOptions) -> tuple[str, bool]:
    """The mark between steps, and whether it is one of paths rather than a delimiter of columns."""
    if options.separator is not None and len(options.separator) > 1 and options.separator not in ("\\t", "tab"):
        return options.separator, True
    mark = path_mark(text) if options.separator is None else None
    return (options.column_mark() or column_mark(text) or ",", False) if mark is None else (mark, True)


def _steps(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered paths split at a mark; a line may be quoted like the only cell of a table."""
    for number, line in body_lines(text):
        path = line.strip()
        if len(path) > 1 and path[0] == path[-1] == '"':
            path = path[1:-1].replace('""', '"')
        yield number, [step.strip() for step in path.split(mark)]


def _names_column(cells: list[str], text: str) -> bool:
    """Whether the first line is the name of the column: a common word that no path begins with."""
    word = cells[0].lower().replace(" ", "_")
    lines = [line.lstrip('"') for _, line in itertools.islice(body_lines(text), 1, None)]
    return len(cells) == 1 and bool(_COLUMN.fullmatch(word)) and not any(line.startswith(cells[0]) for line in lines)


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the paths."""
    draft = Draft(source, root=None, repeats=True)
    mark, by_mark = _mark(text, options)
    coded = [_CODED.fullmatch(line.strip()) for _, line in body_lines(text)] if by_mark else []
    if coded and all(coded) and options.names is None:
        take_paths([(line[1], line[2]) for line in coded if line is not None], draft, text)
        return draft
    whole = options.choose("names", ("path", "name") if by_mark else ("name", "path")) == "path"
    joint = mark if by_mark else "/"
    rows = _steps(text, mark) if by_mark else table(text, mark, source)
    numbered = by_mark and all(_NUMBERED.match(line) for _, line in itertools.islice(body_lines(text), SAMPLE))
    seen: set[tuple[str, str]] = set()
    for row, (number, cells) in enumerate(rows):
        if row == 0:
            named = is_header(cells) or (by_mark and _names_column(cells, text))
            draft.headless = not (named if options.header is None else options.header)
            if not draft.headless:
                continue
        while cells and not cells[-1]:
            cells.pop()
        if "" in cells:
            raise draft.error(f"step {cells.index('') + 1} of the path is empty: {cells!r}.", number)
        if whole:
            draft.refuse_long(joint.join(cells), number)
        number_of = _NUMBERED.match(cells[0]) if numbered else None
        if number_of is not None:
            cells[0] = cells[0][number_of.end() :]
        names = [joint.join(cells[: i + 1]) for i in range(len(cells))] if whole else cells
        for name, step in zip(names, cells, strict=True):
            draft.node(name, step if whole else None)
        if number_of is not None:
            draft.aliases.setdefault(number_of[1], []).append(names[-1])
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
