"""Texts in every format that holds them: read from the usual columns and tags, and written so that they come back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.taxonomy import formats
from linnaeus.taxonomy.formats.draft import joined_cell, split_cell, text_column
from linnaeus.taxonomy.texts import KINDS, Texts

HOLDING = ["turtle", "rdf-xml", "n-triples", "json-ld", "obo", "json", "edges", "codes"]
ODD = "a|b;c\\d \"e\" <f>&g ! {h}\n\ti\u00e4\u540d 'j', k # l\u2028m"
TEXT = st.one_of(st.just(ODD), st.text(st.sampled_from('ab|;\\"!{}<& \n\t,@\u00e9'), max_size=6))


def written_and_read(taxonomy: Taxonomy, format: str) -> Taxonomy:
    with tempfile.TemporaryDirectory() as folder:
        formats.write(taxonomy, Path(folder) / "file", format)
        return formats.read(Path(folder) / "file", format)


@pytest.mark.parametrize("format", HOLDING)
@given(
    entries=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(KINDS), st.sampled_from(["", "de", "en-gb"]), TEXT), max_size=8
    )
)
@settings(max_examples=25)
def test_any_texts_come_back(format: str, entries: list[tuple[int, str, str, str]]) -> None:
    entries = [(v, kind, "" if kind == "notation" else language, text) for v, kind, language, text in entries]
    entries += [(v, "preferred", "", label) for v, label in enumerate(["One", "Two", "Three"])]
    labels = {"1": "One", "1.1": "Two", "1.2": "Three"}
    taxonomy = Taxonomy.from_edges([("1", "1.1"), ("1", "1.2")], root=None, display_labels=labels)
    taxonomy = taxonomy.with_texts(Texts.from_entries(entries))
    back = written_and_read(taxonomy, format)
    assert back == taxonomy
    assert list(back.texts) == list(taxonomy.texts)


@pytest.mark.parametrize("format", HOLDING)
def test_texts_of_other_languages_come_back_with_the_label_of_one(format: str) -> None:
    entries = [(0, "preferred", "en", "Opera"), (0, "preferred", "de", "Oper"), (1, "alternative", "", "Aria; Arie")]
    taxonomy = Taxonomy.from_edges([("1", "1.1")], root=None, display_labels={"1": "Opera", "1.1": "Song"})
    taxonomy = taxonomy.with_texts(Texts.from_entries([*entries, (1, "preferred", "", "Song")]))
    back = written_and_read(taxonomy, format)
    assert back.texts == taxonomy.texts
    assert [back.display(v) for v in range(2)] == ["Opera", "Song"]


OBO = r"""format-version: 1.2

