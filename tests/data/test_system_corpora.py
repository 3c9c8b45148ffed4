"""Corpora made from manual pages and Debian packages: labels come from titles and fields, not texts."""

from __future__ import annotations

import gzip

import pytest

from linnaeus.data.system_corpora import manual_pages, package_descriptions
from linnaeus.errors import DataError

WORDS = "prints the lines of all given files in reverse order and counts them while it is at it today"


def write_page(folder, name: str, section: int, manual: str, body: str) -> None:
    (folder / f"man{section}").mkdir(exist_ok=True)
    text = f'.TH NAME {section} "2026" "1.0" "{manual}"\n.SH NAME\n\\fBname\\fR \\- {body}\n.nf\n.B {WORDS}\n'
    (folder / f"man{section}" / f"{name}.{section}.gz").write_bytes(gzip.compress(text.encode()))


def test_pages_are_labelled_with_their_manual_below_the_section(tmp_path) -> None:
    for i in range(3):
        write_page(tmp_path, f"a{i}", 1, "Git Manual", f"number {i}")
    write_page(tmp_path, "b", 1, "Rare Manual", "alone")
    corpus = manual_pages(tmp_path, min_docs=2)
    assert corpus.labels == [["user commands: Git Manual"]] * 3 + [["user commands"]]
    assert corpus.documents[0].startswith("name - number 0")
    assert "Git Manual" not in corpus.documents[0]
    assert "prints the lines" in corpus.documents[0]


def test_damaged_and_short_pages_are_left_out(tmp_path) -> None:
    write_page(tmp_path, "good", 1, "M", "good")
    (tmp_path / "man1" / "bad.1.gz").write_bytes(b"not compressed")
    (tmp_path / "man1" / "link.1").write_text(".so man1/good.1\n")
    assert manual_pages(tmp_path, min_docs=1).ids == ["good.1"]


def test_packages_are_labelled_with_their_source_below_the_section(tmp_path) -> None:
    stanza = "Package: {0}\nSource: {1} (1.0)\nSection: {2}\nDescription: number {0}\n {3}\n .\n More.\n"
    rows = [("a1", "a", "libs"), ("a2", "a", "contrib/libs"), ("b", "b", "libs"), ("c", "c", "games")]
    (tmp_path / "status").write_text("\n".join(stanza.format(*row, WORDS) for row in rows))
    corpus = package_descriptions(tmp_path / "status", min_docs=2)
    assert corpus.ids == ["a1", "a2", "b"], "the section games has too few"
    assert corpus.labels == [["libs: a"], ["libs: a"], ["libs"]]
    assert corpus.documents[2].startswith("number b prints the lines")


def test_a_computer_without_them_is_told_what_always_works(tmp_path) -> None:
    with pytest.raises(DataError, match="no manual pages; the corpus 'docstrings' always works"):
        manual_pages(tmp_path / "none")
    with pytest.raises(DataError, match="no Debian packages; the corpus 'docstrings' always works"):
        package_descriptions(tmp_path / "none")
    with pytest.raises(DataError, match="too few"):
        manual_pages(tmp_path)
