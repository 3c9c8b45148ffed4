"""What commands share: groups of options (how documents and taxonomies are read), tables, JSON and messages.

A group of options is a dataclass whose fields are ``Annotated[type, typer.Option(...)]``. A command takes the group as
one parameter, and `with_groups` expands it into one option per field::

    @with_groups
    def describe(files: ..., *, taxonomy: TaxonomyReading, reading: TrainingReading) -> None:

A new option is one line in a group. Fields of `Reading` have the names of the parameters of `read_dataset`, fields of
`TaxonomyReading` those of `Taxonomy.read`, and are passed on by name where they are given.

Results are JSON or tables on stdout; messages and progress bars go to stderr.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from linnaeus.errors import DataError, LinnaeusError, ParameterError, TaxonomyError, nearest, visible
from linnaeus.progress import progress, waiting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from linnaeus.answering.documents import SavedModel
    from linnaeus.data import Dataset
    from linnaeus.decoding import Decoder
    from linnaeus.taxonomy import Taxonomy


__all__ = [
    "STARTED",
    "AnalyserOptions",
    "Group",
    "JsonOption",
    "LabelChecks",
    "LabelledReading",
    "OptionalTaxonomy",
    "Reading",
    "TaxonomyReading",
    "TrainingReading",
    "Verify",
    "in_words",
    "kind_words",
    "load_model",
    "note",
    "note_columns",
    "one_of",
    "parse_decoder",
    "print_json",
    "print_table",
    "progress",
    "show",
    "waiting",
    "weighted_fields",
    "with_groups",
]

T = TypeVar("T")
DOCUMENTS, TAXONOMY = "Reading documents", "Reading the taxonomy"  # headings of these options in --help
DECODER = "Decoder from scores to label sets, with parameters if needed: scut,average=micro."


Verify = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify", help="Compare the checksums of all model files (default: for models below 1 GB)."
    ),
]


def one_of(option: str, given: Sequence[T] | None) -> T | None:
    """The value of an option that may be given once; a second one is an error instead of replacing the first."""
    if given and len(given) > 1:
        raise ParameterError(f"{option} is given {len(given)} times ({', '.join(map(str, given))}); expected one.")
    return given[0] if given else None


def load_model(folder: str, verify: bool | None = None) -> SavedModel:
    """The model or pipeline of a folder."""
    from linnaeus import store

    return store.load(folder, verify=verify)


def _documents(*names: str, help: str) -> object:
    return typer.Option(*names, help=help, rich_help_panel=DOCUMENTS)


def _taxonomy(*names: str, help: str) -> object:
    return typer.Option(*names, help=help, rich_help_panel=TAXONOMY)


def _features(*names: str, help: str) -> object:
    return typer.Option(*names, help=help, rich_help_panel="Features")


@dataclass(frozen=True)
class Group:
    """Options that belong together."""

    def given(self) -> dict[str, Any]:
        """The fields that were given on the command line."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value != []}

    def refuse(self, reason: str, allowed: tuple[str, ...] = ()) -> None:
        """Raise an error that names the first option given, unless it is one of those allowed: ``--text REASON.``"""
        for name in self.given():
            if name not in allowed:
                raise ParameterError(f"{self.option(name)} {reason}.")

    @classmethod
    def option(cls, name: str) -> str:
        """The option of a field: ``TaxonomyReading.option("format")`` is ``--from``."""
        declared = get_args(_options(cls)[name])[1]
        return str(declared.default).split("/")[0]  # inside Annotated, typer keeps the first name there

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Rewrite errors raised inside to name options of this group instead of parameters: --text for ``text=...``."""
        try:
            yield
        except LinnaeusError as error:
            raise type(error)(self._in_options(str(error))) from error

    def _in_options(self, message: str) -> str:
        names = "|".join(_options(type(self)))
        return re.sub(rf"(?<![\w'\"=-])({names})=(\.\.\.|'[^']*'|\([^)]*\)|\w+)", self._as_option, message)

    def _as_option(self, found: re.Match[str]) -> str:
        option, value = self.option(found[1]), found[2].strip("'")
        if value.startswith("("):  # several values: the option is repeated
            return " ".join(f"{option} {one}" for one in re.findall(r"'([^']*)'", value))
        if value == "False":
            return option.replace("--", "--no-")
        return option if value in ("...", "True") else f"{option} {value}"


def _options(group: type[Group]) -> dict[str, object]:
    """Fields of a group that are options, with their annotations."""
    hints = get_type_hints(group, include_extras=True)
    return {field.name: hints[field.name] for field in fields(group) if hasattr(hints[field.name], "__metadata__")}


@dataclass(frozen=True, kw_only=True)
class Reading(Group):
    """How documents are read, apart from labels."""

    text: Annotated[
        list[str] | None,
        _documents("--text", help="Text column or key; with a weight: title=2. May be repeated."),
    ] = None
    sequence: Annotated[
        str | None, _documents("--sequence", help="Column or key of sequences (common names are detected).")
    ] = None
    id: Annotated[str | None, _documents("--id", help="Column or key of the documents' ids.")] = None
    format: Annotated[str | None, _documents("--format", help="Format of the documents, if it is not detected.")] = None
    header: Annotated[
        bool | None, _documents("--header/--no-header", help="Whether the file begins with column names.")
    ] = None
    encoding: Annotated[str | None, _documents("--encoding", help="Encoding of the documents (default: UTF-8).")] = None
    split: Annotated[
        str | None,
        _documents("--split", help="Read only this part (train, test, ...) of a file that is divided into parts."),
    ] = None
    max_unpacked: Annotated[
        str | None,
        _documents("--max-unpacked", help="Bytes a compressed file may unpack to, as 4GB (default: 250 x its size)."),
    ] = None
    labels: list[str] | None = None  # not options here: see the groups below
    categorical: list[str] | None = None

    def read(self, paths: list[str], taxonomy: Taxonomy | None = None, **more: Any) -> Dataset:
        """The data set of these files; ``more`` are further parameters of `read_dataset`."""
        from linnaeus.data.readers import read_dataset

        given = self._parameters()
        with self.named(), waiting(f"reading {', '.join(paths)}"):
            return read_dataset(paths, taxonomy=taxonomy, **given, **more)

    def batches(self, paths: list[str], **more: Any) -> Iterator[Dataset]:
        """The same documents, some at a time."""
        from linnaeus.data.readers import read_batches

        with self.named():
            yield from read_batches(paths, **self._parameters(), **more)

    def _parameters(self) -> dict[str, Any]:
        """Parameters of `read_dataset`."""
        given = self.given()
        weights = weighted_fields(self.text)
        if weights is not None:
            given["text"] = list(weights)
        return given


@dataclass(frozen=True, kw_only=True)
class LabelledReading(Reading):
    """How documents with labels are read."""

    labels: Annotated[
        list[str] | None, _documents("--labels", help="Column or key of the labels. May be repeated.")
    ] = None
    label_separator: Annotated[
        str | None, _documents("--label-separator", help="Separator of the labels of a cell (default: detected).")
    ] = None
    labels_file: Annotated[
        str | None,
        _documents("--labels-file", help="File with the labels of the documents by id: a table, a GAF, JSON lines."),
    ] = None
    unlabelled: Annotated[
        str | None,
        _documents("--unlabelled", help="Documents without a label: error (default in training), drop or keep."),
    ] = None
    duplicates: Annotated[
        str | None,
        _documents(
            "--duplicates", help="Identical documents: keep (default), drop all but the first, or merge labels."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrainingReading(LabelledReading):
    """How documents are read when there is no trained model that determines the columns."""

    categorical: Annotated[
        list[str] | None, _documents("--categorical", help="Column that becomes binary features. May be repeated.")
    ] = None


SUGGESTIONS = (
    "NAME=FILE: label file with the suggestions of another tool for the documents, by id; NAME is the source of a "
    "mixture. May be repeated."
)


@dataclass(frozen=True, kw_only=True)
class SuggestionOptions(Group):
    """What other tools suggest for the documents, for mixtures that have them as sources."""

    files: Annotated[list[str] | None, _documents("--suggestions", help=SUGGESTIONS)] = None

    def join(self, documents: Dataset, taxonomy: Taxonomy | None) -> Dataset:
        """The documents with the suggestions."""
        return joined_suggestions(documents, suggestion_files(self.files), taxonomy)


def suggestion_files(given: list[str] | None) -> dict[str, str]:
    """``["annif=suggested.tsv"]`` as files by the name of the source."""
    files: dict[str, str] = {}
    for entry in given or []:
        name, _, path = entry.partition("=")
        if not name.strip() or not path or "__" in name:
            raise ParameterError(f"--suggestions {entry}: expected NAME=FILE, a name without '__'.")
        if name.strip() in files:
            raise ParameterError(f"--suggestions has {name.strip()!r} twice; expected one file for each source.")
        files[name.strip()] = path
    return files


def joined_suggestions(documents: Dataset, files: dict[str, str], taxonomy: Taxonomy | None) -> Dataset:
    """Documents with the suggestions of files; notes how many documents have some."""
    if not files:
        return documents
    from linnaeus.data import join_suggestions

    with Reading().named():
        joined = join_suggestions(documents, files, taxonomy=taxonomy)
    for name in files:
        note(f"suggestions of {name}: {joined.notes[f'suggestions of {name}']}")
    return joined


@dataclass(frozen=True, kw_only=True)
class LabelChecks(Group):
    """What happens to labels that a model cannot learn from."""

    unknown: Annotated[
        str,
        _documents(
            "--unknown", help="Labels that are not in the taxonomy: error, drop, or replace (deprecated ones only)."
        ),
    ] = "error"


@dataclass(frozen=True, kw_only=True)
class AnalyserOptions(Group):
    """How texts become terms."""

    analyser: Annotated[
        str | None,
        _features(
            "--analyser",
            "--analyzer",
            help="Terms of texts: words (default), stems or stems:de, lemmas or lemmas:de (package simplemma), chars "
            "or chars:2-5. The language is English unless it is named.",
        ),
    ] = None
    ngrams: Annotated[
        str | None,
        _features(
            "--ngrams",
            help="Number of words in a term: 1-2 for words and pairs (default: 1). Of letters of sequences: 1-3.",
        ),
    ] = None
    stop_words: Annotated[
        str | None,
        _features("--stop-words", help="Words to leave out: a language (en, de, fr, ...) or a file of words."),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Parameters of `TextFeatures` for the options that were given."""
        from linnaeus.features.analysis import parse_analyser, parse_ngrams

        made: dict[str, Any] = {}
        if self.analyser is not None:
            with _of_option(f"--analyser {self.analyser}"):
                made |= parse_analyser(self.analyser)
        if self.ngrams is not None:
            if "ngram_range" in made:
                raise ParameterError(
                    f"--ngrams counts words; give lengths of characters as --analyser chars:{self.ngrams}."
                )
            with _of_option(f"--ngrams {self.ngrams}"):
                made["ngram_range"] = parse_ngrams(self.ngrams)
        if self.stop_words is not None:
            if made.get("analyzer") == "char_wb":
                raise ParameterError("--stop-words leaves out words; --analyser chars has none.")
            made["stop_words"] = _stop_words(self.stop_words)
        return made


