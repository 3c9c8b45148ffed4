"""What is refused at the border, and in which words."""

from __future__ import annotations

import json

import pytest

from linnaeus.errors import DataError
from linnaeus.experiments.records import Result, Run, read_result
from linnaeus.experiments.report import write_report
from linnaeus.experiments.run_folder import RunFolder
from tests.experiments.report.sample import make_json, make_result
from tests.experiments.toy import toy


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
def test_a_result_of_another_kind_is_refused(change, message) -> None:
    with pytest.raises(DataError, match=message):
        Result.from_json(make_json(30) | change)


def test_a_missing_part_is_named(tmp_path) -> None:
    result = make_json(30)
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
    result.runs[1].measures["micro_f1"] = float("nan")
    result.runs[1].by_node[0].f1 = float("nan")
    result.comparisons[0].p = float("nan")
    written = write_report(result, tmp_path)
    kept = read_result(written[0])
    assert kept.runs[1].measures["micro_f1"] is None
    assert kept.runs[1].by_node[0].f1 is None


def test_plain_values_come_back_as_they_were() -> None:
    assert Result.from_json(make_json(30)).to_json() == make_json(30)


def test_a_part_of_another_shape_is_refused() -> None:
    with pytest.raises(DataError, match="the result is not the result of a shoot-out: "):
        Result.from_json(make_json(30) | {"taxonomy": ["A"]})


def test_runs_stored_as_plain_dictionaries_are_read(tmp_path) -> None:
    folder = RunFolder(tmp_path, toy())
    folder.write(Run(model="HM3", status="failed", reason="x"))
    stored = json.loads((tmp_path / "HM3.json").read_text())
    earlier = make_json(30)["runs"][2] | {"status": "failed", "budget": 60.0}
    marks = {key: stored[key] for key in ("fingerprint", "answers")}
    (tmp_path / "HM3.json").write_text(json.dumps({**earlier, **marks}))
    run = folder.read("HM3", 600.0)
    assert run is not None
    assert run.to_json() == earlier
    assert [attempt.C for attempt in run.tried] == [0.1, 1.0, 10.0]
