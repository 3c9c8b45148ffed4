"""A result written three times into one folder: JSON for programs, HTML and Markdown for people."""

from __future__ import annotations

import json
import os
from pathlib import Path

from linnaeus.experiments.report.markdown import markdown
from linnaeus.experiments.report.page import html
from linnaeus.experiments.report.schema import Result, check_result
from linnaeus.files import replace_file

__all__ = ["write_report"]


def write_report(result: Result, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``shootout.json``, ``report.html`` and ``report.md`` into ``folder``; the paths written.

    The page holds everything it needs: it opens from the disk, travels by mail and loads nothing from the network.

    Examples
    --------
    >>> import tempfile
    >>> from linnaeus.experiments.report.schema import EMPTY
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report(EMPTY, folder)]
    ['shootout.json', 'report.html', 'report.md']
    """
    result = check_result(result, "the result")
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    texts = {
        "shootout.json": json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "report.html": html(result),
        "report.md": markdown(result),
    }
    for name, text in texts.items():
        replace_file(home / name, text.encode())
    return [home / name for name in texts]
