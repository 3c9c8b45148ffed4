"""``name;tree number``, as in the MeSH trees: ``Breast;A01.236`` lies below ``Body Regions;A01``.

A descriptor is a node, and each of its tree numbers gives it a parent: a DAG. With ``positions=True`` every tree
number is a node, labelled with the descriptor: a tree.
"""

from __future__ import annotations

from linnaeus.errors import TaxonomyError, nearest
from linnaeus.taxonomy.formats.draft import Draft, FormatOptions, body_lines
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ("positions", "separator")
MOST_POSITIONS = 1_000_000


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of descriptors, or of their positions."""
    draft = Draft(source, root=None, repeats=True)
    mark = options.separator or ";"
    name_at: dict[str, str] = {}
    line_of: dict[str, int] = {}
    for number, line in body_lines(text):
        name, found, code = (part.strip() for part in line.rpartition(mark))
        if not found or not name or not code:
            raise draft.error(f"expected 'name{mark}tree number', got {line[:60]!r}.", number)
        if code in name_at:
            raise draft.error(f"the tree number {code} was already given in line {line_of[code]}.", number)
        name_at[code], line_of[code] = name, number
        if options.positions:
            draft.node(code, name)
        else:
            draft.node(name)
    for code, name in name_at.items():
        above = code.rpartition(".")[0]
        if above and above not in name_at:
            hint = nearest(above, name_at) or "."
            raise draft.error(
                f"no line has the tree number {above}, the parent of {code} ({name!r}){hint}", line_of[code]
            )
        if above:
            pair = (above, code) if options.positions else (name_at[above], name)
            draft.edge(*pair, line_of[code])
    return draft


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """Every node with all its positions; tree numbers are generated from the structure."""
    positions: list[list[str]] = []
    n_children = [0] * taxonomy.n_nodes
    lines: list[str] = []
    n_tops = 0
    for v, name in enumerate(taxonomy.names):
        if name != name.strip() or "\n" in name or not name:
            raise TaxonomyError(
                f"Name {name!r} cannot be written to a 'mesh' file: it is empty or begins or ends with white space."
            )
        here: list[str] = []
        for p in taxonomy.parents(v).tolist():
            n_children[p] += 1
            here += [f"{code}.{n_children[p]:03d}" for code in positions[p]]
        if not here:
            here = [f"{chr(65 + n_tops // 99 % 26)}{n_tops % 99 + 1:02d}" if n_tops < 2574 else f"Z{n_tops}"]
            n_tops += 1
        positions.append(here)
        lines += [f"{name};{code}" for code in here]
        if len(lines) > MOST_POSITIONS:
            raise TaxonomyError(
                f"The taxonomy has more than {MOST_POSITIONS:,} positions, too many for 'mesh'; use 'edges'."
            )
    return "\n".join(lines) + "\n"
