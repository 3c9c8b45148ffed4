from __future__ import annotations

import copy
import json
import pickle

import numpy as np

from linnaeus.metrics import Score


def test_is_a_plain_number_that_remembers_how_it_was_made():
    score = Score(0.25, n=4, n_skipped=1, convention="micro")
    assert score == 0.25
    assert score * 2 == 0.5
    assert json.dumps(score) == "0.25"
    assert (score.n, score.n_skipped, score.convention) == (4, 1, "micro")


def test_survives_pickle_and_copy():
    score = Score(0.25, n=4, n_skipped=1, convention="micro")
    for twin in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score)):
        assert (float(twin), twin.n, twin.n_skipped, twin.convention) == (0.25, 4, 1, "micro")


def test_means_say_over_how_many_documents_and_are_nan_over_none():
    mean = Score.mean(np.array([1.0, 0.0, 0.0, 0.0]), "so", n_skipped=2)
    assert (mean, mean.n, mean.n_skipped, mean.convention) == (0.25, 4, 2, "so")
    assert Score.mean(np.array([1, 0]), weights=np.array([3.0, 1.0])) == 0.75
    assert np.isnan(Score.mean(np.zeros(0)))
    assert np.isnan(Score.mean(np.ones(2), weights=np.zeros(2)))
