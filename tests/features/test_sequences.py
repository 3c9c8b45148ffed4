"""Sequences as codes: the same token has the same code everywhere, and rows are rows."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnaeus.errors import DataError, ParameterError
from linnaeus.features.sequences import Sequences, encode


def parts(made: Sequences) -> list[list[int]]:
    return [made.codes[a:b].tolist() for a, b in zip(made.offsets[:-1], made.offsets[1:], strict=True)]


def test_characters_are_code_points_whichever_way_they_are_given() -> None:
    expected = [[65, 0x1F9EC, 67], []]
    assert parts(encode(["A🧬C", ""])) == expected
    assert parts(encode([list("A🧬C"), []])) == expected
    assert parts(encode(np.array(["A🧬C", ""], dtype=object))) == expected


def test_words_are_what_stands_between_blanks() -> None:
    one, two = parts(encode(["the cat  sat", "sat"], unit="word"))
    assert len(one) == 3
    assert two == one[2:]
    assert parts(encode([["the", "cat", "sat"], ["sat"]])) == [one, two]


def test_tokens_that_differ_have_codes_that_differ() -> None:
    tokens = ["ab", "b", 1, "1", (1, 2), ("1", 2), b"ab", 2.5, ("a", ("b",))]
    assert len(encode([tokens]).letters) == len(tokens)
    assert parts(encode([[np.int64(1), 1]]))[0] == parts(encode([[1, 1]]))[0]


def test_codes_are_the_same_in_another_process() -> None:
    program = "from linnaeus.features.sequences import encode; print(encode([['cat', (1, 'x')]]).codes.tolist())"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(encode([["cat", (1, "x")]]).codes.tolist())


@given(
    texts=st.lists(st.text("ab", max_size=5), min_size=1, max_size=6),
    data=st.data(),
)
def test_rows_are_taken_as_from_a_list(texts, data) -> None:
    made = encode(texts)
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
    assert parts(made[np.array(rows, dtype=int)]) == parts(encode([texts[i] for i in rows]))
    assert parts(made[start:stop]) == parts(encode(texts[start:stop]))
    assert parts(made[::-1]) == parts(encode(texts[::-1]))
    mask = np.isin(np.arange(len(texts)), rows)
    assert parts(made[mask]) == parts(encode([t for t, m in zip(texts, mask, strict=True) if m]))


@given(texts=st.lists(st.text("abXY", max_size=6), max_size=6))
def test_skipped_tokens_are_as_if_they_had_not_been_written(texts) -> None:
    without = [t.replace("X", "").replace("Y", "") for t in texts]
    assert parts(encode(texts, alphabet="ab", unknown="skip")) == parts(encode(without))


def test_a_token_outside_the_alphabet_is_named_with_its_place() -> None:
    with pytest.raises(DataError, match=r"Document 1 has the token 'Z' at place 2.*'ACGT' \(2 such tokens.*skip"):
        encode(["ACGT", "ACZTZ"], alphabet="ACGT")
    with pytest.raises(DataError, match="did you mean 'cat'"):
        encode([["dog", "catt"]], alphabet=["cat", "dog"])


def test_sequences_survive_being_stored() -> None:
    made = encode([["cat", "a"], [], ["dog", "cat"]])
    again = Sequences.from_state(*made.state())
    assert parts(again) == parts(made)
    assert again.spell(again.codes) == "cat a dog cat"


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("ACGT", "single string"),
        (7, "got int"),
        (["AC", 7], "Document 1 is 7"),
        (["AC", None], "Document 1 is None"),
        ([[{1}]], "got set"),
        ([[object()]], "got object"),
        ({"title": ["a"], "body": ["b"]}, "one field; got the fields 'title', 'body'"),
    ],
)
def test_what_is_no_sequence_is_refused(documents, message) -> None:
    with pytest.raises(DataError, match=message):
        encode(documents)


def test_parameters_are_doubted() -> None:
    with pytest.raises(ParameterError, match="unit='words'; expected 'character' or 'word'; did you mean 'word'"):
        encode([], unit="words")
    with pytest.raises(ParameterError, match="unknown='drop'"):
        encode([], unknown="drop")
