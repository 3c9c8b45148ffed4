"""The report of a shoot-out: JSON for programs, one HTML page and Markdown for people."""

from __future__ import annotations

import json
import os
from pathlib import Path

from linnaeus.experiments.records import Result
from linnaeus.experiments.report.markdown import markdown
from linnaeus.experiments.report.page import html
from linnaeus.files import replace_file

__all__ = ["html", "markdown", "write_report"]


def write_report(result: Result, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``shootout.json``, ``report.html`` and ``report.md``.

    The page holds everything it needs: it opens from disk and loads nothing from the network.

    Parameters
    ----------
    result : Result
        A finished shoot-out.
    folder : str or path-like
        Created if it does not exist.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report(Result(), folder)]
    ['shootout.json', 'report.html', 'report.md']
    """
    plain = result.to_json()
    result = Result.from_json(plain)  # validated, and without figures that are not finite
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    texts = {
        "shootout.json": json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "report.html": html(result),
        "report.md": markdown(result),
    }
    for name, text in texts.items():
        replace_file(home / name, text.encode())
    return [home / name for name in texts]
