"""RRSVM and RRLogistic that answer nodes without documents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import NotFittedError

import linnaeus
from linnaeus import RRSVM, Pipeline, RRLogistic, Taxonomy
from linnaeus.data.check import Problem, check_labels
from linnaeus.errors import ParameterError
from linnaeus.features.embedding import EmbeddedText
from linnaeus.features.text import TextFeatures
from linnaeus.models.all_nodes import micro_f1, raised
from linnaeus.models.label_priors import label_features
from linnaeus.models.recursive.network import links_of, node_shares, unlabelled_weights

_TOPICS, _NODES = 4, 5
_TREE = [("R", f"t{i}") for i in range(_TOPICS)]
_TREE += [(f"t{i}", f"t{i}n{j}") for i in range(_TOPICS) for j in range(_NODES)]
_LABELS = {f"t{i}n{j}": f"own{i}{j} thing" for i in range(_TOPICS) for j in range(_NODES)}
TAX = Taxonomy.from_edges(_TREE, display_labels=_LABELS)


def _documents(n: int = 160, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Documents repeat the name of their node and words of its topic; the last node of each topic has none."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        i, j = rng.integers(_TOPICS), rng.integers(_NODES - 1)
        words = [f"own{i}{j}"] * 2 + [f"topic{i}{k}" for k in rng.integers(6, size=5)]
        texts.append(" ".join([*words, *(f"noise{k}" for k in rng.integers(20, size=4))]))
        labels.append([f"t{i}n{j}"])
    return [*texts, *(f"own{i}{_NODES - 1}" for i in range(_TOPICS))], [*labels, *([[]] * _TOPICS)]


NEW = [f"own{i}4 own{i}4 topic{i}0 topic{i}1" for i in range(_TOPICS)]
UNSEEN = [f"t{i}n4" for i in range(_TOPICS)]


@pytest.fixture(scope="module", params=[RRSVM, RRLogistic])
def pipe(request):
    texts, y = _documents()
    return Pipeline(request.param(TAX, answer="all", C=10.0, random_state=0), TextFeatures()).fit(texts, y)


def test_nodes_without_documents_are_answered(pipe):
    assert [names[0] for names in pipe.top(NEW, 1)[0].tolist()] == UNSEEN
    assert set(pipe.classes_) == set(_LABELS)
    assert dict(zip(pipe.classes_, pipe.model_.n_documents_, strict=True))["t0n4"] == 0


def test_explanations_name_the_label_text_and_the_parents(pipe):
    step = pipe.explain(NEW[0], "t0n4")[0]
    words, parents = step.evidence
    assert words.startswith("words of the label text of t0n4: own04 +")
    assert parents.startswith("from the parents of t0n4: ")
    assert parents.endswith("it has no training documents")
    assert step.intercept + step.contributions.sum() == pytest.approx(step.score, abs=1e-5)
    seen = pipe.explain("own00 topic00", "t0n0")[0]
    assert f"{seen.n_documents} training documents and the parents of t0n0" in seen.evidence[-1]


def test_contributions_name_label_texts_words_and_parents_and_sum_exactly(pipe):
    document = "own04 own04 own00 topic00 topic01"
    scores = dict(zip(pipe.classes_, pipe.decision_function([document])[0], strict=True))
    for node, rest in (("t0n4", "parent"), ("t0n0", "word")):
        (step,) = pipe.explain(document, node)
        assert set(step.origins) == {"label", rest}
        assert step.intercept + step.contributions.sum() == pytest.approx(scores[node], abs=1e-5)
        of_label = {
            f: c for f, c, o in zip(step.features, step.contributions, step.origins, strict=True) if o == "label"
        }
        assert of_label == pytest.approx(dict(zip(step.text_features, step.text_contributions, strict=True)))
        away = step.against
        assert away.intercept + away.contributions.sum() == pytest.approx(away.margin, abs=1e-5)
        assert away.margin == pytest.approx(scores[node] - scores[away.rival], abs=1e-5)
        (some,) = pipe.explain(document, node, 2)
        np.testing.assert_array_equal(some.contributions, step.contributions[:2])


def test_a_model_of_seen_nodes_cannot_answer_them():
    texts, y = _documents()
    seen = Pipeline(RRSVM(TAX, random_state=0), TextFeatures()).fit(texts, y)
    assert not set(seen.classes_) & set(UNSEEN)


def test_a_stored_model_answers_the_same(pipe, tmp_path):
    linnaeus.save(pipe, tmp_path / "model")
    loaded = linnaeus.load(tmp_path / "model")
    assert loaded.model_.answer == "all"
    np.testing.assert_array_equal(loaded.decision_function(NEW), pipe.decision_function(NEW))
    np.testing.assert_array_equal(loaded.model_.n_documents_, pipe.model_.n_documents_)


def _problem(seed: int = 0):
    rng = np.random.default_rng(seed)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("A", "AC")])
    X = sparse.csr_array(rng.random((12, 4)) * (rng.random((12, 4)) < 0.7), dtype=np.float32)
    y = ["AA", "AB", "B"] * 4
    Y, _, codec = check_labels(y, tax, 12)
    P = sparse.csr_array(rng.normal(size=(tax.n_nodes, 4)) * (rng.random((tax.n_nodes, 4)) < 0.6))
    return tax, X, Y, codec, P


@pytest.mark.parametrize("model", [RRSVM(tol=1e-6), RRLogistic(tol=1e-6), RRSVM(tol=1e-6, loss="hinge")])
def test_prior_weights_change_the_optimum_as_a_generic_solver_says(model):
    tax, X, Y, codec, P = _problem()
    model = model.__class__(**{**model.get_params(), "taxonomy": tax, "random_state": 0})
    model.taxonomy_, model.codec_ = tax, codec
    model._fit_joint(Problem(X, Y, tax, None, codec), prior=P)
    assert model.duality_gap_ <= 1e-6 * model.objective_
    labels, dense = model.nodes_, np.column_stack([X.toarray(), np.ones(12)])
    signs = np.where(Y[:, labels].toarray() > 0, 1.0, -1.0)
    prior = np.column_stack([P.toarray(), np.zeros(tax.n_nodes)])
    parent = {"AA": "A", "AB": "A", "A": "R", "B": "R"}

    def objective(z):
        W = dict(zip(["R", "A", *tax.names[labels]], z.reshape(-1, 5), strict=True))
        total = 0.5 * W["R"] @ W["R"]
        for child, above in parent.items():
            shift = prior[tax.index(child)] if child != "A" else 0
            total += 0.5 * np.square(W[child] - W[above] - shift).sum()
        margin = signs * (dense @ np.array([W[name] for name in tax.names[labels]]).T)
        loss = {
            "squared_hinge": np.square(np.maximum(0, 1 - margin)),
            "hinge": np.maximum(0, 1 - margin),
            "logistic": np.logaddexp(0, -margin),
        }[model.loss]
        return total + loss.sum()

    best = optimize.minimize(objective, np.zeros(25), method="L-BFGS-B", options={"maxiter": 20000, "maxfun": 10**6})
    assert model.objective_ <= best.fun * (1 + 1e-5)
    assert model.objective_ - model.duality_gap_ <= best.fun * (1 + 1e-5)
    if model.loss != "hinge":  # the generic solver stops early at a kink
        assert model.objective_ == pytest.approx(best.fun, rel=1e-4)


def test_weights_of_nodes_without_documents_are_those_of_the_network_plus_the_text():
    texts, y = _documents()
    features = TextFeatures().fit(texts)
    T = label_features(features, TAX)
    model = RRSVM(TAX, answer="all", random_state=0).fit(features.transform(texts), y, label_features=T)
    texts_of = model._prior
    seen = model.n_documents_ > 0
    P = texts_of.gains.prior(texts_of.T).toarray()
    unscaled = (model.weights_ / texts_of.scales.slope[(3 * seen).astype(int)]) - P[model.nodes_].T
    links = links_of(TAX, model.nodes_[seen], **model._link_options)
    for node in UNSEEN:
        shares = node_shares(links, TAX, TAX.index(node))
        own = unscaled[:, model.nodes_ == TAX.index(node)][:, 0]
        np.testing.assert_allclose(own, unscaled[:, seen] @ shares, atol=1e-4)


def test_frequent_parents_do_not_raise_all_scores_of_their_nodes_without_documents():
    texts, y = _documents()
    often = [i for i, row in enumerate(y) if row and row[0].startswith("t0")]
    texts, y = texts + [texts[i] for i in often] * 5, y + [y[i] for i in often] * 5
    features = TextFeatures().fit(texts)
    X = features.transform(texts)
    model = RRSVM(TAX, answer="all", random_state=0).fit(X, y, label_features=label_features(features, TAX))
    unseen = np.isin(model.nodes_, [TAX.index(node) for node in UNSEEN])
    inherited = (model.decision_function(X) - X @ model.label_weights_.toarray())[:, unseen]
    assert np.ptp(inherited.mean(axis=0)) < 1e-4 < inherited.std(axis=0).min()


def test_weights_of_many_unlabelled_nodes_are_those_of_each():
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "x"), ("A", "y"), ("B", "y"), ("A", "z"), ("B", "z")])
    labels = np.array([tax.index("x"), tax.index("y")])
    links = links_of(tax, labels, root=0.5)
    nodes = np.array([tax.index("A"), tax.index("z")])
    W = np.random.default_rng(0).normal(size=(3, 2))
    expected = np.column_stack([W @ node_shares(links, tax, int(node)) for node in nodes])
    np.testing.assert_allclose(unlabelled_weights(links, tax, nodes)(W), expected)


def test_an_update_gives_new_nodes_the_prior_of_their_text():
    texts, y = _documents()
    pipe = Pipeline(RRSVM(TAX, answer="all", random_state=0), TextFeatures()).fit(texts, y)
    grown = Taxonomy.from_edges([*_TREE, ("t0", "t0n5")], display_labels={**_LABELS, "t0n5": "noise3 noise4"})
    pipe.update(["own00 own00 topic01", "own01 topic02"], [["t0n0"], ["t0n1"]], taxonomy=grown)
    assert "t0n5" in pipe.classes_
    assert pipe.top(["topic00 noise3 noise4 noise3"], 1)[0][0, 0] == "t0n5"
    assert [names[0] for names in pipe.top(NEW, 1)[0].tolist()] == UNSEEN
    assert pipe.model_.duality_gap_ <= 1e-3 * pipe.model_.objective_


def test_an_update_with_one_label_per_document_keeps_nodes_without_documents():
    texts, y = _documents()
    one = [i for i, row in enumerate(y) if row]
    pipe = Pipeline(RRSVM(TAX, answer="all", random_state=0), TextFeatures())
    pipe.fit([texts[i] for i in one], [y[i][0] for i in one])
    before = pipe.classes_.tolist()
    grown = Taxonomy.from_edges([*_TREE, ("t0", "t0n5")], display_labels={**_LABELS, "t0n5": "noise3 noise4"})
    pipe.update(["own00 own00 topic01", "own01 topic02"], ["t0n0", "t0n1"], taxonomy=grown)
    assert pipe.classes_.tolist() == sorted([*before, "t0n5"])
    assert pipe.top(["topic00 noise3 noise4 noise3"], 1)[0][0, 0] == "t0n5"


def test_a_loaded_model_of_all_nodes_without_its_documents_says_what_to_do(tmp_path):
    texts, y = _documents()
    pipe = Pipeline(RRSVM(TAX, answer="all", random_state=0), TextFeatures()).fit(texts, y)
    linnaeus.save(pipe, tmp_path / "model")
    with pytest.raises(NotFittedError, match="keep them with the model before it is saved"):
        linnaeus.load(tmp_path / "model").update(["own00"], [["t0n0"]])


@pytest.mark.parametrize("one", [False, True])
def test_a_loaded_model_with_its_documents_is_updated_as_one_that_is_fitted_on_all(tmp_path, one):
    texts, y = (part[:-_TOPICS] for part in _documents())
    y = [row[0] for row in y] if one else y
    pipe = Pipeline(RRSVM(TAX, answer="all", random_state=0), TextFeatures()).fit(texts, y)
    linnaeus.save(pipe.keep_documents(texts, y), tmp_path / "model")
    grown = Taxonomy.from_edges([*_TREE, ("t0", "new")], display_labels={**_LABELS, "new": "noise1 noise2"})
    loaded = linnaeus.load(tmp_path / "model")
    loaded.model_.random_state = 0  # seeds are not stored
    more, labels = ["own00 own00 topic01", "own01 topic02"], ["t0n0", "t0n1"] if one else [["t0n0"], ["t0n1"]]
    loaded.update(more, labels, taxonomy=grown)
    assert set(loaded.classes_) == {*_LABELS, "new"}
    X = pipe.matrix([*texts, *more])
    T = label_features(pipe.features_, grown)
    again = RRSVM(grown, answer="all", random_state=0).fit(X, [*y, *labels], label_features=T)
    order = [again.classes_.tolist().index(name) for name in loaded.classes_]
    # within the tolerance of the solver
    np.testing.assert_allclose(
        loaded.decision_function(NEW), again.decision_function(pipe.matrix(NEW))[:, order], atol=0.01
    )
    assert loaded.top(["noise1 noise2"], 1)[0].tolist() == [["new"]]
    assert len(loaded.kept_.names) == len(texts) + 2


def test_an_update_with_new_nodes_needs_their_texts():
    texts, y = _documents()
    features = TextFeatures().fit(texts)
    T = label_features(features, TAX)
    model = RRSVM(TAX, answer="all", random_state=0).fit(features.transform(texts), y, label_features=T)
    grown = Taxonomy.from_edges([*_TREE, ("t0", "t0n5")])
    with pytest.raises(ParameterError, match="needs the texts of the nodes"):
        model.update(features.transform(["own00"]), [["t0n0"]], taxonomy=grown)


def test_seen_is_the_default_and_ignores_texts():
    texts, y = _documents()
    X = TextFeatures().fit_transform(texts)
    without = RRSVM(Taxonomy.from_edges(_TREE), random_state=0).fit(X, y)
    seen = RRSVM(TAX, answer="seen", random_state=0).fit(X, y)
    np.testing.assert_array_equal(seen.weights_, without.weights_)
    assert seen.n_documents_ is None


def test_the_same_seed_gives_the_same_model():
    texts, y = _documents()
    first, again = (Pipeline(RRSVM(TAX, answer="all", random_state=3), TextFeatures()).fit(texts, y) for _ in range(2))
    np.testing.assert_array_equal(first.model_.weights_, again.model_.weights_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"answer": "every"}, "answer='every'"),
        ({"answer": "all", "schedule": "levels"}, "schedule='levels'; expected schedule='exact'"),
        ({"answer": "all", "engine": "gpu"}, "engine='gpu'; expected"),
        ({"answer": "all"}, "needs the texts of the nodes"),
    ],
)
def test_what_cannot_answer_all_nodes_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        RRSVM(TAX, **parameters).fit(np.eye(3), [["t0n0"], ["t0n1"], ["t1n0"]])


def test_a_pipeline_without_taxonomy_cannot_answer_all_nodes():
    with pytest.raises(ParameterError, match="answer='all' needs a taxonomy"):
        Pipeline(RRSVM(answer="all"), TextFeatures()).fit(["cats purr", "dogs bark"], ["b", "c"])


def test_few_documents_are_enough():
    pipe = Pipeline(RRSVM(TAX, answer="all", random_state=0), TextFeatures())
    pipe.fit(["own00 topic00", "own01 topic01", "own10 topic10"], [["t0n0"], ["t0n1"], ["t1n0"]])
    assert pipe.top(["own10 topic10"], 1)[0][0, 0] == "t1n0"
    assert len(pipe.classes_) == len(_LABELS)


def _misleading(n: int = 400, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Documents have the names of two nodes, of which the label is the one of their topic words."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        i, j, k, m = *rng.integers(_TOPICS, size=2), *rng.integers(_NODES, size=2)
        words = [f"own{i}{j}", f"own{k}{m}", *(f"about{i}{j}" for _ in range(2)), f"noise{rng.integers(20)}"]
        texts.append(" ".join(rng.permutation(words)))
        labels.append([f"t{i}n{j}"])
    return texts, labels


def test_texts_do_not_make_nodes_with_documents_worse():
    texts, y = _misleading()
    hidden = {"t0n4", "t2n1", "t3n3"}
    shown = [[name for name in names if name not in hidden] for names in y]
    train, new = slice(0, 250), slice(250, None)
    right = {}
    for answer in ("seen", "all"):
        model = Pipeline(RRSVM(TAX, answer=answer, random_state=0), TextFeatures()).fit(texts[train], shown[train])
        best = [names[0] for names in model.top(texts[new], 1)[0].tolist()]
        right[answer] = sum(name in names for name, names in zip(best, shown[new], strict=True))
    assert right["all"] >= 0.97 * right["seen"]


def test_nodes_without_documents_are_raised_as_far_as_the_others_allow():
    rng = np.random.default_rng(0)
    unseen = np.arange(60) >= 40
    gold = np.zeros((300, 60), bool)
    gold[np.arange(300), rng.integers(60, size=300)] = True
    S = np.where(gold, 0.5, -1.0) + 0.3 * rng.normal(size=gold.shape) - 3.0 * unseen
    more = raised(S, gold, unseen)

    def kept(S: np.ndarray) -> float:
        best = np.argsort(-S, axis=1)[:, :10]
        return float(np.take_along_axis(gold & ~unseen, best, 1).sum())

    assert 0 < more < 4
    assert kept(S + more * unseen) >= 0.98 * kept(S)
    assert micro_f1(S + more * unseen, gold & ~unseen) >= 0.99 * micro_f1(S, gold & ~unseen)
    found = np.take_along_axis(gold & unseen, np.argsort(-(S + more * unseen), axis=1)[:, :5], 1).sum()
    assert found > 0.5 * (gold & unseen).sum()
    assert raised(S, gold, np.zeros(60, bool)) == 0


def _related(n: int = 300, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Documents have words that go with the name of their node; the name itself stands in few, which have no label."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        i, j = rng.integers(_TOPICS), rng.integers(_NODES)
        named = rng.random() < 0.3
        words = [f"about{i}{j}x{k}" for k in rng.integers(6, size=4)] + [f"own{i}{j}"] * named
        texts.append(" ".join([*words, *(f"topic{i}{k}" for k in rng.integers(6, size=2))]))
        labels.append([] if named or j == _NODES - 1 else [f"t{i}n{j}"])
    return texts, labels


@pytest.fixture(scope="module")
def embedded():
    texts, y = _related()
    features = EmbeddedText(TextFeatures(), weight=0.5, dimension=30)
    return Pipeline(RRSVM(TAX, answer="all", C=10.0, random_state=0), features).fit(texts, y)


def test_words_that_go_with_a_label_find_a_node_without_documents_through_an_embedding(embedded):
    texts, y = _related()
    words = Pipeline(RRSVM(TAX, answer="all", C=10.0, random_state=0), TextFeatures()).fit(texts, y)
    new = [f"about{i}4x0 about{i}4x3 about{i}4x5 topic{i}0" for i in range(_TOPICS)]

    def found(pipe: Pipeline) -> int:
        return sum(name in names for name, names in zip(UNSEEN, pipe.top(new, 2)[0].tolist(), strict=True))

    assert found(embedded) == _TOPICS
    assert found(words) < _TOPICS


def test_contributions_through_an_embedding_sum_exactly(embedded):
    document = "about04x0 about04x1 own04 topic00"
    scores = dict(zip(embedded.classes_, embedded.decision_function([document])[0], strict=True))
    for node in ("t0n4", "t0n0"):
        (step,) = embedded.explain(document, node)
        assert step.intercept + step.contributions.sum() == pytest.approx(scores[node], abs=1e-4)
        assert {"embedding", "parent" if node == "t0n4" else "word"} <= set(step.origins)
        assert {str(word).split(" ~ ")[0] for word in step.features} <= set(document.split())
        away = step.against
        assert away.intercept + away.contributions.sum() == pytest.approx(away.margin, abs=1e-4)
    (step,) = embedded.explain(document, "t0n4")
    model, X = embedded.model_, embedded.matrix([document])
    of_text = (X @ model.label_weights_).toarray()[0, list(embedded.classes_).index("t0n4")]
    assert step.text_contributions.sum() == pytest.approx(of_text, rel=1e-4)
    assert set(step.text_features) <= {*document.split(), "(mean document)"}
    assert step.evidence[0].startswith("words of the label text of t0n4: ")


def test_a_stored_model_with_an_embedding_answers_the_same(embedded, tmp_path):
    linnaeus.save(embedded, tmp_path / "model")
    new = ["about04x0 own04 topic00", "about10x1"]
    np.testing.assert_array_equal(
        linnaeus.load(tmp_path / "model").decision_function(new), embedded.decision_function(new)
    )


def test_an_embedding_has_a_gain_of_its_own():
    """Without documents held out, gains are those of two ridge problems, one for each block."""
    texts, y = _related(18)
    features = EmbeddedText(TextFeatures(), weight=0.5, dimension=5)
    X, T = features.fit_transform(texts), label_features(features, TAX)
    common = {}
    for n in (0, 5):
        made = RRSVM(TAX, answer="all", C=10.0, random_state=0).fit(X, y, label_features=T, n_embedding=n)
        common[n] = made._prior.gains
        assert common[n].residual < 1e-9
        assert len(common[n].gains) == X.shape[1]
    assert not np.allclose(common[0].gains[-5:], common[5].gains[-5:], rtol=0.05)


@pytest.mark.parametrize("n_embedding", [-1, 10**6, "all"])
def test_an_embedding_has_fewer_columns_than_the_documents(n_embedding):
    texts, y = _documents()
    features = TextFeatures().fit(texts)
    with pytest.raises(ParameterError, match="n_embedding"):
        RRSVM(TAX, answer="all").fit(
            features.transform(texts), y, label_features=label_features(features, TAX), n_embedding=n_embedding
        )


def test_inner_nodes_above_documents_are_put_behind_nodes_without_any(embedded):
    """t0 to t3 have no texts here; with texts and many documents below them they are no labels."""
    named = TAX.with_display_labels({**_LABELS, **{f"t{i}": f"own{i}4 thing" for i in range(_TOPICS)}})
    texts, y = _documents()
    pipe = Pipeline(RRSVM(named, answer="all", C=10.0, random_state=0), TextFeatures()).fit(texts, y)
    scores = dict(zip(pipe.classes_, pipe.decision_function(NEW).T, strict=True))
    for i in range(_TOPICS):
        assert scores[f"t{i}n4"][i] > scores[f"t{i}"][i]
