"""Every test can fail: it asserts something itself, or calls a helper of the tests that does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# Calls that raise if a claim does not hold: those of pytest and NumPy, the checks of scikit-learn, and commands.
_RAISES = {"raises", "warns", "fail", "check", "check_estimator", "testmod"}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _helpers(path: Path) -> dict[str, tuple[Path, str]]:
    """What the names of a file stand for: its own functions and classes, and those of other files of the tests."""
    names = {
        node.name: (path, node.name) for node in _tree(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            home = TESTS.parent.joinpath(*str(node.module).split(".")).with_suffix(".py")
            if home.exists():
                names |= {alias.asname or alias.name: (home, alias.name) for alias in node.names}
    return names


def _defined(path: Path) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a file, and the methods of classes of tests."""
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from (method for method in node.body if isinstance(method, ast.FunctionDef))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        checked = any(word.arg == "check" and isinstance(word.value, ast.Constant) for word in node.keywords)
        return checked or name in _RAISES or name.startswith("assert")
    return isinstance(node, ast.Assert | ast.Raise)


@cache
def _can_fail(path: Path, name: str) -> bool:
    defined = [node for node in _defined(path) if node.name == name]
    parts = [part for node in defined for part in ast.walk(node)]
    used = {part.id for part in parts if isinstance(part, ast.Name)} - {name}
    helpers = [_helpers(path)[word] for word in sorted(used & _helpers(path).keys())]
    return any(map(_asserts, parts)) or any(_can_fail(*helper) for helper in helpers)


def test_every_test_can_fail() -> None:
    idle = [
        f"{path.relative_to(TESTS)}: {node.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in _defined(path)
        if node.name.startswith("test_") and not _can_fail(path, node.name)
    ]
    assert not idle, "tests that assert nothing:\n" + "\n".join(idle)
