"""`linnaeus annif`: projects of Annif become folders that `linnaeus train` takes."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli.common import JsonOption, note, print_json, print_table
from linnaeus.errors import DataError, ParameterError, check_choice, nearest

if TYPE_CHECKING:
    from pathlib import Path

    from linnaeus.data.annif import AnnifProject, CorpusDocument
    from linnaeus.taxonomy import Taxonomy

__all__ = ["app"]

app = typer.Typer(name="annif", help="Projects of Annif.", no_args_is_help=True)

_LEXICAL = ("mllm", "stwfsa", "yake")  # backends that match labels of the vocabulary in texts
_CARRIED = ("name", "language", "backend", "vocab", "analyzer", "access", "min_df", "ngram")


@app.callback()
def _group() -> None:
    pass


@app.command("import")
def import_projects(
    projects: Annotated[str, typer.Argument(help="projects.cfg, projects.toml, or a folder of such files.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Folder to write to.")],
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", "-c", help="PROJECT=PATH, or PATH for all projects: a file, or a folder of texts."),
    ] = None,
    vocab: Annotated[
        list[str] | None, typer.Option("--vocab", help="ID=FILE, where Annif has not loaded the vocabulary.")
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option("--data-dir", help="The data folder of Annif (default: data, next to the projects).")
    ] = None,
    unknown: Annotated[
        str, typer.Option("--unknown", help="Subjects that are not in the vocabulary: error, or drop as Annif does.")
    ] = "error",
    as_json: JsonOption = False,
) -> None:
    """Write the vocabularies and corpora of Annif's projects as files, and print how to train each project.

    linnaeus annif import projects.cfg --corpus yso-en=train.tsv --output yso/
    """
    from pathlib import Path

    from linnaeus.data.annif import read_projects, read_vocabulary

    check_choice("--unknown", unknown, ("error", "drop"))
    found = read_projects(projects)
    target, beside = Path(output), Path(projects).resolve().parent
    vocabularies = _named(vocab, "--vocab", [project.vocab for project in found])
    corpora = _corpora(corpus, [project.id for project in found])
    loaded = Path(data_dir) if data_dir is not None else beside / "data"
    taxonomies: dict[tuple[str, str], Taxonomy] = {}
    report: list[dict[str, object]] = []
    for project in found:
        key = (project.vocab, project.vocab_language)
        if key not in taxonomies:
            file = vocabularies.get(project.vocab) or _loaded(loaded, project)
            taxonomies[key] = read_vocabulary(file, project.vocab_language)
        report.append(_written(project, taxonomies[key], corpora.get(project.id), target, unknown))
    if as_json:
        print_json(report)
    else:
        _tell(report, target)


def _written(
    project: AnnifProject, taxonomy: Taxonomy, corpus: list[Path] | None, target: Path, unknown: str
) -> dict[str, object]:
    """Write the vocabulary and the documents of a project; returns its entry in the report."""
    from linnaeus import files
    from linnaeus.data.annif import read_corpus

    written = target / "vocabularies" / f"{project.vocab}.ttl"
    written.parent.mkdir(parents=True, exist_ok=True)
    taxonomy.write(written)
    entry: dict[str, object] = {
        "project": project.id,
        "backend": project.settings["backend"],
        "vocabulary": str(written),
        "subjects": taxonomy.n_nodes,
        "documents": None,
        "data": None,
    }
    if corpus is not None:
        parts = [read_corpus(path, taxonomy, unknown=unknown) for path in corpus]
        documents = [document for some, _ in parts for document in some]
        data = target / "documents" / f"{project.id}.jsonl"
        data.parent.mkdir(parents=True, exist_ok=True)
        files.replace_file(data, _lines(documents))
        entry |= {"documents": len(documents), "data": str(data)}
        entry["left_out"] = {what: sum(left[what] for _, left in parts) for what in ("subjects", "documents")}
    entry["not_carried_over"] = _not_carried(project)
    entry["command"] = _command(project, written, entry["data"], target / "models" / project.id)
    return entry


def _tell(report: list[dict[str, object]], target: Path) -> None:
    """Print what was written, what was left out, and how to train each project."""
    print_table(
        ["project", "backend", "subjects", "documents"],
        [(one["project"], one["backend"], one["subjects"], one["documents"]) for one in report],
    )
    for one in report:
        left = one.get("left_out")
        if isinstance(left, dict) and any(left.values()):
            note(
                f"note: {one['project']}: {left['subjects']:,} subjects that are not in the vocabulary and "
                f"{left['documents']:,} documents without a subject were left out"
            )
        if one["not_carried_over"]:
            note(f"note: {one['project']}: settings without a counterpart: {', '.join(map(str, _of(one)))}")
        print(one["command"] or f"# {one['project']}: give its documents with --corpus {one['project']}=PATH")
    note(f"`linnaeus serve {shlex.quote(str(target / 'models'))}` then answers at Annif's addresses of these projects")


def _of(entry: dict[str, object]) -> list[object]:
    found = entry["not_carried_over"]
    return found if isinstance(found, list) else []


def _named(given: list[str] | None, option: str, known: list[str]) -> dict[str, Path]:
    """Paths by id, of NAME=PATH."""
    from pathlib import Path

    result = {}
    for one in given or []:
        name, separator, path = one.partition("=")
        if not separator or name not in known:
            raise ParameterError(
                f"{option} {one}: expected ID=PATH with one of {', '.join(dict.fromkeys(known))}{nearest(name, known)}"
            )
        result[name] = Path(path)
    return result


def _corpora(given: list[str] | None, projects: list[str]) -> dict[str, list[Path]]:
    """The corpora of each project; one that names no project belongs to all."""
    from pathlib import Path

    result: dict[str, list[Path]] = {}
    for one in given or []:
        name, separator, path = one.partition("=")
        if separator and name not in projects and not Path(one).exists():
            raise ParameterError(f"--corpus {one}: there is no project {name!r}{nearest(name, projects)}")
        for project in [name] if separator and name in projects else projects:
            result.setdefault(project, []).append(Path(path if separator and name in projects else one))
    for corpus in (corpus for some in result.values() for corpus in some):
        if not corpus.exists():
            raise ParameterError(f"--corpus: {corpus} does not exist; expected a file, or a folder of .txt files.")
    return result


def _loaded(data: Path, project: AnnifProject) -> Path:
    """The vocabulary that Annif has loaded."""
    folder = data / "vocabs" / project.vocab
    for name in ("subjects.ttl", "subjects.csv"):
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"{project.where}: the vocabulary {project.vocab!r} is not in {folder}; give its file as "
        f"--vocab {project.vocab}=FILE, or the data folder of Annif as --data-dir."
    )


def _lines(documents: list[CorpusDocument]) -> bytes:
    import json

    rows = []
    for document in documents:
        row: dict[str, object] = {} if document.id is None else {"id": document.id}
        row |= {"text": document.text, "labels": document.labels}
        row |= {f"metadata_{name}" if name in row else name: value for name, value in document.metadata.items()}
        rows.append(json.dumps(row, ensure_ascii=False))
    return ("\n".join(rows) + "\n").encode("utf-8", "replace")


def _command(project: AnnifProject, vocabulary: Path, data: object, model: Path) -> str | None:
    """How to train a model in place of the project; None without documents, unless the backend needs none."""
    lexical = project.settings["backend"] in _LEXICAL
    if data is None and not lexical:
        return None
    parts = ["linnaeus", "train", "--taxonomy", str(vocabulary), "--output", str(model)]
    parts += [] if data is None else ["--data", str(data), "--text", "text", "--labels", "labels"]
    if project.vocab_language:
        parts += ["--language", project.vocab_language]
    if lexical:
        return shlex.join([*parts, "--model", "LexicalModel"])
    analyser = _analyser(project)
    parts += ["--analyser", analyser] if analyser else []
    for setting, option in (("min_df", "--min-df"), ("ngram", "--ngrams")):
        if project.settings.get(setting, "").isdigit():
            value = project.settings[setting]
            parts += [option, f"1-{value}" if setting == "ngram" and int(value) > 1 else value]
    return shlex.join(parts)


def _analyser(project: AnnifProject) -> str | None:
    """The option --analyser for an analyzer of Annif, None where there is no counterpart, or words."""
    from linnaeus.features.analysis import SNOWBALL

    found = re.fullmatch(r"(snowball|simplemma)\((\w+).*\)", project.settings.get("analyzer", "").strip())
    if found is None:
        return None
    if found[1] == "simplemma":
        return f"lemmas:{found[2]}"
    code = next((code for code, name in SNOWBALL.items() if found[2] in (code, name)), None)
    return None if code is None else f"stems:{code}"


def _not_carried(project: AnnifProject) -> list[str]:
    """Settings that have no counterpart in the command."""
    settings = project.settings
    others = [f"{name}={value}" for name, value in settings.items() if name not in _CARRIED]
    analyzer = settings.get("analyzer", "simple").strip()
    if _analyser(project) is None and not analyzer.startswith("simple"):
        others.append(f"analyzer={analyzer}")
    if "=" in settings["vocab"]:
        others.append(f"vocab={settings['vocab']}")
    return others
