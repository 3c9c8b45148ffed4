"""Plain turns: the paper's algorithm step by step, and the same optimum as the accelerated solver's."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linnaeus import RRSVM, RRLogistic, Taxonomy
from linnaeus.engine import SerialEngine
from linnaeus.models.recursive import leaves as leaves_module
from linnaeus.models.recursive import rr
from linnaeus.models.recursive.leaves import ScreenedLeaves
from linnaeus.models.recursive.network import links_of, make_network
from linnaeus.models.recursive.solver import joint_forecast
from tests.contracts.configurations import documents, taxonomy

LOSSES = ("hinge", "squared_hinge", "logistic")
ROWS = np.array([[1, 0], [0.8, 0.6], [0, 1], [-1, 0]])
TREE = Taxonomy.from_edges([("0", "1"), ("0", "4"), ("1", "2"), ("1", "3")])
TREE_LABELS = ["2", "2", "3", "4"]
GRAPH = Taxonomy.from_edges([("0", "3"), ("1", "3"), ("2", "3"), ("0", "1")], kind="graph")
GRAPH_LABELS = ["0", "0", "1", "2"]


def fit(tax, X, y, loss="hinge", **given):
    given = {"tol": 1e-15, "max_iter": 3000, "random_state": 0, "fit_intercept": False, **given}
    model = RRLogistic(tax, **given) if loss == "logistic" else RRSVM(tax, loss=loss, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.fixture
def from_zero(monkeypatch) -> None:
    """All weights begin at zero and leaves are solved to the end, as in the worked examples."""
    monkeypatch.setattr(rr, "shared_start", lambda X, *_: np.zeros(X.n_features + 1))
    monkeypatch.setattr(leaves_module, "ScreenedLeaves", partial(ScreenedLeaves, epochs=1000))


def inner(model, node: int) -> np.ndarray:
    weights = model._joint.solver.inner
    return weights.of(int(np.flatnonzero(weights.network.node == node)[0]))[:2]


def standing(model, tax):
    """(links, weights of the leaves, weights of the inner vertices), features in the solver's order."""
    solver = model._joint.solver
    links = links_of(tax, model._joint.labels)
    every = np.arange(solver.leaves.n_features, dtype=np.int32)
    leaves = []
    for block in solver.blocks:
        W = np.array(solver.inner.centres(block.columns, every, solved=True), float)
        W[block.features] += block.U
        leaves += list(W[:, : block.n_columns].T)
    M = [solver.inner.of(u)[: len(every)].astype(float) for u in range(solver.inner.network.n_inner)]
    return links, leaves, M


def whole_objective(model, tax, X, labels, loss, C=1.0) -> float:
    """P, link by link, from the weights of the leaves and of the inner vertices as they stand."""
    links, leaf, M = standing(model, tax)
    total = 0.5 * sum(a * M[u] @ M[u] for u, a in enumerate(links.anchor))
    total += 0.25 * sum(r * np.sum((M[u] - M[v]) ** 2) for u, row in enumerate(links.inner) for v, r in row.items())
    total += 0.5 * sum(r * np.sum((leaf[n] - M[u]) ** 2) for n, row in enumerate(links.leaves) for u, r in row.items())
    total += 0.5 * sum(leaf[n] @ leaf[n] for n, row in enumerate(links.leaves) if not row)
    margins = (2.0 * tax.indicator(labels).toarray()[:, model.nodes_] - 1) * (X @ model.weights_)
    slack = np.maximum(0, 1 - margins)
    return total + C * {"hinge": slack, "squared_hinge": slack**2, "logistic": np.logaddexp(0, -margins)}[loss].sum()


