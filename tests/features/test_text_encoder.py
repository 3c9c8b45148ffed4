"""Neural models in local folders as embeddings: alike in every batch, explained by leaving out words, kept by name."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from linnaeus import OneVsRestSVM, store
from linnaeus.errors import DataError, ParameterError, StoreError
from linnaeus.features import EmbeddedText, TextFeatures
from linnaeus.features.text_encoder import TextEncoder, encoder_kind
from linnaeus.features.word_vectors import open_vectors
from linnaeus.pipeline import Pipeline
from tests.features.word_tokenizer import write_tokenizer

WORDS = ["[PAD]", "[UNK]", "cat", "kitten", "dog", "stocks", "markets"]
TABLE = np.array([[9, 9, 9], [0.1, 0.1, 0], [1, 0, 0], [0.9, 0.1, 0], [0.8, -0.1, 0], [0, 1, 0], [0.1, 0.9, 0]])
TEXTS = ["the cat", "a dog", "the stocks", "a stocks list"]
LABELS = ["pets", "pets", "money", "money"]

needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime", "tokenizers")),
    reason="needs onnx, onnxruntime and tokenizers",
)


def write_onnx(folder: Path, table: np.ndarray = TABLE, *, pooled: bool = False) -> Path:
    """A folder with a model whose hidden states are rows of a table, and a tokenizer of whole words."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    folder.mkdir(exist_ok=True)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["n", "length"])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["states"], axis=0),
        helper.make_node("Cast", ["attention_mask"], ["weights"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["weights", "last"], ["column"]),
        helper.make_node("Mul", ["states", "column"], ["last_hidden_state"]),
    ]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "length", 3])]
    if pooled:
        nodes.append(helper.make_node("ReduceSum", ["last_hidden_state", "one"], ["sentence_embedding"], keepdims=0))
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["n", 3]))
    constants = [
        numpy_helper.from_array(table.astype(np.float32), "table"),
        numpy_helper.from_array(np.array([2]), "last"),
        numpy_helper.from_array(np.array([1]), "one"),
    ]
    graph = helper.make_graph(nodes, "model", [ids, mask], outputs, constants)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "model.onnx"
    )
    write_tokenizer(folder, WORDS)
    return folder


def fitted(folder: Path) -> Pipeline:
    features = EmbeddedText(TextFeatures(), str(folder), weight=1.0)
    return Pipeline(OneVsRestSVM(random_state=0), features).fit(TEXTS, LABELS)


@needs_onnx
@pytest.mark.parametrize("pooled", [False, True])
def test_the_vector_of_a_text_is_the_mean_of_its_tokens_with_length_one(tmp_path, pooled) -> None:
    vectors = open_vectors(str(write_onnx(tmp_path / "model", pooled=pooled)))
    assert isinstance(vectors, TextEncoder)
    mean = (TABLE[2] + TABLE[5]) / 2
    found = vectors.vectors(["cat stocks", "  ", "Cat"])
    np.testing.assert_allclose(found, [mean / np.linalg.norm(mean), [0, 0, 0], [1, 0, 0]], atol=1e-6)


@needs_onnx
def test_a_text_has_the_same_vector_in_every_batch(tmp_path) -> None:
    rng = np.random.default_rng(0)
    vectors = open_vectors(str(write_onnx(tmp_path / "model", rng.normal(size=TABLE.shape))))
    texts = [" ".join(rng.choice(WORDS[2:], size=size)) for size in rng.integers(1, 80, 40)]
    one_by_one = np.concatenate([vectors.vectors([text]) for text in texts])
    np.testing.assert_array_equal(vectors.vectors(texts), one_by_one)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(vectors)).vectors(texts), one_by_one)


@needs_onnx
def test_texts_are_cut_where_the_tokenizer_says_so(tmp_path) -> None:
    folder = write_onnx(tmp_path / "model")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 2}')
    found = open_vectors(str(folder)).vectors(["cat cat stocks stocks", "cat"])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


