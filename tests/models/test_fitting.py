"""Steps that models share: warnings point at the user's line, progress never moves backwards, streams are validated."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import linnaeus
from linnaeus import registry
from linnaeus.data.check import Problem, check_labels
from linnaeus.errors import DataError
from linnaeus.models import fitting
from linnaeus.models.fitting import document_weights, gap_progress, require_two_classes

X = sparse.random_array((60, 20), density=0.4, rng=0, format="csr")
LABELS = ["a", "b", "c"] * 20


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("RRSVM", {"max_iter": 1, "tol": 1e-9}),
        ("RRLogistic", {"max_iter": 1, "tol": 1e-9}),
        ("RRSVM", {"max_iter": 1, "tol": 1e-9, "schedule": "colours"}),
        ("OneVsRestSVM", {"max_iter": 1, "tol": 1e-9}),
        ("MulticlassSVM", {"max_iter": 1, "tol": 1e-9}),
        ("SoftmaxRegression", {"max_iter": 1, "tol": 1e-9}),
        ("HBLR", {"max_iter": 1, "tol": 1e-9}),
    ],
)
def test_convergence_warnings_point_at_the_line_of_the_user(model, options):
    estimator = registry.resolve(model)(**options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, LABELS)
    found = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(found) == 1
    assert found[0].filename == __file__
    assert str(found[0].message).startswith("The fit did not converge: ")


def test_a_warning_points_at_the_line_of_the_user_through_a_pipeline():
    model = linnaeus.EdgePA(training_set="siblings", search="exact")
    with pytest.warns(UserWarning, match="far too many labels") as caught:
        linnaeus.Pipeline(model).fit(X, LABELS)
    assert caught[0].filename == __file__


def test_an_update_that_does_not_converge_warns_at_the_line_of_the_user():
    model = linnaeus.RRSVM(tol=1e-2).fit(X, LABELS)
    model.set_params(max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning) as caught:
        model.update(X[:30], LABELS[30:])
    assert caught[0].filename == __file__


def test_a_memory_warning_points_at_the_line_of_the_user(monkeypatch):
    monkeypatch.setattr(fitting, "available_memory", lambda: 1000.0)
    with pytest.warns(UserWarning, match="are available") as caught:
        linnaeus.OneVsRestSVM().fit(X, LABELS)
    assert caught[0].filename == __file__


def test_progress_from_the_gap_is_linear_in_its_logarithm_and_never_moves_backwards(monkeypatch):
    moved: list[int] = []

    class Bar:
        def __enter__(self):
            return moved.append

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(fitting, "progress", lambda *_, **__: Bar())
    with gap_progress(1e-4, show=True) as measured:
        for gap in (1.0, 1e-2, 1e-1, 0.0):
            measured(gap)
    assert moved == [0, 50, 0, 50]


def test_one_class_is_refused_for_single_labels_and_allowed_for_sets():
    for y, refused in ((["a", "a"], True), ([["a"], ["a"]], False)):
        Y, tax, codec = check_labels(y, None)
        problem = Problem(np.eye(2), Y, tax, None, codec)
        nodes = np.unique(Y.indices)
        if refused:
            with pytest.raises(DataError, match="only one class, 'a'"):
                require_two_classes(problem, nodes)
        else:
            require_two_classes(problem, nodes)
        with pytest.raises(DataError, match="only one class, 'a'"):
            require_two_classes(problem, nodes, one_label_each=True)


def test_document_weights_are_a_copy():
    Y, tax, codec = check_labels(["a", "b"], None)
    given = np.array([1.0, 2.0])
    weights = document_weights(Problem(np.eye(2), Y, tax, given, codec))
    weights[:] = 0
    assert given.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("model", ["MulticlassSVM", "SoftmaxRegression", "HierarchicalSVM", "OrthogonalTransfer"])
def test_an_engine_that_has_no_effect_is_deprecated_at_the_line_of_the_user(model):
    kind = registry.resolve(model)
    with pytest.warns(FutureWarning, match="engine has no effect in .*one problem.*will be removed") as caught:
        kind(engine="threads", tol=0.1).fit(X, LABELS)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        kind(tol=0.1, n_jobs=2).fit(X, LABELS)


@pytest.mark.parametrize("model", ["MulticlassSVM", "OneVsRestPA"])
def test_verbose_shows_a_spinner(model, monkeypatch):
    shown: list[str] = []

    @contextlib.contextmanager
    def spinner(description):
        shown.append(description)
        yield

    monkeypatch.setattr(fitting, "waiting", spinner)
    registry.resolve(model)(verbose=0).fit(X, LABELS)
    assert not shown
    registry.resolve(model)(verbose=1).fit(X, LABELS)
    assert "training 3 labels" in shown[0]


def test_documents_of_the_fit_can_be_released():
    model = linnaeus.RRSVM(tol=0.1).fit(X, LABELS)
    model.forget_documents()
    with pytest.raises(NotFittedError, match="does not hold"):
        model.update(X, LABELS)
    assert len(model.predict(X)) == 60
