"""Optima of two worked problems, found with three generic solvers that agree to eight digits.

Case A: tree A, K = [[1, .5], [.5, 1]]. Case B: tree B, X = [[1, 0], [0, 1], [1, 1]]. The top node has no edge above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.models.structured.oracles import TREE_A, TREE_B, Case

GRAM_A = np.array([[1.0, 0.5], [0.5, 1.0]])
TRUTH_A = [(1, 1, 0, 1), (1, 0, 1, 0)]
X_B = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
TRUTH_B = [(1, 1, 0, 1, 0), (1, 0, 1, 0, 0), (1, 1, 1, 0, 1)]

# (cost, scaling, C): all labellings, slack of both documents, consistent ones, edges below the top untied, one slack
# per edge, free slack
OPTIMA_A: dict[tuple[str, str, float], tuple[float, float, float, float, float, float]] = {
    ("symmetric", "uniform", 0.05): (0.38750000, 3.75, 0.29281250, 0.38750000, 0.38750000, 0.38750000),
    ("symmetric", "uniform", 0.25): (1.68750000, 2.75, 1.32031250, 1.68750000, 1.68750000, 1.68750000),
    ("symmetric", "uniform", 1.0): (4.02127660, 0.61702128, 3.19843750, 4.02173913, 4.07142857, 4.02127660),
    ("symmetric", "uniform", 10.0): (4.20276498, 0.0, 3.25683761, 4.20535714, 4.42857143, -29.18181818),
    ("hierarchical", "uniform", 0.05): (0.19441761, 1.88835227, 0.19326613, 0.23750000, 0.29000000, 0.19441761),
    ("hierarchical", "uniform", 0.25): (0.86044034, 1.44176136, 0.83165323, 0.95312500, 1.25000000, 0.86044034),
    ("hierarchical", "uniform", 1.0): (1.82488479, 0.04147465, 1.66604938, 1.84821429, 2.50000000, 1.82488479),
    ("hierarchical", "uniform", 10.0): (1.82673267, 0.0, 1.66666667, 1.84821429, 2.50000000, -34.74254743),
    ("hierarchical", "sibling", 0.05): (0.13562500, 1.2125, 0.09443359, 0.13785714, 0.14071429, 0.13562500),
    ("hierarchical", "sibling", 0.25): (0.44565217, 0.47826087, 0.36083984, 0.46205357, 0.51785714, 0.44565217),
    ("hierarchical", "sibling", 1.0): (0.57549505, 0.0, 0.47051282, 0.57738095, 0.70833333, 0.57452575),
    ("hierarchical", "subtree", 0.05): (0.11062500, 0.9625, 0.08500000, 0.11062500, 0.11348214, 0.11062500),
    ("hierarchical", "subtree", 0.25): (0.32728041, 0.28547297, 0.25537109, 0.33307453, 0.37053571, 0.32728041),
    ("hierarchical", "subtree", 1.0): (0.36666667, 0.0, 0.27962963, 0.36837121, 0.47916667, 0.28658537),
}
# With an edge above the top node, C = 1: all labellings, consistent ones. The weights are those of the tree as it is.
ABOVE_ROOT_A = {
    ("symmetric", "uniform"): (3.61445783, 3.14240506),
    ("hierarchical", "uniform"): (1.81360202, 1.66414944),
    ("hierarchical", "sibling"): (0.51636126, 0.44939117),
    ("hierarchical", "subtree"): (0.28673246, 0.24657534),
}
PATHS_A = {
    ("symmetric", "uniform"): 4.5625,
    ("hierarchical", "uniform"): 2.75,
    ("hierarchical", "sibling"): 0.97777778,
    ("hierarchical", "subtree"): 0.69444444,
}
# Scores of document 1 on edges 1, 2, 3 at the optimum with C = 1, and |w|^2.
SCORES_A: dict[tuple[str, str], tuple[Any, float]] = {
    ("symmetric", "uniform"): (
        [
            [-0.48936170, -0.24468085, 0.03191489, 0.70212766],
            [-0.24468085, -0.48936170, 0.74468085, -0.01063830],
            [-0.41489362, -0.04255319, -0.08510638, 0.54255319],
        ],
        5.57446809,
    ),
    ("hierarchical", "uniform"): (
        [
            [-0.04147465, -0.08294931, -0.14746544, 0.27188940],
            [-0.06221198, -0.06221198, 0.54147465, -0.41705069],
            [0.01382488, -0.20276498, -0.40552995, 0.59447005],
        ],
        3.48387097,
    ),
    ("hierarchical", "subtree"): (
        [
            [-0.1125, -0.225, 0.025, 0.3125],
            [-0.16875, -0.16875, 0.29375, 0.04375],
            [-0.04375, -0.04375, -0.08125, 0.16875],
        ],
        0.73333333,
    ),
}
# (cost, scaling, C): all labellings, consistent ones, slacks
OPTIMA_B: dict[tuple[str, str, float], tuple[float, float, list[float]]] = {
    ("symmetric", "uniform", 0.1): (1.32000000, 1.01000000, [4.0, 4.2, 3.2]),
    ("hierarchical", "sibling", 0.1): (0.31607008, 0.25352885, [1.03219697, 0.74848485, 0.39772727]),
    ("hierarchical", "subtree", 0.1): (0.27922680, 0.18306818, [0.8, 0.67731959, 0.21752577]),
    ("symmetric", "uniform", 1.0): (6.42915470, 5.86928105, [1.72774524, 0.47041664, 1.15254995]),
    ("hierarchical", "sibling", 1.0): (0.78943452, 0.73863636, [0.0, 0.0, 0.0]),
    ("hierarchical", "subtree", 1.0): (0.58459302, 0.50054545, [0.0, 0.0, 0.0]),
}
# Weights of the two features on edges 1..4, symmetric difference, C = 1, all labellings.
WEIGHTS_B = np.array(
    [
        [
            [-0.24603737, -0.09827213, -0.41971125, 0.76402075],
            [-0.08369639, -0.26061311, 0.46721547, -0.12290598],
            [-0.36521181, -0.30053681, 0.16234098, 0.50340764],
            [-0.50340764, -0.16234098, 0.50340764, 0.16234098],
        ],
        [
            [-0.08369639, -0.44085602, 0.54729776, -0.02274535],
            [-0.52455240, 0.0, -0.53278453, 1.05733693],
            [0.76413818, -0.30053681, 0.26819931, -0.73180069],
            [0.49659236, -0.03299099, -0.49659236, 0.03299099],
        ],
    ]
)
# New documents: the best consistent labelling and its score.
ANSWERS_B = {
    (0.5, -1.0): ((1, 1, 0, 1, 0), 2.90294868),
    (-1.0, 0.3): ((1, 0, 1, 0, 0), 2.27084625),
    (2.0, 1.0): ((1, 1, 1, 0, 0), 3.41992529),
    (-1.0, -1.0): ((0, 0, 0, 0, 0), 0.54587144),
    (0.0, 0.0): ((0, 0, 0, 0, 0), 0.0),
}
TRACE_A = {  # documents 1, 2, 1, 2 from zero: y, q, r, tau, dual, primal, gaps
    "y": [(0, 0, 1, 0), (0, 1, 0, 1), (1, 0, 1, 0), (1, 1, 0, 1)],
    "q": [4, 4.66666667, 1.37037037, 1.48106996],
    "r": [6, 6, 3.33333333, 3.40740741],
    "tau": [2 / 3, 0.77777778, 0.41111111, 0.43466184],
    "dual": [1.33333333, 3.14814815, 3.42983539, 3.75171768],
    "primal": [6.66666667, 5.74074074, 5.17016461, 4.26175521],
    "gaps": [
        [0.66666667, 4.66666667],
        [1.37037037, 1.22222222],
        [0.25925926, 1.48106996],
        [0.32383248, 0.18620505],
    ],
}
TRACE_B = {"order": [0, 1, 2, 0], "tau": [0.625, 0.625, 0.328125, 0.45348837]}
TRACE_B_DUAL = [1.5625, 3.125, 3.98632812, 4.53901708]


def case_a(cost: str = "symmetric", scaling: str = "uniform", C: float = 1.0, **more: Any) -> Case:
    return Case(TREE_A, GRAM_A, TRUTH_A, cost, scaling, C, **more)


def case_b(cost: str = "symmetric", scaling: str = "uniform", C: float = 1.0, **more: Any) -> Case:
    return Case(TREE_B, X_B @ X_B.T, TRUTH_B, cost, scaling, C, **more)
