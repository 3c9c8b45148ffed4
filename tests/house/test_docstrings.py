"""Public docstrings are valid numpydoc: types and defaults where editors and a generated reference look for them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest

# Every check of numpydoc's validator except: GL01-GL03 (where quotes and blank lines stand: ruff formats them), ES01
# (many things need one sentence only), SS05 (a noun phrase describes a class or a value better than a verb), PR06
# (spelling of types), SA01-SA04 (no "See Also" sections); RT01, YD01 and EX01 are checked for all names at once.
CHECKS = {"GL05", "GL06", "GL07", "GL08", "GL09", "GL10", "SS01", "SS03", "SS04", "SS06"}
CHECKS |= {"PR01", "PR02", "PR03", "PR04", "PR05", "PR07", "PR08", "PR09", "PR10", "RT02", "RT03", "RT04", "RT05"}
# A method may leave its parameters to the class or to scikit-learn's conventions; what it documents is valid.
OF_METHODS = CHECKS - {"PR01", "GL08", "SS01", "SS06"}


def _reference() -> Any:
    """The module that lists what the API reference of the site shows."""
    place = Path(__file__).resolve().parents[2] / "docs" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = _reference()


def test_every_name_of_the_api_reference_has_a_complete_docstring_with_an_example() -> None:
    errors: list[str] = []
    for _, name, thing in REFERENCE.public_names():
        if inspect.isclass(thing) or inspect.isroutine(thing):
            is_error = inspect.isclass(thing) and issubclass(thing, Exception)
            complete = {"EX01", "RT01", "YD01"} | (set() if is_error else {"PR01"})
            errors += _errors(f"{thing.__module__}.{thing.__qualname__}", complete)
        else:
            assert name.isupper(), f"{name} is a value that is not a constant"
    assert not errors, "\n".join(errors)


def _errors(path: str, checks: set[str]) -> list[str]:
    from numpydoc.validate import validate

    return [f"{path}: {code} {text}" for code, text in validate(path)["errors"] if code in checks]


@pytest.mark.parametrize("package", REFERENCE.PACKAGES)
def test_public_docstrings_are_valid_numpydoc(package: str) -> None:
    errors: list[str] = []
    for listed_in, _, thing in REFERENCE.public_names():
        if listed_in != package or not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        path = f"{thing.__module__}.{thing.__qualname__}"
        # The message that an exception takes is documented by the base class of all errors.
        is_error = inspect.isclass(thing) and issubclass(thing, Exception)
        errors += _errors(path, CHECKS - {"PR01"} if is_error else CHECKS)
        if inspect.isclass(thing):
            for name, member in vars(thing).items():
                if not name.startswith("_") and inspect.isfunction(member) and member.__doc__:
                    errors += _errors(f"{path}.{name}", OF_METHODS)
    assert not errors, "\n".join(errors)
