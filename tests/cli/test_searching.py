"""`linnaeus train` chooses, says what and why, and refuses what contradicts a choice."""

from __future__ import annotations

import json

import pytest

import linnaeus as package

NAMED = ("--model", "OneVsRestSVM")


def train(files, *more):
    data = ["--taxonomy", files / "topics.tsv", "--data", files / "docs.jsonl", "--min-df", 1]
    return ["train", *data, "--output", files / "model", *more]


def test_the_model_is_chosen_unless_one_is_named(linnaeus, files) -> None:
    result = linnaeus(*train(files, "--budget", "2"))
    assert result.code == 0, result.err
    for word in ("chosen:", "held-out hierarchical f1", "95% interval", "flat baseline"):
        assert word in result.out
    assert "choosing features, model, C and the cut by hierarchical f1 of held-out documents" in result.err
    model = package.load(files / "model")
    assert model.predict(["a kitten with a whisker"]).tolist() == ["Cats"]
    assert model.predict_proba(["a kitten"]).shape == (1, 4)
    search = model.about_["search"]
    assert {"chosen", "runner_up", "baseline", "value", "interval", "measure"} <= set(search)
    assert search["chosen"]["model"] == type(model.model_).__name__


@pytest.mark.parametrize("model", [(), NAMED], ids=["auto", "named"])
def test_documents_of_one_label_are_refused_before_the_search(linnaeus, files, model) -> None:
    """A figure of 1.0000 was reported first, which every model reaches on one label."""
    lines = [json.dumps({"text": f"kitten number {i}", "labels": ["Cats"]}) for i in range(30)]
    (files / "docs.jsonl").write_text("\n".join(lines))
    result = linnaeus(*train(files, *model, "--budget", "2"))
    assert (result.code, result.out) == (1, "")
    assert result.err.endswith("error: y has only one class, 'Cats'; a classifier needs two.\n")
    assert "1.0000" not in result.err


def test_c_and_cut_of_a_named_model_are_tuned(linnaeus, files) -> None:
    result = linnaeus(*train(files, "--model", "NodeSVM", "--measure", "micro_f1", "--budget", "", "--json"))
    report = json.loads(result.out)
    assert report["model"] == "NodeSVM"
    assert report["search"]["measure"] == "micro_f1"
    assert {one["model"] for one in report["search"]["tried"]} == {"NodeSVM"}
    assert all(one["C"] is not None for one in report["search"]["tried"]), "C is chosen, not given"
    low, high = report["search"]["interval"]
    assert low <= report["search"]["value"] <= high


def test_an_infinite_pull_can_be_given(linnaeus, files) -> None:
    result = linnaeus(*train(files, "--model", "RRSVM", "--C", 1, "--set", "pull=inf", "--decoder", "own"))
    assert result.code == 0, result.err
    assert package.load(files / "model").model_.pull == float("inf")


def test_a_given_C_is_kept_and_the_cut_chosen(linnaeus, files) -> None:
    result = linnaeus(*train(files, *NAMED, "--C", 7, "--budget", ""))
    assert "choosing the cut of OneVsRestSVM by hierarchical f1 of held-out documents (given: C=7" in result.err
    assert package.load(files / "model").model_.C == 7


def test_a_given_decoder_is_kept_and_C_chosen(linnaeus, files) -> None:
    result = linnaeus(*train(files, *NAMED, "--decoder", "rcut", "--budget", "", "--json"))
    report = json.loads(result.out)
    assert report["decoder"] == "rcut"
    assert {one["cut"] for one in report["search"]["tried"]} == {"rcut"}
    assert all(one["C"] is not None for one in report["search"]["tried"]), "C is chosen, not given"


@pytest.mark.parametrize("given", [("--C", "2", "--decoder", "own"), ("--set", "C=2", "--decoder", "threshold")])
def test_with_both_given_one_training_follows(linnaeus, files, given) -> None:
    result = linnaeus(*train(files, *NAMED, *given, "--test-size", "0", "--budget", ""))
    assert "training OneVsRestSVM ..." in result.err
    assert "held-out" not in result.out
    assert package.load(files / "model").model_.C == 2


def test_a_budget_of_nothing_trains_the_flat_model_and_says_so(linnaeus, files) -> None:
    result = linnaeus(*train(files, "--budget", "0", "--test-size", "0"))
    assert "training OneVsRestSVM; --budget 0: nothing is tuned ..." in result.err
    assert type(package.load(files / "model").model_).__name__ == "OneVsRestSVM"


def test_a_search_continues_from_its_folder(linnaeus, files) -> None:
    more = ("--budget", "0.01", "--checkpoint", files / "kept", "--json")
    first = json.loads(linnaeus(*train(files, *more)).out)["search"]
    assert [path.name for path in (files / "kept").glob("*.json")]
    assert not list((files / "kept").glob("fit-*")), "the last training is saved, its checkpoint deleted"
    second = json.loads(linnaeus(*train(files, *more)).out)["search"]
    assert second["tried"] == first["tried"]
    assert "too small" in first["notes"][0]


