"""JSON from files: whatever is wrong with it is an error that says where."""

from __future__ import annotations

import json
from typing import Any

from linnaeus.errors import DataError, place

__all__ = ["load_json"]


def load_json(text: str, name: str, line: int = 1) -> Any:
    """The value that ``text`` holds, which begins at ``line`` of the file ``name``.

    Examples
    --------
    >>> load_json('{"labels": ["A"]}', "docs.jsonl", 7)
    {'labels': ['A']}
    """
    try:
        return json.loads(text.rstrip())  # a line end is no line of its own
    except json.JSONDecodeError as error:
        where = place(name, line + error.lineno - 1)
        raise DataError(f"{where} is not JSON: {error.msg} at column {error.colno}.") from error
    except ValueError as error:  # a number of thousands of digits
        raise DataError(f"{place(name, line)} holds a number that cannot be read: {error}.") from error
    except RecursionError:
        raise DataError(
            f"{place(name, line)} is nested too deeply; a record with text and labels is expected."
        ) from None
