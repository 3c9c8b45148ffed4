"""Columns by their usual names, or by the names the user gives."""

from __future__ import annotations

import pytest

from linnaeus.data import read_dataset
from linnaeus.data.readers.columns import LABELS, ReadOptions, choose_columns, first_of
from linnaeus.errors import DataError


@pytest.mark.parametrize(
    ("available", "text", "labels", "id", "sequence"),
    [
        (["pmid", "title", "abstract", "mesh", "year"], ("title", "abstract"), ("mesh",), "pmid", None),
        (["Entry", "EC number", "Sequence"], (), ("EC number",), "Entry", "Sequence"),
        (["doc_label", "doc_token"], ("doc_token",), ("doc_label",), None, None),
        (["Label", "Text", "topic"], ("Text",), ("Label",), None, None),
    ],
)
def test_usual_names_are_recognised(
    available: list[str], text: tuple[str, ...], labels: tuple[str, ...], id: str | None, sequence: str | None
) -> None:
    chosen = choose_columns(available, ReadOptions(), "f")
    assert (chosen.text, chosen.labels, chosen.id, chosen.sequence) == (text, labels, id, sequence)


def test_names_of_the_user_win() -> None:
    options = ReadOptions(text=("topic",), labels=("text",), id="label")
    chosen = choose_columns(["text", "label", "topic"], options, "f")
    assert (chosen.text, chosen.labels, chosen.id) == (("topic",), ("text",), "label")


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(DataError, match="f has no column 'titel'; it has 'title', 'labels'; did you mean 'title'"):
        choose_columns(["title", "labels"], ReadOptions(text=("titel",)), "f")


def test_the_order_of_the_usual_names_decides_not_that_of_the_columns() -> None:
    assert first_of(["Topics", " Labels "], LABELS) == " Labels "
    assert first_of(["colour"], LABELS) is None


@pytest.mark.parametrize(
    "names", [["subject", "body", "category"], ["subject", "content", "class"], ["Topic", "text", "Code"]]
)
def test_several_columns_that_may_be_the_labels_are_an_error_that_names_them(names: list[str]) -> None:
    example = names[2] if names[0] == "subject" else names[0]
    with pytest.raises(DataError, match=f"may hold the labels, '{names[0]}', '{names[2]}'; .* labels='{example}'"):
        choose_columns(names, ReadOptions(), "f")
    assert choose_columns(names, ReadOptions(labels=(names[2],)), "f").labels == (names[2],)
    assert choose_columns([*names, "label"], ReadOptions(), "f").labels == ("label",)


def test_texts_beside_sequences_are_an_error_that_names_both() -> None:
    with pytest.raises(
        DataError, match="texts \\('title'\\) and sequences \\('seq'\\); .*text='title' or sequence='seq'"
    ):
        choose_columns(["title", "seq", "label"], ReadOptions(), "f")
    assert choose_columns(["title", "seq", "label"], ReadOptions(sequence="seq"), "f").text == ()


def test_a_column_of_accessions_or_numbers_is_not_a_sequence() -> None:
    values = {"protein": ["Q0P887", "P12345"], "go": ["GO:1", "GO:2"]}
    chosen = choose_columns(["protein", "go"], ReadOptions(), "f", values)
    assert (chosen.sequence, chosen.id) == (None, "protein")
    assert choose_columns(["protein", "go"], ReadOptions(), "f", {"protein": ["MKQ", "MAA"]}).sequence == "protein"
    assert choose_columns(["sequence", "text"], ReadOptions(), "f", {"sequence": ["1", "2"]}).text == ("text",)


def test_a_number_is_the_position_of_a_column() -> None:
    chosen = choose_columns(["Nr", "Inhalt", "Schlagwort"], ReadOptions(text=("1",), labels=("2",)), "f")
    assert (chosen.text, chosen.labels, chosen.id) == (("Inhalt",), ("Schlagwort",), "Nr")


def test_every_column_has_a_role() -> None:
    available = ["id", "subject", "body", "category", "date"]
    chosen = choose_columns(available, ReadOptions(labels=("category",)), "f")
    assert chosen.roles(available) == {
        "text": ("body",),
        "labels": ("category",),
        "id": ("id",),
        "ignored": ("subject", "date"),
    }


@pytest.mark.parametrize(
    ("header", "options", "features", "unread"),
    [
        ("a,b,label", {}, ["a", "b"], ("label",)),
        ("a,b,code", {"usual_labels": ["code"]}, ["a", "b"], ("code",)),
        ("a,class,code", {"usual_labels": ["code"]}, ["a", "class"], ("code",)),
        ("a,class", {"usual_labels": ["code"]}, ["a", "class"], ()),
    ],
)
def test_labels_that_are_not_asked_for_are_not_features(tmp_path, header, options, features, unread) -> None:
    path = tmp_path / "vectors.csv"
    cells = ["1", "2", "Sports"] if unread else ["1", "2"]
    path.write_text(f"{header}\n" + 3 * (",".join(cells) + "\n"))
    data = read_dataset([path], labelled=False, **options)
    assert data.feature_names == features
    assert data.columns.get("ignored", ()) == unread
