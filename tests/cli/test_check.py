"""``linnaeus taxonomy check``: repairs, pages, and checks against a model."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from linnaeus.cli.taxonomy import app
from linnaeus.errors import LinnaeusError

runner = CliRunner()


VOCABULARY = """@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix e: <http://e/> .
e:a a s:Concept ; s:prefLabel "A"@en ; <http://other/p> 3 . e:b a s:Concept ; s:prefLabel "B"@en ; s:broader e:a .
e:c a s:Concept ; s:prefLabel "C"@en ; s:broader e:a, e:b ; s:altLabel "C"@en .
"""


def test_check_repairs_what_is_asked_for_and_lists_it(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(VOCABULARY)
    call = [
        "check",
        str(tmp_path / "v.ttl"),
        "--fix",
        "redundant-edge",
        "--output",
        str(tmp_path / "new.ttl"),
        "--json",
    ]
    result = json.loads(runner.invoke(app, call).stdout)
    assert result["repaired"] == {"redundant-edge": 1}
    assert result["patch"] == ["- <http://e/c> <http://www.w3.org/2004/02/skos/core#broader> <http://e/a>"]
    again = json.loads(runner.invoke(app, ["check", str(tmp_path / "new.ttl"), "--json"]).stdout)
    codes = [finding["code"] for finding in again["findings"]]
    assert "redundant-edge" not in codes
    assert "label-clash" in codes
    assert "<http://other/p>" in (tmp_path / "new.ttl").read_text()


def test_check_refuses_repairs_without_a_file_and_over_the_input(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(VOCABULARY)
    for options, message in (
        (["--fix", "redundant-edge"], "--fix redundant-edge: expected --fix CODE together with --output"),
        (["--output", "x.ttl"], "expected --fix CODE together with --output"),
        (["--fix", "redundant-edge", "--output", str(tmp_path / "v.ttl")], "is the input itself"),
        (["--fix", "redundant-edge", "--output", str(tmp_path / "v.csv")], "the syntax of"),
        (["--fix", "orphan", "--output", str(tmp_path / "w.ttl")], "There is no repair of 'orphan'"),
        (["--model", "m"], "--model m requires --data"),
    ):
        result = runner.invoke(app, ["check", str(tmp_path / "v.ttl"), *options])
        assert isinstance(result.exception, LinnaeusError)
        assert message in str(result.exception)
    assert (tmp_path / "v.ttl").read_text() == VOCABULARY
    assert not (tmp_path / "w.ttl").exists()


def test_check_writes_a_page_that_names_repairs(tmp_path: Path) -> None:
    (tmp_path / "v.ttl").write_text(VOCABULARY)
    result = runner.invoke(app, ["check", str(tmp_path / "v.ttl"), "--html", str(tmp_path / "report.html")])
    assert result.exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert "--fix redundant-edge" in page
    assert "Check of v.ttl" in page


def test_check_tries_a_model_on_the_documents(linnaeus, trained) -> None:
    lines = (trained / "docs.jsonl").read_text().splitlines()
    documents = [json.loads(line) for line in lines]
    for document in documents[:24]:  # cats labelled as dogs
        document["labels"] = ["Dogs" if label == "Cats" else label for label in document["labels"]]
    (trained / "wrong.jsonl").write_text("\n".join(map(json.dumps, documents)))
    call = [
        "taxonomy",
        "check",
        trained / "topics.tsv",
        "--data",
        trained / "wrong.jsonl",
        "--model",
        trained / "model",
    ]
    result = linnaeus(*call, "--json")
    assert result.code == 0, result.err
    found = {one["code"]: one for one in json.loads(result.out)["findings"]}
    assert found["confused-siblings"]["count"] == 1
    assert "Cats and Dogs" in found["confused-siblings"]["examples"][0]
