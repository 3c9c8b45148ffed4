"""The page as text: whole, escaped, with words for those who listen."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from linnaeus.experiments.records import Attempt, Result
from linnaeus.experiments.report import html
from linnaeus.experiments.report.page import node_data
from tests.experiments.report.sample import MODELS, make_result

VOID = {"meta", "input", "br", "col"}


class Reader(HTMLParser):
    """Collects tags with their attributes and checks that each is closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[list[str]]] = {"table": [], "svg": []}
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.found.append((tag, dict(attrs)))
        for name, kinds in self.inside.items():
            if tag == name:
                kinds.append([])
            elif name in self.open:
                kinds[-1].append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def page() -> Reader:
    reader = Reader()
    reader.feed(html(make_result()))
    assert reader.open == []
    return reader


def test_the_sentence_the_models_and_the_reasons_are_there(page) -> None:
    text = " ".join(page.text)
    assert "RRSVM is best by 2.1 points" in text
    assert all(model in text for model in MODELS)
    assert "it takes one label per document" in text
    assert "linnaeus shootout --taxonomy topics.ttl" in text


def test_every_table_has_a_caption_and_every_picture_a_title(page) -> None:
    assert page.inside["table"]
    assert page.inside["svg"]
    assert all(kinds[0] == "caption" for kinds in page.inside["table"])
    assert all(kinds[0] == "title" for kinds in page.inside["svg"])


def test_identifiers_are_unique_and_links_lead_somewhere(page) -> None:
    identifiers = [attrs["id"] for _, attrs in page.found if "id" in attrs]
    assert len(set(identifiers)) == len(identifiers)
    links = [attrs["href"] for tag, attrs in page.found if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(identifiers)


def test_nothing_is_loaded_from_elsewhere(page) -> None:
    assert not [attrs for tag, attrs in page.found if "src" in attrs or tag in ("link", "img", "iframe")]
    assert "url(" not in html(make_result())


def test_only_two_scripts_whatever_names_hold(page) -> None:
    assert [tag for tag, _ in page.found].count("script") == 2


def test_levels_of_headings_leave_none_out(page) -> None:
    levels = [int(tag[1]) for tag, _ in page.found if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_result_without_figures_still_makes_a_page() -> None:
    result = make_result()
    result.runs = [run for run in result.runs if run.status != "done"]
    result.best = result.flat = None
    result.comparisons = []
    for kept in (result, Result()):
        reader = Reader()
        reader.feed(html(kept))
        assert reader.open == []


def test_one_model_alone_and_one_node_make_a_page() -> None:
    result = make_result(1)
    result.runs = [replace(run, curve=None, reliability=None, confusion=[], siblings=None) for run in result.runs[:1]]
    result.flat, result.comparisons = None, []
    reader = Reader()
    reader.feed(html(result))
    assert reader.open == []
    assert "Can its probabilities be trusted?" not in " ".join(reader.text)


def test_a_model_far_behind_is_named_instead_of_pressing_the_others_into_a_corner() -> None:
    result = make_result()
    result.runs[-3].measures["hierarchical_f1"] = 0.1
    result.runs[-3].intervals = {}
    reader = Reader()
    reader.feed(html(result))
    assert any("Far behind and not shown: Hieron." in text for text in reader.text)
    drawn = [attrs.get("data-model") for tag, attrs in reader.found if tag == "g"]
    assert "Hieron" not in drawn
    assert "OneVsRestPA" in drawn


def test_control_characters_of_names_are_escaped_in_the_page() -> None:
    text = html(make_result())
    assert not any(odd in text for odd in "\x1b\x9b\u202e\u202c")
    assert "u202eneddih" in text


def test_models_without_parameters_have_an_empty_cell_of_what_was_tried() -> None:
    result = make_result()
    result.runs[0].tried = [Attempt(0.1234, 1.0)]
    assert ": 0.123" not in html(result)


def test_the_command_of_the_recommended_model_is_shown() -> None:
    assert "linnaeus train --model RRSVM" in html(replace(make_result(), next_step="linnaeus train --model RRSVM"))
    assert "recommended" not in html(make_result())


def test_figures_are_thousandths_and_missing_ones_minus_one() -> None:
    result = make_result(60)
    packed = node_data(result)
    run = result.runs[2]
    rows = {row.node: row for row in run.by_node}
    for node, value in enumerate(packed["models"][run.model]["f1"]):
        expected = rows[node].f1
        assert value == (-1 if expected is None else round(1000 * expected))
    assert packed["test"] == [rows[node].n_test for node in range(60)]


def test_a_node_without_a_row_has_no_figure() -> None:
    result = make_result(12)
    for run in result.runs:
        run.by_node = [row for row in run.by_node if row.node != 5]
    packed = node_data(result)
    assert packed["models"]["RRSVM"]["recall"][5] == -1
    assert packed["train"][5] == 0


def test_confused_siblings_of_the_best_and_the_flat_model_are_drawn() -> None:
    result = make_result()
    page = html(result)
    drawn = [part.partition("</svg>")[0] for part in page.split('<svg viewBox="')[1:] if "matrix" in part[:120]]
    assert len(drawn) == len({result.best, result.flat})
    assert "Sports &lt;b&gt; answered as Science: 2 of 44 documents" in drawn[0]
    assert "<b>" not in drawn[0]
