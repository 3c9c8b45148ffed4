"""A taxonomy from distances between classes: agglomerative clustering, cut at inconsistent links.

Classes (or clusters of them) are joined two at a time, those with the smallest mean distance first: link t joins two of
them at the distance m_t. With S_t the distances of t and of those of its two parts that are links themselves,

    inconsistency IC_t = (m_t - mean S_t) / std S_t          0 if S_t has one element, or standard deviation 0
    threshold          = the mean of all IC that are not 0
    cut                = the links with IC above the threshold, and all links above a cut link

The remaining connected classes form a cluster: root -> cluster -> class. A cluster of a single class keeps its node, so
that all classes have the same depth. For more levels the clusters are clustered again, by the means of the centroids of
their classes. A single link is never inconsistent: two pairs of classes are not cut, however far apart they are.
L. Cai's thesis (2008), Algorithm 8; `linkage` is scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import IO, TYPE_CHECKING, TypedDict

import numpy as np

from linnaeus.errors import DataError, LinnaeusError, ParameterError, nearest
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LINKAGES", "Dendrogram", "draw", "join", "tree_of"]

LINKAGES = ("average", "complete", "ward")
_MAX_CLASSES = 20_000  # the distance matrix of more classes would take gigabytes
_TOLERANCE = 1e-12  # many links have the same inconsistency, 1/sqrt(2), up to rounding


@dataclass(frozen=True)
class Dendrogram:
    """Links between objects in the form of scipy, and the clusters that the cut leaves.

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
        """The mean of the inconsistencies that are not 0; infinite if all are 0."""
        some = self.inconsistency[self.inconsistency != 0]
        return float(some.mean()) if len(some) else float("inf")

    @cached_property
    def cut(self) -> BoolArray:
        """Whether each link is cut."""
        cut = self.inconsistency > self.threshold + _TOLERANCE
        for t, parts in enumerate(zip(*self._parts, strict=True)):  # a link comes after its parts
            cut[t] = cut[t] or any(part >= 0 and cut[part] for part in parts)
        return cut

    @cached_property
    def clusters(self) -> list[IntArray]:
        """Objects of each cluster; clusters are ordered by their first member."""
        members: list[list[int]] = [[i] for i in range(self.n_objects)]
        for t, (a, b, *_) in enumerate(self.links.astype(np.int64).tolist()):
            members.append([] if self.cut[t] else sorted(members[a] + members[b]))
            if not self.cut[t]:
                members[a] = members[b] = []
        return sorted((np.array(group) for group in members if group), key=lambda group: int(group[0]))

    @property
    def _parts(self) -> tuple[IntArray, IntArray]:
        """The two parts of every link as numbers of links; negative for objects."""
        parts = self.links[:, :2].astype(np.int64) - self.n_objects
        return parts[:, 0], parts[:, 1]

    def picture(self, target: str | PathLike[str] | IO[bytes] | Axes, *, title: str | None = None) -> None:
        """Draw the dendrogram to a file or matplotlib axes: clusters in colours, cut links grey and dashed."""
        draw(self, target, title=title)


