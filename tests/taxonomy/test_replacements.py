"""Aliases are read as their nodes, deprecated ids are named with their replacement, and both are kept in files."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError, TaxonomyError, UnknownLabelError
from linnaeus.store.folder import decode, encode
from linnaeus.taxonomy import Deprecated

OBO = """format-version: 1.2
default-namespace: process

[Term]
id: X:1
name: process

[Term]
id: X:2
name: growth
is_a: X:1
alt_id: X:02
alt_id: X:002
relationship: part_of X:1

[Term]
id: X:3
name: division
namespace: function
is_a: X:1
alt_id: X:8

[Term]
id: X:4
name: old growth
is_obsolete: true
replaced_by: X:02

[Term]
id: X:5
name: older growth
alt_id: X:05
is_obsolete: true
replaced_by: X:4

[Term]
id: X:6
name: vague
is_obsolete: true
consider: X:2
consider: X:3

[Term]
id: X:7
name: gone
is_obsolete: true

[Term]
id: X:8
name: merged
is_obsolete: true
replaced_by: X:3

[Term]
id: X:90
name: one of a circle
is_obsolete: true
replaced_by: X:91

[Term]
id: X:91
name: the other
is_obsolete: true
replaced_by: X:90
"""

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix x: <http://example.org/> .
x:c1 a skos:Concept ; skos:prefLabel "Diseases"@en, "Krankheiten"@de ; skos:notation "1" .
x:c99 a skos:Concept ; skos:prefLabel "Neoplasms"@en ; skos:notation "99" ; skos:broader x:c1 .
x:c17 a skos:Concept ; owl:deprecated true ; skos:prefLabel "Cancer"@en ; skos:notation "17" ; dct:isReplacedBy x:c99 .
x:c18 a skos:Concept ; owl:deprecated true ; skos:prefLabel "Ills"@en ; dct:isReplacedBy x:c99, x:c1 .
x:c19 a skos:Concept ; owl:deprecated true ; skos:broader x:c1 .
x:c99 dct:replaces x:c20 .
"""
X = "http://example.org/"


@pytest.fixture
def obo(tmp_path: Path) -> Path:
    (tmp_path / "terms.obo").write_text(OBO)
    return tmp_path / "terms.obo"


@pytest.fixture
def skos(tmp_path: Path) -> Path:
    (tmp_path / "terms.ttl").write_text(SKOS)
    return tmp_path / "terms.ttl"


def test_alternative_ids_of_obo_terms_are_read_as_their_terms(obo: Path) -> None:
    tax = Taxonomy.read(obo)
    assert dict(tax.aliases) == {"X:02": "X:2", "X:002": "X:2", "X:8": "X:3"}
    assert tax.index("X:002") == tax.index("X:2")
    assert "X:002" not in tax
    assert tax.labels(tax.indicator([["X:02", "X:2"], "X:8"])) == [["X:2"], ["X:3"]]


def test_obsolete_terms_are_followed_through_other_obsolete_terms_and_aliases(obo: Path) -> None:
    deprecated = Taxonomy.read(obo).deprecated
    assert deprecated["X:4"] == Deprecated(("X:2",), label="old growth")
    assert deprecated["X:5"].replaced_by == deprecated["X:05"].replaced_by == ("X:2",)
    assert deprecated["X:6"] == Deprecated(consider=("X:2", "X:3"), label="vague")
    assert deprecated["X:90"].replaced_by == ()
    assert set(deprecated) == {"X:4", "X:5", "X:05", "X:6", "X:7", "X:90", "X:91"}
    assert not Taxonomy.read(obo, obsolete=True).deprecated


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("X:4", r"'X:4' \(document 1\) is not in the taxonomy; it is deprecated, use 'X:2' \(growth\)\."),
        ("X:6", r"it is deprecated, consider one of 'X:2' \(growth\), 'X:3' \(division\)\."),
        ("X:7", r"it is deprecated and has no replacement\."),
        ("X:33", r"'X:33' \(document 1\) is not in the taxonomy\.\Z"),
    ],
)
def test_deprecated_labels_are_named_with_their_replacement(obo: Path, label: str, message: str) -> None:
    with pytest.raises(UnknownLabelError, match=message):
        Taxonomy.read(obo).indicator([["X:1"], [label]])


