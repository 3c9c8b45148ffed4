"""Coding by keyboard: suggestions, the tree, search, every kind of verdict, undo and redo."""

from __future__ import annotations

import json

import pytest

from .conftest import document, stored

CATS, DOGS = "cat purr whisker kitten thing", "dog leash puppy fetch thing"


def press(page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def show(page, id_: str) -> None:
    page.wait_for_function("id => document.querySelector('#document h2 code')?.textContent === id", arg=id_)


def chips(page) -> list[str]:
    return page.locator(".chosen-box .chips li:not(.none) > span").all_inner_texts()


def test_twenty_documents_are_coded_with_one_key_each(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS if i % 2 else DOGS for i in range(20)})
    page = open_page(server)
    page.wait_for_selector("#document .first >> text=lists all keys")  # what newcomers need, until the first verdict
    for i in range(20):
        before = document(page)
        assert page.locator("#document .first").count() == (i == 0)
        page.keyboard.press("Enter")
        page.wait_for_function("id => document.querySelector('#document h2 code')?.textContent !== id", arg=before)
    page.wait_for_selector("text=Nothing left to code")
    stored(page)
    verdicts = server.verdicts()
    assert sorted(verdicts) == sorted((f"d{i}", "accept", "Cats" if i % 2 else "Dogs") for i in range(20))


def test_the_third_suggestion_takes_two_keys_where_documents_have_one_label(desk, open_page) -> None:
    server = desk("single")
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    third = server.get("documents/one?id=d1")["document"]["suggestions"][2]["label"]
    press(page, "3 Enter")
    stored(page)
    assert server.verdicts() == [("d1", "replace", third)]


def test_a_node_is_searched_and_stored_with_six_keys(desk, open_page) -> None:
    server = desk("single")
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    press(page, "/ f l o Enter")
    page.wait_for_function("() => document.activeElement.id === 'work'")
    page.keyboard.press("Enter")
    stored(page)
    assert server.verdicts() == [("d1", "replace", "Flowers")]


@pytest.mark.slow
def test_search_finds_alternative_labels_and_codes(desk, open_page) -> None:
    server = desk()
    server.add({"d1": DOGS})
    page = open_page(server)
    show(page, "d1")
    for text in ("Felin", "42.1"):
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.wait_for_selector("#search-0 >> text=Cats")
        page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "work"


@pytest.mark.slow
def test_every_kind_of_verdict_is_stored(desk, open_page) -> None:
    server = desk()
    server.add({f"d{i}": CATS for i in range(7)})
    page = open_page(server)
    expected, kinds = (
        [],
        {
            "n": ("none-fits", ""),
            "c": ("cannot-tell", ""),
            "b Enter": ("back-off", "Animals"),
            "t Home ArrowDown ArrowDown Space Enter": None,
            "x / d o g s Enter": None,
            "f Enter": ("accept", "Cats"),
        },
    )
    for keys, verdict in kinds.items():
        page.wait_for_selector("#document h2 code")
        id_ = document(page)
        press(page, keys)
        if keys.startswith("x"):
            page.wait_for_function("() => document.activeElement.id === 'work'")
            page.keyboard.press("Enter")
            verdict = ("replace", "Dogs")
        if keys.startswith("f"):
            expected.append((id_, "flag", ""))
        page.wait_for_function("id => document.querySelector('#document h2 code')?.textContent !== id", arg=id_)
        stored(page)
        if verdict is None:
            assert server.verdicts()[-1][0] == id_
            assert server.verdicts()[-1][1] in ("add", "reject", "replace")
            expected.append(server.verdicts()[-1])
        else:
            expected.append((id_, *verdict))
    assert server.verdicts() == expected


