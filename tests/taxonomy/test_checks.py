"""Every oddity is found where it is, and only there."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.taxonomy import formats
from linnaeus.taxonomy.checks import CheckReport, check, shape
from tests.strategies import taxonomies


def codes(report: CheckReport) -> dict[str, int]:
    return {finding.code: finding.count for finding in report.findings}


def test_a_sound_tree_has_no_findings(abc: Taxonomy) -> None:
    report = check(abc)
    assert report.findings == []
    assert report.ok
    assert report.summary["n_nodes"] == 7
    assert report.summary == shape(abc)
    assert (report.summary["n_tops"], report.summary["depth"]) == (2, 2)


def test_all_cycles_are_reported_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.tsv"
    file.write_text("parent\tchild\nR\tA\nA\tB\nB\tA\nR\tX\nX\tY\nY\tZ\nZ\tX\nZ\tW\n")
    report = check(formats.draft(file))
    found = report.find("cycle")
    assert found is not None
    assert found.count == 2
    assert [example.split("/")[0].rstrip("(").strip() for example in found.examples] == ["A > B > A", "X > Y > Z > X"]
    assert found.examples[0].endswith("broken.tsv:3)")
    assert not report.ok


def test_oddities_of_pairs_are_errors(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("parent\tchild\n\tA\nA\tA\nA\tB\nA\tB\nAA\tC\n")
    assert {"self-loop": 1, "duplicate-edge": 1, "unknown-parent": 1}.items() <= codes(
        check(formats.draft(file))
    ).items()


def test_shapes_are_noticed() -> None:
    edges = [("R", "A"), ("A", "B"), ("R", "B"), ("R", "C"), ("C", "D"), ("C", "E"), ("A", "E")]
    tax = Taxonomy.from_edges(edges, nodes=["lonely"], root=None)
    report = check(tax)
    assert codes(report) == {"orphan": 1, "redundant-edge": 1, "multi-parent": 2}
    assert report.find("redundant-edge").examples == ["R > B"]  # type: ignore[union-attr]
    chain = check(Taxonomy.from_edges([("R", "A"), ("A", "B")]))
    assert chain.find("one-child").examples == ["R > A", "A > B"]  # type: ignore[union-attr]


def test_siblings_with_one_label_are_noticed_but_cousins_are_not() -> None:
    edges = [("R", "A"), ("R", "B"), ("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2")]
    shown = {"a1": "Other", "a2": "other", "b1": "Other"}
    report = check(Taxonomy.from_edges(edges, display_labels=shown))
    assert codes(report) == {"same-label": 1, "shared-label": 1}


def test_long_labels_and_markup_are_noticed_and_examples_are_short() -> None:
    labels = ["word " * 20_000, "<script>alert(1)</script>", "H<sub>2</sub>O", "a < b > c", "R&D"]
    shown = dict(zip("ABCDE", labels, strict=True))
    report = check(Taxonomy.from_edges([("R", name) for name in shown], display_labels=shown))
    assert codes(report) == {"long-label": 1, "label-markup": 2}
    assert report.find("long-label").examples == ["A: 99,999 characters"]  # type: ignore[union-attr]
    marked = report.find("label-markup").examples  # type: ignore[union-attr]
    assert marked == ["B: <script>alert(1)</script>", "C: H<sub>2</sub>O"]
    twins = check(Taxonomy.from_edges([("R", "A"), ("R", "B")], display_labels=dict.fromkeys("AB", "long " * 1000)))
    assert all(len(text) < 300 for found in twins.findings for text in found.examples)


def test_labels_and_nodes_are_compared(abc: Taxonomy) -> None:
    report = check(abc, [["AA", "Ab"], ["AA"], ["Ab", "BA"], []], min_examples=2)
    assert codes(report) == {"label-without-node": 1, "node-without-data": 2, "starving-leaf": 1}
    assert report.find("label-without-node").examples == ["Ab (2 documents; did you mean 'AB'?)"]  # type: ignore[union-attr]
    assert report.find("node-without-data").examples == ["AB", "BB"]  # type: ignore[union-attr]
    assert report.find("starving-leaf").examples == ["BA (1)"]  # type: ignore[union-attr]
    assert not report.ok


def test_the_root_needs_no_data_and_display_labels_are_recognised() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B")], display_labels={"A": "Opera"})
    report = check(tax, [["Opera"]])
    assert report.find("node-without-data").examples == ["A (Opera)", "B"]  # type: ignore[union-attr]
    hint = "it is the display label of node 'A'"
    assert report.find("label-without-node").examples == [f"Opera (1 documents; {hint})"]  # type: ignore[union-attr]


def test_the_summary_is_that_of_the_taxonomy_as_far_as_it_has_a_shape(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("parent\tchild\nR\tA\nA\tB\nA\tB\n")
    assert check(formats.draft(file)).summary == shape(Taxonomy.from_edges([("R", "A"), ("A", "B")]))
    circular = check([("A", "B"), ("B", "A"), ("B", "C")]).summary
    assert (circular["n_nodes"], circular["n_leaves"], circular["depth"], circular["n_tops"]) == (3, 1, None, None)


@given(taxonomies(max_nodes=8))
@settings(max_examples=60)
def test_a_file_is_checked_with_the_shape_that_it_is_read_with(tax: Taxonomy) -> None:
    for format in ("edges", "json", "indented"):
        with tempfile.TemporaryDirectory() as folder:
            tax.write(Path(folder) / "file", format)
            assert check(formats.draft(Path(folder) / "file")).summary == shape(tax) == check(tax).summary


def test_the_worst_comes_first_and_the_report_is_plain(abc: Taxonomy) -> None:
    report = check([("A", "B"), ("B", "C"), ("C", "B"), ("X", "Y")])
    ranks = [("error", "warning", "info").index(finding.severity) for finding in report.findings]
    assert ranks == sorted(ranks)
    assert report.to_dict()["findings"][0]["code"] == "cycle"


def test_a_graph_is_not_blamed_for_its_cycles(tmp_path: Path) -> None:
    graph = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "a")], kind="graph")
    assert check(graph).findings == []
    graph.write(tmp_path / "graph.tsv")
    assert check(formats.draft(tmp_path / "graph.tsv")).findings == []


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=14, unique=True)


@given(pairs)
@settings(max_examples=150)
def test_any_pairs_give_as_many_cycles_as_components(edges: list[tuple[int, int]]) -> None:
    graph = nx.DiGraph(edges)
    report = codes(check(edges))
    assert report.get("cycle", 0) == sum(len(part) > 1 for part in nx.strongly_connected_components(graph))
    assert report.get("self-loop", 0) == sum(a == b for a, b in edges)


@given(taxonomies(max_nodes=8, kinds=("dag",)))
@settings(max_examples=100)
def test_redundant_edges_are_those_outside_the_transitive_reduction(tax: Taxonomy) -> None:
    graph = tax.to_networkx()
    expected = graph.number_of_edges() - nx.transitive_reduction(graph).number_of_edges()
    assert codes(check(tax)).get("redundant-edge", 0) == expected


def test_a_taxonomy_without_edges_is_reported() -> None:
    found = check(Taxonomy.flat(["A", "B"])).find("no-edges")
    assert found is not None
    assert (found.severity, found.count) == ("warning", 2)
    assert check(Taxonomy.flat(["A"])).findings == []


@pytest.mark.parametrize(
    "text",
    ["Oberbegriff;Unterbegriff\nSport;Tennis\nTennis;Doppel\n", "Ebene 1,Ebene 2,Ebene 3\nA,B,C\nA,B,D\nA,E,F\n"],
)
def test_a_header_that_became_nodes_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    found = check(formats.draft(tmp_path / "t.csv")).find("header-as-node")
    assert found is not None
    assert found.examples[0].startswith(("Oberbegriff > Unterbegriff", "Ebene 1 > Ebene 2 > Ebene 3"))
    assert check(formats.draft(tmp_path / "t.csv", header=True)).find("header-as-node") is None


def test_nodes_are_shown_with_their_labels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,parent,name\nc1,,Music\nc2,c1,Opera\nc3,c2,Aria\nc2,c3,Opera\n")
    found = check(formats.draft(tmp_path / "t.csv")).find("cycle")
    assert found is not None
    assert found.examples[0].startswith("c2 (Opera) > c3 (Aria) > c2 (Opera) (")


def test_deprecated_ids_and_unused_relations_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.obo").write_text(
        "[Term]\nid: X:1\nname: cat\n[Term]\nid: X:2\nis_a: X:1\nrelationship: part_of X:1\n"
        "[Term]\nid: X:3\nname: puss\nis_obsolete: true\nreplaced_by: X:1\n"
    )
    report = check(formats.draft(tmp_path / "t.obo"), [["X:3"], ["X:2"]])
    assert report.find("deprecated").examples == ["X:3 (puss), replaced by X:1 (cat)"]  # type: ignore[union-attr]
    assert report.find("unused-relation").examples == ["part_of: 1"]  # type: ignore[union-attr]
    hint = "X:3 (1 documents; it is deprecated, use 'X:1' (cat))"
    assert report.find("label-without-node").examples == [hint]  # type: ignore[union-attr]


@pytest.mark.data
def test_wordnet_has_no_errors(data_dir: Path) -> None:
    report = check(formats.draft(data_dir / "wordnet_nouns" / "taxonomy.tsv.xz"))
    assert report.ok
    assert report.summary["n_nodes"] == 17_157


def test_labels_of_documents_that_are_alternative_labels_are_named_with_their_node(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,parent,synonyms\nM,,\nA,M,Music drama\nB,M,\n")
    report = check(formats.draft(tmp_path / "t.csv"), [["Music drama"], ["B"]])
    assert "it is an alternative label of 'A'" in report.find("label-without-node").examples[0]  # type: ignore[union-attr]
