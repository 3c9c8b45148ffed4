"""The tool that checks the built site, on a site of two pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.site_check import check_links, check_pages, pages_of

HEAD = "<!doctype html><html lang='en'><head><title>A page</title></head>"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "theme.html").write_text("<a href='{{ template }}'>no page</a>")
    (tmp_path / "index.html").write_text(
        f"{HEAD}<body><main><h1 id='top'>A</h1><a href='b.html#one'>b</a></main></body>"
    )
    (tmp_path / "b.html").write_text(
        f"{HEAD}<body><main><h1 id='one'>B</h1><a href='index.html#top'>a</a></main></body>"
    )
    return tmp_path


def test_links_to_pages_and_anchors_are_followed(site: Path) -> None:
    assert check_links(site) == (2, [])
    (site / "b.html").write_text("<a href='index.html#gone'>x</a><a href='c.html'>y</a><a href='https://z.org/q'>z</a>")
    number, broken = check_links(site)
    assert number == 3
    assert broken == [
        "b.html: index.html#gone: no such anchor",
        "b.html: c.html: no such file",
        "index.html: b.html#one: no such anchor",
    ]


def test_a_page_is_checked_in_a_browser(site: Path, browser) -> None:
    assert check_pages(browser, pages_of(site), 390, "light") == {}
    wide = "<img src='https://example.invalid/a.png'><p style='width: 900px'>wide</p><script>gone()</script>"
    (site / "b.html").write_text(
        f"{HEAD}<body><main><h1>B</h1><article class='bd-article'>{wide}</article></main></body>"
    )
    ((path, found),) = check_pages(browser, pages_of(site), 390, "light").items()
    assert path.name == "b.html"
    kinds = {line.split(":")[0].split(" https")[0] for line in found}
    assert kinds == {"requests", "script fails", "image-alt", "wider than the window"}
