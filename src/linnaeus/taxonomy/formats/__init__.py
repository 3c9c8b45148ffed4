"""Taxonomies in files: `read`, `write`, `recognise`, and networkx graphs.

Each format has a module with ``parse`` (text to `Draft`) and ``compose`` (taxonomy to text). `write` reads its own text
before it saves it: what the format cannot express is written to a note on top (see `source`), and a taxonomy that would
not be read back as an equal one is refused.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Unpack

from linnaeus.errors import LinnaeusError, ParameterError, TaxonomyError, nearest
from linnaeus.taxonomy.formats.draft import Draft, FormatOptions, OptionValues
from linnaeus.taxonomy.formats.graphs import from_networkx, to_networkx
from linnaeus.taxonomy.formats.nested import note_of
from linnaeus.taxonomy.formats.recognition import ambiguity, recognise_text
from linnaeus.taxonomy.formats.source import Note, add_note, checked_note, decode, find_note, load, save, source_name
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = [
    "FORMATS",
    "Draft",
    "draft",
    "from_networkx",
    "holds_texts",
    "knows",
    "read",
    "recognise",
    "to_networkx",
    "write",
]

HEAD = 1 << 16
NAME_FORMAT = "name it with format=..."


@dataclass(frozen=True)
class Format:
    """A format: its description, its module, the endings of its file names, and its comment mark."""

    about: str
    module: str
    endings: tuple[str, ...] = ()
    mark: str = "#"


class Functions(NamedTuple):
    """What the module of a format provides."""

    known_options: Sequence[str]
    parse: Callable[[str, str, str, FormatOptions], Draft]  # text, source, format, options
    compose: Callable[[Taxonomy, str, FormatOptions], str]
    holds_texts: bool


FORMATS = {
    "turtle": Format("SKOS as Turtle", "skos", (".ttl",)),
    "rdf-xml": Format("SKOS as RDF/XML", "skos", (".rdf", ".xml"), "<!--"),
    "n-triples": Format("SKOS as N-Triples", "skos", (".nt",)),
    "json-ld": Format("SKOS as JSON-LD", "skos", (".jsonld",), "json"),
    "obo": Format("OBO ontology", "obo", (".obo",), "!"),
    "edges": Format("pairs parent, child as TSV or CSV", "edges", (".tsv", ".csv")),
    "paths": Format("one path per line as CSV", "paths", (".paths.csv", ".paths.tsv", ".paths")),
    "indented": Format("indented outline", "indented", (".txt",)),
    "json": Format("nested JSON", "nested", (".json",), "json"),
    "yaml": Format("YAML, as nested JSON or a list of objects", "nested", (".yml", ".yaml")),
    "lshtc": Format("LSHTC: 'parent child' with a space", "lines", ("cat_hier.txt",)),
    "children": Format("a parent and its children per line, with tabs", "lines", (".taxonomy",)),
    "codes": Format("codes such as 1.1.2 or 112, one per line, with titles", "codes", (".codes",)),
    "mesh": Format("'name;tree number' (MeSH)", "mesh", (".mesh",)),
    "arff": Format("class attribute of a hierarchical ARFF file", "arff", (".arff",), "%"),
}


def recognise(source: str | os.PathLike[str] | bytes, *, encoding: str | None = None) -> str:
    """Name of the format of a file, or of the first bytes of a file.

    Examples
    --------
    >>> recognise(b"parent,child\\nSports,Tennis\\n")
    'edges'
    >>> recognise(b"Sports\\n\\tTennis\\n")
    'indented'
    """
    if isinstance(source, bytes):
        return _recognised(decode(source, "the bytes", encoding), "the bytes", True)
    head, name = load(source, HEAD), source_name(source)
    if len(head) < HEAD:
        return _recognised(decode(head, name, encoding), name, True)
    return _recognised(_beginning(head, name, encoding), name, False)


def _beginning(head: bytes, source: str, encoding: str | None) -> str:
    """Text of the first bytes of a file, which may end inside a character of up to four bytes."""
    for cut in range(3):
        with contextlib.suppress(LinnaeusError):
            return decode(head[: len(head) - cut], source, encoding)
    return decode(head[:-3], source, encoding)


def _recognised(text: str, source: str, whole: bool = True) -> str:
    if not text.strip():
        raise TaxonomyError(f"{source}: the file is empty; expected a taxonomy.")
    found = recognise_text(text, whole=whole, ending=Path(_unpacked_name(source)).suffix)
    if found not in FORMATS:
        raise TaxonomyError(f"{source}: {ambiguity(text)}; {NAME_FORMAT} (one of {', '.join(FORMATS)}).")
    return found


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    root: str | None = "auto",
    kind: str | None = None,
    language: str | None = None,
    names: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    relations: Sequence[str] | None = None,
    namespaces: Sequence[str] | None = None,
    obsolete: bool | None = None,
    positions: bool | None = None,
    duplicates: str | None = None,
) -> Taxonomy:
    """Read a taxonomy; the format is recognised from the content unless given, compression from the first bytes.

    Parameters
    ----------
    path : str or path-like
        The file; ``-`` is standard input.
    format : str, default=None
        One of `FORMATS`; "skos" for any RDF syntax, "tsv", "csv" or "graph" for edges.
    encoding : str, default=None
        The encoding; by default that of a byte-order mark or of an XML declaration, otherwise UTF-8.
    root : str or None, default="auto"
        Name of the root, or None; "auto" takes the only node without a parent in formats that write the top.
    kind : {"tree", "dag", "graph"}, default=None
        The expected kind; by default the kind of the taxonomy in the file.
    language, names, separator : str, default=None
        See `linnaeus.taxonomy.formats.draft.FormatOptions`; an option that the format does not have is an error.
    header : bool, default=None
        See `FormatOptions`.
    relations, namespaces : sequence of str, default=None
        See `FormatOptions`.
    obsolete, positions : bool, default=None
        See `FormatOptions`.
    duplicates : str, default=None
        See `FormatOptions`.

    Returns
    -------
    Taxonomy
        The taxonomy.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "topics.tsv"
    >>> _ = file.write_text("parent\\tchild\\nTop\\tSports\\nTop\\tScience\\nSports\\tTennis\\n")
    >>> read(file)
    Taxonomy(tree, 4 nodes, 2 leaves, depth 2)
    """
    options = FormatOptions(language, names, separator, header, relations, namespaces, obsolete, positions, duplicates)
    return _read_draft(path, format, encoding, options).taxonomy(kind=kind, root=root)


def draft(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    optional: Sequence[str] = (),
    **options: Unpack[OptionValues],
) -> Draft:
    """The content of a file before it is validated, to examine broken files.

    ``optional`` names options that are ignored if the format does not have them, instead of being an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "broken.tsv"
    >>> _ = file.write_text("parent\\tchild\\nA\\tB\\nB\\tA\\n")
    >>> list(draft(file).index)
    ['A', 'B']
    """
    return _read_draft(path, format, encoding, FormatOptions(**options), optional)


def _read_draft(
    path: str | os.PathLike[str],
    format: str | None,
    encoding: str | None,
    options: FormatOptions,
    optional: Sequence[str] = (),
) -> Draft:
    source = source_name(path)
    text = decode(load(path), source, encoding)
    name = _format_name(format, text, source)
    known, holds = _functions(name).known_options, _functions(name).holds_texts
    ignored = [option for option in optional if option not in known]
    options = replace(options, **dict.fromkeys(ignored))
    # SKOS chooses the labels of a language while it reads; in other formats with texts they are chosen afterwards.
    language = options.language if holds and "language" not in known else None
    found = _parse(text, source, name, options if language is None else replace(options, language=None))
    found.format, found.language = name, language
    if format == "graph":
        found.kind = "graph"
    return found


def knows(
    option: str,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    writing: bool = False,
) -> bool:
    """Whether the format of a file to read (in this encoding) or to write has an option.

    Examples
    --------
    >>> knows("language", "topics.ttl", writing=True), knows("language", "topics.tsv", writing=True)
    (True, False)
    """
    if format is None and not writing:
        name = recognise(path, encoding=encoding)
    else:
        name = _written_format(path, format)
    return option in _functions(name).known_options


def holds_texts(path: str | os.PathLike[str], format: str | None = None) -> bool:
    """Whether the format of a file to write holds all texts of a taxonomy, and not only display labels.

    Examples
    --------
    >>> holds_texts("topics.ttl"), holds_texts("topics.txt")
    (True, False)
    """
    return _functions(_written_format(path, format)).holds_texts


def _written_format(path: str | os.PathLike[str], format: str | None) -> str:
    return _by_ending(_unpacked_name(path)) if format is None else _format_name(format, None, str(path))


def write(
    taxonomy: Taxonomy,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    language: str | None = None,
    separator: str | None = None,
) -> None:
    """Write a taxonomy so that reading the file gives an equal one; the format follows from the ending unless given.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy.
    path : str or path-like
        The file; ``-`` is standard output.
    format : str, default=None
        One of `FORMATS`; "skos" is Turtle, "tsv" and "csv" are edges.
    language : str, default=None
        Language tag of the labels (SKOS).
    separator : str, default=None
        The delimiter of columns (edges, paths).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "topics.txt"
    >>> write(Taxonomy.from_edges([("Top", "Sports"), ("Sports", "Tennis")]), file)
    >>> print(file.read_text().expandtabs(2))
    Top
      Sports
        Tennis
    <BLANKLINE>
    """
    plain = _unpacked_name(path)
    if separator is None and (format == "csv" or (format in (None, "edges") and plain.endswith(".csv"))):
        separator = ","
    name = _written_format(path, format)
    if separator is None and name == "paths" and plain.endswith(".tsv"):
        separator = "\t"
    functions = _functions(name)
    options = FormatOptions(language=language, separator=separator).only(functions.known_options, name)
    save(path, _with_note(functions.compose(taxonomy, name, options), taxonomy, name))


def _with_note(text: str, taxonomy: Taxonomy, name: str) -> str:
    """The text with a note about what the format does not express; an error if it is still read as another taxonomy."""
    note: Note = {}
    if recognise_text(text) != name:
        note["format"] = name
    root = None if taxonomy.root is None else taxonomy.names[taxonomy.root]
    if taxonomy.kind == "graph":
        note["kind"] = "graph"
    draft = _parse(text, "the text written", name, FormatOptions())
    try:
        back = draft.taxonomy(kind=note.get("kind"))
        if back.kind != taxonomy.kind:
            note["kind"] = taxonomy.kind
        if (None if back.root is None else back.names[back.root]) != root:
            note["root"] = root
        if len(back) == len(taxonomy) and (back.names != taxonomy.names).any():
            note["order"] = list(taxonomy.names)
        if note:
            text = _noted(text, note, name)
            back = _parse(text, "the text written", name, FormatOptions()).taxonomy()
    except TaxonomyError as error:
        raise TaxonomyError(f"The format {name!r} cannot hold this taxonomy: {error}") from None
    if back != taxonomy:
        raise TaxonomyError(f"The format {name!r} cannot hold this taxonomy{_difference(taxonomy, back)}; use 'edges'.")
    return text


def _noted(text: str, note: Note, name: str) -> str:
    if FORMATS[name].mark != "json":
        return add_note(text, note, FORMATS[name].mark)
    content = json.loads(text)
    return json.dumps({"linnaeus": note, **content}, ensure_ascii=False, indent=1) + "\n"


def _difference(wanted: Taxonomy, found: Taxonomy) -> str:
    lost = next((name for name in wanted.names if name not in found), None)
    more = next((name for name in found.names if name not in wanted), None)
    if lost is not None:
        return f": node {lost!r} would be lost"
    return f": node {more!r} would be added" if more is not None else ": some edges would be lost"


def _parse(text: str, source: str, name: str, options: FormatOptions) -> Draft:
    """The draft of a text, with the values of the note on top of it."""
    if not text.strip():
        raise TaxonomyError(f"{source}: the file is empty; expected a taxonomy.")
    functions = _functions(name)
    found = functions.parse(text, source, name, options.only(functions.known_options, name))
    note = find_note(text)
    if not note and FORMATS[name].mark == "json" and '"linnaeus"' in text[:40]:
        note = checked_note(note_of(json.loads(text)))
    found.kind, found.order = note.get("kind"), note.get("order")
    found.root = note.get("root", found.root)
    return found


def _functions(name: str) -> Functions:
    module = importlib.import_module(f"linnaeus.taxonomy.formats.{FORMATS[name].module}")
    return Functions(module.KNOWN_OPTIONS, module.parse, module.compose, getattr(module, "HOLDS_TEXTS", False))


def _format_name(format: str | None, text: str | None, source: str) -> str:
    """The name of a format, given by this or another name, or recognised."""
    if format in ("tsv", "csv", "graph"):
        return "edges"
    if format == "skos":
        found = None if text is None else recognise_text(text)
        return found if found in FORMATS and FORMATS[found].module == "skos" else "turtle"
    if format is None:
        return _recognised(text or "", source)
    if format not in FORMATS:
        hint = nearest(format, FORMATS) or f"; expected one of {', '.join(FORMATS)}."
        raise ParameterError(f"{format!r} is not a taxonomy format{hint}")
    return format


def _unpacked_name(path: str | os.PathLike[str]) -> str:
    name = Path(path).name.lower()
    for ending in (".gz", ".xz", ".bz2", ".zip"):
        name = name.removesuffix(ending)
    return name


def _by_ending(name: str) -> str:
    fitting = [(ending, key) for key, format in FORMATS.items() for ending in format.endings if name.endswith(ending)]
    if not fitting:
        known = ", ".join(ending for format in FORMATS.values() for ending in format.endings)
        raise TaxonomyError(
            f"{name}: the format does not follow from the file name; {NAME_FORMAT}, or use one of the endings {known}."
        )
    return max(fitting, key=lambda pair: len(pair[0]))[1]
