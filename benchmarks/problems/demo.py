"""The demo corpus of `linnaeus demo`: docstrings of installed packages, with their modules as labels."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.base import Problem
from linnaeus.data import hash_split
from linnaeus.data.corpora import demo_corpus
from linnaeus.features.text import TextFeatures


def demo() -> Problem:
    """Documents whose md5 of the name is divisible by 4 are test documents."""
    corpus = demo_corpus()
    test = hash_split(corpus.ids or [], 4)
    assert corpus.taxonomy is not None
    assert corpus.fields is not None
    texts, Y = np.array(corpus.fields["text"], dtype=object), corpus.indicator(corpus.taxonomy)
    features = TextFeatures(sublinear_tf=True, min_df=2)
    X = features.fit_transform(texts[~test].tolist())
    return Problem("demo", corpus.taxonomy, X, Y[~test], features.transform(texts[test].tolist()), Y[test])
