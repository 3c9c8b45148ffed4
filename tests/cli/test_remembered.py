"""What a model remembers of its training file, and what commands say where a file does not fit it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def table(files: Path) -> Path:
    """The documents as a table whose id column has no usual name."""
    rows = [json.loads(line) for line in (files / "docs.jsonl").read_text().splitlines()]
    lines = [f"{row['id']},{row['text']},{row['labels'][0]}" for row in rows]
    (files / "docs.csv").write_text("PPN,Text,Subjects\n" + "\n".join(lines) + "\n")
    (files / "new.csv").write_text("PPN,Text\np1,cat purr\np2,rose petal\n")
    return files


def train(linnaeus: Any, files: Path, *options: object) -> Any:
    arguments = ("train", "-t", files / "topics.tsv", "-o", files / "model", "--test-size", 0)
    result = linnaeus(*arguments, *options)
    assert result.code == 0, result.err
    return result


def test_the_id_column_of_the_training_is_that_of_new_documents(linnaeus: Any, table: Path) -> None:
    train(linnaeus, table, "-d", table / "docs.csv", "--id", "PPN", "--labels", "Subjects", "--min-df", 1)
    result = linnaeus("predict", table / "model", table / "new.csv", "--as", "csv")
    assert [line.split(",")[0] for line in result.out.splitlines()] == ["id", "p1", "p2"]
    assert "columns: text 'Text'; id 'PPN'" in result.err


def test_replaced_labels_are_counted(linnaeus: Any, files: Path) -> None:
    terms = [
        ("X:1", ""),
        ("X:2", "is_a: X:1\n"),
        ("X:3", "is_a: X:1\n"),
        ("X:9", "is_obsolete: true\nreplaced_by: X:2\n"),
    ]
    (files / "t.obo").write_text("format-version: 1.2\n" + "".join(f"\n[Term]\nid: {i}\n{rest}" for i, rest in terms))
    docs = [{"text": f"word{i % 2} thing", "labels": [["X:9", "X:3"][i % 2]]} for i in range(12)]
    (files / "go.jsonl").write_text("\n".join(map(json.dumps, docs)))
    options = ("-d", files / "go.jsonl", "-o", files / "model", "--test-size", 0, "--min-df", 1, "--unknown", "replace")
    result = linnaeus("train", "-t", files / "t.obo", *options)
    assert "6 deprecated labels (1 names) were replaced" in result.err


def test_features_numbered_from_0_and_from_1_are_noticed(linnaeus: Any, files: Path) -> None:
    names = ["Cats", "Dogs", "Trees", "Flowers"]
    for first in (0, 1):
        lines = [f"{names[i % 4]} {i % 4 + first}:1 {4 + i % 2 + first}:0.5" for i in range(40)]
        (files / f"from{first}.svm").write_text("\n".join(lines) + "\n")
    train(linnaeus, files, "-d", files / "from1.svm")
    warned = linnaeus("predict", files / "model", files / "from0.svm").err
    assert "has feature 0, which no training document has" in warned
    assert "warning" not in linnaeus("predict", files / "model", files / "from1.svm").err
    train(linnaeus, files, "-d", files / "from0.svm")
    short = "\n".join(line for line in (files / "from1.svm").read_text().splitlines() if " 6:" not in line)
    (files / "short.svm").write_text("\n".join([short] * 3) + "\n")
    assert "no document of" in linnaeus("predict", files / "model", files / "short.svm").err


def test_documents_without_a_gold_label_do_not_count_against_a_promise(linnaeus: Any, trained: Path) -> None:
    assert linnaeus("calibrate", trained / "model", trained / "docs.jsonl", "--method", "platt").code == 0
    text = (trained / "docs.jsonl").read_text()
    (trained / "some.jsonl").write_text(text + '{"id": "x", "text": "cat purr", "labels": []}\n')
    arguments = ("evaluate", trained / "model", trained / "some.jsonl", "--risk", 0.5)
    refused = linnaeus(*arguments)
    assert refused.code == 1
    assert "--unlabelled" in refused.err
    dropped = linnaeus(*arguments, "--unlabelled", "drop", "--json")
    assert json.loads(dropped.out)["documents"] == 40
    assert "columns:" in dropped.err
    noted = linnaeus("evaluate", trained / "model", trained / "some.jsonl")
    assert "1 of 41 documents have no label" in noted.err


def test_texts_of_documents_are_in_the_table_for_review(linnaeus: Any, trained: Path) -> None:
    assert linnaeus("calibrate", trained / "model", trained / "docs.jsonl", "--method", "platt").code == 0
    (trained / "odd.jsonl").write_text('{"id": "a", "text": "nothing known"}\n{"id": "b", "text": "thing"}\n')
    review = ("--risk", 0.2, "--review", trained / "unsure.csv")
    assert linnaeus("predict", trained / "model", trained / "odd.jsonl", *review).code == 0
    rows = list(csv.DictReader((trained / "unsure.csv").open()))
    assert {row["id"]: row["text"] for row in rows}["a"] == "nothing known"


def test_two_models_are_compared_on_the_same_documents(linnaeus: Any, trained: Path) -> None:
    options = ("-t", trained / "topics.tsv", "-d", trained / "docs.jsonl", "-o", trained / "other", "--test-size", 0)
    assert linnaeus("train", *options, "--min-df", 1, "--model", "OneVsRestLogistic").code == 0
    evaluate = ("evaluate", trained / "model", trained / "docs.jsonl", "--json")
    result = linnaeus(*evaluate, "--compare", trained / "other")
    assert result.code == 0, result.err
    assert json.loads(result.out)["comparison"]
    (trained / "flat.tsv").write_text("parent\tchild\nThings\tCats\nThings\tDogs\nThings\tTrees\nThings\tFlowers\n")
    options = ("-t", trained / "flat.tsv", "-d", trained / "docs.jsonl", "-o", trained / "flat", "--test-size", 0)
    assert linnaeus("train", *options, "--min-df", 1).code == 0
    assert "different taxonomy" in linnaeus(*evaluate, "--compare", trained / "flat").err


def test_unknown_labels_that_are_display_labels_are_named_as_such(linnaeus: Any, files: Path) -> None:
    (files / "named.tsv").write_text("parent\tchild\tlabel\n\tc1\tCats\n\tc2\tDogs\n\tc3\tTrees\n\tc4\tFlowers\n")
    result = linnaeus("data", "describe", files / "docs.jsonl", "-t", files / "named.tsv")
    assert "it is the display label of node 'c1'" in result.err


def test_residues_of_a_document_may_be_in_lower_case(linnaeus: Any, files: Path) -> None:
    lines = [f">p{i} {['Cats', 'Dogs'][i % 2]}\n{['ACGTACGTAC', 'GGGTTTGGGT'][i % 2]}" for i in range(12)]
    (files / "p.fasta").write_text("\n".join(lines) + "\n")
    train(linnaeus, files, "-d", files / "p.fasta", "--features", "spectrum:3")
    answer = json.loads(linnaeus("predict", files / "model", "--document", "acgtacgtac").out)
    assert answer["status"] == "answered"
    assert answer["labels"][0]["label"] == "Cats"
