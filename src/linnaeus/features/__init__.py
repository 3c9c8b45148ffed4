"""Features: documents to matrices."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnaeus.features.dense import DenseFeatures as DenseFeatures
    from linnaeus.features.dense import FillMissing as FillMissing
    from linnaeus.features.documents import default_features as default_features
    from linnaeus.features.embedding import EmbeddedText as EmbeddedText
    from linnaeus.features.hashed import HashedText as HashedText
    from linnaeus.features.kernel_map import KernelMap as KernelMap
    from linnaeus.features.side_by_side import SideBySide as SideBySide
    from linnaeus.features.spectrum import SpectrumFeatures as SpectrumFeatures
    from linnaeus.features.spectrum import SpectrumKernel as SpectrumKernel
    from linnaeus.features.subsequence import SubsequenceKernel as SubsequenceKernel
    from linnaeus.features.text import TextFeatures as TextFeatures

_HOMES = {
    "DenseFeatures": "linnaeus.features.dense",
    "EmbeddedText": "linnaeus.features.embedding",
    "FillMissing": "linnaeus.features.dense",
    "HashedText": "linnaeus.features.hashed",
    "KernelMap": "linnaeus.features.kernel_map",
    "SideBySide": "linnaeus.features.side_by_side",
    "SpectrumFeatures": "linnaeus.features.spectrum",
    "SpectrumKernel": "linnaeus.features.spectrum",
    "SubsequenceKernel": "linnaeus.features.subsequence",
    "TextFeatures": "linnaeus.features.text",
    "default_features": "linnaeus.features.documents",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'linnaeus.features' has no attribute {name!r}")
