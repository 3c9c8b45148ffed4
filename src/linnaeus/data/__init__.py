"""Data: documents and labels read from files, validated, split and described."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnaeus.data.corpora import demo_corpus as demo_corpus
    from linnaeus.data.dataset import Dataset as Dataset
    from linnaeus.data.dataset import concatenate as concatenate
    from linnaeus.data.label_files.suggestions import join_suggestions as join_suggestions
    from linnaeus.data.readers import read_dataset as read_dataset
    from linnaeus.data.splits import drop_duplicates as drop_duplicates
    from linnaeus.data.splits import drop_overlap as drop_overlap
    from linnaeus.data.splits import hash_split as hash_split
    from linnaeus.data.splits import kfold as kfold
    from linnaeus.data.splits import train_test_split as train_test_split

# `describe` is not exported: it is also the name of its module, which becomes the attribute once it is imported.
_HOMES = {
    "Dataset": "dataset",
    "concatenate": "dataset",
    "demo_corpus": "corpora",
    "drop_duplicates": "splits",
    "drop_overlap": "splits",
    "hash_split": "splits",
    "join_suggestions": "label_files.suggestions",
    "kfold": "splits",
    "read_dataset": "readers",
    "train_test_split": "splits",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"linnaeus.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'linnaeus.data' has no attribute {name!r}")
