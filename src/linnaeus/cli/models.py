"""`linnaeus models`: list the models, the parameters of one, or the properties of a saved model."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from linnaeus.cli.common import JsonOption, Verify, load_model, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["models"]


def models(
    name: Annotated[
        str | None, typer.Argument(help="Name of a model to show its parameters, or folder of a saved model.")
    ] = None,
    verify: Verify = None,
    as_json: JsonOption = False,
) -> None:
    """List the models, the parameters of one, or the properties of a saved model.

    linnaeus models RRSVM

    linnaeus models model/
    """
    from linnaeus.registry import ALL_MODELS, COMPOSED

    if name is not None and Path(name).is_dir():
        from linnaeus.answering.card import saved_model

        _show(f"{name}:", saved_model(name, load_model(name, verify)), as_json)
    elif name is not None:
        _parameters(name, as_json)
    elif as_json:
        listed = {**ALL_MODELS, **COMPOSED}
        print_json([{"name": key, "also": list(e.aliases), "summary": e.summary} for key, e in listed.items()])
    else:
        rows = [(key, ", ".join(e.aliases), e.summary) for key, e in {**ALL_MODELS, **COMPOSED}.items()]
        print_table(["model", "also", "what it is"], rows)


# Commands and classes of what is made of models.
_USAGE = {
    "auto": (
        "linnaeus train --taxonomy T --data FILE --output model --measure macro_f1 --budget 10m",
        "linnaeus.AutoClassifier(taxonomy, measure='macro_f1', budget='10m')",
    ),
    "Mixture": (
        "linnaeus train --model Mixture --sources RRSVM,OneVsRestLogistic --set RRSVM__C=2 --taxonomy T --data FILE "
        "--output model",
        "linnaeus train --suggestions annif=suggested.tsv --taxonomy T --data FILE --output model",
        "linnaeus.Mixture([('svm', RRSVM()), ('logistic', OneVsRestLogistic())], taxonomy)",
    ),
}
_AUTO_OPTIONS = {"random_state": "--seed", "n_jobs": "--jobs"}  # where they have another name than the parameter


def _parameters(name: str, as_json: bool) -> None:
    from linnaeus import registry

    named = {alias.lower(): key for key, e in registry.COMPOSED.items() for alias in (key, *e.aliases)}
    name = named.get(name.lower()) or registry.find_model(name)
    entry = {**registry.ALL_MODELS, **registry.COMPOSED}[name]
    kind = _class_of(name)
    defaults = {key: p.default for key, p in inspect.signature(kind).parameters.items() if key != "taxonomy"}
    described = documented_parameters(kind)
    usage = _USAGE.get(name, ())
    if as_json:
        about = {key: described.get(key, "") for key in defaults}
        how = {"usage": usage} if usage else {}
        print_json({"name": name, "summary": entry.summary, **how, "parameters": defaults, "descriptions": about})
        return
    print(f"{name}: {entry.summary}")
    for line in usage:
        print(f"  {line}")
    rows = [(_spelt(name, key), repr(value), described.get(key, "")) for key, value in defaults.items()]
    title = "option" if name == "auto" else "parameter (--set NAME=VALUE)"
    print_table([title, "default", "what it does"], rows)


def _class_of(name: str) -> type:
    from linnaeus import registry

    if name != "auto":
        return cast(type, registry.resolve(name))
    from linnaeus.auto import AutoClassifier

    return AutoClassifier


def _spelt(name: str, parameter: str) -> str:
    """A parameter as it is given on the command line."""
    if name == "auto":
        return _AUTO_OPTIONS.get(parameter, f"--{parameter}")
    return "--sources" if (name, parameter) == ("Mixture", "sources") else parameter


def documented_parameters(kind: type) -> dict[str, str]:
    """Descriptions of parameters from the docstrings of a class and its base classes."""
    found: dict[str, str] = {}
    for one in kind.__mro__:
        for names, text in _entries(inspect.cleandoc(one.__dict__.get("__doc__") or "")):
            for name in names:
                found.setdefault(name, text)
    return found


def _entries(doc: str) -> list[tuple[list[str], str]]:
    """(names, description) of the section "Parameters"; a first line that is a type is left out of the description."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", doc, re.MULTILINE | re.DOTALL)
    if section is None:
        return []
    entries: list[tuple[list[str], list[str]]] = []
    for line in section[1].splitlines():
        start = re.match(r"(\*{0,2}\w+(?:, \w+)*) : (.*)", line)
        if start is not None:
            entries.append((re.split(r", ", start[1]), [start[2]]))
        elif entries and line.strip():
            entries[-1][1].append(line.strip())
    return [(names, " ".join(lines[1:] if "default=" in lines[0] and lines[1:] else lines)) for names, lines in entries]


def _show(title: str, about: Mapping[str, object], as_json: bool) -> None:
    if as_json:
        print_json({key.replace(" ", "_"): value for key, value in about.items()})
    else:
        print_table([title, ""], [(key, value) for key, value in about.items() if value is not None])
