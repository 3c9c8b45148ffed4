"""What checks report: kinds of problems with a severity, a count and a few examples.

Models do not work with an *error*, a *warning* is probably a mistake, an *info* is worth knowing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["EXAMPLES", "SEVERITIES", "Finding", "finding"]

EXAMPLES = 5
_LONGEST = 200  # characters of an example
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """One kind of problem: its severity, its description, how often it occurs, and a few examples.

    Parameters
    ----------
    severity : {"error", "warning", "info"}
        How serious it is.
    code : str
        Short name of the kind of problem.
    message : str
        What was found.
    count : int
        How often it occurs.
    examples : list of str
        The first ones.
    """

    severity: str
    code: str
    message: str
    count: int
    examples: list[str]


def finding(severity: str, code: str, message: str, count: int, examples: Sequence[str]) -> list[Finding]:
    """A list with one finding, or an empty one if the count is 0.

    Examples
    --------
    >>> finding("info", "orphan", "nodes without relatives", 0, [])
    []
    """
    shown = [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for text in examples[:EXAMPLES]]
    return [Finding(severity, code, message, count, shown)] if count else []
