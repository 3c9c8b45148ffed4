"""`linnaeus explain` shows exact contributions, and they add up."""

from __future__ import annotations

import json

import pytest

from linnaeus import store


def test_contributions_add_up_to_the_score(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--document", "the kitten likes to purr", "--json")
    (step,) = json.loads(result.out)
    assert step["node"] == "Cats"
    total = step["constant"] + step["others"] + sum(c for _, c in step["contributions"])
    assert total == pytest.approx(step["score"], abs=1e-6)
    assert {f for f, _ in step["contributions"]} == {"kitten", "purr"}


def test_another_node_can_be_asked_for(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--document", "kitten", "--node", "Dogs")
    assert result.code == 0
    assert "Dogs: score -" in result.out


def test_a_document_of_a_file_by_its_id(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "d1", "--json")
    assert json.loads(result.out)[0]["node"] == "Dogs"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "either as --document TEXT or as --data FILE"),
        (["--document", "x", "--node", "Cat"], 1, "did you mean 'Cats'"),
        (["--document", "x", "--node", "Plants"], 1, "'Plants' has no score"),
        (["--data", "docs.jsonl"], 2, "40 documents; choose one with --id, for example d0"),
        (["--text", "a cat that purrs"], 2, "the text itself is given as --document"),
        (["--document", "x", "--encoding", "latin-1"], 2, "--encoding applies to --data"),
    ],
)
def test_errors_say_what_is_wrong(linnaeus, trained, monkeypatch, arguments, code, message) -> None:
    monkeypatch.chdir(trained)
    result = linnaeus("explain", "model", *arguments)
    assert result.code == code
    assert message in result.err.replace("\n", " ")


def test_a_text_of_unknown_words_is_noticed(linnaeus, trained) -> None:
    assert "knows no word" in linnaeus("explain", trained / "model", "--document", "zzz qqq").err


def test_a_document_by_its_number(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "3", "--json")
    assert json.loads(result.out)[0]["node"] == "Trees"


def test_an_unknown_id_names_some_that_exist(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "--data", trained / "docs.jsonl", "--id", "d999")
    assert (result.code, "d0, d1, d2" in result.err) == (2, True)


def test_an_unknown_id_without_a_column_of_ids_names_the_option(linnaeus, trained) -> None:
    file = trained / "numbered.csv"
    file.write_text("Inv;text\nI-1;cats purr\nI-2;dogs bark\n")
    result = linnaeus("explain", trained / "model", "--data", file, "--id", "I-2")
    assert result.code == 2
    assert "numbered from 1 to 2; name the column with --id-column" in result.err.replace("\n", " ")
    assert linnaeus("explain", trained / "model", "--data", file, "--id-column", "Inv", "--id", "I-2").code == 0


def test_the_runner_up_and_similar_documents_are_shown(linnaeus, files) -> None:
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    assert linnaeus(*train, "--keep-documents", "--calibrate", "platt").code == 0
    result = linnaeus("explain", files / "model", "--document", "kitten purr", "--json")
    (step,) = json.loads(result.out)
    rival = step["against"]
    assert rival["rival"] in ("Dogs", "Trees", "Flowers")
    total = rival["constant"] + rival["others"] + sum(c for _, c in rival["contributions"])
    assert total == pytest.approx(rival["margin"], abs=1e-6)
    assert all(near["labels"] == ["Cats"] for near in step["nearest"])
    shown = linnaeus("explain", files / "model", "--document", "kitten purr").out
    assert f"rather than {rival['rival']}" in shown
    assert "nearest documents at or below Cats" in shown


def test_a_file_with_one_document_needs_no_id(linnaeus, trained) -> None:
    (trained / "one.txt").write_text("the kitten likes to purr\n")
    result = linnaeus("explain", trained / "model", "--data", trained / "one.txt", "--json")
    assert json.loads(result.out)[0]["node"] == "Cats"


def test_text_names_a_column_of_the_file(linnaeus, trained) -> None:
    (trained / "odd.csv").write_text("nr,words,other\n7,the kitten likes to purr,leash bark puppy\n")
    command = ["explain", trained / "model", "--data", trained / "odd.csv", "--json"]
    assert json.loads(linnaeus(*command, "--text", "words").out)[0]["node"] == "Cats"
    assert json.loads(linnaeus(*command, "--text", "other").out)[0]["node"] == "Dogs"


def test_the_field_that_a_text_is_taken_for_is_named(linnaeus, files) -> None:
    lines = [json.loads(line) for line in (files / "docs.jsonl").read_text().splitlines()]
    rows = [{"title": d["text"], "abstract": d["text"], "labels": d["labels"]} for d in lines]
    (files / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert linnaeus("train", "-t", files / "topics.tsv", "-d", files / "two.jsonl", "-o", files / "two").code == 0
    assert "the field 'abstract'" in linnaeus("explain", files / "two", "--document", "kitten purr").err


def test_all_labels_of_an_answer_are_explained(linnaeus, files) -> None:
    kinds = [("cat purr tree leaf", ["Cats", "Trees"]), ("dog bark", ["Dogs"]), ("rose bloom", ["Flowers"])]
    lines = [json.dumps({"text": f"{words} thing", "labels": labels}) for words, labels in kinds * 8]
    (files / "sets.jsonl").write_text("\n".join(lines) + "\n")
    model = files / "sets"
    arguments = ("-t", files / "topics.tsv", "-d", files / "sets.jsonl", "-o", model, "--min-df", 1, "--test-size", 0)
    assert linnaeus("train", *arguments).code == 0
    steps = json.loads(linnaeus("explain", model, "--document", "cat purr tree leaf", "--json").out)
    assert {"Cats", "Trees"} <= {step["node"] for step in steps}


def test_a_text_as_argument_is_pointed_to_its_option(linnaeus, trained) -> None:
    result = linnaeus("explain", trained / "model", "a cat purrs")
    assert result.code == 2
    assert "the text of a document is given as --document" in result.err


def test_checksums_are_compared_on_request(linnaeus, trained, monkeypatch) -> None:
    asked, load = [], store.load
    monkeypatch.setattr(
        store, "load", lambda folder, *, verify=None: asked.append(verify) or load(folder, verify=verify)
    )
    given = ("explain", trained / "model", "--document", "cat purr")
    assert [linnaeus(*given, *more).code for more in ((), ("--verify",), ("--no-verify",))] == [0, 0, 0]
    assert asked == [None, True, False]


def test_a_node_that_is_answered_too_stands_beside_the_other(linnaeus, files) -> None:
    texts = [("kitten purr", ["Cats"]), ("rose petal", ["Flowers"]), ("kitten rose", ["Cats", "Flowers"])]
    rows = [json.dumps({"text": text, "labels": labels}) for text, labels in texts * 10]
    (files / "two.jsonl").write_text("\n".join(rows))
    given = ["-t", files / "topics.tsv", "-d", files / "two.jsonl", "-o", files / "model", "--model", "EdgePA"]
    assert linnaeus("train", *given, "--budget", 0, "--test-size", 0).code == 0
    shown = linnaeus("explain", files / "model", "--document", "kitten rose").out
    assert "beside Plants" in shown
    assert "beside Animals" in shown
    assert "rather than Plants" in linnaeus("explain", files / "model", "--document", "kitten purr").out
