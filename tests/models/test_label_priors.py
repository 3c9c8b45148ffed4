"""Prior weights from label texts: the ridge problem, texts as features, scales of groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from linnaeus import Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.features.embedding import EmbeddedText
from linnaeus.features.text import TextFeatures
from linnaeus.models.label_priors import (
    GroupScales,
    _fitted_strengths,
    check_label_features,
    choose_ridge,
    documents_below,
    embedding_columns,
    label_features,
    learn_gains,
    node_texts,
    text_strengths,
)
from linnaeus.taxonomy.texts import Texts


def _random(n_nodes: int, n_features: int, seed: int) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    T = sparse.random_array((n_nodes, n_features), density=0.4, rng=rng, format="csr")
    R = sparse.csr_array(T.toarray() * rng.normal(1.5, 1.0, T.shape))
    return T, R, rng.integers(1, 9, n_nodes).astype(float)


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_gains_solve_the_ridge_problem_as_a_generic_solver_does(ridge):
    T, R, documents = _random(9, 6, seed=1)

    def objective(z):
        error = R.toarray() - T.toarray() * z[:-1]
        return documents @ np.square(error).sum(axis=1) + ridge * np.square(z[:-1] - z[-1]).sum()

    found = learn_gains(T, R, documents, ridge)
    best = optimize.minimize(objective, np.zeros(7), method="BFGS", options={"gtol": 1e-10})
    assert objective(np.append(found.gains, found.common)) <= best.fun + 1e-8
    np.testing.assert_allclose(np.append(found.gains, found.common), best.x, atol=1e-5)
    assert found.residual < 1e-12


def test_words_without_nodes_get_the_common_gain():
    T = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    found = learn_gains(T, 3 * T, np.ones(2))
    np.testing.assert_allclose(found.gains, [3.0, 3.0])


def test_the_ridge_is_chosen_on_nodes_left_out():
    rng = np.random.default_rng(0)
    T = sparse.csr_array(np.ones((200, 5)))
    own = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    R = sparse.csr_array(own + 0.01 * rng.normal(size=(200, 5)))
    assert choose_ridge(T, R, np.ones(200)).ridge == 0.1  # words differ, and many nodes say so
    noise = sparse.csr_array(2 + 5 * rng.normal(size=(200, 5)))
    assert choose_ridge(T, noise, np.ones(200)).ridge >= 100


def test_nodes_with_one_of_several_names_are_as_near_as_with_another():
    tax = Taxonomy.from_edges([("R", "mi"), ("R", "flu")]).with_texts(
        Texts.from_entries(
            [
                (1, "preferred", "en", "Infarction"),
                (1, "alternative", "en", "Heart attack"),
                (1, "definition", "en", "Flow stops."),
                (2, "preferred", "en", "Flu"),
            ]
        )
    )
    features = TextFeatures().fit(["infarction heart attack flow flu"])
    T = label_features(features, tax).toarray()
    names = features.get_feature_names_out().tolist()
    row = dict(zip(names, T[tax.index("mi")], strict=True))
    assert row["infarction"] == pytest.approx(1.0)
    assert row["heart"] == row["attack"] == pytest.approx(2**-0.5)
    assert row["flow"] == pytest.approx(0.5)
    assert T[0].sum() == 0


def test_texts_go_to_every_text_field():
    tax = Taxonomy.from_edges([("R", "x")], display_labels={"x": "cat"})
    features = TextFeatures(fields={"title": 2.0, "body": 1.0}, categorical=["year"])
    features.fit({"title": ["cat", "dog"], "body": ["cat", "dog"], "year": ["1", "2"]})
    row = label_features(features, tax)[[1]]
    assert features.get_feature_names_out()[row.indices].tolist() == ["title:cat", "body:cat"]


def test_texts_of_a_node_are_bounded():
    entries = [(1, "alternative", "", f"name{i}") for i in range(1000)] + [(1, "definition", "", "x" * 100_000)]
    tax = Taxonomy.from_edges([("R", "x")]).with_texts(Texts.from_entries(entries))
    found = list(node_texts(tax))
    assert len(found) == 51
    assert max(len(text) for _, _, text in found) == 5000


def test_texts_in_another_language_are_refused_with_the_languages_there_are():
    tax = Taxonomy.from_edges([("R", "x")]).with_texts(Texts.from_entries([(1, "preferred", "de", "Herzinfarkt")]))
    with pytest.raises(DataError, match=r"0 of the 1 nodes with texts have a word that documents have; .* de \(1\)"):
        label_features(TextFeatures().fit(["heart attack"]), tax)


def test_few_nodes_with_known_words_are_a_warning():
    labels = {f"x{i}": "Herz" for i in range(20)} | {"x0": "heart"}
    tax = Taxonomy.from_edges([("R", name) for name in labels], display_labels=labels)
    with pytest.warns(UserWarning, match="1 of the 20 nodes"):
        label_features(TextFeatures().fit(["heart attack"]), tax)


def test_features_without_texts_are_refused():
    tax = Taxonomy.from_edges([("R", "x")], display_labels={"x": "cat"})
    with pytest.raises(ParameterError, match="got no features, expected TextFeatures, HashedText or EmbeddedText"):
        label_features(None, tax)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((2, 3)), r"label_features has the shape \(2, 3\); expected \(3, 4\)"),
        (np.full((3, 4), np.nan), "NaN or infinity"),
        ([["a"]], "not a matrix of numbers"),
        (None, "needs the texts of the nodes"),
    ],
)
def test_label_features_are_validated(given, message):
    with pytest.raises((DataError, ParameterError), match=message):
        check_label_features(given, 3, 4)


def test_scales_make_scores_of_groups_mean_the_same():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-2, 2, (4000, 4))
    Y = rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))
    slopes, shifts = np.array([0.2, 0.5, 0.8, 1.0]), np.array([-1.0, -0.5, 0.3, 0.0])
    scales = GroupScales.fit(log_odds * slopes + shifts, Y, np.arange(4))
    np.testing.assert_allclose(scales.slope, 1 / slopes, rtol=0.1)
    np.testing.assert_allclose(scales.shift, -shifts / slopes, rtol=0.1, atol=0.2)


def test_the_expected_rate_of_labels_shifts_a_group():
    rng = np.random.default_rng(0)
    Y = rng.random((2000, 2)) < 0.2
    S = np.where(Y, 1.0, -1.0) + rng.normal(size=Y.shape)
    groups, rare = np.array([0, 3]), np.array([0.02, np.nan, np.nan, np.nan])
    as_it_is, rarer = GroupScales.fit(S, Y, groups), GroupScales.fit(S, Y, groups, rare)
    assert rarer.slope[0] == as_it_is.slope[0]
    assert rarer.shift[0] < as_it_is.shift[0] - 0.5


def test_groups_without_labels_keep_the_scale_of_the_next():
    scales = GroupScales.fit(np.zeros((10, 4)), np.zeros((10, 4), bool), np.arange(4))
    assert scales.slope.tolist() == [1.0] * 4
    assert scales.shift.tolist() == [0.0] * 4


def test_names_are_the_texts_of_a_taxonomy_without_texts():
    tax = Taxonomy.from_edges([("Things", "Cats"), ("Things", "Dogs")])
    T = label_features(TextFeatures().fit(["cats purr"]), tax)
    assert (np.diff(T.indptr) > 0).tolist() == [False, True, False]


def test_names_that_are_no_words_of_the_documents_are_refused():
    tax = Taxonomy.from_edges([("R", "x1"), ("R", "x2")])
    with pytest.raises(DataError, match="0 of the 2 nodes with texts .*; the texts are names of nodes"):
        label_features(TextFeatures().fit(["cats purr"]), tax)


def test_embedded_texts_of_nodes_are_those_of_documents_less_half_of_the_parents():
    tax = Taxonomy.from_edges([("R", "a"), ("a", "b"), ("R", "c")], display_labels={"a": "cats", "b": "dogs", "c": "?"})
    documents = ["cats purr", "cats purr softly", "dogs bark", "dogs bark loudly"]
    features = EmbeddedText(TextFeatures(), weight=0.5, dimension=3).fit(documents)
    T = label_features(features, tax).toarray()
    n = embedding_columns(features)
    words, E = np.split(features.transform(["cats", "dogs"]).toarray(), [-n], axis=1)
    at = [tax.index("a"), tax.index("b")]
    np.testing.assert_allclose(T[at, :-n], words, rtol=1e-6)
    expected = E[1] - 0.5 * E[0]
    expected *= np.linalg.norm(E[1]) / np.linalg.norm(expected)
    np.testing.assert_allclose(T[at, -n:], [E[0], expected], rtol=1e-5, atol=1e-7)
    assert not T[tax.index("c")].any()  # no known word


def test_several_texts_of_a_node_are_embedded_as_their_mean():
    entries = [(1, "preferred", "en", "cats"), (1, "alternative", "en", "dogs")]
    tax = Taxonomy.from_edges([("R", "x")]).with_texts(Texts.from_entries(entries))
    features = EmbeddedText(weight=0.5, dimension=2).fit(["cats purr", "cats purr", "dogs bark", "dogs bark cats"])
    T, n = label_features(features, tax).toarray(), embedding_columns(features)
    E = features.transform(["cats", "dogs"]).toarray()[:, -n:]
    np.testing.assert_allclose(T[tax.index("x"), -n:], E.mean(axis=0), rtol=1e-5)


def test_an_embedding_that_puts_other_nodes_before_the_labels_does_not_count():
    rng = np.random.default_rng(0)
    Y = np.zeros((400, 50), bool)
    Y[np.arange(400), rng.integers(50, size=400)] = True
    parents = np.where(Y, 1.5, 0.0) + rng.normal(size=Y.shape)
    words = np.where(Y & (rng.random((400, 1)) < 0.5), 1.0, 0.0)  # half of the labels, and nothing else
    helps = np.where(Y, 1.5, 0.0) + rng.normal(size=Y.shape)
    assert all(strength > 0.5 for strength in text_strengths(parents, [words, helps], Y))
    Y[:200] = False
    # values are higher in documents that have a label at all, but tell nothing about which
    misleads = np.where(Y.any(axis=1), 1.0, -1.0)[:, None] + rng.normal(size=Y.shape)
    assert _fitted_strengths(parents, [words, misleads], Y)[1] > 0.1
    assert text_strengths(parents, [words, misleads], Y)[1] == 0


def test_inner_nodes_that_no_document_below_them_has_are_seldom_labels():
    rng = np.random.default_rng(0)
    log_below, S = np.log1p(np.array([0, 0, 0, 50, 100])), rng.normal(size=(3000, 5))
    Y = rng.random(S.shape) < 1 / (1 + np.exp(3 - 2 * S))
    assert documents_below(S, Y, log_below) == pytest.approx(0, abs=0.05)  # labels as often as leaves
    Y[:, 3:] = False
    assert documents_below(S, Y, log_below) == pytest.approx(0.5, abs=0.1)  # 1 / a, the rule of succession
    assert documents_below(S, Y, np.zeros(5)) == 0
