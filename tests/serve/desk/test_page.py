"""The page as it is sent: vendored modules as published, no inline script, small, and nothing from other hosts."""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from linnaeus.serve.desk.page import FILES, FOLDER

PUBLISHED = {  # of the packages preact 11.2.0 and htm 3.1.1
    "preact.mjs": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
    "hooks.mjs": "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4",
    "htm.mjs": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
}
SCRIPTS = {name: file for name, file in FILES.items() if name.endswith(("js", "mjs"))}


def test_vendored_modules_are_as_published_and_have_licences() -> None:
    vendor = FOLDER / "vendor"
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in vendor.glob("*.mjs")}
    assert found == PUBLISHED
    for name in ("preact", "htm"):
        assert re.search(r"MIT|Apache", (vendor / f"{name}.LICENSE.txt").read_text())


def test_the_axe_checker_of_the_tests_has_its_licence() -> None:
    assert "Mozilla Public License" in (Path(__file__).parent / "vendor" / "axe-core.LICENSE.txt").read_text()


def test_scripts_are_below_sixty_kilobytes_compressed() -> None:
    assert sum(len(file.compressed) for file in SCRIPTS.values()) < 60_000


def test_elements_are_made_in_one_way_that_cannot_make_markup_of_text() -> None:
    for name, file in SCRIPTS.items():
        if not name.startswith("vendor/"):
            text = file.content.decode()
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerously|eval\(", text), (
                name
            )


def test_the_page_has_no_inline_script_or_style_and_names_no_other_host() -> None:
    page = FILES["index.html"].content.decode()
    assert re.findall(r"<script[^>]*>([^<]+)</script>|<style|\son\w+=", page) == []
    for name, file in FILES.items():
        if not name.startswith("vendor/") and not name.endswith(".svg"):
            text = file.content.decode().replace("http://www.w3.org/2000/svg", "")  # a namespace, not an address
            assert not re.search(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", text), name


def test_modules_import_only_files_of_the_desk() -> None:
    for name, file in SCRIPTS.items():
        for target in re.findall(r'from ?"([^"]+)"', file.content.decode()):
            assert target.startswith("./"), (name, target)
            assert (Path(name).parent / target).as_posix() in FILES, (name, target)


def test_the_page_asks_for_all_modules_at_once() -> None:
    page = FILES["index.html"].content.decode()
    assert {*re.findall(r'modulepreload" href="([^"]+)"', page), "main.js", "sw.js"} == set(SCRIPTS)


def test_files_are_compressed_revalidated_and_sent_with_a_strict_policy(desk) -> None:
    server = desk()
    request = urllib.request.Request(f"{server.url}main.js", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["Content-Type"].startswith("text/javascript")
        tag = answer.headers["ETag"]
    again = urllib.request.Request(f"{server.url}main.js", headers={"If-None-Match": tag})
    with pytest.raises(urllib.error.HTTPError, match="304"):
        urllib.request.urlopen(again)
    for wrong in ("..%2fpage.py", "page.py", "vendor/preact.LICENSE.txt", "nothing"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url + wrong)
