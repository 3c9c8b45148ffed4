"""The other views: documents, disagreements, progress with the promise, proposals; accessibility and small screens."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from linnaeus import store
from linnaeus.serve.learning import keep_version

from .conftest import DeskServer, stored, violations

CATS, DOGS = "cat purr whisker kitten thing", "dog leash puppy fetch thing"
VIEWS = ("code", "documents", "disagreements", "progress", "proposals")


def code(server: DeskServer, coder: str, labels: dict[str, str]) -> None:
    verdicts = [
        {"key": f"{coder} {id_}", "document": id_, "coder": coder, "kind": "replace", "labels": [label], "seconds": 3.0}
        for id_, label in labels.items()
    ]
    server.post("verdicts", {"verdicts": verdicts})


@pytest.fixture
def busy(desk) -> DeskServer:
    """A desk with decided, doubly decided and open documents, a disagreement and a proposal."""
    server = desk(control=0.4, double=1.0)
    server.add({f"d{i}": CATS if i % 2 else DOGS for i in range(14)})
    code(server, "anna", {f"d{i}": "Cats" if i % 2 else "Dogs" for i in range(12)})
    code(server, "ben", {f"d{i}": "Cats" if i % 2 else "Trees" for i in range(3)})
    server.post("desk/proposals", {"kind": "new-node", "node": "Cats", "text": "Lynxes", "coder": "anna"})
    return server


def look_at(page, view: str) -> None:
    page.evaluate("hash => { location.hash = hash }", view)
    ready = {"code": ".terms", "documents": ".line", "disagreements": ".answers li", "progress": ".tile .big"}
    page.wait_for_selector(ready.get(view, "tbody tr"))


def test_axe_finds_nothing_in_any_view(busy, open_page) -> None:
    page = open_page(busy)
    for view in VIEWS:
        look_at(page, view)
        if view == "progress":
            page.wait_for_selector(".promise [data-coded], .promise .problem")
            page.wait_for_selector(".drift tbody")
        assert violations(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["dark", "contrast"])
def test_axe_finds_nothing_in_dark_and_high_contrast(busy, open_page, theme) -> None:
    page = open_page(busy)
    page.evaluate("theme => localStorage.setItem('linnaeus-desk/theme', theme)", theme)
    page.reload()
    for view in VIEWS:
        look_at(page, view)
        assert violations(page) == []
    page.evaluate("hash => { location.hash = hash }", "code")
    page.wait_for_selector(".terms")
    for key in "?":
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        assert violations(page) == []


@pytest.mark.parametrize("width", [390, 800])
def test_long_names_stay_within_the_tiles_of_the_progress_view(busy, open_page, width) -> None:
    page = open_page(busy, width=width)
    look_at(page, "progress")
    page.wait_for_selector("text=Where coders disagree")
    long = "numpy.polynomial.chebyshev." * 3
    page.evaluate("name => document.querySelectorAll('.tile tbody th').forEach(th => { th.textContent = name })", long)
    wide = page.evaluate(
        "() => [...document.querySelectorAll('.tile')].filter(tile => [...tile.children].some("
        "e => e.getBoundingClientRect().right > tile.getBoundingClientRect().right)).map(e => e.textContent)"
    )
    assert wide == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 700])
def test_nothing_is_wider_than_a_phone_or_a_page_at_twice_the_size(busy, open_page, width) -> None:
    page = open_page(busy, width=width)
    for view in VIEWS:
        look_at(page, view)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, view


def test_the_slider_shows_the_figures_of_the_service_and_a_button_codes_and_takes_back(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS if i % 2 else DOGS for i in range(20)})
    page = open_page(server, "progress")
    page.locator("#risk").focus()
    for risk in (0.3, 0.295):
        page.keyboard.press("End" if risk == 0.3 else "ArrowLeft")
        expected = server.get(f"automatic?risk={risk}")
        page.wait_for_selector(f".promise [data-coded='{expected['coded']}']")
        assert page.locator(".promise [data-left]").get_attribute("data-left") == str(expected["left"])
        assert expected["coded"] + expected["left"] == expected["remaining"] == 20
        assert expected["coverage"] == expected["coded"] / 20
    assert expected["coded"] > 0
    page.locator(".promise button", has_text=re.compile("^Code ")).click()
    page.wait_for_selector("text=Take back")
    assert server.get("progress")["states"]["done"] == expected["coded"]
    page.locator("button", has_text="Take back").click()
    page.wait_for_selector("text=taken back")
    assert server.get("progress")["states"] == {"open": 20}


@pytest.mark.slow
def test_two_coders_get_different_documents_at_once(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS for i in range(16)})
    pages = [open_page(server), open_page(server)]
    for page, name in zip(pages, ("anna", "ben"), strict=True):
        page.evaluate("name => localStorage.setItem('linnaeus-desk/coder', name)", name)
        page.reload()
        page.wait_for_selector("#document h2 code")
    shown = [page.locator("#document h2 code").inner_text() for page in pages]
    assert shown[0] != shown[1]
    for page in pages:
        page.keyboard.press("Enter")
        stored(page)
    assert sorted(id_ for id_, _, _ in server.verdicts()) == sorted(shown)


def test_a_disagreement_is_decided_beside_both_answers(busy, open_page) -> None:
    page = open_page(busy, "disagreements")
    page.wait_for_selector(".answers li >> nth=1")
    answers = page.locator(".answers li span").all_inner_texts()
    assert sorted(answers) == ["Dogs", "Trees"]
    page.locator(".answers li", has_text="ben").locator("button").click()
    stored(page)
    entry = busy.get("documents/one?id=d0")
    assert (entry["document"]["state"], entry["document"]["labels"]) == ("done", ["Trees"])


@pytest.mark.slow
def test_a_proposal_is_made_on_the_card_and_is_in_the_change_file(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS})
    page = open_page(server)
    page.wait_for_selector(".terms")
    page.keyboard.press("i")
    page.locator(".propose summary").click()
    page.locator(".propose input").fill("House cats")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Proposed")
    (proposal,) = server.get("desk/proposals")["proposals"]
    assert (proposal["kind"], proposal["node"], proposal["text"]) == ("synonym", "Cats", "House cats")
    page.goto(f"{server.url}#proposals")
    with page.expect_download() as download:
        page.locator("text=Download the change file").click()
    assert "House cats" in Path(download.value.path()).read_text()


@pytest.mark.slow
def test_the_queue_is_limited_to_a_subtree(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS if i % 2 else "tree leaf branch root thing" for i in range(8)})
    page = open_page(server, "progress")
    page.locator("#subtree").fill("Plants")
    page.wait_for_selector("#subtree-0 >> text=Plants")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Only documents whose suggestions lie below")
    page.evaluate("() => { location.hash = 'code' }")
    for _ in range(4):
        assert "tree leaf" in page.locator("#document .text").inner_text()
        before = page.locator("#document h2 code").inner_text()
        page.keyboard.press("Enter")
        page.wait_for_function("id => document.querySelector('#document h2 code')?.textContent !== id", arg=before)
    page.wait_for_selector("text=No open document below")


@pytest.mark.slow
def test_exports_are_downloads(busy, open_page) -> None:
    page = open_page(busy, "progress")
    for name, ending in (("CSV for spreadsheets", ".csv"), ("SKOS annotations", ".ttl")):
        with page.expect_download() as download:
            page.locator(f"text={name}").click()
        assert download.value.suggested_filename.endswith(ending)


@pytest.mark.slow
def test_files_that_were_coded_elsewhere_are_read_in_the_page(desk, open_page) -> None:
    server = desk()
    server.add({"d0": CATS, "d1": DOGS})
    page = open_page(server, "progress")
    page.click("form:has(#import-file) button")
    page.wait_for_selector("text=Choose a file first.")
    coded = {"name": "coded.tsv", "mimeType": "text/plain", "buffer": f"{CATS}\t<Cats>\nx\t<Dogz>\n".encode()}
    page.set_input_files("#import-file", coded)
    page.click("form:has(#import-file) button")
    page.wait_for_selector("text=label 'Dogz' of document 2 is not in the taxonomy")
    page.set_input_files("#import-file", {**coded, "buffer": f"{CATS}\t<Cats>\n".encode()})
    page.click("form:has(#import-file) button")
    page.wait_for_selector("text=1 verdicts stored, 0 were known; 0 documents are new.")
    assert server.verdicts() == [("d0", "replace", "Cats")]
    page.select_option("#import-as", "documents")
    page.set_input_files("#import-file", {**coded, "buffer": b"id,text\nd0,again\nd7,a puppy\n"})
    page.click("form:has(#import-file) button")
    page.wait_for_selector("text=1 documents added, 1 were known.")


def test_promises_are_derived_from_control_documents_once_enough_are_decided(desk, monkeypatch) -> None:
    from linnaeus.serve.desk import automatic

    monkeypatch.setattr(automatic, "ENOUGH", 10)
    server = desk(control=0.7)
    texts = {f"d{i}": CATS if i % 2 else DOGS for i in range(80)}
    server.add(texts)
    assert "calibrated with" in server.get("automatic?risk=0.3")["promise"]
    controls = [one["id"] for one in server.get("documents?limit=100")["documents"] if one["control"]]
    code(server, "anna", {id_: "Cats" if texts[id_] == CATS else "Dogs" for id_ in controls})
    found = server.get("automatic?risk=0.3")
    assert f"{len(controls)} control documents of this queue" in found["promise"]
    assert found["coded"] == found["remaining"] == 80 - len(controls)


def test_nodes_on_which_coders_disagree_are_listed_with_what_was_chosen_instead(busy) -> None:
    found = busy.get("progress")["unclear_nodes"]
    by_node = {one["node"]: one for one in found}
    assert (by_node["Dogs"]["one"], by_node["Dogs"]["both"], by_node["Dogs"]["instead"]) == (2, 0, "Trees")
    assert "Cats" not in by_node
    assert [one["one"] for one in found] == sorted((one["one"] for one in found), reverse=True)


def test_a_version_is_promoted_and_the_one_before_is_brought_back(busy, open_page, tmp_path) -> None:
    service = busy.app.state.service
    served = next(iter(service.models))
    own = tmp_path / "model"
    shutil.copytree(served.folder, own)
    service.models.folders[served.name] = own  # the model of the other tests stays as it is
    service.models.refresh()
    served = next(iter(service.models))
    changed = store.load(own)
    changed.about_ = {**changed.about_, "language": "en"}
    store.save(changed, tmp_path / "made")
    keep_version(service.review, served, "refit", folder=tmp_path / "made", result={"documents": 9})
    page = open_page(busy, "progress")
    page.locator(".versions button", has_text="Promote").click()
    page.wait_for_selector("text=the one before is kept")
    running = busy.get(f"models/{served.name}/versions")["running"]
    assert running != served.fingerprint
    page.wait_for_selector(f".fingerprint >> text={running[:8]}")
    page.locator(".versions button", has_text="Bring back").click()
    page.wait_for_selector(f".fingerprint >> text={served.fingerprint[:8]}")
    assert busy.get(f"models/{served.name}/versions")["running"] == served.fingerprint


def test_what_would_be_coded_is_listed_and_limited_to_a_subtree(desk, open_page) -> None:
    server = desk()
    server.add({f"{name}{i}": text for i in range(10) for name, text in (("cat", CATS), ("dog", DOGS))})
    page = open_page(server, "progress")
    page.locator("#risk").focus()
    page.keyboard.press("End")
    page.locator("#promise-subtree").fill("Cats")
    page.wait_for_selector("#promise-subtree-0 >> text=Cats")
    page.keyboard.press("Enter")
    expected = server.get("automatic?risk=0.3&subtree=Cats&preview=50")
    assert expected["remaining"] == 10
    assert expected["coded"] == len(expected["documents"]) > 0
    page.wait_for_selector(f".promise [data-coded='{expected['coded']}'][data-remaining='10']")
    page.locator("text=Show what would be coded").click()
    page.wait_for_selector(".would-code tbody tr")
    assert page.locator(".would-code tbody th").all_inner_texts() == [one["id"] for one in expected["documents"]]
    page.locator(".promise button", has_text=re.compile("^Code ")).click()
    page.wait_for_selector("text=Take back")
    done = [one["id"] for one in server.get("documents?state=done")["documents"]]
    assert sorted(done) == sorted(one["id"] for one in expected["documents"])
    assert all(id_.startswith("cat") for id_ in done)
