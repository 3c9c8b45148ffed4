"""Label texts that vocabularies should not have: very long, empty, markup, in another language, or a million."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import LexicalModel, Taxonomy
from linnaeus.errors import LinnaeusError
from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.taxonomy.texts import Texts

MARKUP = "<script>alert('x')</script> &amp; \x00\u202e]]>"


def _vocabulary(entries: list[tuple[str, str, str, str]]) -> Taxonomy:
    tax = Taxonomy.from_edges([("R", "heart"), ("heart", "mi"), ("R", "lung")])
    usual = [("heart", "preferred", "en", "Heart"), ("mi", "alternative", "en", "Heart attack")]
    return tax.with_texts(Texts.from_entries([(tax.index(v), *rest) for v, *rest in [*usual, *entries]]))


@pytest.mark.parametrize("text", ["x" * 100_000, "word " * 20_000, MARKUP, MARKUP * 3000, "?!", "\u200b"])
def test_labels_that_no_document_can_have_change_no_answer(text: str) -> None:
    document = "after a heart attack"
    usual, other = (LexicalModel(_vocabulary(more)).fit() for more in ([], [("lung", "preferred", "en", text)]))
    assert other.predict([document]) == usual.predict([document]) == [["mi"]]
    best = other.taxonomy.find("heart atack")[0]
    assert other.taxonomy.names[best.node] == "mi"
    assert other.taxonomy.find(text, k=3) is not None


def test_a_language_without_labels_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(LinnaeusError, match="'fr'.*en"):
        LexicalModel(_vocabulary([]), language="fr").fit()


@pytest.mark.slow
def test_a_million_alternative_labels_are_found_and_matched() -> None:
    words = np.char.add("w", np.arange(1_000_000).astype(str))
    tax = Taxonomy.flat([f"n{i}" for i in range(30_000)])
    node = np.arange(1_000_000) % 30_000
    entries = [(int(v), "alternative", "en", f"{word} term") for v, word in zip(node, words, strict=True)]
    tax = tax.with_texts(Texts.from_entries(entries))
    assert tax.find("w777777 trem")[0].node == 777_777 % 30_000
    matcher = LabelMatcher.of(tax)
    assert len(matcher.find(matcher.stream(np.array(["the w123456 term of today"], dtype=object)))) == 1
