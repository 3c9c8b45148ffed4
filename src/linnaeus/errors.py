"""Errors and warnings of users, each one sentence: what was given, what was expected, the nearest valid value."""

from __future__ import annotations

import difflib
import math
import numbers
import os
import re
import sys
import warnings
from collections.abc import Iterable

__all__ = [
    "CheckpointError",
    "DataError",
    "DataTypeError",
    "EngineError",
    "LinnaeusError",
    "ParameterError",
    "StoreError",
    "TaxonomyError",
    "UnknownLabelError",
    "check_choice",
    "check_flag",
    "check_number",
    "closest",
    "nearest",
    "place",
    "visible",
    "warn_user",
]


_LONGEST = 2000  # characters of a message
_PACKAGE = os.path.dirname(__file__) + os.sep


class LinnaeusError(ValueError):
    """Base class of the errors that linnaeus raises for invalid input; the command line prints them without traceback.

    A message that quotes a very long cell or name is shortened in the middle.

    Parameters
    ----------
    *arguments : object
        The message.

    Examples
    --------
    >>> len(str(LinnaeusError("'" + 5000 * "x" + "' is not a label.")))
    2000
    """

    def __init__(self, *arguments: object) -> None:
        if len(arguments) == 1 and isinstance(arguments[0], str) and len(arguments[0]) > _LONGEST:
            message = arguments[0]
            arguments = (f"{message[: _LONGEST - 505]} ... {message[-500:]}",)
        super().__init__(*arguments)


class TaxonomyError(LinnaeusError):
    """The taxonomy is invalid: a cycle, an unknown node, a duplicate.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> Taxonomy.from_edges([("A", "B"), ("B", "A")])
    Traceback (most recent call last):
    linnaeus.errors.TaxonomyError: The taxonomy has a cycle: A > B > A.
    """


class DataError(LinnaeusError):
    """Documents, labels or features cannot be used as they are.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> OneVsRestSVM().fit([[1.0], [2.0]], ["a"])
    Traceback (most recent call last):
    linnaeus.errors.DataError: y has labels of 1 documents, but X has 2 rows: inconsistent numbers of samples.
    """


class DataTypeError(DataError, TypeError):
    """Features are not numeric; also a `TypeError`, as scikit-learn's conventions require.

    Examples
    --------
    >>> issubclass(DataTypeError, TypeError)
    True
    """


class UnknownLabelError(DataError):
    """A label is not a node of the taxonomy.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> Taxonomy.flat(["Sports"]).indicator([["Sprots"]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linnaeus.errors.UnknownLabelError: ...
    """


class ParameterError(LinnaeusError):
    """A parameter has a value outside its range.

    Examples
    --------
    >>> from linnaeus.engine import n_workers
    >>> n_workers(0)
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: n_jobs=0 has no meaning; expected None, a positive number, or -1 for all cores.
    """


class StoreError(LinnaeusError):
    """A model folder is missing, damaged, or in an unsupported format.

    Examples
    --------
    >>> import linnaeus
    >>> linnaeus.load("missing")
    Traceback (most recent call last):
    linnaeus.errors.StoreError: missing is not a model: no such folder.
    """


class CheckpointError(StoreError):
    """A checkpoint is damaged, in use, or belongs to another fit.

    Examples
    --------
    >>> issubclass(CheckpointError, StoreError)
    True
    """


class EngineError(LinnaeusError):
    """Work cannot run on an engine: a package is missing, no cluster answers, workers were lost.

    Examples
    --------
    >>> issubclass(EngineError, LinnaeusError)
    True
    """