# -- worked examples ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("from_zero")
class TestAlgorithmOne:
    """Leaves, then node 1, then the root: on the five-node tree these are the turns of "colours"."""

    def test_first_sweep(self) -> None:
        model = fit(TREE, ROWS, TREE_LABELS, schedule="colours", max_iter=1)
        W = dict(zip(model.classes_.tolist(), model.weights_.T, strict=True))
        np.testing.assert_allclose(W["2"], [1, -0.4], atol=1e-12)
        np.testing.assert_allclose(W["3"], [-0.8, 0.4], atol=1e-12)
        np.testing.assert_allclose(W["4"], [-1, -1], atol=1e-12)
        np.testing.assert_allclose(inner(model, TREE.index("1")), [1 / 15, 0], atol=1e-12)
        np.testing.assert_allclose(inner(model, TREE.index("0")), [-14 / 45, -1 / 3], atol=1e-12)
        signs = 2.0 * TREE.indicator(TREE_LABELS).toarray()[:, model.nodes_] - 1
        losses = np.maximum(0, 1 - signs * (ROWS @ model.weights_)).sum()
        assert 0.5 * np.sum(model.weights_**2) + losses == pytest.approx(6.22)  # before the inner nodes moved

    @pytest.mark.parametrize(
        ("sweeps", "primal", "dual"),
        [(1, 5.9014814815, 5.38), (2, 5.8676177412, 5.7283950617), (5, 5.8119458995, 5.7915282528)],
    )
    def test_bounds_after_some_sweeps(self, sweeps, primal, dual) -> None:
        model = fit(TREE, ROWS, TREE_LABELS, schedule="colours", max_iter=sweeps)
        assert model.objective_ == pytest.approx(primal, abs=1e-9)
        assert model.objective_ - model.duality_gap_ == pytest.approx(dual, abs=1e-9)

    @pytest.mark.parametrize(("sweeps", "gap"), [(10, 1.624e-3), (20, 1.066e-5)])
    def test_gap_after_more_sweeps(self, sweeps, gap) -> None:
        assert fit(TREE, ROWS, TREE_LABELS, schedule="colours", max_iter=sweeps).duality_gap_ == pytest.approx(
            gap, 1e-3
        )

    def test_gap_vanishes_after_forty_four_sweeps(self) -> None:
        assert fit(TREE, ROWS, TREE_LABELS, schedule="colours", max_iter=44).duality_gap_ < 1e-10

    @pytest.mark.parametrize(
        ("sweeps", "primal", "dual"),
        [(1, 6.725, 6.26), (5, 6.5965203714, 6.5728235054), (20, 6.5840022348, 6.5839980135)],
    )
    def test_on_the_graph(self, sweeps, primal, dual) -> None:
        model = fit(GRAPH, ROWS, GRAPH_LABELS, schedule="colours", max_iter=sweeps)
        assert model.objective_ == pytest.approx(primal, abs=1e-9)
        assert model.objective_ - model.duality_gap_ == pytest.approx(dual, abs=1e-9)

    def test_all_at_once_takes_the_old_leaves(self) -> None:
        """After one round the inner nodes are still at zero, for so were the leaves that they looked at."""
        model = fit(TREE, ROWS, TREE_LABELS, schedule="all", max_iter=1)
        assert model.objective_ == pytest.approx(6.22)
        assert not model._joint.solver.inner.M.any()

    def test_all_at_once_reaches_the_optimum(self) -> None:
        model = fit(TREE, ROWS, TREE_LABELS, schedule="all", max_iter=100)
        assert model.objective_ == pytest.approx(5.798, abs=1e-10)
        np.testing.assert_allclose(inner(model, TREE.index("1")), [-0.08, -0.5], atol=1e-5)

    def test_odd_levels_follow_even_ones(self) -> None:
        """Leaves 2 and 3 with the root, then leaf 4 with node 1: the root is a round behind Algorithm 1."""
        model = fit(TREE, ROWS, TREE_LABELS, schedule="levels", max_iter=1)
        np.testing.assert_allclose(inner(model, TREE.index("0")), [0, 0], atol=1e-12)
        np.testing.assert_allclose(inner(model, TREE.index("1")), [1 / 15, 0], atol=1e-12)

    @pytest.mark.parametrize("schedule", ["levels", "colours"])
    def test_the_objective_never_rises(self, schedule) -> None:
        found = [fit(TREE, ROWS, TREE_LABELS, schedule=schedule, max_iter=k).objective_ for k in range(1, 8)]
        assert (np.diff(found) < 0).all()


# -- the same optimum, certified ---------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn):
    """A small tree, DAG or graph, documents over it, and a schedule that suits it."""
    kind = draw(st.sampled_from(["tree", "dag", "graph"]))
    n = draw(st.integers(3, 9))
    edges = []
    for v in range(1, n):
        most = 1 if kind == "tree" else min(v, 3)
        for p in draw(st.sets(st.integers(0, v - 1), min_size=0 if kind == "graph" else 1, max_size=most)):
            edges.append((f"n{p}", f"n{v}"))
    tax = Taxonomy.from_edges(edges, nodes=[f"n{v}" for v in range(n)], kind="graph" if kind == "graph" else None)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(10, 4))
    names = [str(name) for v, name in enumerate(tax.names) if v != tax.root]
    labels = [rng.choice(names, size=rng.integers(1, 3), replace=False).tolist() for _ in X]
    labels[0], labels[1] = [names[0]], [names[-1]]
    choices = ["levels", "colours", "all"] if tax.kind == "tree" else ["colours", "all"]
    return tax, X, labels, draw(st.sampled_from(choices)), draw(st.sampled_from(LOSSES))


@settings(max_examples=20)
@given(problems(), st.booleans())
def test_every_schedule_reaches_the_optimum_of_the_accelerated_solver(problem, as_sparse) -> None:
    tax, X, labels, schedule, loss = problem
    tol = 1e-5 if as_sparse else 1e-7
    X = sparse.csr_array(X.astype(np.float32)) if as_sparse else X
    exact = fit(tax, X, labels, loss, tol=tol)
    plain = fit(tax, X, labels, loss, tol=tol, schedule=schedule, max_iter=20000)
    assert plain.duality_gap_ <= tol * plain.objective_
    assert plain.objective_ == pytest.approx(exact.objective_, rel=2 * tol)
    scores = [model.decision_function(X)[:, np.argsort(model.classes_)] for model in (plain, exact)]
    np.testing.assert_allclose(*scores, atol=20 * np.sqrt(tol * exact.objective_))


