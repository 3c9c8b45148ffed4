"""An embedding beside terms: what it adds, word by word, from any source, the same in every batch and after loading."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from linnaeus import OneVsRestSVM, Taxonomy, store
from linnaeus.errors import DataError, ParameterError, StoreError
from linnaeus.features import EmbeddedText, HashedText, TextFeatures
from linnaeus.features.block_weight import _PENALTIES, _left_out_scores, _whole_labels, held_out_weight
from linnaeus.features.embedding import node_texts
from linnaeus.features.named import embedded_text
from linnaeus.features.word_vectors import OwnVectors, TokenVectors, open_vectors
from linnaeus.pipeline import Pipeline
from tests.features.word_tokenizer import write_tokenizer

needs_tokenizers = pytest.mark.skipif(importlib.util.find_spec("tokenizers") is None, reason="needs tokenizers")
needs_wordllama = pytest.mark.skipif(importlib.util.find_spec("wordllama") is None, reason="needs wordllama")

TEXTS = [
    "the cat purrs and the cat sleeps",
    "a kitten purrs and sleeps",
    "the dog barks at the cat",
    "a puppy barks and runs",
    "stocks fall and markets shake",
    "markets rise as stocks rise",
    "the bank sells stocks",
    "banks and markets fall",
]
LABELS = ["pets"] * 4 + ["money"] * 4
Y = sparse.csr_array(np.repeat(np.eye(2), 4, axis=0))


def write_model2vec(folder: Path, table: np.ndarray | None = None, **config: object) -> Path:
    """A folder as model2vec writes it: a table, a tokenizer of whole words, a configuration."""
    from safetensors.numpy import save_file

    words = ["[UNK]", "cat", "kitten", "dog", "stocks", "markets"]
    if table is None:
        table = np.array([[9, 9], [1, 0], [0.9, 0.1], [0.8, -0.1], [0, 1], [0.1, 0.9]], dtype=np.float32)
    folder.mkdir(exist_ok=True)
    save_file({"embeddings": table}, folder / "model.safetensors")
    write_tokenizer(folder, words)
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", **config}))
    return folder


# -- own vectors -------------------------------------------------------------------------------------------------------


def test_words_of_the_same_documents_have_similar_vectors() -> None:
    own = EmbeddedText(TextFeatures(), dimension=4).fit(TEXTS).vectors_
    cat, dog, stocks, markets = own.vectors(["purrs", "sleeps", "stocks", "markets"])

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    assert cosine(cat, dog) > cosine(cat, stocks)
    assert cosine(stocks, markets) > cosine(dog, markets)


def test_own_vectors_are_the_singular_vectors_of_positive_mutual_information() -> None:
    rng = np.random.default_rng(0)
    C = rng.integers(0, 3, size=(6, 5)).astype(float)
    P = np.zeros_like(C)
    for d in range(6):
        for t in range(5):
            if C[d, t]:
                P[d, t] = max(0.0, np.log(C[d, t] * C.sum() / (C[d].sum() * C[:, t].sum())))
    table = OwnVectors.learn(sparse.csr_array(C), np.array(list("abcde"), dtype=object), 5).table
    _, lengths, V = np.linalg.svd(P, full_matrices=False)
    np.testing.assert_allclose(table @ table.T, (V.T * lengths) @ V, atol=1e-5)


def test_texts_of_labels_are_learned_from() -> None:
    plain = EmbeddedText(TextFeatures(), dimension=3).fit(TEXTS)
    more = EmbeddedText(TextFeatures(), dimension=3, texts=["tiger", "tiger cat"]).fit(TEXTS)
    assert not plain.vectors_.vectors(["tiger"]).any()
    assert more.vectors_.vectors(["tiger"]).any()


def test_texts_of_nodes_are_bounded() -> None:
    tax = Taxonomy.from_edges([("R", "a"), ("R", "b")], display_labels={"a": 50_000 * "x"})
    assert list(map(len, node_texts(tax))) == [10_000, 1]


# -- the matrix --------------------------------------------------------------------------------------------------------


def test_terms_stay_as_they_are_and_the_embedding_has_the_given_length() -> None:
    features = EmbeddedText(TextFeatures(), weight=0.5, dimension=3)
    X = features.fit_transform(TEXTS)
    terms = TextFeatures().fit_transform(TEXTS)
    assert X.dtype == np.float32
    assert (X[:, : terms.shape[1]] != terms).nnz == 0
    np.testing.assert_allclose(np.linalg.norm(X[:, terms.shape[1] :].toarray(), axis=1), 0.5, rtol=1e-5)


def test_characters_stand_between_terms_and_embedding_with_the_given_length(tmp_path) -> None:
    features = EmbeddedText(TextFeatures(), weight=0.5, dimension=3, characters=0.7)
    plain = EmbeddedText(TextFeatures(), weight=0.5, dimension=3)
    X, without = features.fit_transform(TEXTS), plain.fit_transform(TEXTS)
    n_words, n_terms = features.n_words, features.n_terms
    assert n_words == plain.n_terms < n_terms
    assert X.shape == (len(TEXTS), n_terms + 3) == (len(TEXTS), len(features.get_feature_names_out()))
    assert (X[:, n_terms:] != without[:, n_words:]).nnz == 0
    shrunk = 1 / np.sqrt(1 + 0.7**2)
    np.testing.assert_allclose(X[:, :n_words].toarray(), shrunk * without[:, :n_words].toarray(), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(X[:, n_words:n_terms].toarray(), axis=1), 0.7 * shrunk, rtol=1e-5)
    assert features.transform(["purring"])[:, n_words:n_terms].nnz > 0
    pipe = Pipeline(OneVsRestSVM(random_state=0), clone(features)).fit(TEXTS, LABELS)
    store.save(pipe, tmp_path / "model")
    loaded = store.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), pipe.decision_function(TEXTS))
    with pytest.raises(ParameterError, match="characters=-1"):
        EmbeddedText(characters=-1).fit(TEXTS)


def test_a_document_is_embedded_the_same_in_every_batch() -> None:
    features = EmbeddedText(TextFeatures(), dimension=4).fit(TEXTS, Y)
    together = features.transform(TEXTS).toarray()
    np.testing.assert_array_equal(together, features.fit_transform(TEXTS, Y).toarray())
    for i, text in enumerate(TEXTS):
        np.testing.assert_array_equal(together[i : i + 1], features.transform([text]).toarray())


def test_the_same_seed_gives_the_same_vectors() -> None:
    one, other = (EmbeddedText(TextFeatures(), dimension=3, random_state=4).fit(TEXTS) for _ in range(2))
    np.testing.assert_array_equal(one.vectors_.table, other.vectors_.table)


def test_documents_without_known_words_have_no_embedding() -> None:
    features = EmbeddedText(TextFeatures(), dimension=3).fit(TEXTS)
    assert features.transform(["", "zebra"]).nnz == 0
    assert features.known_terms(["", "zebra", "cat and zebra"]).tolist() == [0, 0, 2]


def test_without_weight_only_terms_are_known() -> None:
    features = EmbeddedText(TextFeatures(), weight=0, dimension=3, texts=["tiger cat", "tiger dog"]).fit(TEXTS)
    assert features.known_terms(["tiger", "cat"]).tolist() == [0, 1]
    assert features.word_parts(["tiger cat"]).words == []
    assert features.transform(["tiger"]).nnz == 0


def test_words_sum_to_the_embedding_exactly() -> None:
    features = EmbeddedText(TextFeatures(fields={"title": 2.0, "body": 1.0}), dimension=3)
    records = [{"title": text.split()[1], "body": text} for text in TEXTS]
    features.fit(records)
    one = {"title": ["cat"], "body": ["the cat barks at banks"]}
    found = features.word_parts(one)
    row = features.transform(one).toarray()[0, features.n_terms :]
    np.testing.assert_allclose(found.parts.sum(axis=0) + found.constant, row, atol=1e-6)
    assert found.words == sorted(found.words)


def test_stems_are_terms_and_words_are_embedded() -> None:
    features = EmbeddedText(TextFeatures(analyzer="stems"), dimension=3).fit(TEXTS)
    assert "stock" in features.features_.vocabulary_["text"].tolist()
    assert features.vectors_.vectors(["stocks"]).any()
    assert not features.vectors_.vectors(["stock"]).any()


def test_the_step_can_be_cloned_and_names_its_columns() -> None:
    features = clone(EmbeddedText(TextFeatures(min_df=2), weight=0.3, dimension=2))
    X = features.fit_transform(TEXTS)
    names = features.get_feature_names_out()
    assert len(names) == X.shape[1]
    assert names[-2:].tolist() == ["embedding0", "embedding1"]


# -- the weight --------------------------------------------------------------------------------------------------------


def test_the_closed_form_is_a_fit_without_each_document() -> None:
    rng = np.random.default_rng(0)
    A, T = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    T -= T.mean(axis=0)
    K = A @ A.T
    for penalty, scores in zip(_PENALTIES, _left_out_scores(K, T), strict=True):
        for i in range(12):
            rest = np.delete(np.arange(12), i)
            fitted = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * np.eye(11), T[rest])
            np.testing.assert_allclose(scores[i], K[i, rest] @ fitted, atol=1e-8)


def test_an_embedding_that_says_nothing_gets_the_smallest_weight() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 30)
    terms = sparse.csr_array(np.eye(4)[labels])
    noise = rng.normal(size=(120, 20))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    assert held_out_weight(terms, noise, np.eye(4)[labels]) == 0.1
    assert held_out_weight(sparse.csr_array(noise), np.eye(4)[labels], np.eye(4)[labels]) == 1.0


def test_a_learned_block_is_judged_on_documents_that_it_was_not_learned_from() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 3
    good, noise = np.eye(3)[labels], rng.normal(size=(240, 3))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    terms = sparse.csr_array(0.3 * good + 0.5 * noise[::-1])

    def learned_by_heart(rows: np.ndarray) -> np.ndarray:
        E = noise.copy()
        E[rows] = good[rows]
        return E

    assert held_out_weight(terms, learned_by_heart(np.arange(240)), good) == 1.0
    assert held_out_weight(terms, learned_by_heart, good) == 0.0
    assert held_out_weight(terms, lambda rows: good, good) > 0.0
    assert held_out_weight(terms[:60], lambda rows: good[:60], good[:60]) == 0.0


def test_of_many_documents_those_of_whole_labels_choose_the_weight() -> None:
    labels = np.arange(6_000) % 20
    rows = _whole_labels(sparse.csr_array(np.eye(20)[labels]), np.random.default_rng(0))
    counts = np.bincount(labels[rows], minlength=20)
    assert set(counts.tolist()) == {0, 300}
    assert counts.sum() == 900


# -- vectors of tokens -------------------------------------------------------------------------------------------------


@needs_tokenizers
def test_a_model2vec_folder_is_an_embedding(tmp_path) -> None:
    vectors = open_vectors(str(write_model2vec(tmp_path / "m2v")))
    found = vectors.vectors(["cat", "zebra", "Stocks"])
    np.testing.assert_allclose(found, [[1, 0], [0, 0], [0, 1]], atol=1e-6)


@needs_tokenizers
def test_words_that_training_never_saw_count_through_an_embedding(tmp_path) -> None:
    folder = write_model2vec(tmp_path / "m2v")
    texts, labels = ["the cat", "a dog", "the stocks", "a stocks list"], ["pets", "pets", "money", "money"]
    pipe = Pipeline(OneVsRestSVM(random_state=0), EmbeddedText(TextFeatures(), str(folder), weight=1.0))
    pipe.fit(texts, labels)
    assert pipe.predict(["kitten", "markets"]).tolist() == ["pets", "money"]
    assert pipe.known_terms(["kitten", "zebra"]).tolist() == [1, 0]


@needs_tokenizers
@pytest.mark.parametrize("keep", [False, True])
def test_a_saved_model_finds_its_embedding_again_or_holds_it(tmp_path, keep) -> None:
    folder = write_model2vec(tmp_path / "m2v")
    pipe = Pipeline(OneVsRestSVM(random_state=0), EmbeddedText(TextFeatures(), str(folder), keep=keep))
    pipe.fit(TEXTS, LABELS)
    store.save(pipe, tmp_path / "model")
    expected = pipe.decision_function(["a kitten", "zebra"])
    np.testing.assert_array_equal(store.load(tmp_path / "model").decision_function(["a kitten", "zebra"]), expected)
    write_model2vec(folder, np.eye(6, 2, dtype=np.float32))
    if keep:
        np.testing.assert_array_equal(store.load(tmp_path / "model").decision_function(["a kitten", "zebra"]), expected)
        return
    with pytest.raises(StoreError, match="m2v, which is not the same any more"):
        store.load(tmp_path / "model")
    folder.rename(tmp_path / "moved")
    with pytest.raises(
        StoreError, match="trained with the embedding .*m2v, which is needed to use it: .* is not a fold"
    ):
        store.load(tmp_path / "model")


@needs_tokenizers
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.safetensors").unlink(), "is not a model2vec model: it has no model.safetensors"),
        (lambda f: (f / "tokenizer.json").unlink(), "is not a model2vec model: it has no tokenizer.json"),
        (lambda f: (f / "model.safetensors").write_bytes(b"x" * 50), "damaged or not a safetensors file"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "The tokenizer of .* is damaged"),
        (lambda f: (f / "config.json").write_text("["), "is not valid JSON"),
        (lambda f: write_model2vec(f, hidden_dim=7), "says 7 dimensions, and the vectors have 2"),
        (lambda f: write_model2vec(f, np.ones((3, 2), np.float32)), "has 6 tokens, and there are vectors of 3"),
        (lambda f: write_model2vec(f, np.full((6, 2), np.nan, np.float32)), "numbers that are not finite"),
    ],
)
def test_folders_that_cannot_be_used_are_explained(tmp_path, damage, message) -> None:
    folder = write_model2vec(tmp_path / "m2v")
    damage(folder)
    with pytest.raises(DataError, match=message):
        open_vectors(str(folder))


@needs_wordllama
def test_the_vectors_of_wordllama_are_read_offline() -> None:
    vectors = open_vectors("wordllama")
    car, automobile, sonnet = vectors.vectors(["car", "automobile", "sonnet"])
    assert vectors.dimension == 256
    assert car @ automobile > car @ sonnet


def test_a_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"wordllama is in a package .* not installed; pip install 'linnaeus\[embedd"):
        open_vectors("wordllama")


# -- keeping, names and wrong values -----------------------------------------------------------------------------------


def test_own_vectors_are_in_the_model_folder(tmp_path) -> None:
    tax = Taxonomy.flat(["pets", "money"])
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), EmbeddedText(TextFeatures(), dimension=3)).fit(TEXTS, LABELS)
    store.save(pipe, tmp_path / "model")
    loaded = store.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), pipe.decision_function(TEXTS))
    assert loaded.features_.weight_ == pipe.features_.weight_


def test_a_damaged_embedding_is_refused_on_loading(tmp_path) -> None:
    features = EmbeddedText(TextFeatures(), dimension=3)
    pipe = Pipeline(OneVsRestSVM(random_state=0), features).fit(TEXTS, LABELS)
    pipe.features_.mean_ = pipe.features_.mean_[:2]
    store.save(pipe, tmp_path / "model")
    with pytest.raises(StoreError, match="mean_"):
        store.load(tmp_path / "model")


def test_names_on_the_command_line() -> None:
    made = embedded_text("own,weight=0.5,dimension=64")
    assert (made.embedding, made.weight, made.dimension) == ("own", 0.5, 64)
    assert embedded_text("a,b/c").embedding == "a,b/c"
    with pytest.raises(ParameterError, match="embedding has the parameters weight, .* did you mean 'weight'"):
        embedded_text("own,wieght=2")
    with pytest.raises(ParameterError, match="weight=-1"):
        embedded_text("own,weight=-1")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weight": "heavy"}, "expected a number of at least 0, or 'auto'"),
        ({"dimension": 0}, "dimension=0"),
        ({"embedding": 3}, "embedding=3; expected 'own'"),
        ({"features": HashedText()}, "features are HashedText"),
        ({"features": TextFeatures(analyzer="char")}, "an embedding takes words, stems or lemmas"),
    ],
)
def test_wrong_parameters_are_explained(parameters, message) -> None:
    with pytest.raises(ParameterError, match=message):
        EmbeddedText(**parameters).fit(TEXTS)


def test_a_folder_that_does_not_exist_is_explained() -> None:
    with pytest.raises(DataError, match="no/such is not a folder; expected own, .* a folder of a model2vec, ONNX"):
        EmbeddedText(TextFeatures(), "no/such").fit(TEXTS)


@needs_tokenizers
def test_a_tokenizer_without_unknown_tokens_is_accepted(tmp_path) -> None:
    made = open_vectors(str(write_model2vec(tmp_path / "m2v")))
    assert TokenVectors("again", made.table, made.tokenizer).fingerprint == made.fingerprint