def _stop_words(given: str) -> str | list[str]:
    """A language that has a list, or the words of a file, separated by white space or line ends."""
    from linnaeus import files
    from linnaeus.features.stop_words import STOP_WORDS

    if given in ("english", *STOP_WORDS):
        return given
    path = Path(given)
    if not path.is_file():
        raise ParameterError(
            f"--stop-words {given} is neither a language ({', '.join(STOP_WORDS)}) nor a file of words"
            f"{nearest(given, STOP_WORDS)}"
        )
    words = sorted(set(files.decode(path.read_bytes(), given, None, DataError).split()))
    if not words:
        raise DataError(f"--stop-words {given}: the file holds no words.")
    return words


@contextlib.contextmanager
def _of_option(option: str) -> Iterator[None]:
    """Put an option in front of the errors raised inside."""
    try:
        yield
    except LinnaeusError as error:
        raise type(error)(f"{option}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class TaxonomyReading(Group):
    """How a taxonomy file is read."""

    format: Annotated[str | None, _taxonomy("--from", help="Format of the taxonomy, if it is not detected.")] = None
    encoding: Annotated[
        str | None, _taxonomy("--taxonomy-encoding", help="Encoding of the taxonomy (default: UTF-8).")
    ] = None
    names: Annotated[
        str | None,
        _taxonomy("--names", help="Names of nodes: iri (default), notation or label (SKOS); name or path (paths)."),
    ] = None
    language: Annotated[str | None, _taxonomy("--language", help="Language of the display labels.")] = None
    relations: Annotated[
        list[str] | None,
        _taxonomy("--relation", help="Relation that makes an edge (OBO; default is_a). May be repeated."),
    ] = None
    namespaces: Annotated[
        list[str] | None, _taxonomy("--namespace", help="Only terms of this namespace (OBO). May be repeated.")
    ] = None
    separator: Annotated[
        str | None,
        _taxonomy(
            "--taxonomy-separator",
            help="Separator of columns, of the steps of a path (' > ') or of a code ('' for 1, 11, 111).",
        ),
    ] = None
    header: Annotated[
        bool | None,
        _taxonomy("--taxonomy-header/--no-taxonomy-header", help="Whether the taxonomy begins with column names."),
    ] = None
    obsolete: Annotated[
        bool | None, _taxonomy("--obsolete/--no-obsolete", help="Keep obsolete or deprecated nodes (OBO, SKOS).")
    ] = None
    duplicates: Annotated[
        str | None, _taxonomy("--taxonomy-duplicates", help="Pairs that occur twice: error (default) or drop.")
    ] = None

    def read(self, path: str) -> Taxonomy:
        """The taxonomy of a file."""
        from linnaeus.taxonomy import Taxonomy

        with self.named(), waiting(f"reading {path}"):
            return Taxonomy.read(path, **self.given())


@dataclass(frozen=True, kw_only=True)
class OptionalTaxonomy(TaxonomyReading):
    """A taxonomy file that may be given, and how it is read."""

    path: Annotated[str | None, typer.Option("--taxonomy", "-t", help="Taxonomy file; any format.")] = None

    def read_if_given(self) -> Taxonomy | None:
        """The taxonomy, or None; without a file the other options are refused."""
        given = self.given()
        path = given.pop("path", None)
        if path is None:
            self.refuse("applies to --taxonomy, which is not given")
            return None
        return TaxonomyReading(**given).read(path)

    def show_labels(self, loaded: SavedModel) -> None:
        """Give the nodes of a model the display labels of the file, or those in the language, if one is given."""
        model = loaded.estimator
        if self.path is None and self.language is not None:
            replace(self, language=None).read_if_given()  # refuses the other options
            try:
                model.taxonomy_ = model.taxonomy_.with_language(self.language)
            except TaxonomyError as error:
                raise ParameterError(f"--language {self.language}: {error}") from None
            return
        given = self.read_if_given()
        if given is None:
            return
        labels = {str(name): given.display(v) for v, name in enumerate(given.names) if name in model.taxonomy_}
        if not labels:
            example = str(model.taxonomy_.names[-1])
            raise DataError(f"{self.path} has none of the nodes of the model, such as {example!r}.")
        model.taxonomy_ = model.taxonomy_.with_display_labels(labels)


def kind_words(kind: str) -> str:
    """What documents of a kind are, in words for people.

    Examples
    --------
    >>> kind_words("dense"), kind_words("text")
    ('numbers', 'texts')
    """
    words = {"dense": "numbers", "numeric": "numbers", "sparse": "sparse vectors"}
    return words.get(kind, f"{kind}s")


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are groups of options become one option per field.

    The options stand in --help where the group stands in the signature; fields without a `typer.Option` are left out.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type[Group], list[str]]] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not (isinstance(kind, type) and issubclass(kind, Group)):
            parameters.append((parameter.name, parameter.default, kind))
            continue
        options = _options(kind)
        groups[parameter.name] = kind, list(options)
        defaults = {field.name: field.default for field in fields(kind)}
        parameters += [(f"{parameter.name}_{name}", defaults[name], hint) for name, hint in options.items()]

    @functools.wraps(command)
    def run(**given: object) -> None:
        for name, (kind, members) in groups.items():
            given[name] = kind(**{member: given.pop(f"{name}_{member}") for member in members})
        command(**given)

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, default, kind in parameters
        ]
    )
    run.__annotations__ = {name: kind for name, _, kind in parameters}
    return run


