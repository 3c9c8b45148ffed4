"""The worked example that the tests of the measures share: R(A(AA, AB), B(BA, BB)) and four documents."""

from __future__ import annotations

from linnaeus import Taxonomy

EDGES = [("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")]
TAX = Taxonomy.from_edges(EDGES)
FOREST = Taxonomy.from_edges(EDGES[2:])
LEAVES = ["AA", "AB", "BA", "BB"]
GOLD = [["AA"], ["AA", "BB"], ["BA"], ["AB"]]
PREDICTED = [["AA"], ["AA", "AB"], ["BB"], []]
SCORES = [[0.9, 0.2, 0.1, 0.3], [0.8, 0.7, 0.1, 0.4], [0.1, 0.2, 0.5, 0.6], [0.4, 0.4, 0.1, 0.3]]
