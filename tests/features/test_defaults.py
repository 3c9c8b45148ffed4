"""Usual features follow from the kind of the documents."""

from __future__ import annotations

import pytest

from linnaeus.errors import ParameterError
from linnaeus.features import DenseFeatures, TextFeatures, default_features


def test_each_kind_has_its_features() -> None:
    assert isinstance(default_features("text"), TextFeatures)
    assert default_features("text", weighting="log2").sublinear_tf is False
    assert default_features("sequence", min_df=1).analyzer == "char"
    assert isinstance(default_features("dense"), DenseFeatures)
    given = {"scale": False, "missing": "zero", "profiles": True}
    assert default_features("dense", **given).get_params() == given
    assert default_features("sparse") is None
    with pytest.raises(ParameterError, match="'image'"):
        default_features("image")
