"""Search over ids, labels and notations: what people type leads to the node they mean."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.taxonomy.search import _edit_similarity, _largest, fold
from linnaeus.taxonomy.texts import Texts

ENTRIES = [
    (1, "preferred", "en", "Myocardial Infarction"),
    (1, "alternative", "en", "Heart attack"),
    (1, "preferred", "de", "Herzinfarkt"),
    (1, "notation", "", "I21.0"),
    (2, "preferred", "en", "Heart"),
    (2, "definition", "en", "Pump that may have an attack."),
    (3, "preferred", "de", "Café-Müdigkeit"),
    (3, "hidden", "de", "Cafemuedigkeit"),
]


@pytest.fixture
def tax() -> Taxonomy:
    names = ["http://ex.org/top", "http://ex.org/d10", "http://ex.org/d20", "http://ex.org/d30"]
    made = Taxonomy.from_edges([(names[0], name) for name in names[1:]]).with_texts(Texts.from_entries(ENTRIES))
    return made.with_replacements({"OLD-7": names[2]})


@pytest.mark.parametrize(
    ("query", "node", "kind", "how"),
    [
        ("Heart attack", 1, "alternative", "exact"),
        ("HEART, ATTACK!", 1, "alternative", "folded"),
        ("myocardial", 1, "preferred", "prefix"),
        ("hart atack", 1, "alternative", "fuzzy"),
        ("attack heart", 1, "alternative", "fuzzy"),
        ("i21.0", 1, "notation", "folded"),
        ("cafe mudigkeit", 3, "preferred", "folded"),
        ("http://ex.org/d20", 2, "id", "exact"),
        ("d20", 2, "id", "folded"),
        ("old-7", 2, "id", "folded"),
    ],
)
def test_the_best_match_is_the_node_that_is_meant(tax: Taxonomy, query: str, node: int, kind: str, how: str) -> None:
    best = tax.find(query)[0]
    assert (best.node, best.kind, best.how) == (node, kind, how)


def test_scores_fall_from_exact_to_fuzzy_and_a_node_occurs_once(tax: Taxonomy) -> None:
    matches = tax.find("heart")
    assert [match.node for match in matches[:2]] == [2, 1]
    assert len({match.node for match in matches}) == len(matches)
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    assert [m.score for q in ("Heart", "heart", "hear", "haert") for m in tax.find(q, 1)] == [1.0, 0.98, 0.86, 0.54]
    assert len(tax.find("heart", k=1)) == 1


def test_a_language_restricts_the_texts_and_not_the_ids(tax: Taxonomy) -> None:
    assert tax.find("Herzinfarkt", language="en") == []
    assert tax.find("Herzinfarkt", language="de")[0].node == 1
    assert tax.find("d30", language="en")[0].node == 3
    with pytest.raises(TaxonomyError, match=r"'fr'; the languages of its texts are en \(4\)"):
        tax.find("heart", language="fr")


def test_definitions_are_not_searched_and_nonsense_finds_nothing(tax: Taxonomy) -> None:
    for query in ("pump that may", "xqzw", "", "  !? "):
        assert tax.find(query) == []


def test_parameters_of_a_search_are_validated(tax: Taxonomy) -> None:
    with pytest.raises(ParameterError, match="k must be a positive integer"):
        tax.find("heart", k=0)
    with pytest.raises(ParameterError, match="query must be a string"):
        tax.find(3)  # type: ignore[arg-type]


def test_display_labels_given_later_are_found(tax: Taxonomy) -> None:
    assert tax.find("Infarto") == []
    assert tax.with_display_labels({"http://ex.org/d10": "Infarto"}).find("infarto")[0].node == 1


def test_long_texts_and_queries_are_compared_by_their_beginnings() -> None:
    long = "insulin " * 20_000
    tax = Taxonomy.flat(["a"]).with_texts(Texts.from_entries([(0, "preferred", "", long)]))
    assert tax.find("insulin insulin")[0].how == "prefix"
    assert tax.find(long)[0].node == 0


def test_edit_similarity_is_that_of_the_textbook() -> None:
    def distance(a: str, b: str) -> int:
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            before, row[0] = row[0], i
            for j, y in enumerate(b, 1):
                before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
        return row[-1]

    texts = ["kitten", "sitting", "", "k", "mitten im satz", "nettik"]
    for query in ("kitten", "sit", "nettik"):
        expected = [1 - distance(query, text) / max(len(query), len(text)) for text in texts]
        assert _edit_similarity(query, texts).tolist() == pytest.approx(expected)


def test_folding_keeps_letters_of_other_scripts() -> None:
    assert fold("Чай / 茶 (tea)") == fold("чаи 茶 TEA")


@pytest.mark.parametrize("k", [1, 5, 40, 60])
def test_the_largest_values_are_those_of_a_stable_sort(k: int) -> None:
    values = np.random.default_rng(0).integers(0, 9, 50) / 8
    np.testing.assert_array_equal(_largest(values, k), np.argsort(-values, kind="stable")[:k])
