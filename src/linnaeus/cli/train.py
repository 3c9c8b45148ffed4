"""`linnaeus train`: documents and a taxonomy to a model folder."""

from __future__ import annotations

import inspect
import json
import time
from typing import Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import JsonOption, note, print_json, print_table
from linnaeus.errors import DataError, ParameterError, nearest

__all__ = ["train"]


def train(
    data: Annotated[list[str], typer.Option("--data", "-d", help="Documents with labels; may be repeated.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Folder to save the model in.")],
    taxonomy: options.TaxonomyOption = None,
    model: Annotated[str, typer.Option("--model", "-m", help="Model, see `linnaeus models`.")] = "OneVsRestSVM",
    C: Annotated[float, typer.Option("--C", help="Weight of the loss.")] = 1.0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Further parameter of the model, as tol=0.01.")
    ] = None,
    text: options.TextOption = None,
    labels: options.LabelsOption = None,
    categorical: options.CategoricalOption = None,
    format: options.DataFormatOption = None,
    header: options.HeaderOption = None,
    unknown: options.UnknownOption = "error",
    weighting: Annotated[
        str, typer.Option("--weighting", help="Of terms: tfidf, or log2 (raw counts x log2(N/n)).")
    ] = "tfidf",
    min_df: Annotated[int, typer.Option("--min-df", help="Leave out terms of fewer documents.")] = 2,
    decoder: Annotated[
        str | None,
        typer.Option("--decoder", help="threshold, best_label, best_leaf, top_down, best_subtree, best_closure."),
    ] = None,
    prune: Annotated[
        float | None, typer.Option("--prune", help="Drop weights below this size; reports what it costs.")
    ] = None,
    test: Annotated[str | None, typer.Option("--test", help="Documents to measure on after training.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random order.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Train a model and save it."""
    from linnaeus import store

    reading: dict[str, Any] = {"format": format, "text": text, "labels": labels, "header": header}
    reading["categorical"] = categorical
    documents, tax = options.read_labelled(data, taxonomy, **reading)
    y, tax = _labels(documents, tax, unknown)
    pipe = _pipeline(
        documents,
        tax,
        model,
        C,
        set_,
        options.weighted_fields(text),
        categorical,
        weighting,
        min_df,
        decoder,
        jobs,
        seed,
    )
    store.check_target(output)
    if not as_json:
        note(f"{len(documents):,} documents, {tax}; training {model} ...")
    start = time.perf_counter()
    pipe.fit(documents.documents, y)
    seconds = time.perf_counter() - start
    held_out, gold = documents, y
    if test is not None:
        held_out, _ = options.read_labelled([test], taxonomy, **reading)
        gold = _labels(held_out, tax, unknown)[0]
    result = _summary(pipe, documents, seconds)
    result["measured_on"] = "the test documents" if test is not None else "the training documents"
    result["scores"] = _measure(pipe, held_out, gold)
    if prune is not None:
        result["pruned"] = _prune(pipe, prune, held_out, gold)
    store.save(pipe, output)
    result["output"] = output
    print_json(result) if as_json else _show(result)


def _labels(documents: Any, taxonomy: Any, unknown: str) -> tuple[Any, Any]:
    """Labels as the model takes them, and the taxonomy: a flat one where none was given."""
    from linnaeus import Taxonomy

    if documents.labels is None:
        raise DataError(f"{documents.source} has no labels; name their column with --labels.")
    if taxonomy is None:
        note("no taxonomy given: the labels are taken as a flat list (use --taxonomy)")
        taxonomy = Taxonomy.flat(sorted({label for row in documents.labels for label in row}))
    if unknown not in ("error", "drop"):
        raise ParameterError(f"--unknown {unknown}: expected error or drop{nearest(unknown, ['error', 'drop'])}")
    try:
        Y = documents.indicator(taxonomy, unknown=unknown)
    except DataError as error:
        raise type(error)(f"{error} (--unknown drop leaves such labels out)") from None
    sets = taxonomy.labels(Y)
    return ([row[0] for row in sets] if all(len(row) == 1 for row in sets) else sets), taxonomy


def _pipeline(
    documents: Any, taxonomy: Any, model: str, C: float, settings: list[str] | None, fields: dict[str, float] | None,
    categorical: list[str] | None, weighting: str, min_df: int, decoder: str | None, jobs: int, seed: int,
) -> Any:  # fmt: skip
    from linnaeus import registry
    from linnaeus.decoding import decoder as make_decoder
    from linnaeus.pipeline import Pipeline

    kind = registry.resolve(registry.find_model(model))
    known = set(inspect.signature(kind).parameters)
    given = {"taxonomy": taxonomy, "C": C, "n_jobs": jobs, "random_state": seed, "verbose": 1}
    parameters = {name: value for name, value in given.items() if name in known} | _settings(settings, known, model)
    features: Any = None
    if documents.kind in ("text", "sequence"):
        from linnaeus.features.text import TextFeatures

        if documents.kind == "sequence":
            features = TextFeatures(
                analyzer="char", ngram_range=(1, 3), lowercase=False, min_df=min_df, sublinear_tf=True
            )
        else:
            features = TextFeatures(
                fields,
                categorical=categorical or (),
                weighting=weighting,
                min_df=min_df,
                sublinear_tf=weighting == "tfidf",
            )
    elif documents.kind == "dense":
        from linnaeus.features.dense import DenseFeatures

        features = DenseFeatures()
    return Pipeline(kind(**parameters), features, decoder=None if decoder is None else make_decoder(decoder))


def _settings(settings: list[str] | None, known: set[str], model: str) -> dict[str, Any]:
    """``--set tol=0.01 --set loss=hinge`` as parameters of the model."""
    values: dict[str, Any] = {}
    for entry in settings or []:
        name, equals, value = entry.partition("=")
        if not equals or name not in known - {"taxonomy"}:
            raise ParameterError(f"--set {entry}: {model} has no parameter {name!r}{nearest(name, known)}")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = {"True": True, "False": False, "None": None}.get(value, value)
    return values


def _summary(pipe: Any, documents: Any, seconds: float) -> dict[str, Any]:
    model = pipe.model_
    return {
        "model": type(model).__name__,
        "documents": len(documents),
        "features": int(model.n_features_in_),
        "nodes": pipe.taxonomy_.n_nodes,
        "nodes_answered": len(model.nodes_),
        "objective": getattr(model, "objective_", None),
        "duality_gap": getattr(model, "duality_gap_", None),
        "n_iter": getattr(model, "n_iter_", None),
        "seconds": round(seconds, 3),
    }


def _measure(pipe: Any, documents: Any, gold: Any) -> dict[str, float]:
    from linnaeus import metrics

    tax = pipe.taxonomy_
    predicted = pipe.predict(documents.documents)
    best, _ = pipe.top(documents.documents, 1)
    sets = [{row} if isinstance(row, str) else set(row) for row in gold]
    return {
        "micro_f1": float(metrics.micro_f1(gold, predicted, taxonomy=tax)),
        "hierarchical_f1": float(metrics.hierarchical_f1(gold, predicted, taxonomy=tax)),
        "precision_at_1": sum(first in labels for first, labels in zip(best[:, 0], sets, strict=True))
        / max(1, len(sets)),
    }


def _prune(pipe: Any, threshold: float, documents: Any, gold: Any) -> dict[str, Any]:
    """Drop small weights; how many stay, and what the scores become."""
    import numpy as np

    if not hasattr(pipe.model_, "prune"):
        raise ParameterError(f"--prune: {type(pipe.model_).__name__} has no weights to prune.")
    before = pipe.model_.weights_
    n_before = before.nnz if hasattr(before, "nnz") else int(np.count_nonzero(before))
    pipe.model_.prune(threshold)
    kept = pipe.model_.weights_.nnz
    return {
        "threshold": threshold,
        "weights_before": n_before,
        "weights_kept": int(kept),
        "scores": _measure(pipe, documents, gold),
    }


def _show(result: dict[str, Any]) -> None:
    rows = [
        (name.replace("_", " "), value)
        for name, value in result.items()
        if value is not None and not isinstance(value, dict)
    ]
    print_table(["training", ""], rows)
    pruned = result.get("pruned")
    columns = [f"on {result['measured_on']}", "value"] + (["after pruning"] if pruned else [])
    print_table(columns, [(k, v) + ((pruned["scores"][k],) if pruned else ()) for k, v in result["scores"].items()])
    if pruned:
        share = pruned["weights_kept"] / max(1, pruned["weights_before"])
        note(f"pruned at {pruned['threshold']:g}: {pruned['weights_kept']:,} weights kept ({share:.1%})")
    note(f"saved to {result['output']}; try: linnaeus predict {result['output']} FILE --top 5")