@needs_onnx
def test_words_that_training_never_saw_count_and_explanations_are_approximate(tmp_path) -> None:
    pipe = fitted(write_onnx(tmp_path / "model"))
    assert pipe.predict(["kitten", "markets"]).tolist() == ["pets", "money"]
    (step,) = pipe.explain("Kitten and the cat", "pets")
    assert step.approximate
    assert step.intercept + step.contributions.sum() == pytest.approx(step.score, abs=1e-5)
    parts = {f: c for f, c, o in zip(step.features, step.contributions, step.origins, strict=True) if o == "embedding"}
    assert set(parts) == {"kitten", "and", "the", "cat"}
    S = pipe.decision_function(["Kitten and the cat", "and the cat"])
    column = 1.0 if pipe.classes_.tolist()[1] == "pets" else -1.0
    words = dict(zip(step.features, step.contributions, strict=True))
    if np.ndim(S) == 1:  # "kitten" is not a term, so that its part is the whole change
        assert words["kitten"] == pytest.approx(column * (S[0] - S[1]), abs=0.6)
    assert pipe.known_terms(["zebra"]).tolist() == [1]


@needs_onnx
def test_a_saved_model_finds_the_folder_again_or_says_what_is_wrong(tmp_path) -> None:
    folder = write_onnx(tmp_path / "net")
    pipe = fitted(folder)
    store.save(pipe, tmp_path / "model")
    expected = pipe.decision_function(["a kitten", "zebra"])
    np.testing.assert_array_equal(store.load(tmp_path / "model").decision_function(["a kitten", "zebra"]), expected)
    write_onnx(folder, 2 * TABLE)
    with pytest.raises(StoreError, match="net, which is not the same any more"):
        store.load(tmp_path / "model")
    folder.rename(tmp_path / "moved")
    with pytest.raises(StoreError, match="embedding .*net, which is needed to use it: .* not a folder"):
        store.load(tmp_path / "model")


@needs_onnx
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "tokenizer.json").unlink(), "it has no tokenizer.json"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "The tokenizer of .* is damaged"),
        (lambda f: (f / "model.onnx").write_bytes(b"x" * 50), "damaged or not an ONNX model"),
        (lambda f: write_onnx(f, np.full(TABLE.shape, np.nan)), "numbers that are not finite"),
    ],
)
def test_folders_that_cannot_be_used_are_explained(tmp_path, damage, message) -> None:
    folder = write_onnx(tmp_path / "model")
    damage(folder)
    with pytest.raises(DataError, match=message):
        open_vectors(str(folder))


@needs_onnx
def test_a_neural_model_is_not_held_in_model_folders(tmp_path) -> None:
    with pytest.raises(ParameterError, match="keep=True: the neural model"):
        open_vectors(str(write_onnx(tmp_path / "model")), keep=True)


def test_the_kind_of_a_folder_is_recognised(tmp_path) -> None:
    assert encoder_kind(tmp_path) is None
    (tmp_path / "modules.json").write_text("[]")
    assert encoder_kind(tmp_path) == "sentence-transformers"
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"")
    assert encoder_kind(tmp_path) == "onnx"
    (tmp_path / "config.json").write_text('{"model_type": "model2vec"}')
    assert encoder_kind(tmp_path) is None


def test_a_missing_package_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(DataError, match=r"needs the package sentence-transformers; .*'linnaeus\[transformers"):
        open_vectors(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(DataError, match=r"needs the package onnxruntime; pip install 'linnaeus\[onnx\]'"):
        open_vectors(str(tmp_path))


class Counting:
    """Stands in for a sentence-transformers model: vectors are counts of letters."""

    def __init__(self, folder: str, device: str, local_files_only: bool) -> None:
        assert local_files_only

    def encode(self, texts: list[str], **how: object) -> np.ndarray:
        return np.array([[text.count("a"), text.count("s"), 1.0] for text in texts])


def test_a_sentence_transformers_folder_is_an_embedding(tmp_path, monkeypatch) -> None:
    package = types.ModuleType("sentence_transformers")
    package.SentenceTransformer = Counting
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "modules.json").write_text("[]")
    pipe = fitted(folder)
    (step,) = pipe.explain("stocks and cats", "money")
    assert step.approximate
    assert step.against.intercept + step.against.contributions.sum() == pytest.approx(step.against.margin, abs=1e-5)
    store.save(pipe, tmp_path / "model")
    expected = pipe.decision_function(["a cat"])
    np.testing.assert_array_equal(store.load(tmp_path / "model").decision_function(["a cat"]), expected)
