"""`linnaeus train`: documents and a taxonomy to a model folder."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from linnaeus.cli import options, pruning, training
from linnaeus.cli.console import JsonOption, note, print_json, print_table
from linnaeus.cli.predicting import fit_to
from linnaeus.errors import DataError

__all__ = ["train"]

# Headings of the options in --help.
MODEL, FEATURES, RUN, AFTER = "Model", "Features", "Time, memory, threads", "After training"


@options.with_groups
def train(
    data: Annotated[list[str], typer.Option("--data", "-d", help="Documents with labels; may be repeated.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Folder to save the model in.")],
    *,
    model: Annotated[
        str, typer.Option("--model", "-m", help="Model, see `linnaeus models`.", rich_help_panel=MODEL)
    ] = "OneVsRestSVM",
    C: Annotated[
        float | None, typer.Option("--C", help="Weight of the loss (default 1).", rich_help_panel=MODEL)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Further parameter, as tol=0.01; see `linnaeus models NAME`.", rich_help_panel=MODEL
        ),
    ] = None,
    taxonomy: options.OptionalTaxonomy,
    reading: options.TrainingReading,
    checks: options.LabelChecks,
    weighting: Annotated[
        str | None,
        typer.Option(
            "--weighting", help="Of terms: tfidf (default), or log2 (raw counts x log2(N/n)).", rich_help_panel=FEATURES
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            help="Of sequences: spectrum:4 (substrings), spectrum:2-4, spectrum:4,max_gap=1,decay=0.5.",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    min_df: Annotated[
        int | None, typer.Option("--min-df", help="Leave out terms of fewer documents (2).", rich_help_panel=FEATURES)
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            "--decoder",
            help="threshold, best_label, best_leaf, top_down, best_subtree, best_closure; or a cut-off learned by "
            "cross-validation: rcut, scut, pcut, instance_cut, set_size; with parameters as scut,average=micro.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            "--prune",
            help="Drop weights below this size, or auto: as many as cost hardly anything.",
            rich_help_panel=AFTER,
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="Documents to measure on after training.", rich_help_panel=AFTER)
    ] = None,
    test_size: Annotated[
        float | None,
        typer.Option("--test-size", help="Hold this share of the documents out to measure on.", rich_help_panel=AFTER),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            help="Threads or workers; -1 for all cores (default 1, with --engine all).",
            rich_help_panel=RUN,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", help="Where blocks run: serial, threads, ray (cluster: RAY_ADDRESS).", rich_help_panel=RUN
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint", help="Folder for what is finished; the same command goes on from it.", rich_help_panel=RUN
        ),
    ] = None,
    max_time: Annotated[
        str | None,
        typer.Option("--max-time", help="Stop then with the best model so far: 90, 10m, 1h30m.", rich_help_panel=RUN),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(
            "--max-memory", help="Stay below this, with weights on disk if need be: 4GB.", rich_help_panel=RUN
        ),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            "--calibrate", help="Probabilities by cross-validation: isotonic or platt.", rich_help_panel=AFTER
        ),
    ] = None,
    keep_documents: Annotated[
        bool,
        typer.Option(
            "--keep-documents",
            help="Keep the documents' features, for explanations by similar ones.",
            rich_help_panel=AFTER,
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of the random order.", rich_help_panel=RUN)
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Train a model and save it.

    Exit codes: 0 trained and saved, also when --max-time stopped it; 1 a problem with the input or the checkpoint;
    2 wrong usage, or too small a --max-memory; 130 stopped by Ctrl-C (with --checkpoint the same command goes on).
    """
    from linnaeus import store
    from linnaeus.engine import get_engine
    from linnaeus.pipeline import Pipeline

    if test is not None and test_size is not None:
        raise typer.BadParameter("Give --test or --test-size, not both.")
    if C is not None:
        if any(entry.startswith("C=") for entry in set_ or []):
            raise typer.BadParameter("Give --C or --set C=..., not both.")
        set_ = [*(set_ or []), f"C={C}"]
    if calibrate not in (None, "isotonic", "platt"):
        raise typer.BadParameter(f"--calibrate {calibrate}: expected isotonic or platt.")
    least = pruning.check_prune(prune)
    store.check_target(output)
    run: dict[str, Any] = training.limits(model, checkpoint=checkpoint, max_time=max_time, max_memory=max_memory)
    if engine is not None:
        get_engine(engine, jobs, gpu=True)  # a wrong name or a missing package is told before anything is read
        run["engine"] = engine
    given = taxonomy.read_if_given()
    documents = reading.read(data, given)
    y, tax = training.labels_of(documents, given or documents.taxonomy, checks)
    held_out = None if test is None else reading.read([test], tax)
    if held_out is not None and held_out.labels is None:
        raise DataError(f"{test} has no labels to measure with; name their column with --labels.")
    gold = None if held_out is None else held_out.labels  # unknown ones count as missed, as in `evaluate`
    if test_size is not None:
        documents, y, held_out, gold = training.hold_out(documents, y, test_size, seed)
    made = training.make_model(model, set_, taxonomy=tax, n_jobs=jobs, random_state=seed, verbose=1, **run)
    pipe = Pipeline(
        made,
        training.make_features(
            documents, reading, weighting=weighting, min_df=min_df, named=features, model=made.get_params()
        ),
        decoder=options.parse_decoder(decoder),
    )
    if not as_json:
        note(f"{len(documents):,} documents, {tax}; training {type(pipe.model).__name__} ...")
    training.advise(pipe, documents, y, reading.split)
    start = time.perf_counter()
    pipe.fit(documents.documents, y, feature_names=documents.feature_names)
    result = training.summary(pipe, documents, time.perf_counter() - start)
    if keep_documents:
        pipe.keep_documents(documents.documents, y, documents.ids)
    store.save(pipe, output)  # before anything is measured: what was trained is not lost
    if calibrate is not None:
        from linnaeus.calibration import calibrate as calibrated

        store.save(calibrated(pipe, documents.documents, y, method=calibrate), output)
    if checkpoint is not None:
        training.drop_finished(checkpoint)
    measured = (documents, y) if held_out is None else (fit_to(pipe, held_out), gold)
    result["measured_on"] = "the training documents" if held_out is None else "the test documents"
    result["scores"] = training.measure(pipe, *measured)
    if least is not None:
        pruned = pruning.prune(pipe, least, documents, y)
        result["pruned"] = {**pruned, "scores": training.measure(pipe, *measured)}
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
