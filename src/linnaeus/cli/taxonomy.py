"""``linnaeus taxonomy``: show and search a taxonomy, convert it, check it, or learn one from documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.answering.documents import node_meant
from linnaeus.cli.check import check
from linnaeus.cli.common import (
    TAXONOMY,
    JsonOption,
    LabelledReading,
    TaxonomyReading,
    in_words,
    kind_words,
    note,
    print_json,
    print_table,
    waiting,
    weighted_fields,
    with_groups,
)
from linnaeus.cli.common import show as show_on_stdout
from linnaeus.cli.diff import diff
from linnaeus.errors import LinnaeusError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.tree import Tree

    from linnaeus.taxonomy import Taxonomy
    from linnaeus.taxonomy.formats import Draft

__all__ = ["app", "learn"]

app = typer.Typer(
    help="Show, search, convert, check, compare and learn taxonomies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

MOST_CHILDREN = 20
MOST_TEXTS = 100
LONGEST_TEXT = 500
COLUMNS = ["property", "value"]

app.command()(with_groups(check))
app.command()(with_groups(diff))

FileArgument = Annotated[Path, typer.Argument(help="The taxonomy; its format is detected.", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class FileReading(TaxonomyReading):
    """How the taxonomy is read by commands that read no other file."""

    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            "--taxonomy-encoding",
            help="Encoding of the taxonomy (default: UTF-8).",
            rich_help_panel=TAXONOMY,
        ),
    ] = None


@app.command()
@with_groups
def show(
    file: FileArgument,
    *,
    node: Annotated[
        str | None,
        typer.Option(help="Show the ancestors and descendants of this node (name or display label)."),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Levels of the tree to show.")] = 2,
    reading: FileReading,
    json: JsonOption = False,
) -> None:
    """Print the shape of a taxonomy and its upper levels, or the surroundings of one node."""
    from linnaeus.taxonomy.checks import shape

    with waiting(f"reading {file}"), reading.named():
        draft = _draft(file, reading)
        tax = draft.taxonomy()
    ids = {"n_aliases": len(tax.aliases), "n_deprecated": len(tax.deprecated)}
    about = {**shape(tax), **{name: n for name, n in ids.items() if n}, "fingerprint": tax.fingerprint}
    about |= {"n_texts": len(tax.texts), "texts": tax.texts.counts} if json else _text_counts(tax)
    if node is not None:
        _show_node(tax, node, depth, json)
    elif json:
        print_json({**about, "tree": [_nested(tax, v, depth) for v in _starts(tax)]})
    else:
        _print_properties(about)
        _print_tree(tax, _starts(tax), depth)
        _note_left_out(draft)


@app.command()
@with_groups
def node(
    file: FileArgument,
    id: Annotated[str, typer.Argument(help="The node: its name, an alias or its display label.", show_default=False)],
    *,
    reading: FileReading,
    json: JsonOption = False,
) -> None:
    """Print one node: its texts, its parents and its children.

    linnaeus taxonomy node vocabulary.ttl "Heart attack"
    """
    tax = reading.read(str(file))
    _show_node(tax, id, 1, json)


@app.command()
@with_groups
def find(
    file: FileArgument,
    query: Annotated[str, typer.Argument(help="What to look for: a label, a code or a part of one.")],
    *,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Maximum number of nodes.")] = 10,
    reading: FileReading,
    json: JsonOption = False,
) -> None:
    """Search a taxonomy by ids, labels and notations; misspelt words are found too. --language searches one language.

    linnaeus taxonomy find vocabulary.ttl "heart attack" --language en
    """
    with waiting(f"reading {file}"), reading.named():
        tax = _draft(file, reading, optional=("language",)).taxonomy()
        matches = tax.find(query, k, reading.language)
    if json:
        labels = [{"id": str(tax.names[m.node]), "label": tax.display(m.node)} for m in matches]
        rest = [{"score": m.score, "text": m.text, "kind": m.kind, "how": m.how} for m in matches]
        print_json({"query": query, "matches": [{**one, **other} for one, other in zip(labels, rest, strict=True)]})
    elif not matches:
        note(f"No node resembles {query!r}.")
    else:
        rows = [
            (f"{m.score:.2f}", tax.names[m.node], _cut(tax.display(m.node)), _cut(m.text), m.kind, m.how)
            for m in matches
        ]
        print_table(["score", "id", "label", "text", "kind", "match"], rows)


@app.command()
@with_groups
def convert(
    input: FileArgument,
    output: Annotated[Path, typer.Argument(help="File to write; its ending sets the format.", show_default=False)],
    *,
    to: Annotated[str | None, typer.Option("--to", help="Format of the output (default: by its ending).")] = None,
    reading: FileReading,
    json: JsonOption = False,
) -> None:
    """Write a taxonomy in another format; --language selects the labels to read, and tags the labels written."""
    from linnaeus.taxonomy import formats

    language = reading.language
    if output.exists() and input.exists() and output.samefile(input):
        raise ParameterError(
            f"{output} is the input itself; write another file, because a format may not hold everything in it."
        )
    try:
        marks = language is not None and formats.knows("language", output, to, writing=True)
    except LinnaeusError as error:
        raise type(error)(str(error).replace("format=...", "--to")) from None
    with waiting(f"reading {input}"), reading.named():
        draft = _draft(input, reading, optional=("language",))
        tax = draft.taxonomy()
    if language is not None and not marks and not formats.knows("language", input, draft.format):
        raise ParameterError(f"--language {language} does not apply: neither {input} nor {output} is SKOS.")
    try:
        tax.write(output, to, **({"language": language} if marks else {}))
    except LinnaeusError as error:
        raise type(error)(str(error).replace("format=...", "--to")) from None
    left_out = {} if formats.holds_texts(output, to) else _beside_labels(tax)
    if json:
        counts = {"n_nodes": tax.n_nodes, "n_edges": tax.n_edges, "n_deprecated": len(tax.deprecated)}
        print_json({"output": str(output), **counts, "n_texts": len(tax.texts), "texts_left_out": left_out})
        return
    note(f"{output}: {tax.n_nodes:,} nodes, {tax.n_edges:,} edges")
    if left_out:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in left_out.items())
        note(f"Texts that this format does not hold were left out: {kinds}. SKOS (.ttl) holds all texts.")
    _note_left_out(draft)


def _draft(file: Path, reading: TaxonomyReading, optional: tuple[str, ...] = ()) -> Draft:
    from linnaeus.taxonomy import formats

    with reading.named():
        return formats.draft(file, optional=optional, **reading.given())


def _note_left_out(draft: Draft) -> None:
    """Print what the file has and the taxonomy does not."""
    deprecated = draft.replacements()[1]
    if deprecated:
        replaced = sum(len(entry.replaced_by) == 1 for entry in deprecated.values())
        note(
            f"{len(deprecated):,} deprecated ids were left out (--obsolete keeps them); {replaced:,} of them have "
            "exactly one replacement."
        )
    if draft.text_columns:
        note(f"Columns read as texts: {', '.join(draft.text_columns)}.")
    if draft.unused_relations:
        relations = ", ".join(f"{name} ({count:,})" for name, count in draft.unused_relations.most_common(5))
        note(f"Edges of other relations were left out: {relations}. --relation includes them.")


def _beside_labels(tax: Taxonomy) -> dict[str, int]:
    """Number of texts of each kind that are not display labels."""
    kinds = dict(tax.texts.kinds)
    shown = 0 if tax.display_labels is None else sum(map(bool, tax.display_labels))
    kinds["preferred"] = max(0, kinds.get("preferred", 0) - shown)
    return {kind.replace("_", " "): count for kind, count in kinds.items() if count}


def _print_properties(about: Mapping[str, object]) -> None:
    print_table(COLUMNS, [(in_words(key), _flat(value)) for key, value in about.items()])


def _flat(value: object) -> object:
    if isinstance(value, list):
        return (
            ", ".join(map(str, value))
            if any(isinstance(v, str) for v in value)
            else " ".join(map("{:,}".format, value))
        )
    return value


def _starts(tax: Taxonomy) -> list[int]:
    return [tax.root] if tax.root is not None else [int(v) for v in tax.tops]


def _show_node(tax: Taxonomy, node: str, depth: int, json: bool) -> None:
    v = tax.index(node_meant(tax, node))
    about: dict[str, object] = {
        "node": tax.names[v],
        "label": tax.display(v),
        "depth": int(tax.depth[v]),
        "n_descendants": len(tax.descendants(v, include_self=False)),
    }
    others = [id for id, name in tax.aliases.items() if name == tax.names[v]]
    replaces = [id for id, entry in tax.deprecated.items() if tax.names[v] in entry.replaced_by]
    about |= {name: ids for name, ids in (("aliases", others), ("replaces", replaces)) if ids}
    relatives = {
        "parents": tax.parents(v),
        "ancestors": tax.ancestors(v, include_self=False),
        "children": tax.children(v),
    }
    texts = tax.texts.of(v)
    if json:
        names = {word: tax.names[nodes].tolist() for word, nodes in relatives.items()}
        listed = [{"kind": entry.kind, "language": entry.language, "text": entry.text} for entry in texts]
        print_json({**about, **names, "texts": listed, "tree": _nested(tax, v, depth)})
        return
    about["label"] = _cut(tax.display(v))
    _print_properties({**about, **{word: [_named(tax, int(u)) for u in nodes] for word, nodes in relatives.items()}})
    if texts:
        rows = [(entry.kind.replace("_", " "), entry.language, _cut(entry.text)) for entry in texts[:MOST_TEXTS]]
        print_table(["kind", "language", "text"], rows)
        if len(texts) > MOST_TEXTS:
            note(f"{len(texts) - MOST_TEXTS:,} more texts are not shown; --json prints all.")
    _print_tree(tax, [v], depth)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def _text_counts(tax: Taxonomy) -> dict[str, object]:
    """Number of texts of each kind, by language, as properties to print."""
    return {
        f"{kind} texts": ", ".join(f"{tag or 'no language'} {count:,}" for tag, count in languages.items())
        for kind, languages in tax.texts.counts.items()
    }


def _nested(tax: Taxonomy, v: int, depth: int) -> dict[str, object]:
    record: dict[str, object] = {"name": tax.names[v], "label": tax.display(v)}
    if tax.kind != "graph" and len(tax.children(v)):
        record["n_children"] = len(tax.children(v))
        if depth > 1:
            record["children"] = [_nested(tax, int(c), depth - 1) for c in tax.children(v)]
    return record


def _named(tax: Taxonomy, v: int) -> str:
    name, label = str(tax.names[v]), tax.display(v)
    return _cut(name if label == name else f"{name}  {label}")


def _print_tree(tax: Taxonomy, starts: list[int], depth: int) -> None:
    """Print the upper levels as a tree; long lists of children end with the number of those left out."""
    from rich.text import Text
    from rich.tree import Tree

    def grow(branch: Tree, nodes: list[int], level: int) -> None:
        for v in nodes[:MOST_CHILDREN]:
            below = [] if tax.kind == "graph" else [int(c) for c in tax.children(v)]
            twig = branch.add(Text(_named(tax, v) + (f"  [{len(below):,}]" if below and level == 1 else "")))
            if level > 1:
                grow(twig, below, level - 1)
        if len(nodes) > MOST_CHILDREN:
            branch.add(Text(f"... {len(nodes) - MOST_CHILDREN:,} more"))

    tree = Tree("", hide_root=True)
    # The root does not count as a level: `--depth 2` shows two levels of nodes below it.
    grow(tree, starts, depth + (starts == [tax.root]))
    show_on_stdout(tree)


@app.command()
@with_groups
def gaps(
    file: FileArgument,
    *,
    data: Annotated[list[str], typer.Option("--data", "-d", help="Documents; may be repeated.")],
    min_documents: Annotated[
        int, typer.Option("--min-documents", min=1, help="Minimum number of documents that contain a phrase.")
    ] = 5,
    words: Annotated[int, typer.Option("--words", min=1, max=8, help="Maximum number of words in a phrase.")] = 4,
    node: Annotated[
        str | None, typer.Option("--node", help="Only proposals for this node or nodes below it (name or label).")
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Number of proposals.")] = 50,
    output: Annotated[str | None, typer.Option("--output", "-o", help="CSV file to write; - is stdout.")] = None,
    reading: TaxonomyReading,
    documents: LabelledReading,
    json: JsonOption = False,
) -> None:
    """List frequent phrases of documents that no label of the vocabulary covers, as proposals for new terms.

    Where documents have labels, every phrase is shown with the node it is associated with most.

    linnaeus taxonomy gaps vocabulary.ttl --data docs.jsonl --output proposals.csv
    """
    from linnaeus.cli.tables import write_table
    from linnaeus.lexical.gaps import find_gaps
    from linnaeus.lexical.matcher import LabelMatcher
    from linnaeus.lexical.words import as_documents

    with waiting(f"reading {file}"):
        tax = _draft(file, reading).taxonomy()
    given = documents.read(data, tax)
    if given.kind != "text":
        raise ParameterError(f"{given.source} holds {kind_words(given.kind)}; phrases are found in texts.")
    if node is not None and given.labels is None:
        raise ParameterError(f"--node {node} requires labels; {given.source} has none.")
    below = None if node is None else set(tax.descendants(node_meant(tax, node)).tolist())
    with waiting("looking for phrases"):
        found = find_gaps(
            LabelMatcher.of(tax, reading.language),
            as_documents(given.documents),
            None if given.labels is None else tax.indicator(given.labels, unknown="drop"),
            min_documents=min_documents,
            max_words=words,
        )
    found = [proposal for proposal in found if below is None or proposal.node in below][:top]
    ids = given.ids or [str(i) for i in range(1, len(given) + 1)]
    rows = [
        {
            "phrase": proposal.phrase,
            "documents": proposal.documents,
            "occurrences": proposal.occurrences,
            "node": None if proposal.node is None else str(tax.names[proposal.node]),
            "label": None if proposal.node is None else tax.display(proposal.node),
            "documents_of_node": proposal.node_documents,
            "examples": [ids[i] for i in proposal.examples],
        }
        for proposal in found
    ]
    if output is not None:
        columns = ["phrase", "documents", "occurrences", "node", "label", "documents_of_node", "examples"]
        write_table(output, columns, [list(map(_flat, row.values())) for row in rows])
        note(f"{output}: {len(rows):,} proposals")
    elif json:
        print_json(rows)
    elif rows:
        print_table([name.replace("_", " ") for name in rows[0]], [tuple(map(_flat, row.values())) for row in rows])
    else:
        print(f"No phrase of at least {min_documents} documents is missing from the labels.")


@app.command()
@with_groups
def learn(
    data: Annotated[list[str], typer.Argument(help="Documents with labels.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Taxonomy file to write; its ending sets the format.")],
    *,
    levels: Annotated[
        str, typer.Option("--levels", help="Levels below the root, including the level of the labels; or auto.")
    ] = "2",
    branching: Annotated[
        int,
        typer.Option("--branching", min=1, help="With --levels auto: maximum number of nodes of the top level."),
    ] = 10,
    linkage: Annotated[str, typer.Option("--linkage", help="average, complete or ward.")] = "average",
    metric: Annotated[str, typer.Option("--metric", help="Distance of labels: euclidean or cosine.")] = "euclidean",
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the dendrogram with its cut (.png, .svg, .pdf).")
    ] = None,
    reading: LabelledReading,
    as_json: JsonOption = False,
) -> None:
    """Learn a taxonomy by clustering labels with similar documents.

    Learn it from training documents only. The result is an ordinary taxonomy file, which can be edited before training.

    linnaeus taxonomy learn docs.jsonl --output learned.tsv --picture learned.png
    """
    from linnaeus.cli.training import no_labels
    from linnaeus.features.documents import default_features
    from linnaeus.models.learn_taxonomy import learn_dendrogram

    if levels != "auto" and not levels.isdigit():
        raise ParameterError(f"--levels {levels}: expected a whole number, or auto.")
    documents = reading.read(data)
    if documents.labels is None:
        raise no_labels(documents)
    with waiting("comparing labels"):
        fields = weighted_fields(reading.text)
        features = default_features(documents.kind, **({} if fields is None else {"fields": fields}))
        X = documents.documents if features is None else features.fit_transform(documents.documents)
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
    note(f"{output}: {len(dendrogram.names):,} labels in {len(clusters):,} cluster{'s' * (len(clusters) != 1)}")