def nearest(word: str, candidates: Iterable[str]) -> str:
    """A hint such as ``; did you mean 'Sports'?`` for a message.

    Parameters
    ----------
    word : str
        What was given.
    candidates : iterable of str
        What is valid.

    Returns
    -------
    str
        The hint, or an empty string if no candidate resembles the word.

    Examples
    --------
    >>> nearest("Sprots", ["Sports", "Science"])
    "; did you mean 'Sports'?"
    >>> nearest("xyz", ["Sports"])
    ''
    """
    found = closest(word, candidates)
    return "" if found is None else f"; did you mean {found!r}?"


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is most similar to a word.

    Parameters
    ----------
    word : str
        What was given.
    candidates : iterable of str
        What is valid.

    Returns
    -------
    str or None
        The candidate, or None if none is similar.

    Examples
    --------
    >>> closest("sprots", ["Sports", "Science"])
    'Sports'
    """
    if len(word) > 200:  # typing errors are looked for in names, not in texts
        return None
    pool = [candidate for candidate in candidates if len(candidate) <= 200]
    if len(pool) > 50_000:  # difflib is slow: keep candidates with the same first letter and a similar length
        pool = [c for c in pool if c[:1].lower() == word[:1].lower() and abs(len(c) - len(word)) <= 3][:50_000]
    lowered = {c.lower(): c for c in reversed(pool)}
    found = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def lost_zeros(labels: Iterable[str], names: Iterable[str]) -> list[str]:
    """Labels that are probably codes whose leading zeros were removed, as a spreadsheet does; most often none.

    There are some if no label begins with 0 although codes of the taxonomy do, and shorter labels are such codes
    without their zeros.

    Parameters
    ----------
    labels : iterable of str
        The labels that occur.
    names : iterable of str
        The names of all nodes.

    Returns
    -------
    list of str
        The labels, sorted.

    Examples
    --------
    >>> lost_zeros(["5321", "211"], ["0", "02", "021", "0211", "5", "53", "532", "5321", "2", "21", "211"])
    ['211']
    """
    given = {label for label in labels if label.isdecimal()}
    zeros = {name for name in names if name.isdecimal() and name[0] == "0" and name.strip("0")}
    if not given or not zeros or any(label[0] == "0" for label in given) or len({len(label) for label in given}) == 1:
        return []
    longest = max(map(len, given))
    stripped = {name.lstrip("0") for name in zeros if len(name) == longest}
    return sorted(label for label in given if len(label) < longest and label in stripped)


def check_choice(name: str, value: object, choices: Iterable[str | None]) -> None:
    """Raise a `ParameterError` if a value is not one of the choices.

    Parameters
    ----------
    name : str
        The parameter, for the message.
    value : object
        What was given.
    choices : iterable of str or None
        What is allowed.

    Examples
    --------
    >>> check_choice("loss", "hinges", ("squared_hinge", "hinge"))
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: loss='hinges' is not one of 'squared_hinge', 'hinge'; did you mean 'hinge'?
    """
    choices = tuple(choices)
    if value not in choices:
        hint = nearest(str(value), [choice for choice in choices if choice is not None]) or "."
        raise ParameterError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}{hint}")


def check_flag(name: str, value: object) -> None:
    """Raise a `ParameterError` if a value is neither True nor False.

    Parameters
    ----------
    name : str
        The parameter, for the message.
    value : object
        What was given.

    Examples
    --------
    >>> check_flag("shuffle", "no")
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: shuffle='no'; expected True or False.
    """
    if value not in (True, False):
        raise ParameterError(f"{name}={value!r}; expected True or False.")


def check_number(
    name: str, value: object, *, above: float | None = None, least: float | None = None, whole: bool = False
) -> None:
    """Raise a `ParameterError` if a value is not a finite number within a bound.

    Parameters
    ----------
    name : str
        The parameter, for the message.
    value : object
        What was given.
    above : float, default=None
        The value must be larger than this.
    least : float, default=None
        The value must be at least this.
    whole : bool, default=False
        Whether the value must be a whole number.

    Examples
    --------
    >>> check_number("C", 1.0, above=0)
    >>> check_number("C", "x", above=0)
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: C='x'; expected a number above 0.
    """
    kind = numbers.Integral if whole else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
    if good and above is not None:
        good = value > above  # type: ignore[operator]
    if good and least is not None:
        good = value >= least  # type: ignore[operator]
    if not good:
        bound = f" above {above:g}" if above is not None else f" of at least {least:g}" if least is not None else ""
        raise ParameterError(f"{name}={value!r}; expected a {'whole ' if whole else ''}number{bound}.")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line of the caller outside of this package, however deep the reason was found.

    Parameters
    ----------
    message : str
        The text.
    category : type, default=UserWarning
        The kind of warning.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("2 labels have no document.")
    >>> print(caught[0].message)
    2 labels have no document.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def place(source: str | None, line: int | None = None) -> str:
    """A place in a file, for messages.

    Parameters
    ----------
    source : str or None
        Name of the file, if it is known.
    line : int, default=None
        Number of the line, from 1.

    Returns
    -------
    str
        For example ``docs.jsonl:17``, ``docs.jsonl``, ``line 17`` or ``the input``.

    Examples
    --------
    >>> place("docs.jsonl", 17), place(None)
    ('docs.jsonl:17', 'the input')
    """
    if source is None:
        return "the input" if line is None else f"line {line}"
    return source if line is None else f"{source}:{line}"


_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text that is safe to show: control characters, and those that change the direction of writing, are escaped.

    Parameters
    ----------
    text : str
        Text of any origin, such as a name in a file.

    Returns
    -------
    str
        The text for a terminal or a page.

    Examples
    --------
    >>> visible("red \\x1b[31m")
    'red \\\\x1b[31m'
    """
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
