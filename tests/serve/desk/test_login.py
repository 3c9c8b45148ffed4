"""A service with users: the page asks for a token, acts in the name of its user, and offers what the role may do."""

from __future__ import annotations

import pytest

from linnaeus.serve.store.users import add_user

from .conftest import document, stored, violations

CATS = "cat purr whisker kitten thing"


@pytest.fixture
def guarded(desk):
    """A desk with a coder and an admin, and their tokens."""
    server = desk()
    server.add({f"d{i}": CATS for i in range(3)})
    with server.app.state.service.review.change() as transaction:
        tokens = {name: add_user(transaction, name, role) for name, role in (("anna", "coder"), ("boss", "admin"))}
    server.app.state.service.access._counted = (-60.0, 0)  # the number of users is looked up again
    return server, tokens


def sign_in(page, token: str) -> None:
    page.wait_for_selector(".login input[type=password]")
    page.keyboard.type(token)
    page.keyboard.press("Enter")


def test_a_coder_signs_in_by_keyboard_and_verdicts_have_their_name(guarded, open_page) -> None:
    server, tokens = guarded
    page = open_page(server)
    sign_in(page, "wrong")
    page.wait_for_selector("text=This token is not valid")
    page.locator(".login input[type=password]").fill("")
    page.locator(".login input[type=password]").focus()
    sign_in(page, tokens["anna"])
    page.wait_for_selector("#document h2 code")
    page.wait_for_selector(".who >> text=anna, coder")
    page.keyboard.press("Enter")
    stored(page)
    with server.app.state.service.review.read() as transaction:
        assert [row["coder"] for row in transaction.rows("SELECT coder FROM verdicts")] == ["anna"]
    page.evaluate("() => { location.hash = 'progress' }")
    page.wait_for_selector(".tile .big")
    assert page.locator("text=CSV for spreadsheets").count() == 0
    page.reload()  # the token lasts as long as the tab
    page.wait_for_selector(".who >> text=anna, coder")
    page.locator("text=Sign out").click()
    page.wait_for_selector(".login")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_sign_in_page(guarded, open_page, scheme) -> None:
    server, _ = guarded
    page = open_page(server, width=390, scheme=scheme)
    page.wait_for_selector(".login input[type=password]")
    assert violations(page) == []
    sign_in(page, "wrong")
    page.wait_for_selector("text=This token is not valid")
    assert violations(page) == []
    for expected in ("checkbox", "submit"):  # the form is reached by Tab, in the order in which it is read
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.type") == expected


@pytest.mark.slow
def test_an_admin_downloads_exports_with_the_token(guarded, open_page) -> None:
    server, tokens = guarded
    page = open_page(server, "progress")
    sign_in(page, tokens["boss"])
    page.wait_for_selector("text=CSV for spreadsheets")
    with page.expect_download() as download:
        page.locator("text=CSV for spreadsheets").click()
    assert download.value.suggested_filename.endswith(".csv")


@pytest.mark.slow
def test_verdicts_wait_while_a_token_is_not_valid_and_are_sent_after_signing_in_again(guarded, open_page) -> None:
    server, tokens = guarded
    page = open_page(server)
    sign_in(page, tokens["anna"])
    page.wait_for_selector("#document h2 code")
    first = document(page)
    with server.app.state.service.review.change() as transaction:
        again = add_user(transaction, "anna", "coder")
    server.app.state.service.access._users.clear()
    page.keyboard.press("Enter")
    sign_in(page, again)
    page.wait_for_selector("#document h2 code")
    stored(page)
    assert [id_ for id_, _, _ in server.verdicts()] == [first]
