"""Projects of Annif: their configuration, vocabularies and corpora, read as Annif reads them.

``projects.cfg`` (or ``projects.toml``, or a folder of both) names for every project a backend, an analyzer and a
vocabulary; the vocabularies that Annif has loaded are in ``data/vocabs/ID/subjects.ttl``. Corpora are TSV files
(``text <tab> <uri> <uri>``), CSV files (columns ``text`` and ``subject_uris``), JSON lines, and folders of ``.txt``
files with subjects in ``.tsv`` (``<uri> <tab> label``) or ``.key`` (labels) files of the same name.
"""

from __future__ import annotations

import configparser
import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from linnaeus import files
from linnaeus.errors import DataError, UnknownLabelError, nearest, place
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import Texts

__all__ = ["AnnifProject", "CorpusDocument", "read_corpus", "read_projects", "read_vocabulary"]

_VOCAB = re.compile(r"([A-Za-z0-9_-]+)\s*(?:\((.*)\))?")


@dataclass(frozen=True)
class AnnifProject:
    """A project: its id, settings, vocabulary, and where it is configured."""

    id: str
    settings: Mapping[str, str]
    vocab: str
    vocab_language: str
    where: str

    @property
    def language(self) -> str:
        """The language of the documents."""
        return self.settings["language"]


@dataclass(frozen=True)
class CorpusDocument:
    """A document of a corpus with the URIs of its subjects."""

    text: str
    labels: list[str]
    id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


# -- projects ----------------------------------------------------------------------------------------------------------


def read_projects(path: str | Path) -> list[AnnifProject]:
    """Read the projects of a configuration.

    Parameters
    ----------
    path : str or Path
        ``projects.cfg``, ``projects.toml``, or a folder of files with these endings.

    Returns
    -------
    list of AnnifProject
        The projects in the order of the files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "projects.cfg")
    >>> _ = path.write_text("[yso-en]\\nlanguage=en\\nbackend=tfidf\\nvocab=yso\\n")
    >>> [(project.id, project.vocab) for project in read_projects(path)]
    [('yso-en', 'yso')]
    """
    path = Path(path)
    parts = sorted([*path.glob("*.cfg"), *path.glob("*.toml")]) if path.is_dir() else [path]
    if not parts:
        raise DataError(f"{path} holds no .cfg or .toml files; expected projects.cfg, or a folder of such files.")
    found: dict[str, AnnifProject] = {}
    for part in parts:
        text = files.decode(_content(part), str(part), None, DataError)
        sections = _toml(text, str(part)) if part.suffix == ".toml" else _cfg(text, str(part))
        for id_, settings in sections.items():
            where = place(str(part), _line_of(text, id_))
            if id_ in found:
                raise DataError(f"{where}: the project {id_!r} is already in {found[id_].where}.")
            found[id_] = _project(id_, settings, where)
    if not found:
        raise DataError(f"{path} has no projects; expected sections such as [yso-en].")
    return list(found.values())


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


