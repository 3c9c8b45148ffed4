"""Words that make readers stumble stay out of the sources, the command line and the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What is written, and what is meant.
HABITS = {
    r"\bdoubt(s|ed|ing)?\b": "validate, check",
    r"\bdear(er|ly|est)?\b": "expensive",
    r"\bso many\b": "the number of, this many",
    r"\banew\b": "again",
    r"\btold\b": "reported, given, described",
    r"\b(gives?|gave|given) back\b": "return",
    r"\b(go|goes|going|went) on\b": "continue",
    r"\bprogrammes?\b": "program",
    r"\bsigns? of life\b": "progress",
    r"\bin peace\b": "unchanged",
    r"\bwithout a life\b": "dead",
    r"(?<!here )\b(is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|worse\b|better\b|larger\b|deeper\b)": "not",
}

WRITTEN = (".py", ".pyx", ".pxi", ".pxd", ".h", ".js")  # files of the sources with comments and messages


def _files() -> list[Path]:
    made = (ROOT / "docs" / "reference", ROOT / "docs" / "_build")  # by `make docs`
    written = (page for page in (ROOT / "docs").rglob("*.md") if not set(made) & set(page.parents))
    pages = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")), *written]
    return sorted([*pages, *(path for path in (ROOT / "src").rglob("*") if path.suffix in WRITTEN)])


@pytest.mark.parametrize("habit", HABITS)
def test_the_worst_habits_stay_out(habit: str) -> None:
    pattern = re.compile(habit, re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not places, f"say {HABITS[habit]!r} instead:\n" + "\n".join(places)


def test_the_patterns_find_what_they_are_for() -> None:
    lines = [
        "X is no matrix",
        "We doubt X",
        "go on",
        "at least so many",
        "made anew",
        "as told",
        "X is no longer",
        "there is no X",
    ]
    hits = [any(re.search(habit, line, re.IGNORECASE) for habit in HABITS) for line in lines]
    assert hits == [True] * 6 + [False] * 2
