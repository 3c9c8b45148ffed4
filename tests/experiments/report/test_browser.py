"""The page in a real browser: it opens from the disk, sorts, filters, folds, and asks nothing of the network."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnaeus.errors import visible
from linnaeus.experiments.report import write_report
from tests.experiments.report.sample import HOSTILE, make_result


@pytest.fixture(scope="module")
def report(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_report(make_result(), folder)
    return folder / "report.html"


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page; at the end of the test, it must have been silent and must have asked for nothing but itself."""
    said: list[str] = []
    asked: list[str] = []
    pages = []

    def opened(path: Path, **how: Any) -> Any:
        page = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | how))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert said == []
    assert len(asked) == len(pages)


def column(page: Any, table: str, place: int) -> list[str]:
    return page.eval_on_selector_all(f"{table} tbody tr", f"rows => rows.map(r => r.cells[{place}].textContent.trim())")


def test_a_click_on_a_column_head_sorts_and_a_second_one_turns_it_round(open_page, report) -> None:
    page = open_page(report)
    page.locator("summary", has_text="All flat measures").click()
    button = page.locator("table.every thead button", has_text="micro F1")
    place = button.evaluate("b => b.parentNode.cellIndex")
    for direction, falling in (("descending", True), ("ascending", False)):
        button.click()
        values = [float(value[:5]) for value in column(page, "table.every:has-text('micro F1')", place)]
        assert values == sorted(values, reverse=falling)
        assert button.evaluate("b => b.parentNode.getAttribute('aria-sort')") == direction
    assert len(set(values)) > 1


def test_columns_sort_by_keyboard_and_models_without_a_figure_come_last(open_page, report) -> None:
    page = open_page(report)
    page.locator("summary", has_text="All ranking measures").click()
    button = page.locator("table.every thead button", has_text="AU(PRC)")
    for _ in range(2):
        button.focus()
        page.keyboard.press("Enter")
        assert column(page, "table.every:has-text('AU(PRC)')", 0)[-1] == "Hieron"


def test_differences_sort_as_numbers_though_their_minus_is_a_true_one(open_page, report) -> None:
    page = open_page(report)
    page.locator("table.main thead button", has_text="to the best").click()
    page.locator("table.main thead button", has_text="to the best").click()
    assert column(page, "table.main", 0)[0] == "Hieron"


def test_the_table_of_nodes_sorts_and_filters(open_page, report) -> None:
    page = open_page(report)
    page.locator("#nodes-table thead button", has_text="F1").click()
    values = [float(value) for value in column(page, "#nodes-table", 6) if value != "–"]
    assert len(values) > 50
    assert values == sorted(values, reverse=True)
    page.fill("#filter", "economy pol")
    assert all("Economy policy" in name for name in column(page, "#nodes-table", 0))
    assert page.inner_text("#shown").endswith("of 180 nodes")
    page.fill("#filter", "no such name")
    assert column(page, "#nodes-table", 0) == []


def test_many_nodes_are_shown_in_parts_and_more_on_request(open_page, tmp_path) -> None:
    write_report(make_result(800), tmp_path)
    page = open_page(tmp_path / "report.html")
    assert len(column(page, "#nodes-table", 0)) == 200
    page.click("#more")
    assert len(column(page, "#nodes-table", 0)) == 700
    page.locator("#nodes-table thead button", has_text="level").click()
    assert len(column(page, "#nodes-table", 0)) == 200
    page.click("#tree-open")
    assert page.locator("#tree .row").count() == 800


def test_the_tree_opens_and_folds(open_page, report) -> None:
    page = open_page(report)
    branch = page.locator("#tree details").first
    assert page.locator("#tree .row:visible").count() == 10
    branch.locator("summary").first.click()
    page.locator("#tree .row:visible").nth(16).wait_for()  # branches are filled by an event after the click
    assert page.locator("#tree .row:visible").count() == 17
    branch.locator("summary").first.click()
    assert page.locator("#tree .row:visible").count() == 10
    page.click("#tree-open")
    assert page.locator("#tree .row:visible").count() == 180
    page.click("#tree-close")
    assert page.locator("#tree .row:visible").count() == 10


def test_another_model_in_focus_changes_nodes_siblings_and_pictures(open_page, report) -> None:
    page = open_page(report)
    before = column(page, "#nodes-table", 6)
    page.select_option("#focus", "Hieron")
    assert column(page, "#nodes-table", 6) != before
    assert page.inner_text("#focused") == "Hieron"
    assert "Hieron" in page.inner_text("#confusion caption")
    assert page.locator("svg .series.chosen").first.get_attribute("data-model") == "Hieron"


def test_hostile_names_are_text_and_nothing_else(open_page, report) -> None:
    page = open_page(report)
    assert page.locator("#tree .row", has_text="alert(1)").first.inner_text().startswith(visible(HOSTILE))
    assert page.locator("script").count() == 2  # the data and the script of the page itself


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_a_screenshot_shows_a_page_that_fits_its_window(open_page, report, scheme, width) -> None:
    image = pytest.importorskip("PIL.Image")
    page = open_page(report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shot = np.asarray(image.open(io.BytesIO(page.screenshot())).convert("L"), dtype=float)
    assert shot.std() > 5
    assert (shot.mean() < 100) == (scheme == "dark")
