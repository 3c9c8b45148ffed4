"""A taxonomy from distances between classes: agglomerative clustering, cut where a link does not fit those below it.

Classes (or clusters of them) are joined two at a time, those of least mean distance first: link t joins two of them at
the distance m_t. With S_t the distances of t and of those of its two parts that are links themselves,

    inconsistency IC_t = (m_t - mean S_t) / std S_t          0 where S_t has one element, or no spread
    threshold          = the mean of all IC that are not 0
    cut                = the links with IC above it, and all links above a cut one

What stays together is a cluster: root -> cluster -> class. A class alone in its cluster keeps the node above it, so
that all classes are at one depth. For more levels the clusters are clustered again, by the means of their classes'
centroids. One link cannot stand out alone: two pairs of classes, however far apart, are not cut.
L. Cai's thesis (2008), Algorithm 8; `linkage` is scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linnaeus.errors import DataError, LinnaeusError, ParameterError, nearest
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["LINKAGES", "Dendrogram", "draw", "join", "tree_of"]

LINKAGES = ("average", "complete", "ward")
_MOST_CLASSES = 20_000  # a matrix of distances of more would take gigabytes
_SAME = 1e-12  # many links have the same inconsistency, 1/sqrt(2), up to rounding


@dataclass(frozen=True)
class Dendrogram:
    """Links between objects, as scipy has them, and what the cut makes of them.

    ``links`` (n_objects - 1 x 4): numbers of the two parts (objects first, then links), distance, size.
    """

    names: list[str]
    links: FloatArray

    @property
    def n_objects(self) -> int:
        return len(self.names)

    @cached_property
    def inconsistency(self) -> FloatArray:
        """IC of every link.

        Examples
        --------
        >>> join(abs(np.subtract.outer([0, 1, 4, 4.5], [0, 1, 4, 4.5])), list("abcd")).inconsistency.round(4).tolist()
        [0.0, 0.0, 1.1429]
        """
        m = self.links[:, 2]
        S = np.column_stack([m, *(np.where(part >= 0, m[np.maximum(part, 0)], np.nan) for part in self._parts)])
        count = (~np.isnan(S)).sum(axis=1)
        mean = np.nansum(S, axis=1) / np.maximum(count, 1)
        spread = np.sqrt(np.nansum((S - mean[:, None]) ** 2, axis=1) / np.maximum(count - 1, 1))
        return np.divide(m - mean, spread, out=np.zeros(len(m)), where=(count > 1) & (spread > 0))

    @property
    def threshold(self) -> float:
        """The mean of the inconsistencies that are not 0; infinite where all are."""
        some = self.inconsistency[self.inconsistency != 0]
        return float(some.mean()) if len(some) else float("inf")

    @cached_property
    def cut(self) -> BoolArray:
        """Which links are cut."""
        cut = self.inconsistency > self.threshold + _SAME
        for t, parts in enumerate(zip(*self._parts, strict=True)):  # parts come before what they are part of
            cut[t] = cut[t] or any(part >= 0 and cut[part] for part in parts)
        return cut

    @cached_property
    def clusters(self) -> list[IntArray]:
        """Objects that stay together, by their first member."""
        members: list[list[int]] = [[i] for i in range(self.n_objects)]
        for t, (a, b, *_) in enumerate(self.links.astype(np.int64).tolist()):
            members.append([] if self.cut[t] else sorted(members[a] + members[b]))
            if not self.cut[t]:
                members[a] = members[b] = []
        return sorted((np.array(group) for group in members if group), key=lambda group: int(group[0]))

    @property
    def _parts(self) -> tuple[IntArray, IntArray]:
        """The two parts of every link as numbers of links; below 0 for objects."""
        parts = self.links[:, :2].astype(np.int64) - self.n_objects
        return parts[:, 0], parts[:, 1]

    def picture(self, target: Any, *, title: str | None = None) -> None:
        """Draw the dendrogram, clusters in colours and cut links grey and dashed, to a file or matplotlib axes."""
        draw(self, target, title=title)


def join(distances: FloatArray, names: list[str], linkage: str = "average") -> Dendrogram:
    """Join objects by their distances (n x n), the nearest first.

    Examples
    --------
    >>> points = np.array([0, 1, 4, 4.5, 9, 9.6, 20])
    >>> found = join(abs(points[:, None] - points), list("abcdefg"))
    >>> [group.tolist() for group in found.clusters], round(found.threshold, 6)
    ([[0, 1], [2, 3], [4, 5], [6]], 0.950426)
    """
    if linkage not in LINKAGES:
        raise ParameterError(
            f"linkage={linkage!r}; expected one of {', '.join(LINKAGES)}{nearest(str(linkage), LINKAGES)}"
        )
    if len(names) > _MOST_CLASSES:
        raise DataError(
            f"A taxonomy of {len(names):,} classes would need all their distances; expected {_MOST_CLASSES:,} at most. "
            "Group them first, or learn one for every part of the taxonomy that there is."
        )
    if len(names) < 2:
        return Dendrogram(list(names), np.zeros((0, 4)))
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    condensed = squareform(np.asarray(distances, dtype=np.float64), checks=False)
    return Dendrogram(list(names), hierarchy.linkage(condensed, linkage))


def distances_of(G: FloatArray) -> FloatArray:
    """Distances (n x n) from inner products G."""
    own = np.diag(G)
    found = np.sqrt(np.maximum(own[:, None] + own - 2 * G, 0.0))
    np.fill_diagonal(found, 0.0)
    return (found + found.T) / 2


def tree_of(
    G: FloatArray, names: list[str], *, levels: int | None = 2, linkage: str = "average", branching: int = 10
) -> tuple[Taxonomy, Dendrogram]:
    """A tree over classes from the inner products G of their centroids, and the dendrogram of the lowest level.

    ``levels`` counts those below the root, that of the classes included; None goes on until a level has at most
    ``branching`` nodes, or nothing more is joined. Where the cut leaves a single cluster the tree is flat.
    """
    lowest = dendrogram = join(distances_of(G), names, linkage)
    taken = set(names)
    edges: list[tuple[str, str]] = []
    nodes, level = list(names), 1
    while True:
        clusters = dendrogram.clusters
        enough = level > 1 and (len(clusters) == len(nodes) or (levels is None and len(nodes) <= branching))
        if len(clusters) < 2 or enough or level == levels:
            break
        above = [_name([nodes[i] for i in _central_first(G, group)], taken) for group in clusters]
        edges += [(above[k], nodes[i]) for k, group in enumerate(clusters) for i in group]
        M = np.zeros((len(clusters), len(nodes)))
        for k, group in enumerate(clusters):
            M[k, group] = 1.0 / len(group)
        G, nodes, level = M @ G @ M.T, above, level + 1
        dendrogram = join(distances_of(G), nodes, linkage)
    root = _unused("root", taken)
    return Taxonomy.from_edges([(root, node) for node in nodes] + edges, root=root), lowest


def _central_first(G: FloatArray, group: IntArray) -> IntArray:
    """Members of a cluster, the nearest to its centre first."""
    part = G[np.ix_(group, group)]
    return group[np.argsort(np.diag(part) - 2 * part.mean(axis=1), kind="stable")]


def _name(members: list[str], taken: set[str]) -> str:
    """A readable name: the two most central members, and how many more there are."""
    shown = " + ".join(sorted(members[:2]))
    if len(members) == 1:
        shown += " (alone)"
    elif len(members) > 2:
        shown += f" + {len(members) - 2} more"
    return _unused(shown, taken)


def _unused(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    taken.add(found)
    return found


_COLOURS = 10
_CUT = "0.55"


def draw(dendrogram: Dendrogram, target: Any, *, title: str | None = None) -> None:
    """Draw to a file (its ending says the format) or to matplotlib axes.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from linnaeus.taxonomy.learn import join
    >>> points = np.array([0, 1, 4, 4.5])
    >>> file = io.BytesIO()
    >>> draw(join(abs(points[:, None] - points), list("abcd")), file)
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LinnaeusError("A picture needs matplotlib: pip install linnaeus[plots]") from None
    if hasattr(target, "plot"):
        _on(dendrogram, target, title)
        return
    figure = Figure(figsize=(8, max(2.5, 0.6 + 0.22 * dendrogram.n_objects)), layout="constrained")
    _on(dendrogram, figure.add_subplot(), title)
    figure.savefig(target, dpi=150)


