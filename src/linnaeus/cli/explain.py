"""`linnaeus explain`: the contribution of each word to the score of every node of the path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.answering.documents import node_meant
from linnaeus.cli import common
from linnaeus.cli.common import JsonOption, note, print_json, print_table
from linnaeus.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from linnaeus.data import Dataset
    from linnaeus.models.explaining import Contrast, Neighbour, NodeExplanation
    from linnaeus.taxonomy import Taxonomy

__all__ = ["explain"]


@dataclass(frozen=True, kw_only=True)
class _Reading(common.Reading):
    """How --data is read; the column of ids is --id-column here, because --id chooses a document."""

    id: Annotated[
        str | None,
        typer.Option("--id-column", help="Column or key of the documents' ids.", rich_help_panel=common.DOCUMENTS),
    ] = None


@common.with_groups
def explain(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    *,
    document: Annotated[
        str | None, typer.Option("--document", "-D", help="The text of the document; or use --data.")
    ] = None,
    data: Annotated[str | None, typer.Option("--data", "-d", help="File with the document; - is stdin.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Id of the document in --data, or its number from 1.")] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", help="Node to explain, or its display label (default: all labels of the answer)."),
    ] = None,
    k: Annotated[int, typer.Option("--top", "-k", min=1, help="Contributions to show per node.")] = 10,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=0, help="Similar training documents to show, if the model kept them.")
    ] = 3,
    reading: _Reading,
    suggestions: common.SuggestionOptions,
    taxonomy: common.OptionalTaxonomy,
    verify: common.Verify = None,
    as_json: JsonOption = False,
) -> None:
    """Show which words count for and against each node of the paths to the labels."""
    from linnaeus.answering.explanations import explained_nodes, plain_explanation, single_document

    _check_arguments(words, document, data, reading)
    loaded = common.load_model(model, verify)
    taxonomy.show_labels(loaded)
    documents = _document(loaded, document, data, id_, reading, suggestions)
    given = single_document(documents)
    node = None if node is None else node_meant(loaded.taxonomy_, node)
    steps = explained_nodes(loaded, documents, given, node)
    if node is not None and steps[-1].node != node:
        note(f"note: {node} itself has no score; its path is shown as far as the model was trained on it")
    kept = loaded.estimator.kept_ is not None
    near = {step.node: loaded.nearest(given, neighbours, step.node) for step in steps} if kept and neighbours else {}
    if as_json:
        print_json([plain_explanation(step, loaded.taxonomy_, k, near.get(step.node)) for step in steps])
        return
    answered = {step.node for step in steps} if node is None else set()
    for step in steps:
        _show(step, loaded.taxonomy_, k, near.get(step.node, []), answered)


def _check_arguments(words: list[str] | None, document: str | None, data: str | None, reading: _Reading) -> None:
    """Refuse arguments that do not name exactly one document."""
    if words:
        what = (
            "a file is given as --data" if Path(words[0]).exists() else "the text of a document is given as --document"
        )
        raise ParameterError(f"explain takes one argument, the model, and got {words[0]!r} as well; {what}.")
    if data is None and reading.text:
        raise ParameterError(f"--text {reading.text[0]} is a column of --data; the text itself is given as --document.")
    if (document is None) == (data is None):
        raise ParameterError("Give the document either as --document TEXT or as --data FILE.")


def _document(
    model: common.SavedModel,
    document: str | None,
    data: str | None,
    id_: str | None,
    reading: _Reading,
    suggestions: common.SuggestionOptions,
) -> Dataset:
    """The document to explain, as a data set of one."""
    from linnaeus.cli.documents import documents_for, texts_for

    if not hasattr(model, "explain"):
        raise DataError(f"{type(model).__name__} has no explanations.")
    if document is not None:
        reading.refuse("applies to --data, which is not given")
        documents = suggestions.join(texts_for(model, [document]), model.taxonomy_)
    else:
        found = suggestions.join(documents_for(model, [str(data)], reading, labelled=False), model.taxonomy_)
        documents = _chosen(found, str(data), id_)
    if not model.known_terms(documents.documents).any():
        note("note: the model knows no word of this document; only its constants are shown")
    return documents


def _show(
    step: NodeExplanation, taxonomy: Taxonomy, k: int, near: Sequence[Neighbour], answered: Collection[str]
) -> None:
    """Print the contributions to a node, the differences to its runner-up, and similar documents."""
    how = " (approximate: changes when a feature is left out)" if step.approximate else ""
    title = f"{taxonomy.display(step.node)}: score {step.score:+.4f}{how}"
    from linnaeus.answering.explanations import evidence_of
    from linnaeus.models.explaining import MixtureExplanation

    for line in evidence_of(step, taxonomy):
        print(line)
    print_table(_columns(step, "contribution"), _rows(step, k), title=title)
    if isinstance(step, MixtureExplanation):
        spoke = [(source.name, source.weight, source.contribution) for source in step.sources]
        rows = [*spoke, ("constant", None, step.constant)]
        print_table(["source", "weight", "contribution"], rows, title="  by source:")
    rival = step.against
    if rival is not None:
        how = "beside" if rival.rival in answered else "rather than" if rival.margin >= 0 else "compared with"
        title = f"  {how} {taxonomy.display(rival.rival)} ({rival.rival_score:+.4f}): by {rival.margin:+.4f}"
        print_table(_columns(rival, "difference"), _rows(rival, k), title=title)
    if near:
        found = [(n.name, n.similarity, ", ".join(map(taxonomy.display, n.labels))) for n in near]
        title = f"nearest documents at or below {taxonomy.display(step.node)}"
        print_table(["document", "similarity", "labels"], found, title=title)


def _columns(found: NodeExplanation | Contrast, value: str) -> list[str]:
    return ["feature", "source", value] if _has_sources(found) else ["feature", value]


def _has_sources(found: NodeExplanation | Contrast) -> bool:
    """Whether contributions come from something else than words of the document."""
    return found.origins is not None and any(origin != "word" for origin in found.origins)


def _rows(found: NodeExplanation | Contrast, k: int) -> list[tuple[object, ...]]:
    """The k largest contributions, with their sources where there are several, the sum of the others, the constant."""
    rows: list[tuple[object, float]] = [
        (f, float(c)) for f, c in zip(found.features[:k], found.contributions[:k], strict=True)
    ]
    rest = float(found.contributions[k:].sum())
    left = len(found.contributions) - k
    rows += [(f"{left} {'other' if left == 1 else 'others'}", rest)] if rest else []
    rows.append(("constant", found.intercept))
    if found.origins is None or not _has_sources(found):
        return list(rows)
    origins = [*found.origins[:k].tolist(), *[""] * len(rows)]
    return [(name, origin, value) for (name, value), origin in zip(rows, origins, strict=False)]


def _chosen(documents: Dataset, data: str, name: str | None) -> Dataset:
    """The document with an id or number; neither is needed for a single document."""
    ids = documents.ids or [str(i) for i in range(1, len(documents) + 1)]
    if name is None and len(documents) == 1:
        return documents
    if name is None:
        raise ParameterError(
            f"{data} has {len(ids):,} documents; choose one with --id, for example {', '.join(ids[:3])}."
        )
    row = int(name) - 1 if name.isdecimal() and len(name) < 10 and 0 < int(name) <= len(ids) else None
    row = ids.index(name) if name in ids else row
    if row is None:
        known = (
            f"its ids begin with {', '.join(ids[:3])}"
            if documents.ids
            else f"no column of ids was recognised, so documents are numbered from 1 to {len(ids):,}; name the column "
            f"with --id-column"
        )
        raise ParameterError(f"--id {name}: {data} has no such document; {known}.")
    return documents.take([row])
