"""Codes that encode the position of a node, one per line, with titles as display labels if the table has them.

*Steps*: ``comp.sys.mac``, ``1.1.1.1``, ``A/B/C``. Every prefix is a node, whether it has a line or not. The mark
between the steps is the one of ``. / -`` that most codes contain, unless ``separator=`` is given.

*Digits* (``separator=""``): ``1 11 111 1111`` (ISCO, KldB, HS) and ``01 01.1 01.11`` (NACE). The parent of a code is
the longest other code that it begins with, ignoring marks, so that levels may be missing. Single letters in lines
before other codes (sections ``A``, ``B``, ...) are the parents of these codes.

Which of the two it is follows from the codes themselves: see `digits_nest`. Rows with a true ``deprecated`` are
deprecated ids: see `linnaeus.taxonomy.formats.deprecations`.
"""

from __future__ import annotations

import io
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from linnaeus.taxonomy.formats.deprecations import deprecated_row, deprecation_columns, written_rows
from linnaeus.taxonomy.formats.draft import (
    Draft,
    FormatOptions,
    column_mark,
    quoted,
    split_cell,
    table,
    text_columns,
    written_columns,
)
from linnaeus.taxonomy.names import without_dashes
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "CodeColumns", "code_columns", "code_separator", "compose", "digits_nest", "parse"]

KNOWN_OPTIONS = ("separator", "header", "duplicates", "obsolete")
HOLDS_TEXTS = True

SAMPLE = 5000  # rows examined to find the column of codes
_CODE = re.compile(r"[A-Z]{0,3}\d[0-9A-Za-z]{0,20}(?:[./ -][0-9A-Za-z]{1,20}){0,20}|[A-Z]{1,2}")
_SECTION = re.compile(r"[A-Z]")
_MARKS = re.compile(r"[./ -]")
_EXCEL = re.compile(r'="?(.*?)"?')  # ="01" and '01 keep the zero of a code in spreadsheets
_CODE_WORDS = frozenset(
    ("code", "codes", "kode", "kod", "notation", "class_code", "código", "codigo", "codice", "schlüssel")
)
_TITLE_WORDS = (
    *("title", "label", "name", "titel", "bezeichnung", "benennung", "text", "titre", "libellé", "libelle", "intitulé"),
    *("nom", "título", "titulo", "nombre", "denominación", "descripción", "titolo", "denominazione", "naam"),
    *("omschrijving", "description"),
)


class CodeColumns(NamedTuple):
    """The columns of codes and titles, and whether the table has a header."""

    code: int
    title: int | None
    header: bool


def code_separator(codes: Sequence[str]) -> str | None:
    """The mark of ``. / -`` that most codes contain, or None.

    Examples
    --------
    >>> code_separator(["comp.sys", "comp.sys.ibm-pc"])
    '.'
    """
    counts = {mark: sum(mark in code for code in codes) for mark in "./-"}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


def digits_nest(codes: Sequence[str]) -> bool:
    """Whether codes nest by their digits: most begin with another code, and most that could be parents are.

    Consecutive numbers (1, 2, ..., 10, 11) do not nest, and neither do codes of steps (1.1, 1.2, ..., 1.10): if codes
    have marks, nearly all codes of a length that has children must have children, or the last steps must not be
    consecutive numbers.

    Examples
    --------
    >>> digits_nest(["1", "11", "111", "12", "2", "21"]), digits_nest(["01", "01.1", "01.11", "01.12"])
    (True, True)
    >>> digits_nest([str(n) for n in range(1, 50)]), digits_nest([f"1.{n}" for n in range(1, 50)])
    (False, False)
    """
    sections = _sections(codes)[0]
    codes = [code for code in codes if code not in sections] if sections else codes
    keys = [_key(code) for code in codes]
    if len(codes) < 2 or len(set(keys)) < len(keys) or not all(map(_CODE.fullmatch, codes)) or _in_sequence(keys):
        return False
    above = _prefix_parents(codes)
    shortest, longest = min(map(len, keys)), max(map(len, keys))
    deeper = [code for code, key in zip(codes, keys, strict=True) if len(key) > shortest]
    linked = sum(above[code] is not None for code in deeper)
    parents = {parent for parent in above.values() if parent is not None}
    mark = code_separator(codes)
    if mark is None:
        inner = [code for code, key in zip(codes, keys, strict=True) if len(key) < longest]
        return 0 < linked >= 0.6 * len(deeper) and 2 * len(parents) >= len(inner)
    nested = {p for code, p in above.items() if p is not None and _steps_parent(code, mark) != p}
    lengths = {len(_key(code)) for code in nested}
    inner = [code for code, key in zip(codes, keys, strict=True) if len(key) in lengths]
    share = len(parents.intersection(inner)) / max(1, len(inner))
    # Groups without classes are common in extracts of a classification; then every class must have its group.
    classes = [code for code in codes if len(code.rpartition(mark)[2]) > 1 and mark in code]
    grouped = all(_steps_parent(code, mark) != above[code] for code in classes)
    enough = share >= 0.8 or (share >= 0.3 and grouped and not _counted(codes, mark))
    return bool(nested) and linked >= 0.6 * len(deeper) and enough


