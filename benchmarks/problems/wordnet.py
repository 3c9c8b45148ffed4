"""Glosses of nouns, labelled with what the noun is a kind of: a DAG of 17,157 nodes."""

from __future__ import annotations

from benchmarks.problems.base import DATA, Problem
from linnaeus import Taxonomy
from linnaeus.data.readers import read_dataset


def wordnet_nouns() -> Problem:
    """Glosses as sublinear TF-IDF of unit length over terms of at least two training documents; a DAG."""
    from linnaeus.features.text import TextFeatures

    folder = DATA / "wordnet_nouns"
    taxonomy = Taxonomy.read(folder / "taxonomy.tsv.xz")
    train = read_dataset(folder / "train.jsonl.xz", taxonomy=taxonomy)
    test = read_dataset(folder / "test.jsonl.xz", taxonomy=taxonomy)
    features = TextFeatures(sublinear_tf=True, min_df=2)
    X, X_test = features.fit_transform(train.documents), features.transform(test.documents)
    return Problem("wordnet_nouns", taxonomy, X, train.indicator(taxonomy), X_test, test.indicator(taxonomy))
