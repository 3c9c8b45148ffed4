"""Paths, one per line, top first: ``Sports,Ball games,Tennis`` or ``Sports > Ball games > Tennis``.

A path may stop anywhere. A name under two parents is one node with two parents. With ``names="path"`` nodes are called
by their whole path (``Sports/Tennis``), so that equal names in different places are different nodes. Where the steps
are separated by a mark such as `` > ``, which columns are not, this is the default, and the names are the paths as they
are written: documents are labelled with these.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from linnaeus.taxonomy.formats.draft import Draft, FormatOptions
from linnaeus.taxonomy.formats.source import DELIMITERS, body_lines, column_mark, quoted, table
from linnaeus.taxonomy.names import PATH_MARKS
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "is_header", "parse", "path_mark"]

KNOWN_OPTIONS = ("separator", "header", "names")

SAMPLE = 2000  # lines that are looked at for a mark
_COLUMN = re.compile(r"(.*_)?(categor(y|ies)|paths?|labels?|class(es)?|taxonomy|topics?|subjects?|names?|product_type)")
_DELIMITER = {mark: re.compile(re.escape(mark) + (r"(?! )" if mark == "," else "")) for mark in DELIMITERS}
_NUMBERED = re.compile(r"(\d+) - ")  # 1604 - Apparel & Accessories > Clothing
_LEVEL = re.compile(r"(level|lvl|l|tier|depth|step|category|cat)[ _-]?\d+", re.IGNORECASE)


def is_header(cells: list[str]) -> bool:
    """Whether the cells are column names such as ``level1, level2``."""
    return len(cells) > 1 and all(_LEVEL.fullmatch(cell) for cell in cells)


def path_mark(text: str) -> str | None:
    """The mark between the steps of paths, such as `` > ``, that at least half of the first lines have, or None.

    Lines that hold a delimiter of columns as often are a table. A slash counts only where commas occur, too:
    otherwise the lines are codes (`linnaeus.taxonomy.formats.codes`).

    Examples
    --------
    >>> path_mark("A\\nA > AA\\nA > AB, AC\\n"), path_mark("A,A > B\\n"), path_mark("A/AA, AB\\nA/AC\\n")
    (' > ', None, '/')
    """
    lines = [line for _, line in itertools.islice(body_lines(text), SAMPLE)]
    if not lines or any("\t" in line or line[0].isspace() for line in lines):
        return None
    # A comma in front of a blank is one of a name.
    delimiters = max(sum(bool(_DELIMITER[mark].search(line)) for line in lines) for mark in _DELIMITER)
    for mark in PATH_MARKS:
        marked = sum(mark in line for line in lines)
        if marked > delimiters and 2 * marked >= len(lines) and (mark != "/" or any("," in line for line in lines)):
            return mark
    return None


def _mark(text: str, options: FormatOptions) -> tuple[str, bool]:
    """The mark between steps, and whether it is one of paths rather than a delimiter of columns."""
    if options.separator is not None and len(options.separator) > 1 and options.separator not in ("\\t", "tab"):
        return options.separator, True
    mark = path_mark(text) if options.separator is None else None
    return (options.column_mark() or column_mark(text) or ",", False) if mark is None else (mark, True)


def _steps(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered paths cut at a mark; a line may be quoted as the only cell of a table."""
    for number, line in body_lines(text):
        path = line.strip()
        if len(path) > 1 and path[0] == path[-1] == '"':
            path = path[1:-1].replace('""', '"')
        yield number, [step.strip() for step in path.split(mark)]


def _names_column(cells: list[str], text: str) -> bool:
    """Whether the first line of paths is the name of the column: a usual word that no path begins with."""
    word = cells[0].lower().replace(" ", "_")
    lines = [line.lstrip('"') for _, line in itertools.islice(body_lines(text), 1, None)]
    return len(cells) == 1 and bool(_COLUMN.fullmatch(word)) and not any(line.startswith(cells[0]) for line in lines)


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the paths."""
    draft = Draft(source, root=None, repeats=True)
    mark, by_mark = _mark(text, options)
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