def join(distances: FloatArray, names: list[str], linkage: str = "average") -> Dendrogram:
    """Join objects by their distances (n x n), the smallest distance first.

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
    if len(names) > _MAX_CLASSES:
        raise DataError(
            f"Got {len(names):,} classes, expected at most {_MAX_CLASSES:,}: the distances of all pairs are needed. "
            "Group the classes first, or learn a taxonomy for each group."
        )
    if len(names) < 2:
        return Dendrogram(list(names), np.zeros((0, 4)))
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    condensed = squareform(np.asarray(distances, dtype=np.float64), checks=False)
    return Dendrogram(list(names), hierarchy.linkage(condensed, linkage))


def distances_of(G: FloatArray) -> FloatArray:
    """Euclidean distances (n x n) from inner products G."""
    own = np.diag(G)
    found = np.sqrt(np.maximum(own[:, None] + own - 2 * G, 0.0))
    np.fill_diagonal(found, 0.0)
    return (found + found.T) / 2


def tree_of(
    G: FloatArray, names: list[str], *, levels: int | None = 2, linkage: str = "average", branching: int = 10
) -> tuple[Taxonomy, Dendrogram]:
    """A tree over classes from the inner products G of their centroids, and the dendrogram of the lowest level.

    ``levels`` is the number of levels below the root, including the classes; None adds levels until one has at most
    ``branching`` nodes or no objects are joined. If the cut leaves a single cluster, the tree is flat.
    """
    lowest = dendrogram = join(distances_of(G), names, linkage)
    used = set(names)
    edges: list[tuple[str, str]] = []
    nodes, level = list(names), 1
    while True:
        clusters = dendrogram.clusters
        enough = level > 1 and (len(clusters) == len(nodes) or (levels is None and len(nodes) <= branching))
        if len(clusters) < 2 or enough or level == levels:
            break
        above = [_name([nodes[i] for i in _central_first(G, group)], used) for group in clusters]
        edges += [(above[k], nodes[i]) for k, group in enumerate(clusters) for i in group]
        M = np.zeros((len(clusters), len(nodes)))
        for k, group in enumerate(clusters):
            M[k, group] = 1.0 / len(group)
        G, nodes, level = M @ G @ M.T, above, level + 1
        dendrogram = join(distances_of(G), nodes, linkage)
    root = _unused("root", used)
    return Taxonomy.from_edges([(root, node) for node in nodes] + edges, root=root), lowest


def _central_first(G: FloatArray, group: IntArray) -> IntArray:
    """Members of a cluster, those nearest to its centre first."""
    part = G[np.ix_(group, group)]
    return group[np.argsort(np.diag(part) - 2 * part.mean(axis=1), kind="stable")]


def _name(members: list[str], used: set[str]) -> str:
    """A readable name: the two most central members, and the number of further ones."""
    shown = " + ".join(sorted(members[:2]))
    if len(members) == 1:
        shown += " (alone)"
    elif len(members) > 2:
        shown += f" + {len(members) - 2} more"
    return _unused(shown, used)


def _unused(name: str, used: set[str]) -> str:
    found, number = name, 1
    while found in used:
        number += 1
        found = f"{name} ({number})"
    used.add(found)
    return found


_COLOURS = 10
_CUT_COLOUR = "0.55"


class _Layout(TypedDict):
    """The parts that are used of the layout that scipy computes."""

    icoord: list[list[float]]
    dcoord: list[list[float]]
    leaves: list[int]
    color_list: list[str]


def draw(dendrogram: Dendrogram, target: str | PathLike[str] | IO[bytes] | Axes, *, title: str | None = None) -> None:
    """Draw to a file (the format follows from the file name) or to matplotlib axes.

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
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ImportError:
        raise LinnaeusError("Drawing needs matplotlib: pip install linnaeus[plots]") from None
    if isinstance(target, Axes):
        _draw_on(dendrogram, target, title)
        return
    figure = Figure(figsize=(8, max(2.5, 0.6 + 0.22 * dendrogram.n_objects)), layout="constrained")
    _draw_on(dendrogram, figure.add_subplot(), title)
    figure.savefig(target, dpi=150)


def _draw_on(dendrogram: Dendrogram, axes: Axes, title: str | None) -> None:
    from scipy.cluster.hierarchy import dendrogram as lay_out

    colour = {int(i): f"C{k % _COLOURS}" for k, group in enumerate(dendrogram.clusters) for i in group}
    n = dendrogram.n_objects
    if n < 2:
        axes.set_yticks([0], dendrogram.names)
        return
    layout: _Layout = lay_out(dendrogram.links, no_plot=True)
    member = list(range(n))  # an object of every link, which tells its cluster
    for a, *_ in dendrogram.links.astype(int).tolist():
        member.append(member[a])
    for t, (y, x) in _link_lines(layout, dendrogram):
        cut = bool(dendrogram.cut[t])
        shade = _CUT_COLOUR if cut else colour[member[n + t]]
        axes.plot(x, y, linewidth=1.4, color=shade, linestyle="--" if cut else "-")
    axes.set_yticks([5 + 10 * i for i in range(n)], [dendrogram.names[i] for i in layout["leaves"]], fontsize="small")
    for tick, i in zip(axes.get_yticklabels(), layout["leaves"], strict=True):
        tick.set_color(colour[i])
    axes.set_ylim(0, 10 * n)
    axes.set_xlim(left=0)
    axes.set_xlabel("distance (dashed links are cut)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    n = len(dendrogram.clusters)
    summary = f"{n} cluster{'s' * (n != 1)}, inconsistency cut at {dendrogram.threshold:.3f}"
    axes.set_title(title or summary)


def _link_lines(layout: _Layout, dendrogram: Dendrogram) -> list[tuple[int, tuple[list[float], list[float]]]]:
    """Links with the coordinates of their lines; a second layout with numbers as colours tells which is which."""
    from scipy.cluster.hierarchy import dendrogram as lay_out

    n = dendrogram.n_objects
    numbered: _Layout = lay_out(dendrogram.links, no_plot=True, link_color_func=lambda k: str(k - n))
    return [
        (int(number), lines)
        for number, lines in zip(
            numbered["color_list"], zip(layout["icoord"], layout["dcoord"], strict=True), strict=True
        )
    ]
