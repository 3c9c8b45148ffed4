"""The report as one HTML page that needs nothing else: style, script, pictures and data are in it.

It opens from the disk without a server, follows the light or dark setting of the reader, prints, and is read by
keyboard and by ear. The order is that of the questions people ask: which model, at what price, where is it weak.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from linnaeus.experiments.report import breakdown_values, breakdowns, tables
from linnaeus.experiments.report.main_table import main_table, measures_tables
from linnaeus.experiments.report.markup import Markup, embed_json, join, tag
from linnaeus.experiments.report.node_data import node_data
from linnaeus.experiments.report.reliability import reliability
from linnaeus.experiments.report.scatter import against_time
from linnaeus.experiments.report.schema import Result
from linnaeus.experiments.report.standing import far_behind, interval, main_measure, ranked, role
from linnaeus.experiments.report.wording import count, figure, moment

__all__ = ["facts", "html"]

# Nothing may be loaded: the browser itself holds the page to its word.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def html(result: Result) -> str:
    """The report as the text of one HTML page.

    Examples
    --------
    >>> from linnaeus.experiments.report.schema import EMPTY
    >>> html(EMPTY).splitlines()[0]
    '<!doctype html>'
    """
    parts = [section for section in _sections(result) if section is not None]
    title = result["title"]
    top = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", _resource("page.css")),
    )
    contents = tag("ul", [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in parts])
    nav = tag("nav", contents, aria_label="Contents")
    body = [tag("section", tag("h2", name, id=key), *content) for key, name, content in parts]
    page = tag("body", _opening(result), nav, _focus(result), tag("main", *body), _closing(result))
    return f"<!doctype html>\n{tag('html', top, page, lang='en')}\n"


def _resource(name: str) -> Markup:
    return Markup(files("linnaeus.experiments.report").joinpath(name).read_text(encoding="utf-8"))


def _opening(result: Result) -> Markup:
    strip = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts(result)]
    return tag(
        "header",
        tag("p", f"linnaeus · {moment(result['made'])}", class_="kicker"),
        tag("h1", result["title"]),
        tag("p", result["sentence"], class_="sentence"),
        _next_step(result),
        tag("dl", *strip, class_="facts"),
    )


def _next_step(result: Result) -> Markup | None:
    if not result.get("next_step"):
        return None
    return tag(
        "div", tag("p", "To train the recommended model:"), tag("pre", tag("code", result["next_step"]), tabindex="0")
    )


def facts(result: Result) -> list[tuple[str, str]]:
    """What was run on what, as names and values."""
    problem = result["problem"]
    kind = {"tree": "a tree", "dag": "nodes with several parents", "graph": "a graph"}.get(
        problem["kind"], problem["kind"]
    )
    features = problem["features"]
    if problem["n_features"]:
        features = f"{count(problem['n_features'])} · {features}" if features else count(problem["n_features"])
    return [
        ("documents", f"{count(problem['n_train'])} training, {count(problem['n_test'])} test"),
        ("nodes", f"{count(problem['n_nodes'])} ({count(problem['n_leaves'])} leaves)"),
        ("levels", f"{problem['depth']}, {kind}"),
        ("labels per document", figure(problem["labels_per_document"], 2)),
        ("features", features or "–"),
        ("measured by", problem["split"]),
    ]


def _focus(result: Result) -> Markup | None:
    """The model looked at: it stands out in all pictures and fills the part on nodes."""
    runs = ranked(result)
    if not runs:
        return None
    words = {"best": " (best)", "flat": " (flat)", "other": ""}
    options = [
        tag("option", run["model"] + words[role(result, run["model"])], value=run["model"], selected=not place)
        for place, run in enumerate(runs)
    ]
    legend = [tag("span", tag("i", class_=name), words, class_="key") for name, words in _legend(result)]
    legend.insert(-1, tag("span", tag("i", class_="chosen"), tag("span", id="chosen"), class_="key", id="chosen-key"))
    choice = tag("label", "Model in focus ", tag("select", *options, id="focus"))
    return tag("div", choice, tag("span", *legend, class_="keys"), class_="focus")


def _legend(result: Result) -> Iterator[tuple[str, str]]:
    yield "best", f"best: {result['best']}"
    if result["flat"] and result["flat"] != result["best"]:
        yield "flat", f"flat: {result['flat']}"
    yield "other", "others"


Section = tuple[str, str, list[object]]


def _sections(result: Result) -> Iterator[Section | None]:
    yield _models(result)
    if not ranked(result):
        yield _method(result)
        return
    yield _breakdowns(result)
    yield _time(result)
    yield _learning(result)
    yield _reliability(result)
    yield _nodes(result)
    yield _method(result)


def _models(result: Result) -> Section:
    if not ranked(result):
        return "models", "Which model is best?", [tag("p", "No model has figures."), tables.absent_table(result)]
    note = (
        "Bold: best of its column. ↓: lower is better. Differences are on the same documents: "
        "* p < 0.05, ** p < 0.01, *** p < 0.001, corrected for the number of comparisons; 0.010 is one point. "
        "Point at a difference for its interval and p value; click a column head to sort."
    )
    return (
        "models",
        "Which model is best?",
        [
            main_table(result),
            tag("p", note, class_="note"),
            measures_tables(result),
            tables.absent_table(result),
        ],
    )


def _breakdowns(result: Result) -> Section | None:
    pictures = [
        (breakdowns.by_level(result), breakdown_values.by_level(result), "By level of the taxonomy"),
        (breakdowns.by_size(result), breakdown_values.by_size(result), "By training examples of a node"),
    ]
    shown = [
        tag(
            "figure",
            tag("figcaption", words),
            picture,
            tag("details", tag("summary", "The figures"), tables.breakdown_table(f"F1, {words.lower()}", found)),
        )
        for picture, found, words in pictures
        if picture is not None
    ]
    if not shown:
        return None
    lead = "Deep nodes and nodes with few examples are where a hierarchy can help." + _left_out(result)
    return "where", "Where do they differ?", [tag("p", lead), tag("div", *shown, class_="pair")]


def _time(result: Result) -> Section | None:
    picture = against_time(result)
    if picture is None:
        return None
    name = main_measure(result)["name"]
    better = "Left and up" if main_measure(result)["higher_is_better"] else "Left and down"
    known = any(interval(run, main_measure(result)["key"]) for run in ranked(result))
    lines = "; lines are 95% intervals" if known else ""
    lead = f"A point per model: its {name} against all time spent on it{lines}. {better} is better."
    lead += _left_out(result)
    return "time", "What does it cost?", [tag("p", lead), tag("figure", picture, class_="wide")]


def _left_out(result: Result) -> str:
    far = far_behind(result)
    return f" Far behind and not shown: {', '.join(far)}." if far else ""


def _learning(result: Result) -> Section | None:
    picture = breakdowns.curves(result)
    if picture is None:
        return None
    lead = "A curve that still rises at its right end says: more documents would help."
    return "curves", "Would more documents help?", [tag("p", lead), tag("figure", picture, class_="half")]


def _reliability(result: Result) -> Section | None:
    panels = reliability(result)
    if not panels:
        return None
    lead = "On the diagonal, answers given with 80% are right 8 times in 10. Below it, a model is too sure of itself."
    return "reliability", "Can its probabilities be trusted?", [tag("p", lead), tag("div", *panels, class_="panels")]


def _nodes(result: Result) -> Section | None:
    if not result["taxonomy"]["names"]:
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
            tag("h3", "Siblings taken for each other"),
            tag("div", id="confusion", class_="script"),
            embed_json(node_data(result), "data"),
        ],
    )


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
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    rows = [
        ("made", moment(result["made"])),
        ("machine", result["machine"]),
        ("versions", versions),
        ("documents", result["problem"]["name"]),
    ]
    listed = tag("dl", [[tag("dt", name), tag("dd", value)] for name, value in rows], class_="method")
    command = tag("pre", tag("code", result["command"]), tabindex="0")
    how = tables.search_table(result) if ranked(result) else None
    return "method", "How it was measured", [listed, tag("p", "The command:"), command, how]


def _closing(result: Result) -> Markup:
    foot = tag("footer", tag("p", f"Made by linnaeus, {moment(result['made'])}."))
    return join([foot, tag("script", _resource("page.js"))])
