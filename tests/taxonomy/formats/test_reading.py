"""Each format as people write it, and the mistakes they make in it, with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.taxonomy import formats


def edges(taxonomy: Taxonomy) -> set[tuple[str, str]]:
    return {(taxonomy.names[p], taxonomy.names[v]) for v in range(taxonomy.n_nodes) for p in taxonomy.parents(v)}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reader(text: str | bytes, format: str | None = None, **options: Any) -> Taxonomy:
        file = tmp_path / "file.txt"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return formats.read(file, format, **options)

    return reader


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix x: <http://example.org/> .
x:animals a skos:Concept ; skos:prefLabel "Tiere"@de, "Animals"@en, "animals" ; skos:notation "1" ;
  skos:topConceptOf x:all .
x:cats a skos:Concept ; skos:prefLabel "Katzen"@de, "Cats"@en-GB ; skos:broader x:animals ; skos:notation "1.1" .
x:dogs a skos:Concept ; skos:prefLabel "chiens"@fr, "Hunde"@de ; skos:notation "1.2" .
x:animals skos:narrower x:dogs, x:cats .
x:pugs a skos:Concept ; skos:broader x:dogs ; skos:broaderTransitive x:animals ;
  skos:notation "1.2.1" ; skos:prefLabel "pugs" .
x:old a skos:Concept ; owl:deprecated true ; skos:broader x:animals .
"""
X = "http://example.org/"


def test_skos_edges_come_from_broader_and_narrower_but_not_from_the_transitive_relation(read: Any) -> None:
    tax = read(SKOS)
    assert edges(tax) == {(X + "animals", X + "cats"), (X + "animals", X + "dogs"), (X + "dogs", X + "pugs")}
    assert tax.names[tax.root] == X + "animals"


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        (None, ["Animals", "Cats", "chiens"]),
        ("de", ["Tiere", "Katzen", "Hunde"]),
        ("fr", ["Animals", "Cats", "chiens"]),
    ],
)
def test_skos_labels_prefer_the_language_then_english_then_none_then_the_first(
    read: Any, language: str | None, shown: list[str]
) -> None:
    tax = read(SKOS, language=language)
    assert [tax.display(X + name) for name in ("animals", "cats", "dogs")] == shown


def test_skos_nodes_can_be_called_by_notation_or_label(read: Any) -> None:
    assert edges(read(SKOS, names="notation")) == {("1", "1.1"), ("1", "1.2"), ("1.2", "1.2.1")}
    assert ("Animals", "chiens") in edges(read(SKOS, names="label"))


def test_skos_deprecated_concepts_are_left_out_unless_asked_for(read: Any) -> None:
    assert X + "old" not in read(SKOS)
    assert X + "old" in read(SKOS, obsolete=True)


def test_skos_mistakes_are_named(read: Any) -> None:
    head = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: not turtle"):
        read(head + "<urn:a> skos:broader <urn:b")
    with pytest.raises(TaxonomyError, match=r"file\.txt: parent 'urn:b' of 'urn:a' is unknown"):
        read(head + "<urn:a> a skos:Concept ; skos:broader <urn:b> .")
    with pytest.raises(TaxonomyError, match=r"file\.txt: .*cycle: urn:[ab] > urn:[ab] > urn:[ab]"):
        read(head + "<urn:a> skos:broader <urn:b> . <urn:b> skos:broader <urn:a> .")
    with pytest.raises(TaxonomyError, match="share the notation '1'"):
        read(
            head + "<urn:a> a skos:Concept ; skos:notation '1' . <urn:b> a skos:Concept ; skos:notation '1' .",
            names="notation",
        )


def test_turtle_needs_no_prefix(read: Any) -> None:
    core = "http://www.w3.org/2004/02/skos/core#"
    text = f"<http://e/a> a <{core}Concept> .\n<http://e/b>\n  a <{core}Concept> ;\n  <{core}broader> <http://e/a> .\n"
    assert edges(read(text)) == {("http://e/a", "http://e/b")}