def test_deprecated_labels_are_replaced_on_request_if_the_replacement_is_certain(obo: Path) -> None:
    tax = Taxonomy.read(obo)
    assert tax.labels(tax.indicator([["X:4"], ["X:05", "X:8"]], unknown="replace")) == [["X:2"], ["X:2", "X:3"]]
    assert tax.replaced([["X:4", "X:02"], ["X:4", "X:6"]]) == ([["X:2"], ["X:2", "X:6"]], {"X:4": 2})
    assert tax.indicator([["X:4"]], unknown="drop").nnz == 0
    with pytest.raises(UnknownLabelError, match="'X:6' .* consider one of"):
        tax.indicator([["X:6"]], unknown="replace")
    with pytest.raises(ParameterError, match="'error', 'drop', 'replace'; did you mean 'replace'"):
        tax.indicator([["X:4"]], unknown="replaced")


def test_replacements_outside_the_chosen_namespaces_are_not_named(obo: Path) -> None:
    tax = Taxonomy.read(obo, namespaces=["process"])
    assert tax.deprecated["X:6"].consider == ("X:2",)
    assert tax.deprecated["X:8"].replaced_by == ()
    assert "X:8" not in tax.aliases


def test_relations_that_no_term_has_are_an_error_that_lists_those_of_the_file(obo: Path) -> None:
    with pytest.raises(TaxonomyError, match="no term has the relation 'partof'; the file has 'is_a', 'part_of'"):
        Taxonomy.read(obo, relations=["is_a", "partof"])


def test_deprecated_concepts_of_skos_are_named_with_their_replacement(skos: Path) -> None:
    tax = Taxonomy.read(skos)
    assert tax.deprecated[X + "c17"] == Deprecated((X + "c99",), label="Cancer")
    assert tax.deprecated[X + "c18"].replaced_by == (X + "c99", X + "c1")
    assert tax.deprecated[X + "c19"].replaced_by == ()
    assert tax.deprecated[X + "c20"].replaced_by == (X + "c99",)
    with pytest.raises(TaxonomyError, match=r"c17' is not a node .* deprecated, use 'http://example.org/c99' \(Neo"):
        tax.index(X + "c17")


def test_deprecated_concepts_are_called_as_the_nodes_are(skos: Path) -> None:
    notations = skos.read_text().replace('"Ills"@en', '"Ills"@en ; skos:notation "18"')
    skos.write_text(notations)
    tax = Taxonomy.read(skos, names="notation")
    assert tax.deprecated["17"].replaced_by == ("99",)
    assert tax.deprecated["18"].replaced_by == ("99", "1")


@pytest.mark.parametrize("language", ["fr", "e"])
def test_a_language_that_no_label_has_is_an_error_that_lists_the_languages(skos: Path, language: str) -> None:
    with pytest.raises(TaxonomyError, match=rf"in the language '{language}'; the languages .* en \(4\), de \(1\)"):
        Taxonomy.read(skos, language=language)
    assert Taxonomy.read(skos, language="de").display(X + "c1") == "Krankheiten"


def test_replacements_are_no_part_of_the_identity_but_are_kept_everywhere(obo: Path, tmp_path: Path) -> None:
    tax = Taxonomy.read(obo)
    bare = tax.with_replacements()
    assert bare == tax
    assert bare.fingerprint == tax.fingerprint
    assert not bare.aliases
    arrays: dict = {}
    stored = decode(json.loads(json.dumps(encode(tax, arrays))), arrays)
    tax.write(tmp_path / "again.obo")
    again = Taxonomy.read(tmp_path / "again.obo")
    for other in (pickle.loads(pickle.dumps(tax)), copy.deepcopy(tax), stored, again, tax.with_misc_leaves()):
        assert dict(other.aliases) == dict(tax.aliases)
        assert dict(other.deprecated) == dict(tax.deprecated)


def test_skos_files_keep_deprecated_concepts(skos: Path, tmp_path: Path) -> None:
    tax = Taxonomy.read(skos)
    tax.write(tmp_path / "again.rdf")
    assert dict(Taxonomy.read(tmp_path / "again.rdf").deprecated) == dict(tax.deprecated)


def test_replacements_must_be_nodes_and_replaced_ids_must_not() -> None:
    tax = Taxonomy.from_edges([("A", "AA")])
    with pytest.raises(TaxonomyError, match="'A' is a node of the taxonomy"):
        tax.with_replacements({"A": "AA"})
    with pytest.raises(TaxonomyError, match="'AAA', which replaces 'x', is not a node .* did you mean 'AA'"):
        tax.with_replacements(deprecated={"x": Deprecated(("AAA",))})
