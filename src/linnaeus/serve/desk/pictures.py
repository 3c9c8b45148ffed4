"""Charts of the progress view: probabilities that can be trusted or not, confused siblings, the learning curve.

They are drawn as those of the report of a shoot-out are (`linnaeus.plots.svg`), from the same counts. Reliability and
confusion are of control documents, which are a random sample.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.metrics import sibling_confusion
from linnaeus.metrics.calibration import bin_table
from linnaeus.metrics.confusion import most_confused_parent
from linnaeus.pages.text import count
from linnaeus.plots.svg import Curve, draw_confusion, draw_lines, draw_reliability

if TYPE_CHECKING:
    from linnaeus.serve.store.database import Row
    from linnaeus.taxonomy import Taxonomy

__all__ = ["pictures"]

_LEAST = 10  # control documents before anything is drawn
_SIBLINGS = 10


def pictures(decided: Sequence[Row], taxonomy: Taxonomy, curve: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Charts as SVG with their titles; those without data are left out.

    Parameters
    ----------
    decided : sequence of dict
        Decided control documents, from `control_decisions`.
    taxonomy : Taxonomy
        The taxonomy of the queue.
    curve : sequence of dict
        "documents" and "score" of each training.

    Returns
    -------
    list of dict
        "name", "title", "about" and "svg" of each chart.
    """
    made = []
    if len(decided) >= _LEAST:
        made += [_reliability(decided, taxonomy), _confusion(decided, taxonomy)]
    return [picture for picture in (*made, _learning(curve)) if picture is not None]


def _reliability(decided: Sequence[Row], taxonomy: Taxonomy) -> dict[str, str] | None:
    """Probabilities of the suggestions that coders saw against how often they were right."""
    P: list[float] = []
    right: list[bool] = []
    for row in decided:
        shown = json.loads(row["shown"]) if row["shown"] else []
        nodes = taxonomy.indicator([row["labels"]], unknown="drop")
        labels = set(taxonomy.names[taxonomy.close(nodes).indices].tolist())
        for one in shown:  # as the client sent it
            p = one.get("probability")
            if isinstance(p, (int, float)) and 0 <= p <= 1:
                P.append(p)
                right.append(one.get("label") in labels)
    if not P:
        return None
    rows = bin_table(np.array(P, dtype=float), np.array(right), 10, "width")
    about = f"{count(len(P))} suggestions that coders saw for {count(len(decided))} control documents."
    return _picture("reliability", "Can probabilities be trusted?", about, draw_reliability("reliability", about, rows))


def _confusion(decided: Sequence[Row], taxonomy: Taxonomy) -> dict[str, str] | None:
    gold, said = ([row[key] for row in decided] for key in ("labels", "answer"))
    Y, H = (taxonomy.close(taxonomy.indicator(labels, unknown="drop"), keep_root=False) for labels in (gold, said))
    parent = most_confused_parent(Y, H, taxonomy)
    if parent is None and len(taxonomy.tops) < 2:
        return None
    found = sibling_confusion(Y, H, taxonomy, parent, max_children=_SIBLINGS)
    about = f"Children of {found.parent}: labels of coders in rows, answers of the model in columns."
    return _picture("confusion", "Which siblings are confused?", about, draw_confusion("confusion", about, found))


def _learning(curve: Sequence[Mapping[str, object]]) -> dict[str, str] | None:
    points = [(int(str(one["documents"])), float(str(one["score"]))) for one in curve if one["score"] is not None]
    if len(points) < 2:
        return None
    about = f"Hierarchical F1 of held-out documents after each of {len(points)} trainings."
    line = Curve("model", "best", [value for _, value in points])
    places = [count(n) for n, _ in points]
    drawn = draw_lines("learning", about, about, "coded documents", "hierarchical F1", places, [line])
    return _picture("learning", "Do more verdicts help?", about, drawn)


def _picture(name: str, title: str, about: str, svg: str) -> dict[str, str]:
    return {"name": name, "title": title, "about": about, "svg": str(svg)}
