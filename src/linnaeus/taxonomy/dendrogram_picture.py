"""The picture of a dendrogram: clusters in colours, cut links grey and dashed. Needs matplotlib (`linnaeus[plots]`)."""

from __future__ import annotations

from typing import Any

from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy.learn import Dendrogram

__all__ = ["draw"]

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
