"""Missing values take a number learned in training."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.errors import DataError, ParameterError
from linnaeus.features import FillMissing

TRAIN = np.array([[1.0, np.nan, np.nan], [2.0, 4.0, np.nan], [6.0, 6.0, np.nan]])


@pytest.mark.parametrize(("how", "values"), [("mean", [3, 5, 0]), ("median", [2, 5, 0]), ("zero", [0, 0, 0])])
def test_a_missing_value_takes_the_value_of_training(how: str, values: list[float]) -> None:
    filled = FillMissing(how).fit(TRAIN).transform(np.full((1, 3), np.nan))
    assert filled.tolist() == [values]


def test_present_values_stay_and_the_input_is_untouched() -> None:
    X = TRAIN.astype(np.float32)
    filled = FillMissing().fit(TRAIN).transform(X)
    assert filled.dtype == np.float32
    assert (filled[~np.isnan(X)] == X[~np.isnan(X)]).all()
    assert np.isnan(X).sum() == 4


def test_the_state_is_one_array() -> None:
    model = FillMissing().fit(TRAIN)
    again = FillMissing.from_state(*model.state())
    assert again.transform(TRAIN).tobytes() == model.transform(TRAIN).tobytes()


def test_wrong_use_is_named() -> None:
    with pytest.raises(ParameterError, match="median"):
        FillMissing("mode").fit(TRAIN)
    with pytest.raises(DataError, match="3 columns"):
        FillMissing().fit(TRAIN).transform(TRAIN[:, :2])
