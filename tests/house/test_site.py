"""Claims about the pages and the packaging that no other test reads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)]
NUMBERS = {13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen", 18: "eighteen"}


def test_every_column_of_a_table_has_a_name() -> None:
    unnamed = []
    for page in PAGES:
        lines = page.read_text("utf-8").splitlines()
        for i, rule in enumerate(lines[1:], 1):
            if re.fullmatch(r"\|[\s:|-]*-[\s:|-]*\|", rule) and lines[i - 1].startswith("|"):
                cells = re.split(r"(?<!\\)\|", lines[i - 1].strip()[1:-1])
                unnamed += [f"{page.relative_to(ROOT)}:{i}" for cell in cells if not cell.strip()]
    assert not unnamed, "screen readers cannot name the cells below: " + ", ".join(unnamed)


def test_the_conda_recipe_has_the_dependencies_of_the_project() -> None:
    yaml = pytest.importorskip("yaml")
    text = re.sub(r"\{%.*?%\}", "", (ROOT / "packaging" / "conda" / "meta.yaml").read_text("utf-8"))
    recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", text))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [f"python{project['requires-python']}", *project["dependencies"]]
    assert sorted(entry.replace(" ", "") for entry in recipe["requirements"]["run"]) == sorted(wanted)


def test_the_number_of_taxonomy_formats_is_true() -> None:
    from linnaeus.taxonomy.formats import FORMATS

    for page in (ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "paper.md"):
        (said,) = re.findall(r"\bfrom \[?(\w+)\s+formats", page.read_text("utf-8"))
        assert said == NUMBERS[len(FORMATS)], page.name


def test_the_number_of_models_is_true() -> None:
    from linnaeus.registry import ALL_MODELS

    for page in (ROOT / "docs" / "index.md", ROOT / "paper.md"):
        (said,) = re.findall(r"(twenty-\w+) models", page.read_text("utf-8").lower())
        assert said == {21: "twenty-one", 22: "twenty-two", 23: "twenty-three"}[len(ALL_MODELS)], page.name
