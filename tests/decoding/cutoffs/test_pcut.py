from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import PCut, TopScores, decoder
from linnaeus.decoding.cutoffs import pcut
from linnaeus.decoding.cutoffs.cut_off import micro_f1
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.closure import is_closed
from tests.decoding.oracles import rows


@settings(max_examples=100)
@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([0.5, 1.0, 1.3]))
def test_every_label_goes_to_its_share_of_the_best_documents(seed: int, n_docs: int, x: float) -> None:
    rng = np.random.default_rng(seed)
    tax = Taxonomy.flat("ABC")
    S, shares = rng.integers(0, 5, size=(n_docs, 3)) / 4, rng.random(3)
    answers = PCut(x, shares=shares)(S, tax).toarray()
    for v in range(3):
        wanted = int(np.floor(x * n_docs * shares[v] + 0.5))
        best = sorted(range(n_docs), key=lambda d: (-S[d, v], d))[:wanted]
        assert set(np.flatnonzero(answers[:, v])) == set(best)


def batch(n_docs: int = 60, seed: int = 0) -> tuple[Taxonomy, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Y = rng.random((n_docs, 6)) < 0.3
    return Taxonomy.flat("ABCDEF"), Y + 0.7 * rng.normal(size=Y.shape), Y.astype(np.int8)


def test_x_of_one_keeps_the_shares_of_the_held_out_documents() -> None:
    tax, S, Y = batch()
    answers = PCut().fit(S, Y, tax)(S, tax)
    assert answers.toarray().sum(axis=0).tolist() == Y.sum(axis=0).tolist()


def test_the_tuned_x_is_the_best_that_is_tried() -> None:
    tax, S, Y = batch()
    gold = tax.indicator(tax.labels(Y))
    tuned = PCut(None).fit(S, Y, tax)
    values = {x: micro_f1(gold, PCut(x).fit(S, Y, tax)(S, tax), tax) for x in pcut._GRID}
    assert values[tuned.x] == max(values.values())


def test_one_document_alone_is_refused() -> None:
    tax, S, Y = batch()
    cut = PCut().fit(S, Y, tax)
    with pytest.raises(DataError, match="cannot decide one document alone"):
        cut(S[:1], tax)
    assert cut(S[:0], tax).shape == (0, 6)


def test_blocks_are_one_batch_and_large_ones_compete_with_their_best_scores(monkeypatch) -> None:
    tax, S, Y = batch()
    cut = PCut().fit(S, Y, tax)
    whole = rows(cut(S, tax))
    assert rows(cut.over_blocks([S[:1], S[1:20], S[20:]], tax)) == whole
    assert cut.over_blocks([], tax).shape == (0, 6)
    monkeypatch.setattr(pcut, "_WHOLE", 50)
    assert rows(cut.over_blocks([S[:20], S[20:]], tax)) == whole
    monkeypatch.setattr(pcut, "_TOP", 2)
    best = TopScores.of(S, 2).dense()
    assert rows(cut.over_blocks([S[:20], S[20:]], tax)) == rows(cut(best, tax))


def test_documents_left_with_nothing_may_get_their_best_label() -> None:
    tax, S, Y = batch()
    bare, filled = (PCut(0.3, at_least_one=flag).fit(S, Y, tax)(S, tax) for flag in (False, True))
    for row, before, after in zip(S, rows(bare), rows(filled), strict=True):
        assert after == (before or {int(row.argmax())})
    assert not all(rows(bare))


@pytest.mark.parametrize("repair", ["closure", "suppress"])
def test_answers_can_be_closed(abc: Taxonomy, repair: str) -> None:
    rng = np.random.default_rng(0)
    Y = abc.indicator([[name] for name in rng.choice(["AA", "AB", "BA", "B"], size=40)])
    S = rng.normal(size=(40, 7))
    answers = PCut(repair=repair).fit(S, Y, abc)(S, abc)
    assert is_closed(abc, answers)
    assert not answers[:, [abc.root]].nnz


def test_it_survives_its_dictionary_and_refuses_another_taxonomy() -> None:
    tax, S, Y = batch()
    cut = PCut(None).fit(S, Y, tax)
    assert decoder(**json.loads(json.dumps(cut.to_dict()))) == cut
    with pytest.raises(ParameterError, match="fitted on 6 nodes; this taxonomy has 2"):
        cut(S[:, :2], Taxonomy.flat("AB"))
    with pytest.raises(ParameterError, match="has not learned"):
        PCut()(S, tax)
    with pytest.raises(ParameterError, match="x=0"):
        PCut(0)
