"""TopDownSVM: every inner node decides among its children, and the answer is where the walk ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from linnaeus import OneVsRestSVM, Taxonomy, TopDownSVM
from linnaeus.errors import ParameterError, TaxonomyError
from tests.contracts.configurations import documents, taxonomy
from tests.strategies import taxonomies


def binary(X, y, C: float = 1.0) -> np.ndarray:
    """Weights of one binary SVM with a constant feature (last), by LIBLINEAR."""
    X = np.column_stack([X, np.ones(len(X))])
    return LinearSVC(C=C, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, y).coef_[0]


def under(tax: Taxonomy, labels: list[list[str]], node: int) -> np.ndarray:
    """Documents that carry a node or something below it."""
    below = set(tax.names[tax.descendants(node)])
    return np.array([bool(below.intersection(row)) for row in labels])


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_every_node_is_trained_on_the_documents_under_its_parents(kind) -> None:
    tax = taxonomy(kind)
    X, labels = documents(tax)
    X = X.toarray().astype(float)
    labels = tax.labels(tax.frontier(tax.indicator(labels)))
    model = TopDownSVM(tax, tol=1e-8, random_state=0).fit(X, labels)
    for column, node in enumerate(model.nodes_):
        parents = [p for p in tax.parents(int(node)) if p != tax.root]
        rows = np.any([under(tax, labels, p) for p in parents], axis=0) if parents else np.ones(len(X), bool)
        y = under(tax, labels, node)[rows]
        if y.all():
            assert (model.weights_[:, column] == 0).all()
            assert model.intercept_[column] == 1
            continue
        w = binary(X[rows], y)
        np.testing.assert_allclose(model.weights_[:, column], w[:-1], atol=5e-3)
        assert model.intercept_[column] == pytest.approx(w[-1], abs=5e-3)


def test_stopping_is_a_child_like_the_others() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    X = X.toarray().astype(float)
    labels = tax.labels(tax.frontier(tax.indicator(labels)))
    model = TopDownSVM(tax, tol=1e-8, random_state=0).fit(X, labels)
    assert set(tax.names[model.stop_nodes_]) == {v for row in labels for v in row if not tax.is_leaf[tax.index(v)]}
    for column, node in enumerate(model.stop_nodes_):
        rows = under(tax, labels, node)
        here = np.array([tax.names[node] in row for row in labels])[rows]
        w = binary(X[rows], here)
        np.testing.assert_allclose(model.stop_weights_[:, column], w[:-1], atol=5e-3)


def walk(tax: Taxonomy, score: dict[str, float], stop: dict[str, float], many: bool) -> set[str]:
    """The recursive definition on a tree."""

    def below(nodes: list[str], here: str | None) -> set[str]:
        choices = {v: score[v] for v in nodes if v in score} | ({"/self": stop[here]} if here in stop else {})
        if not choices:
            return {here}
        kept = [v for v in choices if many and choices[v] > 0] or [max(choices, key=choices.get)]
        return set().union(*({here} if v == "/self" else below(tax.names[tax.children(v)].tolist(), v) for v in kept))

    return below(tax.names[tax.tops].tolist(), None)


@pytest.mark.parametrize("many", [False, True])
def test_answers_are_where_the_walk_ends(many) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    labels = tax.labels(tax.frontier(tax.indicator(labels)))
    labels = labels if many else [row[:1] for row in labels]
    model = TopDownSVM(tax, C=0.3, random_state=0).fit(X, labels)
    S, stops = model.decision_function(X), X @ model.stop_weights_ + model.stop_intercept_
    for i, answer in enumerate(model.predict(X)):
        score = dict(zip(model.classes_, S[i], strict=True))
        stop = dict(zip(tax.names[model.stop_nodes_], stops[i], strict=True))
        expected = walk(tax, score, stop, many)
        assert set(answer) == set(tax.labels(tax.frontier(tax.indicator([sorted(expected)])))[0])


@settings(max_examples=30)
@given(st.data())
def test_separable_documents_come_back_with_their_labels_on_any_taxonomy(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    nodes = [str(name) for v, name in enumerate(tax.names) if v != tax.root]
    labels = data.draw(st.lists(st.sampled_from(nodes or ["n0"]), min_size=1, max_size=5))
    X = np.eye(len(tax.names))[[tax.index(v) for v in labels]]
    model = TopDownSVM(tax, C=1e4, tol=1e-6, random_state=0).fit(X, [[v] for v in labels])
    assert model.predict(X) == [[v] for v in labels]


def test_a_label_at_the_root_is_answered_at_the_root() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    X = np.eye(4)
    labels = [["R"], ["A"], ["B"], ["AA"]]
    assert TopDownSVM(tax, C=100.0, random_state=0).fit(X, labels).predict(X) == labels


def test_a_taken_name_for_a_place_to_stop_is_refused() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "A/self")])
    with pytest.raises(TaxonomyError, match="'A/self'.*already exists"):
        TopDownSVM(tax).fit(np.eye(3), ["A", "B", "A/self"])


def test_an_only_child_needs_no_classifier() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("AA", "AAA")])
    X = np.eye(3)[[0, 0, 1, 1]]
    model = TopDownSVM(tax, random_state=0).fit(X, ["AAA", "AAA", "B", "B"])
    columns = [list(model.classes_).index(v) for v in ("AA", "AAA")]
    assert (model.weights_[:, columns] == 0).all()
    assert (model.intercept_[columns] == 1).all()
    assert model.predict(X).tolist() == ["AAA", "AAA", "B", "B"]


def test_documents_without_labels_teach_that_answers_may_be_empty() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    X = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    labels = [["AA"], ["B"], []] * 2
    assert TopDownSVM(tax, C=100.0, random_state=0).fit(X, labels).predict(X) == labels


def test_on_a_flat_taxonomy_it_is_one_versus_rest() -> None:
    X, labels = documents(taxonomy())
    single = [row[0] for row in labels]
    flat = OneVsRestSVM(tol=1e-8, random_state=0).fit(X, single)
    model = TopDownSVM(tol=1e-8, random_state=0).fit(X, single)
    assert model.objective_ == pytest.approx(flat.objective_, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), flat.decision_function(X), atol=2e-3)
    assert (model.predict(X) == flat.predict(X)).all()


def test_the_explanation_follows_the_walk_and_adds_up() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = TopDownSVM(tax, random_state=0).fit(X, [row[0] for row in labels])
    answer = model.predict(X[[3]])[0]
    steps = model.explain(X[[3]])
    assert [step.node for step in steps] == tax.names[tax.path(answer)].tolist()
    for step in steps:
        column = list(model.classes_).index(step.node)
        assert step.score == pytest.approx(model.decision_function(X[[3]])[0, column], abs=1e-5)
    with pytest.raises(ParameterError, match="one document"):
        model.explain(X)


def test_weights_of_thin_families_stay_sparse() -> None:
    from scipy import sparse

    tax = Taxonomy.from_edges(
        [("R", f"n{i}") for i in range(20)] + [(f"n{i}", f"n{i}{c}") for i in range(20) for c in "ab"]
    )
    leaves = [f"n{i}{c}" for i in range(20) for c in "ab"]
    X = sparse.csr_array(np.eye(40, 400, dtype=np.float32))
    model = TopDownSVM(tax, C=100.0, random_state=0).fit(X, np.array(leaves))
    assert sparse.issparse(model.weights_)
    assert model.predict(X).tolist() == leaves
    assert model.prune(0.0).predict(X).tolist() == leaves


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_weight_of_two_is_a_document_twice(loss) -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=30)
    weights = np.array([0, 1, 2] * 10)
    rows = np.repeat(np.arange(30), weights)
    settings = {"taxonomy": tax, "loss": loss, "tol": 1e-6, "max_iter": 20000, "random_state": 0}
    weighted = TopDownSVM(**settings).fit(X, labels, sample_weight=weights)
    repeated = TopDownSVM(**settings).fit(X[rows], [labels[i] for i in rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=3e-6)


def test_wrong_parameters_are_named_and_stopping_early_warns() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    for parameters, message in (({"C": -1}, "C=-1"), ({"loss": "logistic"}, "loss='logistic'"), ({"tol": 0}, "tol=0")):
        with pytest.raises(ParameterError, match=message):
            TopDownSVM(tax, **parameters).fit(X, labels)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        TopDownSVM(tax, loss="hinge", tol=1e-8, max_iter=1).fit(X, labels)


@pytest.mark.data
def test_images_are_told_apart_at_least_as_well_as_published(data_dir) -> None:
    """Gopal and Yang (2015), Table III, CLEF: TD 70.11 micro, 32.32 macro; C by cross-validation on train."""
    from sklearn.metrics import f1_score

    from benchmarks import problems

    task = problems.load("imclef07a")
    train, test = (task.taxonomy.names[task.taxonomy.frontier(Y).indices].astype(str) for Y in (task.Y, task.Y_test))
    answers = TopDownSVM(task.taxonomy, C=0.01, random_state=0).fit(task.X, train).predict(task.X_test)
    assert 70 <= 100 * np.mean(answers == test) <= 77
    assert 32 <= 100 * f1_score(test, answers, average="macro", zero_division=0) <= 41


@pytest.mark.slow
@pytest.mark.data
def test_thousands_of_inner_nodes_are_one_fit(data_dir) -> None:
    """A third of WordNet's nouns: 17,157 nodes, labels at every depth, DAG."""
    from benchmarks import problems

    task = problems.load("wordnet_nouns")
    model = TopDownSVM(task.taxonomy, fit_intercept=False, tol=1e-2, random_state=0).fit(task.X[::3], task.Y[::3])
    assert model.duality_gap_ <= 1e-2 * model.objective_
    gold, answers = task.Y_test[::8], model.answers(task.X_test[::8])
    both = answers.multiply(gold).sum()
    assert 2 * both / (answers.sum() + gold.sum()) > 0.25


