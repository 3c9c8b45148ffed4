"""Names of string kernels and features say what they look like."""

from __future__ import annotations

import pytest

from linnaeus.errors import ParameterError
from linnaeus.features import SpectrumKernel, SubsequenceKernel
from linnaeus.features.named import string_features, string_kernel


def test_names_give_lengths_and_parameters() -> None:
    assert string_kernel("spectrum:3", n_jobs=2) == SpectrumKernel(p=3, n_jobs=2)
    assert string_kernel("spectrum:2-5,unit=word") == SpectrumKernel(p=5, q=2, unit="word")
    assert string_kernel("subsequence:4,decay=0.7,max_gap=None,gaps_only=True") == SubsequenceKernel(
        p=4, decay=0.7, gaps_only=True
    )
    assert string_kernel("spectrum") == SpectrumKernel()
    made = string_features("spectrum:2,max_gap=1,decay=0.5", min_df=3)
    assert (made.p, made.q, made.max_gap, made.decay, made.min_df) == (2, None, 1, 0.5, 3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spektrum:4", "expected spectrum:N or subsequence:N, for example spectrum:4 .*; did you mean 'spectrum'"),
        ("spectrum:four", "'four' is not a length"),
        ("spectrum:4,gap=1", "spectrum has the parameters p, q"),
        ("spectrum:4-2", "q=4, p=2"),
    ],
)
def test_wrong_names_are_explained(name, message) -> None:
    with pytest.raises(ParameterError, match=message):
        string_kernel(name)
