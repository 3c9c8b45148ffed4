"""Pages that are made from the sources: the reference of Python names, models and commands, and the changelog.

`write` puts them into a folder that is not kept; `conf.py` calls it before every build.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Packages whose `__all__` is the public interface, and what they are for.
PACKAGES = {
    "linnaeus": "models, taxonomies, pipelines, saving and loading",
    "linnaeus.taxonomy": "taxonomies: reading, walking, searching",
    "linnaeus.data": "documents and labels: reading, splitting, the built-in corpus",
    "linnaeus.features": "documents to matrices",
    "linnaeus.decoding": "scores to label sets",
    "linnaeus.metrics": "how good answers, rankings and probabilities are",
    "linnaeus.plots": "pictures",
    "linnaeus.export": "a model as one file that needs only NumPy",
    "linnaeus.mlflow": "models for MLflow",
    "linnaeus.deprecation": "how public names and parameters are deprecated",
    "linnaeus.tuning": "cut-offs and probabilities from held-out documents",
    "linnaeus.auto": "the choice of a model",
    "linnaeus.experiments.experiment": "shoot-outs: models under the same conditions",
    "linnaeus.experiments.report": "the report of a shoot-out",
    "linnaeus.store": "model folders",
    "linnaeus.engine": "where blocks of work run",
    "linnaeus.progress": "progress bars",
    "linnaeus.errors": "errors and warnings",
}

_SKLEARN = "https://scikit-learn.org/stable/"
_NUMPY = "https://numpy.org/doc/stable/"
_OTHERS = {
    "sklearn": (_SKLEARN, ["sklearn.base.BaseEstimator", "sklearn.base.ClassifierMixin", "sklearn.pipeline.Pipeline"]),
    "numpy": (_NUMPY, ["numpy.ndarray", "numpy.random.Generator", "numpy.dtype"]),
    "scipy": ("https://docs.scipy.org/doc/scipy/", ["scipy.sparse.csr_array", "scipy.sparse.csr_matrix"]),
    "matplotlib": ("https://matplotlib.org/stable/", ["matplotlib.axes.Axes", "matplotlib.figure.Figure"]),
    "pandas": ("https://pandas.pydata.org/docs/", ["pandas.DataFrame"]),
    "python": ("https://docs.python.org/3/", ["pathlib.Path", "collections.Counter"]),
}
ALIASES = {
    "ndarray": "numpy.ndarray",
    "Generator": "numpy.random.Generator",
    "csr_array": "scipy.sparse.csr_array",
    "BaseEstimator": "sklearn.base.BaseEstimator",
    "estimator": "sklearn.base.BaseEstimator",
    "Axes": "matplotlib.axes.Axes",
    "Figure": "matplotlib.figure.Figure",
    "DataFrame": "pandas.DataFrame",
    "Path": "pathlib.Path",
    "Taxonomy": "linnaeus.Taxonomy",
    "Pipeline": "linnaeus.Pipeline",
    "Dataset": "linnaeus.data.Dataset",
    "Decoder": "linnaeus.decoding.Decoder",
}
_PLACES = {
    "sklearn": "modules/generated/{name}.html",
    "numpy": "reference/generated/{name}.html",
    "scipy": "reference/generated/{name}.html",
    "matplotlib": "api/_as_gen/{name}.html",
    "pandas": "reference/api/{name}.html",
    "python": "library/{module}.html#{name}",
}
_PLACE_OF = {
    "numpy.random.Generator": "reference/random/generator.html",
    "matplotlib.axes.Axes": "api/axes_api.html",
    "matplotlib.figure.Figure": "api/figure_api.html",
}
# Labels and terms that numpydoc and docstrings of scikit-learn refer to.
_TARGETS = {
    "python": [
        "bltin-boolean-values std:label -1 library/stdtypes.html#boolean-type-bool bool",
        "sequence std:term -1 glossary.html#term-sequence -",
        "iterable std:term -1 glossary.html#term-iterable -",
        "mapping std:term -1 glossary.html#term-mapping -",
        "bool py:class 1 library/functions.html#$ -",
        "int py:class 1 library/functions.html#$ -",
        "float py:class 1 library/functions.html#$ -",
        "str py:class 1 library/stdtypes.html#$ -",
        "list py:class 1 library/stdtypes.html#$ -",
        "dict py:class 1 library/stdtypes.html#$ -",
        "tuple py:class 1 library/stdtypes.html#$ -",
    ],
    "numpy": ["array_like std:term -1 glossary.html#term-array_like -"],
    "sklearn": [
        "metadata_routing std:label -1 metadata_routing.html Metadata routing",
        "df_output_transform std:label -1 modules/compose.html#df-output-transform set_output",
        "sphx_glr_auto_examples_miscellaneous_plot_set_output.py std:label -1 "
        "auto_examples/miscellaneous/plot_set_output.html Introducing the set_output API",
        "meta-estimator std:term -1 glossary.html#term-meta-estimator -",
    ],
}


def write_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the few names of other packages that pages link to, in the format of Sphinx, and return the mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (address, names) in _OTHERS.items():
        lines = []
        for name in names:
            place = _PLACE_OF.get(name) or _PLACES[project].format(name=name, module=name.rpartition(".")[0])
            lines.append(f"{name} py:class 1 {place} -\n")
        lines += [f"{line}\n" for line in _TARGETS.get(project, ())]
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n# zlib compressed\n"
        path = folder / f"{project}.inv"
        path.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
        mapping[project] = (address, str(path))
    return mapping


def write(folder: Path) -> None:
    """Write all pages; those that did not change keep their time, so that Sphinx does not read them again."""
    pages = dict(_api_pages())
    pages |= dict(_model_pages())
    pages["commands.md"] = _commands()
    pages["changelog.md"] = _changelog()
    for old in sorted(folder.rglob("*")):
        name = old.relative_to(folder).as_posix()
        if old.suffix in (".md", ".rst") and not name.startswith("gallery/") and name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    _model_pictures(folder / "models")


def plain_docstring(app: object, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Escape what is not markup in docstrings of linnaeus: names that end in an underscore, norms, products."""
    example = False
    for i, line in enumerate(lines):
        text = line.strip()
        example = text.startswith(">>>") or (example and text != "")
        if example or text.startswith((".. ", ":")):
            continue
        head = re.match(r"\s*[\w*, ]+ : ", line)  # numpydoc escapes names of parameters itself
        start = head.end() if head else 0
        parts = re.split(r"(``.+?``|`[^`]+`)", line[start:])
        lines[i] = line[:start] + "".join(
            part if k % 2 else re.sub(r"(?<=\w)_(?!\w)|[|*](?!$)", r"\\\g<0>", part) for k, part in enumerate(parts)
        )


