"""`linnaeus data describe` prints the counts that are known of the real data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from linnaeus.cli.data import app
from linnaeus.data import read_dataset


def describe(*arguments: object) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["describe", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output + str(result.exception)
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def printed(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["describe", *map(str, arguments)])
    assert result.exit_code == 0, result.output + str(result.exception)
    return " ".join(result.stdout.split())


def test_every_file_has_a_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,labels\na goal,A\na vote,B;C\n")
    (tmp_path / "b.csv").write_text("text,labels\na goal,A\n")
    (tmp_path / "tree.tsv").write_text("parent\tchild\nR\tA\nR\tB\nB\tC\n")
    one, two = describe(tmp_path / "a.csv", tmp_path / "b.csv", "--taxonomy", tmp_path / "tree.tsv")
    assert (one["n_docs"], two["n_docs"]) == (2, 1)
    assert one["labels"]["per_doc_closed"] == 1.5
    table = printed(tmp_path / "a.csv", tmp_path / "b.csv", "--taxonomy", tmp_path / "tree.tsv")
    assert "documents 2 1" in table
    assert "labels: nodes without data 0 2" in table


def test_names_of_the_file_are_printed_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"doc_token": ["a", "goal"], "doc_label": ["my_x"]}\n')
    (tmp_path / "tree.tsv").write_text("parent\tchild\nR\tA\nR\tB\n")
    table = printed(tmp_path / "a.json", "--taxonomy", tmp_path / "tree.tsv")
    assert "fields: doc_token: documents 1" in table
    assert "labels: unknown my_x (1)" in table


def test_columns_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("words,what\na goal,A\n")
    (found,) = describe(tmp_path / "a.csv", "--text", "words", "--labels", "what")
    assert (found["n_docs"], found["labels"]["n_labels"]) == (1, 1)
    (found,) = describe(tmp_path / "a.csv", "--no-header", "--format", "csv")
    assert found["n_docs"] == 2


@pytest.mark.data
def test_counts_of_rcv1v2(data_dir: Path) -> None:
    path, tree = data_dir / "rcv1v2" / "rcv1v2_subsets_30000.npz", data_dir / "rcv1v2" / "rcv1.taxonomy"
    (found,) = describe(path, "--taxonomy", tree)
    assert (found["n_docs"], found["n_features"], found["n_duplicates"]) == (30_000, 47_236, 30_000 - 27_613)
    assert round(found["nnz_per_doc"]) == 77
    assert found["labels"]["n_labels"] == 102
    assert round(found["labels"]["per_doc"], 1) == 3.2
    assert found["labels"]["n_nodes_without_data"] == 1  # M143 has no column
    assert found["labels"]["n_internal_labels"] > 10
    assert len(found["taxonomy"]["nodes_per_level"]) == 4
    assert "documents 30,000" in printed(path)
    (tokens,) = describe(data_dir / "rcv1v2" / "tencent_rcv1_dev.json.xz", "--taxonomy", tree)
    assert (tokens["n_docs"], tokens["labels"]["n_unknown"]) == (2_316, 0)


@pytest.mark.data
def test_counts_of_20_newsgroups(data_dir: Path) -> None:
    (found,) = describe(data_dir / "20newsgroups" / "20news-bydate.tar.xz")
    assert {name: part["n_docs"] for name, part in found["split"].items()} == {"train": 11_314, "test": 7_532}
    assert (found["labels"]["n_labels"], found["labels"]["per_doc"]) == (20, 1.0)


@pytest.mark.data
def test_counts_of_imclef07a(data_dir: Path) -> None:
    train, test = describe(*(data_dir / "imclef07a" / f"ImCLEF07A_{part}.arff.gz" for part in ("Train", "Test")))
    assert (train["n_docs"], test["n_docs"], train["n_features"]) == (10_000, 1_006, 80)
    for found in (train, test):
        assert (found["taxonomy"]["n_nodes"], found["taxonomy"]["n_leaves"]) == (96, 63)
        assert found["labels"]["per_doc"] == found["labels"]["per_doc_closed"] == 3  # a leaf with its path


@pytest.mark.slow
@pytest.mark.data
def test_counts_of_medline(data_dir: Path) -> None:
    folder = data_dir / "medline_mesh"
    (found,) = describe(folder / "medline_pubmed20n0014.jsonl.xz", "--taxonomy", folder / "mtrees2014.csv.gz")
    assert found["n_docs"] == 29_998
    assert found["fields"]["abstract"]["n_docs"] == 14_832
    labels = found["labels"]
    assert round(labels["per_doc"], 1) == 9.6
    assert round(100 * (1 - labels["n_unknown_occurrences"] / (labels["per_doc"] * found["n_docs"])), 1) == 92.7
    assert (found["taxonomy"]["kind"], found["taxonomy"]["n_nodes"]) == ("dag", 27_147)


@pytest.mark.data
def test_counts_of_enzyme(data_dir: Path, tmp_path: Path) -> None:
    files = [data_dir / "enzyme_ec" / "split10.csv.gz", data_dir / "enzyme_ec" / "new.csv.gz"]
    codes = sorted({label for row in read_dataset(files[0]).labels or [] for label in row})
    paths = [".".join(code.split(".")[:depth]) for code in codes for depth in range(1, 5)]
    edges = {(code.rpartition(".")[0] or "EC", code) for code in paths}
    (tmp_path / "ec.tsv").write_text("parent\tchild\n" + "".join(f"{a}\t{b}\n" for a, b in sorted(edges)))
    known, new = describe(*files)
    assert (known["kind"], known["n_docs"], new["n_docs"]) == ("sequence", 7_757, 392)
    (found,) = describe(files[0], "--taxonomy", tmp_path / "ec.tsv")
    assert found["taxonomy"]["nodes_per_level"] == [7, 69, 229, 2_702]
    assert found["labels"]["n_unknown"] == 0
    assert 1 < found["labels"]["per_doc"] < 1.1


@pytest.mark.data
def test_counts_of_wordnet(data_dir: Path) -> None:
    folder = data_dir / "wordnet_nouns"
    train, test = describe(folder / "train.jsonl.xz", folder / "test.jsonl.xz", "-t", folder / "taxonomy.tsv.xz")
    assert (train["n_docs"], test["n_docs"]) == (65_508, 16_606)
    assert train["labels"]["n_labels"] == 15_739
    assert train["labels"]["share_at_internal_nodes"] > 0.5
    assert (train["labels"]["n_unknown"], test["labels"]["n_unknown"]) == (0, 0)
    tree = train["taxonomy"]
    assert (tree["kind"], tree["n_nodes"], tree["n_edges"]) == ("dag", 17_157, 17_647)


@pytest.mark.data
def test_counts_of_enron(data_dir: Path) -> None:
    names = ("Enron_corr_trainvalid.arff.gz", "Enron_corr_test.arff.gz")
    train, test = describe(*(data_dir / "enron_hmc" / name for name in names))
    assert (train["n_docs"], test["n_docs"], train["n_features"]) == (988, 660, 1_001)
    assert train["taxonomy"]["n_nodes"] == 56
    assert round(train["labels"]["per_doc_closed"], 1) == 5.1


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "n_attributes", "n_nodes"),
    [
        ("cellcycle_FUN", (1_628, 848, 1_281), 77, 499),
        ("eisen_GO", (1_055, 528, 835), 79, 3_574),
        pytest.param("cellcycle_GO", (1_625, 848, 1_278), 77, 4_126, marks=pytest.mark.slow),
        pytest.param("eisen_FUN", (1_058, 529, 837), 79, 461, marks=pytest.mark.slow),
        pytest.param("seq_FUN", (1_701, 879, 1_339), 478, 499, marks=pytest.mark.slow),
        pytest.param("seq_GO", (1_692, 876, 1_332), 478, 4_134, marks=pytest.mark.slow),
    ],
)
def test_counts_of_yeast(data_dir: Path, name: str, sizes: tuple[int, ...], n_attributes: int, n_nodes: int) -> None:
    parts = describe(*(data_dir / "yeast" / f"{name}.{part}.arff.gz" for part in ("train", "valid", "test")))
    assert tuple(part["n_docs"] for part in parts) == sizes
    assert {part.get("n_attributes", part["n_features"]) for part in parts} == {n_attributes}
    assert {part["taxonomy"]["n_nodes"] for part in parts} == {n_nodes}
    assert all(part["missing"]["n_values"] > 0 for part in parts)
    assert all(part["labels"]["n_unknown"] == 0 for part in parts)
    per_gene = sum(part["labels"]["per_doc_closed"] * part["n_docs"] for part in parts) / sum(sizes)
    known = 8.7 if name.endswith("FUN") else 35
    assert abs(per_gene - known) < (0.1 if name.startswith("cellcycle") else 0.1 * known)


@pytest.mark.data
def test_counts_of_reuters(data_dir: Path) -> None:
    (found,) = describe(data_dir / "reuters21578" / "reuters21578-sgml.tar.xz")
    assert {name: part["n_docs_with_label"] for name, part in found["split"].items()} == {"train": 7_775, "test": 3_019}
    assert found["labels"]["n_labels"] == 118
    groups = json.loads((data_dir / "reuters21578" / "topic_groups.json").read_text())
    assert len(set(groups.values())) == 6
