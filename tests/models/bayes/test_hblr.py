"""HBLR as a model: against RRLogistic, its likelihoods, posteriors and precisions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linnaeus import HBLR, RRLogistic, Taxonomy, calibrate
from linnaeus.errors import CheckpointError, LinnaeusError
from linnaeus.models import checkpoint
from linnaeus.models.bayes import stages
from linnaeus.models.bayes.precisions import Owners, gamma_priors, widths_at_probabilities, widths_at_shares
from tests.models.bayes.worked import TREE


def images(seed: int = 0, n_docs: int = 120) -> tuple[np.ndarray, list[str], Taxonomy]:
    """Five labels in two families; the label "odd" is far from its sister."""
    tax = Taxonomy.from_edges(
        [("R", "A"), ("R", "B"), ("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2"), ("B", "odd")]
    )
    rng = np.random.default_rng(seed)
    names = ["a1", "a2", "b1", "b2", "odd"]
    family = rng.normal(size=(2, 6))
    centre = np.vstack([family[[0, 0, 1, 1]] + 0.4 * rng.normal(size=(4, 6)), 3 * rng.normal(size=6)])
    labels = rng.integers(5, size=n_docs)
    return centre[labels] + rng.normal(size=(n_docs, 6)), [names[k] for k in labels], tax


@pytest.mark.parametrize("root", [1.0])
def test_equal_fixed_precisions_make_it_rr_logistic(root) -> None:
    """Precision 1/C for all links and losses of weight 1: C times the objective of RRLogistic at the root's pull C."""
    X, y, tax = images()
    C = 0.5
    bayes = HBLR(tax, likelihood="binary", prior=(1.0, C), learn_precisions=False, tol=1e-9).fit(X, y)
    joint = RRLogistic(tax, C=C, root=root * C, tol=1e-12, random_state=0, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(bayes.decision_function(X), joint.decision_function(X), atol=1e-5)
    assert bayes.objective_ == pytest.approx(joint.objective_ / C, rel=1e-6)
    for node in ("A", "B", "odd"):
        ours, theirs = bayes.node_weights(node), joint.node_weights(node)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)


def test_flat_is_a_star() -> None:
    X, y, tax = images()
    star = Taxonomy.from_edges([("R", name) for name in sorted(set(y))])
    first = HBLR(tax, flat=True).fit(X, y).decision_function(X)
    np.testing.assert_allclose(first, HBLR(star).fit(X, y).decision_function(X), atol=1e-6)


@pytest.mark.parametrize("model", ["M1", "M2", "M3"])
@pytest.mark.parametrize("inference", ["map", "variational"])
def test_all_six_learn(model, inference) -> None:
    X, y, tax = images()
    found = HBLR(tax, model=model, inference=inference, tol=1e-2, max_iter=300).fit(X[:80], y[:80])
    assert found.likelihood_ == "softmax"
    assert np.mean(found.predict(X[80:]) == np.array(y[80:])) > 0.5
    if inference == "variational":
        assert (np.diff(found.lower_bounds_) >= -1e-9 * np.abs(found.lower_bounds_[1:])).all()


def test_the_fixed_point_does_not_depend_on_the_acceleration() -> None:
    """At the end, precisions reproduce themselves by the plain update."""
    from linnaeus.models.bayes.precisions import Precisions
    from linnaeus.models.bayes.stages import link_spread

    X, y, tax = images()
    model = HBLR(tax, prior=(1.0, 0.2), tol=1e-6, max_iter=500, fit_intercept=False).fit(X, y)
    tree, rho = model.tree_, model.link_precisions_
    W = np.vstack([model.node_weights(int(v))[0] for v in tree.node])
    W[tree.leaves] = model.weights_.T
    variance = 1 / (rho + tree.children_sum(rho)) * np.ones((1, 6))
    variance[tree.leaves] = model.std_.T**2
    owners = Owners("M3", tree, 6)
    start = Precisions.start(owners, np.ones((len(rho) - 1, 1)), np.full((len(rho) - 1, 1), 0.2))
    again = start.updated(link_spread(tree, W, variance)[0])
    np.testing.assert_allclose(again.mean, rho[1:], rtol=1e-4)


