"""Corpora that a computer already has: its manual pages, and the descriptions of its Debian packages.

A manual page is labelled with its manual (the last field of its title line, such as "Git Manual"), below the section of
the manual (1 user commands, ..., 8 administration). A package is labelled with its source package, below its section
(such as ``libs``). Groups with fewer than ``min_docs`` documents are dropped from the labels, and their documents are
labelled with the section alone. The title line is not part of the text.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from linnaeus.data.dataset import Dataset
from linnaeus.errors import DataError
from linnaeus.taxonomy import Taxonomy

__all__ = ["MANUALS", "PACKAGES", "manual_pages", "package_descriptions"]

MANUALS = Path("/usr/share/man")
PACKAGES = Path("/var/lib/dpkg/status")
SECTIONS = {
    "1": "user commands",
    "2": "system calls",
    "3": "library functions",
    "4": "devices",
    "5": "file formats",
    "6": "games",
    "7": "overviews",
    "8": "administration",
}
MIN_WORDS = 15
MAX_WORDS = 300  # of a text: the beginning says what it is about
MAX_PAGES = 100  # of a manual: some have thousands

_ESCAPES = re.compile(r"\\f(?:\[[^]]*\]|\(..|.)|\\s[-+]?\d+|\\[&/,|^c%]|\\\*?\(..|\\\*?\[[^]]*\]")
_FIELD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')


class _Document(NamedTuple):
    id: str
    section: str
    group: str
    text: str


def manual_pages(folder: Path = MANUALS, min_docs: int = 5) -> Dataset:
    """Manual pages in English below a folder, labelled with manual and section.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "man1").mkdir()
    >>> words = " ".join(["counts lines of files"] * 5)
    >>> _ = (folder / "man1" / "wc.1").write_text(f'.TH WC 1 "2026" "1.0" "User Commands"\\n.SH NAME\\n{words}\\n')
    >>> corpus = manual_pages(folder, min_docs=1)
    >>> corpus.ids, corpus.labels
    (['wc.1'], [['user commands: User Commands']])
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder} is not a folder, so there are no manual pages; the corpus 'docstrings' always works."
        )
    return _corpus(list(_pages(folder)), min_docs, f"manual pages of {folder}")


def package_descriptions(path: Path = PACKAGES, min_docs: int = 5) -> Dataset:
    """Descriptions of the packages in a status file of Debian, labelled with source package and section.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "status"
    >>> words = " ".join(["a library for pictures"] * 5)
    >>> package = f"Package: {{0}}\\nSection: libs\\nDescription: {{0}}\\n {words}\\n\\n"
    >>> _ = path.write_text(package.format("libpng16") + package.format("libjpeg62"))
    >>> package_descriptions(path, min_docs=2).labels
    [['libs'], ['libs']]
    """
    if not path.is_file():
        raise DataError(f"{path} is not a file, so there are no Debian packages; the corpus 'docstrings' always works.")
    return _corpus(list(_packages(path)), min_docs, f"package descriptions of {path}")


def _corpus(documents: list[_Document], min_docs: int, source: str) -> Dataset:
    """A data set whose rare groups are replaced by their section, and rare sections left out."""
    groups = Counter((d.section, d.group) for d in documents)
    sections = Counter(d.section for d in documents)
    kept = [d for d in documents if sections[d.section] >= min_docs]
    if not kept:
        raise DataError(f"There are {len(documents)} {source}, too few for a corpus; expected {min_docs} of a section.")
    labels, edges = [], set()
    for d in kept:
        name = f"{d.section}: {d.group}"
        if d.group and groups[d.section, d.group] >= min_docs:
            edges.add((d.section, name))
        else:
            name = d.section
        labels.append([name])
    tops = sorted({d.section for d in kept})
    tax = Taxonomy.from_edges(sorted(edges), nodes=tops, root=None)
    return Dataset(
        fields={"text": [d.text for d in kept]}, labels=labels, ids=[d.id for d in kept], taxonomy=tax, source=source
    )


def _distinct(documents: Iterable[_Document]) -> Iterator[_Document]:
    """Documents with enough words, each text once."""
    seen: set[str] = set()
    for document in documents:
        words = document.text.split()[:MAX_WORDS]
        text = " ".join(words)
        if len(words) >= MIN_WORDS and text not in seen:
            seen.add(text)
            yield document._replace(text=text)


# -- manual pages ------------------------------------------------------------------------------------------------------


def _pages(folder: Path) -> Iterator[_Document]:
    count: Counter[tuple[str, str]] = Counter()
    for document in _distinct(_read_pages(folder)):
        key = document.section, document.group
        count[key] += 1
        if count[key] <= MAX_PAGES:
            yield document


def _read_pages(folder: Path) -> Iterator[_Document]:
    for number, section in SECTIONS.items():
        files = sorted(path for path in (folder / f"man{number}").glob("*") if path.is_file() and not path.is_symlink())
        step = max(1, len(files) // 400)  # spread over the alphabet where there are very many
        for path in files[::step]:
            try:
                raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            except (OSError, EOFError):
                continue
            manual, text = _from_roff(raw[:60_000].decode("utf-8", "replace"))
            yield _Document(path.name.removesuffix(".gz"), section, manual, text)


def _from_roff(source: str) -> tuple[str, str]:
    """Name of the manual, and the text, of a page in the formats man and mdoc."""
    manual, words = "", []
    for line in source.splitlines():
        if line.startswith(".TH "):
            fields = [a or b for a, b in _FIELD.findall(_plain(line[4:]))]
            manual = fields[4] if len(fields) > 4 else ""
        elif line.startswith((".SH", ".SS", ".Sh", ".Ss", ".Dd", ".Dt", ".Os", '.\\"', "'", '\\"')):
            continue
        elif line.startswith("."):
            macro, _, rest = line[1:].partition(" ")
            if macro in ("B", "I", "BR", "RB", "IR", "RI", "BI", "IB", "Nd", "Nm"):
                words.append(_plain(rest).replace('"', ""))
        else:
            words.append(_plain(line))
    return " ".join(manual.split()), " ".join(words)


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\"))


# -- packages ----------------------------------------------------------------------------------------------------------


def _packages(path: Path) -> Iterator[_Document]:
    stanzas = path.read_text("utf-8", "replace").split("\n\n")
    return _distinct(filter(None, map(_package, sorted(stanzas))))


def _package(stanza: str) -> _Document | None:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line[:1].isspace():
            fields[name] = f"{fields.get(name, '')} {line.strip().strip('.')}"
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if not fields.get("Package") or "Description" not in fields:
        return None
    section = fields.get("Section", "misc").rpartition("/")[2]
    source = fields.get("Source", fields["Package"]).split(" ")[0]
    return _Document(fields["Package"], section, source, fields["Description"])
