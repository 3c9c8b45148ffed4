"""What every registered model promises, whatever it computes."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import linnaeus
from linnaeus import Taxonomy, registry
from linnaeus.decoding import BestClosure, BestLeaf, Rules, Threshold
from linnaeus.errors import LinnaeusError, UnknownLabelError
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import (
    CONFIGURATIONS,
    ONE_LABEL,
    REPRESENTATIVES,
    documents,
    each_case,
    each_first,
    each_model,
    fitted,
    is_first,
    is_representative,
    make,
    taxonomy,
)

KINDS = ("kind", ["tree", "dag"])
DENSE = ("dense", [False, True])


def test_every_registered_model_has_configurations() -> None:
    assert set(CONFIGURATIONS) == {*registry.MODELS, "Mixture"}


def test_every_family_of_models_has_a_representative() -> None:
    def families(names) -> set[str]:
        return {registry.resolve(name).__module__.rpartition(".")[0] for name in names}

    assert families(REPRESENTATIVES) == families(CONFIGURATIONS)


@each_case(lambda name, settings, kind: is_first(name, settings) and (name, kind) != ("HM3", "dag"), *KINDS)
def test_answers_contain_all_ancestors(name, settings, kind) -> None:
    tax = taxonomy(kind)
    X, labels = documents(tax, name=name)
    closed = tax.labels(tax.close(tax.indicator(labels)))
    model = make(name, settings, taxonomy=tax).fit(X, closed)
    assert is_closed(tax, tax.indicator(model.predict(X)))
    assert is_closed(tax, tax.indicator(fitted(name, settings, kind).predict(X, closed=True)))


@each_model
def test_no_answer_is_empty(name, settings) -> None:
    X, _ = documents(taxonomy(), name=name)
    assert all(fitted(name, settings).predict(X))


@each_case(lambda name, settings, kind: is_first(name, settings) and (name, kind) != ("HM3", "dag"), *KINDS)
def test_renumbering_nodes_changes_only_the_numbering(name, settings, kind) -> None:
    tax = taxonomy(kind)
    X, labels = documents(tax, 40, name=name)
    edges = [(tax.names[p], tax.names[v]) for v in range(tax.n_nodes) for p in tax.parents(v)]
    turned = Taxonomy.from_edges(edges[::-1])
    assert list(turned.names) != list(tax.names)
    tight = {"tol": 1e-6}
    first = make(name, {**settings, **tight}, taxonomy=tax).fit(X, labels)
    second = make(name, {**settings, **tight}, taxonomy=turned).fit(X, labels)
    order = [list(second.classes_).index(c) for c in first.classes_]
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X)[:, order], atol=5e-3)


@each_first
def test_sparse_and_dense_documents_give_the_same_scores(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    model = make(name, {**settings, "tol": 2e-7}, taxonomy=tax)  # weights agree to the root of what objectives do
    from_sparse = clone(model).fit(X, labels)
    from_dense = clone(model).fit(X.toarray(), labels)
    np.testing.assert_allclose(from_sparse.decision_function(X), from_dense.decision_function(X.toarray()), atol=5e-3)
    np.testing.assert_allclose(from_sparse.decision_function(X), from_sparse.decision_function(X.toarray()), atol=1e-5)


@each_model
def test_a_batch_answers_as_its_documents_do_one_by_one(name, settings) -> None:
    X, _ = documents(taxonomy(), name=name)
    model = fitted(name, settings)
    whole = model.decision_function(X)
    single = np.concatenate([model.decision_function(X[[i]]) for i in range(10)])
    np.testing.assert_array_equal(whole[:10], single)
    if hasattr(model, "predict_proba"):
        single = np.concatenate([model.predict_proba(X[[i]]) for i in range(10)])
        np.testing.assert_array_equal(model.predict_proba(X)[:10], single)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each_model
def test_a_dense_batch_has_the_labels_of_its_documents_and_their_scores_up_to_rounding(name, settings) -> None:
    X, _ = documents(taxonomy(), name=name)
    X = X.toarray().astype(np.float64)
    model = fitted(name, settings, form="dense")
    whole = model.decision_function(X[:10])
    single = np.concatenate([model.decision_function(X[[i]]) for i in range(10)])
    np.testing.assert_allclose(whole, single, rtol=1e-12, atol=1e-12 * np.abs(whole[np.isfinite(whole)]).max())
    alone = [model.predict(X[[i]])[0] for i in range(10)]
    assert [np.atleast_1d(a).tolist() for a in model.predict(X[:10])] == [np.atleast_1d(a).tolist() for a in alone]


@each_case(
    lambda name, settings, dense: is_representative(name, settings) if dense else is_first(name, settings),
    *DENSE,
)
def test_one_thread_and_several_give_the_same_model_bit_for_bit(name, settings, dense) -> None:
    tax = Taxonomy.from_edges([("R", f"n{i}") for i in range(70)])
    X, labels = documents(tax, 160, name=name)
    X = X.toarray() if dense else X
    one = make(name, settings, taxonomy=tax, n_jobs=1).fit(X, labels)
    many = make(name, settings, taxonomy=tax, n_jobs=3).fit(X, labels)
    if hasattr(one, "weights_"):
        np.testing.assert_array_equal(one.weights_, many.weights_)
    np.testing.assert_array_equal(one.decision_function(X), many.decision_function(X))


@each_model
def test_saved_and_loaded_models_answer_alike(name, settings, tmp_path) -> None:
    tax = taxonomy()
    X, _ = documents(tax, name=name)
    model = fitted(name, settings)
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert model.predict(X) == again.predict(X)
    assert again.taxonomy_ == tax
    assert list(again.classes_) == list(model.classes_)


@each_model
def test_fitting_again_gives_the_same_model(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    again = clone(fitted(name, settings)).fit(X, labels)
    first = fitted(name, settings).decision_function(X)
    np.testing.assert_array_equal(first, again.decision_function(X))
    np.testing.assert_array_equal(first, again.fit(X, labels).decision_function(X))


@each_model
def test_a_time_limit_ends_a_fit_with_a_model_that_answers_and_says_so(name, settings) -> None:
    if "max_time" not in inspect.signature(registry.resolve(name)).parameters:
        pytest.skip("no time limit")
    X, labels = documents(taxonomy(), name=name)
    never = {"tol": 1e-12} if "tol" in inspect.signature(registry.resolve(name)).parameters else {}
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        stopped = make(name, settings | never, taxonomy=taxonomy(), max_time=1e-6).fit(X, labels)
    assert stopped.time_limit_reached_
    assert all(len(np.atleast_1d(answer)) for answer in stopped.predict(X))


@each_first
def test_a_time_limit_that_is_not_reached_changes_nothing(name, settings) -> None:
    if "max_time" not in inspect.signature(registry.resolve(name)).parameters:
        pytest.skip("no time limit")
    X, labels = documents(taxonomy(), name=name)
    limited = make(name, settings, taxonomy=taxonomy(), max_time="1h").fit(X, labels)
    assert not limited.time_limit_reached_
    np.testing.assert_array_equal(limited.decision_function(X), fitted(name, settings).decision_function(X))


@each_model
def test_input_stays_untouched(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    before, given = X.copy(), copy.deepcopy(labels)
    model = make(name, settings, taxonomy=tax).fit(X, labels)
    model.predict(X)
    model.top(X)
    assert (X != before).nnz == 0
    assert labels == given


@each_model
def test_a_memory_mapped_matrix_is_as_good(name, settings, tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    np.save(tmp_path / "X.npy", X.toarray())
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = make(name, settings, taxonomy=tax).fit(mapped, labels)
    expected = fitted(name, settings, form="dense").decision_function(X)
    np.testing.assert_array_equal(model.decision_function(X), expected)


@each_model
def test_clones_share_the_taxonomy(name, settings) -> None:
    tax = taxonomy()
    assert clone(make(name, settings, taxonomy=tax)).taxonomy is tax


@each_first
def test_all_four_kinds_of_labels_come_back_in_their_kind(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    single = [row[0] for row in labels]
    answer = fitted(name, settings, form="single").predict(X)
    assert isinstance(answer, np.ndarray)
    assert set(answer) <= set(tax.names)
    answer = fitted(name, settings).predict(X)
    assert isinstance(answer, list)
    assert isinstance(answer[0], list)
    paths = np.full((len(single), 3), "", dtype=object)
    for i, label in enumerate(single):
        names = tax.names[tax.ancestors(label)]
        paths[i, : len(names)] = names
    model = make(name, settings, taxonomy=tax)
    answer = model.fit(X, paths).predict(X)
    assert answer.shape == paths.shape
    assert set(answer[:, 0]) <= {"A", "B", "C"}
    Y = tax.indicator(labels)
    answer = model.fit(X, Y).predict(X)
    assert sparse.issparse(answer)
    dense = model.fit(X, Y.toarray()).predict(X)
    assert isinstance(dense, np.ndarray)
    assert dense.shape == Y.shape
    assert dense.tolist() == answer.toarray().tolist()


@each_model
def test_the_kind_of_an_answer_does_not_depend_on_the_batch(name, settings) -> None:
    X, _ = documents(taxonomy(), name=name)
    model = fitted(name, settings, form="single")
    for decoder, closed in (
        (None, None),
        (None, True),
        (Threshold(0.0), None),
        (BestLeaf(), False),
        (BestLeaf(), True),
    ):
        kinds = {type(model.predict(X[part], decoder=decoder, closed=closed)) for part in ([0], [1], range(80))}
        assert len(kinds) == 1


@each_model
def test_closed_decides_whether_ancestors_are_in_the_answers(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    model = make(name, settings, taxonomy=tax).fit(X, tax.labels(tax.frontier(tax.indicator(labels))))
    for decoder in (None, BestLeaf(), Threshold(0.0), BestClosure()):
        bare, full = (tax.indicator(model.predict(X, decoder=decoder, closed=closed)) for closed in (False, True))
        assert (tax.frontier(bare) != bare).nnz == 0
        assert (tax.close(bare) != full).nnz == 0


@each_case(
    lambda name, settings, kind: is_representative(name, settings) or (kind == "tree" and is_first(name, settings)),
    *KINDS,
)
def test_answers_obey_rules_and_the_best_sets_are_ranked(name, settings, kind) -> None:
    tax = taxonomy(kind)
    X, _ = documents(tax, name=name)
    model = fitted(name, settings, kind)
    for given in ({"only_under": "A", "at_most": 1}, {"exclude": ["AA", "C"], "at_least": 1}):
        Y = model.answers(X[:10], rules=given, closed=True)
        assert is_closed(tax, Y)
        assert Rules(**given).bind(tax).obeyed(Y).all()
        assert len(model.predict(X[:10], rules=given)) == 10
    found = model.ranked_sets(X[:5], k=3)
    assert (np.diff(found.scores, axis=1) <= 1e-9).all()
    assert found.proved.all()


@each_model
def test_columns_of_plain_labels_are_sorted_as_scikit_learn_expects(name, settings) -> None:
    tax = Taxonomy.from_edges([("R", "zebra"), ("R", "ape"), ("R", "mouse")])
    X = np.eye(3)[[0, 1, 2] * 4]
    y = np.array(["zebra", "ape", "mouse"] * 4)
    model = make(name, settings, taxonomy=tax).fit(X, y)
    assert list(model.classes_) == ["ape", "mouse", "zebra"]
    assert (model.classes_[model.decision_function(X).argmax(axis=1)] == y).all()


@each_model
def test_top_is_the_beginning_of_the_ranking(name, settings) -> None:
    X, _ = documents(taxonomy(), name=name)
    model = fitted(name, settings)
    S = np.concatenate(list(model.ranking_blocks(X)))
    if not model.conditional_scores:
        np.testing.assert_array_equal(S, model.decision_function(X))
    order = np.argsort(-S, axis=1, kind="stable")
    names, scores = model.top(X, 3)
    assert names.tolist() == np.asarray(model.classes_, dtype=object)[order[:, :3]].tolist()
    np.testing.assert_array_equal(scores, np.take_along_axis(S, order[:, :3], axis=1))
    assert model.top(X, 1000)[0].shape == (X.shape[0], len(model.ranked_nodes))


@each_model
def test_without_a_taxonomy_labels_are_a_flat_list(name, settings) -> None:
    X, labels = documents(taxonomy(), name=name)
    single = [row[0] for row in labels]
    model = make(name, settings).fit(X, single)
    assert model.taxonomy_.n_edges == 0
    assert sorted(set(single)) == sorted(model.classes_)
    numbers = [sorted(set(single)).index(v) for v in single]
    assert make(name, settings).fit(X, numbers).predict(X).dtype.kind == "i"


@each_model
def test_a_leaf_without_documents_changes_nothing_above_it(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    grown = Taxonomy.from_edges(
        [(tax.names[p], tax.names[v]) for v in range(tax.n_nodes) for p in tax.parents(v)] + [("AA", "empty")]
    )
    before = fitted(name, settings).predict(X)
    after = make(name, settings, taxonomy=grown).fit(X, labels).predict(X)
    assert [sorted(row) for row in before] == [sorted(row) for row in after]


@each_model
def test_errors_name_what_is_wrong(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    with pytest.raises(UnknownLabelError, match="'AAC'.*did you mean 'AA"):
        make(name, settings, taxonomy=tax).fit(X, [["AAC"], *labels[1:]])
    with pytest.raises(LinnaeusError, match="79 documents.*80 rows"):
        make(name, settings, taxonomy=tax).fit(X, labels[1:])
    with pytest.raises(LinnaeusError, match="no label at all"):
        make(name, settings, taxonomy=tax).fit(X, [[] for _ in labels])
    with pytest.raises(LinnaeusError, match="expected a Taxonomy"):
        make(name, settings, taxonomy="topics.ttl").fit(X, labels)
    with pytest.raises(NotFittedError):
        make(name, settings, taxonomy=tax).predict(X)
    with pytest.raises(ValueError, match="features"):
        fitted(name, settings).predict(X[:, :5])
    with pytest.raises(LinnaeusError, match="not fitted"):
        linnaeus.save(make(name, settings, taxonomy=tax), "never-made")


@each_model
def test_empty_rows_and_empty_label_sets_are_legal(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, name=name)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((2, X.shape[1]), dtype=np.float32)]))
    model = make(name, settings, taxonomy=tax)
    if name in ONE_LABEL:
        with pytest.raises(LinnaeusError, match="exactly one label.*document 80 has 0"):
            model.fit(X, [*labels, [], ["A"]])
    model.fit(X, [*labels, ["B"] if name in ONE_LABEL else [], ["A"]])
    assert np.isfinite(model.decision_function(X)).all()
