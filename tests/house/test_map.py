"""The page about the architecture shows every room and names only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "linnaeus"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_every_room_is_on_the_map() -> None:
    rooms = {path.parent.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py")} - {"."}
    assert sorted(room for room in rooms if f"`{room}/`" not in PAGE) == []


def test_files_on_the_map_exist() -> None:
    known = {path.name for path in SOURCES.rglob("*.py")} | {path.name for path in (ROOT / "tests").rglob("*.py")}
    named = set(re.findall(r"(\w+\.py)\b", PAGE))
    assert sorted(named - known - {"house.py"}) == []


def test_the_order_of_imports_is_that_of_the_linter() -> None:
    layers = re.search(r"layers = \[(.*?)\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.DOTALL)
    assert layers is not None
    declared = [re.findall(r"linnaeus\.(\w+)", line) for line in layers[1].splitlines() if "linnaeus." in line]
    part = PAGE[PAGE.index("Imports go downwards") :]
    shown = [line.split() for line in part.splitlines() if re.fullmatch(r" {4,}[a-z_]+( {2}[a-z_]+)*", line)]
    assert [sorted(row) for row in declared] == [sorted(row) for row in shown]
