"""Methods that only some models have, which say why where they are missing.

scikit-learn asks with ``hasattr`` what an estimator can do, and its ``available_if`` answers with an AttributeError
that only names the method. `available_unless` answers ``hasattr`` in the same way; its AttributeError has the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

__all__ = ["available_unless"]

Method = TypeVar("Method", bound=Callable[..., Any])


class _Available:
    """A method that an object has where ``reason(object)`` is None."""

    def __init__(self, method: Callable[..., Any], reason: Callable[[Any], str | None]) -> None:
        self.method, self.reason = method, reason
        self.__doc__ = method.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        missing = self.reason(instance)
        if missing is not None:
            raise AttributeError(missing, name=self.method.__name__, obj=instance)
        return MethodType(self.method, instance)


def available_unless(reason: Callable[[Any], str | None]) -> Callable[[Method], Method]:
    """Make a method available only to objects for which no reason is given against it.

    Parameters
    ----------
    reason : callable
        ``reason(object)`` is the message of the AttributeError, or None where the object has the method.

    Returns
    -------
    callable
        The decorator of the method.

    Examples
    --------
    >>> class Box:
    ...     content = None
    ...     @available_unless(lambda self: "The box is empty; fill it first." if self.content is None else None)
    ...     def open(self):
    ...         return self.content
    >>> hasattr(Box(), "open")
    False
    >>> Box().open()
    Traceback (most recent call last):
    AttributeError: The box is empty; fill it first.
    """

    def decorate(method: Method) -> Method:
        return cast(Method, _Available(method, reason))

    return decorate
