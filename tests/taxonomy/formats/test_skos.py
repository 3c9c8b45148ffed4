"""SKOS vocabularies as libraries publish them: deprecated concepts, several languages, ids without meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy import formats

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


TEXTS = """@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix l: <http://www.w3.org/2008/05/skos-xl#> .
@prefix r: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix x: <urn:x:> .
x:a a s:Concept ; s:prefLabel "Heart attack"@en, "Herzinfarkt"@de ; s:altLabel "MI"@en ; s:hiddenLabel "hart atack"@en ;
  s:definition [ r:value "Necrosis."@en ] ; s:scopeNote "Use for people."@en ; s:example "x" ; s:notation "I21" ;
  s:historyNote "Since 1990."@en ; l:prefLabel x:label1 ; l:altLabel [ l:literalForm "Infarkt"@de ] .
x:label1 l:literalForm "Heart attack"@en .
x:b a s:Concept ; s:broader x:a ; l:prefLabel x:label2 .
x:label2 a l:Label ; l:literalForm "Silent"@en .
x:scheme s:definition "Not of a concept."@en .
"""


def test_all_texts_are_read_in_all_languages_and_from_label_resources(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(TEXTS)
    tax = Taxonomy.read(tmp_path / "v.ttl")
    assert [tuple(entry) for entry in tax.texts] == [
        (0, "preferred", "de", "Herzinfarkt"),
        (0, "preferred", "en", "Heart attack"),
        (0, "alternative", "de", "Infarkt"),
        (0, "alternative", "en", "MI"),
        (0, "hidden", "en", "hart atack"),
        (0, "definition", "en", "Necrosis."),
        (0, "scope_note", "en", "Use for people."),
        (0, "note", "en", "Since 1990."),
        (0, "example", "", "x"),
        (0, "notation", "", "I21"),
        (1, "preferred", "en", "Silent"),
    ]
    assert tax.display("urn:x:b") == "Silent"
    assert tax.with_language("de").display("urn:x:a") == "Herzinfarkt"


def test_a_display_label_that_is_not_among_the_texts_is_written_too(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(TEXTS)
    tax = Taxonomy.read(tmp_path / "v.ttl").with_display_labels({"urn:x:a": "Infarto"})
    tax.write(tmp_path / "w.ttl", language="es")
    assert Taxonomy.read(tmp_path / "w.ttl", language="es").display("urn:x:a") == "Infarto"
    with pytest.raises(TaxonomyError, match="'not a tag' is not a language tag"):
        tax.write(tmp_path / "w.ttl", language="not a tag")


JSON_LD = """{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#",
  "broader": {"@id": "skos:broader", "@type": "@id"},
  "altLabel": {"@id": "skos:altLabel", "@container": "@language"}},
 "@graph": [{"@id": "urn:b", "@type": "skos:Concept", "broader": "urn:a", "altLabel": {"de": ["Oper", "Musikdrama"]}},
  {"@id": "urn:a", "@type": "skos:Concept", "skos:prefLabel": {"@value": "Music", "@language": "en"}}]}"""


def test_json_ld_is_recognised_and_read(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(JSON_LD)
    assert formats.recognise(tmp_path / "v.json") == "json-ld"
    tax = Taxonomy.read(tmp_path / "v.json")
    assert [entry.text for entry in tax.texts] == ["Music", "Oper", "Musikdrama"]
    assert tax.names[tax.parents("urn:b")].tolist() == ["urn:a"]


def test_a_context_at_another_address_is_not_fetched(tmp_path: Path) -> None:
    text = '{"@context": "http://www.w3.org/2004/02/skos/core.jsonld", "@id": "urn:a"}'
    (tmp_path / "v.jsonld").write_text(text)
    with pytest.raises(TaxonomyError, match="the @context is at another address"):
        Taxonomy.read(tmp_path / "v.jsonld")
    (tmp_path / "v.jsonld").write_text('{"@context": {"http://www.w3.org/2004/02/skos/core#": ' + "[" * 100_000)
    with pytest.raises(TaxonomyError, match="not json-ld"):
        Taxonomy.read(tmp_path / "v.jsonld")


def test_deprecated_concepts_without_a_type_are_kept_on_request(tmp_path: Path) -> None:
    file = tmp_path / "v.ttl"
    file.write_text(
        "@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix o: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix r: <http://www.w3.org/2000/01/rdf-schema#> . @prefix d: <http://purl.org/dc/terms/> .\n"
        '<urn:a> a s:Concept ; s:prefLabel "A" . <urn:b> o:deprecated true ; r:label "B" ; d:isReplacedBy <urn:a> .\n'
        "<urn:property> o:deprecated true .\n"
    )
    kept = Taxonomy.read(file, obsolete=True)
    assert sorted(kept.names) == ["urn:a", "urn:b"]
    assert kept.display("urn:b") == "B"
    assert "urn:b" in Taxonomy.read(file).deprecated
