"""Pairs of names, one per line, as TSV or CSV: ``parent<TAB>child`` and, if the columns are named, a label.

    parent  child   label
            Sports  Sports and games      an empty parent: a node at the top
    Sports  Tennis  Tennis

Columns may be in any order if a header names them (``id,parent,name`` also works); columns such as ``altLabel`` and
``definition@de`` are texts (see `linnaeus.taxonomy.formats.draft`). If top nodes are declared by an
empty parent, every other parent needs a line of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linnaeus.errors import warn_user
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

KNOWN_OPTIONS = ("separator", "header", "duplicates")
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
    if named is not None:
        texts = text_columns(cells, named)
        draft.text_columns = [cells[i] for i in texts]
        draft.unused_columns = [cell for i, cell in enumerate(cells) if i not in named and i not in texts and cell]
        _warn_other_table(draft, cells[parent], cells[child])
    if draft.headless and cells:
        _add(draft, number, cells, parent, child, label, texts)
    for number, cells in rows:
        _add(draft, number, cells, parent, child, label, texts)
    return draft


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
) -> None:
    try:
        above, below = cells[parent], cells[child]
    except IndexError:
        raise draft.error(f"expected a parent and a child, got {cells!r}.", number) from None
    if label is None and not texts and len(cells) > 2 and parent + child == 1 and any(cells[2:]):
        raise draft.error(f"expected two columns, got {len(cells)}: {cells[:4]!r}.", number)
    if not below:
        raise draft.error(f"the child of {above!r} has no name.", number)
    if above:
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
            draft.tell(below, ((kind, language, text) for text in split_cell(cells[i], kind)))


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """An edge list in node order, so that reading it gives the nodes the same numbers."""
    mark = options.column_mark() or "\t"
    shown = taxonomy.display_labels
    columns, texts = written_columns(taxonomy)
    header = ["parent", "child", *(["label"] if shown is not None else []), *columns.values()]
    lines = [quoted(header, mark)]
    names = taxonomy.names
    indptr, indices = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
    for v in range(taxonomy.n_nodes):
        above = [names[p] for p in indices[indptr[v] : indptr[v + 1]] if taxonomy.kind != "graph" or p < v]
        if not above and (v != taxonomy.root or shown is not None or columns):
            above = [""]
        label = [] if shown is None else [shown[v]]
        rest = [texts[v].get(key, "") for key in columns]
        for p in above:
            lines.append(quoted([p, names[v], *label, *rest], mark))
            rest = [""] * len(rest)  # texts are written once
    return "\n".join(lines) + "\n"
