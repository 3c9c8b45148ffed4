"""Every snippet of the README and of the pages runs: Python blocks top to bottom, console lines in turn.

A page that links to data files, such as examples/librarian/subjects.ttl, is read by somebody who has saved them in the
current folder; so has this test. Recipes begin in the folder that the index of recipes makes.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from linnaeus.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT / "docs" / "howto"
MADE = ROOT / "docs" / "reference"  # pages that `make docs` writes
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if MADE not in page.parents)]
PROSE = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def run_page(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in LINK.findall(text):
        path = page.parent / target
        if "://" not in target and path.suffix in (".ttl", ".jsonl", ".tsv", ".json") and path.is_file():
            shutil.copy(path, ".")
    namespace: dict = {}
    for language, code in BLOCK.findall(text):
        if language == "python":
            exec(compile(code, page.name, "exec"), namespace)
        else:
            for line in code.splitlines():
                if line.startswith("$ linnaeus "):
                    with pytest.raises(SystemExit) as stopped:
                        run(shlex.split(line)[2:])
                    assert stopped.value.code == 0, line


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory) -> Path:
    """The folder that recipes begin in."""
    folder = tmp_path_factory.mktemp("recipes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_page(RECIPES / "index.md")
    return folder


SLOW = ("engines.md",)  # its clusters are those of tests/engine


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] * (p.name in SLOW)) for p in PAGES if p.parent != RECIPES],
    ids=lambda p: p.name,
)
def test_the_snippets_run(page, tmp_path, monkeypatch) -> None:
    if BLOCK.search(page.read_text("utf-8")):
        monkeypatch.chdir(tmp_path)
        run_page(page)


@pytest.mark.parametrize("page", sorted(RECIPES.glob("*.md")), ids=lambda p: p.stem)
def test_the_recipes_run(page, kitchen, tmp_path, monkeypatch) -> None:
    shutil.copytree(kitchen, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    if page.stem != "index":
        run_page(page)


def test_there_are_recipes_and_the_index_lists_them_all() -> None:
    named = set(re.findall(r"\((\S+)\.md\)", (RECIPES / "index.md").read_text("utf-8")))
    assert named == {page.stem for page in RECIPES.glob("*.md")} - {"index"}
    assert len(named) >= 25


def anchors_of(page: Path) -> set[str]:
    """Anchors of the headings of a page, as code hosts and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PROSE, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in LINK.findall(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        target, _, anchor = link.partition("#")
        path = page if not target else page.parent / target
        assert path.exists(), f"{page.name} -> {link}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors_of(path), f"{page.name} -> {link}: no such heading"
