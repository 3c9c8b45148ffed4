"""SKOS vocabularies as libraries publish them: deprecated concepts, several languages, ids without meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy

FORMER = """@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix o: <http://www.w3.org/2002/07/owl#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> . @prefix x: <http://ex.org/d/> .
x:10-1 a s:Concept ; s:prefLabel "Trade"@en, "Handel"@de ; s:altLabel "Commerce"@en .
x:11-2 a s:Concept ; s:broader x:10-1 ; s:prefLabel "Trainers"@en, "Ausbilder"@de .
x:12-3 a x:Descriptor ; r:label "Barter"@en ; o:deprecated true .
"""


def test_deprecated_concepts_of_another_type_without_a_replacement_are_known(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(FORMER)
    tax = Taxonomy.read(tmp_path / "v.ttl")
    assert tax.deprecated["http://ex.org/d/12-3"].label == "Barter"
    assert tax.hint("http://ex.org/d/12-3") == "; it is deprecated and has no replacement."
    assert "Barter" in Taxonomy.read(tmp_path / "v.ttl", names="label").deprecated


def test_labels_in_another_language_and_alternative_labels_are_recognised_in_hints(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(FORMER)
    tax = Taxonomy.read(tmp_path / "v.ttl", names="label")
    assert "it is the label of 'Trainers' in the language 'de'" in tax.hint("Ausbilder")
    assert "--language de" in tax.hint("Ausbilder")
    assert tax.hint("Commerce") == "; it is an alternative label of 'Trade'."
    assert tax.hint("Trainer") == "; did you mean 'Trainers'?"


@pytest.mark.parametrize("id", ["http://ex.org/d/10-2", "GO:0001529", "D000819", "1113", "2.7.7.19"])
def test_no_guess_is_made_for_ids_without_meaning(id: str) -> None:
    assert Taxonomy.flat(["http://ex.org/d/10-1", "GO:0001528", "D000818", "1112", "2.7.7.18"]).hint(id) == ""
    assert "Tennis" in Taxonomy.flat(["http://ex.org/Tennis"]).hint("http://ex.org/Tenis")


def test_statements_about_statements_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "topics.ttl").write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<urn:a> a skos:Concept ; skos:broader <<( <urn:a> skos:note "n" )>> .\n'
        "<urn:b> a skos:Concept ; skos:broader <urn:a> .\n"
    )
    tax = Taxonomy.read(tmp_path / "topics.ttl")
    assert sorted(tax.names) == ["urn:a", "urn:b"]
    assert tax.n_edges == 1
