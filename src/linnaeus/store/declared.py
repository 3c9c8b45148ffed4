"""Values against their declarations: a line says what a name stands for, and arrays are compared with it.

A line declares one value: ``name kind``. A name that ends in "?" may be absent; ``or null`` allows None.

    float[features, labels] sparse    finite numbers of this shape; "sparse" also allows a CSR array
    int[labels] below nodes unique    whole numbers from 0 (or "from -1") to below a size
    int, float, bool, str             a single value
    Calibrator                        an object of this class, which has a table of its own
    diagnostic                        a value that answers do not depend on

Sizes have names. A name that is not known yet is fixed by the first array that has it, so that shapes are compared with
each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.errors import StoreError
from linnaeus.typing import is_sparse

__all__ = ["LARGE", "Declared", "Sizes", "check_array", "check_plain", "check_table", "described", "lines", "within"]

LARGE = 2**30  # bytes of an array above which its values are checked only when that is asked for
MOST = {"float16": 65504.0, "float32": 1e18, "float64": 1e100}  # products and sums of larger numbers are not finite

Sizes = dict[str, int]


@dataclass(frozen=True)
class Declared:
    """One line of a table."""

    name: str
    optional: bool
    kind: str
    shape: tuple[str, ...] | None
    sparse: bool
    least: int
    below: str | None
    unique: bool
    null: bool

    @classmethod
    def of(cls, line: str) -> Declared:
        """Parse a line.

        Examples
        --------
        >>> found = Declared.of("parents_? int[edges] from -1 below places or null")
        >>> found.name, found.shape, found.least, found.below, found.optional and found.null
        ('parents_', ('edges',), -1, 'places', True)
        """
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"not a declaration: {line!r}")
        name, optional, kind, shape, sparse, least, below, unique, null = match.groups()
        sizes = None if shape is None else tuple(size.strip() for size in shape.split(","))
        return cls(name, bool(optional), kind, sizes, bool(sparse), int(least or 0), below, bool(unique), bool(null))


_LINE = re.compile(
    r"(\w+)(\?)? (\w+)(?:\[([^\]]*)\])?( sparse)?(?: from (-?\d+))?(?: below ([\w+]+))?( unique)?( or null)?"
)


def lines(table: str) -> list[Declared]:
    """The declarations of a table, one on each line."""
    return [Declared.of(line) for line in table.strip().splitlines()]


def check_table(
    table: list[Declared],
    found: Mapping[str, Any],
    sizes: Sizes,
    owner: str,
    *,
    deep: bool = False,
    check_object: Callable[[str, Any, str], None] | None = None,
) -> None:
    """Refuse values that a table does not describe; ``check_object(kind, value, where)`` knows the kinds of objects."""
    for line in table:
        where = f"{owner}.{line.name}"
        if line.name not in found:
            if not line.optional:
                raise StoreError(f"{where} is missing")
            continue
        value = found[line.name]
        if (value is None and line.null) or line.kind == "diagnostic":
            continue
        if line.shape is not None:
            check_array(line, value, sizes, where, deep)
        elif line.kind in _PLAIN:
            check_plain(line, value, where)
        elif check_object is not None:
            check_object(line.kind, value, where)
    for line in table:  # ranges may be named after sizes that came later
        value = found.get(line.name)
        if line.below is not None and value is not None:
            _check_range(line, value, sizes, f"{owner}.{line.name}")


_PLAIN: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def check_plain(line: Declared, value: Any, where: str) -> None:
    good = isinstance(value, _PLAIN[line.kind]) and isinstance(value, bool) == (line.kind == "bool")
    if good and line.kind in ("int", "float"):
        good = bool(np.isfinite(float(value))) and (line.kind == "float" or 0 <= value < 2**63)
    if not good:
        raise StoreError(f"{where} is {described(value)}; expected {line.kind}")


def check_array(line: Declared, value: Any, sizes: Sizes, where: str, deep: bool) -> None:
    shape = line.shape or ()
    in_rows = is_sparse(value)
    if not (isinstance(value, np.ndarray) or (in_rows and line.sparse)):
        raise StoreError(f"{where} is {described(value)}; expected an array of {line.kind}")
    if line.kind == "str":
        good = value.dtype == object and all(isinstance(text, str) for text in value.ravel())
    else:
        good = value.dtype.kind in {"float": "f", "int": "iu", "number": "iuf"}[line.kind]
        good = good and value.dtype != np.float16
    if not good:
        raise StoreError(f"{where} is an array of {value.dtype}; expected {line.kind}")
    fits = len(value.shape) == len(shape)
    for name, size in zip(shape, value.shape, strict=False):
        fits = fits and sizes.setdefault(name, size) == size if not name.isdecimal() else fits and int(name) == size
    if not fits:
        wanted = ", ".join(name if name.isdecimal() else f"{name} ({sizes.get(name, '?')})" for name in shape)
        raise StoreError(f"{where} has the shape {tuple(value.shape)}; expected [{wanted}]")
    if value.dtype.kind == "f":
        _check_finite(value.data if in_rows else value, where, deep)


def _check_finite(values: Any, where: str, deep: bool) -> None:
    """Refuse NaN, infinity, and numbers whose products would be infinite; NaN makes both extremes NaN."""
    if not values.size or (values.nbytes > LARGE and not deep):
        return
    low, high = float(values.min()), float(values.max())
    most = MOST[values.dtype.name]
    if not (-most <= low and high <= most):
        bad = high if not high <= most else low
        raise StoreError(f"{where} holds {bad:g}; expected finite numbers of at most {most:g}")


def _check_range(line: Declared, values: Any, sizes: Sizes, where: str) -> None:
    name, plus, more = (line.below or "").partition("+")
    limit = sizes[name] + (int(more) if plus else 0)
    if values.size and not (int(values.min()) >= line.least and int(values.max()) < limit):
        raise StoreError(f"{where} holds numbers outside {line.least} .. {limit - 1} ({line.below})")
    if line.unique and len(np.unique(values)) != values.size:
        raise StoreError(f"{where} holds a number twice")


def within(values: Any, least: int, limit: int) -> bool:
    return not values.size or (int(values.min()) >= least and int(values.max()) < limit)


def described(value: Any) -> str:
    """A value in a message: its type, and itself where it is short."""
    shown = repr(value)
    return f"a {type(value).__name__}" if len(shown) > 40 else f"{shown} ({type(value).__name__})"
