"""Reading options are the same in every command that reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from linnaeus.cli.common import Group, LabelledReading, TaxonomyReading, with_groups
from linnaeus.cli.main import make_app
from linnaeus.errors import DataError

DOCUMENTS = ["--text", "--sequence", "--format", "--header", "--encoding", "--split"]
LABELS = ["--labels", "--label-separator"]
TAXONOMY = ["--from", "--names", "--language", "--relation", "--namespace", "--taxonomy-separator"]
READERS = {
    "train": [*DOCUMENTS, *LABELS, *TAXONOMY, "--unknown", "--categorical", "--id"],
    "shootout": [*DOCUMENTS, *LABELS, *TAXONOMY, "--unknown", "--categorical", "--id"],
    "predict": [*DOCUMENTS, "--id"],
    "explain": [*DOCUMENTS, "--id", "--id-column"],
    "evaluate": [*DOCUMENTS, *LABELS, *TAXONOMY, "--id"],
    "calibrate": [*DOCUMENTS, *LABELS, "--unknown", "--id"],
    "learn": [*DOCUMENTS, *LABELS, "--unknown", "--id"],
    "data describe": [*DOCUMENTS, *LABELS, *TAXONOMY, "--categorical", "--id"],
    "data convert": [*DOCUMENTS, *LABELS, "--categorical", "--id"],
    "taxonomy check": [*DOCUMENTS, *LABELS, *TAXONOMY, "--taxonomy-encoding"],
    "taxonomy learn": [*DOCUMENTS, *LABELS],
    "taxonomy show": [*TAXONOMY, "--encoding"],
    "taxonomy convert": [*TAXONOMY, "--encoding"],
}


def options_of(name: str) -> set[str]:
    command = typer.main.get_command(make_app())
    for word in name.split():
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("name", READERS)
def test_a_command_that_reads_has_all_reading_options(name):
    assert set(READERS[name]) <= options_of(name)


@pytest.fixture
def latin1(trained):
    """The documents of the small corpus in Latin-1, with an umlaut in every text."""
    rows = ["id;text;labels"]
    for line in (trained / "docs.jsonl").read_text().splitlines():
        document = json.loads(line)
        rows.append(f"{document['id']};{document['text']} schön;{document['labels'][0]}")
    (trained / "latin1.csv").write_bytes("\n".join(rows).encode("latin-1"))
    return trained


@pytest.mark.parametrize(
    "command",
    [
        ["calibrate", "{0}/model", "{0}/latin1.csv"],
        ["explain", "{0}/model", "--data", "{0}/latin1.csv", "--id", "d3"],
        ["predict", "{0}/model", "{0}/latin1.csv"],
        ["evaluate", "{0}/model", "{0}/latin1.csv"],
        ["data", "describe", "{0}/latin1.csv", "-t", "{0}/topics.tsv"],
        ["taxonomy", "check", "{0}/topics.tsv", "--data", "{0}/latin1.csv"],
        ["taxonomy", "learn", "{0}/latin1.csv", "-o", "{0}/learned.tsv"],
    ],
    ids=lambda command: " ".join(command[:2]) if command[0] in ("data", "taxonomy") else command[0],
)
def test_every_command_reads_documents_in_another_encoding(linnaeus, latin1, command):
    command = [word.format(latin1) for word in command]
    refused = linnaeus(*command)
    assert refused.code == 1
    assert "--encoding" in refused.err
    assert linnaeus(*command, "--encoding", "latin-1").code == 0


def test_several_label_columns_are_all_used(linnaeus, files):
    (files / "two.csv").write_text("text,first,second\npurr meow,Cats,Animals\nbark fetch,Dogs,Animals\n")
    command = ["data", "describe", files / "two.csv", "-t", files / "topics.tsv", "--json"]
    found = json.loads(linnaeus(*command, "--labels", "first", "--labels", "second").out)
    assert found[0]["labels"]["n_labels"] == 3


def test_an_option_for_the_taxonomy_needs_a_taxonomy(linnaeus, files):
    result = linnaeus("train", "-d", files / "docs.jsonl", "-o", files / "m", "--from", "codes")
    assert result.code == 2
    assert "--from" in result.err
    assert "--taxonomy" in result.err


def test_label_files_refuse_options_for_documents(linnaeus, files):
    (files / "gold.tsv").write_text("d1\tCats\n")
    result = linnaeus("evaluate", "--gold", files / "gold.tsv", "--predicted", files / "gold.tsv", "--split", "test")
    assert result.code == 2
    assert "--split" in result.err


def test_options_without_documents_are_refused_by_check(linnaeus, files):
    result = linnaeus("taxonomy", "check", files / "topics.tsv", "--labels", "codes")
    assert result.code == 2
    assert "--labels" in result.err
    assert "--data" in result.err


def test_fields_know_their_options():
    assert TaxonomyReading.option("format") == "--from"
    assert LabelledReading.option("header") == "--header"


@dataclass(frozen=True)
class Colour(Group):
    red: Annotated[int, typer.Option("--red")] = 1
    hidden: int = 7


def test_a_group_becomes_one_option_per_field():
    seen = []

    @with_groups
    def paint(name: Annotated[str, typer.Argument()], *, colour: Colour, blue: int = 2) -> None:
        seen.append((name, colour, blue))

    small = typer.Typer()
    small.command()(paint)
    typer.main.get_command(small)(["wall", "--red", "5"], standalone_mode=False)
    assert seen == [("wall", Colour(5, 7), 2)]


def test_messages_name_options_instead_of_parameters(linnaeus, files):
    (files / "odd.jsonl").write_text('{"a": "x", "b": ["y"]}\n')
    result = linnaeus("data", "describe", files / "odd.jsonl")
    assert result.code == 1
    assert "--text" in result.err
    assert "text=" not in result.err


def test_values_and_switches_are_translated_too():
    def said(message: str) -> str:
        with pytest.raises(DataError) as error, LabelledReading().named():
            raise DataError(message)
        return str(error.value)

    assert said("say header=True, or label_separator=';'") == "say --header, or --label-separator ;"
    assert said("name it with text=... or id=...") == "name it with --text or --id"
    assert said("'text=x' in my_text=3") == "'text=x' in my_text=3"
