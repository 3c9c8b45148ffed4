"""Models that do not fit a problem say why."""

from __future__ import annotations

import pytest

from linnaeus import registry
from linnaeus.experiments import applicability
from linnaeus.experiments.applicability import flat_models, why_not
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
    monkeypatch.setattr(applicability, "memory_of_each", lambda jobs: 1000.0)
    assert "weights of" in (why_not("NodeSVM", toy()) or "")
    assert why_not("RRSVM", toy()) is None, "it keeps weights on disk"


def test_flat_models_are_those_of_the_flat_room() -> None:
    assert {"OneVsRestSVM", "OneVsRestLogistic", "OneVsRestPA"} <= set(flat_models())
    assert "TopDownSVM" not in flat_models()
