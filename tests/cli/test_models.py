"""`linnaeus models` lists models, explains their parameters, and tells what a saved model is."""

from __future__ import annotations

import json

import pytest

from linnaeus import registry
from linnaeus.cli.models import documented_parameters


def test_parameters_come_with_what_they_do(linnaeus):
    shown = linnaeus("models", "OneVsRestSVM").out
    assert "squared_hinge" in shown
    report = json.loads(linnaeus("models", "OneVsRestSVM", "--json").out)
    assert report["parameters"]["C"] == 1.0
    assert "loss" in report["descriptions"]["C"]


@pytest.mark.parametrize("name", ["OneVsRestSVM", "RRSVM", "HM3", "TopDownSVM", "HBLR"])
def test_most_parameters_of_a_model_are_documented(name):
    kind = registry.resolve(name)
    said = documented_parameters(kind)
    assert {"C", "tol", "max_iter"} & set(said)
    assert all(said.values())


@pytest.mark.parametrize("name", ["mixture", "auto", "AutoClassifier"])
def test_what_is_made_of_models_has_a_page(linnaeus, name):
    shown, found = linnaeus("models", name), json.loads(linnaeus("models", name, "--json").out)
    assert (shown.code, found["name"]) == (0, "Mixture" if name == "mixture" else "auto")
    assert found["summary"] in shown.out
    assert all(line in shown.out for line in found["usage"])
    assert all(found["descriptions"].values())
    assert ("--sources" if name == "mixture" else "--budget") in shown.out


def test_every_option_of_the_page_of_auto_is_one_of_train(linnaeus):
    words = linnaeus("models", "auto").out.split()
    options = [word for word in words if word.startswith("--")]
    assert {"--measure", "--seed", "--jobs", "--checkpoint"} <= set(options)
    helped = linnaeus("train", "--help").out
    assert all(option in helped for option in options)


def test_a_mixture_is_not_one_of_the_models_that_are_compared(linnaeus, files):
    result = linnaeus("shootout", "-d", files / "docs.jsonl", "--models", "RRSVM,Mixture", "-o", files / "report")
    assert result.code == 2
    assert "'Mixture' is made of several models, and one is expected here" in result.err
    assert "did you mean 'Mixture'" in linnaeus("models", "Mixtur").err


def test_types_are_not_taken_for_descriptions():
    class Numpydoc:
        """A class.

        Parameters
        ----------
        C : float, default=1.0
            Weight of the loss.
        first, second : int, default=2
            Sizes of
            both.
        old : how it was written

        Attributes
        ----------
        weights_ : learned
        """

    assert documented_parameters(Numpydoc) == {
        "C": "Weight of the loss.",
        "first": "Sizes of both.",
        "second": "Sizes of both.",
        "old": "how it was written",
    }


def test_a_saved_model_tells_what_it_is(linnaeus, files):
    train = ["train", "-t", files / "topics.tsv", "-d", files / "docs.jsonl", "-o", files / "model", "--min-df", 1]
    linnaeus(*train, "--C", 3, "--test-size", 0, "--calibrate", "platt", "--decoder", "best_label")
    report = json.loads(linnaeus("models", files / "model", "--json").out)
    assert (report["model"], report["C"], report["documents"], report["labels"]) == ("OneVsRestSVM", 3, 40, 4)
    assert (report["decoder"], report["calibration"], report["fields"]) == ("best_label", "platt", "text (1)")
    assert report["bytes"] > 1000
    assert report["taxonomy_fingerprint"]
    assert "OneVsRestSVM" in linnaeus("models", files / "model").out


def test_a_folder_that_is_not_a_model_is_an_error(linnaeus, tmp_path):
    result = linnaeus("models", tmp_path)
    assert result.code == 1
    assert "Traceback" not in result.err