[Term]
id: X:1
name: heart attack
def: "Necrosis ! of \"muscle\"." [PMID:1, "x"]
synonym: "MI" EXACT [] {source="a", language="de"}
synonym: "infarct" RELATED []
synonym: not quoted
comment: Common. ! a comment
property_value: skos:scopeNote "Use for people." xsd:string
property_value: IAO:0000112 "He had one." xsd:string
property_value: unknown "x" xsd:string
"""


def test_obo_synonyms_definitions_and_comments_are_texts(tmp_path: Path) -> None:
    (tmp_path / "x.obo").write_text(OBO)
    assert [tuple(entry)[1:] for entry in Taxonomy.read(tmp_path / "x.obo").texts] == [
        ("preferred", "", "heart attack"),
        ("alternative", "de", "MI"),
        ("hidden", "", "infarct"),
        ("definition", "", 'Necrosis ! of "muscle".'),
        ("scope_note", "", "Use for people."),
        ("note", "", "Common."),
        ("example", "", "He had one."),
    ]


def test_columns_of_a_table_are_texts_and_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "id,parent,name,Synonyms,definition (de),weight\n1,,Heart,,Pumpe,3\n2,1,Attack,MI; infarct,,4\n"
    )
    draft = formats.draft(tmp_path / "x.csv")
    assert (draft.text_columns, draft.unused_columns) == (["Synonyms", "definition (de)"], ["weight"])
    assert [tuple(entry) for entry in draft.taxonomy().texts] == [
        (0, "preferred", "", "Heart"),
        (0, "definition", "de", "Pumpe"),
        (1, "preferred", "", "Attack"),
        (1, "alternative", "", "MI"),
        (1, "alternative", "", "infarct"),
    ]


def test_tables_with_a_label_for_each_language_show_the_english_one(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("parent,child,label_de,label_en\n,1,Herz,Heart\n1,2,Infarkt,\n")
    tax = Taxonomy.read(tmp_path / "x.csv")
    assert [tax.display(v) for v in range(2)] == ["Heart", "Infarkt"]
    assert Taxonomy.read(tmp_path / "x.csv", language="de").display("1") == "Herz"
    with pytest.raises(
        TaxonomyError, match=r"x.csv: no preferred label .* 'fr'; the languages of its texts are de \(2\)"
    ):
        Taxonomy.read(tmp_path / "x.csv", language="fr")
    with pytest.raises(ParameterError, match="does not have the option language"):
        Taxonomy.read(tmp_path / "x.csv", "paths", language="fr")


def test_titles_of_codes_may_have_notes_beside_them(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Code;Title;Note\n1;Farming;All of it\n11;Crops;\n12;Animals;Not bees\n")
    tax = Taxonomy.read(tmp_path / "x.csv")
    assert [entry.text for entry in tax.texts.of(tax.index("12"))] == ["Animals", "Not bees"]


def test_keys_of_json_objects_are_texts(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[{"id": "1", "prefLabel": {"en": "Heart", "de": ["Herz"]}, "synonyms": ["pump"], "children": '
        '[{"id": "2", "name": "Attack", "definition@de": "Infarkt", "note": 3}]}]'
    )
    tax = Taxonomy.read(tmp_path / "x.json")
    assert [tuple(entry) for entry in tax.texts] == [
        (0, "preferred", "de", "Herz"),
        (0, "preferred", "en", "Heart"),
        (0, "alternative", "", "pump"),
        (1, "preferred", "", "Attack"),
        (1, "definition", "de", "Infarkt"),
    ]
    assert tax.display("1") == "Heart"


@pytest.mark.parametrize("key", ["label", "name", "title"])
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_labels_by_language_are_preferred_labels(tmp_path: Path, key: str, ending: str) -> None:
    """They were dropped without a message."""
    (tmp_path / f"x.{ending}").write_text(
        f'[{{"id": "a1", "{key}": {{"en": "Heart", "de": "Herz"}}, "altLabel": {{"en": ["cardiac"]}}}},'
        f' {{"id": "a2", "parent": "a1", "{key}": ["Valve"]}}]'
    )
    tax = Taxonomy.read(tmp_path / f"x.{ending}", ending)
    assert [tuple(entry) for entry in tax.texts] == [
        (0, "preferred", "de", "Herz"),
        (0, "preferred", "en", "Heart"),
        (0, "alternative", "en", "cardiac"),
        (1, "preferred", "", "Valve"),
    ]
    assert [tax.display(v) for v in range(2)] == ["Heart", "Valve"]
    assert Taxonomy.read(tmp_path / f"x.{ending}", ending, language="de").display("a1") == "Herz"


def test_a_missing_language_is_an_error_that_lists_those_of_all_texts(tmp_path: Path) -> None:
    """Only preferred labels were counted, so that a file without them was said to have no texts."""
    (tmp_path / "x.json").write_text('[{"id": "1", "altLabel": {"en": ["pump"], "de": ["Pumpe"]}}]')
    with pytest.raises(TaxonomyError, match=r"no preferred .* 'fr'; the languages of its texts are de \(1\), en \(1\)"):
        Taxonomy.read(tmp_path / "x.json", language="fr")
    with pytest.raises(TaxonomyError, match=r"no preferred label .* 'en'; .* en \(1\), of preferred labels: none"):
        Taxonomy.read(tmp_path / "x.json", language="en")


@given(st.lists(TEXT.map(str.strip).filter(bool), min_size=1, max_size=4), st.sampled_from(KINDS))
def test_cells_are_split_where_they_were_joined(texts: list[str], kind: str) -> None:
    assert split_cell(joined_cell(texts), kind) == texts


@pytest.mark.parametrize("name", ["label", "weight", "parent", "notes_old", "name", "id@de"])
def test_other_columns_are_not_texts(name: str) -> None:
    assert text_column(name) is None


def test_files_without_texts_are_written_as_before(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_edges([("1", "1.1")], display_labels={"1": "One"})
    taxonomy.write(tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_text() == "parent\tchild\tlabel\n\t1\tOne\n1\t1.1\t\n"
