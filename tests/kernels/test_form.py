"""Kernels keep to 120 columns, short files and functions that fit a page; larger ones are named, and may not grow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parents[2] / "src" / "linnaeus" / "_kernels"
FILES = sorted(path for path in KERNELS.iterdir() if path.suffix in (".pyx", ".pxi", ".pxd", ".h"))
# (lines, parameters) of functions that are larger than the rest.
LARGER = {
    ("coupled.pyx", "sweep"): (100, 22),
    ("dual_cd.pyx", "sweep"): (80, 21),
    ("iterated_steps.pxi", "iterated_step"): (65, 24),
    ("perceptron.pyx", "learn_rows"): (100, 34),
    ("ranking.pyx", "sweep"): (108, 25),
    ("recursive.pyx", "least_energy"): (32, 21),
    ("recursive.pyx", "step"): (50, 23),
}


def functions(path: Path) -> list[tuple[str, int, int]]:
    """(name, lines with text, parameters) of the functions of a Cython file."""
    found, lines, first = [], path.read_text().splitlines(), 0
    while first < len(lines):
        head = re.match(r"(?:def|cdef|cpdef) [^=]*?(\w+)\(", lines[first])
        if head is None or lines[first].startswith("cdef extern"):
            first += 1
            continue
        colon = next(i for i in range(first, len(lines)) if re.search(r":\s*(#.*)?$", lines[i]))
        inside = " ".join(lines[first : colon + 1]).partition("(")[2].rpartition(")")[0]
        parameters = [part for part in re.sub(r"\[[^]]*\]", "", inside).split(",") if part.strip()]
        end = colon + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
            end += 1
        found.append((head[1], sum(bool(line.strip()) for line in lines[first:end]), len(parameters)))
        first = end
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lines_and_files_are_short(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= 300
    assert [i for i, line in enumerate(lines, 1) if len(line) > 120] == []


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix in (".pyx", ".pxi")], ids=lambda path: path.name)
def test_functions_are_short_and_take_few_parameters(path: Path) -> None:
    for name, lines, parameters in functions(path):
        most_lines, most_parameters = LARGER.get((path.name, name), (100, 20))
        assert lines <= most_lines, (name, lines)
        assert parameters <= most_parameters, (name, parameters)
