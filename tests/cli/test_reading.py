"""What the command line reads as text, labels and ids, what it says about it, and what it refuses."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import zipfile

import pytest

TEXTS = {"sport": ["a late goal", "the match and the goal"], "vote": ["the parliament votes", "a vote of the people"]}
ROWS = [(text, label) for label in TEXTS for text in TEXTS[label]] * 5


@pytest.fixture
def table(tmp_path):
    """A labelled CSV file, and a way to write others beside it."""

    def write(name, header, rows):
        lines = [header, *(",".join(map(str, row)) for row in rows)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    return write


def test_train_states_the_columns(linnaeus, table, tmp_path):
    file = table("a.csv", "nr,body,category,date", [(i, *row, 2020) for i, row in enumerate(ROWS)])
    result = linnaeus("train", "-d", file, "-o", tmp_path / "m", "--json")
    assert "columns: text 'body'; labels 'category'; id 'nr'; ignored 'date'" in result.err
    assert json.loads(result.out)["columns"]["ignored"] == ["date"]
    result = linnaeus("evaluate", tmp_path / "m", file, "--json")
    assert "labels 'category'" in result.err
    assert json.loads(result.out)["columns"]["text"] == ["body"]
    result = linnaeus("data", "describe", file, "--json")
    assert json.loads(result.out)[0]["columns"]["id"] == ["nr"]


def test_several_columns_that_may_be_the_labels_are_refused(linnaeus, table, tmp_path):
    file = table("mail.csv", "subject,body,category", [(f"s{i}", *row) for i, row in enumerate(ROWS)])
    result = linnaeus("train", "-d", file, "-o", tmp_path / "m")
    assert result.code == 1
    assert "'subject', 'category'" in result.err
    assert "--labels category" in result.err
    assert linnaeus("train", "-d", file, "-o", tmp_path / "m", "--labels", "category").code == 0
    assert linnaeus("predict", tmp_path / "m", file).out.count("\n") == len(ROWS)


def test_documents_without_a_label_are_refused_or_dropped_with_a_count(linnaeus, table, tmp_path):
    file = table("a.csv", "text,label", [*ROWS, ("no code", ""), ("nor here", "")])
    result = linnaeus("train", "-d", file, "-o", tmp_path / "m")
    assert result.code == 1
    assert "2 of 22 documents have no label, the first at" in result.err
    assert "a.csv:22" in result.err
    assert "--unlabelled drop" in result.err
    result = linnaeus("train", "-d", file, "-o", tmp_path / "m", "--unlabelled", "drop", "--json")
    assert json.loads(result.out)["documents"] <= 20
    assert "2 of 22 documents dropped" in result.err
    assert linnaeus("train", "-d", file, "-o", tmp_path / "m", "--unlabelled", "keep").code == 0
    assert linnaeus("train", "-d", file, "-o", tmp_path / "m", "--unlabelled", "no").code == 2


def test_a_document_that_loses_its_only_label_is_not_trained_on_in_silence(linnaeus, table, tmp_path):
    file = table("a.csv", "text,label", [*ROWS, ("rain", "weather")])
    taxonomy = table("t.csv", "parent,child", [("all", "sport"), ("all", "vote")])
    arguments = ("train", "-d", file, "-t", taxonomy, "-o", tmp_path / "m", "--unknown", "drop")
    result = linnaeus(*arguments)
    assert result.code == 0
    assert "1 of 21 labels were dropped: 1 name is not in the taxonomy ('weather'" in result.err
    assert "1 of 21 documents has no other label and is left out" in result.err
    assert "20 documents, " in result.err
    result = linnaeus(*arguments, "--unlabelled", "drop")
    assert result.code == 0
    assert "1 of 21 documents have no label and are left out" in result.err
    assert "no other label" not in result.err
    assert "21 documents, " in linnaeus(*arguments, "--unlabelled", "keep").err


def test_an_unknown_header_is_not_a_document(linnaeus, table, tmp_path):
    train = table("a.csv", f"x0,{ROWS[0][0]},{ROWS[0][1]}", [(f"x{i}", *row) for i, row in enumerate(ROWS[1:])])
    assert linnaeus("train", "-d", train, "-o", tmp_path / "m", "--text", "1", "--labels", "2").code == 0
    odd = table("odd.csv", "Kennung,Inhalt,Schlagwort", [(f"x{i}", *row) for i, row in enumerate(ROWS)])
    answers = linnaeus("predict", tmp_path / "m", odd).out.splitlines()
    assert len(answers) == len(ROWS)
    assert json.loads(answers[0])["id"] == "1"


def test_a_fasta_file_is_joined_with_its_annotations(linnaeus, tmp_path):
    letters = "MKQAALLV"
    entries = [(f"Q0P88{i}", letters[i % 4 :] * 4) for i in range(8)]
    text = "".join(f">sp|{name}|N_X Uncharacterized protein OS=X\n{sequence}\n" for name, sequence in entries)
    (tmp_path / "p.fasta").write_text(text)
    columns = ["UniProtKB", "", "s", "", "", "PMID:1", "IEA", "", "F", "", "", "protein", "taxon:1", "20200101", "U"]
    lines = ["!gaf-version: 2.1"]
    for i, (name, _) in enumerate(entries):
        lines.append("\t".join([columns[0], name, "s", "", f"GO:000000{i % 2}", *columns[5:]]))
        lines.append("\t".join([columns[0], name, "s", "NOT", "GO:0000009", *columns[5:]]))
    (tmp_path / "go.gaf").write_text("\n".join(lines) + "\n")
    result = linnaeus("train", "-d", tmp_path / "p.fasta", "-o", tmp_path / "m")
    assert result.code == 1
    assert "--labels-file" in result.err
    result = linnaeus("train", "-d", tmp_path / "p.fasta", "--labels-file", tmp_path / "go.gaf", "-o", tmp_path / "m")
    assert result.code == 0, result.err
    assert "8 of 8 documents found" in result.err
    result = linnaeus("data", "describe", tmp_path / "p.fasta", "--labels-file", tmp_path / "go.gaf", "--json")
    assert json.loads(result.out)[0]["labels"]["n_labels"] == 2
    result = linnaeus("data", "describe", tmp_path / "go.gaf")
    assert result.code == 1
    assert "--labels-file" in result.err


def test_labels_may_come_from_several_columns_and_duplicates_may_go(linnaeus, table):
    file = table("a.csv", "text,level1,level2", [("a goal", "Sport", "Football"), ("A goal", "Sport", "")])
    both = ("--labels", "level1", "--labels", "level2")
    assert json.loads(linnaeus("data", "describe", file, *both, "--json").out)[0]["labels"]["n_labels"] == 2
    result = linnaeus("data", "describe", file, *both, "--duplicates", "drop", "--json")
    assert json.loads(result.out)[0]["n_docs"] == 1
    assert "1 of 2 documents dropped" in result.err


def test_pipes_and_archives_are_read(linnaeus, table, tmp_path):
    file = table("a.csv", "text,label", ROWS)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(file, "a.csv")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"gzip -c {file} > {pipe}"]) as writer:
        result = linnaeus("data", "describe", pipe, "--json")
        writer.wait()
    assert json.loads(result.out)[0]["n_docs"] == len(ROWS)
    assert json.loads(linnaeus("data", "describe", tmp_path / "a.zip", "--json").out)[0]["n_docs"] == len(ROWS)


def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(linnaeus, tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"text,label\n" + b"a,b\n" * 100_000))
    result = linnaeus("data", "describe", tmp_path / "bomb.gz", "--max-unpacked", "100KB")
    assert result.code == 1
    assert "bomb.gz unpacks to more than 100,000 bytes" in result.err
    assert linnaeus("data", "describe", tmp_path / "bomb.gz", "--max-unpacked", "1MB").code == 0


def test_empty_lines_of_standard_input_are_empty_documents(linnaeus, table, tmp_path):
    file = table("a.csv", "text,label", ROWS)
    assert linnaeus("train", "-d", file, "-o", tmp_path / "m").code == 0
    result = linnaeus("predict", tmp_path / "m", stdin="\n\n")
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["1", "2"], result.err


def test_the_header_of_a_gold_file_is_not_a_document(linnaeus, table):
    gold = table("gold.csv", "protein,go_term", [("Q0P887", "GO:0001"), ("P12345", "GO:0002")])
    predicted = table("predicted.csv", "Nummer,Antwort", [("Q0P887", "GO:0001"), ("P12345", "GO:0001")])
    result = linnaeus("evaluate", "--gold", gold, "--predicted", predicted, "--json")
    assert result.code == 0, result.err
    assert "gold.csv: columns: id 'protein'; labels 'go_term'" in result.err
    found = json.loads(result.out)
    assert (found["n_docs"], found["metrics"]["micro_f1"]) == (2, 0.5)
    assert found["columns"][str(predicted)]["id"] == ["Nummer"]


def test_the_example_for_a_label_column_is_not_the_subject_of_e_mails(linnaeus, tmp_path) -> None:
    (tmp_path / "mail.csv").write_text("subject,body,category\nLunch,See you at noon,private\nVote,Today,work\n")
    result = linnaeus("data", "describe", tmp_path / "mail.csv")
    assert result.code == 1
    assert "for example --labels category" in result.err


def test_an_archive_of_several_files_is_refused_with_their_names(linnaeus, tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "text,labels\nx,A\n")
        archive.writestr("b.csv", "text,labels\ny,B\n")
    result = linnaeus("data", "describe", tmp_path / "two.zip")
    assert result.code == 1
    assert "two.zip holds 2 files (a.csv, b.csv) and no files in folders; expected one file" in result.err


def test_errors_of_encodings_name_the_option_of_the_file(linnaeus, files) -> None:
    (files / "latin.csv").write_bytes("Code;Bezeichnung\n1;Milit\u00e4r\n11;Offiziere\n12;Soldaten\n".encode("latin-1"))
    for command in (("taxonomy", "check"), ("train", "-d", files / "docs.jsonl", "-o", files / "m", "-t")):
        result = linnaeus(*command, files / "latin.csv")
        assert result.code == 1
        assert "latin.csv:2: byte 0xe4 is not UTF-8; name the encoding with --taxonomy-encoding, for" in result.err
    shown = linnaeus("taxonomy", "show", files / "latin.csv", "--taxonomy-encoding", "latin-1")
    assert (shown.code, "Militär" in shown.out) == (0, True)
    (files / "docs.csv").write_bytes("text,labels\nV\u00f6gel,Cats\n".encode("latin-1"))
    for command in (("data", "describe"), ("evaluate", "--predicted", files / "docs.csv", "--gold")):
        assert "name the encoding with --encoding, for example" in linnaeus(*command, files / "docs.csv").err


def test_errors_of_missing_labels_name_the_columns_not_used(linnaeus, trained) -> None:
    (trained / "jobs.csv").write_text("id,text,KldB\n1,cat purr,Cats\n2,dog bark,Dogs\n")
    for command in (("calibrate",), ("evaluate",), ("evaluate", "--decoder", "best_leaf")):
        result = linnaeus(*command, trained / "model", trained / "jobs.csv")
        assert result.code == 1
        assert "has no labels; name their column with --labels (not used: 'KldB'), or a file with" in result.err


def test_a_table_without_usual_names_is_refused_with_all_columns(linnaeus, files) -> None:
    (files / "jobs.csv").write_text("LfdNr;Beruf;KldB\n1;Maurer;3111\n2;Arzt;8111\n")
    result = linnaeus("data", "describe", files / "jobs.csv")
    assert "no text column with a usual name among 'LfdNr', 'Beruf', 'KldB', and 'Beruf' does not hold" in result.err
    assert "name the text column with --text, the labels with --labels, the ids with --id" in result.err


@pytest.fixture
def topics(tmp_path):
    """Documents with two columns of labels, of which training uses the second."""
    rows = ["text,category,subject,code"]
    for i in range(24):
        word, label = (("goal", "A1"), ("vote", "B1"))[i % 2]
        rows.append(f"{word} {word}s thing,x{i % 2},y{i % 3},{label}")
    (tmp_path / "docs.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "topics.csv").write_text("parent,child\nA,A1\nB,B1\n")
    return tmp_path


def test_calibrate_and_evaluate_read_the_label_column_of_the_training(linnaeus, topics) -> None:
    data, model = topics / "docs.csv", topics / "model"
    arguments = ("-t", topics / "topics.csv", "-d", data, "-o", model, "--labels", "code", "--min-df", 1)
    assert linnaeus("train", *arguments).code == 0
    evaluated = linnaeus("evaluate", model, data)
    assert evaluated.code == 0, evaluated.err
    assert "labels 'code'" in evaluated.err
    assert linnaeus("calibrate", model, data).code == 0
    assert "no column 'nothing'" in linnaeus("evaluate", model, data, "--labels", "nothing").err


def test_an_unknown_label_of_a_label_file_is_named_with_its_place(linnaeus, tmp_path) -> None:
    (tmp_path / "p.fasta").write_text(">P1\nMKQ\n>P2\nMAA\n")
    (tmp_path / "labels.tsv").write_text("id\tlabel\nP1\tA1\nP2\tA9\n")
    (tmp_path / "t.csv").write_text("parent,child\nA,A1\nA,A2\n")
    result = linnaeus(
        "train", "-t", tmp_path / "t.csv", "-d", tmp_path / "p.fasta", "--labels-file", tmp_path / "labels.tsv",
        "-o", tmp_path / "model",
    )  # fmt: skip
    assert result.code == 1
    assert f"Label 'A9' ({tmp_path / 'labels.tsv'}:3) is not in the taxonomy" in result.err


def test_a_taxonomy_is_not_read_as_documents(linnaeus, topics) -> None:
    (topics / "topics.obo").write_text("format-version: 1.2\n\n[Term]\nid: A\nname: a\n")
    for name, sign in (("topics.csv", "the columns 'parent' and 'child'"), ("topics.obo", "an OBO ontology")):
        result = linnaeus("train", "-t", topics / "topics.csv", "-d", topics / name, "-o", topics / "model")
        assert result.code == 1
        assert f"{name} looks like a taxonomy ({sign})" in result.err


def test_a_fasttext_file_is_recognised_wherever_its_labels_stand(linnaeus, topics) -> None:
    lines = ["a short note", *("a late goal __label__A1", "__label__B1 a vote") * 3]
    (topics / "docs.txt").write_text("\n".join(lines) + "\n")
    described = json.loads(linnaeus("data", "describe", topics / "docs.txt", "--json").out)
    counts = described[0] if isinstance(described, list) else described
    assert counts["labels"]["n_labels"] == 2
    assert counts["labels"]["docs_without"] == 1


def test_label_files_are_read_in_the_encoding_given(linnaeus, tmp_path) -> None:
    for name in ("gold.tsv", "predicted.tsv"):
        (tmp_path / name).write_text("d1\tÄpfel\nd2\tBirnen\n", encoding="latin-1")
    given = ("evaluate", "--gold", tmp_path / "gold.tsv", "--predicted", tmp_path / "predicted.tsv")
    assert linnaeus(*given).code == 1
    assert linnaeus(*given, "--encoding", "latin-1").code == 0
