"""``linnaeus taxonomy``: what it prints, writes and returns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linnaeus import Taxonomy
from linnaeus.cli.taxonomy import app
from linnaeus.errors import LinnaeusError

runner = CliRunner()


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    file = tmp_path / "topics.tsv"
    file.write_text(
        "parent\tchild\tlabel\nTop\tSports\tSports [all]\nTop\tScience\t\nSports\tTennis\t\nTennis\tDoubles\t\n"
    )
    return file


def test_show_prints_the_shape_and_the_upper_levels(topics: Path) -> None:
    result = runner.invoke(app, ["show", str(topics)])
    assert result.exit_code == 0
    for words in ("n nodes", "Sports [all]", "Tennis", "Science"):
        assert words in result.stdout
    assert "Doubles" not in result.stdout
    assert "Doubles" in runner.invoke(app, ["show", str(topics), "--depth", "3"]).stdout


def test_show_as_json(topics: Path) -> None:
    shown = json.loads(runner.invoke(app, ["show", str(topics), "--json"]).stdout)
    assert (shown["n_nodes"], shown["kind"], shown["root"], shown["nodes_per_level"]) == (
        5,
        "tree",
        "Top",
        [1, 2, 1, 1],
    )
    assert [child["name"] for child in shown["tree"][0]["children"]] == ["Sports", "Science"]


def test_show_one_node(topics: Path) -> None:
    shown = json.loads(runner.invoke(app, ["show", str(topics), "--node", "Tennis", "--json"]).stdout)
    assert (shown["ancestors"], shown["children"], shown["n_descendants"]) == (["Sports"], ["Doubles"], 1)
    assert "Doubles" in runner.invoke(app, ["show", str(topics), "--node", "Tennis"]).stdout


def test_the_levels_below_a_node_are_as_many_as_asked_for(topics: Path) -> None:
    trees = [
        json.loads(runner.invoke(app, ["show", str(topics), "--node", "Sports", "--depth", depth, "--json"]).stdout)
        for depth in ("2", "3")
    ]
    below = [tree["tree"]["children"][0] for tree in trees]
    assert [tennis["name"] for tennis in below] == ["Tennis", "Tennis"]
    assert ["children" in tennis for tennis in below] == [False, True]


def test_long_lists_of_children_are_cut_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "wide.tsv"
    file.write_text("".join(f"R\tn{v}\n" for v in range(30)))
    result = runner.invoke(app, ["show", str(file)])
    assert "... 10 more" in result.stdout
    assert "n25" not in result.stdout


def test_show_refuses_an_unknown_node_with_the_nearest(topics: Path) -> None:
    result = runner.invoke(app, ["show", str(topics), "--node", "Tenis"])
    assert isinstance(result.exception, LinnaeusError)
    assert "did you mean 'Tennis'" in str(result.exception)


@pytest.mark.parametrize("name", ["out.ttl", "out.obo", "out.json", "out.csv", "out.txt.gz"])
def test_convert_follows_the_ending(topics: Path, tmp_path: Path, name: str) -> None:
    result = runner.invoke(app, ["convert", str(topics), str(tmp_path / name)])
    assert result.exit_code == 0
    assert "5 nodes" in result.stderr
    assert Taxonomy.read(tmp_path / name) == Taxonomy.read(topics)


def test_convert_takes_formats_and_a_language(tmp_path: Path) -> None:
    skos = tmp_path / "in"
    skos.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<urn:a> a skos:Concept ; skos:prefLabel "Tier"@de, "Animal"@en .'
    )
    output = tmp_path / "out"
    arguments = ["convert", str(skos), str(output), "--from", "skos", "--to", "obo", "--language", "de"]
    assert runner.invoke(app, arguments).exit_code == 0
    assert "name: Tier" in output.read_text()


def test_convert_marks_the_language_of_labels(topics: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.ttl"
    result = runner.invoke(app, ["convert", str(topics), str(output), "--language", "en", "--json"])
    assert json.loads(result.stdout)["n_edges"] == 4
    assert '"Sports [all]"@en' in output.read_text()
    result = runner.invoke(app, ["convert", str(topics), str(tmp_path / "out.obo"), "--language", "en"])
    assert "means nothing here" in str(result.exception)


def test_check_passes_with_warnings_and_fails_with_errors(topics: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["check", str(topics), "--json"])
    assert result.exit_code == 0
    assert [finding["code"] for finding in json.loads(result.stdout)["findings"]] == ["one-child"]
    broken = tmp_path / "broken.tsv"
    broken.write_text("A\tB\nB\tA\nX\tY\nY\tX\n")
    result = runner.invoke(app, ["check", str(broken)])
    assert result.exit_code == 1
    assert "A > B > A" in result.stdout
    assert "X > Y > X" in result.stdout


def test_check_says_when_all_is_well(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("R\n\tA\n\tB\n")
    result = runner.invoke(app, ["check", str(file)])
    assert result.exit_code == 0
    assert "Nothing odd" in result.stdout


def test_check_compares_labels_with_nodes(topics: Path, tmp_path: Path) -> None:
    data = tmp_path / "docs.jsonl"
    data.write_text('{"text": "a", "labels": ["Tenis"]}\n{"text": "b", "labels": ["Doubles"]}\n')
    result = runner.invoke(app, ["check", str(topics), "--data", str(data), "--json"])
    assert result.exit_code == 1
    found = {finding["code"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert "did you mean 'Tennis'" in found["label-without-node"]["examples"][0]
    assert found["node-without-data"]["examples"] == ["Science"]


@pytest.mark.parametrize("record", ['{"text": "a"}', '{"text": "a", "labels": []}'])
def test_check_refuses_documents_without_labels(topics: Path, tmp_path: Path, record: str) -> None:
    data = tmp_path / "docs.jsonl"
    data.write_text(record + "\n")
    result = runner.invoke(app, ["check", str(topics), "--data", str(data)])
    assert isinstance(result.exception, LinnaeusError)
    assert "docs.jsonl: the documents have no labels" in str(result.exception)


def test_check_counts_examples_only_with_data(topics: Path) -> None:
    result = runner.invoke(app, ["check", str(topics), "--min-examples", "3"])
    assert "--min-examples 3 means nothing without --data" in str(result.exception)


def test_convert_uses_the_encoding_to_recognise_the_input(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes("parent\tchild\nTiere\tVögel\n".encode("latin-1"))
    output = tmp_path / "out.ttl"
    arguments = ["convert", str(file), str(output), "--encoding", "latin-1", "--language", "de"]
    assert runner.invoke(app, arguments).exit_code == 0
    assert "Vögel" in Taxonomy.read(output).names[1]


def test_wrong_usage_is_exit_code_two(topics: Path) -> None:
    assert runner.invoke(app, ["show"]).exit_code == 2
    assert runner.invoke(app, ["show", str(topics), "--depth", "0"]).exit_code == 2
