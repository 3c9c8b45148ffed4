"""Label texts of nodes, and the forms in which they stand in documents.

A label of a vocabulary is often written as nobody writes it in a text: "Arthritis, Rheumatoid", "Java (programming
language)". Its forms are the label itself, the parts between commas in reverse order, and both without a qualifier in
parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import words_of_name

__all__ = ["KINDS", "LabelText", "forms_of", "label_texts"]

KINDS = ("preferred", "alternative", "hidden")
_LONGEST = 500  # characters; a longer text is not the name of anything that documents repeat
_QUALIFIER = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")


class LabelText(NamedTuple):
    """A label of a node: the number of the node, one of `KINDS`, and the text."""

    node: int
    kind: str
    text: str


def label_texts(taxonomy: Taxonomy, language: str | None = None) -> list[LabelText]:
    """Preferred, alternative and hidden labels of all nodes but the root, in the order of the nodes.

    Parameters
    ----------
    taxonomy : Taxonomy
        Nodes without labels in its texts are named by their display labels, or the words of their names.
    language : str, default=None
        A language tag that selects labels; all languages by default.

    Returns
    -------
    list of LabelText
        Empty and very long texts (more than 500 characters) are left out.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "x")], display_labels={"x": "Heart Attack"})
    >>> label_texts(tax)
    [LabelText(node=1, kind='preferred', text='Heart Attack')]
    """
    texts = taxonomy.texts.labels(language if len(taxonomy.texts) else None)
    found = list(map(LabelText, texts.node.tolist(), texts.kind.tolist(), texts.text.tolist()))
    named = set(texts.node.tolist())
    others = (v for v in range(taxonomy.n_nodes) if v not in named)
    found += [LabelText(v, KINDS[0], words_of_name(taxonomy.display(v))) for v in others]
    kept = [label for label in found if label.node != taxonomy.root and 0 < len(label.text) <= _LONGEST]
    return sorted(kept, key=lambda label: label.node)


def forms_of(text: str) -> Iterator[str]:
    """The forms in which a label may stand in a document, the label itself first.

    Parameters
    ----------
    text : str
        A label.

    Yields
    ------
    str
        A form.

    Examples
    --------
    >>> list(forms_of("Arthritis, Juvenile (disease)"))
    ['Arthritis, Juvenile (disease)', 'Arthritis, Juvenile', 'Juvenile Arthritis']
    """
    yield text
    bare = _QUALIFIER.sub("", text)
    if bare and bare != text:
        yield bare
    parts = [part.strip() for part in bare.split(", ")]
    if 1 < len(parts) <= 4 and all(parts):
        yield " ".join(reversed(parts))
