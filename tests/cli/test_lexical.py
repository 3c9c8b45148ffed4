"""Models made from the texts of a taxonomy, and the terms that it lacks, on the command line."""

from __future__ import annotations

import csv
import json

import pytest


@pytest.fixture
def vocabulary(tmp_path):
    (tmp_path / "vocabulary.ttl").write_text(
        """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        @prefix : <http://example.org/> .
        :heart a skos:Concept ; skos:prefLabel "Heart diseases"@en .
        :mi a skos:Concept ; skos:prefLabel "Myocardial infarction"@en ; skos:altLabel "Heart attack"@en ;
            skos:broader :heart .
        :lung a skos:Concept ; skos:prefLabel "Lungs"@en ; skos:altLabel "Lunge"@de .
        """
    )
    lines = []
    for i in range(12):
        mi = i % 2 == 0
        title = "After a heart attack" if mi else "Healthy lungs"
        text = f"A heart attack and a stent graft, case {i}" if mi else f"Lungs of smokers, case {i}"
        label = "http://example.org/mi" if mi else "http://example.org/lung"
        lines.append(json.dumps({"id": f"d{i}", "title": title, "text": text, "labels": [label]}))
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_a_model_is_made_from_a_taxonomy_alone(linnaeus, vocabulary) -> None:
    made = linnaeus(
        "train", "--model", "LexicalModel", "-t", vocabulary / "vocabulary.ttl", "-o", vocabulary / "m", "--json"
    )
    assert made.code == 0, made.err
    assert json.loads(made.out)["documents"] == 0
    (vocabulary / "new.txt").write_text("She had a heart attack\n")
    answered = linnaeus("predict", vocabulary / "m", vocabulary / "new.txt", "--json")
    assert answered.code == 0, answered.err
    assert "http://example.org/mi" in answered.out
    explained = linnaeus("explain", vocabulary / "m", "--document", "She had a heart attack. A heart attack!")
    assert explained.code == 0, explained.err
    assert "'heart attack' = alternative label of Myocardial infarction (Heart attack), twice" in explained.out


def test_a_lexical_model_is_trained_explained_and_measured(linnaeus, vocabulary) -> None:
    made = linnaeus(
        "train", "--model", "LexicalModel", "-t", vocabulary / "vocabulary.ttl", "-d", vocabulary / "docs.jsonl",
        "-o", vocabulary / "m", "--json",
    )  # fmt: skip
    assert made.code == 0, made.err
    report = json.loads(made.out)
    assert report["scores"]["precision_at_1"] == 1.0
    measured = linnaeus("evaluate", vocabulary / "m", vocabulary / "docs.jsonl", "--json")
    assert measured.code == 0, measured.err
    explained = linnaeus("explain", vocabulary / "m", "--data", vocabulary / "docs.jsonl", "--id", "d0", "--json")
    assert explained.code == 0, explained.err
    assert "in the title" in json.loads(explained.out)[0]["evidence"][0]


def test_documents_in_which_nothing_is_found_are_reported(linnaeus, vocabulary) -> None:
    linnaeus("train", "--model", "LexicalModel", "-t", vocabulary / "vocabulary.ttl", "-o", vocabulary / "m")
    lines = [{"title": "Lungs", "text": "of smokers"}] * 2 + [{"title": "Tea", "text": "with milk"}]
    (vocabulary / "new.jsonl").write_text("\n".join(map(json.dumps, lines)))
    answered = linnaeus("predict", vocabulary / "m", vocabulary / "new.jsonl")
    assert answered.code == 0, answered.err
    assert "knows no term of 1 of 3 documents" in answered.err


def test_other_models_need_documents(linnaeus, vocabulary) -> None:
    refused = linnaeus("train", "--model", "RRSVM", "-t", vocabulary / "vocabulary.ttl", "-o", vocabulary / "m")
    assert refused.code == 2
    assert "--data is missing" in refused.err
    refused = linnaeus("train", "--model", "LexicalModel", "-o", vocabulary / "m")
    assert "--taxonomy is missing" in refused.err


def test_options_of_vectors_are_refused(linnaeus, vocabulary) -> None:
    refused = linnaeus(
        "train", "--model", "LexicalModel", "-t", vocabulary / "vocabulary.ttl", "-d", vocabulary / "docs.jsonl",
        "-o", vocabulary / "m", "--min-df", 2,
    )  # fmt: skip
    assert refused.code == 2
    assert "--min-df has no effect" in refused.err


def test_missing_terms_are_proposed_for_nodes(linnaeus, vocabulary) -> None:
    asked = ["taxonomy", "gaps", vocabulary / "vocabulary.ttl", "--data", vocabulary / "docs.jsonl"]
    found = linnaeus(*asked, "--json")
    assert found.code == 0, found.err
    proposals = {row["phrase"]: row for row in json.loads(found.out)}
    assert proposals["stent graft"]["label"] == "Myocardial infarction"
    assert proposals["stent graft"]["documents"] == 6
    assert proposals["stent graft"]["examples"] == ["d0", "d2", "d4"]
    assert "heart attack" not in proposals
    assert "stent graft" in linnaeus(*asked).out
    only = json.loads(linnaeus(*asked, "--node", "Lungs", "--json").out)
    assert {row["label"] for row in only} == {"Lungs"}
    linnaeus(*asked, "-o", vocabulary / "gaps.csv")
    with open(vocabulary / "gaps.csv") as file:
        assert "stent graft" in {row["phrase"] for row in csv.DictReader(file)}
