"""The report of a shoot-out: what ``shootout.json`` holds, as one HTML page and as Markdown."""

from __future__ import annotations

from linnaeus.experiments.report.markdown import markdown
from linnaeus.experiments.report.page import html
from linnaeus.experiments.report.schema import Result, read_result
from linnaeus.experiments.report.write import write_report

__all__ = ["Result", "html", "markdown", "read_result", "write_report"]
