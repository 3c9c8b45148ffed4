"""Taxonomies in files: `read`, `write`, `recognise`, and networkx graphs.

Each format has a module with ``parse`` (text to `Draft`) and ``compose`` (taxonomy to text). `write` reads its own text
back before it saves it: what the format cannot say goes into a note on top (see `source`), and what does not come back
equal is refused.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linnaeus.errors import LinnaeusError, ParameterError, TaxonomyError, nearest
from linnaeus.taxonomy.formats.draft import Draft, FormatOptions
from linnaeus.taxonomy.formats.graphs import from_networkx, to_networkx
from linnaeus.taxonomy.formats.nested import note_of
from linnaeus.taxonomy.formats.recognition import ambiguity, recognise_text
from linnaeus.taxonomy.formats.source import add_note, checked_note, decode, find_note, load, save, source_name
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["FORMATS", "Draft", "draft", "from_networkx", "knows", "read", "recognise", "to_networkx", "write"]

HEAD = 1 << 16
NAME_FORMAT = "name it with format=..."


@dataclass(frozen=True)
class Format:
    """A format: what it is, the module that reads and writes it, the endings it is written for, its comment mark."""

    about: str
    module: str
    endings: tuple[str, ...] = ()
    mark: str = "#"


FORMATS = {
    "turtle": Format("SKOS as Turtle", "skos", (".ttl",)),
    "rdf-xml": Format("SKOS as RDF/XML", "skos", (".rdf", ".xml"), "<!--"),
    "n-triples": Format("SKOS as N-Triples", "skos", (".nt",)),
    "obo": Format("OBO ontology", "obo", (".obo",), "!"),
    "edges": Format("pairs parent, child as TSV or CSV", "edges", (".tsv", ".csv")),
    "paths": Format("one path per line as CSV", "paths", (".paths.csv", ".paths.tsv", ".paths")),
    "indented": Format("indented outline", "indented", (".txt",)),
    "json": Format("nested JSON", "nested", (".json",), "json"),
    "lshtc": Format("LSHTC: 'parent child' with a space", "lines", ("cat_hier.txt",)),
    "children": Format("a parent and its children per line, with tabs", "lines", (".taxonomy",)),
    "codes": Format("codes such as 1.1.2 or 112, one per line, with titles", "codes", (".codes",)),
    "mesh": Format("'name;tree number' (MeSH)", "mesh", (".mesh",)),
    "arff": Format("class attribute of a hierarchical ARFF file", "arff", (".arff",), "%"),
}


def recognise(source: str | os.PathLike[str] | bytes, *, encoding: str | None = None) -> str:
    """Name of the format of a file, or of the bytes a file begins with.

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
    """Text of the first bytes of a file: the cut may fall inside a character, and these have four bytes at most."""
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
    format : one of `FORMATS`; "skos" for any RDF syntax, "tsv", "csv" or "graph" for edges.
    encoding : UTF-8 by default; a byte-order mark decides.
    root : "auto" (the only node without a parent, in formats that write the top), a name, or None.
    kind : "tree", "dag" or "graph"; by default what the file holds.
    language, names, separator, header, relations, namespaces, obsolete, positions, duplicates :
        see `linnaeus.taxonomy.formats.draft.FormatOptions`; an option that the format does not know is an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "topics.tsv"
    >>> _ = file.write_text("parent\\tchild\\nTop\\tSports\\nTop\\tScience\\nSports\\tTennis\\n")
    >>> read(file)
    Taxonomy(tree, 4 nodes, 2 leaves, depth 2)
    """
    options = FormatOptions(language, names, separator, header, relations, namespaces, obsolete, positions, duplicates)
    return _drawn(path, format, encoding, options).taxonomy(kind=kind, root=root)


def draft(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    optional: Sequence[str] = (),
    **options: Any,
) -> Draft:
    """What a file says, not yet checked for cycles: for looking at broken files.

    ``optional`` names options that are left out where the format does not know them, instead of being an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "broken.tsv"
    >>> _ = file.write_text("parent\\tchild\\nA\\tB\\nB\\tA\\n")
    >>> list(draft(file).index)
    ['A', 'B']
    """
    return _drawn(path, format, encoding, FormatOptions(**options), optional)


def _drawn(
    path: str | os.PathLike[str],
    format: str | None,
    encoding: str | None,
    options: FormatOptions,
    optional: Sequence[str] = (),
) -> Draft:
    source = source_name(path)
    text = decode(load(path), source, encoding)
    name = _format_name(format, text, source)
    left_out = [option for option in optional if option not in _module(name).KNOWN_OPTIONS]
    drawn = _parse(text, source, name, replace(options, **dict.fromkeys(left_out)))
    drawn.format = name
    if format == "graph":
        drawn.kind = "graph"
    return drawn


def knows(
    option: str,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    writing: bool = False,
) -> bool:
    """Whether an option means something for this file, to be read (in this encoding) or to be written.

    Examples
    --------
    >>> knows("language", "topics.ttl", writing=True), knows("language", "topics.tsv", writing=True)
    (True, False)
    """
    if format is None:
        name = _by_ending(_unpacked_name(path)) if writing else recognise(path, encoding=encoding)
    else:
        name = _format_name(format, None, str(path))
    return option in _module(name).KNOWN_OPTIONS


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
    format : one of `FORMATS`; "skos" is Turtle, "tsv" and "csv" are edges.
    language : language tag of the labels (SKOS).
    separator : the delimiter of columns (edges, paths).

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
    name = _format_name(format, None, str(path)) if format else _by_ending(plain)
    if separator is None and name == "paths" and plain.endswith(".tsv"):
        separator = "\t"
    module = _module(name)
    options = FormatOptions(language=language, separator=separator).only(module.KNOWN_OPTIONS, name)
    save(path, _with_note(module.compose(taxonomy, name, options), taxonomy, name))


def _with_note(text: str, taxonomy: Taxonomy, name: str) -> str:
    """The text, with a note for what it would not say by itself; an error if it still reads as something else."""
    note: dict[str, Any] = {}
    if recognise_text(text) != name:
        note["format"] = name
    root = None if taxonomy.root is None else taxonomy.names[taxonomy.root]
    if taxonomy.kind == "graph":
        note["kind"] = "graph"
    drawn = _parse(text, "the text written", name, FormatOptions())
    try:
        back = drawn.taxonomy(kind=note.get("kind"))
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


def _noted(text: str, note: dict[str, Any], name: str) -> str:
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
    """What the text says, and the note on top of it."""
    if not text.strip():
        raise TaxonomyError(f"{source}: the file is empty; expected a taxonomy.")
    module = _module(name)
    found: Draft = module.parse(text, source, name, options.only(module.KNOWN_OPTIONS, name))
    note = find_note(text)
    if not note and name == "json" and '"linnaeus"' in text[:40]:
        note = checked_note(note_of(json.loads(text)))
    found.kind, found.order = note.get("kind"), note.get("order")
    found.root = note.get("root", found.root)
    return found


def _module(name: str) -> Any:
    return importlib.import_module(f"linnaeus.taxonomy.formats.{FORMATS[name].module}")


def _format_name(format: str | None, text: str | None, source: str) -> str:
    """The name of a format as given, by its other name, or recognised."""
    if format in ("tsv", "csv", "graph"):
        return "edges"
    if format == "skos":
        found = None if text is None else recognise_text(text)
        return found if found in ("turtle", "rdf-xml", "n-triples") else "turtle"
    if format is None:
        return _recognised(text or "", source)
    if format not in FORMATS:
        hint = nearest(format, FORMATS) or f"; expected one of {', '.join(FORMATS)}."
        raise ParameterError(f"{format!r} is not a format of taxonomies{hint}")
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
        raise TaxonomyError(f"{name}: the ending says no format; {NAME_FORMAT}, or use one of the endings {known}.")
    return max(fitting, key=lambda pair: len(pair[0]))[1]