def public_names() -> Iterator[tuple[str, str, Any]]:
    """Package, name and value of everything public, each once: where it is listed first."""
    seen: set[int] = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if name.startswith("__") or inspect.ismodule(value) or id(value) in seen:
                continue
            if inspect.isclass(value) or inspect.isroutine(value):
                seen.add(id(value))
            yield package, name, value


def _summary(value: Any) -> str:
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"A value of the type {type(value).__name__}."
    return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|").replace("``", "`")


def _auto(package: str, name: str, value: Any) -> str:
    if inspect.isclass(value):
        options = (
            "   :members:\n   :inherited-members: BaseEstimator, ClassifierMixin, Exception, dict, list, tuple, float\n"
        )
        if issubclass(value, Exception):
            options = ""
        return f".. autoclass:: {package}.{name}\n{options}"
    if inspect.isroutine(value):
        return f".. autofunction:: {package}.{name}\n"
    return f".. autodata:: {package}.{name}\n   :no-value:\n"


def _hidden_toctree(pages: Iterable[str]) -> str:
    """The place of pages below a page: what leads to them, and which are next to each other."""
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def _api_pages() -> Iterator[tuple[str, str]]:
    from linnaeus.registry import ALL_MODELS

    rows: dict[str, list[str]] = {package: [] for package in PACKAGES}
    pages = []
    for package, name, value in public_names():
        if package == "linnaeus" and name in ALL_MODELS:
            rows[package].append(f"| [`{name}`](../models/{name}.md) | {_summary(value)} |")
            continue
        page = f"{package}.{name}"
        rows[package].append(f"| [`{name}`]({page}.rst) | {_summary(value)} |")
        pages.append(page)
        title = f"{name}\n{'=' * len(name)}\n\n"
        yield f"api/{page}.rst", f"{title}.. currentmodule:: {package}\n\n{_auto(package, name, value)}"
    text = ["# API reference\n\nEvery public name: what the `__all__` of these packages lists. ", _POLICY, "\n"]
    for package, about in PACKAGES.items():
        text.append(f"\n## {package}\n\n{about[0].upper()}{about[1:]}.\n\n| name | what it is |\n|---|---|\n")
        text += [f"{row}\n" for row in rows[package]]
    text.append(_hidden_toctree(pages))
    yield "api/index.md", "".join(text)


_POLICY = "Everything else may change without notice; what is promised is in [stability](/stability.md).\n"


def _model_pages() -> Iterator[tuple[str, str]]:
    from linnaeus.registry import ALL_MODELS

    when = _rows_of_readme()
    sections = _sections_of_models()
    costs = _costs()
    listing = []
    for name, entry in ALL_MODELS.items():
        what, use = when[name]
        module = importlib.import_module(entry.home)
        text = [f"# {name}\n\n{what[0].upper()}{what[1:]}.\n\n**When**: {use}.\n"]
        if entry.aliases:
            text.append(f"\nAlso called {', '.join(entry.aliases)}.\n")
        if name in sections:
            title, anchor = sections[name]
            text.append(f"\nThe page about all models explains it in [{title}](/models.md#{anchor}).")
        text.append(" Measured strengths, speed and size are in [Which model?](/which-model.md).\n")
        if name != "LexicalModel":
            text.append(
                f"\n![The plane divided by {name}]({name}.svg)\n\n"
                "*Answers of the model with its defaults for documents with two features. Dots are training documents; "
                "each colour is a leaf, and related colours are leaves below one node. Grey: another answer.*\n"
            )
        text.append(_cost(costs.get(name, [])))
        problem = inspect.getdoc(module) or ""
        text.append(f"\n## Problem and method\n\nAs the source file states it:\n\n```text\n{problem}\n```\n")
        text.append(f"\n## Reference\n\n```{{eval-rst}}\n{_auto('linnaeus', name, getattr(module, name))}```\n")
        yield f"models/{name}.md", "".join(text)
        listing.append(f"| [{name}]({name}.md) | {what} | {use} |\n")
    head = "# Models, one by one\n\nThe order is from flat to joint; what they share is in [models](/models.md).\n\n"
    table = "| model | what it is | when |\n|---|---|---|\n" + "".join(listing)
    yield "models/index.md", head + table + _hidden_toctree(ALL_MODELS)


def _rows_of_readme() -> dict[str, tuple[str, str]]:
    """What a model is and when it is used, from the table of models in the README."""
    found = {}
    for line in (ROOT / "README.md").read_text("utf-8").splitlines():
        if line.startswith("| `"):
            name, _, what, when = (cell.strip() for cell in line.strip().strip("|").split("|"))
            when = re.sub(r"\[([^]]*)\]\(docs/([^)]*)\)", r"[\1](/\2)", when)
            found[name.strip("`")] = (what, when)
    return found


