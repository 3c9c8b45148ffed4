"""Models that do not fit a problem say why; forecasts grow with documents as the pilots did."""

from __future__ import annotations

import pytest

from linnaeus import registry
from linnaeus.auto.candidates import make_model
from linnaeus.experiments import candidates
from linnaeus.experiments.candidates import RunForecast, extrapolate, flat_models, forecast, pilot, shares, why_not
from tests.contracts.configurations import ONE_LABEL
from tests.experiments.toy import toy


def test_models_with_one_label_do_not_take_label_sets() -> None:
    reasons = {name: why_not(name, toy()) for name in registry.MODELS}
    assert {name for name, reason in reasons.items() if reason} == ONE_LABEL
    assert all("exactly one label" in reasons[name] for name in ONE_LABEL)


def test_with_one_label_all_models_apply_to_a_tree() -> None:
    assert [name for name in registry.MODELS if why_not(name, toy(one_label=True))] == []


def test_models_of_trees_do_not_take_dags() -> None:
    reasons = {name: why_not(name, toy("dag", one_label=True)) for name in registry.MODELS}
    assert {name for name, reason in reasons.items() if reason} == {"HBLR", "CorrMNL"}
    assert "DAG" in reasons["HBLR"]


def test_weights_that_do_not_fit_into_memory_are_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "memory_of_each", lambda jobs: 1000.0)
    assert "weights of" in (why_not("NodeSVM", toy()) or "")
    assert why_not("RRSVM", toy()) is None, "it keeps weights on disk"


def test_flat_models_are_those_of_the_flat_room() -> None:
    assert {"OneVsRestSVM", "OneVsRestLogistic", "OneVsRestPA"} <= set(flat_models())
    assert "TopDownSVM" not in flat_models()


def test_growth_is_that_of_the_last_two_fits_within_reason() -> None:
    assert extrapolate([(10, 1.0), (20, 2.0)], 80) == pytest.approx(8.0)
    assert extrapolate([(10, 1.0), (20, 64.0)], 40) == pytest.approx(64 * 2**2.2), "noise is not extrapolated"


def test_a_run_with_a_search_takes_longer_than_one_without() -> None:
    found = [(100, 2.0)]
    assert forecast(toy(), "RRSVM", found, 1.0).likely > forecast(toy(), "Hieron", found, 1.0).likely
    assert forecast(toy(n_parts=3), "RRSVM", found, 1.0).least > 2 * forecast(toy(), "RRSVM", found, 1.0).least
    assert forecast(toy(), "RRSVM", found, 2.0).least == 2 * forecast(toy(), "RRSVM", found, 1.0).least


def test_a_pilot_of_a_joint_model_is_of_its_flat_end_where_its_search_begins(monkeypatch) -> None:
    made = []
    monkeypatch.setattr(
        "linnaeus.experiments.candidates.make_model",
        lambda candidate, *given, **more: made.append(candidate) or make_model(candidate, *given, **more),
    )
    pilot(toy(n_docs=100), "RRSVM", 1.0)
    pilot(toy(n_docs=100), "OneVsRestSVM", 1.0)
    assert {(one.model, one.pull) for one in made} == {("RRSVM", float("inf")), ("OneVsRestSVM", None)}


def test_pilots_are_of_growing_size() -> None:
    found, busy = pilot(toy(n_docs=400), "OneVsRestSVM", 5.0)
    assert [size for size, _ in found] == sorted({50, 300 // 4})
    assert busy >= 1


def test_quick_models_get_the_time_of_a_whole_search_while_slow_ones_share_the_rest() -> None:
    quick = {f"quick {i}": RunForecast(3.0, 1.0) for i in range(10)}
    slow = {f"slow {i}": RunForecast(300.0, 20.0) for i in range(2)}
    found = shares({**quick, **slow}, 540.0)
    assert all(found[name] == 30.0 for name in quick)
    assert all(found[name] == 120.0 for name in slow)
    assert sum(found.values()) == 540.0


def test_shares_are_never_more_than_there_is_and_those_that_get_none_need_most() -> None:
    forecasts = {f"model {i}": RunForecast(10.0 * i, 2.0 * i) for i in range(1, 8)}
    for seconds in (2.0, 20.0, 60.0, 200.0, 1000.0):
        found = shares(forecasts, seconds)
        assert sum(found.values()) == pytest.approx(seconds)
        assert all(share == 0.0 or share >= forecasts[name].least for name, share in found.items())
        needs = [forecasts[name].least for name, share in found.items() if share]
        assert needs == [one.least for one in forecasts.values()][: len(needs)]


def test_a_model_that_needs_far_more_than_an_equal_part_does_not_take_the_search_of_the_others() -> None:
    quick = {f"quick {i}": RunForecast(7.0, 4.0) for i in range(15)}
    found = shares({**quick, "slow": RunForecast(300.0, 177.0)}, 321.0)
    assert all(found[name] >= 20.0 for name in quick)
    assert found["slow"] == 0.0
    later = shares(
        {"quick 14": quick["quick 14"], "slow": RunForecast(300.0, 177.0)}, 230.0
    )  # it may still fit at the end
    assert later["slow"] >= 177.0
    assert later["quick 14"] >= 25.0