def test_a_search_that_is_stopped_says_how_to_continue(linnaeus, files, monkeypatch) -> None:
    from linnaeus.auto.evaluate import Evaluator

    def stop(self, candidate, n_docs, **limits):
        raise KeyboardInterrupt

    monkeypatch.setattr(Evaluator, "run", stop)
    result = linnaeus(*train(files, "--budget", "1", "--checkpoint", files / "kept"))
    assert result.code == 130
    assert f"stopped; what was measured is kept in {files / 'kept'}" in result.err
    assert linnaeus(*train(files, "--budget", "1")).err.endswith("stopped\n")


def test_the_checkpoint_of_another_search_says_which_option_differs(linnaeus, files) -> None:
    more = ("--budget", "0.01", "--checkpoint", files / "kept")
    assert linnaeus(*train(files, *more)).code == 0
    result = linnaeus(*train(files, *more, "--measure", "micro_f1", "--seed", 3))
    assert result.code == 1
    assert "another search, with other options (measure, seed)" in result.err


@pytest.mark.parametrize("measure", ["macro_f1", "example_f1", "average_precision"])
def test_test_documents_are_measured_by_what_was_maximised(linnaeus, files, measure: str) -> None:
    more = (*NAMED, "--budget", "1", "--measure", measure, "--test", files / "docs.jsonl", "--json")
    report = json.loads(linnaeus(*train(files, *more)).out)
    direct = json.loads(linnaeus("evaluate", files / "model", files / "docs.jsonl", "--json").out)["metrics"]
    name = {"average_precision": "au_prc"}.get(measure, measure)
    assert next(iter(report["scores"])) == measure
    assert report["scores"][measure] == pytest.approx(direct[name], abs=1e-6)


def test_the_table_of_a_pruned_model_has_no_area_since_its_probabilities_are_dropped(linnaeus, files) -> None:
    more = (
        *NAMED,
        "--budget",
        "1",
        "--measure",
        "average_precision",
        "--test",
        files / "docs.jsonl",
        "--prune",
        "0.01",
    )
    result = linnaeus(*train(files, *more))
    assert result.code == 0, result.err
    assert "after pruning" in result.out
    assert "average_precision" in result.out


def test_a_misspelt_own_decoder_is_corrected(linnaeus, files) -> None:
    result = linnaeus(*train(files, *NAMED, "--decoder", "onw"))
    assert result.code == 2
    assert "did you mean 'own'" in result.err
    assert "is not one of" in linnaeus(*train(files, *NAMED, "--decoder", "nothing")).err


def test_the_time_limit_of_a_training_is_the_budget_of_a_choice(linnaeus, files) -> None:
    report = json.loads(linnaeus(*train(files, *NAMED, "--max-time", "1m", "--budget", "", "--json")).out)
    assert report["search"]["budget"] == 60


def test_parameters_are_given_to_all_models_that_have_them(linnaeus, files) -> None:
    more = ("--set", "tol=0.03", "--max-memory", "1GB", "--budget", "0.01", "--json")
    report = json.loads(linnaeus(*train(files, *more)).out)
    assert report["search"]["chosen"]["model"] == "OneVsRestSVM"
    assert report["memory_forecast"] is not None
    assert package.load(files / "model").model_.tol == 0.03


def test_a_chosen_model_can_be_pruned_and_measured(linnaeus, files) -> None:
    more = ("--budget", "0.01", "--prune", "0.01", "--test", files / "docs.jsonl", "--json")
    report = json.loads(linnaeus(*train(files, *more)).out)
    assert report["measured_on"] == "the test documents"
    assert report["pruned"]["threshold"] == 0.01


def test_too_few_documents_to_hold_any_out_are_said_to_be(linnaeus, files) -> None:
    lines = (files / "docs.jsonl").read_text().splitlines()[:8]
    (files / "docs.jsonl").write_text("\n".join(lines))
    result = linnaeus(*train(files, "--budget", "5"))
    assert result.code == 0, result.err
    assert "There are 8 documents, too few to hold any out: OneVsRestSVM is taken as it is" in result.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--budget", "1m", "--max-time", "5"), "Give --budget or --max-time"),
        (("--budget", "0", "--measure", "micro_f1"), "with --budget 0 nothing is chosen"),
        (("--budget", "5", "--measure", "speed"), "--measure speed: expected hierarchical_f1"),
        (("--budget", "5", "--measure", "micro_f"), "precision_at_1; did you mean 'micro_f1'?"),
        (("--budget", "soon"), "--budget"),
        (("--budget", "5", "--set", "tols=1"), "no model has it"),
        (("--budget", "5", "--set", "n_samples=1"), "No model of the search has the parameters n_samples"),
        (("--budget", "5", "--C", "1", "--set", "C=1"), "not both"),
        ((*NAMED, "--budget", "5", "--C", "1", "--decoder", "own"), "C and the decoder are given"),
        (("--model", "NodeSVM", "--budget", "5", "--max-memory", "1GB"), "NodeSVM trains without such a limit"),
        (("--budget", "5", "--engine", "steam"), "steam"),
    ],
)
def test_what_contradicts_a_choice_is_refused_before_anything_is_read(linnaeus, files, more, message) -> None:
    result = linnaeus(*train(files, *more))
    assert result.code == 2, result.err
    assert message in result.err
    assert not (files / "model").exists()
