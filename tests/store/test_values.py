"""Values of every kind survive the way through JSON and arrays."""

from __future__ import annotations

import json
import math
import zlib

import numpy as np
import pytest
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.errors import LinnaeusError, StoreError
from linnaeus.store.folder import decode, encode
from linnaeus.taxonomy.texts import Texts


def round_trip(value):
    arrays: dict = {}
    return decode(json.loads(json.dumps(encode(value, arrays), allow_nan=False)), arrays)


@pytest.mark.parametrize("value", [None, True, 3, 2.5, "naïve", [1, [2, "x"]], {"a": 1, "b": {"c": [None]}}, {}])
def test_plain_values_survive(value) -> None:
    assert round_trip(value) == value


def test_numbers_that_json_lacks_survive() -> None:
    assert round_trip(math.inf) == math.inf
    assert math.isnan(round_trip(math.nan))
    assert round_trip(np.float32(0.5)) == 0.5


def test_arrays_survive() -> None:
    for array in (np.arange(6).reshape(2, 3), np.array([], dtype=np.float32), np.array([True, False])):
        again = round_trip(array)
        np.testing.assert_array_equal(again, array)
        assert again.dtype == array.dtype
    assert round_trip(np.array(["a", "ü"], dtype=object)).tolist() == ["a", "ü"]
    matrix = sparse.random_array((4, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    assert (round_trip(matrix) != matrix).nnz == 0


def test_a_taxonomy_survives_and_is_made_once() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "line\nbreak"), ("R", "Ünïcode")], display_labels={"A": "eins"})
    first, second = round_trip([tax, tax])
    assert first == tax
    assert first is second
    assert first.display("A") == "eins"
    assert round_trip(Taxonomy.from_edges([("a", "b"), ("b", "c")], kind="graph")).kind == "graph"


def test_foreign_objects_are_refused() -> None:
    with pytest.raises(StoreError, match="cannot be saved"):
        encode(object(), {})


def test_promises_of_an_earlier_version_are_dropped_with_a_warning():
    fields = {"level": [0.8, 0.6], "total": [1.0, 2.0], "n": 9, "loss": "any_wrong", "exact": True}
    with pytest.warns(UserWarning, match="calibrate the model again"):
        assert decode({"$object": "RiskControl", "fields": {"$dict": list(fields.items())}}, {}) is None


def with_texts() -> Taxonomy:
    entries = [(1, "preferred", "en", "Opera"), (1, "definition", "de", "Gesungenes Drama. " * 5000)]
    return Taxonomy.from_edges([("m", "m1")]).with_texts(Texts.from_entries(entries))


def test_texts_of_a_taxonomy_survive_compressed() -> None:
    arrays: dict = {}
    entry = encode(with_texts(), arrays)
    assert sum(array.nbytes for array in arrays.values()) < 1000
    assert decode(entry, arrays).texts == with_texts().texts


@pytest.mark.parametrize(
    ("part", "value"),
    [("node", np.array([1, 7], np.int32)), ("kind", np.array([0, 9], np.uint8)), ("lengths", np.array([5.0, 1.0]))],
)
def test_texts_that_do_not_fit_the_taxonomy_are_refused(part, value) -> None:
    arrays: dict = {}
    entry = encode(with_texts(), arrays)
    key = next(key for key in arrays if key.endswith(f"texts.{part}"))
    with pytest.raises(LinnaeusError):
        decode(entry, {**arrays, key: value})


def test_damaged_texts_are_an_error_when_they_are_read() -> None:
    arrays: dict = {}
    entry = encode(with_texts(), arrays)
    key = next(key for key in arrays if key.endswith("texts.pool"))
    with pytest.raises(StoreError, match="damaged"):
        list(decode(entry, {**arrays, key: arrays[key][::-1]}).texts)
    longer = np.frombuffer(zlib.compress(b"\0" * 10**7), np.uint8)
    with pytest.raises(StoreError, match="bytes; expected"):
        list(decode(entry, {**arrays, key: longer}).texts)
