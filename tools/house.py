"""Measure the code base: files, lines, `Any`, class names that stand for two things, and how long the walks are.

    PYTHONPATH=src python tools/house.py [--files]

A walk is the number of source files of linnaeus in which some function runs while a call is made (by a profiler), and
of compiled kernels that it loads. Files that only define what others import do not count. ``--files`` lists them.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent / "src" / "linnaeus"


def sources() -> list[Path]:
    """Python files of the package."""
    return sorted(ROOT.rglob("*.py"))


def rooms() -> list[tuple[str, int, int]]:
    """(folder, files, lines) of every folder of the package."""
    found: dict[str, list[int]] = defaultdict(list)
    for path in sources():
        found[path.parent.relative_to(ROOT).as_posix()].append(len(path.read_text().splitlines()))
    return [(room, len(lines), sum(lines)) for room, lines in sorted(found.items())]


def any_annotations(room: Path = ROOT, *, deep: bool = True) -> int:
    """How often `Any` stands in an annotation in the files of a folder, or below it."""

    def count(node: ast.expr | None) -> int:
        if node is None:
            return 0
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        return sum(isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(node))

    total = 0
    for path in sorted(room.rglob("*.py") if deep else room.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                total += count(node.returns)
            elif isinstance(node, ast.arg | ast.AnnAssign):
                total += count(node.annotation)
    return total


def shared_class_names() -> dict[str, list[str]]:
    """Public class names that several files define."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(ROOT).as_posix())
    return {name: files for name, files in sorted(homes.items()) if len(files) > 1}


def walk(name: str) -> list[str]:
    """Source files in which some function runs during a call, and the kernels that it loaded; in a fresh process."""
    call = _calls()[name]
    call()  # imports are not part of a walk
    seen: set[str] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{ROOT}{os.sep}") and frame.f_code.co_name != "<module>":
            seen.add(Path(path).relative_to(ROOT).as_posix())

    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    prefix = "linnaeus._kernels."
    loaded = {name.removeprefix(prefix) for name in sys.modules if name.startswith(prefix)}
    compiled = {name.removesuffix("_v3").removesuffix("_v4") for name in loaded}
    return sorted(seen) + sorted(f"_kernels/{k}.pyx" for k in compiled if (ROOT / "_kernels" / f"{k}.pyx").exists())


def _calls() -> dict[str, Callable[[], object]]:
    """The calls whose walks are watched."""
    from scipy import sparse

    from linnaeus import Taxonomy, registry

    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2")])
    X = sparse.random_array((60, 30), density=0.3, rng=0, format="csr")
    y = [["A1"], ["A2"], ["B1", "A1"], ["B2"], ["B"], ["B2", "B1"]] * 10

    def fit_and_predict(model: str) -> Callable[[], object]:
        resolve = cache(lambda: registry.resolve(model))  # finding the class is not part of the walk
        return lambda: resolve()(taxonomy=tax).fit(X, y).predict(X)

    models = ("RRSVM", "HM3", "HBLR")
    return {f"{model}: fit, predict": fit_and_predict(model) for model in models} | {"linnaeus train": _train}


def walks() -> dict[str, list[str]]:
    """Every walk, each in a process of its own, so that kernels loaded by one do not count for the next."""
    command = [sys.executable, __file__, "--walk"]
    return {
        name: json.loads(subprocess.run([*command, name], check=True, capture_output=True, text=True).stdout)
        for name in _calls()
    }


def _train() -> None:
    from typer.testing import CliRunner

    from linnaeus.cli.main import app

    with tempfile.TemporaryDirectory() as folder:
        data, tax = Path(folder, "docs.csv"), Path(folder, "tax.csv")
        tax.write_text("parent,child\nA,A1\nA,A2\nB,B1\nB,B2\n")
        words = {"A1": "red round", "A2": "red square", "B1": "blue round", "B2": "blue square"}
        rows = [f"{words[label]} thing,{label}" for label in words for _ in range(10)]
        data.write_text("text,label\n" + "\n".join(rows) + "\n")
        arguments = ["train", "--taxonomy", str(tax), "--data", str(data), "--output", str(Path(folder, "model"))]
        result = CliRunner().invoke(app, arguments)
        if result.exit_code:
            raise SystemExit(result.output)


def main() -> None:
    """Print the table."""
    if "--walk" in sys.argv:
        print(json.dumps(walk(sys.argv[-1])))
        return
    table = rooms()
    print("| what | now |\n|---|---|")
    print(f"| Python files; lines | {sum(row[1] for row in table)}; {sum(row[2] for row in table):,} |")
    print(f"| `Any` in annotations | {any_annotations():,} |")
    twice = shared_class_names()
    print(f"| public class names that several files define | {len(twice)} |")
    found = walks()
    for name, files in found.items():
        print(f"| files of `{name}` | {len(files)} |")
    print("\n| room | files | lines | `Any` |\n|---|---|---|---|")
    for room, n_files, n_lines in table:
        print(f"| `{room}` | {n_files} | {n_lines:,} | {any_annotations(ROOT / room, deep=False)} |")
    if "--files" in sys.argv:
        for name, homes in {**twice, **found}.items():
            print(f"\n{name}:", *homes, sep="\n  ")


if __name__ == "__main__":
    main()
