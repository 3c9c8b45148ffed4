"""The real files, as they are, with the counts of their description."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy

pytestmark = pytest.mark.data


def test_rcv1_has_103_topics_below_its_root(data_dir: Path) -> None:
    tax = Taxonomy.read(data_dir / "rcv1v2" / "rcv1.taxonomy")
    assert tax.names[tax.root] == "Root"
    assert (tax.n_nodes - 1, tax.kind, int(tax.depth.max())) == (103, "tree", 4)


def test_reuters_has_135_topics_in_6_groups(data_dir: Path) -> None:
    tax = Taxonomy.read(data_dir / "reuters21578" / "topic_groups.json")
    assert (tax.n_nodes, len(tax.leaves), len(tax.tops), tax.kind, tax.root) == (141, 135, 6, "tree", None)
    assert tax.names[tax.path("money-fx")].tolist() == ["Subject", "money-fx"]


def test_mesh_is_a_dag_of_descriptors_or_a_tree_of_positions(data_dir: Path) -> None:
    file = data_dir / "medline_mesh" / "mtrees2014.csv.gz"
    descriptors = Taxonomy.read(file)
    assert (descriptors.n_nodes, descriptors.kind, descriptors.root) == (27_147, "dag", None)
    positions = Taxonomy.read(file, positions=True)
    assert (positions.n_nodes, positions.kind, int(positions.depth.max())) == (55_611, "tree", 12)


def test_wordnet_counts_its_root_entity_among_the_nodes(data_dir: Path) -> None:
    tax = Taxonomy.read(data_dir / "wordnet_nouns" / "taxonomy.tsv.xz")
    assert (tax.n_nodes, tax.n_edges, tax.kind) == (17_157, 17_647, "dag")
    assert tax.names[tax.root] == "entity.00001740"


@pytest.mark.parametrize(
    ("name", "n_nodes"),
    [
        ("imclef07a/ImCLEF07A_Train", 96),
        ("imclef07a/ImCLEF07A_Test", 96),
        ("enron_hmc/Enron_corr_trainvalid", 56),
        ("enron_hmc/Enron_corr_test", 56),
        ("yeast/cellcycle_FUN.train", 499),
        ("yeast/eisen_FUN.valid", 461),
        ("yeast/seq_FUN.test", 499),
    ],
)
def test_trees_of_arff_files_have_no_root_and_count_none(data_dir: Path, name: str, n_nodes: int) -> None:
    tax = Taxonomy.read(data_dir / f"{name}.arff.gz")
    assert (tax.n_nodes, tax.kind, tax.root) == (n_nodes, "tree", None)


def test_imclef_has_63_leaves(data_dir: Path) -> None:
    assert len(Taxonomy.read(data_dir / "imclef07a" / "ImCLEF07A_Train.arff.gz").leaves) == 63


def test_the_gene_ontology_counts_the_word_root_as_a_node(data_dir: Path) -> None:
    # 4,134 nodes and 5,839 edges include the node `root` and its three edges.
    tax = Taxonomy.read(data_dir / "yeast" / "seq_GO.train.arff.gz")
    assert (tax.n_nodes, tax.n_edges, tax.kind) == (4_134, 5_839, "dag")
    assert tax.names[tax.root] == "root"
    assert set(tax.names[tax.tops]) == {"GO0003674", "GO0005575", "GO0008150"}


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_all_parts_of_a_data_set_have_the_same_taxonomy(data_dir: Path, part: str) -> None:
    whole = Taxonomy.read(data_dir / "yeast" / "cellcycle_GO.train.arff.gz")
    assert Taxonomy.read(data_dir / "yeast" / f"cellcycle_GO.{part}.arff.gz") == whole


@pytest.mark.parametrize(
    "format",
    [
        "edges",
        "json",
        *(pytest.param(f, marks=pytest.mark.slow) for f in ["turtle", "obo", "indented", "children", "paths"]),
    ],
)
def test_wordnet_survives_every_format(data_dir: Path, tmp_path: Path, format: str) -> None:
    tax = Taxonomy.read(data_dir / "wordnet_nouns" / "taxonomy.tsv.xz")
    tax.write(tmp_path / "file", format)
    assert Taxonomy.read(tmp_path / "file") == tax
