"""The accuracy tables' own arithmetic: choosing C, figures, paired tests, where a gain comes from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from benchmarks import accuracy_wordnet
from benchmarks.accuracy import breakdown, page
from benchmarks.accuracy.figures import figures, label_f1, paired
from benchmarks.accuracy.selection import DECADES, Folds, choose
from linnaeus import OneVsRestSVM, Taxonomy


def rows(*sets: list[int], width: int) -> sparse.csr_array:
    """Label sets as 0/1 rows."""
    Y = np.zeros((len(sets), width), np.int8)
    for i, labels in enumerate(sets):
        Y[i, labels] = 1
    return sparse.csr_array(Y)


# -- C -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("best", DECADES)
def test_the_peak_is_found_wherever_it_is(best) -> None:
    def hill(C: float) -> dict[str, float]:
        return {"f": -0.004 * abs(np.log10(C / best))}

    assert choose(hill, DECADES).best("f") == best


def test_hopeless_ends_are_not_looked_at() -> None:
    choice = choose(lambda C: {"f": -abs(np.log10(C))}, DECADES)
    assert list(choice.quality) == [0.1, 1.0, 10.0]


def test_a_small_dip_is_looked_beyond() -> None:
    values = dict(zip(DECADES, (0.1, 0.2, 0.3, 0.5, 0.497, 0.51, 0.4), strict=True))
    assert choose(lambda C: {"f": values[C]}, DECADES).best("f") == 100


def test_every_criterion_has_its_own_peak_and_ties_go_to_the_smaller_C() -> None:
    def both(C: float) -> dict[str, float]:
        return {"low": -abs(np.log10(C) + 2), "high": min(np.log10(C), 1)}

    choice = choose(both, DECADES)
    assert (choice.best("low"), choice.best("high")) == (0.01, 10)


def test_folds_score_every_document_once_by_a_model_that_has_not_seen_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = sparse.csr_array((np.ones(60, np.int8), (X[:, 0] > 0).astype(int), np.arange(61)), shape=(60, 3))
    tax = Taxonomy.flat("abc")
    folds = Folds.of(X, Y, 4)
    assert sorted(folds.documents.tolist()) == list(range(60))
    S = folds.scores(lambda: OneVsRestSVM(tax, random_state=0), "svm", 1.0, np.arange(3))
    assert np.isneginf(S[:, 2]).all()  # no document has it
    train, held = folds.parts[0]
    alone = OneVsRestSVM(tax, C=1.0, random_state=0).fit(X[train], Y[train])
    np.testing.assert_allclose(S[: len(held), :2], alone.decision_function(X[held]), rtol=1e-5)
    H = folds.answers(lambda: OneVsRestSVM(tax, random_state=0), "svm", 1.0)
    assert H.shape == folds.gold.shape
    assert (H != folds.gold).nnz < 12


# -- figures and tests -------------------------------------------------------------------------------------------------


def test_macro_f1_counts_all_labels_that_were_learned() -> None:
    Y, H = rows([0], [0], [1], width=4), rows([0], [1], [1], width=4)
    np.testing.assert_allclose(label_f1(Y, H, np.array([0, 1, 2])), [2 / 3, 2 / 3, 0])
    found = figures(Y, H, np.array([0, 1, 2]), n_resamples=50)
    assert found["micro_f1"] == pytest.approx(200 / 3)
    assert found["macro_f1"] == pytest.approx(400 / 9)


def test_intervals_hold_the_figure_and_shrink_with_more_documents() -> None:
    rng = np.random.default_rng(1)
    widths = []
    for n in (100, 1600):
        gold = rng.integers(0, 3, n)
        answer = np.where(rng.random(n) < 0.7, gold, (gold + 1) % 3)
        Y, H = (accuracy_wordnet._only(labels, 3) for labels in (gold, answer))
        found = figures(Y, H, np.arange(3), macro_interval=True, n_resamples=300)
        for measure in ("micro", "macro"):
            low, high = found[f"{measure}_interval"]
            assert low < found[f"{measure}_f1"] < high
            widths.append(high - low)
    assert widths[2] < 0.5 * widths[0]
    assert widths[3] < 0.5 * widths[1]


def test_a_system_is_no_better_than_itself() -> None:
    Y, H = rows([0], [1], [2], width=3), rows([0], [0], [2], width=3)
    found = paired(Y, H, H, np.arange(3), by="document", n_resamples=50)
    assert found["micro_gain"] == found["macro_gain"] == 0
    assert found["sign_p"] == found["wilcoxon_p"] == found["permutation_p"] == 1


def test_wins_and_losses_are_those_of_documents_or_of_decisions() -> None:
    Y = rows([0], [1], [2], [0, 1], width=3)
    first, second = rows([0], [1], [0], [0], width=3), rows([0], [2], [2], [0], width=3)
    by_document = paired(Y, first, second, np.arange(3), by="document", n_resamples=50)
    assert (by_document["sign_wins"], by_document["sign_losses"]) == (1, 1)
    by_decision = paired(Y, first, second, np.arange(3), by="decision", n_resamples=50)
    assert (by_decision["sign_wins"], by_decision["sign_losses"]) == (2, 2)


# -- where a gain comes from -------------------------------------------------------------------------------------------


def test_a_mistake_within_a_family_costs_nothing_above_it(abc) -> None:
    aa, ab = abc.index("AA"), abc.index("AB")
    width = abc.n_nodes
    train = rows([aa], [ab], [ab], width=width)
    Y, flat, other = rows([aa], [ab], width=width), rows([ab], [ab], width=width), rows([aa], [ab], width=width)
    top, below = breakdown.by_level(abc, train, Y, flat, other)
    assert (top["level"], top["n_nodes"], top["n_gold"]) == (1, 1, 2)  # B has no training document
    assert (top["flat"], top["other"]) == (100, 100)
    assert (below["flat"], below["other"]) == (pytest.approx(100 * (0 + 2 / 3) / 2), 100)
    assert below["gain"] == pytest.approx(100 - 100 / 3)
    one, more = breakdown.by_size(train, Y, flat, other)
    assert (one["size"], one["n_nodes"], one["flat"], one["other"]) == ("1", 1, 0, 100)
    assert (more["size"], more["n_nodes"], more["flat"]) == ("2-5", 1, pytest.approx(200 / 3))


def test_every_size_is_in_one_class() -> None:
    for size in (1, 2, 5, 6, 10, 11, 20, 21, 50, 51, 100, 101, 10**6):
        assert sum(low <= size <= (high or np.inf) for low, high in breakdown.SIZES) == 1


def test_precision_counts_gold_labels_among_the_best() -> None:
    Y = rows([0, 1], [2], width=4)
    nodes = np.array([[0, 1], [3, 2]])
    assert accuracy_wordnet._precision(nodes, Y) == 3 / 4
    assert accuracy_wordnet._precision(nodes[:, :1], Y) == 1 / 2


def test_tables_are_markdown_with_an_empty_cell_for_what_is_missing() -> None:
    assert page.table([{"a": 1, "b": 2}, {"a": 3}]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |"
    assert page.interval(1.25, (0.5, 2.0)) == "1.2 [0.5, 2.0]"


def test_the_page_names_the_command_that_makes_it_again() -> None:
    command = page.command("accuracy_imclef", ["--systems", "RRSVM, hinge", "--json"])
    assert command == "python -m benchmarks accuracy_imclef --systems 'RRSVM, hinge'"
