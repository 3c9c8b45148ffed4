"""The public face: names, import time, docstrings that run, a model table that is true."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import linnaeus
from linnaeus import registry

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(linnaeus.__path__, "linnaeus.")
    if not m.name.endswith("__main__") and "._kernels." not in m.name
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name, tmp_path, monkeypatch) -> None:
    if ".triton_" in name:
        pytest.importorskip("triton", reason="Triton comes with PyTorch for CUDA only")
    if name.startswith("linnaeus.serve."):
        pytest.importorskip("fastapi", reason="the service needs the extra serve")
        pytest.importorskip("uvicorn", reason="the service needs the extra serve")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_every_public_name_exists() -> None:
    for name in linnaeus.__all__:
        assert getattr(linnaeus, name) is not None
    assert set(linnaeus.__all__) <= set(dir(linnaeus))
    with pytest.raises(AttributeError, match="no attribute 'Taxnomy'"):
        _ = linnaeus.Taxnomy


def test_every_model_is_a_public_name_with_a_runnable_example() -> None:
    for name in registry.ALL_MODELS:
        assert getattr(linnaeus, name) is registry.resolve(name)
        assert ">>>" in registry.resolve(name).__doc__


def test_names_for_type_checkers_are_those_of_the_program() -> None:
    tree = ast.parse(Path(linnaeus.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    homes = {alias.name: node.module for node in imports for alias in node.names if alias.name != "metrics"}
    assert homes == linnaeus._HOMES


def test_the_readme_table_lists_exactly_the_models() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    listed = [line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")]
    assert listed == list(registry.ALL_MODELS)


@pytest.mark.parametrize("module", ["linnaeus.data.label_files", "linnaeus.data.readers", "linnaeus.mixture"])
def test_modules_can_be_imported_first(module) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=True)


def test_importing_linnaeus_imports_nothing_heavy() -> None:
    code = "import sys, linnaeus; print({'numpy', 'scipy', 'sklearn', 'typer'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