RDF = """<?xml version="1.0" encoding="ENCODING" standalone="yes"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="urn:a"><skos:prefLabel>K\u00e4se</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1252", "utf-8", "UTF-16"])
def test_xml_is_read_in_the_encoding_that_it_declares(read: Any, encoding: str) -> None:
    text = RDF.replace("ENCODING", encoding)
    assert read(text.encode(encoding)).display("urn:a") == "K\u00e4se"
    assert read(text.encode("utf-8"), encoding="utf-8").display("urn:a") == "K\u00e4se"


def test_an_encoding_declared_but_unknown_or_untrue_does_no_harm(read: Any) -> None:
    with pytest.raises(TaxonomyError, match="'klingon' is not an encoding"):
        read(RDF.replace("ENCODING", "klingon").encode())
    assert read(RDF.replace("ENCODING", "UTF-16").encode()).display("urn:a") == "K\u00e4se"


OBO = """format-version: 1.2
default-namespace: animals

[Term]
id: X:1
name: animal

[Term]
id: X:2
name: cat ! with a comment
is_a: X:1 {source="me"} ! animal
alt_id: X:9

[Term]
id: X:3
name: tail
namespace: parts
relationship: part_of X:2 ! cat

[Term]
id: X:4
is_a: X:1
is_obsolete: true

