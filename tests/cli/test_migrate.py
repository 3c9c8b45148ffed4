"""`linnaeus migrate`: labelled documents, and models, brought to a new version of their taxonomy."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

WORDS = {"Cats": "purr whisker kitten claw", "Dogs": "leash puppy fetch wag", "Trees": "leaf bark root branch"}


@pytest.fixture
def versions(tmp_path):
    """Pets of the old version are cats and dogs in the new one; trees keep their code."""
    (tmp_path / "old.tsv").write_text("parent\tchild\nThings\tPets\nThings\tTrees\nThings\tGhosts\n")
    (tmp_path / "new.tsv").write_text("parent\tchild\nThings\tAnimals\nThings\tTrees\nAnimals\tCats\nAnimals\tDogs\n")
    (tmp_path / "map.csv").write_text("old,new\nPets,Cats\nPets,Dogs\nThings,Things\n")
    rng, lines, gold = np.random.default_rng(0), [], {}
    for i in range(240):
        topic = list(WORDS)[i % 3]
        words = [*rng.choice(WORDS[topic].split(), 2), *rng.choice(["thing", "day"], 2)]
        text = " ".join([*words, topic.lower()] if i % 2 else words)
        gold[f"d{i}"] = topic
        label = "Trees" if topic == "Trees" else "Pets"
        lines.append(json.dumps({"id": f"d{i}", "text": text, "labels": [label]}))
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    return tmp_path, gold


def command(folder, *more):
    given = ["migrate", "--from", folder / "old.tsv", "--to", folder / "new.tsv", "--map", folder / "map.csv"]
    return [*given, "--data", folder / "docs.jsonl", "--output", folder / "new.jsonl", *more]


def test_documents_have_labels_of_both_versions_and_a_status(linnaeus, versions) -> None:
    folder, gold = versions
    result = linnaeus(*command(folder, "--json", "--html", folder / "report.html", "--counts", folder / "counts.csv"))
    assert result.code == 0, result.err
    figures = json.loads(result.out)
    assert figures["by_status"] == {"univocal": 80, "decided": 160}
    lines = [json.loads(line) for line in (folder / "new.jsonl").read_text().splitlines()]
    assert {line["status"] for line in lines if line["old_labels"] == "Trees"} == {"univocal"}
    assert np.mean([line["labels"] == gold[line["id"]] for line in lines]) > 0.8
    assert "decided by the model" in (folder / "report.html").read_text()
    cells = {row["label"]: row for row in csv.DictReader((folder / "counts.csv").open())}
    assert float(cells["Cats"]["low"]) <= 80 <= float(cells["Cats"]["high"])


def test_the_queue_filled_in_is_read_as_codes_by_hand(linnaeus, versions) -> None:
    folder, gold = versions
    queue = folder / "queue.csv"
    first = linnaeus(*command(folder, "--risk", "10%", "--queue", queue))
    assert first.code == 0, first.err
    rows = list(csv.DictReader(queue.open()))
    assert len(rows) == 160
    assert set(rows[0]["candidates"].split("; ")) == {"Cats", "Dogs"}
    for row in rows[:80]:
        row["labels"] = gold[row["id"]]
    with queue.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    result = linnaeus(*command(folder, "--risk", "10%", "--hand", queue, "--json"))
    assert result.code == 0, result.err
    figures = json.loads(result.out)
    assert figures["cases"]["hand"] == 80
    assert figures["calibrated"]
    assert [point["coded"] for point in figures["curve"]] == [0, 13, 26, 53]


def test_the_result_trains_a_model(linnaeus, versions) -> None:
    folder, _ = versions
    linnaeus(*command(folder))
    trained = linnaeus("train", "-t", folder / "new.tsv", "-d", folder / "new.jsonl", "-o", folder / "model")
    assert trained.code == 0, trained.err


@pytest.mark.parametrize(
    ("table", "words"),
    [("old,new\nPets,Cats\nPets,Dogz\n", "not nodes of the new version"), ("old,new\nPots,Cats\n", "old version")],
)
def test_tables_that_contradict_the_versions_are_refused_and_nothing_is_written(
    linnaeus, versions, table, words
) -> None:
    folder, _ = versions
    (folder / "map.csv").write_text(table + "Trees,Trees\nThings,Things\n")
    result = linnaeus(*command(folder))
    assert (result.code, words in result.err) == (1, True)
    assert not (folder / "new.jsonl").exists()


def test_files_are_not_written_twice_nor_over_their_input(linnaeus, versions) -> None:
    folder, _ = versions
    twice = linnaeus(*command(folder, "--queue", folder / "new.jsonl"))
    assert "written twice" in twice.err
    over = linnaeus(*command(folder, "--queue", folder / "map.csv"))
    assert "would be overwritten" in over.err


def test_a_model_follows_its_documents(linnaeus, versions) -> None:
    folder, gold = versions
    trained = linnaeus(
        "train", "-t", folder / "old.tsv", "-d", folder / "docs.jsonl", "-o", folder / "model",
        "--model", "RRSVM", "--decoder", "own", "--C", 1, "--test-size", 0,
    )  # fmt: skip
    assert trained.code == 0, trained.err
    linnaeus(*command(folder))
    given = ["migrate", folder / "model", "--to", folder / "new.tsv", "--map", folder / "map.csv"]
    more = ["--data", folder / "new.jsonl", "--html", folder / "model.html", "--json"]
    result = linnaeus(*given, *more, "--output", folder / "new-model")
    assert result.code == 0, result.err
    figures = json.loads(result.out)
    assert figures["labels"] == {"kept": 1, "part": 2}
    assert figures["refitted"] == 2
    assert "Migration of a model" in (folder / "model.html").read_text()
    lines = linnaeus("predict", folder / "new-model", folder / "docs.jsonl").out.splitlines()
    answers = {(one := json.loads(line))["id"]: [entry["label"] for entry in one["labels"]] for line in lines}
    assert np.mean([answers[name] == [topic] for name, topic in gold.items()]) > 0.75
    refused = linnaeus(*given, "--output", folder / "model")
    assert "give another folder" in refused.err
    kept = json.loads((folder / "new-model" / "migration.json").read_text())
    assert kept["versions"] == figures["versions"]
    assert set(kept["versions"]) == {"old_taxonomy", "new_taxonomy", "table"}
    assert kept["certificate"] is None
    certified = linnaeus(*given, *more, "--certify", "--output", folder / "certified")
    certificate = json.loads(certified.out)["certificate"]
    assert certificate["duality_gap"] <= 0.01 * certificate["objective"]
    assert certificate["new_taxonomy"] == kept["versions"]["new_taxonomy"]
    assert "--certify needs --data" in linnaeus(*given, "--certify", "--output", folder / "other").err
    assert not (folder / "other").exists()


@pytest.mark.parametrize("empty", ["old.tsv", "new.tsv", "map.csv"])
def test_empty_versions_and_tables_are_refused_and_nothing_is_written(linnaeus, versions, empty) -> None:
    folder, _ = versions
    (folder / empty).write_text("")
    result = linnaeus(*command(folder, "--queue", folder / "queue.csv"))
    assert result.code == 1
    assert empty in result.err
    assert not (folder / "new.jsonl").exists()
    assert not (folder / "queue.csv").exists()


def test_a_label_that_is_split_into_38_is_decided_among_all_of_them(linnaeus, versions) -> None:
    folder, _ = versions
    parts = [f"Part {i}" for i in range(38)]
    (folder / "new.tsv").write_text("parent\tchild\nThings\tTrees\n" + "".join(f"Things\t{part}\n" for part in parts))
    (folder / "map.csv").write_text("old,new\nThings,Things\n" + "".join(f"Pets,{part}\n" for part in parts))
    result = linnaeus(*command(folder, "--risk", "10%", "--queue", folder / "queue.csv", "--json"))
    assert result.code == 0, result.err
    assert json.loads(result.out)["by_status"] == {"univocal": 80, "review": 160}


def test_ids_that_are_paths_follow_their_renamed_parents(linnaeus, versions) -> None:
    folder, _ = versions
    (folder / "old.txt").write_text("Things > Pets\nThings > Trees\n")
    (folder / "new.txt").write_text("Objects > Cats\nObjects > Dogs\nObjects > Trees\n")
    (folder / "map.csv").write_text(
        "old,new\nThings,Objects\nThings > Trees,Objects > Trees\nThings > Pets,Objects > Cats\n"
        "Things > Pets,Objects > Dogs\n"
    )
    lines = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
    for line in lines:
        line["labels"] = [f"Things > {line['labels'][0]}"]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    given = [
        str(part).replace("old.tsv", "old.txt").replace("new.tsv", "new.txt") for part in command(folder, "--json")
    ]
    result = linnaeus(*given)
    assert result.code == 0, result.err
    assert json.loads(result.out)["by_status"] == {"univocal": 80, "decided": 160}


def test_the_desk_reads_the_queue_as_documents_with_their_whole_texts(linnaeus, versions) -> None:
    from linnaeus import OneVsRestSVM, Pipeline, Taxonomy
    from linnaeus.cli.common import Reading
    from linnaeus.cli.documents import documents_for
    from linnaeus.features.text import TextFeatures

    folder, _ = versions
    lines = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
    for line in lines:
        line["text"] += " filler" * 400
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    linnaeus(*command(folder, "--risk", "10%", "--queue", folder / "queue.csv"))
    new = Taxonomy.read(folder / "new.tsv")
    pipe = Pipeline(OneVsRestSVM(new, random_state=0), TextFeatures()).fit(["cat", "dog"], ["Cats", "Dogs"])
    found = documents_for(pipe, [str(folder / "queue.csv")], Reading(), labelled=False)
    texts = {line["id"]: line["text"] for line in lines}
    assert len(found) == 160
    assert list(found.documents) == [texts[name] for name in found.ids]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "json"])
def test_what_was_coded_at_the_desk_comes_back_as_codes_by_hand(linnaeus, versions, ending) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    folder, gold = versions
    queue, coded = folder / "queue.csv", folder / f"coded.{ending}"
    linnaeus(*command(folder, "--risk", "10%", "--queue", queue))
    verdicts = [{**row, "labels": [gold[row["id"]]]} for row in list(csv.DictReader(queue.open()))[:60]]
    (folder / "verdicts.jsonl").write_text("\n".join(map(json.dumps, verdicts)))
    given = ["desk", "--taxonomy", folder / "new.tsv", "--data", queue, "--verdicts", folder / "verdicts.jsonl"]
    exported = linnaeus(*given, "--double", 0, "--store", folder / "desk", "--export", coded)
    assert exported.code == 0, exported.err
    result = linnaeus(*command(folder, "--risk", "10%", "--hand", coded, "--json"))
    assert result.code == 0, result.err
    assert json.loads(result.out)["cases"]["hand"] == 60