def test_the_node_that_differs_has_the_lowest_precision() -> None:
    X, y, tax = images(n_docs=600)
    rows = {row.node: row for row in HBLR(tax).fit(X, y).precisions()}
    assert rows["odd"].parent == "B"
    assert min(rows, key=lambda node: rows[node].precision) == "odd"


def test_variances_are_those_of_laplace() -> None:
    X, y, tax = images()
    how = {"prior": (1.0, 1.0), "learn_precisions": False, "fit_intercept": False}
    model = HBLR(tax, covariance="diagonal", **how).fit(X, y)
    P = model.predict_proba(X)
    bend = P * (1 - P)
    np.testing.assert_allclose(model.std_, 1 / np.sqrt((X**2).T @ bend + 1), rtol=1e-4)
    np.testing.assert_allclose(model.score_variances(X), X**2 @ model.std_**2, rtol=1e-8)
    full = HBLR(tax, **how).fit(X, y)
    psi = [np.linalg.inv((X * bend[:, [k]]).T @ X + np.eye(6)) for k in range(5)]
    np.testing.assert_allclose(full.covariance_, psi, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(full.std_, np.sqrt([np.diag(each) for each in psi]).T, rtol=1e-3)
    assert (full.std_ >= model.std_ * 0.999).all()


def test_correlated_features_are_not_taken_for_well_known_ones() -> None:
    """Every feature four times: the diagonal counts the documents' say four times over and holds labels tighter."""
    X, y, tax = images()
    X = np.repeat(X, 4, axis=1) + 0.01 * np.random.default_rng(0).normal(size=(len(X), 24))
    tight, loose = (HBLR(tax, covariance=how).fit(X, y).link_precisions_[1:] for how in ("diagonal", "full"))
    assert (tight > loose).all()


def test_full_covariances_and_blocks_of_leaves_exclude_each_other() -> None:
    X, y, tax = images()
    with pytest.raises(LinnaeusError, match="covariance='full' needs schedule='together'"):
        HBLR(tax, likelihood="binary", schedule="leaves", covariance="full").fit(X, y)


@pytest.mark.parametrize("settings", [{}, {"likelihood": "binary"}, {"inference": "variational", "max_iter": 30}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_correction_for_variance_makes_probabilities_less_sure(settings) -> None:
    X, y, tax = images(n_docs=30)
    model = HBLR(tax, **settings).fit(X, y)
    plain, corrected = model.predict_proba(X), model.predict_proba(X, corrected=True)
    np.testing.assert_allclose(plain.sum(axis=1), 1)
    np.testing.assert_allclose(corrected.sum(axis=1), 1)
    assert corrected.max(axis=1).mean() < plain.max(axis=1).mean() - 0.005
    thin = model.score_variances(sparse.csr_array(X.astype(np.float32)))
    np.testing.assert_allclose(thin, model.score_variances(X), rtol=1e-4)


def test_label_sets_take_the_binary_likelihood_and_soft_max_refuses_them() -> None:
    X, y, tax = images()
    sets = [[label, "a1"] if label != "a1" else [label] for label in y]
    assert HBLR(tax).fit(X, sets).likelihood_ == "binary"
    with pytest.raises(LinnaeusError, match="exactly one label.*likelihood='binary'"):
        HBLR(tax, likelihood="softmax").fit(X, sets)


def test_priors_from_a_logistic_model_are_wider_than_from_frequencies() -> None:
    """It knows most documents, so that p(1-p) is small: less information, more variance."""
    X, y, tax = images()
    settings = {"learn_precisions": False, "likelihood": "binary"}
    first, second = (HBLR(tax, prior=prior, **settings).fit(X, y) for prior in ("frequencies", "logistic"))
    assert (second.link_precisions_[1:] < first.link_precisions_[1:]).all()


def test_prior_parameters_are_sums_over_children() -> None:
    X = np.array([[1.0, 2], [0, 1], [2, 0], [1, 1]])
    Y = sparse.csr_array(np.eye(3)[[0, 0, 1, 2]])
    widths = widths_at_shares(X, Y, np.ones(4), per_feature=True)
    np.testing.assert_allclose(1 / widths[0], 0.25 * np.array([6.0, 6]))
    np.testing.assert_allclose(1 / widths[1], 3 / 16 * np.array([6.0, 6]))
    even = np.tile([0.5, 0.25, 0.25], (4, 1))
    np.testing.assert_allclose(widths, widths_at_probabilities(X, even, np.ones(4), per_feature=True))
    a, b = gamma_priors(widths, Owners("M2", TREE, 2), scale=2.0)
    np.testing.assert_allclose(a[:, 0], [3, 2])  # the root has three leaves, node 1 two
    np.testing.assert_allclose(b[1], 2 * (widths[0] + widths[1]))
    a, b = gamma_priors(widths_at_shares(X, Y, np.ones(4), per_feature=False), Owners("M3", TREE, 2))
    np.testing.assert_allclose(b.ravel(), [1 / 1.5 + 1 / 1.125, 1 / 1.5, 1 / 1.125, 1 / 1.125])


def test_stopping_early_is_said() -> None:
    X, y, tax = images()
    with pytest.warns(ConvergenceWarning, match="still moving"):
        HBLR(tax, max_iter=2).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "M4"}, "model='M4'"),
        ({"prior": "fisher"}, "prior='fisher'"),
        ({"prior": (1.0,)}, "two numbers"),
        ({"prior": (1.0, -1.0)}, "b of prior=-1.0"),
        ({"prior_scale": 0}, "prior_scale=0"),
    ],
)
def test_wrong_parameters_are_named(settings, message) -> None:
    X, y, tax = images()
    with pytest.raises(LinnaeusError, match=message):
        HBLR(tax, **settings).fit(X, y)


