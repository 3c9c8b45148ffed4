"""Every snippet of the README and of the pages runs: Python blocks top to bottom, console lines in turn."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from linnaeus.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_run(page, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text("utf-8"))
    namespace: dict = {}
    for language, code in blocks:
        if language == "python":
            exec(compile(code, page.name, "exec"), namespace)
        else:
            for line in code.splitlines():
                if line.startswith("$ linnaeus "):
                    with pytest.raises(SystemExit) as stopped:
                        run(shlex.split(line)[2:])
                    assert stopped.value.code == 0, line


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} -> {target}"
