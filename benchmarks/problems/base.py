"""What a problem is, and where the folder of real data sets lies."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from linnaeus import Taxonomy

DATA = Path(os.environ.get("LINNAEUS_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@dataclass(frozen=True)
class Problem:
    """Train and test documents with labels as 0/1 rows over the nodes of the taxonomy.

    X is a matrix, or an array of sequences for the kernels that take them. ``read`` are the training and test vectors
    as they were read, where X and X_test were made of them.
    """

    name: str
    taxonomy: Taxonomy
    X: Any
    Y: Any
    X_test: Any
    Y_test: Any
    read: tuple[Any, Any] | None = None

    @property
    def label_nodes(self) -> Any:
        """Nodes with at least one training document."""
        return np.flatnonzero(np.asarray(self.Y.sum(axis=0)).ravel())


def leaves_only(problem: Problem) -> Problem:
    """The same with the most specific labels of every document only."""
    frontier = problem.taxonomy.frontier
    return replace(problem, Y=frontier(problem.Y), Y_test=frontier(problem.Y_test))


def tree_of_codes(codes: Iterable[str], root: str) -> Taxonomy:
    """The tree of dotted codes and of their beginnings: ``1.2.3`` under ``1.2`` under ``1`` under the root.

    A code that is the root itself, or begins with it and a dot, stands where its dots say.
    """
    edges = set()
    for code in codes:
        parts = code.split(".")
        path = [".".join(parts[: k + 1]) for k in range(len(parts))]
        edges |= set(pairwise(path if path[0] == root else [root, *path]))
    return Taxonomy.from_edges(sorted(edges), root=root)
