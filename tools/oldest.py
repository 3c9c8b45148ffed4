"""Print the lower bounds of the dependencies as constraints (``numpy==1.26.*``), for a test with exactly these."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def constraints(text: str) -> list[str]:
    """``name==version.*`` for every dependency with a lower bound."""
    project = tomllib.loads(text)["project"]
    found = (re.fullmatch(r"([\w-]+)>=([\w.]+)", one) for one in project["dependencies"])
    return [f"{match[1]}=={match[2]}.*" for match in found if match]


if __name__ == "__main__":
    page = Path(__file__).resolve().parent.parent / "pyproject.toml"
    sys.stdout.write("".join(f"{line}\n" for line in constraints(page.read_text("utf-8"))))