_MOST_COSTS = 4


def _costs() -> dict[str, list[str]]:
    """Rows of time and size of each model in the stored shoot-outs, those with most documents first."""
    found: dict[str, list[tuple[int, str]]] = {}
    for file in sorted((ROOT / "docs" / "results" / "shootout").glob("*.json")):
        result = json.loads(file.read_text("utf-8"))
        n_documents, n_nodes = (result["problem"][key] for key in ("n_train", "n_nodes"))
        for run in result["runs"]:
            if run["status"] == "done" and run["seconds"].get("fit") is not None:
                row = f"| [{file.stem}](/results/shootout/{file.stem}.md) | {n_documents:,} | {n_nodes:,} "
                row += (
                    f"| {run['seconds']['fit']:.1f} s | {run['model_mb']:.1f} MB | {run['peak_memory_mb']:,.0f} MB |\n"
                )
                found.setdefault(run["model"], []).append((-n_documents, row))
    return {name: [row for _, row in sorted(rows)[:_MOST_COSTS]] for name, rows in found.items()}


def _cost(rows: list[str]) -> str:
    if not rows:
        return "\n## Cost\n\nNot among the models of the stored [shoot-outs](/results/shootout.md).\n"
    head = "| data | documents | nodes | training | model on disk | memory at the peak |\n|---|---|---|---|---|---|\n"
    about = (
        "One training with the chosen parameters, one process, as measured in the [shoot-outs](/results/shootout.md):"
    )
    return f"\n## Cost\n\n{about}\n\n{head}{''.join(rows)}"


def _sections_of_models() -> dict[str, tuple[str, str]]:
    """The section of docs/models.md about each model: its title and its anchor."""
    found: dict[str, tuple[str, str]] = {}
    for title in re.findall(r"^##+ (.*)$", (ROOT / "docs" / "models.md").read_text("utf-8"), re.MULTILINE):
        for name in re.findall(r"`(\w+)`", title):
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            found.setdefault(name, (title.replace("`", ""), anchor))
    return found


