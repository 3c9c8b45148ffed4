"""Kernels and features for sequences over characters, words or any tokens.

SpectrumKernel       substrings of p tokens, or of q to p
SubsequenceKernel    the same with gaps, weighted by decay, bounded or not
SpectrumFeatures     explicit sparse features with the same inner products, for linear models
Sequences, encode    documents as codes
"""

from __future__ import annotations

from linnaeus.features.sequences import Sequences, encode
from linnaeus.features.spectrum import SpectrumFeatures, SpectrumKernel
from linnaeus.features.subsequence import SubsequenceKernel

__all__ = ["Sequences", "SpectrumFeatures", "SpectrumKernel", "SubsequenceKernel", "encode"]
