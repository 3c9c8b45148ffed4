"""A mixture of models: what it takes, what it keeps, and what it says about its sources."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

import linnaeus
from linnaeus import (
    LexicalModel,
    Mixture,
    NodeSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    Pipeline,
    RRLogistic,
    Taxonomy,
    calibrate,
    fit_decoder,
    mixed_held_out,
)
from linnaeus.decoding import TopScores
from linnaeus.errors import LinnaeusError, ParameterError, StoreError
from linnaeus.features.dense import DenseFeatures
from linnaeus.features.kernel_map import KernelMap
from linnaeus.features.text import TextFeatures
from linnaeus.metrics import hierarchical_f1
from linnaeus.models.mixed_scores import SourceScores, learn_weights
from linnaeus.tuning import HeldOutScores, held_out_scores
from tests.contracts.configurations import documents, taxonomy


class Counted(OneVsRestSVM):
    """Counts how often it is trained."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.n_fits += 1
        return super().fit(X, y, sample_weight)


def two() -> list[tuple[str, object]]:
    return [("svm", OneVsRestSVM(random_state=0)), ("closed", OneVsRestLogistic(learn="closed", random_state=0))]


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_ready_scores_and_sources_give_the_same_mixture_without_training(kind) -> None:
    tax = taxonomy(kind)
    X, y = documents(tax)
    folds = [(np.flatnonzero(np.arange(80) % 3 != k), np.flatnonzero(np.arange(80) % 3 == k)) for k in range(3)]
    sources = [
        ("counted", Counted(tax, random_state=0)),
        ("closed", OneVsRestLogistic(tax, learn="closed", random_state=0)),
    ]
    held = [held_out_scores(model, X, y, cv=folds) for _, model in sources]
    fitted = [model.fit(X, y) for _, model in sources]
    Counted.n_fits = 0
    ready = Mixture(sources, tax).fit(X, y, held_out=held, fitted=fitted)
    assert Counted.n_fits == 0
    trained = Mixture(sources, tax, cv=folds).fit(X, y)
    assert Counted.n_fits == 4
    np.testing.assert_allclose(ready.decision_function(X), trained.decision_function(X), atol=1e-9)


def test_held_out_scores_train_every_source_once_for_each_fold() -> None:
    tax = taxonomy()
    X, y = documents(tax)
    model = Mixture([("counted", Counted()), ("logistic", OneVsRestLogistic())], tax)
    Counted.n_fits = 0
    held = held_out_scores(model, X, y, cv=4)
    assert Counted.n_fits == 4
    assert held.S.shape == (80, len(held.nodes))
    assert held.nested
    assert held.own is not None
    assert hierarchical_f1(held.Y, tax.close(held.own, keep_root=False), tax) > 0.4


def test_rare_labels_are_ranked_better_by_shares_of_all_documents_than_by_those_of_the_others() -> None:
    """A share that is counted without a document is lower for its own labels, so that their scores are too low."""
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat([f"n{i}" for i in range(40)])
    nodes = np.arange(1, 41) if tax.root is not None else np.arange(40)
    n_docs = 150
    gold = np.zeros((n_docs, tax.n_nodes))
    for v in nodes:  # two or three documents each, so that a fifth of the documents matters
        gold[rng.choice(n_docs, rng.integers(2, 4), replace=False), v] = 1
    Y = sparse.csr_array(gold)
    noise = rng.normal(size=(2, n_docs, len(nodes)))
    held = {
        f"source {i}": HeldOutScores(2.5 * gold[:, nodes] + one, Y, tax, nodes, np.arange(n_docs), False)
        for i, one in enumerate(noise)
    }

    def area(S: np.ndarray) -> float:
        return average_precision_score(gold[:, nodes].ravel(), S.ravel())

    counted, known = (mixed_held_out(held, known=labels) for labels in (None, Y))
    assert area(known.S) > area(counted.S) + 0.02
    assert area(known.S) > max(area(one.S) for one in held.values())


