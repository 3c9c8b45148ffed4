"""Starting without what is not used: packages that scikit-learn imports for functions that models do not call.

`scipy.stats` takes a third of the time of all imports of the service, and pandas, where it is installed, another tenth.
scikit-learn imports both and uses them inside functions. While it is imported they are represented by modules that are
loaded when something of theirs is used; everything else finds them as always.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

__all__ = ["import_quickly"]

_LATER = ("scipy.stats", "pandas")


class _Later(ModuleType):
    """A module that is imported when it is used."""

    def __getattr__(self, name: str) -> object:
        own = self.__name__
        if sys.modules.get(own) is self:
            del sys.modules[own]
        return getattr(importlib.import_module(own), name)


def import_quickly() -> None:
    """Import scikit-learn; does nothing where it is imported already."""
    if "sklearn" in sys.modules:
        return
    for name in _LATER:
        found = importlib.util.find_spec(name) if name not in sys.modules else None
        if found is not None:
            sys.modules[name] = _Later(name)
            sys.modules[name].__spec__ = found
    try:
        importlib.import_module("sklearn.utils.fixes")
    finally:
        for name in _LATER:
            if isinstance(sys.modules.get(name), _Later):
                del sys.modules[name]  # the next import loads it
