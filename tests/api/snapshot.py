"""The public interface as plain values: names, parameters with their defaults, methods, commands with their options.

``python tests/api/snapshot.py`` writes it to public.json after a change that was meant.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FILE = HERE / "public.json"


def public_names() -> Iterator[tuple[str, str, Any]]:
    """As the reference on the site lists them."""
    path = HERE.parents[1] / "docs" / "reference.py"
    spec = importlib.util.spec_from_file_location("linnaeus_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from module.public_names()


def parameters_of(function: Any) -> list[str]:
    """Parameters as they are called: names, kinds and whether there is a default."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = []
    for p in signature.parameters.values():
        if p.name in ("self", "cls"):
            continue
        default = "" if p.default is p.empty else "=" + (repr(p.default) if _plain(p.default) else "...")
        keyword = "keyword " if p.kind is p.KEYWORD_ONLY else ""
        found.append(f"{keyword}{marks.get(p.kind, '')}{p.name}{default}")
    return found


def _plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, tuple))


def interface() -> dict[str, list[str]]:
    """Public things by their full names, with their parameters."""
    found: dict[str, list[str]] = {}
    for package, name, value in public_names():
        full = f"{package}.{name}"
        if inspect.isclass(value):
            found[full] = [] if issubclass(value, Exception) else parameters_of(value)
            for method, member in inspect.getmembers(value):
                home = getattr(member, "__module__", None) or ""
                if not method.startswith("_") and inspect.isfunction(member) and home.startswith("linnaeus."):
                    found[f"{full}.{method}()"] = parameters_of(member)
        else:
            found[full] = parameters_of(value) if inspect.isroutine(value) else []
    return {**found, **_commands()}


def _commands() -> dict[str, list[str]]:
    import typer

    from linnaeus.cli.main import make_app

    found: dict[str, list[str]] = {}

    def walk(path: str, command: Any) -> None:
        for name, below in getattr(command, "commands", {}).items():
            walk(f"{path} {name}", below)
        if not hasattr(command, "commands"):
            found[f"$ {path}"] = sorted(
                "/".join((*p.opts, *p.secondary_opts)) if p.param_type_name == "option" else p.name.upper()
                for p in command.params
            )

    walk("linnaeus", typer.main.get_command(make_app()))
    return found


def changes(before: dict[str, list[str]], now: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """What was added, and what callers of the old interface can no longer do."""
    added = [name for name in now if name not in before]
    broken = [f"{name} is gone" for name in before if name not in now]
    for name, old in before.items():
        new = now.get(name)
        if new is None or new == old:
            continue
        known = {p.split("=")[0] for p in new}
        broken += [f"{name}: {p.split('=')[0]} is gone" for p in old if p.split("=")[0] not in known]
        earlier = {p.split("=")[0] for p in old}
        for p in new:
            if p.split("=")[0] not in earlier:
                optional = name.startswith("$") or "=" in p or "*" in p
                (added if optional else broken).append(f"{name}: {p}" + ("" if optional else " is required"))
        defaults = {p.split("=")[0]: p for p in old}
        broken += [
            f"{name}: {defaults[p.split('=')[0]]} became {p}" for p in new if defaults.get(p.split("=")[0], p) != p
        ]
        kept = [p.split("=")[0] for p in old if not p.startswith(("keyword ", "*"))]
        places = [p.split("=")[0] for p in new if not p.startswith(("keyword ", "*"))]
        if not name.startswith("$") and all(p in places for p in kept) and places[: len(kept)] != kept:
            broken.append(f"{name}: the order of positional parameters changed")
    return added, broken


def write() -> None:
    FILE.write_text(json.dumps(interface(), indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    old = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    added, broken = changes(old, interface())
    sys.stdout.write("".join(f"+ {line}\n" for line in added) + "".join(f"! {line}\n" for line in broken))
    write()