def test_labels_without_documents_are_as_likely_as_labels_that_one_of_all_documents_has() -> None:
    """Many labels of a part have no document there, but few of all documents."""
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat([f"n{i}" for i in range(300)])
    shares = 1.0 / np.arange(1, 301) ** 1.2
    Y = sparse.csr_array((rng.random((2_400, 300)) < 0.5 * shares).astype(float))
    part = Y[:600]
    S = rng.normal(size=part.shape) + 2.0 * part.toarray()
    sources = {name: SourceScores(S + rng.normal(size=S.shape), np.arange(300)) for name in ("a", "b")}
    nodes = np.arange(300, dtype=np.int32)
    mixture = learn_weights(sources, part, tax, nodes, False, 0.03, None, 1e-6, 100, known=Y)
    new = np.flatnonzero(np.bincount(Y.indices, minlength=300) == 0)
    assert len(new) >= 5
    P = 1.0 / (1.0 + np.exp(-(mixture(sources, tax) - mixture.raised)))
    once = (np.bincount(Y.indices, minlength=300) == 1).sum() / 2_400
    assert P[:, new].sum(axis=1).mean() < 4 * once  # 7 times by the labels that are new in the part


def test_few_labels_in_a_part_are_no_reason_to_fail() -> None:
    S, tax = np.random.default_rng(0).normal(size=(30, 3)), Taxonomy.flat("ABC")
    S[:, 2] = -np.inf
    Y = tax.indicator([["A"]] + [[]] * 29)
    held = {name: HeldOutScores(S, Y, tax, np.arange(3), np.arange(30), False) for name in ("a", "b")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert mixed_held_out(held).S.shape[0] == 30


@pytest.mark.parametrize("single", [False, True])
def test_mixed_held_out_scores_do_not_depend_on_the_labels_of_their_own_document(single) -> None:
    tax = taxonomy()
    X, y = documents(tax)
    y = [row[:1] for row in y] if single else y
    models = {"a": OneVsRestSVM(tax, random_state=0), "b": OneVsRestLogistic(tax, random_state=0)}
    held = {name: held_out_scores(model, X, y, cv=3) for name, model in models.items()}
    first = mixed_held_out(held)
    turned = {}
    for name, one in held.items():
        Y = one.Y.tolil()
        Y[0] = 0
        Y[0, tax.index("CAA")] = 1
        turned[name] = type(one)(one.S, Y.tocsr(), tax, one.nodes, one.documents, one.closed)
    order = np.argsort(held["a"].documents)
    changed = int(np.flatnonzero(order == 0)[0])
    second = mixed_held_out(turned)
    common = np.isin(first.nodes, second.nodes), np.isin(second.nodes, first.nodes)
    np.testing.assert_allclose(first.S[changed][common[0]], second.S[changed][common[1]], atol=1e-9)
    assert np.abs(first.S[:, common[0]] - second.S[:, common[1]]).max() > 1e-9


@pytest.mark.parametrize("single", [False, True])
def test_contributions_of_sources_and_of_features_sum_to_the_score(single) -> None:
    tax = taxonomy("dag")
    X, y = documents(tax)
    y = [row[:1] for row in y] if single else y
    sources = [*two(), ("down", NodeSVM(random_state=0)), ("rr", RRLogistic(random_state=0))]
    model = Mixture(sources, tax, cv=3).fit(X, y)
    S = model.decision_function(X)
    for d in range(3):
        steps = model.explain(X[[d]])
        assert len(steps) == 1 or not single
        for step in steps:
            j = list(model.classes_).index(step.node)
            assert step.score == pytest.approx(S[d, j], abs=1e-9)
            assert step.score == pytest.approx(step.constant + sum(source.contribution for source in step.sources))
            assert step.score == pytest.approx(step.intercept + step.contributions.sum())
            assert step.against is not None
            margin = step.against.intercept + step.against.contributions.sum()
            assert step.against.margin == pytest.approx(margin)
            for source in step.sources:
                assert source.contribution == pytest.approx(source.weight * source.log_odds)
                assert source.explanation is not None
                assert source.explanation.node == source.node
    assert "sources: " in str(model.explain(X[[0]], k=2)[0])


def test_documents_of_weight_0_are_as_if_left_out_of_given_folds_and_scores() -> None:
    tax = taxonomy("tree")
    X, y = documents(tax)
    n = len(y)
    weights = np.where(np.arange(n) % 4 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    folds = [(np.setdiff1d(np.arange(n), part), part) for part in np.array_split(np.arange(n), 3)]
    small = [tuple(np.searchsorted(kept, part[np.isin(part, kept)]) for part in pair) for pair in folds]
    expected = Mixture(two(), tax, cv=small).fit(X[kept], [y[i] for i in kept]).decision_function(X)
    weighted = Mixture(two(), tax, cv=iter(folds)).fit(X, y, weights)  # folds may be read once only
    np.testing.assert_allclose(weighted.decision_function(X), expected)
    held = [
        held_out_scores(model.set_params(taxonomy=tax), X, y, cv=folds, sample_weight=weights) for _, model in two()
    ]
    np.testing.assert_allclose(Mixture(two(), tax).fit(X, y, weights, held_out=held).decision_function(X), expected)


def test_a_source_behind_a_map_explains_itself_by_the_same_features() -> None:
    X, y = documents(taxonomy("tree"))
    maps = [
        (name, Pipeline(OneVsRestSVM(random_state=0), KernelMap(None, 20, gamma=g)))
        for name, g in (("a", 0.1), ("b", 0.3))
    ]
    X = X.toarray() if hasattr(X, "toarray") else X
    pipe = Pipeline(Mixture(maps, taxonomy("tree"), cv=3)).fit(X, y, feature_names=[f"x{j}" for j in range(X.shape[1])])
    steps = pipe.explain(X[0])
    step = steps[-1]
    assert step.approximate
    assert set(step.features) <= {f"x{j}" for j in range(X.shape[1])}
    assert len(step.features) > 0
    assert step.score == pytest.approx(step.intercept + step.contributions.sum())
    assert step.score == pytest.approx(step.constant + sum(source.contribution for source in step.sources))
    assert "<td>(constant)</td><td></td>" in steps._repr_html_()
    exact = Pipeline(Mixture(two(), taxonomy("tree"), cv=3)).fit(X, y).explain(X[0])
    assert not exact[-1].approximate


def test_a_mixture_of_texts_explains_itself_by_words() -> None:
    texts = ["cats purr", "dogs bark", "a cat purrs and a dog barks", "cats and kittens", "dogs and puppies"] * 6
    y = [["cat"], ["dog"], ["cat", "dog"], ["cat"], ["dog"]] * 6
    pipe = Pipeline(Mixture(two(), cv=3), TextFeatures()).fit(texts, y)
    assert pipe.predict(["purr"]) == [["cat"]]
    step = pipe.explain("cats purr", "cat", k=1)[0]
    assert step.features.tolist() == ["cats"] or step.features.tolist() == ["purr"]
    assert step.sources[0].explanation.features[0] in ("cats", "purr")
    assert fit_decoder(pipe, texts, y, "scut", cv=3) is not None


def test_pipelines_over_the_same_vectors_are_sources_and_explain_themselves(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = [[name for name, value in zip("abc", row, strict=False) if value > 0] for row in X]
    scaled = Pipeline(OneVsRestLogistic(random_state=0), DenseFeatures())
    model = Mixture([("plain", OneVsRestSVM(random_state=0)), ("scaled", scaled)], cv=3).fit(X, y)
    step = model.explain(X[0], "a")[0]
    assert [source.shares_features for source in step.sources] == [True, True]
    assert step.score == pytest.approx(step.intercept + step.contributions.sum())
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    outer = Pipeline(Mixture([("scaled", scaled), ("plain", OneVsRestSVM(random_state=0))], cv=3), DenseFeatures())
    assert calibrate(outer.fit(X, y), X, y, cv=3).predict_proba(X).shape == (120, 3)


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_probabilities_are_coherent_before_and_after_calibration(kind, tmp_path) -> None:
    tax = taxonomy(kind)
    X, y = documents(tax)
    model = Mixture(two(), tax, cv=3).fit(X, y)

    def coherent(P: np.ndarray) -> bool:
        column = {int(v): j for j, v in enumerate(model.nodes_)}
        edges = [(v, int(p)) for v in column for p in tax.parents(v) if int(p) in column]
        return all((P[:, column[v]] <= P[:, column[p]] + 1e-9).all() for v, p in edges)

    assert coherent(model.predict_proba(X))
    calibrate(model, X, y, cv=3)
    P = model.predict_proba(X)
    assert coherent(P)
    assert len(model.predict(X, risk=0.3)) == 80
    linnaeus.save(model, tmp_path / "model")
    np.testing.assert_array_equal(linnaeus.load(tmp_path / "model").predict_proba(X), P)


@pytest.mark.parametrize("single", [False, True])
def test_of_many_held_out_scores_the_best_are_kept(single, monkeypatch) -> None:
    tax = taxonomy()
    X, y = documents(tax)
    y = [row[:1] for row in y] if single else y
    models = {"a": OneVsRestSVM(tax, random_state=0), "b": OneVsRestLogistic(tax, random_state=0)}
    held = {name: held_out_scores(model, X, y, cv=3) for name, model in models.items()}
    whole = mixed_held_out(held)
    monkeypatch.setattr("linnaeus.tuning.held_out._WHOLE", 100)
    monkeypatch.setattr("linnaeus.tuning.held_out._TOP", 4)
    best = mixed_held_out(held)
    assert isinstance(best.S, TopScores)
    np.testing.assert_array_equal(best.S.scores, TopScores.of(whole.S, 4).scores)
    assert (best.own != whole.own).nnz == 0
    assert best.fit("rcut").r >= 1


def test_probabilities_of_single_labels_sum_to_one() -> None:
    tax = taxonomy()
    X, y = documents(tax)
    model = Mixture(two(), tax, cv=3).fit(X, [row[0] for row in y])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.predict(X).tolist() == model.classes_[model.predict_proba(X).argmax(axis=1)].tolist()


def test_parameters_of_sources_are_parameters_of_the_mixture() -> None:
    model = Mixture(two())
    assert model.get_params()["svm__C"] == 1.0
    model.set_params(svm__C=3.0, closed=OneVsRestSVM())
    assert model.sources[0][1].C == 3.0
    assert isinstance(model.sources[1][1], OneVsRestSVM)


def test_the_default_sources_are_a_flat_model_and_a_joint_one() -> None:
    tax = taxonomy()
    model = Mixture(taxonomy=tax, cv=2).fit(*documents(tax))
    assert [type(source) for source in model.sources_] == [OneVsRestSVM, RRLogistic]


def test_wrong_sources_are_refused() -> None:
    X, y = documents(taxonomy())
    for sources in ([], [OneVsRestSVM()], [("a", "OneVsRestSVM")], "svm"):
        with pytest.raises(ParameterError, match="sources"):
            Mixture(sources, taxonomy()).fit(X, y)
    with pytest.raises(ValueError, match="not unique"):
        Mixture([("a", OneVsRestSVM()), ("a", OneVsRestSVM())], taxonomy()).fit(X, y)
    with pytest.raises(ParameterError, match="C=0"):
        Mixture(two(), taxonomy(), C=0).fit(X, y)


def test_scores_of_other_documents_or_sources_are_refused() -> None:
    tax = taxonomy()
    X, y = documents(tax)
    models = [OneVsRestSVM(tax, random_state=0), OneVsRestLogistic(tax, random_state=0)]
    first = held_out_scores(models[0], X, y, cv=0.3)
    other = held_out_scores(models[1], X, y, cv=0.3, random_state=1)
    with pytest.raises(LinnaeusError, match="'closed' are not those of 'svm'; use the same folds"):
        Mixture(two(), tax).fit(X, y, held_out=[first, other])
    with pytest.raises(LinnaeusError, match="scores of 1 sources; expected those of 2"):
        Mixture(two(), tax).fit(X, y, held_out=[first])
    with pytest.raises(LinnaeusError, match="'svm' is not fitted on the taxonomy"):
        Mixture(two(), tax).fit(X, y, fitted=models)
    model = Mixture(two(), tax).fit(X, y, held_out=[first, first])
    assert len(model.classes_) == 13  # labels that were not held out are mixed as those above them


def test_weights_of_documents_count_in_sources_and_mixture() -> None:
    tax = taxonomy()
    X, y = documents(tax)
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    folds = [(np.arange(60)[np.arange(60) % 2 == k], np.arange(60)[np.arange(60) % 2 != k]) for k in range(2)]
    some = Mixture(two(), tax, cv=folds).fit(X[:60], y[:60])
    weighted = Mixture(two(), tax, cv=folds).fit(X, y, weights)
    np.testing.assert_allclose(weighted.decision_function(X), some.decision_function(X), atol=1e-6)
    heavy = Mixture(two(), tax, cv=folds).fit(X[:60], y[:60], np.full(60, 100.0))
    assert np.abs(heavy.weights_ - some.weights_).max() > 0.01


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m.mixture_.names.pop(),
        lambda m: m.mixture_.nodes.__setitem__(0, m.mixture_.nodes[1]),
        lambda m: m.sources_.pop(),
        lambda m: m.sources_.__setitem__(0, OneVsRestSVM().fit(np.eye(3), ["a", "b", "c"])),
        lambda m: m.sources_.__setitem__(0, TextFeatures().fit(["cats purr"])),
    ],
)
def test_damaged_mixtures_are_refused_on_loading(damage, tmp_path) -> None:
    tax = Taxonomy.flat("abc")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    model = Mixture(two(), tax, cv=2).fit(X, np.array(list("abc"))[X[:, :3].argmax(axis=1)])
    damage(model)
    linnaeus.save(model, tmp_path / "model")
    with pytest.raises(StoreError):
        linnaeus.load(tmp_path / "model")


def test_a_mixture_of_words_and_of_characters_is_explained_by_words() -> None:
    tax = Taxonomy.flat(["baker", "welder"])
    texts = [f"{word} number{i % 7}" for i in range(20) for word in ("bread oven", "steel torch")]
    labels = ["baker", "welder"] * 20
    characters = TextFeatures(analyzer="char_wb", ngram_range=(2, 4), min_df=1)
    sources = [
        ("words", Pipeline(OneVsRestSVM(tax), TextFeatures(min_df=1))),
        ("characters", Pipeline(OneVsRestSVM(tax), characters)),
    ]
    model = Mixture(sources, tax, cv=2).fit(texts, labels)
    step = model.explain("bread for the torch", "baker")[-1]
    parts = dict(zip(step.features, step.contributions, strict=True))
    assert parts["bread"] > 0 > parts["torch"]
    assert set(step.origins) == {"word"}
    assert step.score == pytest.approx(step.intercept + sum(parts.values()))
    assert step.against.margin == pytest.approx(step.against.intercept + step.against.contributions.sum())


def test_nodes_without_documents_do_not_win_because_a_source_is_sure_of_the_others() -> None:
    """Separable documents of one label, and label texts that never occur: nothing speaks for an inner node."""
    tax = Taxonomy.from_edges([("Animals", "Cats"), ("Animals", "Dogs"), ("Plants", "Roses"), ("Plants", "Trees")])
    words = {"Cats": "purr meow kitten", "Dogs": "bark puppy leash", "Roses": "petal thorn", "Trees": "trunk leaf"}
    y = list(words) * 20
    rng = np.random.default_rng(0)
    texts = [f"{words[label]} filler{rng.integers(9)} filler{rng.integers(9)}" for label in y]
    sources = [("words", Pipeline(RRLogistic(random_state=0), TextFeatures(min_df=1))), ("labels", LexicalModel())]
    with pytest.warns(UserWarning, match="No label of the taxonomy stands in any"):
        model = Mixture(sources, tax, cv=3).fit(texts, y)
    assert {"Animals", "Plants"} <= set(model.classes_)
    noisy = ["meow filler1 filler2 filler3", "thorn filler4 filler5", "filler6 filler7", "nothing of this is known"]
    assert model.predict(noisy[:2]).tolist() == ["Cats", "Roses"]
    assert set(model.predict(noisy[2:])) <= set(words)
    P = model.predict_proba(noisy)
    inner = [list(model.classes_).index(name) for name in ("Animals", "Plants")]
    assert P[:, inner].max() < 0.02
    step = model.explain(noisy[0], node="Animals")[-1]
    assert step.score == pytest.approx(model.decision_function(noisy[:1])[0, inner[0]])
    assert step.score == pytest.approx(step.constant + sum(source.contribution for source in step.sources))