def random_problem(seed: int):
    """A random tree or DAG, documents, single labels or label sets (inner nodes, the root, empty sets), weights."""
    rng = np.random.default_rng(seed)
    names, dag = [f"n{i}" for i in range(rng.integers(4, 12))], rng.random() < 0.5
    edges = [("R", names[0]), ("R", names[1])]
    for i in range(2, len(names)):
        above = rng.choice(i, size=1 + int(dag and rng.random() < 0.4), replace=False)
        edges += [(names[p], names[i]) for p in above]
        if dag and rng.random() < 0.2:
            edges.append(("R", names[i]))
    n_docs, sets = int(rng.integers(12, 40)), rng.random() < 0.6
    X = rng.standard_normal((n_docs, 5)) * (rng.random((n_docs, 5)) < 0.7)
    pool = [*names, "R"] if rng.random() < 0.3 else names
    sizes = rng.integers(0, 4, n_docs)
    y = [rng.choice(pool, size=k, replace=False).tolist() for k in sizes] if sets else rng.choice(pool, n_docs).tolist()
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n_docs) if rng.random() < 0.5 else None
    return edges, sparse.csr_array(X) if rng.random() < 0.5 else X, y, weights


def binary_problems(edges, label_sets):
    """(documents, which of them are positive) of every binary problem, as the module docstring says."""
    parents: dict[str, set[str]] = {}
    for parent, child in edges:
        parents.setdefault(child, set()).add(parent)
    parents = {v: above - {"R"} or above for v, above in parents.items()}

    def above(v):
        return {v}.union(*(above(p) for p in parents.get(v, ())))

    closed = [{"R"}.union(*map(above, labels)) for labels in label_sets]
    ends = [{v for v in labels if not any(v in above(u) - {u} for u in labels)} for labels in label_sets]
    ends = [own - {"R"} or own for own in ends]
    used = set().union(*closed) - {"R"}
    for v in used:
        rows = [i for i, nodes in enumerate(closed) if nodes & parents[v]]
        yield rows, [v in closed[i] for i in rows]
    inner = {p for v in used for p in parents[v]}
    for v in (set().union(*ends) & inner) | (set().union(*ends) & {"R"}):
        rows = [i for i, nodes in enumerate(closed) if v in nodes]
        yield rows, [v in ends[i] for i in rows]


