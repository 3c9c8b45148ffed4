"""Cut-offs fitted to any model on scores of documents that it has not seen."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import linnaeus
from linnaeus import (
    EdgePA,
    HierarchicalRLS,
    NodeSVM,
    OneVsRestSVM,
    Pipeline,
    Taxonomy,
    TopDownSVM,
    fit_decoder,
    metrics,
)
from linnaeus.decoding import DECODERS, CutOff, InstanceCut, RCut, SCut, Threshold, TopScores
from linnaeus.errors import DataError, LinnaeusError, ParameterError
from linnaeus.features import TextFeatures
from linnaeus.tuning import held_out as held_out_module
from linnaeus.tuning import held_out_scores
from tests.contracts.configurations import documents, each_family, make, taxonomy

CUTS = [name for name, kind in DECODERS.items() if issubclass(kind, CutOff)]


class Memory(BaseEstimator):
    """Scores 1 for what it has seen: the label of a document is its number."""

    nested_ = conditional_scores = False

    @property
    def estimator(self):
        return self

    def __init__(self, taxonomy: Taxonomy | None = None, verbose: int = 3, checkpoint: str | None = "folder") -> None:
        self.taxonomy, self.verbose, self.checkpoint = taxonomy, verbose, checkpoint

    def fit(self, X, y, sample_weight=None):
        assert (self.verbose, self.checkpoint) == (0, None)
        self.taxonomy_, self.nodes_ = self.taxonomy, np.arange(self.taxonomy.n_nodes)
        self.seen_ = set(np.asarray(X)[:, 0].tolist())
        return self

    def score_blocks(self, X):
        yield np.array([[float(x in self.seen_)] * len(self.nodes_) for x in np.asarray(X)[:, 0]])


@pytest.mark.parametrize("cv", [2, 5, 0.3])
def test_no_document_is_scored_by_a_model_that_has_seen_it(cv) -> None:
    X = np.arange(40.0)[:, None]
    held = held_out_scores(Memory(Taxonomy.flat("ab")), X, ["a", "b"] * 20, cv=cv)
    assert not held.S.any()
    assert len(set(held.documents.tolist())) == len(held.documents)
    assert len(held.documents) == 40 if cv != 0.3 else 10 <= len(held.documents) <= 14
    assert held.taxonomy.labels(held.Y) == [["ab"[d % 2]] for d in held.documents]


def test_folds_can_be_given() -> None:
    rows = np.arange(10)
    held = held_out_scores(Memory(Taxonomy.flat("ab")), rows[:, None], ["a", "b"] * 5, cv=[(rows[:7], rows[7:])])
    assert held.documents.tolist() == [7, 8, 9]


@each_family
def test_every_cut_off_can_be_fitted_to_every_model(name, settings) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 60, name=name)
    model = make(name, settings, taxonomy=tax).fit(X, labels)
    held = held_out_scores(model, X, labels, cv=2)
    for cut in CUTS:
        decoder = held.fit(cut)
        assert decoder.fitted
        assert len(model.predict(X, decoder=decoder)) == 60


def test_labels_of_one_fold_only_do_not_break_it() -> None:
    X, labels = documents(taxonomy(), 40)
    labels = [[*row, f"only{i}"] if i < 5 else row for i, row in enumerate(labels)]
    for cut in CUTS:
        decoder = fit_decoder(OneVsRestSVM(random_state=0), X, labels, cut, compare=False)
        model = OneVsRestSVM(random_state=0).fit(X, labels)
        assert len(model.predict(X, decoder=decoder)) == 40
    held = held_out_scores(OneVsRestSVM(random_state=0), X, labels)
    alone = [i for i, node in enumerate(held.nodes) if str(held.taxonomy.names[node]).startswith("only")]
    gold = held.Y.toarray()[:, held.nodes[alone]] > 0
    assert gold.sum() == 5
    assert np.isneginf(held.S[:, alone][gold]).all()  # the model of its fold has never seen the label
    assert np.isfinite(held.S[:, alone]).any(axis=0).all()


def test_a_fold_without_any_label_has_no_scores() -> None:
    X, y = np.eye(4)[[0, 1, 2, 3] * 3], [["a"], [], [], []] * 3
    rows = np.arange(12)
    labelled = rows[rows % 4 == 0]
    cv = [(rows[rows % 4 != 0], labelled), (labelled, rows[rows % 4 != 0])]
    assert held_out_scores(OneVsRestSVM(random_state=0), X, y, cv=cv).S.shape == (12, 1)
    with pytest.raises(DataError, match="No label occurs in the training part"):
        held_out_scores(OneVsRestSVM(random_state=0), X, y, cv=cv[:1])


def test_many_labels_are_kept_as_the_best_of_each_document(monkeypatch) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = OneVsRestSVM(tax, random_state=0)
    whole = held_out_scores(model, X, labels)
    monkeypatch.setattr(held_out_module, "_WHOLE", 100)
    monkeypatch.setattr(held_out_module, "_TOP", 5)
    best = held_out_scores(model, X, labels)
    assert isinstance(best.S, TopScores)
    np.testing.assert_array_equal(best.S.scores, TopScores.of(whole.S, 5).scores)
    np.testing.assert_array_equal(best.S.positions, TopScores.of(whole.S, 5).positions)
    for cut in set(CUTS) - {"expected"}:
        assert best.fit(cut).fitted
    assert best.fit("scut").top == 5
    with pytest.raises(DataError, match="scores of all nodes"):
        best.fit("expected")


def test_closed_labels_are_tuned_closed() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = OneVsRestSVM(tax, random_state=0)
    assert fit_decoder(model, X, labels, compare=False).repair is None
    closed = tax.labels(tax.close(tax.indicator(labels)))
    assert fit_decoder(model, X, closed, compare=False).repair == "closure"
    assert fit_decoder(model, X, closed, SCut(repair="suppress"), compare=False).repair == "suppress"
    assert fit_decoder(model, X, closed, RCut(per="parent"), compare=False).repair is None


def test_a_model_that_learned_closed_sets_is_tuned_on_closed_sets() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 200)
    frontier = tax.labels(tax.frontier(tax.indicator(labels)))
    model = OneVsRestSVM(tax, learn="closed", random_state=0).fit(X, frontier)
    for cut in CUTS:
        decoder = fit_decoder(model, X, frontier, cut, compare=False)
        assert decoder.closed
        answers = tax.indicator(model.predict(X, decoder=decoder))
        assert (tax.frontier(answers) != answers).nnz == 0  # labels come back as they were given
        assert metrics.hierarchical_f1(frontier, answers, tax) > 0.6


def test_answers_may_be_empty_where_some_documents_have_no_label() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = OneVsRestSVM(tax, random_state=0)
    some_empty = [[] if i % 4 == 0 else row for i, row in enumerate(labels)]
    assert fit_decoder(model, X, labels, "scut", compare=False).at_least_one
    assert not fit_decoder(model, X, some_empty, "scut", compare=False).at_least_one
    assert fit_decoder(model, X, some_empty, SCut(), compare=False).at_least_one
    assert not fit_decoder(Pipeline(model), X, some_empty, "instance_cut", compare=False).at_least_one


def test_the_metric_is_the_one_that_is_reported() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    held = held_out_scores(OneVsRestSVM(tax, random_state=0), X, labels)
    gold = held.Y
    for name in ("micro_f1", "hierarchical_f1", "example_f1"):
        values = [
            getattr(metrics, name)(gold, held.fit("rcut", metric)(held.S, tax, held.nodes), tax)
            for metric in (name, "micro_f1", "hierarchical_f1", "example_f1", getattr(metrics, name))
        ]
        assert values[0] == max(values) == values[-1]


def test_sparse_dense_and_text_documents_and_fields_are_all_split() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 40)
    for same in (X, X.toarray(), sparse.csr_matrix(X)):
        assert fit_decoder(OneVsRestSVM(tax, random_state=0), same, labels, "rcut", cv=2, compare=False).fitted
    texts = [" ".join(row) for row in labels]
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures())
    for same in (texts, {"title": texts, "text": texts}, np.array(texts, dtype=object)):
        assert fit_decoder(pipe, same, labels, "rcut", cv=2, compare=False).fitted
    assert not hasattr(pipe, "model_")


def test_weights_of_documents_reach_the_folds() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 60)
    weights = np.where(np.arange(60) < 30, 1.0, 0.01)
    model = OneVsRestSVM(tax, random_state=0)
    first, second = (held_out_scores(model, X, labels, sample_weight=w).S for w in (None, weights))
    assert np.abs(first - second).max() > 0.05


def test_misuse_is_explained() -> None:
    X, y, model = np.eye(4), ["a", "b"] * 2, OneVsRestSVM()
    with pytest.raises(ParameterError, match="learns nothing from held-out scores; those that do are rcut"):
        fit_decoder(model, X, y, Threshold())
    with pytest.raises(ParameterError, match="did you mean 'scut'"):
        fit_decoder(model, X, y, "skut")
    with pytest.raises(ParameterError, match="did you mean 'micro_f1'"):
        fit_decoder(model, X, y, metric="mikro_f1")
    for wrong in (1, 1.5, True, "five", None):
        with pytest.raises((ParameterError, DataError, ValueError)):
            fit_decoder(model, X, y, cv=wrong)


# -- beside the model's own decoder ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NodeSVM, TopDownSVM, HierarchicalRLS, EdgePA])
def test_conditional_scores_are_cut_along_paths(kind) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 150)
    model = kind(tax, random_state=0).fit(X, labels)
    held = held_out_scores(model, X, labels, cv=3, with_answers=True)
    assert held.conditional
    for decoder in ("scut", "rcut", "instance_cut", "set_size"):
        cut = held.fit(decoder, "hierarchical_f1")
        assert cut.repair == "suppress"
        own, by_cut = (metrics.hierarchical_f1(held.Y, Y, tax) for Y in (held.own, cut(held.S, tax, held.nodes)))
        assert by_cut > 0.75 * own  # cut independently, it was below a third
    with pytest.raises(LinnaeusError, match="goes down the taxonomy.*'suppress'"):
        held.fit(SCut(repair="closure"))


def test_a_cut_off_that_is_worse_than_the_models_own_decoder_is_not_used() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 100)
    model = OneVsRestSVM(tax, random_state=0).fit(X, labels)
    far = SCut(average="macro", fbr=2.0, rare="none", at_least_one=False)  # refuses every label
    with pytest.warns(UserWarning, match="'scut' reaches micro_f1 0.0.*own decoder 0.*it is not used"):
        assert fit_decoder(model, X, labels, far, cv=2) is None
    assert fit_decoder(model, X, labels, far, cv=2, compare=False).fitted


def test_the_default_target_of_scut_follows_the_metric() -> None:
    tax = taxonomy()
    X, labels = documents(tax, 100)
    held = held_out_scores(OneVsRestSVM(tax, random_state=0), X, labels, cv=2)
    assert held.fit("scut").average == "micro"
    assert held.fit("scut", "macro_f1").average == "macro"
    assert held.fit("scut", "hierarchical_f1") == held.fit("scut,average=micro", "hierarchical_f1")
    assert held.fit("scut").theta != held.fit("scut,average=macro").theta


def test_least_scores_of_paths_are_cut_as_suppression_does() -> None:
    tax = taxonomy("dag")
    S = np.random.default_rng(0).normal(size=(30, tax.n_nodes))
    columns = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    cut = InstanceCut(weights=[0.0] * 5, constant=0.3, repair="suppress", at_least_one=False)
    expected = Threshold(0.3, repair="suppress", at_least_one=False)(S[:, columns], tax, columns)
    assert (cut(S[:, columns], tax, columns) != expected).nnz == 0


# -- in a pipeline -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", ["scut", SCut(average="micro"), InstanceCut(), "pcut", "set_size", "rcut"])
def test_a_pipeline_fits_its_cut_off_and_keeps_it(decoder, tmp_path) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipe = Pipeline(OneVsRestSVM(tax, random_state=0), decoder=decoder).fit(X, labels)
    found = pipe.decoder_comparison_
    assert found.better == (found.cut_off >= found.own) == (pipe.decoder_ is not None)
    assert found.better or "it is not used" in str(caught[-1].message)
    assert pipe.decoder_ is None or pipe.decoder_.fitted
    assert pipe.decoder == decoder
    linnaeus.save(pipe, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    assert again.decoder_ == pipe.decoder_
    assert again.predict(X) == pipe.predict(X) == pipe.model_.predict(X, decoder=pipe.decoder_)


def test_a_fitted_cut_off_is_taken_as_it_is() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    given = SCut(theta=0.25)
    assert Pipeline(OneVsRestSVM(tax, random_state=0), decoder=given).fit(X, labels).decoder_ is given


def test_a_time_limit_is_shared_by_the_model_and_its_folds() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0, max_time="1m"), decoder="rcut").fit(X, labels)
    assert pipe.model_.max_time == 10.0
    assert Pipeline(OneVsRestSVM(tax, random_state=0, max_time="1m")).fit(X, labels).model_.max_time == "1m"


# -- real data ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.data
def test_cut_offs_do_not_lose_against_zero_on_news(data_dir) -> None:
    from benchmarks import problems

    problem = problems.load("rcv1v2")
    model = OneVsRestSVM(problem.taxonomy, C=1.0, random_state=0).fit(problem.X, problem.Y)
    held = held_out_scores(model, problem.X, problem.Y, cv=0.25)

    def figures(decoder) -> tuple[float, float]:
        H = model.answers(problem.X_test, decoder=decoder)
        return tuple(float(f(problem.Y_test, H, problem.taxonomy)) for f in (metrics.micro_f1, metrics.macro_f1))

    zero = figures(Threshold(0.0))
    assert zero == pytest.approx((0.818, 0.520), abs=0.01)
    for cut, gain in ((SCut(), (-0.003, 0.08)), (SCut(average="micro"), (0.005, 0.07)), (InstanceCut(), (0.003, 0.01))):
        found = figures(held.fit(cut))
        assert found[0] >= zero[0] + gain[0], (cut, found)
        assert found[1] >= zero[1] + gain[1], (cut, found)
