"""``linnaeus taxonomy diff``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

OLD = "id,parent,name\nS,,Sports\nS1,S,Tennis\nS2,S,Chess\nS3,S,Curling\n"
NEW = "id,parent,name\nB,,Ball games\nB1,B,Tennis\nS,,Sports\nS2,S,Chess\nS4,S,Darts\n"


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    (tmp_path / "map.csv").write_text("old,new\nS1,B1\nS3,\n")
    return tmp_path


def call(linnaeus, folder: Path, *options: str):
    return linnaeus("taxonomy", "diff", folder / "old.csv", folder / "new.csv", *options)


def test_changes_are_printed_and_given_as_json(linnaeus, versions) -> None:
    result = call(linnaeus, versions, "--map", versions / "map.csv")
    assert result.code == 0, result.err
    assert "2 of 4 nodes are unchanged; 2 added, 1 removed, 1 moved, 1 recoded." in result.out
    found = json.loads(call(linnaeus, versions, "--map", versions / "map.csv", "--json").out)
    assert found["counts"] == {"added": 2, "removed": 1, "moved": 1, "recoded": 1}


def test_without_a_table_targets_are_proposed_and_can_be_confirmed(linnaeus, versions) -> None:
    table = versions / "pairs.csv"
    result = call(linnaeus, versions, "--propose", table, "--json")
    assert json.loads(result.out)["n_proposed"] == 1
    rows = table.read_text().splitlines()
    assert rows[0] == "old,old_label,new,new_label,kind,weight,confidence,origin,confirmed"
    assert any(row.startswith("S1,Tennis,B1,Tennis") and row.endswith("proposal,") for row in rows)
    table.write_text("\n".join(row + "no" if row.endswith("proposal,") else row for row in rows))
    again = json.loads(call(linnaeus, versions, "--map", table, "--no-proposals", "--json").out)
    assert again["counts"]["removed"] == 2


def test_every_output_is_written(linnaeus, versions) -> None:
    names = ["c.csv", "c.tsv", "c.xlsx", "c.jsonl", "c.json", "c.ttl", "c.html"]
    result = call(linnaeus, versions, *(part for name in names for part in ("--output", versions / name)))
    assert result.code == 0, result.err
    assert all((versions / name).stat().st_size for name in names)
    assert (versions / "c.csv").read_text().startswith("change,old,old_label,new,new_label,detail,confidence\n")


def test_a_table_that_does_not_fit_is_reported_with_exit_code_1(linnaeus, versions) -> None:
    (versions / "map.csv").write_text("old,new\nS1,B1\nS2,S2\nS9,S4\nS,Q\n")
    result = call(linnaeus, versions, "--map", versions / "map.csv", "--json")
    assert result.code == 1
    assert [finding["code"] for finding in json.loads(result.out)["findings"]][:2] == [
        "unknown-old-code",
        "unknown-new-code",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--map-columns", "a,b"], "--map-columns a,b names columns of --map"),
        (["--output", "x.pdf"], "--output x.pdf: expected a name that ends in .csv"),
        (["--old-data", "x.jsonl"], "expected both"),
        (["--labels", "y"], "--labels applies to --old-data and --new-data"),
    ],
)
def test_options_that_do_not_fit_are_refused(linnaeus, versions, options, message) -> None:
    result = call(linnaeus, versions, *options)
    assert result.code != 0
    assert message in result.err


def test_columns_that_are_not_found_name_the_option(linnaeus, versions) -> None:
    (versions / "map.csv").write_text("a,b\nx,y\nz,w\n")
    result = call(linnaeus, versions, "--map", versions / "map.csv")
    assert result.code != 0
    assert "--map-columns OLD,NEW" in result.err


def test_matches_in_the_files_themselves_are_used(linnaeus, tmp_path) -> None:
    head = "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
    (tmp_path / "old.csv").write_text(head + '<urn:x:1> a s:Concept ; s:prefLabel "Fish" .')
    (tmp_path / "new.csv").write_text(head + '<urn:y:1> a s:Concept ; s:prefLabel "Seafood" ; s:exactMatch <urn:x:1> .')
    found = json.loads(call(linnaeus, tmp_path, "--no-proposals", "--json").out)
    assert found["counts"] == {"renamed": 1, "recoded": 1}


def test_documents_with_both_labels_are_evidence(linnaeus, versions) -> None:
    for side, label in (("old", "S3"), ("new", "S4")):
        lines = [json.dumps({"id": f"d{i}", "text": "x", "labels": [label]}) for i in range(6)]
        (versions / f"{side}.jsonl").write_text("\n".join(lines))
    data = ["--old-data", versions / "old.jsonl", "--new-data", versions / "new.jsonl"]
    found = json.loads(call(linnaeus, versions, *data, "--min-confidence", "0.3", "--json").out)
    assert ["S3"] in [change["old"] for change in found["changes"] if change["new"] == ["S4"]]


def test_a_second_table_is_refused_instead_of_replacing_the_first(linnaeus, versions) -> None:
    for command in (["taxonomy", "diff", "a", "b"], ["migrate", "--to", "b", "--output", "c"]):
        found = linnaeus(*command, "--map", "one.csv", "--map", "two.csv")
        assert "--map is given 2 times (one.csv, two.csv); expected one." in found.err