def _model_pictures(folder: Path) -> None:
    """Draw how each model divides a plane with six leaves below three nodes."""
    from linnaeus.registry import MODELS

    wanted = [name for name in MODELS if not (folder / f"{name}.svg").exists()]
    if not wanted:
        return
    import warnings

    import numpy as np
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    from linnaeus import Taxonomy
    from linnaeus.registry import resolve

    tax = Taxonomy.from_edges([("Root", n) for n in "ABC"] + [(n, f"{n}{i}") for n in "ABC" for i in (1, 2)])
    leaves = [f"{n}{i}" for n in "ABC" for i in (1, 2)]
    rng = np.random.default_rng(0)
    angles = np.deg2rad([75, 105, 195, 225, 315, 345])
    centres = 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    X = np.concatenate([centre + 0.35 * rng.normal(size=(20, 2)) for centre in centres])
    y = np.repeat(leaves, 20)
    axis = np.linspace(-3, 3, 121)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    colours = ["#8c2d04", "#fd8d3c", "#08519c", "#6baed6", "#006d2c", "#74c476", "#999999"]
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = resolve(name)(tax)
            if "random_state" in model.get_params():
                model.set_params(random_state=0)
            answers = model.fit(X, y).predict(grid)
        number = {leaf: i for i, leaf in enumerate(leaves)}
        Z = np.array([number.get(answer if isinstance(answer, str) else "", 6) for answer in answers])
        figure = Figure(figsize=(4.2, 4.0), layout="constrained")
        axes = figure.add_subplot()
        axes.imshow(
            Z.reshape(121, 121), origin="lower", extent=(-3, 3, -3, 3), cmap=ListedColormap(colours), vmin=0, vmax=6,
            alpha=0.45, interpolation="nearest",
        )  # fmt: skip
        axes.scatter(*X.T, c=[colours[number[leaf]] for leaf in y], s=14, edgecolors="white", linewidths=0.4)
        for centre, leaf in zip(centres, leaves, strict=True):
            axes.annotate(leaf, centre * 1.32, ha="center", va="center", fontsize=10)
        axes.set_xlabel("feature 1")
        axes.set_ylabel("feature 2")
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def _commands() -> str:
    """The reference of the command line: every command with its arguments and options."""
    import typer

    from linnaeus.cli.main import make_app

    text = [
        "# Command reference\n\nMade from `--help`. What options have in common, and what goes in and comes out, is in "
    ]
    text.append("[the command line](/command-line.md).\n")
    for path, command in _walk("linnaeus", typer.main.get_command(make_app())):
        text.append(f"\n## {path}\n\n{_plain(command.help)}\n")
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and p.name not in _EVERYWHERE]
        usage = " ".join([path, *(f"[{a.name.upper()}]" if not a.required else a.name.upper() for a in arguments)])
        text.append(f"\n```text\n{usage}{' [OPTIONS]' if options else ''}\n```\n")
        if arguments or options:
            text.append("\n| option | default | meaning |\n|---|---|---|\n")
        for p in (*arguments, *options):
            names = p.name.upper() if p in arguments else ", ".join((*p.opts, *p.secondary_opts))
            shown = "" if p.default in (None, False, ()) or callable(p.default) or p.required else f"`{p.default}`"
            text.append(f"| `{names}` | {shown} | {_cell(getattr(p, 'help', None))} |\n")
    return "".join(text)


_EVERYWHERE = {"help", "install_completion", "show_completion"}


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    else:
        for name, below in inner.items():
            if not below.hidden:
                yield from _walk(f"{path} {name}", below)


def _plain(text: str | None) -> str:
    return re.sub(r"(?<!`)(--[\w-]+)", r"`\1`", inspect.cleandoc(text or "").replace("<", "&lt;"))


def _cell(text: str | None) -> str:
    words = " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    return re.sub(r"(?<![`\w-])(--[a-zA-Z][\w-]*)", r"`\1`", words)


def _changelog() -> str:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    text = re.sub(r"\]\(docs/([^)]*)\)", r"](/\1)", text)
    return re.sub(r"\]\((?![/#]|https?:)([^)]*)\)", rf"]({_repository()}/blob/main/\1)", text)


def _repository() -> str:
    import tomllib

    return str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"])
