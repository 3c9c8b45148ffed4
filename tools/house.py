"""Measure the code base: files, lines, `Any`, class names that stand for two things, repeated code, and walks.

    PYTHONPATH=src python tools/house.py [--files]

Files and lines are counted three times: all of them, those of rooms that existed when the rooms were planned again, and
those of capabilities added since. Lines of code are those without docstrings, comments and blank lines.

A walk is the number of source files of linnaeus in which some function runs while a call is made (by a profiler), and
of compiled kernels that it loads. Files that only define what others import do not count. ``--files`` lists them.

Code is repeated where two functions share at least four statements in a row that are equal up to names and constants.
Signatures, constructors, fields and docstrings do not count: scikit-learn, dataclasses and readers need them written
out.
"""

from __future__ import annotations

import ast
import copy
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent / "src" / "linnaeus"

# Rooms, and files in older rooms, that hold capabilities which were added after the rooms were planned again. Files
# and lines are counted for them and for the others separately: the house was to become smaller, not to stand still.
ADDED = (
    *("answering/", "auto/", "lexical/", "migration/", "pages/", "plots/", "revisions/", "serve/"),
    *("deprecation.py", "display.py", "export.py", "mixture.py", "mlflow.py", "workbooks.py", "yaml_text.py"),
    *("cli/annif.py", "cli/audit.py", "cli/card.py", "cli/check.py", "cli/desk.py", "cli/diff.py", "cli/migrate.py"),
    *("cli/mixing.py", "cli/serve.py", "cli/users.py", "data/annif.py", "data/system_corpora.py"),
    *("features/analysis.py", "features/block_weight.py", "features/embedding.py", "features/hashed.py"),
    *("features/kernel_map.py", "features/stop_words.py", "features/text_encoder.py", "features/vectorise.py"),
    *("features/word_vectors.py", "metrics/agreement.py", "models/label_priors.py", "models/mixed_scores.py"),
    *("models/recursive/coupled.py", "models/recursive/unseen.py", "models/solvers/mixing.py"),
    *("taxonomy/findings.py", "taxonomy/repair.py", "taxonomy/search.py", "taxonomy/texts.py"),
    "taxonomy/vocabulary_checks.py",
)


def sources() -> list[Path]:
    """Python files of the package."""
    return sorted(ROOT.rglob("*.py"))


def rooms() -> list[tuple[str, int, int]]:
    """(folder, files, lines) of every folder of the package."""
    found: dict[str, list[int]] = defaultdict(list)
    for path in sources():
        found[path.parent.relative_to(ROOT).as_posix()].append(len(path.read_text().splitlines()))
    return [(room, len(lines), sum(lines)) for room, lines in sorted(found.items())]


def was_added(path: Path) -> bool:
    """Whether a file holds a capability that was added later."""
    return path.relative_to(ROOT).as_posix().startswith(ADDED)


def code_lines(text: str) -> int:
    """Number of lines with code: without docstrings, comments and blank lines."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for t in tokens if t.type not in layout for line in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def repeated(n_statements: int = 4) -> list[str]:
    """Pairs of functions that share a run of statements, "file:line function ~ file:line function"."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef) or node.name == "__init__":
                continue
            shapes = [shape for statement in _statements(node.body) if (shape := _shape(statement)) is not None]
            name = f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}"
            for start in range(len(shapes) - n_statements + 1):
                places[tuple(shapes[start : start + n_statements])].append(name)
    pairs = (itertools.combinations(dict.fromkeys(names), 2) for names in places.values())
    return sorted({f"{one} ~ {two}" for one, two in itertools.chain.from_iterable(pairs)})


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order in which they are written, those of blocks after their head."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _shape(statement: ast.stmt) -> str | None:
    """A statement, or the head of a block, without its names and constants; None where it is a declaration."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Pass):
        return None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return None
    head = copy.deepcopy(statement)
    for part in {"body", "orelse", "finalbody", "handlers"} & set(head._fields):
        setattr(head, part, [])
    for node in ast.walk(head):
        if isinstance(node, ast.Name):
            node.id = "_"
        elif isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
    return ast.dump(head)


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
    no_search = ("--model", "OneVsRestSVM", "--C", "1", "--decoder", "own")
    trained = {"linnaeus train": _train, "linnaeus train, without a search": lambda: _train(*no_search)}
    return {f"{model}: fit, predict": fit_and_predict(model) for model in models} | trained


def walks() -> dict[str, list[str]]:
    """Every walk, each in a process of its own, so that kernels loaded by one do not count for the next."""
    command = [sys.executable, __file__, "--walk"]
    return {
        name: json.loads(subprocess.run([*command, name], check=True, capture_output=True, text=True).stdout)
        for name in _calls()
    }


def _train(*options: str) -> None:
    from typer.testing import CliRunner

    from linnaeus.cli.main import make_app

    with tempfile.TemporaryDirectory() as folder:
        data, tax = Path(folder, "docs.csv"), Path(folder, "tax.csv")
        tax.write_text("parent,child\nA,A1\nA,A2\nB,B1\nB,B2\n")
        words = {"A1": "red round", "A2": "red square", "B1": "blue round", "B2": "blue square"}
        rows = [f"{words[label]} thing,{label}" for label in words for _ in range(10)]
        data.write_text("text,label\n" + "\n".join(rows) + "\n")
        arguments = ["train", "--taxonomy", str(tax), "--data", str(data), "--output", str(Path(folder, "model"))]
        result = CliRunner().invoke(make_app("train"), [*arguments, *options])
        if result.exit_code:
            raise SystemExit(result.output)


def main() -> None:
    """Print the table."""
    if "--walk" in sys.argv:
        print(json.dumps(walk(sys.argv[-1])))
        return
    table = rooms()
    print("| what | now |\n|---|---|")
    parts = {"": sources()}
    parts[", of what there was"] = [path for path in parts[""] if not was_added(path)]
    parts[", of capabilities added since"] = [path for path in parts[""] if was_added(path)]
    for part, paths in parts.items():
        texts = [path.read_text() for path in paths]
        n_lines, n_code = sum(len(text.splitlines()) for text in texts), sum(map(code_lines, texts))
        print(f"| Python files; lines; lines of code{part} | {len(paths)}; {n_lines:,}; {n_code:,} |")
    again = repeated()
    print(f"| pairs of functions that share four statements in a row | {len(again)} |")
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
        for name, homes in {**twice, "repeated": again, **found}.items():
            print(f"\n{name}:", *homes, sep="\n  ")


if __name__ == "__main__":
    main()
