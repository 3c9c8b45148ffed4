from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding.backoff import RiskControl, fit_risk
from linnaeus.decoding.smoothing import lowered
from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import taxonomy
from tests.decoding.test_calibrate import sample


def probabilities(tax: Taxonomy, n_docs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Coherent values that are bad probabilities: the promise may not depend on how good they are."""
    S, gold = sample(tax, n_docs, seed)
    return lowered(1 / (1 + np.exp(-S)), tax), gold


@pytest.mark.parametrize("kind", ["tree", "dag"])
@pytest.mark.parametrize("loss", ["any_wrong", "wrong_share"])
@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_the_mean_risk_over_many_calibrations_is_kept(kind: str, loss: str, risk: float) -> None:
    tax, n, repeats = taxonomy(kind), 120, 300
    nodes = np.flatnonzero(np.arange(tax.n_nodes) != tax.root)
    P, gold = probabilities(tax, repeats * (n + 1), 3)
    losses = np.zeros(repeats)
    for r in range(repeats):
        part = slice(r * (n + 1), r * (n + 1) + n)
        Y = tax.indicator(tax.labels(gold[part].astype(int)))
        control = fit_risk(P[part][:, nodes], Y, nodes, loss)
        new = r * (n + 1) + n
        answer = control.answers(P[[new]][:, nodes], risk, tax, nodes)
        assert is_closed(tax, answer)
        wrong = ~gold[new, answer.indices]
        losses[r] = wrong.any() if loss == "any_wrong" else wrong.sum() / len(nodes)
    band = 3 * max(losses.std(), np.sqrt(risk * (1 - risk)) if loss == "any_wrong" else 0.0) / np.sqrt(repeats)
    assert losses.mean() <= risk + band
    if loss == "any_wrong":
        assert losses.mean() >= risk - 2 / (n + 1) - band  # cautious, but not more than it must be


def test_the_worked_example() -> None:
    highest = np.array([0.62, 0.35, 0.80, 0.0, 0.20, 0.55, 0.10, 0.45, 0.0])
    control = RiskControl.of_highest_wrong(highest)
    assert [control.caution(risk) for risk in (0.1, 0.2, 0.3)] == [0.80, 0.62, 0.55]


def test_a_smaller_risk_answers_less_and_never_something_else() -> None:
    tax = taxonomy("dag")
    nodes = np.flatnonzero(np.arange(tax.n_nodes) != tax.root)
    P, gold = probabilities(tax, 500, 0)
    control = fit_risk(P[:400][:, nodes], tax.indicator(tax.labels(gold[:400].astype(int))), nodes)
    sets = [control.answers(P[400:][:, nodes], risk, tax, nodes) for risk in (0.02, 0.1, 0.4)]
    assert 0 <= sets[0].nnz < sets[1].nnz < sets[2].nnz
    for small, large in ((sets[0], sets[1]), (sets[1], sets[2])):
        assert small.multiply(large).nnz == small.nnz


@pytest.mark.parametrize(("risk", "message"), [(0.001, "cannot be promised from 9"), (1.5, "between 0 and 1")])
def test_promises_that_cannot_be_kept_are_refused(risk: float, message: str) -> None:
    control = RiskControl.of_highest_wrong(np.linspace(0, 1, 9))
    with pytest.raises(LinnaeusError, match=message):
        control.caution(risk)
