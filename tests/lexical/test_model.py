"""Labels found in documents as a model: with and without training documents, explained, saved, mixed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import linnaeus
from linnaeus import LexicalModel, Mixture, OneVsRestSVM, Pipeline, Taxonomy, calibrate, fit_decoder
from linnaeus.decoding import Threshold
from linnaeus.errors import LinnaeusError
from linnaeus.features.text import TextFeatures
from linnaeus.lexical.candidates import FEATURES, find_candidates
from linnaeus.lexical.labels import label_texts
from linnaeus.lexical.matcher import LabelMatcher
from linnaeus.lexical.model import NOT_FOUND
from linnaeus.lexical.relations import Relations
from linnaeus.lexical.words import as_documents
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.tuning import held_out_scores

NAMES = ("Animals", "Birds", "Owls", "Parrots", "Mammals", "Bats", "Whales", "Plants", "Oak trees", "Roses", "Stone")
EDGES = [(0, 1), (1, 2), (1, 3), (0, 4), (4, 5), (4, 6), (7, 8), (7, 9)]


def taxonomy() -> Taxonomy:
    ids = [f"n{i}" for i in range(len(NAMES))]
    edges = [("R", "n0"), ("R", "n7"), ("R", "n10"), *((f"n{a}", f"n{b}") for a, b in EDGES)]
    return Taxonomy.from_edges(edges, display_labels=dict(zip(ids, NAMES, strict=True)))


def documents(n_docs: int = 120, seed: int = 0) -> tuple[dict[str, list[str]], list[list[str]]]:
    """A label is in the title or twice in the text; others are mentioned once, and "Stone" is a figure of speech."""
    rng = np.random.default_rng(seed)
    titles, texts, y = [], [], []
    for _ in range(n_docs):
        right, wrong = rng.choice(10, 2, replace=False)
        words = list(rng.choice(["some", "common", "words", "stone", "of", "prose"], 12))
        words.insert(int(rng.integers(12)), NAMES[wrong])
        words.insert(int(rng.integers(12)), NAMES[right])
        titles.append(f"About {NAMES[right].lower()}")
        texts.append(" ".join(words))
        y.append([f"n{right}"])
    return {"title": titles, "text": texts}, [[*row, "n0"] if row[0] in ("n1", "n2", "n3") else row for row in y]


@pytest.fixture(scope="module")
def trained() -> LexicalModel:
    return LexicalModel(taxonomy()).fit(*documents())


def described(n_docs: int = 200) -> tuple[Taxonomy, list[str], list[list[str]], list[str]]:
    """Entries of a vocabulary, "name: a broader name of some kind"; half of them are nodes themselves."""
    rng = np.random.default_rng(0)
    letters = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]
    tops = [f"{letter}to_kind.{i:08}" for i, letter in enumerate(letters[:20])]
    below = [(tops[i % 20], f"{letter}ri.{i:08}") for i, letter in enumerate(letters[20:], start=20)]
    tax = Taxonomy.from_edges([("R", top) for top in tops] + below)
    texts, labels, own = [], [], []
    for i in range(n_docs):
        parent, node = below[i % len(below)] if i % 2 else (tops[int(rng.integers(20))], "")
        name = node.partition(".")[0] or f"other{i}"
        broader, other = (top.partition(".")[0].replace("_", " ") for top in (parent, tops[int(rng.integers(20))]))
        texts.append(f"{name}: a {broader} that is near to the {other}")
        labels.append([parent])
        own.append(node)
    return tax, texts, labels, own


def test_ids_after_names_are_not_part_of_the_labels() -> None:
    tax = Taxonomy.from_edges([("R", "physical_entity.00001930"), ("R", "C04.557")])
    assert {label.text for label in label_texts(tax)} == {"C04.557", "physical entity"}
    model = LexicalModel(tax).fit()
    assert model.predict(["there is a physical entity"]) == [["physical_entity.00001930"]]


def test_the_node_that_a_document_describes_is_not_a_candidate_and_says_nothing_about_its_parents() -> None:
    tax, texts, labels, own = described()
    model = LexicalModel(tax).fit(texts, labels)
    assert model.describes_nodes_
    found = model._candidates(as_documents(texts))
    nodes = [found.nodes[found.indptr[i] : found.indptr[i + 1]] for i in range(len(texts))]
    assert not any(node and tax.index(node) in row for node, row in zip(own, nodes, strict=True))
    assert not found.values["below"].any()
    assert model.predict(texts) == labels
    # Without its broader term in the text, the name of a node does not lead to the parent of the node.
    name, parent = own[1].partition(".")[0], tax.index(labels[1][0])
    S = model.decision_function([f"{name}: something else", "unknown: something else"])
    assert S[0].tolist() == S[1].tolist()
    as_usual = LexicalModel(tax, describes_nodes=False).fit(texts, labels)
    assert as_usual._candidates(as_documents(texts[1:2])).values["below"].any()
    assert parent in as_usual._candidates(as_documents(texts[1:2])).nodes


def test_documents_that_begin_with_their_labels_do_not_describe_nodes(trained: LexicalModel, tmp_path) -> None:
    assert not trained.describes_nodes_
    tax, texts, labels, _ = described()
    names = [row[0].partition(".")[0].replace("_", " ") for row in labels]
    model = LexicalModel(tax).fit([f"{name} {text}" for name, text in zip(names, texts, strict=True)], labels)
    assert not model.describes_nodes_
    model = LexicalModel(tax).fit(texts, labels)
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    assert again.decision_function(texts[:9]).tolist() == model.decision_function(texts[:9]).tolist()
    with pytest.raises(LinnaeusError, match="describes_nodes='yes'; expected True, False or 'auto'"):
        LexicalModel(tax, describes_nodes="yes").fit(texts, labels)


def test_without_documents_the_taxonomy_alone_answers() -> None:
    model = LexicalModel(taxonomy()).fit()
    assert model.predict([{"title": "Owls and bats", "text": "Owls eat bats."}, {"title": "Tea", "text": ""}]) == [
        ["n2", "n5"],
        [],
    ]
    assert model.n_docs_ == 0
    assert len(model.classes_) == len(NAMES)


def test_training_documents_teach_what_matters(trained) -> None:
    X, y = documents(60, seed=1)
    assert trained.score(X, y) > 0.95
    stone = list(trained.classes_).index("n10")
    assert (trained.predict_proba(X)[:, stone] < 0.1).all(), "found often, but never a label"


def test_nodes_without_training_documents_are_answered() -> None:
    X, y = documents()
    kept = [i for i, row in enumerate(y) if "n6" not in row]
    model = LexicalModel(taxonomy()).fit({f: [v[i] for i in kept] for f, v in X.items()}, [y[i] for i in kept])
    assert model.predict([{"title": "About whales", "text": "prose of whales"}]) == [["n6"]]


def test_frequent_labels_are_answered_where_they_are_not_found() -> None:
    texts = ["owls", "bats", "roses", "stone", "whales"] * 4
    y = [["n2", "n0"], ["n5", "n0"], ["n9"], ["n10", "n0"], ["n6", "n0"]] * 4
    assert "n0" in LexicalModel(taxonomy()).fit(texts, y).predict(["parrots"])[0]
    assert LexicalModel(taxonomy(), use_frequency=False).fit(texts, y).predict(["parrots"]) == [["n3"]]


def test_a_batch_answers_as_its_documents_do_one_by_one(trained) -> None:
    X, _ = documents(20, seed=2)
    whole = trained.decision_function(X)
    single = [trained.decision_function([{f: v[i] for f, v in X.items()}])[0] for i in range(20)]
    np.testing.assert_array_equal(whole, single)


def test_scattered_words_are_found_whatever_documents_stand_before() -> None:
    tax = Taxonomy.flat(["Kidney Diseases", "Lungs"])
    model = LexicalModel(tax).fit()
    between = [f"kidney {'word ' * n}diseases" for n in range(12, 26)]
    alone = np.array([model.decision_function([text])[0] for text in between])
    assert len(np.unique(alone)) > 2  # some are near enough, others are not
    for n in range(8):
        S = model.decision_function(["word " * n, *between])
        np.testing.assert_array_equal(S[1:], alone)


@pytest.mark.parametrize("use_frequency", [True, False])
def test_the_best_nodes_are_those_of_all_scores(use_frequency) -> None:
    X, y = documents(150, seed=4)
    model = LexicalModel(taxonomy(), use_frequency=use_frequency).fit(X, y)
    checked = model._check_X(X, reset=False)
    for k in (1, 3, len(model.nodes_)):
        columns, scores = TaxonomyClassifier._best_of(model, checked, k)
        for found, expected in zip(model._best_of(checked, k), (columns, scores), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_label_that_is_too_long_is_found_by_its_telling_words_and_gives_no_score_to_others() -> None:
    parts = [f"part{i}" for i in range(20)]
    long = " ".join(parts)
    tax = Taxonomy.flat([*parts, long, "Zebra"])
    model = LexicalModel(tax).fit()
    assert {long, "Zebra"} <= set(model.classes_)
    S = dict(zip(model.classes_, model.decision_function([long])[0], strict=True))
    assert S[long] > S["Zebra"] == NOT_FOUND
    kept = model.nodes_ != tax.index(long)  # as models were saved before
    model.nodes_, model.unmatched_ = model.nodes_[kept], model.unmatched_[kept]
    assert model.decision_function([long])[0, -1] == NOT_FOUND


def test_documents_of_every_form_give_the_same_scores(trained) -> None:
    import pandas as pd

    X, _ = documents(10, seed=3)
    records = [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)]
    expected = trained.decision_function(X)
    for form in (records, pd.DataFrame(X), np.array(records, dtype=object)):
        np.testing.assert_array_equal(trained.decision_function(form), expected)


def test_saved_and_loaded_models_answer_alike(trained, tmp_path) -> None:
    X, _ = documents(20, seed=4)
    for number, model in enumerate((trained, LexicalModel(taxonomy()).fit(), Pipeline(trained).fit(*documents()))):
        linnaeus.save(model, tmp_path / str(number))
        again = linnaeus.load(tmp_path / str(number))
        np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
        assert model.predict(X) == again.predict(X)


def test_a_damaged_folder_is_refused(trained, tmp_path) -> None:
    broken = copy.copy(trained)
    broken.evidence_weights_ = broken.evidence_weights_[:-1]
    linnaeus.save(broken, tmp_path / "model")
    with pytest.raises(LinnaeusError, match="weights of evidence"):
        linnaeus.load(tmp_path / "model")


def test_fitting_again_cloning_and_pickling_give_the_same_model(trained) -> None:
    X, _ = documents(20, seed=5)
    expected = trained.decision_function(X)
    for model in (clone(trained).fit(*documents()), copy.deepcopy(trained), pickle.loads(pickle.dumps(trained))):
        np.testing.assert_array_equal(model.decision_function(X), expected)


def test_renumbering_nodes_changes_only_the_numbering(trained) -> None:
    edges = [("R", "n10"), ("R", "n7"), ("R", "n0"), *((f"n{a}", f"n{b}") for a, b in EDGES[::-1])]
    turned = Taxonomy.from_edges(edges, display_labels={f"n{i}": name for i, name in enumerate(NAMES)})
    X, _ = documents(20, seed=6)
    other = LexicalModel(turned).fit(*documents())
    order = [list(other.classes_).index(c) for c in trained.classes_]
    np.testing.assert_allclose(other.decision_function(X)[:, order], trained.decision_function(X), atol=1e-3)


def test_explanations_name_the_labels_and_sum_to_the_score(trained) -> None:
    document = {"title": "A great horned owls' life", "text": "Owls and more owls, and stone."}
    (why,) = trained.explain(document, "n2")
    assert why.evidence == ["'owls' = preferred label of Owls, 3 times, in the title"]
    assert why.score == pytest.approx(why.intercept + why.contributions.sum())
    column = list(trained.classes_).index("n2")
    assert why.score == pytest.approx(trained.decision_function([document])[0, column])
    (not_there,) = trained.explain(document, "n9")
    assert not_there.evidence == []
    assert not_there.intercept == not_there.score
    assert Pipeline(trained).fit(*documents()).explain(document, "n2")[0].evidence == why.evidence


def test_contributions_of_matches_come_from_labels(trained) -> None:
    (found,) = trained.explain({"title": "Owls", "text": "of prose"}, "n2")
    assert set(found.origins) == {"label"}
    assert len(found.origins) == len(found.features)
    (none,) = trained.explain({"title": "Owls", "text": "of prose"}, "n9")
    assert len(none.origins) == 0


def test_explanations_show_scattered_words() -> None:
    (why,) = LexicalModel(taxonomy()).fit().explain("Trees, among them the oak", "n8")
    assert why.evidence == ["'Trees ... oak' = preferred label of Oak trees, once, in the title"]


def test_single_labels_have_the_best_one_as_the_answer_and_probabilities_that_sum_to_one() -> None:
    X, y = documents()
    model = LexicalModel(taxonomy()).fit(X, [row[0] for row in y])
    answers = model.predict(X)
    assert np.mean(answers == np.array([row[0] for row in y])) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_answers_contain_all_ancestors_where_labels_do() -> None:
    X, y = documents()
    tax = taxonomy()
    model = LexicalModel(tax).fit(X, tax.labels(tax.close(tax.indicator(y))))
    Y = model.answers(X)
    assert (tax.close(Y) != Y).nnz == 0


def test_cut_offs_calibration_and_rules_work_as_for_other_models(trained) -> None:
    X, y = documents()
    decoder = fit_decoder(LexicalModel(taxonomy()), X, y, "scut")
    assert trained.predict(X, decoder=decoder)[:3] == trained.predict(X)[:3]
    assert trained.predict(X, decoder=Threshold(1e9, repair=None, at_least_one=False)) == [[]] * len(y)
    P = calibrate(clone(trained).fit(X, y), X, y).predict_proba(X)
    assert P.shape == (len(y), len(trained.classes_))
    assert (P >= 0).all()
    assert (P <= 1).all()


def test_it_is_a_source_of_a_mixture(tmp_path) -> None:
    X, y = documents()
    sources = [("lexical", LexicalModel()), ("svm", Pipeline(OneVsRestSVM(), TextFeatures()))]
    model = Mixture(sources, taxonomy(), cv=3).fit(X, y)
    assert model.score(X, y) > 0.9
    step = model.explain({"title": "Owls", "text": "of prose"}, "n2")[-1]
    assert step.sources[0].explanation.evidence == ["'Owls' = preferred label of Owls, once, in the title"]
    linnaeus.save(model, tmp_path / "model")
    np.testing.assert_array_equal(linnaeus.load(tmp_path / "model").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("learn", ["closed", "given"])
def test_a_mixture_with_it_answers_nodes_without_documents(learn, tmp_path) -> None:
    X, y = documents()
    rows = [i for i, labels in enumerate(y) if not {"n6", "n9"} & set(labels)]  # no whales, no roses
    X, y = {name: [values[i] for i in rows] for name, values in X.items()}, [y[i] for i in rows]
    sources = [("lexical", LexicalModel()), ("svm", Pipeline(OneVsRestSVM(), TextFeatures()))]
    model = Mixture(sources, taxonomy(), cv=3, learn=learn).fit(X, y)
    assert {"n6", "n9"} <= set(model.classes_)
    new = {"title": ["About whales", "About roses"], "text": ["some words of Whales", "some words of Roses"]}
    S = model.decision_function(new)
    answerable = np.flatnonzero(model.taxonomy_.is_leaf[model.nodes_])
    assert model.taxonomy_.names[model.nodes_[answerable[S[:, answerable].argmax(axis=1)]]].tolist() == ["n6", "n9"]
    step = model.explain({name: values[0] for name, values in new.items()}, "n6")[-1]
    np.testing.assert_allclose(step.constant + sum(source.contribution for source in step.sources), step.score)
    held = held_out_scores(model, X, y, cv=3)
    assert {"n6", "n9"} <= set(held.taxonomy.names[held.nodes])
    linnaeus.save(model, tmp_path / "model")
    np.testing.assert_array_equal(linnaeus.load(tmp_path / "model").decision_function(new), S)


def test_a_mixture_knows_a_document_by_a_word_or_a_label() -> None:
    X, y = documents()
    rows = [i for i, labels in enumerate(y) if "n6" not in labels]  # no whales
    X, y = {name: [values[i] for i in rows] for name, values in X.items()}, [y[i] for i in rows]
    sources = [("lexical", LexicalModel()), ("svm", Pipeline(OneVsRestSVM(), TextFeatures()))]
    model = Mixture(sources, taxonomy(), cv=3).fit(X, y)
    new = {"title": ["owls", "whale", "zzz", ""], "text": ["qqq", "", "long unintelligible gibberish", ""]}
    words = model.sources_[1].known_terms(new)
    assert (words[:1] > 0).all()
    assert words[1:].tolist() == [0, 0, 0]
    assert (model.known_terms(new) > 0).tolist() == [True, True, False, False]
    assert model.known_terms(new)[0] == words[0]
    alone = [model.known_terms({name: values[i : i + 1] for name, values in new.items()})[0] for i in range(4)]
    assert alone == model.known_terms(new).tolist()


def test_documents_without_any_label_text_still_train_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="No label of the taxonomy stands in any of the 3 documents"):
        model = LexicalModel(taxonomy()).fit(["nothing here", "nor there", "or here"], [["n1"], ["n1"], ["n2"]])
    assert model.predict(["nothing"]) == [["n1"]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: LexicalModel().fit(), "needs a taxonomy"),
        (lambda: LexicalModel(taxonomy()).fit(["a"]), "documents and labels, or neither"),
        (lambda: LexicalModel(taxonomy(), C=0).fit(), "C"),
        (lambda: LexicalModel(taxonomy()).fit(np.eye(2), [["n1"], ["n2"]]), "strings, records or fields"),
        (lambda: LexicalModel(taxonomy()).fit().predict("a text"), "single string"),
        (lambda: LexicalModel(taxonomy()).fit().predict([]), "no documents"),
        (lambda: LexicalModel(taxonomy()).fit().explain(["a", "b"]), "one document; got 2"),
    ],
)
def test_bad_input_gets_a_clear_error(given, message) -> None:
    with pytest.raises(LinnaeusError, match=message):
        given()


# -- candidates --------------------------------------------------------------------------------------------------------


def candidates(texts: list[str]) -> tuple[Taxonomy, dict[tuple[int, str], dict[str, float]]]:
    tax = taxonomy()
    found = find_candidates(LabelMatcher(label_texts(tax)), Relations(tax), as_documents(texts))
    values = {
        (int(document), tax.display(int(node))): {name: float(found.values[name][i]) for name in found.values}
        for i, (document, node) in enumerate(zip(found.documents, found.nodes, strict=True))
    }
    return tax, values


def test_features_of_a_candidate() -> None:
    _, values = candidates(["owls are no bats but owls", "plants"])
    owls = values[0, "Owls"]
    assert owls["occurrences"] == pytest.approx(np.log(3))
    assert owls["early"] == 1.0
    assert owls["late"] == pytest.approx(5 / 7)  # the last of six words and an end
    assert owls["title"] == 1.0
    assert values[1, "Plants"]["nearness"] == 0.0
    assert set(owls) <= set(FEATURES)


def test_relatives_are_those_of_brute_force() -> None:
    texts = ["animals birds owls parrots bats plants stone", "roses whales owls", "mammals"]
    tax, values = candidates(texts)
    for (document, name), features in values.items():
        v = tax.displayed_as(name)[0]
        others = [tax.displayed_as(other)[0] for d, other in values if d == document and other != name]
        n = max(len(others), 1)
        meets = [u for u in others if set(tax.ancestors(int(u))) & set(tax.ancestors(int(v)))]
        near = [int(tax.path_length(int(v), int(u))) for u in meets]
        assert features["above"] == pytest.approx(sum(u in tax.ancestors(int(v)) for u in others) / n)
        assert features["below"] == pytest.approx(sum(v in tax.ancestors(int(u)) for u in others) / n)
        assert features["nearness"] == pytest.approx(1 / min(near) if near else 0.0)


def test_siblings_share_a_parent_that_is_not_the_root() -> None:
    _, values = candidates(["owls parrots stone plants"])
    assert [values[0, name]["beside"] for name in ("Owls", "Parrots", "Stone", "Plants")] == [1 / 3, 1 / 3, 0, 0]