def _counted(codes: Sequence[str], mark: str) -> bool:
    """Whether last steps are consecutive (1.8, 1.9, 1.10, 1.11): most numbers up to the largest one occur."""
    families: dict[str, set[int]] = {}
    for code in codes:
        family, _, step = code.rpartition(mark)
        if family and step.isdecimal():
            families.setdefault(family, set()).add(int(step))
    long = [steps for steps in families.values() if max(steps) > 9]
    return sum(map(len, long)) >= 0.5 * sum(map(max, long))


def code_columns(rows: Sequence[Sequence[str]], header: bool | None = None) -> CodeColumns | None:
    """The columns of codes and titles of a table, or None if no column contains codes that nest.

    Examples
    --------
    >>> code_columns([["Code", "Bezeichnung"], ["1", "Landwirtschaft"], ["11", "Tierzucht"], ["12", "Gartenbau"]])
    CodeColumns(code=0, title=1, header=True)
    >>> code_columns([["Sports", "Tennis"], ["Sports", "Chess"]]) is None
    True
    """
    rows = rows[:SAMPLE]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    words = [cell.strip().strip('"').lower().replace(" ", "_") for cell in rows[0]] if rows else []
    named = next((i for i, word in enumerate(words) if word in _CODE_WORDS), None)
    for code in [*range(width)] if named is None else [named]:
        cells = [_unwrapped(row[code]) if code < len(row) else "" for row in rows]
        has_header = _has_header(cells, words, code) if header is None else header
        if code > 0 and not has_header:
            return None
        codes = [*dict.fromkeys(filter(None, cells[has_header:]))]
        # A header of codes and titles decides, whatever the rows contain; otherwise a table with a few repeated or
        # empty codes, which `parse` reports, is still a table of codes and not a list of pairs.
        titled = has_header and named == code and any(word in _TITLE_WORDS for word in words)
        n_repeated = len(cells) - has_header - len(codes)
        few = n_repeated <= max(len(codes) > 3, len(codes) // 10)
        # In a table of two columns the other one contains titles; with codes there it would be a list of pairs.
        titles = {cell for row in rows[has_header:] for cell in row[1 - code : 2 - code]} if width == 2 else set()
        nest = few and not titles.intersection(codes) and (digits_nest(codes) or (code == 0 and _steps_nest(codes)))
        if (titled and codes) or (len(codes) > 1 and nest):
            return CodeColumns(
                code, _title_column(rows[has_header:], words if has_header else [], code, width), has_header
            )
    return None


def _unwrapped(cell: str) -> str:
    """A code without the quotes that keep its zeros in spreadsheets, and without a mark at its end."""
    found = _EXCEL.fullmatch(cell)
    return (found.group(1) if found else cell.removeprefix("'")).rstrip("./- ")


def _has_header(cells: list[str], words: list[str], column: int) -> bool:
    """Whether the first cell names the column: it is a common word, or is not a code while all others are."""
    if words[column : column + 1] and words[column] in _CODE_WORDS:
        return True
    first, others = cells[0], [cell for cell in cells[1:] if cell]
    if len(others) < 2 or not all(map(_CODE.fullmatch, others)):
        return False
    if re.fullmatch(r"[A-Z]{2}", first):  # HS, or a country code that others begin with
        return not any(code.startswith(first) for code in others)
    return not _CODE.fullmatch(first)


def _title_column(rows: Sequence[Sequence[str]], words: list[str], code: int, width: int) -> int | None:
    """The column named like a title, otherwise the next one that contains words, otherwise the next one."""
    others = [*range(code + 1, width), *range(code)]
    named = [i for word in _TITLE_WORDS for i in others if words[i : i + 1] == [word]]
    wordy = [i for i in others if 2 * sum(any(map(str.isalpha, row[i])) for row in rows if i < len(row)) > len(rows)]
    return next(iter([*named, *wordy, *others]), None)


def _steps_nest(codes: Sequence[str]) -> bool:
    """Whether most codes contain the separator, and most of these extend another code or share a prefix with one."""
    mark = code_separator(codes)
    if mark is None:
        return False
    above = [code.rpartition(mark)[0] for code in codes if mark in code]
    known, counts = set(codes), Counter(above)
    shared = sum(prefix in known or counts[prefix] > 1 for prefix in above)
    return 2 * len(above) >= len(codes) and 2 * shared >= len(above)


def _in_sequence(keys: Sequence[str]) -> bool:
    """Whether the codes are consecutive numbers with few gaps."""
    if not all(
        key.isascii() and key.isdigit() and len(key) < 10 and not (key[0] == "0" and len(key) > 1) for key in keys
    ):
        return False
    numbers = [int(key) for key in keys]
    return len(numbers) > 0.5 * (max(numbers) - min(numbers) + 1)


def _key(code: str) -> str:
    return _MARKS.sub("", code)


def _steps_parent(code: str, mark: str) -> str | None:
    return code.rpartition(mark)[0] or None


def _prefix_parents(codes: Sequence[str]) -> dict[str, str | None]:
    """The longest other code that each code begins with, ignoring marks; in sorted order it is among the open ones."""
    above: dict[str, str | None] = {}
    opened: list[tuple[str, str]] = []
    for key, code in sorted((_key(code), code) for code in codes):
        while opened and not (key.startswith(opened[-1][0]) and len(key) > len(opened[-1][0])):
            opened.pop()
        above[code] = opened[-1][1] if opened else None
        opened.append((key, code))
    return above


def _sections(codes: Sequence[str]) -> tuple[set[str], dict[str, str]]:
    """Single letters before codes that begin with a digit: the letters, and the letter before each code.

    Empty if the first code is not a letter or a letter has no code after it: then the order has no meaning.
    """
    sections: dict[str, int] = {}
    below: dict[str, str] = {}
    section = None
    for code in codes:
        if _SECTION.fullmatch(code):
            section = code
            sections[code] = 0
        elif section is None or not code[:1].isdigit():
            return set(), {}
        else:
            below[code] = section
            sections[section] += 1
    return (set(sections), below) if sections and all(sections.values()) else (set(), {})


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the codes, by steps or by digits, and their titles."""
    options.choose("duplicates", ("error", "drop"))
    draft = Draft(source, root=None, repeats=True)
    rows = _rows(text, source, options.header)
    columns = code_columns([cells for _, cells in rows], options.header)
    if columns is None:
        width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0] if rows else 1
        cells = [_unwrapped(cells[0]) for _, cells in rows[:SAMPLE]]
        headed = bool(rows) and _has_header(cells, [], 0) if options.header is None else options.header
        columns = CodeColumns(0, 1 if width > 1 else None, headed)
    draft.headless = not columns.header
    texts = text_columns(rows[0][1], (columns.code, columns.title)) if columns.header and rows else {}
    draft.text_columns = [rows[0][1][i] for i in texts]
    marks = deprecation_columns(rows[0][1]) if columns.header and rows and not options.obsolete else {}
    by_code: dict[str, list[tuple[str, str, str]]] = {}
    given: dict[str, int] = {}
    for number, cells in rows[columns.header :]:
        written = cells[columns.code] if columns.code < len(cells) else ""
        code = without_dashes(written) if options.separator else _unwrapped(written)
        if not code:
            raise draft.error(f"the line has no code: {' '.join(cells)[:60]!r}.", number)
        title = _title(cells, columns, [len(row) for _, row in rows[:1]])
        entry = deprecated_row(cells, marks, title) if marks else None
        if entry is not None:
            draft.deprecated.setdefault(written, entry)
            continue
        if code in given:
            if options.duplicates == "drop" and title == draft.labels.get(code, ""):
                continue
            raise draft.error(_given_twice(code, title, draft.labels.get(code, ""), given[code]), number)
        given[code] = number
        if written != code:
            draft.aliases.setdefault(written, []).append(code)
        if title:
            draft.labels[code] = title
        for i, (kind, language) in texts.items():
            found = split_cell(cells[i], kind) if i < len(cells) and cells[i] else []
            by_code.setdefault(code, []).extend((kind, language, text) for text in found)
    mark = options.separator
    if mark is None:
        mark = code_separator([*given]) or ("" if any(any(map(str.isdigit, code)) for code in given) else ".")
        mark = "" if digits_nest([*given][:SAMPLE]) else mark
    if mark == "":
        _add_by_digits(draft, given)
    else:
        for code, number in given.items():
            _add_steps(draft, code, mark, number)
    for code, entries in by_code.items():
        draft.add_texts(code, entries)
    return draft


def _given_twice(code: str, title: str, before: str, line: int) -> str:
    """The message about a repeated code, with both titles if they differ."""
    if title == before:
        return f"the code {code!r} was already given in line {line}; duplicates='drop' accepts it."
    return (
        f"the code {code!r} was already given in line {line} as {before!r}, and is {title!r} here; a code stands for "
        "one node (spreadsheets remove leading zeros of codes)."
    )


def _rows(text: str, source: str, header: bool | None) -> list[tuple[int, list[str]]]:
    """Numbered rows of cells; if no column of a delimited table contains codes, of the first word and the rest."""
    rows = list(table(text, column_mark(text) or "\t", source))
    if code_columns([cells for _, cells in rows], header) is None:
        lines = list(io.StringIO(text, newline=""))  # as `table` counts them, also where a line ends with \r alone
        words = [(number, lines[number - 1].strip().split(None, 1)) for number, _ in rows if number <= len(lines)]
        if code_columns([cells for _, cells in words], header) is not None:
            return words
    return rows


def _title(cells: list[str], columns: CodeColumns, widths: list[int]) -> str:
    """The title of a row; surplus cells of the last column belong to it, because its separators were not quoted."""
    if columns.title is None or columns.title >= len(cells):
        return ""
    last = columns.title > columns.code and widths and columns.title == widths[0] - 1
    return ", ".join(cells[columns.title :]) if last else cells[columns.title]


def _add_by_digits(draft: Draft, given: dict[str, int]) -> None:
    """Add pairs of codes and the longest codes that they begin with; codes without their usual parent are gaps."""
    sections, section_of = _sections([*given])
    codes = [code for code in given if code not in sections]
    above = _prefix_parents(codes)
    usual: dict[int, Counter[int]] = {}
    for code, parent in above.items():
        usual.setdefault(len(_key(code)), Counter())[0 if parent is None else len(_key(parent))] += 1
    for code in given:
        draft.node(code)
    for code in codes:
        parent = above[code]
        expected = max(usual[len(_key(code))].items(), key=lambda item: (item[1], item[0]))[0]
        if (0 if parent is None else len(_key(parent))) < expected:
            draft.gaps.append(code)
        parent = section_of.get(code) if parent is None else parent
        if parent is not None:
            draft.edge(parent, code, given[code])


def _add_steps(draft: Draft, code: str, mark: str, number: int) -> None:
    draft.refuse_long(code, number)
    steps = code.split(mark)
    if "" in steps:
        raise draft.error(f"step {steps.index('') + 1} of the code {code!r} is empty.", number)
    new = []
    while steps:
        name = mark.join(steps)
        new.append(name)
        if name in draft.index:
            break
        steps = steps[:-1]
    new.reverse()
    draft.node(new[0])
    for above, below in itertools.pairwise(new):
        draft.edge(above, below, number)


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """One code per node, with its label and texts if the taxonomy has them; a table with texts has a header."""
    shown = taxonomy.display_labels
    columns, texts = written_columns(taxonomy)
    marks, deprecated = written_rows(taxonomy)
    if columns or marks:
        table = [["code", "title", *columns.values(), *marks]]
        for v, name in enumerate(taxonomy.names):
            cells = [texts[v].get(key, "") for key in columns]
            table.append([name, "" if shown is None else shown[v], *cells, *[""] * len(marks)])
        table += [[id, former, *[""] * len(columns), *cells] for id, former, cells in deprecated]
        return "\n".join(quoted(row, "\t") for row in table) + "\n"
    rows = [[name] if shown is None else [name, shown[v]] for v, name in enumerate(taxonomy.names)]
    return "\n".join(quoted(row, "\t").rstrip("\t") for row in rows) + "\n"
