"""Verdicts are neither lost nor doubled when the server goes away, and hostile texts stay text."""

from __future__ import annotations

import pytest

from linnaeus import OneVsRestSVM, Pipeline, Taxonomy, save
from linnaeus.features.text import TextFeatures

from .conftest import document, stored

CATS = "cat purr whisker kitten thing"


def test_verdicts_made_while_the_server_is_away_are_stored_once_when_it_is_back(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS for i in range(6)})
    page = open_page(server)
    page.wait_for_selector("#document h2 code")
    page.keyboard.press("Enter")
    stored(page)
    page.wait_for_timeout(300)  # the next documents are fetched
    server.stop()
    coded = []
    for _ in range(3):
        coded.append(document(page))
        page.keyboard.press("Enter")
        page.wait_for_function("id => document.querySelector('#document h2 code')?.textContent !== id", arg=coded[-1])
    page.wait_for_selector(".connection.away >> text=3 verdicts kept here")
    server.start()
    stored(page)
    assert [id_ for id_, _, _ in server.verdicts()][1:] == coded
    assert server.get("progress")["states"]["done"] == 4


def test_verdicts_survive_a_reload_of_the_page_while_answers_are_lost(desk, open_page) -> None:
    """The server stores verdicts but its answers do not arrive; the page is loaded again and sends them again."""
    server = desk()
    server.add({f"d{i}": CATS for i in range(3)})
    page = open_page(server)
    page.wait_for_selector("#document h2 code")

    def store_without_answer(route) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/v1/verdicts", store_without_answer)
    page.keyboard.press("Enter")
    page.wait_for_selector(".connection.away")
    assert len(server.verdicts()) == 1
    page.unroute("**/api/v1/verdicts")
    page.reload()
    stored(page)
    assert len(server.verdicts()) == 1


def test_a_page_that_is_loaded_again_while_the_server_is_away_continues_with_its_documents(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS for i in range(6)})
    page = open_page(server)
    page.wait_for_selector("#document h2 code")
    page.evaluate("() => navigator.serviceWorker.ready.then(() => null)")
    page.wait_for_timeout(300)  # the next documents are fetched
    server.stop()
    coded = [document(page)]
    page.keyboard.press("Enter")
    page.wait_for_selector(".connection.away >> text=1 verdict kept here")
    page.reload()
    page.wait_for_selector("#document h2 code")
    page.wait_for_selector(".connection.away >> text=1 verdict kept here")
    coded.append(document(page))
    assert coded[0] != coded[1]
    page.keyboard.press("Enter")
    page.wait_for_selector(".connection.away >> text=2 verdicts kept here")
    server.start()
    stored(page)
    assert server.verdicts() == [(id_, "accept", "Cats") for id_ in coded]


@pytest.mark.slow
def test_a_refused_verdict_is_shown_and_does_not_stop_the_others(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS, "d2": CATS})
    page = open_page(server)
    page.wait_for_selector("#document h2 code")
    page.evaluate(
        """() => localStorage.setItem("linnaeus-desk/verdict/k1", JSON.stringify(
            {verdict: {key: "k1", document: "not there", coder: "a", kind: "flag"}, at: 1, order: 0}))"""
    )
    page.keyboard.press("Enter")
    page.wait_for_selector(".refused >> text=not there")
    stored(page)
    assert len(server.verdicts()) == 1
    page.locator(".refused button").click()
    assert page.locator(".refused").count() == 0


HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> str:
    """A model whose labels are markup, scripts and formulas."""
    names = [HOSTILE, "<script>alert(2)</script>", "=cmd|' /C calc'!A0", "${alert(3)}"]
    tax = Taxonomy.from_edges([("Root", "<b>top</b>"), *(("<b>top</b>", name) for name in names)])
    texts, labels = [f"word{i % 4} thing" for i in range(24)], [[names[i % 4]] for i in range(24)]
    folder = tmp_path_factory.mktemp("hostile") / "model"
    save(Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures(min_df=1)).fit(texts, labels), folder)
    return str(folder)


def test_hostile_labels_and_documents_stay_text_in_every_view(desk, open_page, hostile) -> None:
    server = desk(hostile, double=1.0)
    server.add({HOSTILE: f"word0 {HOSTILE} <script>alert(4)</script> thing"})
    page = open_page(server)
    page.wait_for_selector(f"#document h2 >> text={HOSTILE}")
    page.wait_for_selector("mark")
    page.keyboard.press("i")
    page.wait_for_selector(".card h3")
    page.keyboard.press("Enter")
    stored(page)
    verdict = {"key": "k", "document": HOSTILE, "coder": HOSTILE, "kind": "replace", "labels": ["${alert(3)}"]}
    server.post("verdicts", {"verdicts": [verdict]})
    proposal = {"kind": "synonym", "node": "<b>top</b>", "text": HOSTILE, "coder": HOSTILE}
    server.post("desk/proposals", proposal)
    for view in ("documents", "disagreements", "progress", "proposals", f"code={HOSTILE}"):
        page.evaluate("hash => { location.hash = hash }", view)
        page.wait_for_selector(f"main >> text={HOSTILE}")
        assert page.locator("img, main script, b >> text=top").count() == 0
