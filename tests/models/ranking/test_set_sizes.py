"""How many of the best labels: learned from documents that the model has not seen."""

from __future__ import annotations

import numpy as np

from linnaeus import Taxonomy
from linnaeus.decoding import RCut, SetSize
from linnaeus.models.ranking.set_sizes import set_size_decoder, stored_decoder


def documents(n_docs: int):
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat("ABCD")
    Y = (rng.random((n_docs, 4)) < 0.5).astype(np.int8)
    Y[Y.sum(axis=1) == 0, 0] = 1
    return tax, tax.indicator([[n for n, on in zip("ABCD", row, strict=True) if on] for row in Y]), Y


def test_held_out_documents_are_scored_by_a_model_of_the_others() -> None:
    tax, Y, dense = documents(100)
    asked = []

    def scores(train, test):
        asked.append((train, test))
        return dense[test] + 0.0

    decoder = set_size_decoder("held_out", Y, tax, np.arange(4), scores)
    assert isinstance(decoder, SetSize)
    [(train, test)] = asked
    assert not np.intersect1d(train, test).size
    assert 15 <= len(test) <= 25
    assert (decoder(dense.astype(float), tax) != Y).nnz == 0


def test_few_documents_are_not_split() -> None:
    tax, Y, dense = documents(10)
    seen = []
    set_size_decoder("held_out", Y, tax, np.arange(4), lambda *rows: seen.append(rows) or dense + 0.0)
    assert seen == [(None, None)]


def test_the_mean_is_the_same_number_for_all() -> None:
    tax, Y, dense = documents(50)
    decoder = set_size_decoder("mean", Y, tax, np.arange(4), lambda *rows: dense)
    assert decoder == RCut(round(float(dense.sum(axis=1).mean())))


def test_empty_sets_can_be_answered_where_some_were_learned() -> None:
    tax, Y, dense = documents(100)
    emptied = tax.indicator([[] if i % 2 else row for i, row in enumerate(tax.labels(Y))])
    decoder = set_size_decoder("training", emptied, tax, np.arange(4), lambda *rows: dense + 0.0)
    assert not decoder.at_least_one


def test_it_survives_as_plain_values() -> None:
    tax, Y, dense = documents(60)
    decoder = set_size_decoder("training", Y, tax, np.arange(4), lambda *rows: dense + 0.0)
    assert stored_decoder(decoder.to_dict()) == decoder