[Typedef]
id: part_of
"""


def test_obo_takes_is_a_and_leaves_out_the_obsolete(read: Any) -> None:
    tax = read(OBO)
    assert edges(tax) == {("X:1", "X:2")}
    assert tax.display("X:2") == "cat"
    assert list(tax.names) == ["X:1", "X:3", "X:2"]


def test_obo_takes_other_relations_and_namespaces_if_asked(read: Any) -> None:
    assert edges(read(OBO, relations=["is_a", "part_of"])) == {("X:1", "X:2"), ("X:2", "X:3")}
    assert set(read(OBO, namespaces=["animals"]).names) == {"X:1", "X:2"}
    with pytest.raises(TaxonomyError, match="the file has"):
        read(OBO, namespaces=["plants"])


def test_obo_mistakes_are_named_with_their_line(read: Any) -> None:
    with pytest.raises(TaxonomyError, match=r"file\.txt:6: parent 'X:11' of 'X:2'.*did you mean"):
        read("format-version: 1.2\n[Term]\nid: X:1\n[Term]\nid: X:2\nis_a: X:11\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:5: the id 'X:1' was already given in line 3"):
        read("format-version: 1.2\n[Term]\nid: X:1\n[Term]\nid: X:1\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: a \[Term\] has no id"):
        read("format-version: 1.2\n[Term]\nname: x\n")


@pytest.mark.parametrize(
    "text",
    [
        "parent\tchild\nR\tA\nA\tB\n",
        "child,parent\nA,R\nB,A\n",
        "id;name;parent\nR;Root;\nA;First;R\nB;Second;A\n",
        "R\tA\nA\tB\n",
        "R,A\r\nA,B\r\n",
        "\ufeffR,A\nA,B",
        "# a comment\nR|A\nA|B\n",
        '"R","A"\n"A","B"\n',
    ],
)
def test_edge_lists_in_many_dresses_are_the_same(read: Any, text: str) -> None:
    tax = read(text)
    assert edges(tax) == {("R", "A"), ("A", "B")}
    assert tax.root == 0


def test_an_edge_list_has_labels_if_a_column_is_so_called(read: Any) -> None:
    assert read("id,parent,name\nR,,Root of all\nA,R,First\n").display("A") == "First"


def test_the_header_can_be_forced_or_forbidden(read: Any) -> None:
    assert "parent" in read("parent\tchild\nchild\tB\n", header=False)
    assert set(read("over\tunder\nA\tB\n", "edges", header=True).names) == {"A", "B"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parent\tchild\nA\tB\nB\tC\nC\tA\n", r"file\.txt:2: the taxonomy has a cycle: .*> .* > .* > "),
        ("parent\tchild\nA\tA\n", r"file\.txt:2: node 'A' is its own parent"),
        ("parent\tchild\nA\tB\nA\tC\nA\tB\n", r"file\.txt:4: the pair 'A' > 'B' was already given in line 2"),
        ("parent\tchild\n\tSports\nSprots\tTennis\n", r"txt:3: parent 'Sprots' of 'Tennis' is unknown; .* 'Sports'"),
        ("parent\tchild\n\tA\n\tA\n", r"file\.txt:3: node 'A' is declared twice"),
        ("parent\tchild\nA\tB\nA\n", r"file\.txt:3: expected a parent and a child"),
        ("parent\tchild\nA\t\n", r"file\.txt:2: the child of 'A' has no name"),
        ("parent\tchild\nA\tB\tC\n", r"file\.txt:2: expected two columns, got 3"),
        ("parent,child\n\"A,B\nC,D\n", r"file\.txt:2: the quotes do not match"),
        ("id,parent,label\nA,R,one\nA,Q,two\n", r"file\.txt:3: node 'A' has two labels"),
        ("parent\tchild\n", r"file\.txt: the taxonomy is empty; expected"),
        ("", r"file\.txt: the file is empty"),
        (" \n\n", r"file\.txt: the file is empty"),
    ],
)  # fmt: skip
def test_mistakes_in_edge_lists_are_named_with_their_line(read: Any, text: str, message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        read(text)


def test_repeated_pairs_are_accepted_on_request(read: Any) -> None:
    assert read("A\tB\nA\tB\n", duplicates="drop").n_edges == 1


def test_a_second_parent_is_an_error_only_where_a_tree_is_asked_for(read: Any) -> None:
    text = "parent\tchild\nR\tA\nR\tB\nA\tC\nB\tC\n"
    assert read(text).kind == "dag"
    with pytest.raises(TaxonomyError, match=r"file\.txt:5: not a tree: node 'C' has the parents 'A' and 'B'"):
        read(text, kind="tree")


def test_an_edge_list_can_be_a_graph(read: Any) -> None:
    tax = read("a\tb\nb\tc\nc\ta\n", kind="graph")
    assert tax.kind == "graph"
    assert tax.n_edges == 3
    assert read("a\tb\nb\tc\nc\ta\n", "graph") == tax


def test_paths_may_stop_anywhere_and_share_nodes(read: Any) -> None:
    tax = read("level1,level2,level3\nA,B,C\nA,D,\nE,,\nE,C\n")
    assert edges(tax) == {("A", "B"), ("B", "C"), ("A", "D"), ("E", "C")}
    assert tax.root is None
    assert edges(read("A,x\nB,x\nC\n", "paths", names="path")) == {("A", "A/x"), ("B", "B/x")}
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: step 2 of the path is empty"):
        read("A,B,C\nA,,C\n", "paths")
    with pytest.raises(TaxonomyError, match=r"file\.txt:1: .*cycle: "):
        read("A,B,C\nC,A\n", "paths")


@pytest.mark.parametrize("text", ["R\n\tA\n\t\tB\n\tC\n", "R\n  A\n     B\n  C\n", "R\n A\n\n  B\n C"])
def test_outlines_are_indented_by_tabs_or_any_number_of_spaces(read: Any, text: str) -> None:
    assert edges(read(text)) == {("R", "A"), ("A", "B"), ("R", "C")}


def test_mistakes_in_outlines_are_named_with_their_line(read: Any) -> None:
    with pytest.raises(TaxonomyError, match=r"file\.txt:3: 'B' is indented by 2, which does not match"):
        read("R\n    A\n  B\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:3: 'A' was already given under the same parent in line 2"):
        read("R\n\tA\n\tA\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:3: indented by tabs and by spaces"):
        read("R\n\tA\n  B\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: .*cycle"):
        read("R\n\tA\n\t\tR\n")


def test_the_same_name_in_two_places_of_an_outline_is_one_node_or_two(read: Any) -> None:
    text = "A\n\tx\nB\n\tx\n"
    assert len(read(text).parents("x")) == 2
    assert set(read(text, names="path").names) == {"A", "B", "A/x", "B/x"}


@pytest.mark.parametrize(
    "text",
    [
        '{"R": {"A": {"B": {}}, "C": {}}}',
        '{"R": [{"A": ["B"]}, "C"]}',
        '{"R": {"A": "B", "C": null}}',
        '{"name": "R", "children": [{"name": "A", "children": [{"name": "B"}]}, {"name": "C"}]}',
        '[{"id": "R", "children": [{"id": "A", "children": ["B"]}, {"id": "C", "children": []}]}]',
    ],
)
def test_nested_json_in_many_shapes_is_the_same(read: Any, text: str) -> None:
    assert edges(read(text)) == {("R", "A"), ("A", "B"), ("R", "C")}


def test_mistakes_in_json_are_named(read: Any) -> None:
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: not JSON"):
        read('{"A":\n }')
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: the key 'A' is given twice"):
        read('{"A": {},\n "A": {}}')
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: 'B' is given twice under 'A'"):
        read('{"A": ["B",\n "B"]}')
    with pytest.raises(TaxonomyError, match=r"expected a name or an object, got 1\.5"):
        read("[1.5]")


def test_records_are_called_by_id_and_shown_by_name(read: Any) -> None:
    records = '[{"id": 1, "name": "Sports", "children": [{"id": 2, "name": "Other"}]}, {"id": 3, "name": "Other"}]'
    tax = read(records)
    assert edges(tax) == {("1", "2")}
    assert [tax.display(name) for name in "123"] == ["Sports", "Other", "Other"]
    assert read('[{"name": "a", "label": "First"}, {"name": "b"}]').display("a") == "First"
    assert read('[{"id": "a", "label": "First", "name": "first"}, "b"]').display("a") == "First"


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "R", "parent": ""}, {"id": "A", "parent": "R"},{"id": "B", "parent": "A"},{"id": "C", "parent": "R"}]',
        '[{"id": "B", "broader": ["A"]}, {"id": "A", "broader": {"id": "R"}}, {"id": "C", "broader": "R"}]',
        '[{"parent": "R", "child": "A"}, {"parent": "R", "child": "C"}, {"parent": "A", "child": "B"}]',
        '{"R": {"parent": null}, "A": {"parent": "R"}, "B": {"parent": "A"}, "C": {"parent": "R"}}',
        '{"R": {"name": "All", "children": ["C", "A"]}, "A": {"children": ["B"]}}',
        '[{"id": "R", "children": [{"id": "A", "parent": "R", "narrower": ["B"]}, {"id": "C", "parent": "R"}]}]',
        '{"id": "R", "children": ["A"], "narrower": [{"id": "C"}, {"id": "B", "parent": "A"}], "note": ["x"]}',
    ],
)
def test_parents_and_children_of_records_all_count(read: Any, text: str) -> None:
    wanted = {("R", "A"), ("A", "B"), ("R", "C")}
    assert edges(read(text)) == (wanted | {("R", "B")} if "note" in text else wanted)


def test_numbers_of_tables_name_parents(read: Any) -> None:
    tax = read('[{"id": 1, "parent": NaN}, {"id": 2, "parent": 1.0}, {"id": 3, "parent": 2}, {"id": 3, "parent": 1}]')
    assert edges(tax) == {("1", "2"), ("2", "3"), ("1", "3")}


def test_one_flat_object_says_the_parent_of_each_key(read: Any) -> None:
    assert edges(read('{"Tennis": "Sports", "Chess": "Sports"}')) == {("Sports", "Tennis"), ("Sports", "Chess")}
    assert edges(read('{"Sports": null, "Tennis": "Sports"}')) == {("Sports", "Tennis")}
    with pytest.raises(TaxonomyError, match="parent 'Sport' of 'Tennis' is unknown; did you mean 'Sports'"):
        read('{"Sports": null, "Tennis": "Sport"}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": "A", "parent": null}, {"id": "B", "parent": "X"}]', "parent 'X' of 'B' is unknown"),
        ('[{"id": "A", "parent": {"x": 1}}]', "'parent' of 'A' is .*; expected a name, a list of names or null"),
        ('[{"id": "A", "children": 3}]', "'children' of 'A' is 3; expected a list"),
        ('[{"id": "A", "narrower": true}]', "'narrower' of 'A' is true; expected a list"),
        ('[{"parent": "A", "weight": 3}]', "an object has neither id nor name"),
        ('{"version": 1, "nodes": [{"id": "A"}]}', "an object has 'nodes' but neither id nor name"),
        ('{"A": {"id": "B", "parent": "C"}}', "the object under the key 'A' has the id 'B'"),
        ('[{"id": "A", "name": "x"}, {"id": "B", "children": [{"id": "A", "name": "y"}]}]', "'A' has two labels"),
        ('[{"id": "A", "parent": "B"}, {"id": "A", "parent": "B"}]', "'A' is given twice"),
        ('[{"id": "A", "parent": "B"}, {"id": "B", "parent": "A"}]', "the taxonomy has a cycle: A > B > A"),
    ],
)
def test_nothing_structural_is_ignored_in_json(read: Any, text: str, message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        read(text)


def test_nodes_that_name_their_parent_have_no_paths(read: Any) -> None:
    with pytest.raises(ParameterError, match="'A' names its parent 'R'"):
        read('{"A": "R"}', names="path")


def test_children_may_be_separated_by_spaces_where_no_tab_is(read: Any) -> None:
    assert edges(read("Root A B\nA AA AB\n")) == {("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")}
    assert edges(read("Root A\nRoot B-1\nA A.2\n")) == {("Root", "A"), ("Root", "B-1"), ("A", "A.2")}
    assert edges(read("Root\tNew York\n", "children")) == {("Root", "New York")}
    with pytest.raises(TaxonomyError, match=r"may be names \('indented'\) or a parent and its children \('children'\)"):
        read("Ball games\nNatural science\n")
    assert read("Ball games\nNatural science\n", "indented").n_nodes == 2
    assert edges(read("Ball games\nNatural science\n", "children")) == {("Ball", "games"), ("Natural", "science")}


def test_lshtc_and_children_lines(read: Any) -> None:
    assert edges(read("0 1\n0 2\n2 3\n")) == {("0", "1"), ("0", "2"), ("2", "3")}
    assert edges(read("R\tA\tB\nA\tC\n")) == {("R", "A"), ("R", "B"), ("A", "C")}
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: expected 'parent child', got 3 words"):
        read("0 1\n0 1 2\n", "lshtc")
    with pytest.raises(TaxonomyError, match=r"file\.txt:1: .*cycle: "):
        read("0 1\n1 0\n")


@pytest.mark.parametrize(("mark", "other"), [(".", "-"), ("/", "."), ("-", "_")])
def test_every_prefix_of_a_code_is_a_node(read: Any, mark: str, other: str) -> None:
    tax = read(f"comp{mark}sys{mark}mac{other}1\ncomp{mark}os\nalt\n")
    assert edges(tax) == {
        ("comp", f"comp{mark}sys"),
        (f"comp{mark}sys", f"comp{mark}sys{mark}mac{other}1"),
        ("comp", f"comp{mark}os"),
    }
    assert tax.root is None


def test_codes_may_have_labels_and_must_be_whole(read: Any) -> None:
    assert read("1\tOne\n1.1\tOne, first\n1.2\tOne, second\n").display("1.1") == "One, first"
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: step 2 of the code '1\.\.2' is empty"):
        read("1.1\n1..2\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: the code '1\.1' was already given in line 1"):
        read("1.1\n1.1\n")


MESH = "Body Regions;A01\nBreast;A01.236\nHead;A01.456\nGlands;A10\nBreast;A10.1\n"


def test_a_descriptor_has_a_parent_for_every_tree_number(read: Any) -> None:
    tax = read(MESH)
    assert edges(tax) == {("Body Regions", "Breast"), ("Body Regions", "Head"), ("Glands", "Breast")}
    positions = read(MESH, positions=True)
    assert positions.kind == "tree"
    assert positions.n_nodes == 5
    assert positions.display("A10.1") == "Breast"


def test_mistakes_in_tree_numbers_are_named_with_their_line(read: Any) -> None:
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: no line has the tree number A02, the parent of A02\.1"):
        read("Body;A01\nBreast;A02.1\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:2: the tree number A01 was already given in line 1"):
        read("Body;A01\nBreast;A01\n")


def test_the_class_attribute_of_an_arff_file_holds_paths_or_pairs(read: Any) -> None:
    head = "% a comment\n@RELATION x\n@ATTRIBUTE f numeric\n@ATTRIBUTE class hierarchical "
    paths = read(head + "1,1/2,1/2/1,3/1\r\n@DATA\r\n0,1/2\r\n")
    assert edges(paths) == {("1", "1/2"), ("1/2", "1/2/1"), ("3", "3/1")}
    assert paths.root is None
    pairs = read(head + "root/A,root/B,A/C,B/C\n@DATA\n")
    assert pairs.names[pairs.root] == "root"
    assert pairs.kind == "dag"
    with pytest.raises(TaxonomyError, match="no attribute of type 'hierarchical'"):
        read("@RELATION x\n@ATTRIBUTE f numeric\n@DATA\n")
    with pytest.raises(TaxonomyError, match=r"file\.txt:4: .*cycle"):
        read(head + "root/A,A/B,B/A\n@DATA\n")


def test_utf16_with_a_mark_is_read_and_a_wrong_byte_is_named_with_its_line(read: Any) -> None:
    assert "Käse" in read("R\tKäse\n".encode("utf-16"))
    latin = "parent\tchild\nR\tA\nR\tKäse\n".encode("latin-1")
    with pytest.raises(TaxonomyError, match=r"file\.txt:3: byte 0xe4 is not UTF-8"):
        read(latin)
    assert "Käse" in read(latin, encoding="latin-1")
    with pytest.raises(TaxonomyError, match=r"file\.txt:1: the file contains a null byte"):
        read("R\tA\n".encode("utf-16-le"))
    with pytest.raises(TaxonomyError, match="'utf-99' is not an encoding"):
        read("R\tA\n", encoding="utf-99")


def test_a_damaged_compressed_file_is_an_error_of_the_taxonomy(read: Any) -> None:
    import gzip
    import lzma

    for packed in (gzip.compress(b"R\tA\n" * 100)[:-20], lzma.compress(b"R\tA\n" * 100)[:-20]):
        with pytest.raises(TaxonomyError, match="damaged or cut off"):
            read(packed)


def test_options_that_mean_nothing_are_refused(read: Any) -> None:
    with pytest.raises(ParameterError, match="The format 'edges' does not have the option positions"):
        read("R\tA\n", positions=True)
    with pytest.raises(ParameterError, match="names='iris' is not one of 'iri', 'notation', 'label'"):
        read(SKOS, names="iris")
    with pytest.raises(ParameterError, match="'turtel' is not a taxonomy format; did you mean 'turtle'"):
        read("R\tA\n", "turtel")


def test_a_root_can_be_named_or_denied(read: Any) -> None:
    assert read("R\tA\nR\tB\n", root=None).root is None
    with pytest.raises(TaxonomyError, match=r"file\.txt: 1 orphans are not below the root 'R': 'Q'"):
        read("R\tA\nQ\tB\n", root="R")
