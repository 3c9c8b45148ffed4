"""Codes that are paths: ``comp.sys.mac``, ``1.1.1.1``, ``A/B/C``; one per line, every prefix is a node.

A second column (tab, semicolon or comma) is the display label. The mark between the steps is the one of ``. / -`` that
most codes contain, unless ``separator=`` says which.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from linnaeus.taxonomy.formats.draft import Draft
from linnaeus.taxonomy.formats.options import Options
from linnaeus.taxonomy.formats.source import body_lines, delimiter, quoted, table
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "code_separator", "compose", "parse"]

KNOWN_OPTIONS = ("separator",)


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


def parse(text: str, source: str, format: str, options: Options) -> Draft:
    """Names and pairs of the codes and their prefixes."""
    draft = Draft(source, root=None, repeats=True)
    sample = [line for _, line in zip(range(1000), (line for _, line in body_lines(text)), strict=False)]
    rows = list(table(text, delimiter(sample) or "\t", source))
    mark = options.separator or code_separator([cells[0] for _, cells in rows]) or "."
    given: dict[str, int] = {}
    for number, cells in rows:
        code, label = cells[0], " ".join(cells[1:])
        steps = code.split(mark)
        if "" in steps:
            raise draft.error(f"step {steps.index('') + 1} of the code {code!r} is empty.", number)
        if code in given:
            raise draft.error(f"the code {code!r} was given before, in line {given[code]}.", number)
        given[code] = number
        _add(draft, steps, mark, number)
        if label:
            draft.labels[code] = label
    return draft


def _add(draft: Draft, steps: list[str], mark: str, number: int) -> None:
    new = []
    while steps:
        name = mark.join(steps)
        if name in draft.index:
            new.append(name)
            break
        new.append(name)
        steps = steps[:-1]
    new.reverse()
    draft.node(new[0])
    for above, below in itertools.pairwise(new):
        draft.edge(above, below, number)


def compose(taxonomy: Taxonomy, format: str, options: Options) -> str:
    """One code per node, with its label where there are labels."""
    shown = taxonomy.display_labels
    rows = [[name] if shown is None else [name, shown[v]] for v, name in enumerate(taxonomy.names)]
    return "\n".join(quoted(row, "\t").rstrip("\t") for row in rows) + "\n"