def test_precisions_are_drawn(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    X, y, tax = images()
    HBLR(tax).fit(X, y).plot_precisions(tmp_path / "precisions.png")
    assert (tmp_path / "precisions.png").stat().st_size > 1000


@pytest.mark.parametrize("covariance", ["diagonal", "tree"])
@pytest.mark.parametrize("thin", [False, True])
def test_leaves_in_turn_end_where_all_together_do(thin, covariance) -> None:
    X, y, tax = images()
    sets = [[label, "a1"] if label == "b1" else [label] for label in y]
    X = sparse.csr_array(X) if thin else X
    settings = {"likelihood": "binary", "tol": 1e-5, "max_iter": 400, "prior": (1.0, 0.1), "covariance": covariance}
    together, in_turn = (HBLR(tax, schedule=how, **settings).fit(X, sets) for how in ("together", "leaves"))
    np.testing.assert_allclose(in_turn.link_precisions_, together.link_precisions_, rtol=1e-2)
    np.testing.assert_allclose(in_turn.decision_function(X), together.decision_function(X), atol=1e-2)
    np.testing.assert_allclose(in_turn.std_, together.std_, rtol=1e-2)
    assert in_turn.objective_ == pytest.approx(together.objective_, rel=1e-3)


def test_threads_change_nothing_and_deviations_need_not_be_kept() -> None:
    X, y, tax = images()
    how = {"likelihood": "binary", "schedule": "leaves", "tol": 1e-2}
    one, two = HBLR(tax, **how).fit(X, y), HBLR(tax, n_jobs=2, posterior=False, **how).fit(X, y)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert two.std_ is None
    with pytest.raises(LinnaeusError, match="posterior=False"):
        two.predict_proba(X, corrected=True)


def test_rare_labels_of_sparse_documents_converge_alike_on_any_number_of_threads() -> None:
    """Sixty labels of two short documents each; some documents of different labels are equal."""
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("root", f"f{k}") for k in range(6)] + [(f"f{n // 10}", f"n{n}") for n in range(60)])
    y = [f"n{n}" for n in range(60) for _ in range(2)]
    X = sparse.lil_array((120, 400))
    for i in range(120):
        X[i, rng.choice(400, 5, replace=False)] = rng.uniform(0.2, 0.6, 5)
        X[i, i // 2] = 0.5
    X[3] = X[100]
    X = sparse.csr_array(X)
    how = {"likelihood": "binary", "schedule": "leaves"}
    one, two = HBLR(tax, **how).fit(X, y), HBLR(tax, n_jobs=2, **how).fit(X, y)
    assert one.change_[-1].max() <= 1e-3
    assert one.link_precisions_.min() > 1e-6  # no label, however few documents it has, loses its prior
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.std_, two.std_)
    np.testing.assert_array_equal(one.link_precisions_, two.link_precisions_)


