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
    for words in ("nodes", "Sports [all]", "Tennis", "Science"):
        assert words in result.stdout
    assert "Doubles" not in result.stdout
    assert "Doubles" in runner.invoke(app, ["show", str(topics), "--depth", "3"]).stdout


def test_show_as_json(topics: Path) -> None:
    shown = json.loads(runner.invoke(app, ["show", str(topics), "--json"]).stdout)
    assert (shown["n_nodes"], shown["kind"], shown["root"], shown["nodes_per_level"]) == (5, "tree", "Top", [2, 1, 1])
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


def test_show_and_check_say_the_same_in_the_same_words(topics: Path) -> None:
    shown = json.loads(runner.invoke(app, ["show", str(topics), "--json"]).stdout)
    checked = json.loads(runner.invoke(app, ["check", str(topics), "--json"]).stdout)["summary"]
    assert {key: shown[key] for key in checked} == checked
    assert (shown["n_tops"], shown["depth"]) == (2, 3)
    for command in ("show", "check"):
        table = runner.invoke(app, [command, str(topics)]).stdout.split("\n")
        assert next(line.split() for line in table if line.strip()) == ["property", "value"]
        assert any(line.split() == ["nodes", "per", "level", "2", "1", "1"] for line in table)


def test_check_prints_what_a_circular_taxonomy_has_no_value_for(tmp_path: Path) -> None:
    file = tmp_path / "broken.tsv"
    file.write_text("A\tB\nB\tA\n")
    result = runner.invoke(app, ["check", str(file)])
    assert any(line.split() == ["nodes", "2"] for line in result.stdout.split("\n"))
    assert any(line.split() == ["depth"] for line in result.stdout.split("\n"))


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<urn:m> a skos:Concept ; skos:prefLabel "Music"@en, "Musik"@de ; skos:notation "1" .
<urn:o> a skos:Concept ; skos:prefLabel "Opera"@en, "Oper"@de ; skos:notation "1.1" ; skos:broader <urn:m> .
<urn:p> a skos:Concept ; skos:prefLabel "Pop"@en ; skos:notation "1.2" ; skos:broader <urn:m> .
<urn:q> a skos:Concept ; skos:prefLabel "Pop"@en ; skos:notation "1.3" ; skos:broader <urn:m> .
"""


@pytest.fixture
def skos(tmp_path: Path) -> Path:
    file = tmp_path / "topics.ttl"
    file.write_text(SKOS)
    return file


def test_show_finds_a_node_by_a_display_label_if_only_one_has_it(skos: Path) -> None:
    shown = json.loads(runner.invoke(app, ["show", str(skos), "--node", "Opera", "--json"]).stdout)
    assert shown["node"] == "urn:o"
    result = runner.invoke(app, ["show", str(skos), "--node", "Pop"])
    assert "'Pop' is not a node of the taxonomy; it is the display label of 2 nodes" in str(result.exception)


def test_nodes_are_called_as_asked_for(skos: Path, tmp_path: Path) -> None:
    data = tmp_path / "docs.jsonl"
    data.write_text('{"text": "a", "labels": ["1.1"]}\n{"text": "b", "labels": ["1.9"]}\n')
    by = ["--names", "notation"]
    assert json.loads(runner.invoke(app, ["show", str(skos), *by, "--json"]).stdout)["root"] == "1"
    checked = json.loads(runner.invoke(app, ["check", str(skos), *by, "--data", str(data), "--json"]).stdout)
    found = {finding["code"]: finding for finding in checked["findings"]}
    assert found["label-without-node"]["count"] == 1
    assert runner.invoke(app, ["convert", str(skos), str(tmp_path / "out.tsv"), *by]).exit_code == 0
    assert set(Taxonomy.read(tmp_path / "out.tsv").names) == {"1", "1.1", "1.2", "1.3"}
    result = runner.invoke(app, ["show", str(skos), "--names", "label"])
    assert "(--names iri)" in str(result.exception)


def test_convert_says_which_texts_the_format_does_not_hold(skos: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["convert", str(skos), str(tmp_path / "out.txt")])
    assert "left out: 2 preferred, 4 notation." in result.stderr
    result = runner.invoke(app, ["convert", str(skos), str(tmp_path / "out.txt"), "--language", "de", "--json"])
    assert json.loads(result.stdout)["texts_left_out"] == {"preferred": 2, "notation": 4}


def test_convert_keeps_the_texts_of_all_languages(skos: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["convert", str(skos), str(tmp_path / "out.rdf"), "--language", "de"])
    assert "left out" not in result.stderr
    assert Taxonomy.read(tmp_path / "out.rdf").texts == Taxonomy.read(skos).texts


def test_documents_given_as_a_taxonomy_are_named_so(tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    docs.write_text('{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": ["y"]}\n')
    for command in ("show", "check"):
        result = runner.invoke(app, [command, str(docs)])
        assert "docs.jsonl: this looks like documents" in str(result.exception)


def test_errors_name_the_options_of_python_and_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_bytes("Tiere\tV\u00f6gel\n".encode("latin-1"))
    result = runner.invoke(app, ["show", str(file)])
    assert "name the encoding with --encoding, for example 'latin-1'" in str(result.exception)
    assert runner.invoke(app, ["show", str(file), "--encoding", "latin-1"]).exit_code == 0
    file.write_text("R\tA\n")
    result = runner.invoke(app, ["convert", str(file), str(tmp_path / "t.docx")])
    assert "name it with --to, or use one of the endings" in str(result.exception)


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
    assert "does not apply: neither" in str(result.exception)


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
    assert "No problems" in result.stdout


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
    assert "--min-examples 3 requires --data" in str(result.exception)


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


def test_a_file_is_not_converted_onto_itself(linnaeus, files) -> None:
    before = (files / "topics.tsv").read_text()
    result = linnaeus("taxonomy", "convert", files / "topics.tsv", files / "topics.tsv")
    assert (result.code, "the input itself" in result.err) == (2, True)
    assert (files / "topics.tsv").read_text() == before


def test_a_broken_vocabulary_is_looked_at_as_a_whole(linnaeus, tmp_path) -> None:
    concepts = [("a", "c"), ("b", "a"), ("c", "b"), ("d", "undescribed")]
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."]
    lines += [f"<urn:{below}> a skos:Concept ; skos:broader <urn:{above}> ." for below, above in concepts]
    (tmp_path / "broken.ttl").write_text("\n".join(lines))
    result = linnaeus("taxonomy", "check", tmp_path / "broken.ttl", "--json")
    codes = {finding["code"] for finding in json.loads(result.out)["findings"]}
    assert (result.code, codes >= {"cycle", "unknown-parent"}) == (1, True)


def test_deprecated_labels_of_a_label_file_are_read_as_their_replacements(linnaeus, tmp_path) -> None:
    (tmp_path / "go.obo").write_text(
        "format-version: 1.2\n\n[Term]\nid: A\nname: a\n\n[Term]\nid: B\nname: b\nis_a: A\n\n"
        "[Term]\nid: C\nname: c\nis_obsolete: true\nreplaced_by: B\n"
    )
    (tmp_path / "p.fasta").write_text(">P1\nMKQ\n>P2\nMAA\n")
    (tmp_path / "labels.tsv").write_text("id\tlabel\nP1\tB\nP2\tC\n")
    given = ("taxonomy", "check", tmp_path / "go.obo", "--data", tmp_path / "p.fasta")
    result = linnaeus(*given, "--labels-file", tmp_path / "labels.tsv", "--json")
    assert result.code == 0, result.out
    assert "label-without-node" not in result.out


def test_a_table_of_something_else_is_noticed(linnaeus, tmp_path) -> None:
    (tmp_path / "jobs.csv").write_text("id,title,source,salary,city\n1,clerk,web,10,Bonn\n2,cook,web,12,Köln\n")
    result = linnaeus("taxonomy", "check", tmp_path / "jobs.csv")
    assert "unused-columns" in result.out
    assert "may not be a taxonomy" in result.err
    assert linnaeus("taxonomy", "check", tmp_path / "jobs.csv").code == 0


def test_find_prints_the_nodes_that_resemble_the_query(skos: Path) -> None:
    found = json.loads(runner.invoke(app, ["find", str(skos), "opra", "--json"]).stdout)["matches"]
    assert (found[0]["id"], found[0]["label"], found[0]["how"]) == ("urn:o", "Opera", "fuzzy")
    assert "Opera" in runner.invoke(app, ["find", str(skos), "opera"]).stdout
    assert "No node resembles 'xqzw'" in runner.invoke(app, ["find", str(skos), "xqzw"]).stderr
    refused = runner.invoke(app, ["find", str(skos), "opera", "--language", "fr"])
    assert "the languages of its labels are" in str(refused.exception)


def test_node_prints_texts_parents_and_children(skos: Path) -> None:
    shown = json.loads(runner.invoke(app, ["node", str(skos), "Opera", "--json"]).stdout)
    assert {"kind": "preferred", "language": "de", "text": "Oper"} in shown["texts"]
    assert shown["parents"] == ["urn:m"]
    assert "Oper" in runner.invoke(app, ["node", str(skos), "urn:o"]).stdout


def test_show_counts_texts_by_kind_and_language(skos: Path) -> None:
    shown = json.loads(runner.invoke(app, ["show", str(skos), "--json"]).stdout)
    assert shown["texts"] == Taxonomy.read(skos).texts.counts
    assert "notation texts" in runner.invoke(app, ["show", str(skos)]).stdout


def test_labels_that_lost_their_leading_zeros_are_reported(linnaeus, tmp_path) -> None:
    codes = ["0", "02", "021", "0211", "2", "21", "211", "2111", "5", "53", "532", "5321"]
    (tmp_path / "codes.csv").write_text("code;title\n" + "".join(f"{code};Title {code}\n" for code in codes))
    rows = [("a soldier", "211"), ("a physicist", "2111"), ("a nurse", "5321")] * 5
    (tmp_path / "docs.csv").write_text("text;label\n" + "".join(f"{text};{label}\n" for text, label in rows))
    result = linnaeus("taxonomy", "check", tmp_path / "codes.csv", "--data", tmp_path / "docs.csv", "--json")
    found = {finding["code"]: finding for finding in json.loads(result.out)["findings"]}
    assert found["lost-zeros"]["examples"] == ["211 (5 documents)"]
    shown = linnaeus("taxonomy", "check", tmp_path / "codes.csv").out
    assert "top nodes" in shown
    assert "n tops" not in shown
    data = ["-t", tmp_path / "codes.csv", "-d", tmp_path / "docs.csv", "-o", tmp_path / "model"]
    result = linnaeus("train", *data, "--model", "OneVsRestSVM", "--budget", 0, "--test-size", 0)
    assert result.code == 0, result.err
    assert "'211' is perhaps '0211' (Title 0211). A spreadsheet removes leading zeros" in " ".join(result.err.split())


def test_a_column_that_is_not_read_is_listed_with_the_name_that_is(linnaeus, tmp_path) -> None:
    (tmp_path / "topics.csv").write_text("id,label,parent,alt\na,Animals,,\nc,Cats,a,felines\n")
    result = linnaeus("taxonomy", "check", tmp_path / "topics.csv", "--json")
    (found,) = [one for one in json.loads(result.out)["findings"] if one["code"] == "unused-columns"]
    assert (found["severity"], found["examples"]) == ("info", ["alt (did you mean altLabel?)"])
    (tmp_path / "topics.csv").write_text("id,label,parent,altLabel\na,Animals,,\nc,Cats,a,felines\n")
    assert "unused-columns" not in linnaeus("taxonomy", "check", tmp_path / "topics.csv").out