def parse_decoder(given: str | None) -> Decoder | None:
    """``scut,average=micro`` as a decoder with parameters."""
    if given is None:
        return None
    from linnaeus.decoding import decoder

    try:
        return decoder(given)
    except LinnaeusError as error:
        raise ParameterError(f"--decoder {given}: {error}") from error


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


STARTED = time.perf_counter()  # when the command was started, nearly

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(value: object) -> None:
    """Print one JSON document on stdout; NumPy scalars and arrays are written as plain numbers."""
    json.dump(value, sys.stdout, ensure_ascii=False, default=_plain)
    sys.stdout.write("\n")


def _plain(value: object) -> object:
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    return str(value)


_COUNTS = {"n_docs": "documents", "n_tops": "top nodes", "n_multi_parent": "nodes with several parents"}


def in_words(name: str) -> str:
    """The name of a value in tables: leaves for ``n_leaves``, mean children for ``mean_children``."""
    return _COUNTS.get(name, name.removeprefix("n_").replace("_", " "))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table on stdout: numbers right-aligned, floats with four digits; not truncated outside a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    table = Table(box=SIMPLE_HEAD)
    for i, column in enumerate(columns):
        numeric = all(row[i] is None or isinstance(row[i], (int, float)) for row in cells)
        # On a narrow terminal long texts wrap; numbers are never truncated.
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in cells:
        table.add_row(*(Text(_cell(value)) for value in row))
    if title is not None:
        show(Text(title, style="italic"))  # the table would wrap its own title to its width
    show(table)


def show(renderable: RenderableType) -> None:
    """Print an object of rich on stdout, never wider than the terminal; a closed pipe is left to the entry point."""
    from rich.console import Console

    at_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if at_terminal else 200
    page = io.StringIO()
    Console(file=page, width=width, force_terminal=at_terminal, legacy_windows=False).print(renderable)
    sys.stdout.write(page.getvalue())


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else visible(str(value))


def note_columns(documents: Dataset) -> None:
    """Print on stderr how the columns of a file were read, and what was left out or replaced."""
    from linnaeus.data.dataset import columns_line

    line = columns_line(documents)
    if line:
        note(f"{documents.source}: {line}")
    for name, text in documents.notes.items():
        if name != "header":
            note(f"note: {name.replace('_', ' ')}: {text}")


def note(message: str) -> None:
    """Print a line on stderr."""
    print(visible(message), file=sys.stderr)
