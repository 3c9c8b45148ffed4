"""`linnaeus train`: documents and a taxonomy to a model folder."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from linnaeus.cli import options, training
from linnaeus.cli.console import JsonOption, note, print_json, print_table

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
    from linnaeus.decoding import decoder as make_decoder
    from linnaeus.features.defaults import default_features
    from linnaeus.pipeline import Pipeline

    store.check_target(output)
    reading: dict[str, Any] = {"format": format, "text": text, "labels": labels, "header": header}
    reading["categorical"] = categorical
    documents, tax = options.read_labelled(data, taxonomy, **reading)
    y, tax = training.labels_of(documents, tax, unknown)
    kind: dict[str, Any] = {"min_df": min_df} if documents.kind in ("text", "sequence") else {}
    if documents.kind == "text":
        kind |= {"fields": options.weighted_fields(text), "categorical": categorical or (), "weighting": weighting}
    pipe = Pipeline(
        training.make_model(model, set_, taxonomy=tax, C=C, n_jobs=jobs, random_state=seed, verbose=1),
        default_features(documents.kind, **kind),
        decoder=None if decoder is None else make_decoder(decoder),
    )
    if not as_json:
        note(f"{len(documents):,} documents, {tax}; training {model} ...")
    start = time.perf_counter()
    pipe.fit(documents.documents, y)
    result = training.summary(pipe, documents, time.perf_counter() - start)
    held_out, gold = documents, y
    if test is not None:
        held_out, _ = options.read_labelled([test], taxonomy, **reading)
        gold = training.labels_of(held_out, tax, unknown)[0]
    result["measured_on"] = "the test documents" if test is not None else "the training documents"
    result["scores"] = training.measure(pipe, held_out, gold)
    if prune is not None:
        result["pruned"] = training.prune(pipe, prune, held_out, gold)
    store.save(pipe, output)
    result["output"] = output
    print_json(result) if as_json else _show(result)


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
