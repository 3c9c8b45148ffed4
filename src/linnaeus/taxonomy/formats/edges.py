"""Pairs of names, one per line, as TSV or CSV: ``parent<TAB>child`` and, if the columns are named, a label.

    parent  child   label
            Sports  Sports and games      an empty parent: a node at the top
    Sports  Tennis  Tennis

Columns may be in any order if a header names them (``id,parent,name`` also works); columns such as ``altLabel`` and
``definition@de`` are texts (see `linnaeus.taxonomy.formats.draft`), and rows with a true ``deprecated`` are deprecated
ids (see `linnaeus.taxonomy.formats.deprecations`). If top nodes are declared by an empty parent, every other parent
needs a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from linnaeus.errors import warn_user
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
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "header_columns", "parse"]

KNOWN_OPTIONS = ("separator", "header", "duplicates", "obsolete")
HOLDS_TEXTS = True

_PARENT = ("parent", "parent_id", "parentid", "parent_name", "broader", "source", "from", "fromnodeid", "hypernym")
_CHILD = (
    "child",
    "child_id",
    "childid",
    "id",
    "node",
    "node_id",
    "narrower",
    "target",
    "to",
    "tonodeid",
    "hyponym",
    "code",
)
_AMBIGUOUS = ("source", "from", "parent_name")  # names that are also common in other tables
_LABEL = ("label", "display_label", "name", "title", "preflabel")


def header_columns(cells: Sequence[str]) -> tuple[int, int, int | None] | None:
    """Columns of parent, child and label if the cells are such a header, otherwise None.

    Examples
    --------
    >>> header_columns(["id", "parent", "name"])
    (1, 0, 2)
    >>> header_columns(["Sports", "Tennis"]) is None
    True
    """
    words = [cell.strip().strip('"').lower().replace(" ", "_") for cell in cells]

    def first(known: tuple[str, ...]) -> int | None:
        return next((words.index(word) for word in known if word in words), None)

    parent, child, label = first(_PARENT), first(_CHILD), first(_LABEL)
    if parent is not None and child is None and label is not None:  # parent,name
        child, label = label, None
    return None if parent is None or child is None else (parent, child, label)


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of an edge list."""
    draft = Draft(source, repeats=options.choose("duplicates", ("error", "drop")) == "drop")
    mark = options.column_mark() or column_mark(text) or "\t"
    rows = table(text, mark, source)
    number, cells = next(rows, (0, []))
    named = header_columns(cells) if options.header is not False else None
    parent, child, label = named or (0, 1, 2 if len(cells) == 3 and options.header else None)
    draft.headless = named is None and not options.header
    texts: dict[int, tuple[str, str]] = {}
    marks: dict[str, int] = {}
    if named is not None:
        texts = text_columns(cells, named)
        marks = deprecation_columns(cells) if len(cells) > 2 else {}
        draft.text_columns = [cells[i] for i in texts]
        read = {*named, *texts, *marks.values()}
        draft.unused_columns = [cell for i, cell in enumerate(cells) if i not in read and cell]
        _warn_other_table(draft, cells[parent], cells[child])
    if draft.headless and cells:
        _add(draft, number, cells, parent, child, label, texts)
    nodes = _without_deprecated(rows, marks, child, label, draft) if marks and not options.obsolete else rows
    for number, cells in nodes:
        _add(draft, number, cells, parent, child, label, texts, more_columns=bool(marks))
    return draft


def _without_deprecated(
    rows: Iterable[tuple[int, list[str]]], marks: Mapping[str, int], child: int, label: int | None, draft: Draft
) -> list[tuple[int, list[str]]]:
    """The rows of nodes; what the others say about deprecated ids is put into the draft."""
    kept = []
    for number, cells in rows:
        shown = cells[label] if label is not None and label < len(cells) else ""
        entry = deprecated_row(cells, marks, shown) if child < len(cells) and cells[child] else None
        if entry is None:
            kept.append((number, cells))
        else:
            draft.deprecated.setdefault(cells[child], entry)
    # A node with several parents has several rows, of which only the first may say that it is deprecated.
    return [(number, cells) for number, cells in kept if not draft.deprecated.keys() & cells[child : child + 1]]


def _warn_other_table(draft: Draft, parent: str, child: str) -> None:
    """Warn if the columns that were read as pairs are ambiguous and the table has further columns."""
    if len(draft.unused_columns) < 2 or parent.strip().lower() not in _AMBIGUOUS:
        return
    others = ", ".join(map(repr, draft.unused_columns[:5]))
    warn_user(
        f"{draft.source} was read as a taxonomy with parents in {parent!r} and nodes in {child!r}; it has "
        f"{len(draft.unused_columns)} other columns ({others}), so it may not be a taxonomy."
    )


def _add(
    draft: Draft,
    number: int,
    cells: list[str],
    parent: int,
    child: int,
    label: int | None,
    texts: Mapping[int, tuple[str, str]],
    *,
    more_columns: bool = False,
) -> None:
    try:
        above, below = cells[parent], cells[child]
    except IndexError:
        raise draft.error(f"expected a parent and a child, got {cells!r}.", number) from None
    surplus = label is None and not texts and not more_columns
    if surplus and len(cells) > 2 and parent + child == 1 and any(cells[2:]):
        raise draft.error(f"expected two columns, got {len(cells)}: {cells[:4]!r}.", number)
    if not below:
        raise draft.error(f"the child of {above!r} has no name.", number)
    if above in draft.deprecated:
        draft.node(below)
    elif above:
        draft.edge(above, below, number)
    elif below in draft.declared:
        raise draft.error(f"node {below!r} is declared twice.", number)
    else:
        draft.node(below)
        draft.declared.add(below)
    if label is not None and len(cells) > label and cells[label]:
        known = draft.labels.setdefault(below, cells[label])
        if known != cells[label]:
            raise draft.error(f"node {below!r} has two labels, {known!r} and {cells[label]!r}.", number)
    for i, (kind, language) in texts.items():
        if i < len(cells) and cells[i]:
            draft.add_texts(below, ((kind, language, text) for text in split_cell(cells[i], kind)))


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """An edge list in node order, so that reading it gives the nodes the same numbers."""
    mark = options.column_mark() or "\t"
    shown = taxonomy.display_labels
    columns, texts = written_columns(taxonomy)
    marks, deprecated = written_rows(taxonomy)
    labelled = shown is not None or any(label for _, label, _ in deprecated)
    header = ["parent", "child", *(["label"] if labelled else []), *columns.values(), *marks]
    lines = [quoted(header, mark)]
    names = taxonomy.names
    indptr, indices = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
    for v in range(taxonomy.n_nodes):
        above = [names[p] for p in indices[indptr[v] : indptr[v + 1]] if taxonomy.kind != "graph" or p < v]
        if not above and (v != taxonomy.root or shown is not None or columns or marks):
            above = [""]
        label = ([""] if shown is None else [shown[v]]) if labelled else []
        rest = [texts[v].get(key, "") for key in columns] + [""] * len(marks)
        for p in above:
            lines.append(quoted([p, names[v], *label, *rest], mark))
            rest = [""] * len(rest)  # texts are written once
    for id, former, cells in deprecated:
        lines.append(quoted(["", id, *([former] if labelled else []), *[""] * len(columns), *cells], mark))
    return "\n".join(lines) + "\n"