def test_undo_reaches_back_to_the_last_document_and_redo_stores_it_again(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS, "d2": CATS})
    page = open_page(server)
    page.wait_for_selector("#document h2 code")
    first = document(page)
    press(page, "2 u")
    assert chips(page) == ["Cats"]
    press(page, "Enter u")
    show(page, first)
    stored(page)
    assert server.get(f"documents/one?id={first}")["document"]["state"] == "open"
    page.keyboard.press("r")
    page.wait_for_function("id => document.querySelector('#document h2 code')?.textContent !== id", arg=first)
    stored(page)
    assert [kind for _, kind, _ in server.verdicts()] == ["accept", "undo", "accept"]
    assert server.get(f"documents/one?id={first}")["document"]["state"] == "done"


@pytest.mark.slow
def test_a_note_is_stored_with_the_verdict_and_seen_in_the_history(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    page.keyboard.press("m")
    page.wait_for_function("() => document.activeElement.id === 'note'")
    page.keyboard.type("n b x 1")
    press(page, "Escape Enter")
    stored(page)
    assert server.get("documents/one?id=d1")["history"][0]["note"] == "n b x 1"
    page.goto(f"{server.url}#code=d1")
    show(page, "d1")
    page.keyboard.press("h")
    page.wait_for_selector(".history >> text=n b x 1")


@pytest.mark.slow
def test_scores_are_on_every_node_of_the_paths_and_siblings_come_on_demand(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    rows = page.locator("[role=treeitem]:not(.more)")
    assert rows.locator(".score").count() == rows.count()
    suggestions = server.get("documents/one?id=d1")["document"]["suggestions"]
    shown = {text.split("\n")[0] for text in page.locator("[role=treeitem] .name").all_inner_texts()}
    assert {one["name"] for one in suggestions} <= shown


def test_the_why_panel_shows_terms_that_add_up_and_marks_them_in_the_text(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    page.wait_for_selector("mark.for >> text=purr")
    values = [float(text.replace("−", "-")) for text in page.locator(".terms").first.locator("td").all_inner_texts()]
    assert abs(sum(values[:-1]) - values[-1]) < 0.001 * len(values)
    assert page.locator(".terms caption").all_inner_texts()[1].startswith("Compared with")


def test_the_tree_follows_the_aria_pattern(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    press(page, "t Home")

    def focused(name: str) -> str | None:
        row = page.locator("#tree").get_attribute("aria-activedescendant")
        return page.evaluate("([row, name]) => document.getElementById(row).getAttribute(name)", [row, name])

    assert (focused("aria-level"), focused("aria-expanded")) == ("1", "true")
    press(page, "ArrowLeft")
    assert focused("aria-expanded") == "false"
    press(page, "ArrowRight ArrowRight")
    assert focused("aria-level") == "2"
    selected = focused("aria-selected")
    press(page, "Space")
    assert focused("aria-selected") != selected


def test_blind_documents_show_no_suggestion(desk, open_page) -> None:
    server = desk(control=1.0, blind=1.0)
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    assert page.locator(".score, .rank, mark").count() == 0
    assert chips(page) == []
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert] >> text=Choose a label first")
    assert server.verdicts() == []


@pytest.mark.slow
def test_the_sheet_lists_the_keys_and_switches_single_letters_off(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS, "d2": CATS})
    page = open_page(server)
    page.wait_for_selector("#document h2 code")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] >> text=store the labels shown")
    page.locator("dialog input[type=checkbox]").uncheck()
    page.keyboard.press("Escape")
    press(page, "n c")
    page.keyboard.press("Enter")
    stored(page)
    assert [kind for _, kind, _ in server.verdicts()] == ["accept"]


@pytest.mark.slow
def test_verdicts_say_what_was_shown_and_how_long_it_took(desk, open_page) -> None:
    server = desk()
    server.add({"d1": CATS})
    page = open_page(server)
    show(page, "d1")
    page.keyboard.press("Enter")
    stored(page)
    (entry,) = server.get("documents/one?id=d1")["history"]
    assert entry["rank"] == 1
    assert entry["shown"][0]["label"] == "Cats"
    assert entry["seconds"] >= 0
    assert json.dumps(entry["shown"]).count("probability") == len(entry["shown"])