@pytest.mark.parametrize("seed", range(24))
def test_the_objective_is_the_sum_of_the_optima_over_the_documented_training_sets(seed) -> None:
    edges, X, y, weights = random_problem(seed)
    model = TopDownSVM(Taxonomy.from_edges(edges), tol=1e-7, max_iter=20000, random_state=0)
    model.fit(X, y, sample_weight=weights)
    used = np.ones(len(y), bool) if weights is None else weights > 0
    c = (np.ones(len(y)) if weights is None else weights)[used]
    A = np.hstack([X.toarray() if sparse.issparse(X) else X, np.ones((len(y), 1))])[used]
    label_sets = [{labels} if isinstance(labels, str) else set(labels) for labels in y]
    optimum = 0.0
    for rows, positive in binary_problems(edges, [s for s, kept in zip(label_sets, used, strict=True) if kept]):
        if all(positive) or not any(positive):
            continue
        signs, B, bound = np.where(positive, 1.0, -1.0), A[rows], c[rows]

        def primal(w, signs=signs, B=B, bound=bound):
            slack = np.maximum(0.0, 1 - signs * (B @ w))
            return 0.5 * w @ w + bound @ slack**2, w - 2 * B.T @ (bound * slack * signs)

        options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
        optimum += minimize(primal, np.zeros(B.shape[1]), jac=True, method="L-BFGS-B", options=options).fun
    assert optimum <= model.objective_ * (1 + 1e-9)
    np.testing.assert_allclose(model.objective_, optimum, rtol=1e-6)
