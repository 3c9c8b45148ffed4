"""Problems have the sizes that their pages state."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import problems
from benchmarks.problems import hmc, newsgroups
from benchmarks.problems.base import tree_of_codes


def test_codes_make_a_tree_with_all_their_beginnings() -> None:
    tree = tree_of_codes(["1.2.3", "2"], "EC")
    assert tree.names.tolist() == ["EC", "1", "2", "1.2", "1.2.3"]
    assert tree.root == 0


def test_codes_that_begin_with_the_root_hang_below_it() -> None:
    tree = tree_of_codes(["D01.029.260", "D01"], "D01")
    assert tree.names.tolist() == ["D01", "D01.029", "D01.029.260"]


def test_an_unknown_problem_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(ValueError, match="No problem 'mesh'; there are rcv1v2"):
        problems.load("mesh")


def test_the_newsgroups_are_fifteen_in_five_subjects() -> None:
    tree = newsgroups.hierarchy()
    assert (tree.n_nodes, len(tree.leaves)) == (21, 15)


SIZES = {  # documents of train and test, nodes
    "rcv1v2_ccat": (2_500, 5_000, 34),
    "mesh_d01": (1_837, 0, 185),
    "mesh_d01_split": (1_385, 452, 185),
    "enron_hmc": (988, 660, 56),
    "enzyme_ec": (6_119, 1_638, 306),
    "cellcycle_FUN": (2_476, 1_281, 499),
    "eisen_GO": (1_583, 835, 3_574),
}


@pytest.mark.data
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name.startswith("mesh") else ()) for name in SIZES]
)
def test_problems_have_their_size(name: str, data_dir: object) -> None:
    problem = problems.load(name)
    n_train, n_test, n_nodes = SIZES[name]
    assert (problem.X.shape[0], problem.X_test.shape[0], problem.taxonomy.n_nodes) == (n_train, n_test, n_nodes)
    assert problem.Y.shape == (n_train, n_nodes)
    assert problem.Y_test.shape == (n_test, n_nodes)


@pytest.mark.slow
@pytest.mark.data
def test_citations_of_a_branch_have_labels_on_its_first_three_levels(data_dir: object) -> None:
    problem = problems.load("mesh_d01")
    assert problem.taxonomy.names[problem.taxonomy.root] == "D01"
    assert problem.taxonomy.depth.max() == 2
    assert (np.diff(problem.Y.indptr) >= 1).all()
    np.testing.assert_allclose(problem.X.power(2).sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.data
def test_roots_of_the_gene_ontology_are_not_measured(data_dir: object) -> None:
    problem = problems.load("cellcycle_GO")
    assert len(hmc.measured_nodes(problem)) == problem.taxonomy.n_nodes - 4