@settings(max_examples=40)
@given(problems(), st.integers(1, 5))
def test_certificates_hold_wherever_training_stops(problem, sweeps) -> None:
    tax, X, labels, schedule, loss = problem
    model = fit(tax, X, labels, loss, schedule=schedule, max_iter=sweeps)
    assert model.objective_ == pytest.approx(whole_objective(model, tax, X, labels, loss), rel=1e-9)
    best = fit(tax, X, labels, loss, tol=1e-8)
    assert model.objective_ - model.duality_gap_ <= best.objective_ * (1 + 1e-9)
    assert best.objective_ - best.duality_gap_ <= model.objective_


@settings(max_examples=40)
@given(problems(), st.integers(1, 5))
def test_inner_vertices_move_to_the_mean_of_their_neighbours_as_they_stand(problem, sweeps) -> None:
    tax, X, labels, schedule, loss = problem
    model = fit(tax, X, labels, loss, schedule=schedule, max_iter=sweeps)
    links, leaf, M = standing(model, tax)
    solver = model._joint.solver
    for turn, movers in enumerate(solver.inner.movers):
        means = solver.inner.means(turn, solver.blocks, SerialEngine())
        for place, u in enumerate(movers[: len(links.inner)]):
            beside = [(row[u], leaf[n]) for n, row in enumerate(links.leaves) if u in row]
            near = [(r, M[v]) for v, r in links.inner[u].items()] + beside
            total = sum(r for r, _ in near) + links.anchor[u]
            expected = sum((r * w for r, w in near), np.zeros_like(M[u])) / total
            np.testing.assert_allclose(means[:, place].ravel()[: X.shape[1]], expected[: X.shape[1]], atol=1e-12)


@pytest.mark.parametrize("schedule", ["levels", "colours", "all"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_number_of_threads_does_not_matter(schedule, loss) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    one, two = (fit(tax, X, labels, loss, schedule=schedule, max_iter=12, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert (one.objective_, one.duality_gap_) == (two.objective_, two.duality_gap_)


@pytest.mark.parametrize("schedule", ["levels", "colours", "all"])
def test_dense_documents_under_a_smooth_loss(schedule) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    dense = X.toarray().astype(float)
    exact = fit(tax, dense, labels, "logistic", tol=1e-6, fit_intercept=True)
    plain = fit(tax, dense, labels, "logistic", tol=1e-6, fit_intercept=True, schedule=schedule)
    assert plain.objective_ == pytest.approx(exact.objective_, rel=2e-6)


def test_leaves_of_odd_and_even_levels_never_share_a_block() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = fit(tax, X, labels, schedule="levels", max_iter=2)
    solver = model._joint.solver
    turns = [set(solver.inner.schedule.leaf_turn[block.columns].tolist()) for block in solver.blocks]
    assert all(len(turn) == 1 for turn in turns)
    assert set.union(*turns) == {0, 1}
    assert np.concatenate([block.columns for block in solver.blocks]).tolist() == list(range(len(model.nodes_)))


@pytest.mark.parametrize("schedule", ["levels", "colours", "all"])
def test_a_warm_start_goes_on_and_another_schedule_starts_anew(schedule) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = fit(tax, X, labels, tol=1e-5, schedule=schedule, warm_start=True)
    first, objective = model.n_iter_, model.objective_
    model.fit(X, labels)
    assert model.n_iter_ < first
    assert model.objective_ == pytest.approx(objective, rel=2e-5)
    model.set_params(schedule="exact").fit(X, labels)
    assert model.objective_ == pytest.approx(objective, rel=2e-5)


@pytest.mark.parametrize("schedule", ["levels", "colours", "all"])
def test_an_update_goes_on_with_the_blocks_of_the_fit(schedule) -> None:
    tax = taxonomy()
    X, labels = documents(tax, n_docs=60)
    model = fit(tax, X[:50], labels[:50], tol=1e-5, schedule=schedule)
    before = [block.columns.tolist() for block in model._joint.solver.blocks]
    model.update(X[50:], labels[50:])
    assert [block.columns.tolist() for block in model._joint.solver.blocks] == before
    assert model.objective_ == pytest.approx(fit(tax, X, labels, tol=1e-5).objective_, rel=2e-5)


def test_the_memory_of_waiting_vertices_is_forecast() -> None:
    tax = taxonomy()
    X, _ = documents(tax)
    network = make_network(links_of(tax, np.arange(tax.n_nodes)), np.float32)
    plain, turns = (joint_forecast(X, "hinge", network, 1, in_turns=in_turns) for in_turns in (False, True))
    assert sum(turns.once.values()) - sum(plain.once.values()) >= network.n_inner * X.shape[1] * 4
