"""RCV1-v2: log TF x IDF of unit length, topics in a tree of four levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems.base import DATA, Problem
from linnaeus import Taxonomy
from linnaeus.data.readers import read_dataset


def rcv1v2() -> Problem:
    """Train: subsets 1-4 half 0 and subset 5 half 1; repeated vectors dropped on both sides and from the test side."""
    taxonomy, data = _read()
    subset, half, first = (np.asarray(data.extra[key]) for key in ("subset", "half", "dup_of"))
    train = ((subset <= 4) & (half == 0)) | ((subset == 5) & (half == 1))
    train_rows = _first_of_each(np.flatnonzero(train), first)
    test_rows = np.flatnonzero(~train)
    test_rows = _first_of_each(test_rows[~np.isin(first[test_rows], first[train_rows])], first)
    Y = data.indicator(taxonomy)
    return Problem("rcv1v2", taxonomy, data.X[train_rows], Y[train_rows], data.X[test_rows], Y[test_rows])


def rcv1v2_ccat() -> Problem:
    """The 34 nodes of CCAT; 2,500 train and 5,000 test documents drawn from all, so that many have no label at all.

    Drawn without repeated vectors. CCAT is no root but a top node: it has to be answered, or not.
    """
    whole, data = _read()
    nodes = np.sort(whole.descendants("CCAT"))
    parent, child = whole.edges
    inside = np.isin(parent, nodes)
    edges = list(zip(whole.names[parent[inside]], whole.names[child[inside]], strict=True))
    taxonomy = Taxonomy.from_edges(edges, root=None)
    unique = _first_of_each(np.arange(data.X.shape[0]), np.asarray(data.extra["dup_of"]))
    rows = np.random.default_rng(0).choice(unique, 7_500, replace=False)
    train, test = rows[:2_500], rows[2_500:]
    columns = [whole.index(name) for name in taxonomy.names]
    Y = data.indicator(whole)[:, columns].tocsr()
    return Problem("rcv1v2_ccat", taxonomy, data.X[train], Y[train], data.X[test], Y[test])


def _read() -> tuple[Taxonomy, Any]:
    folder = DATA / "rcv1v2"
    return Taxonomy.read(folder / "rcv1.taxonomy"), read_dataset(folder / "rcv1v2_subsets_30000.npz")


def _first_of_each(rows: Any, group: Any) -> Any:
    _, position = np.unique(group[rows], return_index=True)
    return rows[np.sort(position)]