@pytest.mark.parametrize("likelihood", ["softmax", "binary"])
def test_calibrated_probabilities_are_answered_and_corrected_ones_remain_its_own(likelihood) -> None:
    X, y, tax = images(n_docs=300)
    model = HBLR(tax, likelihood=likelihood, tol=1e-2).fit(X[:150], y[:150])
    plain, corrected = model.predict_proba(X), model.predict_proba(X, corrected=True)
    calibrate(model, X[150:], y[150:], cv=None)
    curves = model.calibrator_(model.decision_function(X), model.taxonomy_, model.nodes_)
    columns = np.searchsorted(model.calibrator_.nodes, model.nodes_)
    np.testing.assert_allclose(model.predict_proba(X), curves[:, columns])
    assert np.abs(model.predict_proba(X) - plain).max() > 0.01
    np.testing.assert_array_equal(model.predict_proba(X, corrected=True), corrected)


def test_a_dag_is_refused_and_its_tree_of_first_parents_offered() -> None:
    X, y, _ = images()
    links = [("R", "A"), ("R", "B"), ("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2"), ("B", "odd"), ("A", "odd")]
    with pytest.raises(LinnaeusError, match=r"'odd' has 2 parents .*parents='first' takes the tree of first parents"):
        HBLR(Taxonomy.from_edges(links)).fit(X, y)
    rows = {row.node: row.parent for row in HBLR(Taxonomy.from_edges(links), parents="first").fit(X, y).precisions()}
    assert rows["odd"] == "A"


def test_time_limits_are_kept() -> None:
    X, y, tax = images()
    with pytest.warns(ConvergenceWarning, match="stopped after 1 rounds"):
        model = HBLR(tax, max_time=1e-9, tol=1e-9).fit(X, y)
    assert len(model.objectives_) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["map", "variational"])
def test_documents_without_features_and_weights_below_one_give_finite_models(inference) -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    labels = ["AA", "AB", "B", "AA"]
    nothing = sparse.csr_array((4, 3), dtype=np.float32)
    for X, weights in ((nothing, None), (np.eye(4, 3), np.full(4, 1e-6))):
        model = HBLR(tax, parents="first", inference=inference, max_iter=2).fit(X, labels, weights)
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [{}, {"likelihood": "binary", "schedule": "leaves"}, {"inference": "variational", "max_iter": 12}],
    ids=["together", "leaves", "variational"],
)
def test_a_fit_that_was_killed_continues_to_the_same_weights(settings, tmp_path, monkeypatch) -> None:
    X, y, tax = images(n_docs=60)
    settings = {"max_iter": 8, **settings}
    whole = HBLR(tax, **settings).fit(X, y)
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(stages, "_SHARE", 0)
    monkeypatch.setattr(stages.Rounds, "save", killed_after(3, stages.Rounds.save))
    with pytest.raises(KeyboardInterrupt, match="the same fit with this checkpoint continues"):
        HBLR(tax, **settings, checkpoint=tmp_path / "kept").fit(X, y)
    monkeypatch.undo()
    continued = HBLR(tax, **settings, checkpoint=tmp_path / "kept").fit(X, y)
    finished = HBLR(tax, **settings, checkpoint=tmp_path / "kept").fit(X, y)
    for model in (continued, finished):
        np.testing.assert_array_equal(model.weights_, whole.weights_)
        np.testing.assert_array_equal(model.std_, whole.std_)
        np.testing.assert_array_equal(model.objectives_, whole.objectives_)
        np.testing.assert_array_equal(model.lower_bounds_, whole.lower_bounds_)
        assert model.n_iter_ == whole.n_iter_
    with pytest.raises(CheckpointError, match="tol was"):
        HBLR(tax, **settings, tol=0.5, checkpoint=tmp_path / "kept").fit(X, y)


def killed_after(n_saves: int, save):
    """`Rounds.save` that is interrupted after some writes."""
    counted = []

    def interrupted(self, state, *, due: bool = False) -> None:
        save(self, state, due=due)
        counted.append(1)
        if len(counted) == n_saves:
            raise KeyboardInterrupt

    return interrupted
