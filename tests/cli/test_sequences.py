"""Sequences from a file to a model and back, with substrings as features."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linnaeus as package


@pytest.fixture
def proteins(tmp_path):
    """Forty sequences; those of class 1 hold WCW, those of 2.1 KHK, those of 2.2 YPY."""
    rng = np.random.default_rng(0)
    rows = ["Entry\tEC number\tSequence"]
    for i in range(42):
        code, motif = [("1.1", "WCW"), ("2.1", "KHK"), ("2.2", "YPY")][i % 3]
        letters = "".join(rng.choice(list("ADEFGILMNQRSTV"), 20))
        at = rng.integers(0, 20)
        rows.append(f"P{i}\t{code}\t{letters[:at]}{motif}{letters[at:]}")
    (tmp_path / "enzymes.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "renamed.tsv").write_text("\n".join(["id\tlabels\tchain", *rows[1:]]) + "\n")
    (tmp_path / "ec.txt").write_text("1.1\n2.1\n2.2\n")
    return tmp_path


def train(linnaeus, folder, *more, data="enzymes.tsv"):
    files = ["--taxonomy", folder / "ec.txt", "--data", folder / data, "--output", folder / "model"]
    return linnaeus("train", *files, *more)


def test_substrings_decide_and_explain(linnaeus, proteins) -> None:
    result = train(linnaeus, proteins, "--features", "spectrum:3", "--json", "--C", 10)
    assert result.code == 0, result.err
    assert json.loads(result.out)["scores"]["hierarchical_f1"] == 1.0
    model = package.load(proteins / "model")
    assert model.predict(["AAAKHKAAA"]).tolist() == ["2.1"]
    assert model.explain("AAAKHKAAA", k=1)[-1].features.tolist() == ["KHK"]
    run = linnaeus("predict", proteins / "model", proteins / "enzymes.tsv", "--top", 1)
    assert json.loads(run.out.splitlines()[1])["labels"][0]["label"] == "2.1"
    assert linnaeus("explain", proteins / "model", "--document", "AAAYPYAAA").code == 0


def test_the_column_of_sequences_can_be_named(linnaeus, proteins) -> None:
    result = train(linnaeus, proteins, "--features", "spectrum:2-3", "--sequence", "chain", data="renamed.tsv")
    assert result.code == 0, result.err
    model, data = proteins / "model", proteins / "renamed.tsv"
    assert linnaeus("predict", model, data, "--sequence", "chain").code == 0
    assert linnaeus("evaluate", model, data, "--sequence", "chain").code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--features", "spectrm:3"], "did you mean 'spectrum'"),
        (["--features", "spectrum:3", "--weighting", "log2"], "--weighting and --categorical have no effect"),
        (["--features", "spectrum:30"], "None of the 42 sequences"),
    ],
)
def test_wrong_features_are_refused(linnaeus, proteins, more, message) -> None:
    result = train(linnaeus, proteins, *more)
    assert result.code != 0
    assert message in result.err


def test_features_of_sequences_refuse_numbers_and_several_fields(linnaeus, tmp_path) -> None:
    (tmp_path / "numbers.csv").write_text("a,b,labels\n1,2,x\n3,4,y\n")
    (tmp_path / "fields.csv").write_text("title,abstract,labels\nt,u,x\nv,w,y\n")
    for name, message in (("numbers.csv", "has numbers"), ("fields.csv", "several text fields")):
        files = ["--data", tmp_path / name, "--output", tmp_path / "model"]
        result = linnaeus("train", *files, "--features", "spectrum:2")
        assert result.code != 0
        assert message in " ".join(result.err.split())


def test_a_model_with_a_kernel_takes_sequences_as_they_are(linnaeus, proteins) -> None:
    result = train(linnaeus, proteins, "--model", "HM3", "--set", "kernel=spectrum:3", "--C", 10, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["scores"]["hierarchical_f1"] == 1.0
    run = linnaeus("predict", proteins / "model", proteins / "enzymes.tsv")
    assert [label["label"] for label in json.loads(run.out.splitlines()[2])["labels"]] == ["2.2"]
    result = train(linnaeus, proteins, "--model", "HM3", "--set", "kernel=spectrum:3", "--features", "spectrum:3")
    assert "takes sequences as they are" in " ".join(result.err.split())


def test_sequences_given_to_a_model_of_several_fields_are_called_sequences(linnaeus, tmp_path) -> None:
    rows = [("a goal", "kick it", "Sports"), ("a vote", "count it", "Politics")] * 5
    (tmp_path / "docs.csv").write_text("title;body;label\n" + "".join(";".join(row) + "\n" for row in rows))
    (tmp_path / "new.fasta").write_text(">P1\nMKVLAAGIW\n")
    data = ["-d", tmp_path / "docs.csv", "-o", tmp_path / "model", "--text", "title", "--text", "body", "--min-df", 1]
    assert linnaeus("train", *data).code == 0
    result = linnaeus("predict", tmp_path / "model", tmp_path / "new.fasta")
    assert result.code == 1
    assert "new.fasta holds sequences; the model was trained on texts with the fields 'title', 'body'." in result.err
