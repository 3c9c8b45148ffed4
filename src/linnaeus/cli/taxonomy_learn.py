"""`linnaeus taxonomy learn`: a taxonomy of the labels of documents, from the documents themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import JsonOption, note, print_json, print_table, waiting
from linnaeus.errors import ParameterError

__all__ = ["learn"]


@options.with_groups
def learn(
    data: Annotated[list[str], typer.Argument(help="Documents with labels.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Taxonomy file to write; its ending says the format.")],
    *,
    levels: Annotated[
        str, typer.Option("--levels", help="Levels below the root, that of the labels included; or auto.")
    ] = "2",
    branching: Annotated[
        int, typer.Option("--branching", min=1, help="With --levels auto: number of nodes of a level at which to stop.")
    ] = 10,
    linkage: Annotated[str, typer.Option("--linkage", help="average, complete or ward.")] = "average",
    metric: Annotated[str, typer.Option("--metric", help="Distance of labels: euclidean or cosine.")] = "euclidean",
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the dendrogram with its cut (.png, .svg, .pdf).")
    ] = None,
    reading: options.LabelledReading,
    as_json: JsonOption = False,
) -> None:
    """Group labels whose documents are alike into a taxonomy.

    Learn it from training documents only. The result is a file as any other: train with it, or edit it first.

    linnaeus taxonomy learn docs.jsonl --output learned.tsv --picture learned.png
    """
    from linnaeus.cli.training import no_labels
    from linnaeus.features.named import default_features
    from linnaeus.models.learn_taxonomy import learn_dendrogram

    if levels != "auto" and not levels.isdigit():
        raise ParameterError(f"--levels {levels}: expected a whole number, or auto.")
    documents = reading.read(data)
    if documents.labels is None:
        raise no_labels(documents)
    with waiting("comparing labels"):
        fields = options.weighted_fields(reading.text)
        features = default_features(documents.kind, **({} if fields is None else {"fields": fields}))
        X: Any = documents.documents if features is None else features.fit_transform(documents.documents)
        tax, dendrogram = learn_dendrogram(
            X,
            documents.labels,
            levels=None if levels == "auto" else int(levels),
            branching=branching,
            linkage=linkage,
            metric=metric,
        )
    tax.write(output)
    if picture is not None:
        dendrogram.picture(picture)
    clusters = [[dendrogram.names[i] for i in group] for group in dendrogram.clusters]
    result = {
        "documents": len(documents),
        "labels": len(dendrogram.names),
        "clusters": len(clusters),
        "threshold": dendrogram.threshold,
        "levels": [len(level) for level in tax.levels[1:]],
        "output": str(output),
        "picture": None if picture is None else str(picture),
    }
    if as_json:
        print_json({**result, "members": clusters})
        return
    print_table(["node", "labels"], [(" + ".join(group[:2]), ", ".join(group)) for group in clusters])
    note(f"{output}: {result['labels']:,} labels in {result['clusters']:,} cluster{'s' * (result['clusters'] != 1)}")
