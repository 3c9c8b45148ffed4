"""The tool that measures the code base counts code, and logic that two functions share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "house.py"


@pytest.fixture
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_docstrings_comments_and_blank_lines_are_not_code(house: ModuleType) -> None:
    text = '"""A module."""\n\n# Comment.\ndef f(x):\n    """A function."""\n    return [\n        x,  # last\n    ]\n'
    assert house.code_lines(text) == 4


def test_equal_statements_with_other_names_are_repeated(house: ModuleType, tmp_path, monkeypatch) -> None:
    steps = "    {0} = sorted(x)\n    for y in {0}:\n        print(y, {1})\n    return {0}[:{1}]\n"
    (tmp_path / "one.py").write_text("def f(x):\n" + steps.format("a", 1))
    (tmp_path / "two.py").write_text("def g(x):\n" + steps.format("b", 2) + "def h(x):\n    return sorted(x)\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert house.repeated() == ["one.py:1 f ~ two.py:1 g"]
    assert house.repeated(5) == []


def test_what_was_added_is_there(house: ModuleType) -> None:
    paths = [path.relative_to(house.ROOT).as_posix() for path in house.sources()]
    assert [name for name in house.ADDED if not any(path.startswith(name) for path in paths)] == []
    assert house.was_added(house.ROOT / "serve" / "app.py")
    assert not house.was_added(house.ROOT / "models" / "base.py")
