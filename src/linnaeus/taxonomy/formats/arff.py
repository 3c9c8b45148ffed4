"""The class attribute of an ARFF file of hierarchical multi-label data (CLUS):

@ATTRIBUTE class hierarchical 01,01/01,01/02,02          paths: a node is named by its whole path
@ATTRIBUTE class hierarchical root/A,root/B,A/C,B/C      pairs parent/child below the word ``root``: a DAG
"""

from __future__ import annotations

import re

from linnaeus.taxonomy.formats.draft import Draft, FormatOptions
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["KNOWN_OPTIONS", "compose", "parse"]

KNOWN_OPTIONS = ()

_CLASS = re.compile(r"^\s*@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+hierarchical\s+(\S.*)$", re.IGNORECASE)


def parse(text: str, source: str, format: str, options: FormatOptions) -> Draft:
    """Names and pairs of the class attribute; the documents are not read."""
    draft = Draft(source, root=None, repeats=True)
    for number, line in enumerate(text.split("\n"), 1):
        found = _CLASS.match(line)
        if found:
            _add(draft, [entry.strip() for entry in found.group(2).split(",")], number)
            return draft
        if line[:5].lower() == "@data":
            break
    raise draft.error("the ARFF file has no attribute of type 'hierarchical', so it does not contain a taxonomy.")


def _add(draft: Draft, entries: list[str], number: int) -> None:
    parts = [entry.split("/") for entry in entries if entry]
    for entry in parts:
        draft.refuse_long("/".join(entry), number)
        if "" in entry:
            raise draft.error(f"a step of {'/'.join(entry)[:60]!r} is empty.", number)
    if any(entry[0] == "root" for entry in parts) and all(len(entry) == 2 for entry in parts):
        draft.root = "root"
        for above, below in parts:
            draft.edge(above, below, number)
        return
    # Nodes keep the order of the file; missing prefixes are added.
    for steps in parts:
        for i in range(1, len(steps)):
            draft.node("/".join(steps[:i]))
        draft.node("/".join(steps))
    for name in draft.index:
        above = name.rpartition("/")[0]
        if above:
            draft.edge(above, name, number)


def compose(taxonomy: Taxonomy, format: str, options: FormatOptions) -> str:
    """The header of an ARFF file: pairs if the root is named ``root``, otherwise the names as paths."""
    names = taxonomy.names
    if taxonomy.root is not None and names[taxonomy.root] == "root":
        entries = [f"{names[p]}/{names[v]}" for v in range(taxonomy.n_nodes) for p in taxonomy.parents(v)]
    else:
        entries = list(names)
    return f"@RELATION taxonomy\n\n@ATTRIBUTE class hierarchical {','.join(entries)}\n\n@DATA\n"
