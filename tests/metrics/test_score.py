from __future__ import annotations

import copy
import json
import pickle

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
