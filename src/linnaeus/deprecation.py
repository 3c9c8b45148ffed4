"""Deprecation: warnings that all say what goes, since when, when it is removed, and what to use instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["deprecated", "deprecated_parameter", "deprecation_message"]

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(*, since: str, removed_in: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function or method as deprecated.

    Parameters
    ----------
    since, removed_in : str
        The version that deprecates it, and the one that removes it.
    instead : str
        What to use.

    Returns
    -------
    callable
        A decorator; the function warns with `FutureWarning` at the line of its caller, and works as before.

    Examples
    --------
    >>> @deprecated(since="0.2", removed_in="0.4", instead="lookup")
    ... def find_id(name):
    ...     return name
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(find_id("A"))
    A
    >>> str(caught[0].message)
    'find_id is deprecated since 0.2 and will be removed in 0.4; use lookup.'
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        message = deprecation_message(function.__name__, since, removed_in, instead)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            warnings.warn(message, FutureWarning, stacklevel=2)
            return function(*args, **kwargs)

        call.__doc__ = f"{message}\n\n{function.__doc__ or ''}".rstrip()
        return call

    return mark


def deprecated_parameter(
    name: str, *, since: str, removed_in: str, instead: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a keyword parameter as deprecated: the function warns if it is given.

    Parameters
    ----------
    name : str
        The parameter.
    since, removed_in, instead : str
        As for `deprecated`.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> @deprecated_parameter("cost", since="0.2", removed_in="0.4", instead="C")
    ... def fit(C=1.0, cost=None):
    ...     return C
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(fit(cost=2.0))
    1.0
    >>> str(caught[0].message)
    'The parameter cost of fit is deprecated since 0.2 and will be removed in 0.4; use C.'
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        message = deprecation_message(f"The parameter {name} of {function.__name__}", since, removed_in, instead)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if name in kwargs:
                warnings.warn(message, FutureWarning, stacklevel=2)
            return function(*args, **kwargs)

        return call

    return mark


def deprecation_message(what: str, since: str, removed_in: str, instead: str | None = None) -> str:
    """What every warning about a deprecation says.

    Parameters
    ----------
    what : str
        What is deprecated.
    since, removed_in : str
        The version that deprecates it, and the one that removes it.
    instead : str, default=None
        What to use; None if it has no effect anyway.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> deprecation_message("The parameter engine", "0.1", "0.3")
    'The parameter engine is deprecated since 0.1 and will be removed in 0.3.'
    """
    use = "" if instead is None else f"; use {instead}"
    return f"{what} is deprecated since {since} and will be removed in {removed_in}{use}."
