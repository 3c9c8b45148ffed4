"""Labels of which documents have some words only."""

from __future__ import annotations

import numpy as np

from linnaeus import LexicalModel, Taxonomy
from linnaeus.lexical.candidates import find_candidates
from linnaeus.lexical.incomplete import IncompleteLabels
from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.lexical.relations import Relations
from linnaeus.lexical.words import as_documents

NAMES = ["Foster Home Care", "Day Care", "Home Nursing", "Patents as Topic", "Salmonella paratyphi", "Salmonella"]
TAX = Taxonomy.flat(NAMES)


def found_in(text: str) -> dict[str, bool]:
    """Names of candidates, and whether they are complete."""
    found = find_candidates(LabelMatcher.of(TAX), Relations(TAX), as_documents([text]))
    return dict(zip(TAX.names[found.nodes].tolist(), found.are_complete.tolist(), strict=True))


def test_missing_generic_words_and_other_forms_make_incomplete_candidates() -> None:
    assert found_in("foster parents who care") == {"Foster Home Care": False}
    assert found_in("the paratyphoid fever") == {"Salmonella paratyphi": False}
    assert found_in("law of patents") == {"Patents as Topic": False}
    assert found_in("homes") == {}  # three quarters of the labels are left out


def test_labels_found_as_a_whole_are_not_incomplete_too() -> None:
    assert found_in("salmonella infections")["Salmonella"]
    assert found_in("foster home care")["Foster Home Care"]


def test_what_is_found_is_that_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    labels = [sorted(set(rng.integers(1, 12, rng.integers(1, 5)).tolist())) for _ in range(30)]
    node = rng.integers(0, 12, 30)
    documents = [rng.integers(0, 12, rng.integers(0, 9)).tolist() for _ in range(40)]
    stream = np.array([word for document in documents for word in [*document, -1]])
    bounds = np.concatenate([[0], np.cumsum([len(document) + 1 for document in documents])])
    titles = [min(3, len(document)) for document in documents]
    found = IncompleteLabels(labels, node).find(stream, bounds, bounds[:-1] + titles)
    said = {r: np.log(30 / sum(r in label for label in labels)) for label in labels for r in label}
    expected = {}
    for d, document in enumerate(documents):
        best: dict[int, tuple[float, float, float]] = {}
        for label, v in zip(labels, node.tolist(), strict=True):
            here = sum(said[r] for r in label if r in document)
            share, title = here / sum(said[r] for r in label), sum(said[r] for r in label if r in document[: titles[d]])
            if share >= 0.5 and (v not in best or here * share > best[v][0] * best[v][1] + 1e-12):
                best[v] = (here, share, float(title >= here - 1e-9))
        kept = sorted(best, key=lambda v: -best[v][0] * best[v][1])[:10]
        expected |= {(d, v): best[v] for v in kept}
    assert {(d, v) for d, v in zip(found.document.tolist(), found.node.tolist(), strict=True)} == set(expected)
    for d, v, *values in zip(*(column.tolist() for column in (found.document, found.node, *found[3:])), strict=True):
        assert np.allclose(values, expected[d, v])


def test_complete_candidates_are_as_without_incomplete_ones() -> None:
    texts = ["foster care and salmonella", "day care for patents"]
    found = find_candidates(LabelMatcher.of(TAX), Relations(TAX), as_documents(texts))
    whole = found.complete()
    assert TAX.names[whole.nodes].tolist() == ["Salmonella", "Day Care"]
    assert np.diff(whole.indptr).tolist() == [1, 1]
    assert whole.values["candidates"].tolist() == [0.0, 0.0]
    assert LexicalModel(TAX).fit().known_terms(texts).tolist() == [1, 1]


def test_some_words_of_a_label_never_say_less_than_none() -> None:
    texts = ["the law", "foster parents who care"] * 20
    model = LexicalModel(TAX).fit(texts, [["Foster Home Care"], []] * 20)
    scores = model.decision_function(["the law", "foster parents who care"])
    assert scores[1, model._columns()[TAX.index("Foster Home Care")]] >= scores[0].max()


def test_explanations_show_the_words_that_are_there() -> None:
    model = LexicalModel(TAX).fit()
    step = model.explain("Who can care for foster children?", "Foster Home Care")[0]
    assert step.evidence == ["'care ... foster' = words of the preferred label of Foster Home Care, once, in the title"]
    assert np.isclose(step.intercept + step.contributions.sum(), step.score)
    assert step.score > model.explain("Who can care?", "Foster Home Care")[0].score
