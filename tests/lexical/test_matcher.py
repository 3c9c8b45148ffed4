"""Where label texts occur in documents."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.lexical.labels import LabelText, forms_of, label_texts
from linnaeus.lexical.matcher import MAX_WORDS, LabelMatcher
from linnaeus.lexical.words import WORD, as_documents, fields_of, fold
from linnaeus.taxonomy.texts import Texts


def labels(*texts: str) -> list[LabelText]:
    return [LabelText(i, "preferred", text) for i, text in enumerate(texts)]


def found(matcher: LabelMatcher, text: str) -> list[tuple[int, int, list[int]]]:
    """(first word, number of words, nodes) of every match."""
    matches, meanings = matcher.find(matcher.stream(as_documents([text]))), matcher.meanings
    return [
        (s, n, meanings.node[meanings.indptr[p] : meanings.indptr[p + 1]].tolist())
        for s, n, p in zip(matches.start.tolist(), matches.length.tolist(), matches.phrase.tolist(), strict=True)
    ]


def by_brute_force(given: list[LabelText], text: str) -> list[tuple[int, int, list[int]]]:
    words = [fold(word) for word in WORD.findall(text.lower())]
    nodes: dict[tuple[str, ...], set[int]] = {}
    for node, _, label in given:
        for form in forms_of(label):
            nodes.setdefault(tuple(fold(word) for word in WORD.findall(form.lower())), set()).add(node)
    spans = [(s, e) for s in range(len(words)) for e in range(s + 1, len(words) + 1) if tuple(words[s:e]) in nodes]
    longest = [(s, e) for s, e in spans if not any((a, b) != (s, e) and a <= s and e <= b for a, b in spans)]
    return [(s, e - s, sorted(nodes[tuple(words[s:e])])) for s, e in longest]


def test_matches_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    alphabet = np.array(list("abcd"))
    for _ in range(50):
        given = labels(*(" ".join(rng.choice(alphabet, rng.integers(1, 5))) for _ in range(8)))
        matcher = LabelMatcher(given)
        for _ in range(5):
            text = " ".join(rng.choice(np.array(list("abcdx")), 30))
            assert found(matcher, text) == by_brute_force(given, text)


def test_the_longest_label_wins_and_overlapping_ones_stay() -> None:
    matcher = LabelMatcher(labels("Heart", "Heart attack", "Attack rate"))
    assert found(matcher, "heart attack rate of the heart") == [(0, 2, [1]), (1, 2, [2]), (5, 1, [0])]


def test_a_phrase_of_several_nodes_keeps_all_of_them() -> None:
    matcher = LabelMatcher(labels("Java", "Java (island)", "Coffee"))
    assert found(matcher, "java") == [(0, 1, [0, 1])]


def test_case_accents_possessives_and_punctuation_do_not_matter() -> None:
    matcher = LabelMatcher(labels("Caf\u00e9 culture", "Alzheimer disease", "Beta-blockers"))
    text = "CAFE CULTURE; Alzheimer's disease; beta blockers"
    assert [nodes for _, _, nodes in found(matcher, text)] == [[0], [1], [2]]


def test_inverted_labels_are_found_as_people_write_them() -> None:
    assert found(LabelMatcher(labels("Arthritis, Rheumatoid")), "rheumatoid arthritis") == [(0, 2, [0])]


def test_stems_are_taken_of_labels_and_documents() -> None:
    matcher = LabelMatcher(labels("Neoplasms"), base=lambda word: word.rstrip("s"))
    assert found(matcher, "a neoplasm") == [(1, 1, [0])]


def test_forms_of_stop_words_only_are_not_matched() -> None:
    assert found(LabelMatcher(labels("Who", "The Who concert"), stop_words=["who", "the"]), "who the who") == []


def test_nothing_is_found_across_fields_or_documents() -> None:
    matcher = LabelMatcher(labels("heart attack"))
    documents = as_documents({"title": ["heart", "heart"], "text": ["attack", "a heart attack"]})
    stream = matcher.stream(documents)
    matches = matcher.find(stream)
    assert stream.documents_of(matches.start).tolist() == [1]
    assert stream.in_title(matches.start, np.array([1])).tolist() == [False]


def test_empty_documents_and_labels_are_harmless() -> None:
    matcher = LabelMatcher([LabelText(0, "preferred", "  "), LabelText(1, "preferred", "...")])
    assert found(matcher, "anything") == []
    assert found(LabelMatcher([]), "") == []
    assert fields_of(as_documents([])) == [[]]


def test_labels_of_many_words_are_not_matched() -> None:
    long = " ".join(["word"] * (MAX_WORDS + 1))
    assert found(LabelMatcher(labels(long)), long) == []


def test_very_long_label_texts_are_left_out() -> None:
    tax = Taxonomy.from_edges([("R", "x"), ("R", "y")], display_labels={"x": "z" * 100_000, "y": "yes"})
    assert [label.node for label in label_texts(tax)] == [tax.index("y")]


def test_words_of_a_label_that_stand_near_each_other_are_found_in_any_order() -> None:
    matcher = LabelMatcher(labels("Kidney Diseases", "Quality of Life"), stop_words=["of", "the"])
    far = "diseases " + "x " * 40 + "kidney"
    documents = as_documents(["Diseases of the kidney", "Kidney diseases", far, "Life has quality"])
    stream = matcher.stream(documents)
    matches = matcher.find(stream, scattered=True)
    assert stream.documents_of(matches.start).tolist() == [0, 1, 3]
    assert matches.scattered.tolist() == [True, False, True]
    assert matcher.places(stream, matches, 0) == [0, 3]


def test_scattered_words_are_not_found_across_fields() -> None:
    matcher = LabelMatcher(labels("Kidney Diseases"))
    stream = matcher.stream(as_documents({"title": ["Diseases", "x"], "text": ["kidney", "kidney of diseases"]}))
    assert stream.documents_of(matcher.find(stream, scattered=True).start).tolist() == [1]


def test_a_taxonomy_is_matched_by_stems_of_its_language() -> None:
    texts = Texts.from_entries([(0, "preferred", "en", "Neoplasms"), (0, "preferred", "de", "Krankheiten")])
    tax = Taxonomy.flat(["x"]).with_texts(texts)
    assert found(LabelMatcher.of(tax), "a neoplasm") == [(1, 1, [0])]
    assert found(LabelMatcher.of(tax, "de"), "neoplasms, eine Krankheit") == [(2, 1, [0])]
    assert found(LabelMatcher.of(tax, analyzer="word"), "a neoplasm") == []


@pytest.mark.slow
def test_a_million_labels_take_seconds() -> None:
    matcher = LabelMatcher([LabelText(i % 1000, "alternative", f"label number {i}") for i in range(1_000_000)])
    assert found(matcher, "the label number 123456 is here") == [(1, 3, [456])]
