"""Correspondence tables: reading them, and their problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.revisions import Correspondence

OLD = Taxonomy.from_edges(
    [("A", "01"), ("A", "02"), ("B", "03")],
    root=None,
    display_labels={"01": "Crops", "02": "Fish, fresh", "03": "Wood"},
)
NEW = Taxonomy.from_edges(
    [("X", "1.1"), ("X", "1.2"), ("Y", "2.1"), ("Y", "2.2")],
    root=None,
    display_labels={"1.1": "Plants", "1.2": "Fishing", "2.1": "Timber", "2.2": "Paper"},
)


def given(folder: Path, text: str, name: str = "table.csv") -> Correspondence:
    (folder / name).write_text(text)
    return Correspondence.read(folder / name, OLD, NEW)


@pytest.mark.parametrize(
    "text",
    [
        "title,new,note,old\nCrops,1.1,x,01\nFish,1.2,,02\nWood,2.1,,03\nWood,2.2,,03\n",
        "01\t1.1\n02\t1.2\n03\t2.1; 2.2\n",
        '"Old heading","New heading"\nCrops,Plants\n"Fish, fresh",Fishing\nWood,Timber|Paper\n',
    ],
)
def test_the_two_code_columns_are_found_by_content(text: str, tmp_path: Path) -> None:
    assert given(tmp_path, text).targets == {"01": ("1.1",), "02": ("1.2",), "03": ("2.1", "2.2")}


def test_columns_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n01,1.1,2.2\n02,1.2,2.1\n")
    assert Correspondence.read(tmp_path / "t.csv", OLD, NEW, columns=("a", "c")).targets["01"] == ("2.2",)
    assert Correspondence.read(tmp_path / "t.csv", OLD, NEW, columns=("1", "3")).targets["01"] == ("2.2",)
    with pytest.raises(DataError, match="there is no column 'd'"):
        Correspondence.read(tmp_path / "t.csv", OLD, NEW, columns=("a", "d"))


def test_weights_kinds_and_rejected_rows_are_read(tmp_path: Path) -> None:
    text = "old,new,share,relation,confirmed\n03,2.1,75%,narrower,yes\n03,2.2,25%,narrower,\n01,1.2,,exact,no\n"
    table = given(tmp_path, text)
    assert table.shares("03") == {"2.1": 0.75, "2.2": 0.25}
    assert [pair.kind for pair in table.pairs] == ["narrow", "narrow"]
    assert any("1 rows were dropped" in note for note in table.notes)
    assert any("1 rows are proposals that nobody confirmed" in note for note in table.notes)


def test_rules_in_yaml_and_json_are_read(tmp_path: Path) -> None:
    yaml = "rules:\n- input:\n    id: 01\n  output:\n    id:\n    - 1.1\n    - 1.2\n"
    yaml += "- input: {id: 02}\n  output: {id: []}\n"
    table = given(tmp_path, yaml, "rules.yml")
    assert table.targets == {"01": ("1.1", "1.2")}
    assert table.without_target == ("02",)
    assert given(tmp_path, '{"01": "1.1", "03": ["2.1", "2.2"]}', "m.json").multivocal == ("03",)
    assert given(tmp_path, '[{"from": "01", "to": "1.1"}]', "l.json").univocal == ("01",)


RDF = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix xkos: <http://rdf-vocabulary.ddialliance.org/xkos#> .
<http://o/01> skos:exactMatch <http://n/1.1> . <http://n/1.2> skos:broadMatch <http://o/02> .
<http://o/02> skos:exactMatch <http://elsewhere/9> .
[] a xkos:ConceptAssociation ; xkos:sourceConcept <http://o/03> ; xkos:targetConcept <http://n/2.1> , <http://n/2.2> .
"""


def test_skos_matches_and_xkos_associations_are_read_in_both_directions(tmp_path: Path) -> None:
    table = given(tmp_path, RDF, "map.ttl")
    assert table.targets == {"01": ("1.1",), "02": ("1.2",), "03": ("2.1", "2.2")}
    assert {pair.old: pair.kind for pair in table.pairs} == {"01": "exact", "02": "narrow", "03": ""}
    assert table.notes == ("1 matches with other vocabularies were left out.",)


