"""Check the built site as its readers meet it.

1. Every link between pages leads to a page, and every anchor to an element of it.
2. In a browser, every page is opened: axe-core finds nothing, the page is not wider than the window, no script fails,
   and nothing is requested from another host.
3. The search of the site finds pages without a server.

``python tools/site_check.py`` after ``make docs`` needs playwright and Chromium. Any finding makes the exit code 1;
``--width 390 --every 10`` takes a sample in the width of a telephone, ``--scheme dark`` the dark colours.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
AXE = ROOT / "tests" / "serve" / "desk" / "vendor" / "axe.min.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FINDINGS = """async () => {
  const rules = (await axe.run(document, {resultTypes: ['violations']})).violations;
  const line = (rule, node) => `${rule.id}: ${node.target.join(' ')}: ${node.html.slice(0, 160)}`;
  return rules.flatMap(rule => rule.nodes.map(node => line(rule, node)));
}"""
WIDER = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolls = node => node && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
  const wide = [...document.querySelectorAll('.bd-article *')].filter(
    node => node.getBoundingClientRect().right > width + 1 && !scrolls(node.parentElement.closest('.bd-article *')));
  const first = wide.slice(0, 2).map(node => node.outerHTML.slice(0, 120)).join(' ');
  return [`wider than the window: ${document.documentElement.scrollWidth} > ${width}: ${first}`];
}"""


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def pages_of(site: Path) -> list[Path]:
    """The pages of a site; what lies in ``_static`` belongs to the theme."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts)


def check_links(site: Path) -> tuple[int, list[str]]:
    """Number of links within the site, and those that lead nowhere."""
    pages = {path: Page(path) for path in pages_of(site)}
    number, broken = 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            number += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site)}: {link}: no such file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(site)}: {link}: no such anchor")
    return number, broken


def check_pages(browser: Any, pages: list[Path], width: int, scheme: str) -> dict[Path, list[str]]:
    """What axe-core and the browser find, by page."""
    found: dict[Path, list[str]] = {}
    axe = AXE.read_text("utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    page.on("request", lambda request: None if _is_local(request.url) else said.append(f"requests {request.url}"))
    page.on("pageerror", lambda error: said.append(f"script fails: {error}"))
    for i, path in enumerate(pages, 1):
        said.clear()
        page.goto(path.as_uri())
        page.evaluate(axe)
        said += page.evaluate(FINDINGS) + page.evaluate(WIDER)
        if said:
            found[path] = list(said)
        if i % 50 == 0:
            print(f"{i} of {len(pages)} pages", file=sys.stderr, flush=True)
    context.close()
    return found


def _is_local(address: str) -> bool:
    return urlsplit(address).scheme in ("file", "data", "blob", "about")


def count_results(browser: Any, site: Path, query: str) -> int:
    """Number of pages that the search of the site lists, opened as a file."""
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q={query}")
    page.wait_for_function("document.querySelector('#search-results p')?.textContent.match(/\\d+ page|did not match/)")
    number = page.locator("#search-results ul.search > li").count()
    page.close()
    return int(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, nargs="?", default=ROOT / "docs" / "_build" / "html")
    parser.add_argument("--width", type=int, default=1400, help="of the window, in pixels")
    parser.add_argument("--scheme", choices=("light", "dark"), default="light", help="colours")
    parser.add_argument("--every", type=int, default=1, help="take every n-th page only")
    parser.add_argument("--query", default="calibrate", help="what is searched for")
    given = parser.parse_args()
    site = given.site.resolve()
    executable = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if not (site / "index.html").exists():
        raise SystemExit(f"{site} has no index.html; run `make docs` first.")
    if executable is None:
        raise SystemExit(f"No browser: none of {', '.join(BROWSERS)} is on the path.")
    from playwright.sync_api import sync_playwright

    number, broken = check_links(site)
    pages = pages_of(site)[:: given.every]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        results = count_results(browser, site, given.query)
        found = check_pages(browser, pages, given.width, given.scheme)
        browser.close()
    for line in broken:
        print(line)
    for path, lines in found.items():
        for line in lines:
            print(f"{path.relative_to(site)}: {line}")
    kinds = Counter(line.partition(":")[0] for lines in found.values() for line in lines)
    print(f"{number:,} links within the site, {len(broken)} broken")
    print(f"{len(pages)} pages at {given.width} pixels, {given.scheme}: {dict(kinds) or 'nothing found'}")
    print(f"search for {given.query!r}: {results} pages")
    if broken or found or not results:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
