"""The page of all tables: for each, what stands for what, both figures side by side, sources, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.accuracy import page

__all__ = ["markdown"]

PAPERS = {
    "gopal2015": "S. Gopal and Y. Yang (ACM TKDD 9(3), 2015): recursive regularisation and HBLR",
    "rousu2006": "J. Rousu, C. Saunders, S. Szedmak and J. Shawe-Taylor (JMLR 7, 2006): H-M3",
    "cai_thesis": "L. Cai (thesis, 2008), L. Cai and T. Hofmann (IJCAI 2007): ranking with a taxonomy",
    "murawaki2013": "Y. Murawaki (IJCNLP 2013): a global model of label sets",
}
OPENING = """# The papers, re-made

Every table of the five papers that can be re-made on the data at hand, as published and as measured here: 79.9 → 79.5
is the paper's figure and ours. Data are seldom the papers' own: each table says what stands for what. Orders and
differences may be compared, levels only where the documents are the same. Figures are per cent, but for losses on the
tree, seconds, and the tables of Murawaki, which are shares; ↓: less is better. *Order kept* counts pairs of systems
that differ in the paper and stand in the same order here; a tie here counts as not kept. Published figures that
contradict others in the same paper are left out.
"""
NOT_MADE = [
    ("Gopal and Yang I, V", "counts of data; the winners of the LSHTC challenge"),
    ("Gopal and Yang II to IV on IPC, LSHTC, DMOZ, SWIKI, LWIKI", "the collections are not among our data"),
    ("Gopal and Yang VI", "its rows on CLEF are in Table VII"),
    ("Rousu et al. 3 on WIPO-alpha and on ENZYME", "neither collection is among our data, and levels differ"),
    ("Cai 7.6, 7.7, 7.9, 7.14, 7.17, 7.22", "sections of WIPO-alpha; a branch of MeSH stands for 7.8"),
    ("Cai 7.16", "divide and conquer on OHSUMED: 7.15 has these systems on newsgroups"),
    ("Cai 7.19", "divide and conquer on random hierarchies: on the page of [rankings](ranking.md)"),
    ("Murawaki's figures 2 and 3", "pictures without numbers"),
]


def markdown(result: dict[str, Any]) -> str:
    """The whole page."""
    parts = [OPENING, page.heading(result) + "\n", _lead(result)]
    for paper, name in PAPERS.items():
        tables = [table for table in result["tables"] if table["paper"] == paper]
        if tables:
            parts.append(f"## {name}\n")
            parts.extend(_study(table) for table in tables)
    left_out = page.table([{"table": name, "why": why} for name, why in NOT_MADE])
    return "\n".join([*parts, f"## Tables that are not re-made\n\n{left_out}\n"])


def _lead(result: dict[str, Any]) -> str:
    """How many tables, and how much of all orders is kept."""
    orders = [tuple(pair) for table in result["tables"] for pair in table["order"].values()]
    kept, pairs = (sum(column) for column in zip(*orders, strict=True))
    rows = sum(len(table["rows"]) for table in result["tables"])
    return (
        f"{len(result['tables'])} tables, {rows} rows; what has a page for its source was measured there. Of {pairs} "
        f"pairs of systems that differ in the papers, {kept} ({100 * kept / max(pairs, 1):.0f} %) stand in the same "
        "order here.\n"
    )


def _study(table: dict[str, Any]) -> str:
    names = " and ".join(table["tables"])
    title = f"### Table{'s' if len(table['tables']) > 1 else ''} {names}, {table['dataset']}: {table['title']}\n"
    sources = "; ".join(table["sources"])
    orders = [f"{column} {kept} of {pairs}" for column, (kept, pairs) in table["order"].items() if pairs]
    told = f"Order kept: {', '.join(orders)}. " if orders else ""
    return "\n".join(
        [
            title,
            f"Here: {table['stands_for']}. Source: {sources}.\n",
            page.table(list(_lines(table))),
            "",
            f"{told}{table['explained']}\n",
        ]
    )


def _lines(table: dict[str, Any]) -> Iterator[dict[str, str]]:
    for row in table["rows"]:
        line = {table["variant_name"]: row["variant"]} if table["variant_name"] else {}
        line |= {"system": row["system"], "in the paper": row["paper_calls_it"]}
        for column in table["columns"]:
            head = column + (" ↓" if column in table["lower_is_better"] else "")
            digits = table["digits"].get(column, 1)
            both = (page.number(row[side].get(column), digits) or "–" for side in ("published", "measured"))
            line[head] = " → ".join(both)
        yield line