def _on(dendrogram: Dendrogram, axes: Any, title: str | None) -> None:
    from scipy.cluster.hierarchy import dendrogram as lay_out

    colour = {int(i): f"C{k % _COLOURS}" for k, group in enumerate(dendrogram.clusters) for i in group}
    n = dendrogram.n_objects
    if n < 2:
        axes.set_yticks([0], dendrogram.names)
        return
    laid = lay_out(dendrogram.links, no_plot=True)
    member = list(range(n))  # an object of every link, to know its cluster by
    for a, *_ in dendrogram.links.astype(int).tolist():
        member.append(member[a])
    for t, (y, x) in _drawn(laid, dendrogram):
        cut = bool(dendrogram.cut[t])
        style = {"color": _CUT, "linestyle": "--"} if cut else {"color": colour[member[n + t]], "linestyle": "-"}
        axes.plot(x, y, linewidth=1.4, **style)
    axes.set_yticks([5 + 10 * i for i in range(n)], [dendrogram.names[i] for i in laid["leaves"]], fontsize="small")
    for tick, i in zip(axes.get_yticklabels(), laid["leaves"], strict=True):
        tick.set_color(colour[i])
    axes.set_ylim(0, 10 * n)
    axes.set_xlim(left=0)
    axes.set_xlabel("distance (dashed links are cut)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    n = len(dendrogram.clusters)
    said = f"{n} cluster{'s' * (n != 1)}, inconsistency cut at {dendrogram.threshold:.3f}"
    axes.set_title(title or said)


def _drawn(laid: Any, dendrogram: Dendrogram) -> list[tuple[int, tuple[Any, Any]]]:
    """Numbers of links with their lines; the layout is asked again with numbers as colours, to learn which is which."""
    from scipy.cluster.hierarchy import dendrogram as lay_out

    n = dendrogram.n_objects
    numbered = lay_out(dendrogram.links, no_plot=True, link_color_func=lambda k: str(k - n))
    return [
        (int(number), lines)
        for number, lines in zip(numbered["color_list"], zip(laid["icoord"], laid["dcoord"], strict=True), strict=True)
    ]
