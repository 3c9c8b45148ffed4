"""The structured passive-aggressive model against hand traces, a dense reference, and its own promises."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from linnaeus import GlobalTreeModel, Taxonomy
from linnaeus.models.structured.global_tree import TreeOfNodes
from tests.contracts.configurations import documents, taxonomy
from tests.decoding.oracles import closed_sets, parents_of

TREE = Taxonomy.from_edges(
    [("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")]
)  # R(A(AA, AB), B(BA, BB))
PLAIN = {"average": "none", "fit_intercept": False, "shards": 1, "branching_scale": 1.0, "random_state": 0}


def weights(model: GlobalTreeModel, name: str) -> list[float]:
    return np.asarray(model.weights_)[:, list(model.classes_).index(name)].tolist()


def test_three_visits_of_one_document_by_hand() -> None:
    x, classes = np.array([[1.0, 2.0]]), [["AA"], ["AB"], ["BA"], ["BB"]]
    model = GlobalTreeModel(TREE, **PLAIN)
    for _ in range(3):
        model.partial_fit(x, [["AA", "BB"]], classes=classes)
        classes = None
    assert model.n_updates_ == [1, 1, 0]  # {AA} first; then {AA, AB, BB}; then the right set
    assert weights(model, "B") == pytest.approx([0.041239, 0.082479], abs=1e-6)
    assert weights(model, "BB") == pytest.approx([0.041239, 0.082479], abs=1e-6)
    assert weights(model, "AB") == pytest.approx([-0.054273, -0.108545], abs=1e-6)
    assert weights(model, "A") == weights(model, "AA") == weights(model, "BA") == [0, 0]
    shared = [0.054273, -0.013033, 0, 0]
    own = {"A": [0.054273, -0.054273, 0, 0], "B": [0.041239, 0, 0, 0]}
    assert model.branching_shared_[1:] == pytest.approx(shared, abs=1e-6)
    for name, expected in own.items():
        row = model.branching_[list(model.classes_).index(name), 1:] - model.branching_shared_[1:]
        assert row == pytest.approx(expected, abs=1e-6)
    assert (model.branching_[-1] - model.branching_shared_)[1:] == pytest.approx([-0.041239, 0.041239, 0, 0], abs=1e-6)


def sets_of(tax: Taxonomy, ends: list[int]) -> list[tuple[frozenset, frozenset]]:
    """All non-empty sets of labels, none above another: (labels, closed set)."""
    root, found = tax.root, []
    above = {v: frozenset(int(a) for a in tax.ancestors(v)) - {root} for v in ends}
    for size in range(1, len(ends) + 1):
        for labels in combinations(ends, size):
            if all(a == b or a not in above[b] for a in labels for b in labels):
                found.append((frozenset(labels), frozenset().union(*(above[v] for v in labels))))
    return found


def features(tax: Taxonomy, closed: frozenset, x: np.ndarray, R: int) -> np.ndarray:
    """Phi(x, U) of weights, weights of single nodes and shared ones, dense."""
    n, d = tax.n_nodes, len(x)
    own, node, shared = np.zeros((n, d)), np.zeros((n, R + 2)), np.zeros(R + 2)
    for v in closed:
        own[v] += x
    for v in [*closed, tax.root]:
        if not tax.is_leaf[v]:
            bucket = min(sum(int(c) in closed for c in tax.children(v)), R + 1)
            node[v, bucket] += 1
            shared[bucket] += 1
    return np.concatenate([own.ravel(), node.ravel(), shared])


def reference(
    tax: Taxonomy, X: np.ndarray, labels: list[frozenset], order: list[int], C: float, R: int, augmented: int = 10**9
) -> list:
    """Weights after every visit, by enumeration of all sets; from visit ``augmented`` on of score and loss together."""
    ends = sorted(set().union(*labels))
    known = sets_of(tax, ends)
    w, found = np.zeros(tax.n_nodes * X.shape[1] + (tax.n_nodes + 1) * (R + 2)), []
    for i in order:
        phi = {m: features(tax, U, X[i], R) for m, U in known}
        right = labels[i]
        losses = {m: 1 - 2 * len(m & right) / (len(m) + len(right)) for m in phi}
        added = {m: np.sqrt(loss) if len(found) >= augmented else 0.0 for m, loss in losses.items()}
        best = max(phi, key=lambda m: w @ phi[m] + added[m])
        rho = losses[best]
        if rho > 0:
            D = phi[right] - phi[best]
            w = w + min(C, (np.sqrt(rho) - w @ D) / (D @ D)) * D
        found.append(w)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_a_pass_is_that_of_dense_weights_and_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_docs, n_features, C, R = 12, 4, 0.2, 1
    X = rng.normal(size=(n_docs, n_features))
    names = ["AA", "AB", "BA", "BB", *(["A"] if seed % 2 else [])]  # with labels at an internal node, too
    ends = [TREE.index(name) for name in names]
    choices = sets_of(TREE, ends)
    labels = [frozenset([end]) for end in ends]
    labels += [choices[rng.integers(len(choices))][0] for _ in range(n_docs - len(labels))]
    rows = [[str(TREE.names[v]) for v in m] for m in labels]
    start = 1e-3 * rng.normal(size=(1, n_features))  # no ties: they are broken by order, not by what is learned
    X[0], labels[0] = start, frozenset([ends[0]])
    model = GlobalTreeModel(TREE, C=C, R=R, **PLAIN).partial_fit(X, rows, classes=[[name] for name in names])
    mean = GlobalTreeModel(TREE, C=C, R=R, **{**PLAIN, "average": "trajectory"})
    mean.partial_fit(X, rows, classes=[[name] for name in names])
    steps = reference(TREE, X, labels, list(range(n_docs)), C, R)
    for fitted, expected in ((model, steps[-1]), (mean, np.mean(steps, axis=0))):
        W = np.zeros((TREE.n_nodes, n_features))
        W[fitted.nodes_] = np.asarray(fitted.weights_).T
        np.testing.assert_allclose(W.ravel(), expected[: W.size], atol=1e-6)
        np.testing.assert_allclose(fitted.branching_shared_, expected[-(R + 2) :], atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_cost_augmented_steps_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    n_docs, first, C, R = 24, 10, 0.2, 1 + seed % 2
    X = rng.normal(size=(n_docs, 4))
    names = ["AA", "AB", "BA", "BB", *(["A"] if seed % 2 else [])]
    ends = [TREE.index(name) for name in names]
    choices = sets_of(TREE, ends)
    labels = [frozenset([end]) for end in ends]
    labels += [choices[rng.integers(len(choices))][0] for _ in range(n_docs - len(labels))]
    rows = [[str(TREE.names[v]) for v in m] for m in labels]
    model = GlobalTreeModel(TREE, C=C, R=R, **PLAIN).partial_fit(X[:first], rows[:first], classes=[[n] for n in names])
    model.set_params(update="max_loss").partial_fit(X[first:], rows[first:])
    expected = reference(TREE, X, labels, list(range(n_docs)), C, R, augmented=first)[-1]
    plain = reference(TREE, X, labels, list(range(n_docs)), C, R)[-1]
    W = np.zeros((TREE.n_nodes, 4))
    W[model.nodes_] = np.asarray(model.weights_).T
    np.testing.assert_allclose(W.ravel(), expected[: W.size], atol=1e-6)
    np.testing.assert_allclose(model.branching_shared_, expected[-(R + 2) :], atol=1e-9)
    assert not np.allclose(expected, plain)


def test_steps_against_the_worst_set_keep_a_margin_of_its_loss() -> None:
    X, y = np.eye(4), ["AA", "AB", "BA", "BB"]
    model = GlobalTreeModel(TREE, update="max_loss", branching=False, max_iter=60, **PLAIN).fit(X, y)
    assert model.predict(X).tolist() == y
    for best, second in (pairs for pairs in model.n_best(X, 2)):
        assert best[1] - second[1] > 0.8  # 1 in the limit; steps against the answer stop as soon as it is right
    loose = GlobalTreeModel(TREE, branching=False, max_iter=60, **PLAIN).fit(X, y)
    assert min(best[1] - second[1] for best, second in loose.n_best(X, 2)) < 0.8


def test_shards_are_averaged_passes_over_their_documents() -> None:
    X, rows = documents(TREE, 20)
    X = X.toarray().astype(np.float64)
    model = GlobalTreeModel(TREE, **{**PLAIN, "shards": 2}, max_iter=1).fit(X, rows)
    seed = int(np.random.RandomState(0).randint(2**31))
    parts = np.array_split(np.random.default_rng([seed, 0]).permutation(20), 2)
    found = []
    for s, part in enumerate(parts):
        order = np.random.default_rng([seed, 1, s]).permutation(part)
        alone = GlobalTreeModel(TREE, **PLAIN)
        alone.partial_fit(X[order], [rows[i] for i in order], classes=[[str(c)] for c in model.classes_])
        found.append(alone)
    assert all(set(m.label_nodes_) == set(model.label_nodes_) for m in found)
    np.testing.assert_allclose(model.weights_, (found[0].weights_ + found[1].weights_) / 2, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_do_not_change_the_model(n_jobs: int) -> None:
    tax = taxonomy()
    X, rows = documents(tax)
    one = GlobalTreeModel(tax, shards=4, random_state=1).fit(X, rows)
    many = GlobalTreeModel(tax, shards=4, random_state=1, engine="threads", n_jobs=n_jobs).fit(X, rows)
    np.testing.assert_array_equal(one.weights_, many.weights_)
    np.testing.assert_array_equal(one.branching_, many.branching_)


def test_a_time_limit_ends_training_after_whole_passes() -> None:
    X, y = np.eye(4), ["AA", "AB", "B", "AA"]
    tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    with pytest.warns(ConvergenceWarning, match="stopped after 1 of 5 passes because max_time=1e-06"):
        stopped = GlobalTreeModel(tax, max_iter=5, max_time=1e-6, random_state=0).fit(X, y)
    assert stopped.n_iter_ == len(stopped.n_updates_) == 1
    unlimited = GlobalTreeModel(tax, max_iter=5, max_time="1h", random_state=0).fit(X, y)
    assert unlimited.n_iter_ == 5
    np.testing.assert_array_equal(
        unlimited.decision_function(X), GlobalTreeModel(tax, max_iter=5, random_state=0).fit(X, y).decision_function(X)
    )


def test_answers_are_the_best_of_all_sets() -> None:
    X, rows = documents(TREE, 40)
    model = GlobalTreeModel(TREE, random_state=0, max_iter=3).fit(X, rows)
    S = np.zeros((40, TREE.n_nodes))
    S[:, model.nodes_] = model.decision_function(X)
    table = np.zeros((TREE.n_nodes, model.branching_.shape[1]))
    table[model.nodes_], table[TREE.root] = model.branching_[:-1], model.branching_[-1]
    R = table.shape[1] - 2

    def score(i: int, closed: frozenset) -> float:
        inner = [v for v in [*closed, TREE.root] if not TREE.is_leaf[v]]
        counts = [min(sum(int(c) in closed for c in TREE.children(v)), R + 1) for v in inner]
        return float(sum(S[i, v] for v in closed) + sum(table[v, k] for v, k in zip(inner, counts, strict=True)))

    answers = model.predict(X, closed=False)
    for i, names in enumerate(answers):
        best = max(sets_of(TREE, sorted(model.label_nodes_.tolist())), key=lambda pair: score(i, pair[1]))
        assert {str(TREE.names[v]) for v in best[0]} == set(names)


def test_without_branching_no_scores_of_branching_are_learned() -> None:
    X, rows = documents(TREE, 40)
    assert not GlobalTreeModel(TREE, branching=False, random_state=0).fit(X, rows).branching_.any()


def test_a_dag_has_scores_of_branching_only_if_asked_for() -> None:
    dag = taxonomy("dag")
    X, rows = documents(dag)
    assert not GlobalTreeModel(dag, random_state=0).fit(X, rows).branching_.any()
    model = GlobalTreeModel(dag, branching=True, branching_scale=0.3, max_iter=3, random_state=0).fit(X, rows)
    assert model.branching_.any()
    found = model.ranked_sets(X[:4])
    assert found.proved.all()
    table = model._decoder(None).table(dag)
    S = np.zeros((4, dag.n_nodes))
    S[:, model.nodes_] = model.decision_function(X[:4])
    every = closed_sets(dag)
    for d in range(4):  # against all closed sets that end at labels of training
        best = max(total_score(dag, U, S[d], table) for U in every)
        assert found.scores[d, 0] == pytest.approx(best, abs=1e-5)


def total_score(tax: Taxonomy, U: frozenset, s: np.ndarray, table: np.ndarray) -> float:
    value = float(sum(s[v] for v in U))
    for p in [*U, tax.n_nodes]:
        fan = [v for v in U if (p in parents_of(tax, v)) or (p == tax.n_nodes and not parents_of(tax, v))]
        value += table[p, min(len(fan), table.shape[1] - 1)]
    return value


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_rankings_of_one_label_count_branching(kind: str) -> None:
    tax = taxonomy(kind)
    X, rows = documents(tax)
    y = [sorted(row)[0] for row in rows]
    model = GlobalTreeModel(tax, branching=True, branching_scale=1.0, max_iter=2, shards=2, random_state=0).fit(X, y)
    S, table = np.zeros((20, tax.n_nodes)), model._decoder(None).table(tax)
    S[:, model.nodes_] = model.decision_function(X[:20])
    above = {v: frozenset(tax.ancestors(v).tolist()) - {tax.root} for v in model.label_nodes_.tolist()}
    scores = np.array([[total_score(tax, U, s, table) for U in above.values()] for s in S])
    bare = np.array([[s[list(U)].sum() for U in above.values()] for s in S])
    assert (scores.argmax(axis=1) != bare.argmax(axis=1)).any()  # branching decides somewhere
    names = np.array([str(tax.names[v]) for v in above])
    for d, ranked in enumerate(model.n_best(X[:20], len(above), closed=False)):
        assert [score for _, score in ranked] == pytest.approx(sorted(scores[d], reverse=True), abs=1e-5)
        assert ranked[0][0] == [names[scores[d].argmax()]] == [model.predict(X[d : d + 1])[0]]
    only = str(tax.names[tax.tops[0]])
    inside = [only in tax.names[list(U)] for U in above.values()]
    answers = model.predict(X[:20], rules={"only_under": only})
    assert answers.tolist() == names[inside][scores[:, inside].argmax(axis=1)].tolist()


def test_the_tree_of_a_dag_takes_first_parents_and_keeps_all() -> None:
    dag = Taxonomy.from_edges([("R", "B"), ("R", "A"), ("A", "C"), ("B", "C")])
    nodes = np.array([dag.index(name) for name in "ABC"])
    tree = TreeOfNodes.of(dag, nodes)
    assert tree.order.tolist() == [0, 1, 2]
    assert np.diff(tree.child_indptr).tolist() == [1, 0, 0, 2]  # C is below A only
    assert tree.parents.tolist() == [3, 3, 0, 1]
