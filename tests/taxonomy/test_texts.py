"""Texts of nodes: sorted arrays that say what was given, and stay with the taxonomy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.texts import KINDS, NodeText, Texts

ENTRIES = [
    (1, "preferred", "en", "Heart attack"),
    (0, "definition", "en", "A pump."),
    (1, "alternative", "DE", "Herzinfarkt"),
    (1, "preferred", "en", " Heart attack\n"),
    (1, "preferred", "de-AT", "Infarkt"),
    (2, "notation", "", "I21"),
    (2, "hidden", "en", "   "),
]


@pytest.fixture
def texts() -> Texts:
    return Texts.from_entries(ENTRIES)


def test_texts_are_sorted_stripped_and_not_repeated(texts: Texts) -> None:
    assert list(texts) == [
        NodeText(0, "definition", "en", "A pump."),
        NodeText(1, "preferred", "de-at", "Infarkt"),
        NodeText(1, "preferred", "en", "Heart attack"),
        NodeText(1, "alternative", "de", "Herzinfarkt"),
        NodeText(2, "notation", "", "I21"),
    ]
    assert texts.languages == {"": 1, "de": 1, "de-at": 1, "en": 2}
    assert texts.kinds == {"preferred": 2, "alternative": 1, "definition": 1, "notation": 1}
    assert texts.counts["preferred"] == {"de-at": 1, "en": 1}


def test_a_language_selects_its_regional_variants(texts: Texts) -> None:
    assert [entry.text for entry in texts.of(1, language="de")] == ["Infarkt", "Herzinfarkt"]
    assert [entry.text for entry in texts.of(1, "preferred", "EN")] == ["Heart attack"]
    assert texts.labels("de").text.tolist() == ["Infarkt", "Herzinfarkt"]
    assert texts.labels().kind.tolist() == ["preferred", "preferred", "alternative"]
    assert texts.of(99) == []


def test_a_language_that_no_text_has_is_an_error_that_lists_the_others(texts: Texts) -> None:
    with pytest.raises(TaxonomyError, match=r"'fr'; the languages of its texts are en \(2\), none \(1\), de \(1\)"):
        texts.labels("fr")


@pytest.mark.parametrize(
    "entry", [(0, "title", "", "a"), (-1, "note", "", "a"), (0, "note", "", 3), (0, "note", "", "\ud800")]
)
def test_entries_that_are_not_texts_are_refused(entry: tuple[int, str, str, str]) -> None:
    with pytest.raises(TaxonomyError):
        Texts.from_entries([entry])


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(KINDS), st.sampled_from(["", "de", "en"]), st.text(max_size=5)),
        max_size=12,
    )
)
def test_any_entries_come_back(entries: list[tuple[int, str, str, str]]) -> None:
    texts = Texts.from_entries(entries)
    assert {tuple(entry) for entry in texts} == {
        (*entry[:3], entry[3].replace("\0", "").strip()) for entry in entries if entry[3].replace("\0", "").strip()
    }
    assert Texts.from_entries(texts) == texts == pickle.loads(pickle.dumps(texts))
    assert texts.decoded(np.arange(len(texts))).tolist() == [entry.text for entry in texts]
    number = np.array([2, -1, 0, 1, 3])
    moved = texts.renumbered(number)
    assert moved == Texts.from_entries(
        (int(number[v]), kind, language, text) for v, kind, language, text in texts if number[v] >= 0
    )
    for v in range(5):
        assert texts.restricted_to(np.array([v])).of(v) == texts.of(v)


def test_exact_texts_are_found_without_an_index(texts: Texts) -> None:
    assert [texts.entry(i).node for i in texts.equal_to("I21")] == [2]
    assert texts.equal_to("Heart") == texts.equal_to("") == []


def test_a_taxonomy_without_texts_has_its_display_labels_as_texts() -> None:
    tax = Taxonomy.from_edges([("m", "m1")], display_labels={"m1": "Opera"})
    assert list(tax.texts) == [NodeText(1, "preferred", "", "Opera")]
    assert list(tax.with_display_labels({"m1": "Oper"}).texts) == [NodeText(1, "preferred", "", "Oper")]
    assert len(Taxonomy.flat(["a"]).texts) == 0


def test_texts_stay_with_the_taxonomy() -> None:
    entries = [(0, "note", "en", "top"), (1, "preferred", "de", "Oper"), (2, "alternative", "en", "dance")]
    tax = Taxonomy.from_edges([("m", "a"), ("m", "b")]).with_texts(Texts.from_entries(entries))
    shown = tax.with_display_labels({"a": "Opera"}).with_replacements({"old": "b"})
    for same in (shown, pickle.loads(pickle.dumps(shown)), copy.deepcopy(shown), shown.random_like(0)):
        assert same.texts == tax.texts
    assert tax.with_texts(Texts.from_entries([])).fingerprint == tax.fingerprint
    deeper = Taxonomy.from_edges([("r", "m"), ("m", "a")]).with_texts(Texts.from_entries([(2, "note", "", "leaf")]))
    more = deeper.with_misc_leaves()
    assert [more.names[entry.node] for entry in more.texts] == ["a"]


def test_texts_of_nodes_that_do_not_exist_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="do not fit"):
        Taxonomy.flat(["a"]).with_texts(Texts.from_entries([(1, "note", "", "x")]))


def test_display_labels_in_another_language_are_taken_from_the_texts() -> None:
    entries = [(0, "preferred", "de-at", "Jause"), (0, "preferred", "de", "Imbiss"), (1, "preferred", "en", "Tea")]
    tax = Taxonomy.flat(["a", "b"]).with_texts(Texts.from_entries(entries)).with_display_labels({"b": "Tea"})
    german = tax.with_language("de")
    assert [german.display(v) for v in range(2)] == ["Imbiss", "Tea"]
    with pytest.raises(TaxonomyError, match=r"'fr'; the languages of its texts are de \(1\), de-at \(1\), en \(1\)"):
        tax.with_language("fr")
