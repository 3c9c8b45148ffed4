"""Frequent phrases that no label covers."""

from __future__ import annotations

import numpy as np

from linnaeus import Taxonomy
from linnaeus.lexical.gaps import find_gaps
from linnaeus.lexical.labels import label_texts
from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.lexical.words import as_documents

TAX = Taxonomy.flat(["Heart failure", "Mosquitoes", "Malaria"])
STOP = ("the", "of", "in", "a", "and")


def gaps(texts: list[str], labels: list[list[str]] | None = None, **how) -> dict[str, tuple[int, int]]:
    Y = None if labels is None else TAX.indicator(labels)
    how = {"min_documents": 2, "stop_words": STOP, **how}
    found = find_gaps(LabelMatcher(label_texts(TAX)), as_documents(texts), Y, **how)
    return {proposal.phrase: (proposal.documents, proposal.occurrences) for proposal in found}


def test_phrases_are_counted_by_documents_and_labels_are_left_out() -> None:
    texts = ["gene drive of mosquitoes, gene drive", "the gene drive in mosquitoes", "malaria"]
    assert gaps(texts) == {"gene drive": (2, 3)}


def test_a_label_covers_itself_but_not_a_longer_phrase() -> None:
    texts = ["chronic heart failure", "chronic heart failure", "heart failure", "heart failure"]
    assert gaps(texts) == {"chronic heart failure": (2, 2)}


def test_stop_words_are_inside_phrases_only() -> None:
    assert gaps(["the quality of life in", "the quality of life in"]) == {"quality of life": (2, 2)}


def test_a_shorter_phrase_stays_if_it_is_often_elsewhere() -> None:
    assert gaps(["blue whale song", "blue whale song", "whale", "whale", "whale"]) == {
        "blue whale song": (2, 2),
        "whale": (5, 5),
    }


def test_phrases_do_not_cross_fields_or_documents() -> None:
    found = find_gaps(
        LabelMatcher(label_texts(TAX)),
        as_documents({"title": ["red", "red"], "text": ["panda", "panda"]}),
        min_documents=2,
    )
    assert [proposal.phrase for proposal in found] == ["panda", "red"]


def test_labelled_documents_propose_phrases_for_nodes() -> None:
    texts = ["gene drive x1", "gene drive x2", "gene drive x3", "bed net y1", "bed net y2", "bed net y3"]
    labels = [["Mosquitoes"]] * 3 + [["Malaria"]] * 3
    found = find_gaps(LabelMatcher(label_texts(TAX)), as_documents(texts), TAX.indicator(labels), min_documents=3)
    assert {p.phrase: (str(TAX.names[p.node]), p.node_documents) for p in found} == {
        "gene drive": ("Mosquitoes", 3),
        "bed net": ("Malaria", 3),
    }
    assert found[0].examples == [3, 4, 5]


def test_nothing_to_propose() -> None:
    assert gaps([""]) == {}
    assert gaps(["malaria", "malaria"]) == {}
    assert gaps(["12 34", "12 34"]) == {}


def test_counts_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["ab", "cd", "ef", "malaria"], 8)) for _ in range(30)]
    found = gaps(texts, max_words=2, min_documents=1)
    for phrase, (documents, occurrences) in found.items():
        padded = [f" {text} " for text in texts]
        n = [sum(t.startswith(f" {phrase} ", i) for i in range(len(t))) for t in padded]
        assert (documents, occurrences) == (sum(c > 0 for c in n), sum(n))
