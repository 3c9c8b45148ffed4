"""String kernels give the values of their definition; the worked numbers of the specification are among them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.errors import DataError, ParameterError
from linnaeus.features import SpectrumFeatures, SpectrumKernel, SubsequenceKernel
from linnaeus.features.string_kernel import normalise

BANANA, ANANAS = "banana", "ananas"


def values(kernel, *texts) -> list[float]:
    """K(s, t), K(s, s), K(t, t)."""
    K = kernel(A := kernel.prepare(list(texts)), A)
    return [K[0, 1], K[0, 0], K[1, 1]]


def features_by_hand(tokens, length: int, decay: float, max_gap: float, gaps_only: bool) -> Counter:
    found: Counter = Counter()
    for places in combinations(range(len(tokens)), length):
        span = places[-1] - places[0] + 1
        if span - length <= max_gap:
            found[tuple(tokens[i] for i in places)] += decay ** (span - length if gaps_only else span)
    return found


def kernel_by_hand(s, t, lengths, weights, *how) -> float:
    total = 0.0
    for length, weight in zip(lengths, weights, strict=True):
        one, two = features_by_hand(s, length, *how), features_by_hand(t, length, *how)
        total += weight * sum(value * two[piece] for piece, value in one.items())
    return total


@pytest.mark.parametrize(
    ("p", "q", "expected"), [(1, 1, [13, 14, 14]), (2, 2, [8, 9, 9]), (3, 3, [5, 6, 6]), (3, 1, [26, 29, 29])]
)
def test_the_worked_numbers_of_the_spectrum(p, q, expected) -> None:
    assert values(SpectrumKernel(p=p, q=q, normalise=False), BANANA, ANANAS) == expected


def test_the_worked_numbers_of_car_and_cat() -> None:
    one, own, _ = values(SubsequenceKernel(p=2, decay=0.5, normalise=False), "car", "cat")
    assert (one, own) == (0.5**4, 2 * 0.5**4 + 0.5**6)
    assert values(SubsequenceKernel(p=2, decay=0.5), "car", "cat")[0] == pytest.approx(4 / 9)


def test_the_worked_numbers_of_subsequences() -> None:
    spans = [values(SubsequenceKernel(p=p, decay=0.5, normalise=False), BANANA, ANANAS) for p in range(1, 5)]
    assert [v[0] for v in spans] == [3.25, 0.7275390625, 0.1298828125, 0.0107421875]
    assert [v[1] for v in spans] == [3.5, 0.859619140625, 0.18359375, 0.0263671875]
    gaps = [
        values(SubsequenceKernel(p=p, decay=0.5, normalise=False, gaps_only=True), BANANA, ANANAS)[0]
        for p in range(1, 5)
    ]
    assert gaps == [13, 11.640625, 8.3125, 2.75]


def test_the_worked_numbers_of_words() -> None:
    texts = ["the cat sat on the mat", "the cat on the mat"]
    for p, expected in ((1, 1.75), (2, 0.26611328125)):
        assert values(SubsequenceKernel(p=p, decay=0.5, unit="word", normalise=False), *texts)[0] == expected


def test_all_lengths_come_from_one_run() -> None:
    kernel = SubsequenceKernel(p=4, decay=0.5)
    K = kernel.by_length(kernel.prepare([BANANA]), kernel.prepare([ANANAS, BANANA]))
    assert K[:, 0, 0].tolist() == [13, 11.640625, 8.3125, 2.75]


texts = st.lists(st.text("abc", max_size=7), min_size=1, max_size=4)


@settings(max_examples=100)
@given(
    a=texts,
    b=texts,
    p=st.integers(1, 4),
    n_lengths=st.integers(1, 4),
    decay=st.sampled_from([0.3, 0.5, 1.0]),
    max_gap=st.sampled_from([None, 0, 1, 3]),
    gaps_only=st.booleans(),
)
@pytest.mark.filterwarnings("ignore:.*kernel values are 0")
def test_subsequences_are_those_of_the_definition(a, b, p, n_lengths, decay, max_gap, gaps_only) -> None:
    q = max(1, p - n_lengths + 1)
    weights = [1.0, 2.0, 0.5, 3.0][: p - q + 1]
    kernel = SubsequenceKernel(p, q, weights, decay=decay, max_gap=max_gap, gaps_only=gaps_only, normalise=False)
    how = (decay, np.inf if max_gap is None else max_gap, gaps_only)
    A, B = kernel.prepare(a), kernel.prepare(b)
    expected = [[kernel_by_hand(s, t, range(q, p + 1), weights, *how) for t in b] for s in a]
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-300)
    own = [kernel_by_hand(s, s, range(q, p + 1), weights, *how) for s in a]
    np.testing.assert_allclose(kernel.diagonal(A), own, rtol=1e-12)
    np.testing.assert_allclose(np.diagonal(kernel(A, A)), own, rtol=1e-12)


KERNELS = [
    SpectrumKernel(p=2),
    SpectrumKernel(p=3, q=1, weights=[3, 2, 1]),
    SubsequenceKernel(p=3, decay=0.6),
    SubsequenceKernel(p=3, q=2, decay=0.6, max_gap=2),
    SubsequenceKernel(p=2, decay=0.6, precision="single"),
]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))


def random_texts(n: int, longest: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), length)) for length in rng.integers(3, longest, n)]


@each_kernel
def test_gram_matrices_are_symmetric_positive_and_have_ones_on_the_diagonal(kernel) -> None:
    A = kernel.prepare(random_texts(45, 40))
    K = kernel(A, A)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(np.diagonal(K), 1, rtol=1e-6)
    assert np.linalg.eigvalsh(K).min() > -1e-5
    assert K.min() >= 0
    assert K.max() < 1 + 1e-6


@each_kernel
def test_threads_and_blocks_change_nothing(kernel) -> None:
    from dataclasses import replace

    texts = random_texts(150, 12)
    A, B = kernel.prepare(texts), kernel.prepare(texts[:20])
    K = kernel(A, B)
    threaded = replace(kernel, n_jobs=3)
    np.testing.assert_array_equal(threaded(threaded.prepare(texts), threaded.prepare(texts[:20])), K)
    np.testing.assert_array_equal(threaded(A, A), kernel(A, A))
    one_by_one = np.concatenate([kernel(A[[i]], B) for i in range(0, 150, 7)])
    np.testing.assert_array_equal(one_by_one, K[::7])


@each_kernel
def test_sequences_without_a_piece_have_zeros_everywhere(kernel) -> None:
    texts = ["ACGT", "", "A", "ACG"] if min(kernel.lengths) > 1 else ["ACGT", "", "ACG"]
    empty = [i for i, text in enumerate(texts) if len(text) < min(kernel.lengths)]
    with pytest.warns(UserWarning, match=rf"{len(empty)} of {len(texts)} sequences have fewer than"):
        A = kernel.prepare(texts)
    K = kernel(A, A)
    assert not K[empty].any()
    assert not K[:, empty].any()
    assert not kernel.diagonal(A)[empty].any()
    assert K[0, 0] == pytest.approx(1)
    assert K[0, -1] > 0


@pytest.mark.filterwarnings("ignore:.*kernel values are 0")
@each_kernel
def test_nothing_at_all_is_a_block_of_no_size(kernel) -> None:
    none, some = kernel.prepare([]), kernel.prepare(["ACGT", ""])
    assert kernel(none, some).shape == (0, 2)
    assert kernel(some, none).shape == (2, 0)
    assert kernel(some[1:], some[1:]).tolist() == [[0.0]]


@each_kernel
def test_kernels_survive_as_plain_values(kernel) -> None:
    assert type(kernel)(**kernel.to_dict()).to_dict() == kernel.to_dict()
    assert "n_jobs" not in kernel.to_dict()


def test_without_gaps_and_decay_subsequences_are_the_spectrum() -> None:
    texts = random_texts(9, 15)
    one, two = SpectrumKernel(p=3), SubsequenceKernel(p=3, decay=1.0, max_gap=0)
    A = one.prepare(texts)
    np.testing.assert_array_equal(one(A, A), two(A, A))


def test_a_large_bound_on_gaps_is_none() -> None:
    texts = random_texts(6, 10)
    bounded, free = SubsequenceKernel(p=3, decay=0.5, max_gap=10), SubsequenceKernel(p=3, decay=0.5)
    A = bounded.prepare(texts)
    np.testing.assert_allclose(bounded(A, A), free(A, A), rtol=1e-12)


def test_single_precision_is_near_double() -> None:
    texts = [text for text in random_texts(20, 60) if len(text) > 3]
    single, double = (SubsequenceKernel(p=4, decay=0.8, precision=name) for name in ("single", "double"))
    A = double.prepare(texts)
    np.testing.assert_allclose(single(A, A), double(A, A), rtol=2e-5)


def test_sums_beyond_every_number_are_an_error() -> None:
    kernel = SubsequenceKernel(p=16, decay=1.0, precision="single")
    with pytest.raises(DataError, match="too large for float32.*precision='double'"):
        kernel(A := kernel.prepare(["A" * 200]), A)


def test_characters_outside_the_alphabet() -> None:
    strict = SpectrumKernel(p=2, alphabet="ACGT")
    with pytest.raises(DataError, match="token 'N' at place 1"):
        strict.prepare(["ANC"])
    lenient = SpectrumKernel(p=2, alphabet="ACGT", unknown="skip")
    assert values(lenient, "ANC", "AC") == [1, 1, 1]


def test_normalised_values_are_zero_where_a_norm_is() -> None:
    assert normalise(np.array([[2.0, 5.0]]), np.array([4.0]), np.array([1.0, 0.0])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"p": 0}, "p=0; expected a whole number of at least 1"),
        ({"p": 2, "q": 3}, "q=3, p=2"),
        ({"p": 2, "q": 1, "weights": [1]}, "1 weights were given; expected 2"),
        ({"p": 1, "weights": [-1]}, "weights=-1"),
        ({"p": 1, "weights": [0]}, "All weights are 0"),
        ({"unit": "syllable"}, "unit='syllable'"),
        ({"decay": 0}, "decay=0; expected a number above 0"),
        ({"decay": 1.5}, "at most 1"),
        ({"p": 17}, "p=17; expected at most 16"),
        ({"max_gap": -1}, "max_gap=-1"),
        ({"p": 9, "max_gap": 40}, "patterns of gaps"),
        ({"precision": "half"}, "precision='half'"),
    ],
)
def test_parameters_are_doubted(parameters, message) -> None:
    with pytest.raises(ParameterError, match=message):
        SubsequenceKernel(**parameters)


# -- explicit features -------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(train=texts, test=texts, p=st.integers(1, 3), max_gap=st.integers(0, 2), normalised=st.booleans())
@pytest.mark.filterwarnings("ignore:.*kernel values are 0")
def test_inner_products_of_features_are_the_kernel(train, test, p, max_gap, normalised) -> None:
    train = [*train, "abc"]
    how = {"p": p, "q": 1, "decay": 0.5, "max_gap": max_gap, "normalise": normalised}
    features = SpectrumFeatures(**how, dtype="float64").fit(train)
    kernel = SubsequenceKernel(**how, gaps_only=True)
    K = kernel(kernel.prepare(test), kernel.prepare(train))
    X, Z = features.transform(test), features.transform(train)
    np.testing.assert_allclose((X @ Z.T).toarray(), K, rtol=1e-9, atol=1e-12)


def test_features_of_words_have_names() -> None:
    features = SpectrumFeatures(p=2, unit="word").fit(["the cat sat", "a cat sat"])
    assert sorted(features.get_feature_names_out()) == ["a cat", "cat sat", "the cat"]
    again = SpectrumFeatures.from_state(*features.state())
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()


def test_features_are_the_same_after_storing_and_for_any_number_of_threads() -> None:
    texts = random_texts(30, 30)
    one = SpectrumFeatures(p=3, q=2, max_gap=1, decay=0.5, min_df=2).fit(texts)
    for other in (SpectrumFeatures.from_state(*one.state()), one.set_params(n_jobs=3).fit(texts)):
        assert (other.transform(texts[:7]) != one.transform(texts[:7])).nnz == 0
    assert (one.fit_transform(texts) != one.transform(texts)).nnz == 0


def test_no_substring_at_all_is_an_error() -> None:
    with pytest.raises(DataError, match="None of the 2 sequences has a substring of 4 tokens"):
        SpectrumFeatures(p=4).fit(["ACG", ""])


@pytest.mark.data
def test_protein_sequences_fall_apart_by_enzyme_class(data_dir) -> None:
    from linnaeus.data import read_dataset

    data = read_dataset(data_dir / "enzyme_ec" / "split10.csv.gz", limit=400)
    kernel = SpectrumKernel(p=4)
    K = kernel(A := kernel.prepare(data.sequences), A)
    top = np.array([labels[0].split(".")[:3] for labels in data.labels])
    np.fill_diagonal(K, 0)
    same = (top[:, None] == top[None]).all(axis=2)
    assert K[same].mean() > 2 * K[~same].mean()


def test_a_kernel_model_on_sequences_is_the_linear_one_on_their_features(tmp_path) -> None:
    from linnaeus import HM3, load, save

    texts = random_texts(40, 20)
    y = [["A", "B"] if "AC" in text else ["C"] for text in texts]
    how = {"C": 1.0, "tol": 1e-6, "random_state": 0}
    one = HM3(kernel=SpectrumKernel(p=2), **how).fit(texts, y)
    features = SpectrumFeatures(p=2, dtype="float64").fit(texts)
    two = HM3(kernel="linear", **how).fit(features.transform(texts), y)
    new = random_texts(9, 20, seed=1)
    np.testing.assert_allclose(one.decision_function(new), two.decision_function(features.transform(new)), atol=2e-2)
    save(one, tmp_path)
    np.testing.assert_array_equal(load(tmp_path).decision_function(new), one.decision_function(new))


def test_a_text_is_unknown_to_features_of_proteins() -> None:
    features = SpectrumFeatures(p=3, q=1).fit(["MKTAYIAKQR", "GGTTKLAAMM"])
    prose, protein, nothing = features.known_terms(["Treatment of breast cancer", "MKTX", ""]).tolist()
    assert (prose, nothing) == (0, 0)
    assert protein > 0
