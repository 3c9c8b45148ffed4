"""Tables in Markdown, as they go onto a page of docs/results/."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["BY_HAND", "breakdown", "command", "heading", "interval", "number", "p_value", "rewrite", "table", "tests"]

BY_HAND = "<!-- by hand -->"  # what stands below it on a page is kept

_GIVEN = {"labels": "labels", "C_by": "C by", "cut": "cut", "C": "C"}  # what else a comparison may say about itself


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per row; the keys of the first row head the columns."""
    rows = list(rows)
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([str(row.get(column, "")) for column in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rewrite(page: Path, text: str) -> None:
    """Write a page again; what stands below the mark is kept."""
    before = page.read_text() if page.exists() else ""
    page.write_text(text + (before[before.index(BY_HAND) :] if BY_HAND in before else ""))


def command(name: str, arguments: Sequence[str]) -> str:
    """What was typed, but for the form of the output."""
    return shlex.join(["python", "-m", "benchmarks", name, *(word for word in arguments if word != "--json")])


def heading(result: Mapping[str, Any]) -> str:
    """Date, machine, versions and the command."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "linnaeus", "numpy", "scipy", "scikit-learn"))
    where = f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, threads: {result['threads']}"
    return f"{where}; {versions}.\n\n`{result['command']}`"


def number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def interval(value: float, ends: Iterable[float] | None, digits: int = 1) -> str:
    """80.0 [77.5, 82.4]"""
    if ends is None:
        return number(value, digits)
    low, high = ends
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def p_value(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "< 1e-4"


def tests(rows: Iterable[Mapping[str, Any]], units: str) -> str:
    """Paired tests; ``units`` are what the sign test counts."""
    return table(
        {
            "model": row["system"],
            "against": row["against"],
            **{title: str(row[key]).replace("_f1", "-F1") for key, title in _GIVEN.items() if key in row},
            "micro-F1 gain": interval(row["micro_gain"], row["micro_gain_interval"], 2),
            f"only it right / only the other ({units})": f"{row['sign_wins']:,} / {row['sign_losses']:,}",
            "sign test p": p_value(row["sign_p"]),
            "permutation p": p_value(row["permutation_p"]),
            "macro-F1 gain": interval(row["macro_gain"], row["macro_gain_interval"], 2),
            "labels better / worse": f"{row['labels_better']:,} / {row['labels_worse']:,}",
            "Wilcoxon p": p_value(row["wilcoxon_p"]),
        }
        for row in rows
    )


def breakdown(comparisons: Iterable[Mapping[str, Any]], part: str, key: str) -> str:
    """Flat, other and gain of several comparisons side by side, a line for each level or size."""
    lines: dict[Any, dict[str, Any]] = {}
    for comparison in comparisons:
        for row in comparison[part]:
            line = lines.setdefault(
                row[key], {key: row[key], "nodes": f"{row['n_nodes']:,}", "in test": f"{row['n_gold']:,}"}
            )
            told = f"{row['flat']:.1f}, {row['other']:.1f}, {row['gain']:+.2f} (p {p_value(row['p'])})"
            line[f"{comparison['system']}: flat, RR, gain"] = told
    return table(lines.values())
