"""Write, then read: an equal taxonomy, in every format and for every kind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy import formats
from tests.strategies import taxonomies

EVERYTHING = [
    "turtle",
    "rdf-xml",
    "n-triples",
    "json-ld",
    "obo",
    "edges",
    "paths",
    "indented",
    "json",
    "children",
    "mesh",
]
ODD_NAMES = [
    "tab\there",
    'quo"te',
    "com,ma",
    "semi;colon",
    "line\nbreak",
    "#hash",
    "x--y",
    "ä 名",
    "a/b.c",
    "{}!\\",
    "A:1",
]


def written_and_read(taxonomy: Taxonomy, format: str, **options: str) -> Taxonomy:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        formats.write(taxonomy, file, format, **options)
        return formats.read(file)


@pytest.mark.parametrize("format", EVERYTHING)
@given(data=st.data())
@settings(max_examples=40)
def test_any_tree_or_dag_comes_back_equal(format: str, data: st.DataObject) -> None:
    taxonomy = data.draw(taxonomies(max_nodes=8))
    assert written_and_read(taxonomy, format) == taxonomy


@given(taxonomies(max_nodes=8))
@settings(max_examples=60)
def test_lshtc_comes_back_equal_unless_a_node_has_no_edge(taxonomy: Taxonomy) -> None:
    if any(not len(taxonomy.parents(v)) and taxonomy.is_leaf[v] for v in range(taxonomy.n_nodes)):
        with pytest.raises(TaxonomyError, match="neither parent nor child"):
            written_and_read(taxonomy, "lshtc")
    else:
        assert written_and_read(taxonomy, "lshtc") == taxonomy


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=6), st.sampled_from("./-")
)
@settings(max_examples=60)
def test_codes_come_back_equal(paths: list[list[str]], separator: str) -> None:
    taxonomy = Taxonomy.from_paths(paths, separator=separator)
    assert written_and_read(taxonomy, "codes") == taxonomy


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=6))
@settings(max_examples=60)
def test_arff_paths_come_back_equal(paths: list[list[str]]) -> None:
    taxonomy = Taxonomy.from_paths(paths, separator="/")
    assert written_and_read(taxonomy, "arff") == taxonomy


def test_arff_pairs_below_the_word_root_come_back_equal() -> None:
    taxonomy = Taxonomy.from_edges([("root", "A"), ("root", "B"), ("A", "C"), ("B", "C")])
    assert written_and_read(taxonomy, "arff") == taxonomy


@pytest.mark.parametrize("format", ["turtle", "rdf-xml", "n-triples", "json-ld", "obo", "edges", "paths", "json"])
def test_odd_names_come_back_as_they_were(format: str) -> None:
    taxonomy = Taxonomy.from_edges([("top", name) for name in ODD_NAMES])
    assert written_and_read(taxonomy, format) == taxonomy


@pytest.mark.parametrize("format", ["indented", "children", "paths", "edges", "json", "mesh", "obo"])
def test_names_of_several_words_come_back_though_they_have_no_edges(format: str) -> None:
    for names in (["New York", "York New"], ["Los Angeles"], ["text", "labels"]):
        taxonomy = Taxonomy.flat(names)
        assert written_and_read(taxonomy, format) == taxonomy


def test_paths_that_look_like_the_header_of_documents_come_back() -> None:
    taxonomy = Taxonomy.from_paths([["text", "label"]])
    assert written_and_read(taxonomy, "paths", separator="\t") == taxonomy


@pytest.mark.parametrize("format", ["indented", "children", "mesh", "lshtc"])
def test_a_name_with_a_line_break_is_refused_where_it_cannot_be_held(format: str) -> None:
    with pytest.raises(TaxonomyError, match=r"line\\nbreak"):
        written_and_read(Taxonomy.from_edges([("top", "line\nbreak")]), format)


@pytest.mark.parametrize("format", ["turtle", "rdf-xml", "n-triples", "json-ld", "obo", "edges", "json"])
def test_display_labels_come_back(format: str) -> None:
    shown = {"A": "Animals, all", "B": 'Bees "and" ants', "C": "Cats\tand tabs"}
    taxonomy = Taxonomy.from_edges([("A", "B"), ("A", "C")], display_labels=shown)
    back = written_and_read(taxonomy, format)
    assert [back.display(v) for v in range(3)] == list(shown.values())


def test_codes_keep_their_labels() -> None:
    taxonomy = Taxonomy.from_edges(
        [("1", "1.1"), ("1", "1.2")], root=None, display_labels={"1": "One", "1.2": "One, two"}
    )
    back = written_and_read(taxonomy, "codes")
    assert [back.display(v) for v in range(3)] == ["One", "1.1", "One, two"]


def test_a_graph_comes_back_equal() -> None:
    graph = Taxonomy.from_edges([("a", "b"), ("c", "a"), ("b", "c")], nodes=["z", "a"], kind="graph")
    assert written_and_read(graph, "edges") == graph


@pytest.mark.parametrize("format", ["codes", "arff"])
def test_a_taxonomy_that_the_format_cannot_hold_is_refused(format: str, abc: Taxonomy) -> None:
    with pytest.raises(TaxonomyError, match="cannot hold this taxonomy"):
        written_and_read(abc, format)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2"])
def test_the_ending_says_format_and_compression(ending: str, tmp_path: Path, abc: Taxonomy) -> None:
    for name, format in [("t.csv", "edges"), ("t.ttl", "turtle"), ("t.paths.csv", "paths"), ("t.txt", "indented")]:
        file = tmp_path / (name + ending)
        abc.write(file)
        assert Taxonomy.read(file) == abc
        assert formats.recognise(file) == format


def test_csv_is_written_with_commas(tmp_path: Path, abc: Taxonomy) -> None:
    abc.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().startswith("parent,child\nR,A\n")


def test_no_note_is_written_where_none_is_needed(tmp_path: Path, abc: Taxonomy) -> None:
    for name in ("t.tsv", "t.txt", "t.taxonomy", "t.json", "t.obo", "t.ttl"):
        abc.write(tmp_path / name)
        assert "linnaeus {" not in (tmp_path / name).read_text()
        assert '"linnaeus"' not in (tmp_path / name).read_text()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, abc: Taxonomy) -> None:
    file = tmp_path / "t.codes"
    file.write_text("old")
    with pytest.raises(TaxonomyError):
        abc.write(file)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["t.codes"]


def test_an_unknown_ending_is_refused_with_those_that_are_known(tmp_path: Path, abc: Taxonomy) -> None:
    with pytest.raises(TaxonomyError, match=r"\.ttl"):
        abc.write(tmp_path / "t.docx")
