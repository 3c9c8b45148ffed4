"""Repairs of SKOS files: what is reported is repaired, once, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.taxonomy import checks, formats
from linnaeus.taxonomy.checks import CheckReport
from linnaeus.taxonomy.repair import FIXES, repair

VOCABULARY = """
@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix e: <http://e/> . @prefix x: <http://other/> .
@prefix dct: <http://purl.org/dc/terms/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
e:scheme a s:ConceptScheme ; dct:title "Sports" .
e:a a s:Concept ; s:prefLabel "Sports"@en, "Sport"@de ; s:inScheme e:scheme ; x:colour "red" ; s:note "two\\nlines" .
e:b a s:Concept ; s:prefLabel "Ball games"@en, "Ball sports"@en ; s:altLabel "Ball games"@en ; s:broader e:a .
e:c a s:Concept ; s:prefLabel "Tennis "@en ; s:altLabel ""@en, "Lawn\\u0007 tennis"@en ; s:broader e:a, e:b, e:c ;
    s:topConceptOf e:scheme ; s:related e:a, e:d ; s:hidenLabel "x" .
e:d a s:Concept ; s:prefLabel "tennis "@de, "Chess"@en ; s:broader e:a ; s:exactMatch x:d ; s:broadMatch x:d .
e:f a s:Concept ; s:prefLabel "Go"@en ; s:notation "1" ; s:broader e:g . e:g a s:Concept ; s:notation "1" .
[] x:says [ x:what e:a ] .
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "v.ttl").write_text(VOCABULARY)
    return tmp_path / "v.ttl"


def report(file: Path) -> CheckReport:
    return checks.check(formats.draft(file))


def statements(file: Path) -> set[str]:
    return {f"{q.subject} {q.predicate} {q.object}" for q in ox.parse(path=file) if "_:" not in str(q.triple)}


def test_the_checks_of_vocabularies_find_every_problem(file: Path) -> None:
    found = {one.code: one.count for one in report(file).findings}
    expected = {
        "self-loop": 1,
        "redundant-edge": 1,
        "several-preferred": 1,
        "label-clash": 1,
        "empty-label": 1,
        "stray-characters": 3,
        "relation-clash": 1,
        "one-way-related": 2,
        "top-with-broader": 1,
        "omitted-top": 2,
        "missing-label": 1,
        "notation-clash": 1,
        "mapping-clash": 1,
        "unknown-term": 1,
        "language-gap": 1,
        "undocumented": 5,
        "cluster": 1,
    }
    assert {code: found.get(code) for code in expected} == expected
    assert report(file).find("notation-clash").examples == ["1: http://e/f (Go), http://e/g"]  # type: ignore[union-attr]


@pytest.mark.parametrize("code", FIXES)
def test_a_repair_removes_its_finding_keeps_the_rest_and_repeats_without_effect(code: str, file: Path) -> None:
    before = statements(file)
    patch = repair(file, [code])
    assert patch.removed or patch.added
    fixed = file.with_name("fixed.ttl")
    fixed.write_text(patch.text)
    assert report(fixed).find(code) is None
    removed = {line[2:] for line in patch.lines() if line.startswith("- ")}
    added = {line[2:] for line in patch.lines() if line.startswith("+ ")}
    assert statements(fixed) == (before - removed) | added
    assert removed <= before
    again = repair(fixed, [code])
    assert again.lines() == []
    assert again.text == patch.text


def test_all_repairs_at_once_leave_none_of_their_findings(file: Path) -> None:
    file.write_text(repair(file, FIXES).text)
    assert not {one.code for one in report(file).findings} & set(FIXES)
    assert len(list(ox.parse(path=file))) > 30


@pytest.mark.parametrize("format", ["n-triples", "rdf-xml", "json-ld"])
def test_other_syntaxes_are_kept(format: str, file: Path) -> None:
    from linnaeus.taxonomy.formats.skos import syntax_of

    triples = [quad.triple for quad in ox.parse(path=file)]
    text = (ox.serialize(triples, format=syntax_of(format)) or b"").decode()
    file.write_text(f'{{"@graph": {text}}}' if format == "json-ld" else text)
    patch = repair(file, ["redundant-edge"])
    assert patch.format == format
    file.write_text(patch.text)
    assert report(file).find("redundant-edge") is None


def test_unknown_repairs_and_other_formats_are_refused(file: Path) -> None:
    with pytest.raises(ParameterError, match="no repair of 'redundant'; did you mean 'redundant-edge'"):
        repair(file, ["redundant"])
    file.write_text("parent\tchild\nA\tB\n")
    with pytest.raises(TaxonomyError, match="only SKOS files can be repaired"):
        repair(file, ["redundant-edge"])
