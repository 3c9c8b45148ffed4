from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linnaeus.models.published.hm3_variants import EdgeSlackBlocks
from tests.models.structured import numbers
from tests.models.structured.oracles import Case, edge_slack_optimum
from tests.models.structured.solving import pieces, solved


def optimum(case: Case) -> float:
    layout, table, truth, C = pieces(case)
    above = np.where(layout.parent < 0, 1, truth[:, np.maximum(layout.parent, 0)])
    blocks = EdgeSlackBlocks(layout, table, 2 * above + truth, C)
    return solved(blocks, np.asarray(case.K), layout.width, layout.columns).history[-1].primal


@pytest.mark.parametrize("setting", numbers.OPTIMA_A, ids=str)
def test_one_slack_per_edge_has_the_worked_optima(setting) -> None:
    assert optimum(numbers.case_a(*setting)) == pytest.approx(numbers.OPTIMA_A[setting][4], abs=1e-6)


@pytest.mark.parametrize("above_root", [False, True])
@pytest.mark.parametrize("consistent", [False, True])
def test_one_slack_per_edge_has_the_optimum_of_the_generic_solver(above_root, consistent) -> None:
    case = numbers.case_b("hierarchical", "sibling", 0.4, above_root=above_root, consistent=consistent)
    assert optimum(case) == pytest.approx(edge_slack_optimum(case), abs=1e-6)


def test_how_a_loss_is_divided_among_edges_matters_here() -> None:
    # with all of a node's loss on its own edge and the root's on the first, the optimum would be 4.375
    assert optimum(numbers.case_a()) == pytest.approx(4.07142857, abs=1e-6)
    assert optimum(replace(numbers.case_a(), C=0.05)) == pytest.approx(0.3875, abs=1e-6)
