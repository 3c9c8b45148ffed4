"""Values of every kind survive the way through JSON and arrays."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.errors import StoreError
from linnaeus.store.codec import decode, encode


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
