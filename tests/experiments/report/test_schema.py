"""What is refused at the border, and in which words."""

from __future__ import annotations

import json

import pytest

from linnaeus.errors import DataError
from linnaeus.experiments.report import read_result, write_report
from tests.experiments.report.sample import make_result


def test_what_is_written_is_read_back(tmp_path) -> None:
    result = make_result(30)
    written = write_report(result, tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["shootout.json", "report.html", "report.md"]
    assert read_result(written[0]) == result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "has format 2; expected the result of a shoot-out, format 1"),
        ({"best": "RRSVN"}, "names 'RRSVN' as best"),
        ({"measures": []}, "has 0 main measures; expected exactly one"),
    ],
)
def test_a_result_that_is_none_is_refused(change, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message):
        write_report(make_result(30) | change, tmp_path)


def test_a_missing_part_is_named(tmp_path) -> None:
    result = make_result(30)
    del result["sentence"]
    (tmp_path / "r.json").write_text(json.dumps(result))
    with pytest.raises(DataError, match=r"r.json has no 'sentence'"):
        read_result(tmp_path / "r.json")


def test_a_file_that_is_no_json_is_named_with_its_line(tmp_path) -> None:
    (tmp_path / "r.json").write_text('{\n"format" 1}')
    with pytest.raises(DataError, match=r"r.json:2: "):
        read_result(tmp_path / "r.json")


def test_figures_that_are_not_finite_are_left_out_rather_than_break_the_report(tmp_path) -> None:
    result = make_result(30)
    result["runs"][1]["measures"]["micro_f1"] = float("nan")
    result["runs"][1]["by_node"][0]["f1"] = float("nan")
    result["comparisons"][0]["p"] = float("nan")
    written = write_report(result, tmp_path)
    kept = read_result(written[0])
    assert kept["runs"][1]["measures"]["micro_f1"] is None
    assert kept["runs"][1]["by_node"][0]["f1"] is None
