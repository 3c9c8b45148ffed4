"""The cut of largest expected measure: thresholds and set sizes against brute force, and what it gains."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from linnaeus import NodeSVM, OneVsRestSVM, Pipeline, Taxonomy, fit_decoder, metrics, store
from linnaeus.decoding import ExpectedCut, TopScores, decoder
from linnaeus.decoding.cutoffs.expected import best_sizes, plug_in_threshold
from linnaeus.errors import DataError, ParameterError
from linnaeus.tuning import held_out_scores

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])


def noisy(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features, and label sets that are rare and hard: a threshold of 0 answers too little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    leaves = (X + 1.2 * rng.normal(size=X.shape)) > 1.2
    Y = np.zeros((n, TAX.n_nodes), dtype=np.int8)
    Y[:, [TAX.index(name) for name in ("AA", "AB", "BA", "BB")]] = leaves
    return X, Y


def test_the_threshold_is_that_of_the_best_of_all_subsets() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.random(7) ** 2
        subsets = [np.array(bits, dtype=bool) for bits in product([0, 1], repeat=7) if any(bits)]
        value = [2 * p[chosen].sum() / (p.sum() + chosen.sum()) for chosen in subsets]
        np.testing.assert_array_equal(p > plug_in_threshold(p), subsets[int(np.argmax(value))])


def test_sizes_have_the_largest_expected_f1_of_all_label_vectors() -> None:
    rng = np.random.default_rng(1)
    P = -np.sort(-(rng.random((25, 5)) ** 2), axis=1)
    vectors = np.array(list(product([0, 1], repeat=5)))
    for p, size in zip(P, best_sizes(P), strict=True):
        weight = np.prod(np.where(vectors, p, 1 - p), axis=1)

        def worth(answer: np.ndarray, weight: np.ndarray = weight) -> float:
            total = vectors.sum(axis=1) + answer.sum()
            f1 = np.where(total == 0, 1.0, 2 * (vectors * answer).sum(axis=1) / np.maximum(total, 1))
            return float(weight @ f1)

        best = max(worth(answer) for answer in vectors)
        assert worth(np.arange(5) < size) == pytest.approx(best)


def test_answers_for_hierarchical_f1_are_closed_and_cut_coherent_probabilities() -> None:
    X, Y = noisy()
    cut = ExpectedCut("hierarchical_f1", at_least_one=False).fit(X, Y, TAX, [2, 3, 4, 5])
    nodes = np.array([2, 3, 4, 5])
    P = cut.probabilities(X, TAX, nodes)
    answers = cut(X, TAX, nodes)
    np.testing.assert_array_equal(answers.toarray()[:, list(cut.nodes)] > 0, P > cut.theta)
    assert (TAX.close(answers) != answers).nnz == 0
    assert 0.1 < cut.theta < 0.5


@pytest.mark.parametrize("metric", ["hierarchical_f1", "micro_f1", "macro_f1", "example_f1"])
@pytest.mark.parametrize("model", [OneVsRestSVM, NodeSVM])
def test_the_measure_follows_the_metric_and_beats_the_models_own_decoder(metric, model) -> None:
    X, Y = noisy()
    held = held_out_scores(model(TAX, random_state=0), X, Y, with_answers=True)
    found = held.compare(ExpectedCut(at_least_one=False), metric)
    assert found.cut_off > found.own
    fitted = fit_decoder(model(TAX, random_state=0).fit(X, Y), X, Y, f"expected,measure={metric}", metric=metric)
    assert isinstance(fitted, ExpectedCut)
    assert fitted.measure == metric
    assert fitted.repair == ("suppress" if model is NodeSVM else None)  # conditional scores are cut along paths


def test_cost_is_cut_at_one_half() -> None:
    X, Y = noisy()
    assert ExpectedCut("cost").fit(X, Y, TAX, [2, 3, 4, 5]).theta == 0.5


def test_macro_thresholds_are_of_single_nodes() -> None:
    X, Y = noisy()
    cut = ExpectedCut("macro_f1").fit(X, Y, TAX, [2, 3, 4, 5])
    P = cut.probabilities(X, TAX, np.array([2, 3, 4, 5]))
    for k, v in enumerate(cut.nodes):
        assert cut.theta[v] == pytest.approx(plug_in_threshold(P[:, k]))


def test_it_survives_its_dictionary_and_a_model_folder(tmp_path) -> None:
    X, Y = noisy()
    for measure in ("hierarchical_f1", "macro_f1", "example_f1"):
        cut = ExpectedCut(measure).fit(X, Y, TAX, [2, 3, 4, 5])
        assert decoder(**json.loads(json.dumps(cut.to_dict()))) == cut
    pipe = Pipeline(OneVsRestSVM(TAX, random_state=0), decoder="expected,measure=hierarchical_f1").fit(X, Y)
    store.save(pipe, tmp_path / "model")
    loaded = store.load(tmp_path / "model")
    assert (loaded.answers(X) != pipe.answers(X)).nnz == 0
    plain = Pipeline(OneVsRestSVM(TAX, random_state=0)).fit(X, Y)
    gold = TAX.indicator(TAX.labels(Y))
    assert metrics.hierarchical_f1(gold, pipe.answers(X), TAX) > metrics.hierarchical_f1(gold, plain.answers(X), TAX)
    assert len(pipe.n_best(X[:3], 2)) == 3


def test_documents_are_decided_one_by_one_as_together() -> None:
    X, Y = noisy()
    for measure in ("hierarchical_f1", "micro_f1", "example_f1"):
        cut = ExpectedCut(measure).fit(X, Y, TAX, [2, 3, 4, 5])
        together = cut(X[:60], TAX, [2, 3, 4, 5]).toarray()
        alone = np.concatenate([cut(X[[i]], TAX, [2, 3, 4, 5]).toarray() for i in range(60)])
        np.testing.assert_array_equal(together, alone)


def test_truncated_scores_and_wrong_measures_are_refused() -> None:
    X, Y = noisy()
    with pytest.raises(DataError, match="scores of all nodes"):
        ExpectedCut("micro_f1").fit(TopScores.of(X, 2), Y, TAX, [2, 3, 4, 5])
    with pytest.raises(ParameterError, match="did you mean 'micro_f1'"):
        ExpectedCut("micro_f")
    with pytest.raises(ParameterError, match="has not learned"):
        ExpectedCut("micro_f1")(X, TAX, [2, 3, 4, 5])
