"""Doubts about the parameters that trained models share, once per fit."""

from __future__ import annotations

from typing import Any

from linnaeus.errors import ParameterError, check_number, nearest

__all__ = ["check_choice", "check_training"]


def check_training(model: Any) -> None:
    """Refuse wrong values of C, tol, max_iter, verbose, fit_intercept and random_state.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> good = {"C": 1.0, "tol": 1e-3, "max_iter": 10, "verbose": 0, "fit_intercept": True, "random_state": None}
    >>> check_training(SimpleNamespace(**good))
    >>> check_training(SimpleNamespace(**{**good, "C": -1}))
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: C=-1; expected a number above 0.
    """
    from sklearn.utils import check_random_state

    check_number("C", model.C, above=0)
    check_number("tol", model.tol, above=0)
    check_number("max_iter", model.max_iter, least=1, whole=True)
    check_number("verbose", model.verbose, least=0)
    if model.fit_intercept not in (True, False):
        raise ParameterError(f"fit_intercept={model.fit_intercept!r}; expected True or False.")
    try:
        check_random_state(model.random_state)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices.

    Examples
    --------
    >>> check_choice("loss", "hinges", ("squared_hinge", "hinge"))
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: loss='hinges'; expected one of ('squared_hinge', 'hinge'); did you mean 'hinge'?
    """
    if value not in choices:
        raise ParameterError(f"{name}={value!r}; expected one of {choices}{nearest(str(value), choices)}")
