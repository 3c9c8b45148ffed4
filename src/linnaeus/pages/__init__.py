"""HTML pages in one style: self-contained, readable in light and dark, by keyboard and in print.

A page opens from disk without a server and loads nothing: style, scripts and data are in it, and its content policy
makes the browser enforce that. `whole_page` makes one of sections; `linnaeus.pages.text` writes elements and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from linnaeus.pages.text import Markup, moment, tag

__all__ = ["Section", "opening", "table", "whole_page"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

Section = tuple[str, str, Sequence[object]]  # id of the heading, heading, content


def whole_page(
    title: str, top: Markup, sections: Iterable[Section], *, below_contents: Markup | None = None, end: object = None
) -> str:
    """The text of a page: a header, a list of contents, and the sections.

    Parameters
    ----------
    title : str
        Title of the page.
    top : Markup
        The header, such as `opening` makes it.
    sections : iterable of Section
        The id of a heading, the heading and the content below it.
    below_contents : Markup, default=None
        What stays between the list of contents and the sections.
    end : object, default=None
        Content behind the sections: a footer, scripts.

    Returns
    -------
    str
        HTML from the doctype on, with its style sheet.

    Examples
    --------
    >>> page = whole_page("Changes", opening("Changes", "Nothing changed."), [("all", "All", ["-"])])
    >>> page.splitlines()[0], "Nothing changed." in page
    ('<!doctype html>', True)
    """
    parts = list(sections)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(files("linnaeus.pages").joinpath("page.css").read_text(encoding="utf-8"))),
    )
    contents = tag("ul", [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in parts])
    body = [tag("section", tag("h2", name, id=key), *content) for key, name, content in parts]
    page = tag("body", top, tag("nav", contents, aria_label="Contents"), below_contents, tag("main", *body), end)
    return f"<!doctype html>\n{tag('html', head, page, lang='en')}\n"


def opening(
    title: str, sentence: str, facts: Iterable[tuple[str, str]] = (), made: str = "", more: Markup | None = None
) -> Markup:
    """The header of a page: when it was made, its title, its main result in one sentence, and facts with their names.

    Examples
    --------
    >>> opening("Changes", "Two nodes are new.", [("nodes", "12")]).count("<dt>")
    1
    """
    listed = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
    return tag(
        "header",
        tag("p", f"linnaeus · {moment(made)}" if made else "linnaeus", class_="kicker"),
        tag("h1", title),
        tag("p", sentence, class_="sentence"),
        more,
        tag("dl", *listed, class_="facts") if listed else None,
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> Markup:
    """A plain table; numbers are aligned to the right, everything else is text.

    Examples
    --------
    >>> table(["kind", "n"], [("added", 3)]).count("<td>")
    1
    """
    heads = [tag("th", name, scope="col", class_="words") for name in columns]
    body = [
        tag("tr", [tag("td", cell, class_=None if isinstance(cell, (int, float)) else "words") for cell in row])
        for row in rows
    ]
    shown = tag("caption", caption) if caption else None
    return tag("div", tag("table", shown, tag("thead", tag("tr", *heads)), tag("tbody", *body)), class_="scroll")
