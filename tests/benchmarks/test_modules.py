"""Every benchmark can be listed and imported, and the names that it imports exist."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import runpy
import sys
from pathlib import Path

import pytest

import benchmarks

MODULES = sorted(m.name for m in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.") if "__main__" not in m.name)


def test_the_command_lists_every_benchmark(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("benchmarks", run_name="__main__")
    assert end.value.code == 0
    listed = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert {"predict_speed", "papers", "train_speed"} <= set(listed)
    assert all(listed.values()), "every benchmark has a summary"
    for name in listed:
        assert callable(importlib.import_module(f"benchmarks.{name}").run)


@pytest.mark.parametrize("name", MODULES)
def test_imported_names_exist(name: str) -> None:
    """Those of imports inside functions as well, which importing the module does not reach."""
    if name.startswith("benchmarks.gpu"):
        pytest.importorskip("torch")
    path = importlib.import_module(name).__file__
    assert path is not None
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("benchmarks", "linnaeus"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                assert hasattr(module, alias.name) or importlib.util.find_spec(inside), inside
