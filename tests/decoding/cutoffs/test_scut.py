from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import SCut, Threshold, TopScores
from linnaeus.errors import ParameterError
from linnaeus.metrics import macro_f1, micro_f1
from tests.decoding.oracles import rows


def labelled(n_docs: int = 400, n_nodes: int = 12, seed: int = 0) -> tuple[Taxonomy, np.ndarray, np.ndarray]:
    """Labels from frequent to rare; each has its own scale and offset of scores, so that zero is no good cut."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_docs, n_nodes)) < 0.4 / np.arange(1, n_nodes + 1)
    Y[np.arange(n_docs), 0] |= ~Y.any(axis=1)
    S = (Y + 0.5 * rng.normal(size=Y.shape)) * rng.uniform(0.5, 2, n_nodes) + rng.normal(size=n_nodes)
    return Taxonomy.flat(f"n{v}" for v in range(n_nodes)), S, Y.astype(np.int8)


def test_the_worked_example() -> None:
    tax = Taxonomy.flat(["A"])
    S = np.array([[0.9], [0.8], [0.7], [0.6], [0.5], [0.4]])
    cut = SCut(min_positives=3).fit(S, np.array([[1], [0], [1], [1], [0], [0]]), tax)
    assert cut.theta == pytest.approx((0.55,))


def test_fitting_gives_a_new_cut_off_and_leaves_the_old_one(abc: Taxonomy) -> None:
    cut = SCut()
    fitted = cut.fit(np.random.default_rng(0).normal(size=(9, 7)), [["AA"]] * 9, abc)
    assert not cut.fitted
    assert fitted.fitted
    assert fitted != cut
    with pytest.raises(ParameterError, match=r"SCut\(\) has not learned where to cut; Pipeline"):
        cut(np.zeros((1, 7)), abc)


def test_it_decides_as_thresholds_do() -> None:
    tax, S, Y = labelled()
    cut = SCut().fit(S, Y, tax)
    assert rows(cut(S, tax)) == rows(Threshold(cut.theta, repair=None)(S, tax))


def test_labels_on_their_own_scales_are_cut_better_than_at_zero_or_at_one_threshold() -> None:
    tax, S, Y = labelled(800)
    S, S_test, Y, Y_test = S[:400], S[400:], Y[:400], Y[400:]
    zero = macro_f1(Y_test, Threshold(repair=None)(S_test, tax), tax)
    macro, micro = (SCut(average=average).fit(S, Y, tax) for average in ("macro", "micro"))
    assert macro_f1(Y_test, macro(S_test, tax), tax) > zero + 0.05
    assert micro_f1(Y, micro(S, tax), tax) >= micro_f1(Y, macro(S, tax), tax)


def test_a_fbr_is_tuned_on_documents_that_the_thresholds_have_not_seen() -> None:
    tax, S, Y = labelled()
    S[:, 6:] = np.random.default_rng(1).normal(size=(400, 6))  # scores of the rarer half know nothing
    tuned = SCut(fbr="tune", rare="none", min_positives=1).fit(S, Y, tax)
    assert np.isinf(tuned.theta[6:]).any()
    assert np.isfinite(tuned.theta[:2]).all()
    assert tuned.fbr == "tune"
    assert SCut(fbr="tune").fit(S[:1], Y[:1], tax).fitted


def test_from_the_best_scores_only_the_best_are_looked_at() -> None:
    tax, S, Y = labelled()
    cut = SCut().fit(TopScores.of(S, 4), Y, tax)
    assert cut.top == 4
    for answer, row in zip(rows(cut(S, tax)), S, strict=True):
        assert answer <= set(np.argsort(-row)[:4].tolist())
    assert SCut().fit(TopScores.of(S, 12), Y, tax) == SCut().fit(S, Y, tax)


def test_empty_answers_get_the_best_label_unless_they_may_be_empty() -> None:
    tax = Taxonomy.flat("AB")
    assert tax.labels(SCut(theta=5.0)([[1.0, 2.0]], tax)) == [["B"]]
    assert tax.labels(SCut(theta=5.0, at_least_one=False)([[1.0, 2.0]], tax)) == [[]]


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'micro'"):
        SCut(average="mikro")
    with pytest.raises(ParameterError, match="did you mean 'parent'"):
        SCut(fallback="parents")
    with pytest.raises(ParameterError, match="rare='never' is not one of 'none', 'top'"):
        SCut(rare="never")
    with pytest.raises(ParameterError, match="fbr='auto'"):
        SCut(fbr="auto")
    with pytest.raises(ParameterError, match="min_positives"):
        SCut(min_positives=-1)
    with pytest.raises(ParameterError, match="did you mean 'suppress'"):
        SCut(repair="supress")
