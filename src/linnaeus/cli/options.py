"""Options that several commands share: which columns of a file hold what, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from linnaeus.errors import ParameterError
from linnaeus.progress import waiting

__all__ = [
    "CategoricalOption",
    "DataFormatOption",
    "EncodingOption",
    "HeaderOption",
    "IdOption",
    "LabelsOption",
    "LanguageOption",
    "NamesOption",
    "Reading",
    "SeparatorOption",
    "SequenceOption",
    "SplitOption",
    "TaxonomyOption",
    "TextOption",
    "UnknownOption",
    "node_meant",
    "read_taxonomy",
    "weighted_fields",
]

READING = "Reading documents"  # the heading of these options in --help
TaxonomyOption = Annotated[str | None, typer.Option("--taxonomy", "-t", help="Taxonomy file; any format.")]
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text", help="Text column or key; with a weight as title=2. May be repeated.", rich_help_panel=READING
    ),
]
LabelsOption = Annotated[
    str | None, typer.Option("--labels", help="Column or key of the labels.", rich_help_panel=READING)
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option("--categorical", help="Column that becomes binary features.", rich_help_panel=READING),
]
DataFormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the documents, if not recognised.", rich_help_panel=READING)
]
HeaderOption = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the file begins with column names.", rich_help_panel=READING),
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of the documents (default: UTF-8).", rich_help_panel=READING)
]
IdOption = Annotated[
    str | None, typer.Option("--id", help="Column or key of the documents' ids.", rich_help_panel=READING)
]
SequenceOption = Annotated[
    str | None,
    typer.Option(
        "--sequence", help="Column or key of sequences (usual names are recognised).", rich_help_panel=READING
    ),
]
SplitOption = Annotated[
    str | None, typer.Option("--split", help="Use one part only, where the file names parts.", rich_help_panel=READING)
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--label-separator", help="Between the labels of a cell (default: recognised).", rich_help_panel=READING
    ),
]
NamesOption = Annotated[
    str | None, typer.Option("--names", help="Names of SKOS concepts: iri (default), notation or label.")
]
LanguageOption = Annotated[str | None, typer.Option("--language", help="Language of the display labels (SKOS).")]
UnknownOption = Annotated[
    str, typer.Option("--unknown", help="Labels that are not in the taxonomy: error or drop.", rich_help_panel=READING)
]


def weighted_fields(text: list[str] | None) -> dict[str, float] | None:
    """``["title=2", "abstract"]`` as {"title": 2.0, "abstract": 1.0}."""
    if not text:
        return None
    fields = {}
    for entry in text:
        name, _, weight = entry.partition("=")
        try:
            fields[name] = float(weight or 1)
            if not 0 < fields[name] < float("inf"):
                raise ValueError
        except ValueError:
            raise ParameterError(
                f"--text {entry}: the weight {weight!r} is not a number above 0 (expected for example title=2)."
            ) from None
    return fields


def read_taxonomy(path: str | None, names: str | None = None, language: str | None = None) -> Any:
    """The taxonomy of a file, or None."""
    from linnaeus import Taxonomy

    if path is None:
        if language is not None:
            raise ParameterError(
                f"--language {language} chooses the display labels of a --taxonomy, and none is given."
            )
        return None
    chosen = {"names": names, "language": language}
    with waiting(f"reading {path}"):
        return Taxonomy.read(path, **{option: value for option, value in chosen.items() if value is not None})


def node_meant(taxonomy: Any, given: str) -> str:
    """The name of the node that a person means: by name, or by a display label that only one node has."""
    shown = taxonomy.displayed_as(given)
    v = int(shown[0]) if given not in taxonomy and len(shown) == 1 else taxonomy.index(given)
    return str(taxonomy.names[v])


@dataclass(frozen=True)
class Reading:
    """How documents are to be read, as the options say it."""

    format: str | None = None
    text: list[str] | None = None
    labels: str | None = None
    categorical: list[str] | None = None
    header: bool | None = None
    encoding: str | None = None
    split: str | None = None
    label_separator: str | None = None
    id: str | None = None
    sequence: str | None = None

    def read(self, paths: list[str], taxonomy: Any = None) -> Any:
        """The data set of these files."""
        from linnaeus.data.readers import read_dataset

        fields = weighted_fields(self.text)
        with waiting(f"reading {', '.join(paths)}"):
            return read_dataset(
                paths,
                self.format,
                taxonomy=taxonomy,
                text=None if fields is None else list(fields),
                labels=self.labels,
                categorical=self.categorical or None,
                header=self.header,
                encoding=self.encoding,
                split=self.split,
                label_separator=self.label_separator,
                id=self.id,
                sequence=self.sequence,
            )
