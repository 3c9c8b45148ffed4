"""`linnaeus desk`: a model, or a taxonomy alone, with documents, and clear words about wrong usage."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


@pytest.fixture
def started(monkeypatch):
    """What `linnaeus desk` would run: settings, and the service after its preparation."""
    from linnaeus.serve import run as running
    from linnaeus.serve.service import Service

    calls = []

    def run(settings, host, port, *, prepare) -> None:
        service = Service(settings)
        prepare(service)
        with service.review.read() as transaction:
            ids = [row["id"] for row in transaction.rows("SELECT id FROM documents ORDER BY number")]
        calls.append((settings, [served.model for served in service.models], ids))
        service.close()

    monkeypatch.setattr(running, "run", run)
    return calls


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tax.tsv").write_text("Animals\tCats\nAnimals\tDogs\n")
    rows = [{"id": "a", "text": "Cats purr"}, {"id": "b", "text": "Dogs bark"}]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def desk(*arguments: str) -> int:
    from linnaeus.cli.main import run

    with pytest.raises(SystemExit) as end:
        run(["desk", *arguments, "--no-browser"])
    return int(end.value.code or 0)


def test_a_taxonomy_and_documents_are_enough_and_a_second_start_adds_nothing(given, started) -> None:
    for _ in range(2):
        assert desk("--taxonomy", "tax.tsv", "--data", "docs.jsonl") == 0
    for settings, (model,), ids in started:
        assert settings.store == str(given / "docs.desk")
        assert ids == ["a", "b"]
        assert list(map(list, model.predict(["all Dogs"]))) == [["Dogs"]]


def test_documents_are_added_to_the_queue_of_a_model(given, started) -> None:
    from linnaeus import LexicalModel, Taxonomy, save

    save(LexicalModel(Taxonomy.from_edges([("Animals", "Cats"), ("Animals", "Dogs")])).fit(), "model")
    assert desk("model", "docs.jsonl", "--store", "kept", "--control", "0.5") == 0
    settings, _, ids = started[0]
    assert (settings.store, settings.control, ids) == ("kept", 0.5, ["a", "b"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "There is nothing to code"),
        (("--data", "docs.jsonl"), "needs --taxonomy"),
        (("model", "--data", "docs.jsonl"), "for a desk without a model"),
        (("model", "--demo"), "--demo brings its own"),
    ],
)
def test_wrong_usage_is_named(given, started, capsys, arguments, words) -> None:
    assert desk(*arguments) != 0
    assert words in capsys.readouterr().err
    assert not started


def test_verdicts_of_files_are_stored_and_what_was_coded_is_written_without_a_server(given, started, capsys) -> None:
    (given / "coded.tsv").write_text("cats  PURR\t<Cats>\nBirds sing\t<Dogs>\n")
    coded = ("--verdicts", "coded.tsv", "--coder", "anna", "--double", "0")
    files = [f"out.{ending}" for ending in ("jsonl", "csv", "tsv", "json", "ttl")]
    written = [word for file in files for word in ("--export", file)]
    assert desk("--taxonomy", "tax.tsv", "--data", "docs.jsonl", *coded, *written) == 0
    assert "2 verdicts stored, 0 were already stored; 1 new documents" in capsys.readouterr().err
    lines = [json.loads(line) for line in (given / "out.jsonl").read_text().splitlines()]
    assert [(line["id"], line["labels"]) for line in lines if line["id"] == "a"] == [("a", ["Cats"])]
    assert all((given / file).stat().st_size > 20 for file in files)
    assert desk("--store", "docs.desk", "--export", "again.csv") == 0
    assert (given / "again.csv").read_bytes() == (given / "out.csv").read_bytes()
    assert not started
    assert desk("--store", "docs.desk", "--export", "out.txt") != 0
    assert "expected a name that ends in .jsonl" in capsys.readouterr().err