def test_problems_name_unknown_codes_missing_targets_cycles_and_contradictions() -> None:
    old = Taxonomy.flat(["a", "b", "c", "d"])
    table = Correspondence.from_pairs([("a", "b"), ("b", "a"), ("c", "c"), ("q", "a"), ("c", "zz")], ["c"])
    found = {finding.code: finding for finding in table.problems(old, Taxonomy.flat(["a", "b", "c"]))}
    assert set(found) == {
        "unknown-old-code",
        "unknown-new-code",
        "contradiction",
        "source-without-target",
        "table-cycle",
    }
    assert found["table-cycle"].examples == ["a > b > a"]
    assert found["source-without-target"].examples == ["d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("old,new\nx,y\nz,w\n", "no pair of columns holds codes of the two versions"),
        ("old,new,share\n01,1.1,many\n", "table.csv:2: the weight 'many' is not a number"),
        ("old,new,kind\n01,1.1,exact\n01,1.1,narrower\n", "'01' > '1.1' is given as 'exact' and as 'narrow'"),
        ("just one column\n01\n", "expected a table"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        given(tmp_path, text)


def test_pairs_are_validated() -> None:
    with pytest.raises(ParameterError, match="'same' is not a kind of pair"):
        Correspondence.from_pairs([("a", "b", "same")])
    with pytest.raises(ParameterError, match="is not a number from 0"):
        Correspondence.from_pairs([("a", "b", "", -1)])


def test_the_inverse_turns_pairs_and_kinds() -> None:
    turned = Correspondence.from_pairs([("a", "x", "broad"), ("b", "x", "broad")]).inverse()
    assert turned.targets == {"x": ("a", "b")}
    assert {pair.kind for pair in turned.pairs} == {"narrow"}


def test_reports_that_tell_replacements_in_sentences_are_read(tmp_path: Path) -> None:
    old = Taxonomy.from_edges([("Top", name) for name in ("Abdomen, Acute", "D01", "Gallstones", "Gone")])
    new = Taxonomy.from_edges([("Top", name) for name in ("Abdominal Pain", "D02", "Stones", "Bile")])
    file = tmp_path / "report.txt"
    file.write_text(
        "MeSH replaced headings\n\nAbdomen, Acute replaced by Abdominal Pain\nFoo [D01] was replaced with Bar [D02].\n"
        "Gallstones -> Stones; Bile\nDeleted: Gone\n"
    )
    found = Correspondence.read(file, old, new)
    assert found.targets["Abdomen, Acute"] == ("Abdominal Pain",)
    assert found.targets["D01"] == ("D02",)
    assert found.targets["Gallstones"] == ("Stones", "Bile")
    assert found.without_target == ("Gone",)
    assert any("1 lines" in note for note in found.notes)


def test_fingerprints_of_tables_do_not_depend_on_their_order() -> None:
    one, two = (Correspondence.from_pairs(pairs) for pairs in ([("a", "b"), ("c", "d")], [("c", "d"), ("a", "b")]))
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != Correspondence.from_pairs([("a", "b")]).fingerprint


TREE_OLD = Taxonomy.from_edges([("1", "2")], root=None, display_labels={"1": "Pets", "2": "Cats"})
TREE_NEW = Taxonomy.from_edges([("ap", "ap-1")], root=None, display_labels={"ap": "Animals", "ap-1": "Cats"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.txt", "# Mapping\n# \u2192 {old}\n\n\u2192 Pets\n\u21d2 Animals\n\n-> Pets > Cats\n=> Animals > Cats\n"),
        (
            "map.json",
            """{"version": "7", "mappings": [
                {"output_taxonomy": "google", "rules": [
                  {"input": {"category": {"id": "gid://s/ap"}}, "output": {"category": [{"id": "1"}]}}]},
                {"output_taxonomy": "s/7", "rules": [
                  {"input": {"category": {"id": "1", "full_name": "Pets"}},
                   "output": {"category": [{"id": "gid://s/ap", "full_name": "Animals"}]}},
                  {"input": {"category": {"id": "2", "full_name": "Pets > Cats"}},
                   "output": {"category": [{"id": "gid://s/ap-1", "full_name": "Animals > Cats"}]}}]}]}""",
        ),
        ("map.yml", "mappings:\n- from: 1\n  to:\n  - ap\n- from: 2\n  to: ap-1\n"),
        (
            "map.yml",
            "rules:\n- {input: {full_name: Pets}, output: {full_name: [Animals]}}\n- {input: 2, output: ap-1}\n",
        ),
    ],
)
def test_rules_are_read_in_the_forms_that_vendors_publish(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert Correspondence.read(tmp_path / name, TREE_OLD, TREE_NEW).targets == {"1": ("ap",), "2": ("ap-1",)}


def test_rules_that_are_all_commented_out_are_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "map.yml").write_text("---\ninput_taxonomy: a\nrules:\n# - input:\n#     id: 1\n")
    found = Correspondence.read(tmp_path / "map.yml", TREE_OLD, TREE_NEW)
    assert (found.pairs, found.without_target) == ((), ())


def test_an_old_path_without_a_double_arrow_has_no_target(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("\u2192 Pets\n\u2192 Pets > Cats\n\u21d2 Animals > Cats\n\u21d2 Animals\n")
    found = Correspondence.read(tmp_path / "map.txt", TREE_OLD, TREE_NEW)
    assert (found.without_target, found.targets) == (("1",), {"2": ("ap-1", "ap")})
    (tmp_path / "map.txt").write_text("\u21d2 Animals > Cats\n")
    with pytest.raises(DataError, match=r"map.txt:1: '\u21d2 Animals > Cats' has no line with an arrow above it"):
        Correspondence.read(tmp_path / "map.txt", TREE_OLD, TREE_NEW)