def _cfg(text: str, name: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case, as in Annif
    try:
        parser.read_string(text, name)
    except (configparser.DuplicateSectionError, configparser.DuplicateOptionError) as error:
        what = getattr(error, "option", None) or f"[{error.section}]"
        raise DataError(f"{place(name, error.lineno)}: {what} is given twice.") from None
    except configparser.MissingSectionHeaderError as error:
        raise DataError(f"{place(name, error.lineno)}: a setting before the first [PROJECT].") from None
    except configparser.ParsingError as error:
        line, content = error.errors[0]
        raise DataError(f"{place(name, line)}: {content} is not a setting; expected NAME=VALUE.") from None
    return {id_: dict(parser.items(id_)) for id_ in parser.sections()}


def _toml(text: str, name: str) -> dict[str, dict[str, str]]:
    import tomllib

    try:
        sections = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise DataError(f"{place(name, int(line[1]) if line else None)}: not TOML: {error}.") from None
    wrong = next((id_ for id_, settings in sections.items() if not isinstance(settings, dict)), None)
    if wrong is not None:
        raise DataError(f"{place(name, _line_of(text, wrong))}: {wrong} is not in a table; expected [PROJECT].")
    return {id_: {key: str(value) for key, value in settings.items()} for id_, settings in sections.items()}


def _line_of(text: str, section: str) -> int | None:
    """The line on which a section, or a name, begins."""
    wanted = {f"[{section}]", f'["{section}"]', f"['{section}']"}
    lines = (n for n, line in enumerate(text.splitlines(), start=1) if line.strip() in wanted or _key(line) == section)
    return next(lines, None)


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _project(id_: str, settings: Mapping[str, str], where: str) -> AnnifProject:
    for name in ("language", "backend", "vocab"):
        if not settings.get(name):
            raise DataError(f"{where}: the project {id_!r} has no {name!r}.")
    vocab = _VOCAB.fullmatch(settings["vocab"].strip())
    if vocab is None:
        raise DataError(f"{where}: vocab={settings['vocab']} is not a vocabulary; expected ID or ID(LANGUAGE).")
    inside = [one.strip() for one in (vocab[2] or "").split(",") if one.strip()]
    languages = [one for one in inside if "=" not in one]
    return AnnifProject(id_, dict(settings), vocab[1], (languages or [settings["language"]])[0], where)


# -- vocabularies ------------------------------------------------------------------------------------------------------


def read_vocabulary(path: str | Path, language: str) -> Taxonomy:
    """Read a vocabulary: SKOS, or a table without a hierarchy.

    Parameters
    ----------
    path : str or Path
        SKOS in any format; a CSV file with the columns ``uri``, ``label_LANGUAGE`` and ``notation``; or a TSV file with
        URI, label and notation.
    language : str
        Language of the labels that are shown, and of those of a TSV file.

    Returns
    -------
    Taxonomy
        The nodes are named by URI.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        rows = list(_subjects(path, language, ending == ".csv"))
        taxonomy = Taxonomy.flat([uri for uri, _ in rows])
        entries = [(taxonomy.index(uri), kind, lang, text) for uri, texts in rows for kind, lang, text in texts]
        taxonomy = taxonomy.with_texts(Texts.from_entries(sorted(set(entries))))
    else:
        taxonomy = Taxonomy.read(path)
    return taxonomy.with_language(language) if language in taxonomy.texts.languages else taxonomy


def _subjects(path: Path, language: str, is_csv: bool) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """URI and texts of each subject; subjects without a label are deprecated and left out."""
    text = files.decode(_content(path), str(path), None, DataError)
    seen: dict[str, int] = {}
    for n, row in _csv_rows(text, str(path), ("uri",)) if is_csv else _tsv_subjects(text, language):
        uri = _bare(row["uri"] or "")
        if not uri or re.search(r"\s", uri):
            raise DataError(f"{place(str(path), n)}: {uri[:60]!r} is not a URI.")
        if uri in seen:
            raise DataError(f"{place(str(path), n)}: {uri} is already on line {seen[uri]}.")
        seen[uri] = n
        labels = [("preferred", key[6:], value) for key, value in row.items() if key.startswith("label_") and value]
        if labels:
            yield uri, labels + ([("notation", "", row["notation"])] if row.get("notation") else [])


def _tsv_subjects(text: str, language: str) -> Iterator[tuple[int, dict[str, str]]]:
    for n, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            cells = [*line.rstrip("\r\n").split("\t", 2), "", ""]
            yield n, {"uri": cells[0].strip(), f"label_{language}": cells[1].strip(), "notation": cells[2].strip()}


def _csv_rows(text: str, name: str, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    with files.long_cells():
        reader = csv.DictReader(io.StringIO(text, newline=""))
        for column in needed:
            if column not in (reader.fieldnames or ()):
                raise DataError(
                    f"{place(name, 1)}: there is no column {column!r}{nearest(column, reader.fieldnames or ())}"
                )
        for row in reader:
            yield reader.line_num, {key: value or "" for key, value in row.items() if key is not None}


# -- corpora -----------------------------------------------------------------------------------------------------------


def read_corpus(
    path: str | Path, taxonomy: Taxonomy, *, unknown: str = "error"
) -> tuple[list[CorpusDocument], dict[str, int]]:
    """Read a corpus of documents with subjects.

    Parameters
    ----------
    path : str or Path
        A TSV, CSV or JSON lines file, gzipped or not, or a folder of ``.txt`` (or ``.json``) files.
    taxonomy : Taxonomy
        The vocabulary; its display labels are those that ``.key`` files name.
    unknown : {"error", "drop"}, default="error"
        Whether a subject that the vocabulary does not have is an error, or is left out as Annif does.

    Returns
    -------
    documents : list of CorpusDocument
        Documents that have a subject; deprecated subjects are replaced where the vocabulary says by what.
    left_out : dict of str to int
        Numbers of ``subjects`` that are not in the vocabulary, and of ``documents`` without a subject.
    """
    path = Path(path)
    found, left_out = [], {"subjects": 0, "documents": 0}
    for where, document in _documents(path):
        nodes = []
        for label in document.labels:
            node = _node(taxonomy, label)
            if node is not None:
                nodes.append(node)
            elif unknown == "error":
                hint = nearest(label, [str(name) for name in taxonomy.names])
                raise UnknownLabelError(f"{where}: the subject {label!r} is not in the vocabulary{hint}")
            else:
                left_out["subjects"] += 1
        if nodes:
            found.append(CorpusDocument(document.text, list(dict.fromkeys(nodes)), document.id, document.metadata))
        else:
            left_out["documents"] += 1
    if not found:
        raise DataError(f"{path} has no documents with subjects of the vocabulary.")
    return found, left_out


def _node(taxonomy: Taxonomy, label: str) -> str | None:
    """The node of a URI, or of a label that only one node has."""
    v = taxonomy.lookup(label, replace=True)
    if v is None:
        shown = taxonomy.displayed_as(label)
        v = int(shown[0]) if len(shown) == 1 else None
    return None if v is None else str(taxonomy.names[v])


def _documents(path: Path) -> Iterator[tuple[str, CorpusDocument]]:
    """Documents with URIs or labels as they are written, and the place of each."""
    if path.is_dir():
        yield from _folder(path)
        return
    with files.unpacked(io.BytesIO(_content(path)), str(path), DataError) as raw:
        text = files.decode(raw.read(), str(path), None, DataError)
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending == "csv":
        for n, row in _csv_rows(text, str(path), ("text", "subject_uris")):
            subjects = [_bare(uri) for uri in row["subject_uris"].split()]
            others = {key: value for key, value in row.items() if key not in ("document_id", "text", "subject_uris")}
            yield place(str(path), n), CorpusDocument(row["text"], subjects, row.get("document_id") or None, others)
    elif ending == "jsonl":
        for n, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield place(str(path), n), _json_document(line, place(str(path), n))
    else:
        for n, line in enumerate(text.split("\n"), start=1):
            content, tab, uris = line.rstrip("\r").partition("\t")
            if line.strip():
                if not tab:
                    raise DataError(f"{place(str(path), n)}: there is no tab; expected text <tab> <uri> <uri>.")
                yield place(str(path), n), CorpusDocument(content, [_bare(uri) for uri in uris.split()])


def _folder(path: Path) -> Iterator[tuple[str, CorpusDocument]]:
    texts = sorted(path.glob("*.txt"))
    others = sorted(path.glob("*.json"))
    if not texts and not others:
        raise DataError(f"{path} holds no .txt or .json files.")
    for file in texts:
        own = next((found for e in (".tsv", ".key") if (found := file.with_suffix(e)).exists()), None)
        if own is not None:  # Annif trains on texts with subjects only
            content = files.decode(_content(file), str(file), None, DataError)
            lines = files.decode(_content(own), str(own), None, DataError).splitlines()
            labels = [label for line in lines if (label := _subject(line))]
            yield str(own), CorpusDocument(content, labels, file.stem)
    for file in others:
        yield str(file), _json_document(files.decode(_content(file), str(file), None, DataError), str(file))


def _subject(line: str) -> str:
    """The URI of a line ``<uri> <tab> label``, or its label."""
    cells = [cell.strip() for cell in line.split("\t") if cell.strip()]
    return next((_bare(cell) for cell in cells if cell.startswith("<") and cell.endswith(">")), (cells or [""])[0])


def _json_document(text: str, where: str) -> CorpusDocument:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}.") from None
    subjects = content.get("subjects", []) if isinstance(content, dict) else None
    if not isinstance(subjects, list) or not all(
        isinstance(one, dict) and isinstance(one.get("uri", one.get("label")), str) for one in subjects
    ):
        raise DataError(f'{where}: expected {{"text": ..., "subjects": [{{"uri": ...}}]}}.')
    metadata = content.get("metadata", {})
    others = metadata if isinstance(metadata, dict) else {}
    return CorpusDocument(
        str(content.get("text", "")),
        [_bare(str(one.get("uri", one.get("label")))) for one in subjects],
        content.get("document_id"),
        {str(key): str(value) for key, value in others.items()},
    )


def _bare(uri: str) -> str:
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
