"""Lines of names: LSHTC ``cat_hier.txt`` (``parent child``, with a space) and ``parent<TAB>child<TAB>child`` (RCV1).

In a file without any tab the names of ``parent child child`` are separated by spaces.
"""

from __future__ import annotations

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats.draft import Draft, FormatOptions, body_lines
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ("separator", "duplicates")


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs: two words a line (lshtc), or a parent and all its children a line (children)."""
    draft = Draft(source, repeats=options.choose("duplicates", ("error", "drop")) == "drop")
    tabs = format == "children" and any("\t" in line for _, line in body_lines(text))
    mark = options.separator or ("\t" if tabs else None)
    for number, line in body_lines(text):
        cells = [cell.strip() for cell in (line.rstrip("\t") if tabs else line).split(mark)]
        if format == "lshtc" and len(cells) != 2:
            raise draft.error(f"expected 'parent child', got {len(cells)} words: {line[:60]!r}.", number)
        if "" in cells:
            raise draft.error(f"a name is empty: {line[:60]!r}.", number)
        draft.node(cells[0])
        for below in cells[1:]:
            draft.edge(cells[0], below, number)
    return draft


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """Pairs in the order of the children (lshtc), or one line per parent (children); an isolated node is a line."""
    names = taxonomy.names
    banned = " \t\n\r" if format == "lshtc" else "\t\n\r"
    for name in names:
        if any(character in name for character in banned):
            raise TaxonomyError(
                f"Name {name!r} contains white space, which the format {format!r} does not allow; use 'edges'."
            )
    lines = []
    if format == "lshtc":
        indptr, indices = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
        for v in range(taxonomy.n_nodes):
            lines += [f"{names[p]} {names[v]}" for p in indices[indptr[v] : indptr[v + 1]]]
            if taxonomy.is_leaf[v] and indptr[v] == indptr[v + 1]:
                raise TaxonomyError(
                    f"Node {names[v]!r} has neither parent nor child, which 'lshtc' cannot express; use 'edges'."
                )
    else:
        for v in range(taxonomy.n_nodes):
            below = [names[c] for c in taxonomy.children(v)]
            if below or not len(taxonomy.parents(v)):
                lines.append("\t".join([names[v], *below]))
        if not taxonomy.n_edges and any(len(name.split()) > 1 for name in names):
            lines[0] += "\t"  # without any tab the words of a name would be read as names
    return "\n".join(lines) + "\n"
