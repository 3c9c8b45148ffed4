"""Mutations are the same in every run and change what they are given."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.mutations import cases, mutated

CONTENT = b'id,text,labels\n1,"a late goal",Sports;Football\n2,a vote,Politics\n'


def test_the_same_seed_gives_the_same_file() -> None:
    one, two = ([mutated(CONTENT, random.Random(number)) for number in range(50)] for _ in range(2))
    assert one == two
    assert len(set(one)) > 40


def test_mutations_of_an_empty_file_are_files_of_which_some_have_content() -> None:
    files = [mutated(b"", random.Random(number)) for number in range(200)]
    assert all(isinstance(content, bytes) for content in files)
    assert any(files)


def test_the_environment_gives_the_number_of_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNAEUS_FUZZ_CASES", raising=False)
    assert len(list(cases("x", 3))) == 3
    monkeypatch.setenv("LINNAEUS_FUZZ_CASES", "7")
    assert len(list(cases("x", 3))) == 7
