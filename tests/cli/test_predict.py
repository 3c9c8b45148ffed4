"""`linnaeus predict` classifies files and standard input, to JSON lines or tab-separated values."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

import pytest


def test_json_lines_have_labels_scores_and_paths(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [line["id"] for line in lines] == [f"d{i}" for i in range(40)]
    assert lines[0]["labels"][0]["label"] == "Cats"
    assert lines[0]["labels"][0]["path"] == ["Animals", "Cats"]
    assert isinstance(lines[0]["labels"][0]["score"], float)


def test_top_k_is_sorted_by_score(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--top", 3)
    for line in map(json.loads, result.out.splitlines()):
        scores = [entry["score"] for entry in line["labels"]]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)


def test_tab_separated_values(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--as", "tsv")
    header, first = (line.split("\t") for line in result.out.splitlines()[:2])
    assert header == ["id", "label", "name", "score", "path", "status"]
    assert first[:3] == ["d0", "Cats", "Cats"]
    assert float(first[3]) > 0
    assert first[4:] == ["Animals > Cats", "answered"]


def test_the_language_of_the_vocabulary_is_that_of_the_paths(linnaeus, files) -> None:
    skos = "http://www.w3.org/2004/02/skos/core#"
    lines = [f"@prefix s: <{skos}> . @prefix x: <x:> .", 'x:A a s:Concept ; s:prefLabel "Beasts"@en, "Tiere"@de .']
    lines += ["x:B a s:Concept ."] + [f"x:{v} a s:Concept ; s:broader x:A ." for v in ("Cats", "Dogs")]
    lines += [f"x:{v} a s:Concept ; s:broader x:B ." for v in ("Trees", "Flowers")]
    (files / "topics.ttl").write_text("\n".join(lines))
    text = (files / "docs.jsonl").read_text()
    (files / "iris.jsonl").write_text(text.replace('"labels": ["', '"labels": ["x:'))
    train = ("train", "-d", files / "iris.jsonl", "-o", files / "model", "--min-df", 1, "--language", "de")
    assert linnaeus(*train, "-t", files / "topics.ttl").code == 0
    out = linnaeus("predict", files / "model", files / "iris.jsonl", "--as", "tsv").out
    first = out.splitlines()[1].split("\t")
    assert (first[1], first[4]) == ("x:Cats", "Tiere > x:Cats")
    record = json.loads(linnaeus("predict", files / "model", files / "iris.jsonl").out.splitlines()[0])
    assert record["labels"][0]["path"] == ["x:A", "x:Cats"]
    assert record["labels"][0]["display_path"] == ["Tiere", "x:Cats"]
    stored = linnaeus("predict", files / "model", files / "iris.jsonl", "--as", "tsv", "--language", "en").out
    assert stored.splitlines()[1].split("\t")[4] == "Beasts > x:Cats"
    refused = linnaeus("predict", files / "model", files / "iris.jsonl", "--language", "fr")
    assert (refused.code, "the languages of its texts are de (1), en (1)" in refused.err) == (2, True)
    assert linnaeus("explain", files / "model", "--document", "cat purr", "--language", "en").code == 0
    english = ("--taxonomy", files / "topics.ttl", "--language", "en")
    out = linnaeus("predict", files / "model", files / "iris.jsonl", "--as", "tsv", *english).out
    assert out.splitlines()[1].split("\t")[4] == "Beasts > x:Cats"
    assert linnaeus("explain", files / "model", "--document", "cat purr", *english).code == 0
    strange = linnaeus("predict", files / "model", files / "iris.jsonl", "--taxonomy", files / "topics.tsv")
    assert "has none of the nodes of the model" in strange.err
    assert "--language applies to --taxonomy" in linnaeus(*train).err
    under = ("predict", files / "model", files / "iris.jsonl", "--as", "tsv", "--only-under")
    assert linnaeus(*under, "Tiere").out == linnaeus(*under, "x:A").out
    assert "did you mean 'x:A' (Tiere)?" in linnaeus(*under, "Tierre").err


def test_a_node_with_several_parents_shows_all_its_paths(linnaeus, files) -> None:
    with (files / "topics.tsv").open("a") as file:
        file.write("Plants\tCats\n")
    linnaeus("train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1)
    entry = json.loads(linnaeus("predict", files / "model", files / "docs.jsonl").out.splitlines()[0])["labels"][0]
    assert entry["path"] == ["Animals", "Cats"]
    assert entry["other_paths"] == [["Plants", "Cats"]]


def test_a_p_cut_sees_the_whole_file(linnaeus, files, monkeypatch) -> None:
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    assert linnaeus(*train, "--decoder", "pcut").code == 0
    whole = linnaeus("predict", files / "model", files / "docs.jsonl")
    monkeypatch.setattr("linnaeus.answering.records._BATCH", 13)  # the last batch would be one document
    assert linnaeus("predict", files / "model", files / "docs.jsonl").out == whole.out
    assert whole.out.count('"Cats"') == 20  # ten documents: the label and its path


def test_closed_answers_hold_the_ancestors(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--closed")
    labels = {entry["label"] for entry in json.loads(result.out.splitlines()[0])["labels"]}
    assert labels == {"Animals", "Cats"}


def test_standard_input_is_read(linnaeus, trained) -> None:
    text = json.dumps({"text": "the dog fetched a leash"}) + "\n" + json.dumps({"text": "petal and rose"}) + "\n"
    for arguments in (["-"], []):
        result = linnaeus("predict", trained / "model", *arguments, stdin=text)
        assert result.code == 0, result.err
        found = [json.loads(line)["labels"][0]["label"] for line in result.out.splitlines()]
        assert found == ["Dogs", "Flowers"]


def test_a_hyphen_as_output_is_the_standard_output(linnaeus, trained, tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    arguments = ("predict", trained / "model", trained / "docs.jsonl")
    assert linnaeus(*arguments, "--output", "-").out == linnaeus(*arguments).out
    assert linnaeus(*arguments, "--output", "-", "--as", "csv").out.startswith("id,label")
    refused = linnaeus(*arguments, "--output", "-", "--as", "xlsx")
    assert (refused.code, "--output" in refused.err) == (2, True)
    assert linnaeus("taxonomy", "convert", trained / "topics.tsv", "-", "--to", "edges").out.startswith("parent\tchild")
    assert not list((tmp_path / "empty").iterdir())


def test_an_output_file_appears_whole_or_not_at_all(linnaeus, trained) -> None:
    target = trained / "answers.jsonl"
    assert linnaeus("predict", trained / "model", trained / "docs.jsonl", "-o", target).code == 0
    assert len(target.read_text().splitlines()) == 40
    target.unlink()
    (trained / "bad.jsonl").write_text('{"text": "a cat"}\n{"text": \n')
    result = linnaeus("predict", trained / "model", trained / "bad.jsonl", "-o", target)
    assert result.code == 1
    assert "bad.jsonl:2" in result.err
    assert not target.exists()
    assert not list(trained.glob(".*.part"))


def test_errors_say_what_is_wrong(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "modle", trained / "docs.jsonl")
    assert (result.code, "no such folder" in result.err) == (1, True)
    result = linnaeus("predict", trained / "model", trained / "nothing.jsonl")
    assert (result.code, "nothing.jsonl" in result.err) == (1, True)
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--as", "xml")
    assert (result.code, "expected jsonl, csv, tsv, xlsx" in result.err) == (2, True)
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--top", 2, "--closed")
    assert (result.code, "--top ranks single nodes" in result.err) == (2, True)
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--probabilities")
    assert (result.code, "linnaeus calibrate" in result.err) == (2, True)
    (trained / "vectors.svm").write_text("0 1:1.0 2:2.0\n")
    result = linnaeus("predict", trained / "model", trained / "vectors.svm")
    assert (result.code, "trained on text" in result.err) == (1, True)


def test_the_answers_can_be_evaluated(linnaeus, trained) -> None:
    answers = trained / "answers.tsv"
    linnaeus("predict", trained / "model", trained / "docs.jsonl", "--as", "tsv", "-o", answers)
    run = linnaeus(
        "evaluate",
        "--taxonomy",
        trained / "topics.tsv",
        "--gold",
        trained / "docs.jsonl",
        "--predicted",
        answers,
        "--json",
    )
    assert run.code == 0, run.err
    direct = linnaeus("evaluate", trained / "model", trained / "docs.jsonl", "--json")
    assert direct.code == 0, direct.err
    figures = [json.loads(result.out)["metrics"] for result in (run, direct)]
    for measure in ("micro_f1", "hierarchical_f1", "macro_f1"):
        assert figures[0][measure] == figures[1][measure]


def test_probabilities_are_between_zero_and_one(linnaeus, files) -> None:
    linnaeus("train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "blr", "-m", "BLR")
    result = linnaeus("predict", files / "blr", files / "docs.jsonl", "--top", 4, "--probabilities")
    for line in map(json.loads, result.out.splitlines()):
        scores = [entry["probability"] for entry in line["labels"]]
        assert sum(scores) == pytest.approx(1, abs=1e-4)
        assert scores == sorted(scores, reverse=True)


def test_files_with_and_without_labels_go_together(linnaeus, trained) -> None:
    (trained / "plain.jsonl").write_text('{"id": "new", "text": "a dog with a leash"}\n')
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", trained / "plain.jsonl")
    assert result.code == 0, result.err
    assert json.loads(result.out.splitlines()[-1])["labels"][0]["label"] == "Dogs"


def test_a_model_of_several_fields_takes_documents_that_lack_one(linnaeus, files) -> None:
    documents = [json.loads(line) for line in (files / "docs.jsonl").read_text().splitlines()]
    lines = [json.dumps({**d, "title": d["text"].split()[0]}) for d in documents]
    (files / "titled.jsonl").write_text("\n".join(lines))
    linnaeus(
        "train", "-t", files / "topics.tsv", "-d", files / "titled.jsonl", "-o", files / "model",
        "--text", "title=2", "--text", "text", "--min-df", 1,
    )  # fmt: skip
    for given in ('{"text": "a dog with a leash"}\n', '{"title": "leash"}\n', "a dog with a leash\n"):
        result = linnaeus("predict", files / "model", "-", stdin=given)
        assert result.code == 0, result.err
        assert json.loads(result.out)["labels"][0]["label"] == "Dogs"
    steps = json.loads(linnaeus("explain", files / "model", "--document", "a dog with a leash", "--json").out)
    assert {feature for feature, _ in steps[-1]["contributions"]} == {"text:dog", "text:leash"}


def test_ids_can_be_named(linnaeus, trained) -> None:
    (trained / "numbered.csv").write_text("Nr,text\nx7,a dog with a leash\nx9,purr\n")
    result = linnaeus("predict", trained / "model", trained / "numbered.csv", "--id", "Nr")
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["x7", "x9"]


@pytest.mark.parametrize(
    "command",
    [
        "predict model docs.jsonl",
        pytest.param("evaluate model docs.jsonl", marks=pytest.mark.slow),
        "taxonomy show topics.tsv",
    ],
)
def test_a_reader_that_has_enough_is_no_error(trained, command) -> None:
    command = f"{sys.executable} -m linnaeus {command} | head -1"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], cwd=trained, capture_output=True, text=True, env=environment
    )
    assert found.returncode == 0
    notes = ("columns:", "equal to training documents")
    assert [line for line in found.stderr.splitlines() if not any(words in line for words in notes)] == []
    assert len(found.stdout.splitlines()) == 1


def test_rules_bind_every_answer(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--only-under", "Plants", "--at-most", 1)
    for line in map(json.loads, result.out.splitlines()):
        assert line["proved"] is True
        assert [entry["path"][0] for entry in line["labels"]] == ["Plants"]
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--exclude", "Cats", "--exclude", "Dgos")
    assert result.code != 0
    assert "did you mean 'Dogs'" in result.err
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--only-under", "Cats", "--exclude", "Cats")
    assert result.code != 0
    assert re.search("No label set of document '.+' obeys --only-under Cats, --exclude Cats", result.err)


def test_n_best_sets_come_with_their_scores(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "--n-best", 3)
    line = json.loads(result.out.splitlines()[0])
    assert line["sets"][0]["labels"] == ["Cats"]
    scores = [entry["score"] for entry in line["sets"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3


def test_a_text_of_the_command_line_is_classified(linnaeus, trained):
    result = linnaeus("predict", trained / "model", "--document", "kitten purr", "--document", "leash bark puppy")
    assert [json.loads(line)["labels"][0]["label"] for line in result.out.splitlines()] == ["Cats", "Dogs"]


def test_a_text_of_the_command_line_excludes_files_and_how_they_are_read(linnaeus, trained):
    command = ["predict", trained / "model", "--document", "kitten purr"]
    assert "not both" in linnaeus(*command, trained / "docs.jsonl").err
    assert "--encoding applies to files" in linnaeus(*command, "--encoding", "latin-1").err


def test_a_text_given_as_a_column_names_the_option_for_texts(linnaeus, trained):
    result = linnaeus("predict", trained / "model", "--text", "the kitten likes to purr", stdin="")
    assert result.code == 1
    assert "--document" in result.err


def test_rankings_obey_rules_that_concern_single_labels(linnaeus, trained):
    command = ["predict", trained / "model", trained / "docs.jsonl", "--top", 3]
    for line in map(json.loads, linnaeus(*command, "--only-under", "Plants").out.splitlines()):
        assert {entry["label"] for entry in line["labels"]} == {"Trees", "Flowers"}
    for line in map(json.loads, linnaeus(*command, "--exclude", "Cats").out.splitlines()):
        assert {entry["label"] for entry in line["labels"]} == {"Dogs", "Trees", "Flowers"}
    refused = linnaeus(*command, "--require", "Cats")
    assert (refused.code, "--require applies to label sets" in refused.err) == (2, True)


def test_the_path_shown_passes_through_the_node_asked_for(linnaeus, files):
    with (files / "topics.tsv").open("a") as file:
        file.write("Plants\tCats\n")
    linnaeus("train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1)
    command = ["predict", files / "model", files / "docs.jsonl", "--only-under"]
    for node in ("Animals", "Plants"):
        entry = json.loads(linnaeus(*command, node).out.splitlines()[0])["labels"][0]
        assert entry["path"] == [node, "Cats"]


def test_a_document_of_which_the_model_knows_nothing_gets_no_answer(linnaeus, trained):
    texts = ["--document", "kitten purr", "--document", "", "--document", "zzz qqq"]
    result = linnaeus("predict", trained / "model", *texts)
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["known_terms"] for record in records] == [2, 0, 0]
    assert [record["status"] for record in records] == ["answered", "unknown", "unknown"]
    assert [len(record["labels"]) for record in records] == [1, 0, 0]
    assert result.err.count("warning: the model knows no term of 2 of 3 documents") == 1


@pytest.mark.parametrize("how", [["--top", 2], ["--n-best", 2], ["--at-least", 1]], ids=lambda how: how[0])
def test_an_unknown_document_is_answered_only_on_request(linnaeus, trained, how):
    command = ["predict", trained / "model", "--document", "zzz", *how]
    record = json.loads(linnaeus(*command).out)
    assert (record["labels"], record["status"], record.get("sets", [])) == ([], "unknown", [])
    record = json.loads(linnaeus(*command, "--answer-unknown").out)
    assert (len(record["labels"]) > 0, record["status"], record["known_terms"]) == (True, "answered", 0)


def test_sequences_given_to_a_model_of_texts_are_not_answered(linnaeus, trained):
    (trained / "proteins.fasta").write_text(
        ">p1\nMKQKIIIFGGSFDPIHNAHLYIAKHAIKKIKAQK\n>p2\nMSKGEELFTGVVPILVELDGDVNGHKF\n"
    )
    result = linnaeus("predict", trained / "model", trained / "proteins.fasta")
    assert [json.loads(line)["status"] for line in result.out.splitlines()] == ["unknown", "unknown"]
    assert "2 of 2 documents" in result.err


def test_decoders_take_parameters(linnaeus, trained):
    command = ["predict", trained / "model", "--document", "kitten purr", "--decoder"]
    assert json.loads(linnaeus(*command, "threshold,theta=99,at_least_one=False").out)["status"] == "empty"
    for wrong, message in [
        ("threshold,theta", "'theta' is not a parameter"),
        ("threshold,thetta=1", "did you mean 'theta'"),
        ("treshold", "did you mean 'threshold'"),
    ]:
        refused = linnaeus(*command, wrong)
        assert (refused.code, message in refused.err, f"--decoder {wrong}" in refused.err) == (2, True, True)


@pytest.mark.parametrize("name", ["answers.xls", "answers.pdf", "answers.csv.gz"])
def test_an_ending_that_cannot_be_written_is_refused(linnaeus, trained, name) -> None:
    result = linnaeus("predict", trained / "model", trained / "docs.jsonl", "-o", trained / name)
    assert result.code == 2
    assert "cannot be written; expected .jsonl" in result.err
    assert not (trained / name).exists()


def test_documents_given_instead_of_a_model_are_called_a_file(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "docs.jsonl", trained / "model")
    assert (result.code, "is a file, not a model; expected a model folder" in result.err) == (1, True)


def test_tables_that_cannot_be_written_are_refused_before_the_work(linnaeus, trained) -> None:
    output = trained / "table.docx"
    for command in (("predict", "--risk", 0.1, "--review", output), ("evaluate", "-o", output)):
        result = linnaeus(command[0], trained / "model", trained / "missing.jsonl", *command[1:])
        assert (result.code, ".docx cannot be written" in result.err) == (2, True)


def test_a_text_given_as_a_file_name_is_told_apart(linnaeus, trained) -> None:
    result = linnaeus("predict", trained / "model", "a cat on a leash")
    assert result.code == 1
    assert "No such file or directory: a cat on a leash (the text of a document is given as --document)" in result.err


def test_answers_of_an_expected_cut_have_the_probabilities_that_it_used(linnaeus, trained) -> None:
    data = ["-t", trained / "topics.tsv", "-d", trained / "docs.jsonl", "-o", trained / "cut"]
    model = ["--model", "OneVsRestSVM", "--budget", 0, "--decoder", "expected,measure=hierarchical_f1"]
    assert linnaeus("train", *data, *model).code == 0
    result = linnaeus("predict", trained / "cut", trained / "docs.jsonl", "--closed")
    assert result.code == 0, result.err
    entries = [entry for line in result.out.splitlines() for entry in json.loads(line)["labels"]]
    assert {entry["label"] for entry in entries if entry["score"] is None} == {"Animals", "Plants"}
    assert all(0 < entry["probability"] <= 1 for entry in entries)


def test_a_column_holds_the_labels_that_each_document_may_have(linnaeus, trained, tmp_path):
    rows = [("kitten purr", "Dogs;Trees"), ("kitten purr", "Cats"), ("kitten purr", "")]
    table = tmp_path / "may.csv"
    table.write_text("text,may\n" + "".join(f"{text},{labels}\n" for text, labels in rows))
    answers = linnaeus("predict", trained / "model", table, "--allow-from", "may").out.splitlines()
    labels = [[entry["label"] for entry in json.loads(line)["labels"]] for line in answers]
    assert labels[0][0] in ("Dogs", "Trees")
    assert labels[1:] == [["Cats"], ["Cats"]]
    lines = [json.dumps({"text": text, "may": few.split(";") if few else []}) for text, few in rows]
    (tmp_path / "may.jsonl").write_text("\n".join(lines))
    same = linnaeus("predict", trained / "model", tmp_path / "may.jsonl", "--allow-from", "may", "--top", 5).out
    ranked = [{entry["label"] for entry in json.loads(line)["labels"]} for line in same.splitlines()]
    assert ranked == [{"Dogs", "Trees"}, {"Cats"}, {"Cats", "Dogs", "Trees", "Flowers"}]


def test_labels_that_are_allowed_may_be_given_for_all_documents(linnaeus, trained):
    command = ["predict", trained / "model", "--document", "kitten purr", "--allow", "Trees", "--allow", "Dogs"]
    (line,) = linnaeus(*command).out.splitlines()
    assert json.loads(line)["labels"][0]["label"] in ("Dogs", "Trees")
    refused = linnaeus(*command, "--allow-from", "may")
    assert "--allow and --allow-from" in refused.err


def test_nodes_that_the_cut_did_not_decide_have_neither_score_nor_probability(linnaeus, files) -> None:
    texts = [("cat purr kitten", ["Cats"]), ("rose petal", ["Flowers"]), ("purr rose", ["Cats", "Flowers"])]
    rows = [json.dumps({"text": text, "labels": labels}) for text, labels in texts * 10]
    (files / "two.jsonl").write_text("\n".join(rows))
    given = ["-t", files / "topics.tsv", "-d", files / "two.jsonl", "-o", files / "model", "--min-df", 1]
    options = ["--model", "HierarchicalPerceptron", "--decoder", "expected", "--budget", 0, "--test-size", 0]
    assert linnaeus("train", *given, *options).code == 0
    out = linnaeus("predict", files / "model", "--document", "cat purr kitten", "--closed").out
    label, above = json.loads(out)["labels"]
    assert label["label"] == "Cats"
    assert label["probability"] > 0
    assert (above["label"], above["score"], "probability" in above) == ("Animals", None, False)


def test_rankings_of_models_that_go_down_the_taxonomy_have_scores_of_their_own(linnaeus, files) -> None:
    given = ["-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    assert linnaeus("train", *given, "--model", "EdgePA", "--budget", 0, "--test-size", 0).code == 0
    asked = files / "model", "--document", "cat purr kitten thing"

    def first(*more: object) -> dict[str, float]:
        return json.loads(linnaeus("predict", *asked, *more).out)["labels"][0]

    own = {step["node"]: step["score"] for step in json.loads(linnaeus("explain", *asked, "--json").out)}
    assert first()["score"] == pytest.approx(own["Cats"], abs=1e-5)
    assert first("--top", 1)["score"] == pytest.approx(min(own["Animals"], own["Cats"]), abs=1e-5)
    assert linnaeus("calibrate", files / "model", files / "docs.jsonl").code == 0
    p = first("--top", 1, "--probabilities")["probability"]
    assert first()["score"] == pytest.approx(own["Cats"], abs=1e-5)
    assert first("--top", 1)["score"] == pytest.approx(math.log(p / (1 - p)), rel=1e-3)
