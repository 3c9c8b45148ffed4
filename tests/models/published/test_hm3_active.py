from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linnaeus.models.published.hm3_active import ActiveBlocks, LabellingOracle
from linnaeus.models.published.hm3_labellings import EdgeSpace
from tests.models.structured import numbers
from tests.models.structured.oracles import Case, dual_optimum, primal_optimum
from tests.models.structured.solving import pieces, solved


def optimum(case: Case, *, free: bool = False) -> float:
    layout, table, truth, C = pieces(case)
    blocks = ActiveBlocks(LabellingOracle(EdgeSpace(layout), truth, table, free), C)
    solver = solved(blocks, np.asarray(case.K), layout.width, layout.columns)
    last = solver.history[-1]
    assert last.primal >= last.dual - 1e-9
    return last.primal


@pytest.mark.parametrize("setting", numbers.OPTIMA_A, ids=str)
def test_all_and_consistent_labellings_and_free_slack_have_the_worked_optima(setting) -> None:
    every, _, consistent, _, _, free = numbers.OPTIMA_A[setting]
    case = numbers.case_a(*setting)
    assert optimum(case) == pytest.approx(every, abs=1e-6)
    assert optimum(replace(case, consistent=True)) == pytest.approx(consistent, abs=1e-6)
    assert optimum(case, free=True) == pytest.approx(free, abs=1e-6)


@pytest.mark.parametrize(
    ("above_root", "consistent"),
    [
        (False, True),
        (True, False),
        pytest.param(False, False, marks=pytest.mark.slow),
        pytest.param(True, True, marks=pytest.mark.slow),
    ],
)
def test_zero_one_training_has_the_optimum_of_the_generic_solver(above_root, consistent) -> None:
    for case in (numbers.case_a("zero_one"), numbers.case_b("zero_one", C=0.3)):
        case = replace(case, above_root=above_root, consistent=consistent)
        assert optimum(case) == pytest.approx(dual_optimum(case), abs=1e-6)


def test_free_slack_with_an_edge_above_the_root_has_the_optimum_of_the_generic_solver() -> None:
    case = numbers.case_b("hierarchical", "sibling", 0.5, above_root=True)
    expected = primal_optimum(replace(case, without_truth=True))[0]
    assert optimum(case, free=True) == pytest.approx(expected, abs=1e-6)


def test_a_larger_weight_takes_up_where_a_smaller_one_ended() -> None:
    layout, table, truth, C = pieces(numbers.case_a())
    oracle = LabellingOracle(EdgeSpace(layout), truth, table)
    before = ActiveBlocks(oracle, C)
    solved(before, numbers.GRAM_A, layout.width, layout.columns)
    after = ActiveBlocks(oracle, 2 * C)
    after.take(before)
    np.testing.assert_allclose(after.coefficients(slice(None)), 2 * before.coefficients(slice(None)))
    assert after.linear_term() == pytest.approx(2 * before.linear_term())


def test_a_document_of_norm_zero_pays_its_largest_loss() -> None:
    case = replace(numbers.case_a(), K=np.diag([1.0, 0.0]))
    assert optimum(case) == pytest.approx(dual_optimum(case), abs=1e-6)
