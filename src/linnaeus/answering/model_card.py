"""The card of a saved model as Markdown with the metadata that the Hugging Face Hub reads.

A model folder with such a card as README.md can be uploaded as it is: it has no code, and `linnaeus.load` opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

from linnaeus.answering.card import saved_model

if TYPE_CHECKING:
    from linnaeus.answering.documents import SavedModel

__all__ = ["model_card"]

_MEASURES = ("hierarchical_f1", "micro_f1", "macro_f1", "precision_at_1", "precision_at_5", "ndcg_at_5")
_MOST_LABELS = 20


def model_card(
    folder: str | PathLike[str],
    loaded: SavedModel,
    *,
    name: str,
    licence: str | None = None,
    evaluation: Mapping[str, object] | None = None,
) -> str:
    """Markdown with front matter about the model of a folder.

    Parameters
    ----------
    folder : str or path
        The model folder.
    loaded : Pipeline or model
        The model that was loaded from it.
    name : str
        Title of the card.
    licence : str, default=None
        Identifier of the licence under which the model is given away.
    evaluation : mapping, default=None
        What ``linnaeus evaluate --json`` wrote.

    Returns
    -------
    str
        The text of README.md.
    """
    from linnaeus import __version__

    facts = saved_model(folder, loaded)
    model = loaded.estimator
    tax = model.taxonomy_
    measures = _measures(evaluation)
    languages = sorted(language for language in tax.texts.languages if language)
    head = ["---", "library_name: linnaeus", "pipeline_tag: text-classification", "tags:"]
    head += [f"- {tag}" for tag in ("linnaeus", "hierarchical-classification", "taxonomy", str(facts["model"]))]
    if licence is not None:
        head.append(f"license: {licence}")
    if languages:
        head += ["language:", *(f"- {language}" for language in languages)]
    if measures:
        head += [
            "model-index:",
            f"- name: {_quoted(name)}",
            "  results:",
            "  - task:",
            "      type: text-classification",
        ]
        head += ["    dataset:", "      type: private", "      name: documents of the evaluation", "    metrics:"]
        head += [f"    - type: {key}\n      value: {value:.4f}" for key, value in measures.items()]
    lines = [*head, "---", "", f"# {name}", ""]
    lines.append(f"A {facts['model']} that classifies into a taxonomy of {tax.n_nodes:,} nodes ({tax.kind}).")
    lines += ["", "| property | value |", "|---|---|"]
    lines += [f"| {key} | {_cell(value)} |" for key, value in facts.items() if value is not None]
    if measures:
        lines += ["", "## Evaluation", "", "| measure | value |", "|---|---|"]
        lines += [f"| {key.replace('_', ' ')} | {value:.4f} |" for key, value in measures.items()]
        documents = (evaluation or {}).get("documents")
        if documents is not None:
            lines += [
                "",
                f"On {documents:,} documents." if isinstance(documents, int) else f"On {documents} documents.",
            ]
    lines += ["", "## Labels", "", *_labels(loaded)]
    lines += ["", "## Use", "", "```python", "import linnaeus", "", 'model = linnaeus.load("path/to/this/folder")']
    lines += ['print(model.predict(["some text"]), model.explain("some text"))', "```", ""]
    if getattr(model, "calibrator_", None) is not None:
        lines += ["It is calibrated: `predict(texts, risk=0.05)` answers only as deep as the promise allows.", ""]
    lines.append(f"The folder has no code; loading it runs none. Written by linnaeus {__version__}.")
    return "\n".join(lines) + "\n"


def _measures(evaluation: Mapping[str, object] | None) -> dict[str, float]:
    found = (evaluation or {}).get("metrics", {})
    if not isinstance(found, Mapping):
        return {}
    return {key: float(found[key]) for key in _MEASURES if isinstance(found.get(key), (int, float))}


def _labels(loaded: SavedModel) -> list[str]:
    model = loaded.estimator
    tax, nodes = model.taxonomy_, model.nodes_
    lines = [f"- {_cell(tax.titled(int(v)))}" for v in nodes[:_MOST_LABELS]]
    return lines if len(nodes) <= _MOST_LABELS else [*lines, f"- and {len(nodes) - _MOST_LABELS:,} more"]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
