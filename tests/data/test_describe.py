"""Counts, checked by hand on small data."""

from __future__ import annotations

import json

import numpy as np
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.data import Dataset
from linnaeus.data.describe import describe


def test_counts_of_labels_on_a_taxonomy(abc: Taxonomy) -> None:
    labels = [["AA"], ["AA", "A"], [], ["BB", "x"], ["x"]]
    counts = describe(Dataset(sequences=["M", "MM", "MMM", "M", "V"], labels=labels), abc)
    assert counts["n_docs"] == 5
    assert counts["mean_length"] == 1.6
    assert counts["n_duplicates"] == 1
    found = counts["labels"]
    assert (found["n_labels"], found["per_doc"], found["docs_without"]) == (4, 6 / 5, 1)
    assert found["per_doc_closed"] == 6 / 5  # {A, AA}, {A, AA}, {}, {B, BB}, {}
    assert (found["n_leaf_labels"], found["n_internal_labels"]) == (2, 1)
    assert found["share_at_internal_nodes"] == 1 / 4
    assert found["n_nodes_without_data"] == 2  # AB and BA; the root does not count
    assert (found["n_unknown"], found["n_unknown_occurrences"], found["unknown"]) == (1, 2, {"x": 2})
    assert found["docs_per_label"] == {"min": 1, "25%": 1, "median": 1.5, "75%": 2, "max": 2}
    assert found["n_labels_once"] == 2
    assert counts["taxonomy"] == {
        "kind": "tree",
        "n_nodes": 7,
        "n_edges": 6,
        "n_leaves": 4,
        "nodes_per_level": [2, 4],
    }


def test_counts_of_features_and_missing_values() -> None:
    dense = describe(Dataset(X=np.array([[1, np.nan], [np.nan, np.nan], [1, 2]]), feature_names=["s=a", "s=b"]))
    assert (dense["n_features"], dense["n_attributes"]) == (2, 1)
    assert dense["missing"] == {"n_values": 3, "n_docs": 2}
    assert describe(Dataset(X=sparse.csr_array(np.eye(4))))["nnz_per_doc"] == 1


def test_counts_of_fields_and_parts() -> None:
    data = Dataset(
        fields={"title": ["a b", ""], "body": ["c", "d"]}, labels=[["x"], []], split=["train", "train"], source="f"
    )
    counts = describe(data)
    assert counts["fields"]["title"] == {"n_docs": 1, "mean_words": 1.0}
    assert counts["split"] == {"train": {"n_docs": 2, "n_docs_with_label": 1}}
    assert "taxonomy" not in counts


def test_the_counts_are_plain_values_even_of_nothing(abc: Taxonomy) -> None:
    empty, unlabelled = Dataset(sequences=[], labels=[], taxonomy=abc), Dataset(fields={"text": ["a"]})
    for counts, n_docs in ((describe(empty), 0), (describe(unlabelled), 1)):
        assert json.loads(json.dumps(counts)) == counts
        assert counts["n_docs"] == n_docs
