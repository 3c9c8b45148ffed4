"""Tables and trees for notebooks (``_repr_html_``), and tables as data frames where pandas is installed."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linnaeus.errors import LinnaeusError, visible

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableRows", "data_frame", "escaped", "html_table"]

_MOST_ROWS = 60


def escaped(value: object) -> str:
    """A value as text of a page; numbers with four digits.

    Examples
    --------
    >>> escaped("<b>"), escaped(0.123456), escaped(None)
    ('&lt;b&gt;', '0.1235', '')
    """
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return html.escape(visible(text))


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a page; everything in it is escaped, and long tables are cut with a note.

    Examples
    --------
    >>> html_table(["a"], [["<"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;</td></tr></tbody></table>'
    """
    lines = list(rows)
    head = "".join(f"<th>{escaped(name)}</th>" for name in header)
    shown = lines[:_MOST_ROWS]
    body = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in shown)
    note = f"<p>{len(lines) - _MOST_ROWS:,} more rows</p>" if len(lines) > _MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def data_frame(records: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Records as a data frame of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise LinnaeusError("Data frames need pandas: pip install pandas") from None
    return pd.DataFrame(list(records), columns=None if columns is None else list(columns))


class TableRows(list[dict[str, Any]]):
    """Rows of a table: a list of dictionaries that notebooks show as a table.

    Examples
    --------
    >>> rows = TableRows([{"measure": "f1", "value": 0.5}])
    >>> rows[0]["value"], "<th>measure</th>" in rows._repr_html_()
    (0.5, True)
    """

    def to_frame(self) -> pd.DataFrame:
        """The rows as a data frame of pandas."""
        return data_frame(self)

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for row in self for name in row))
        return html_table(names, [[row.get(name) for name in names] for row in self])
