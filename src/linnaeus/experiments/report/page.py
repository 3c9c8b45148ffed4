"""The report as one self-contained HTML page: style, script, charts and data are in it.

It opens from disk without a server, follows the light or dark setting of the reader, prints, and is accessible by
keyboard and screen reader. Its sections answer in turn: which model, at what cost, where is it weak.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from linnaeus.experiments.records import Result, Run
from linnaeus.experiments.report import charts, tables
from linnaeus.pages import Section, opening, whole_page
from linnaeus.pages.text import Markup, count, embed_json, figure, join, moment, tag

__all__ = ["facts", "html"]


def html(result: Result) -> str:
    """The report as the text of one HTML page.

    Parameters
    ----------
    result : Result
        A shoot-out, also one that has not finished.

    Returns
    -------
    str
        A page that needs no other file.

    Examples
    --------
    >>> html(Result()).splitlines()[0]
    '<!doctype html>'
    """
    sections = [section for section in _sections(result) if section is not None]
    return whole_page(result.title, _opening(result), sections, below_contents=_focus(result), end=_closing(result))


def _resource(name: str) -> Markup:
    return Markup(files("linnaeus.experiments.report").joinpath(name).read_text(encoding="utf-8"))


def _opening(result: Result) -> Markup:
    return opening(result.title, result.sentence, facts(result), result.made, _next_step(result))


def _next_step(result: Result) -> Markup | None:
    if not result.next_step:
        return None
    return tag(
        "div", tag("p", "To train the recommended model:"), tag("pre", tag("code", result.next_step), tabindex="0")
    )


def facts(result: Result) -> list[tuple[str, str]]:
    """Properties of the problem, as names and values."""
    problem = result.problem
    kind = {"tree": "a tree", "dag": "nodes with several parents", "graph": "a graph"}.get(problem.kind, problem.kind)
    features = problem.features
    if problem.n_features:
        features = f"{count(problem.n_features)} · {features}" if features else count(problem.n_features)
    return [
        ("documents", f"{count(problem.n_train)} training, {count(problem.n_test)} test"),
        ("nodes", f"{count(problem.n_nodes)} ({count(problem.n_leaves)} leaves)"),
        ("levels", f"{problem.depth}, {kind}"),
        ("labels per document", figure(problem.labels_per_document, 2)),
        ("features", features or "–"),
        ("measured by", problem.split),
    ]


def _focus(result: Result) -> Markup | None:
    """Choice of the model in focus, which is highlighted in all charts and described node by node."""
    runs = result.ranked()
    if not runs:
        return None
    words = {"best": " (best)", "flat": " (flat)", "other": ""}
    options = [
        tag("option", run.model + words[result.role(run.model)], value=run.model, selected=not place)
        for place, run in enumerate(runs)
    ]
    legend = [tag("span", tag("i", class_=name), words, class_="key") for name, words in _legend(result)]
    legend.insert(-1, tag("span", tag("i", class_="chosen"), tag("span", id="chosen"), class_="key", id="chosen-key"))
    choice = tag("label", "Model in focus ", tag("select", *options, id="focus"))
    return tag("div", choice, tag("span", *legend, class_="keys"), class_="focus")


def _legend(result: Result) -> Iterator[tuple[str, str]]:
    yield "best", f"best: {result.best}"
    if result.flat and result.flat != result.best:
        yield "flat", f"flat: {result.flat}"
    yield "other", "others"


def _sections(result: Result) -> Iterator[Section | None]:
    yield _models(result)
    if not result.ranked():
        yield _method(result)
        return
    yield _breakdowns(result)
    yield _time(result)
    yield _learning(result)
    yield _reliability(result)
    yield _nodes(result)
    yield _method(result)


def _models(result: Result) -> Section:
    if not result.ranked():
        return "models", "Which model is best?", [tag("p", "No model has figures."), tables.absent_table(result)]
    note = (
        "Bold: best of its column. ↓: lower is better. Differences are on the same documents: "
        "* p < 0.05, ** p < 0.01, *** p < 0.001, corrected for the number of comparisons; 0.010 is one point. "
        "Hover over a difference for its interval and p-value; click a column header to sort."
    )
    return (
        "models",
        "Which model is best?",
        [
            tables.main_table(result),
            tag("p", note, class_="note"),
            tables.measures_tables(result),
            tables.absent_table(result),
        ],
    )


def _breakdowns(result: Result) -> Section | None:
    pictures = [
        (charts.by_level(result), tables.by_level(result), "By level of the taxonomy"),
        (charts.by_size(result), tables.by_size(result), "By training documents of a node"),
    ]
    shown = [
        tag(
            "figure",
            tag("figcaption", words),
            picture,
            tag("details", tag("summary", "The figures"), tables.breakdown_table(f"F1, {words.lower()}", breakdown)),
        )
        for picture, breakdown, words in pictures
        if picture is not None
    ]
    if not shown:
        return None
    lead = "Deep nodes and nodes with few training documents are where a hierarchy can help." + _left_out(result)
    return "where", "Where do they differ?", [tag("p", lead), tag("div", *shown, class_="pair")]


def _time(result: Result) -> Section | None:
    picture = charts.against_time(result)
    if picture is None:
        return None
    name = result.main.name
    better = "Left and up" if result.main.higher_is_better else "Left and down"
    known = any(run.interval(result.main.key) for run in result.ranked())
    lines = "; lines are 95% intervals" if known else ""
    lead = f"One point per model: its {name} against its total time{lines}. {better} is better."
    lead += _left_out(result)
    return "time", "What does it cost?", [tag("p", lead), tag("figure", picture, class_="wide")]


def _left_out(result: Result) -> str:
    far = result.far_behind()
    return f" Far behind and not shown: {', '.join(far)}." if far else ""


def _learning(result: Result) -> Section | None:
    picture = charts.curves(result)
    if picture is None:
        return None
    lead = "A curve that still rises at its right end suggests that more documents would help."
    return "curves", "Would more documents help?", [tag("p", lead), tag("figure", picture, class_="half")]


def _reliability(result: Result) -> Section | None:
    panels = charts.reliability(result)
    if not panels:
        return None
    lead = (
        "On the diagonal, answers with a probability of 80% are correct 8 times in 10. "
        "Below it, a model is overconfident."
    )
    return "reliability", "Can its probabilities be trusted?", [tag("p", lead), tag("div", *panels, class_="panels")]


def _nodes(result: Result) -> Section | None:
    if not result.taxonomy.names:
        return None
    bare = tag(
        "noscript", tag("p", "This part is drawn by a script; the same figures are in shootout.json.", class_="note")
    )
    return (
        "nodes",
        "Node by node",
        [
            bare,
            tag("p", "Figures of ", tag("b", id="focused"), ", the model in focus.", class_="script"),
            tag("h3", "The taxonomy coloured by F1"),
            _colours(),
            tag("div", id="icicle", class_="script"),
            tag("div", _tree_buttons(), tag("div", id="tree"), class_="script"),
            tag("h3", "Every node"),
            tag("div", _filter(), tag("div", id="node-table"), class_="script"),
            tag("h3", "Confused siblings"),
            *_confused(result),
            tag("div", id="confusion", class_="script"),
            embed_json(node_data(result), "data"),
        ],
    )


def _confused(result: Result) -> list[Markup]:
    pictures = charts.confusion(result)
    if not pictures:
        return []
    lead = "Rows are gold labels, columns answers; below the node whose children are taken for each other most often."
    return [tag("p", lead), tag("div", *pictures, class_="pair matrices")]


def _colours() -> Markup:
    words = ["below 0.2", "0.2–0.4", "0.4–0.6", "0.6–0.8", "0.8 and above"]
    keys = [tag("span", tag("i", class_=f"f{place}"), word, class_="key") for place, word in enumerate(words)]
    keys.append(tag("span", tag("i", class_="fx"), "not measured", class_="key"))
    return tag("p", *keys, class_="keys script", aria_label="Colours of F1")


def _tree_buttons() -> Markup:
    buttons = [("open", "Open all"), ("close", "Close all")]
    return tag(
        "p", [tag("button", words, type="button", id=f"tree-{key}") for key, words in buttons], class_="controls"
    )


def _filter() -> Markup:
    field = tag("input", type="search", id="filter", placeholder="part of a name", autocomplete="off")
    least = tag("input", type="number", id="least", min=0, value=0)
    return tag(
        "p",
        tag("label", "Nodes named ", field),
        tag("label", "with at least ", least, " test documents"),
        tag("span", id="shown", role="status"),
        class_="controls",
    )


def _method(result: Result) -> Section:
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    rows = [
        ("made", moment(result.made)),
        ("machine", result.machine),
        ("versions", versions),
        ("documents", result.problem.name),
    ]
    listed = tag("dl", [[tag("dt", name), tag("dd", value)] for name, value in rows], class_="method")
    command = tag("pre", tag("code", result.command), tabindex="0")
    how = tables.search_table(result) if result.ranked() else None
    return "method", "How it was measured", [listed, tag("p", "The command:"), command, how]


def _closing(result: Result) -> Markup:
    foot = tag("footer", tag("p", f"Made by linnaeus, {moment(result.made)}."))
    return join([foot, tag("script", _resource("page.js"))])


# -- figures of nodes --------------------------------------------------------------------------------------------------


def node_data(result: Result) -> dict[str, object]:
    """The data of nodes for the script of the page: the tree, numbers of documents, figures and confusions of models.

    Packed, because thousands of nodes x models would take megabytes otherwise: shares are whole thousandths, in lists
    with one entry per node, and -1 where there is no value.
    """
    tree = result.taxonomy
    n_nodes = len(tree.names)
    runs = result.ranked()
    train, test = [0] * n_nodes, [0] * n_nodes
    for run in runs:
        for row in run.by_node:
            train[row.node], test[row.node] = row.n_train, row.n_test
    return {
        "names": tree.names,
        "labels": [tree.label(node) for node in range(n_nodes)],
        "parent": tree.parent,
        "level": tree.level,
        "train": train,
        "test": test,
        "best": result.best,
        "flat": result.flat,
        "models": {run.model: _packed(run, n_nodes) for run in runs},
    }


def _packed(run: Run, n_nodes: int) -> dict[str, object]:
    precision, recall, f1 = ([-1] * n_nodes for _ in range(3))
    for row in run.by_node:
        for values, share in ((precision, row.precision), (recall, row.recall), (f1, row.f1)):
            values[row.node] = -1 if share is None else round(1000 * share)
    confusion = [[row.gold, row.answered, row.n] for row in run.confusion]
    return {"precision": precision, "recall": recall, "f1": f1, "confusion": confusion}
