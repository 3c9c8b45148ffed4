"""The sentence says who is best, by how much, and claims nothing that may be chance."""

from __future__ import annotations

from linnaeus.experiments.comparison import choice, sentence
from linnaeus.experiments.records import Comparison, Result, Run, SizeComparison
from linnaeus.experiments.shootout import recommended

F = "hierarchical_f1"


def runs(**values: float) -> list[Run]:
    return [Run(model=name, status="done", measures={F: value}) for name, value in values.items()]


def row(
    kind: str, model: str, against: str, difference: float, p: float, by_size: list[SizeComparison] | None = None
) -> Comparison:
    return Comparison(model, against, kind, F, difference, p, by_size=by_size)


def sizes(*groups: tuple[int, int | None, float, float]) -> list[SizeComparison]:
    return [SizeComparison(*group) for group in groups]


def test_a_clear_winner_is_named_with_points_and_p() -> None:
    found = [row("flat", "RRSVM", "OneVsRestSVM", 0.021, 0.0004), row("best", "OneVsRestSVM", "RRSVM", -0.021, 0.0004)]
    said = sentence(runs(RRSVM=0.8, OneVsRestSVM=0.779), found, F)
    assert said == "RRSVM is best: 2.1 points of hierarchical F1 above flat OneVsRestSVM (p < 0.001)."


def test_a_winner_on_small_nodes_only_leaves_the_large_ones_to_flat() -> None:
    groups = sizes((1, 5, 0.1, 0.001), (6, 20, 0.05, 0.01), (21, 100, 0.01, 0.4), (101, None, 0.0, 0.9))
    found = [row("flat", "RRSVM", "OneVsRestSVM", 0.021, 0.01, groups)]
    said = sentence(runs(RRSVM=0.8, OneVsRestSVM=0.779), found, F)
    assert said.endswith("(p = 0.010); on nodes with more than 20 training documents the flat model may be as good.")


def test_where_flat_is_better_on_large_nodes_it_is_said() -> None:
    groups = sizes((1, 5, 0.1, 0.001), (101, None, -0.02, 0.01))
    said = sentence(runs(RRSVM=0.8, OneVsRestSVM=0.7), [row("flat", "RRSVM", "OneVsRestSVM", 0.1, 0.01, groups)], F)
    assert "on nodes with more than 100 training documents the flat model is better" in said


def test_models_that_are_not_told_apart_from_the_best_are_named() -> None:
    found = [row("flat", "A", "F", 0.1, 0.001)]
    found += [row("best", name, "A", -0.001, 0.5) for name in "BCDE"] + [row("best", "F", "A", -0.1, 0.001)]
    said = sentence(runs(A=0.8, B=0.79, C=0.79, D=0.79, E=0.79, F=0.7), found, F)
    assert said.endswith("; B, C, D and 1 more may be as good as A.")


def test_a_tie_claims_no_difference() -> None:
    said = sentence(runs(RRSVM=0.8, OneVsRestSVM=0.797), [row("flat", "RRSVM", "OneVsRestSVM", 0.003, 0.31)], F)
    assert said == (
        "No model is clearly better than a flat one: RRSVM leads flat OneVsRestSVM by 0.3 points of hierarchical F1, "
        "which may be chance (p = 0.31)."
    )


def test_equals_do_not_lead() -> None:
    said = sentence(runs(RRSVM=0.8, OneVsRestSVM=0.7999), [row("flat", "RRSVM", "OneVsRestSVM", 0.0001, 0.9)], F)
    assert said.endswith("RRSVM and flat OneVsRestSVM are equal in hierarchical F1.")


def test_a_tie_with_a_difference_on_rare_nodes_says_where() -> None:
    groups = sizes((1, 5, 0.04, 0.002), (101, None, 0.0, 0.9))
    said = sentence(runs(R=0.8, F=0.797), [row("flat", "R", "F", 0.003, 0.31, groups)], F)
    assert said.endswith("; only on nodes with 1 to 5 training documents is it better, by 4.0 points of F1.")


def test_flat_that_wins_is_enough() -> None:
    said = sentence(runs(OneVsRestSVM=0.8, RRSVM=0.79), [row("flat", "RRSVM", "OneVsRestSVM", -0.01, 0.02)], F)
    assert said == (
        "A flat model is enough: OneVsRestSVM is best, 1.0 point of hierarchical F1 above RRSVM, "
        "the best of those with a hierarchy (p = 0.020)."
    )


def test_flat_in_front_by_chance_is_enough_but_not_better() -> None:
    said = sentence(runs(OneVsRestSVM=0.8, RRSVM=0.799), [row("flat", "RRSVM", "OneVsRestSVM", -0.001, 0.7)], F)
    assert said.startswith("A flat model is enough: none is better than OneVsRestSVM")
    assert "chance" in said


def test_where_flat_is_best_it_is_held_against_a_model_with_the_hierarchy() -> None:
    found = [
        row("flat", "OneVsRestLogistic", "OneVsRestSVM", -0.001, 0.9),
        row("flat", "RRSVM", "OneVsRestSVM", -0.1, 0.01),
    ]
    said = sentence(runs(OneVsRestSVM=0.8, OneVsRestLogistic=0.799, RRSVM=0.7), found, F)
    assert "10.0 points of hierarchical F1 above RRSVM" in said
    equal = sentence(runs(OneVsRestSVM=0.8, RRSVM=0.8), [row("flat", "RRSVM", "OneVsRestSVM", 0.0, 1.0)], F)
    assert equal == "A flat model is enough: none is better than OneVsRestSVM; RRSVM is as good."


def test_without_flat_models_the_next_one_is_compared() -> None:
    clear = sentence(runs(A=0.8, B=0.7), [row("best", "B", "A", -0.1, 0.01)], F)
    chance = sentence(runs(A=0.8, B=0.79), [row("best", "B", "A", -0.01, 0.5)], F)
    assert clear.startswith("A is best: 10.0 points")
    assert "may be chance" in chance
    assert all("no flat model was measured" in said for said in (clear, chance))


def test_one_model_or_none_is_compared_with_nothing() -> None:
    assert sentence(runs(A=0.8), [], F).startswith("Only A was measured: 80.0 points")
    assert sentence([], [], F) == "No model could be measured."
    late = [Run(model="RRSVM", status="no time")]
    assert sentence(late, [], F) == "No model could be measured; increase the budget."


def test_the_choice_names_how_many_models_had_no_time() -> None:
    found = [Run(model="RRSVM", status="done", held_out=0.6), Run(model="HM3", status="no time")]
    assert choice(found, F).endswith("would choose RRSVM: hierarchical F1 0.6000; 1 model had no time.")


def test_a_lead_of_less_than_a_tenth_of_a_point_is_no_lead_however_certain_it_is() -> None:
    said = sentence(runs(RRSVM=0.8, OneVsRestSVM=0.7998), [row("flat", "RRSVM", "OneVsRestSVM", 0.0002, 0.0001)], F)
    assert said.endswith("flat one: RRSVM and flat OneVsRestSVM are equal in hierarchical F1.")


def test_without_held_out_values_train_would_take_the_flat_model_whatever_the_test_documents_say() -> None:
    found = runs(RRSVM=0.9, OneVsRestSVM=0.5)
    assert choice(found, F) == (
        "There are too few training documents to hold any out: linnaeus train would take OneVsRestSVM as it is."
    )
    assert recommended(Result(best="RRSVM", runs=found)).model == "OneVsRestSVM"
    assert recommended(Result(best="RRSVM", runs=runs(RRSVM=0.9))) is None
    assert choice([Run(model="RRSVM", status="no time")], F) == ""


def test_nearly_equal_runs_are_decided_by_all_documents_in_folds() -> None:
    found = [
        Run(model="MulticlassSVM", status="done", held_out=0.975, in_folds=0.95),
        Run(model="OneVsRestSVM", status="done", held_out=0.965, in_folds=0.96),
        Run(model="RRSVM", status="done", held_out=0.9, in_folds=0.99),
        Run(model="HM3", status="done", held_out=0.97),
    ]
    said = choice(found, F)
    assert "would choose OneVsRestSVM: hierarchical F1 0.9650 (0.9600 with every one held out once)." in said
    assert recommended(Result(runs=found)).model == "OneVsRestSVM"
    found[0].in_folds = None  # there was no time
    assert "would choose MulticlassSVM: hierarchical F1 0.9750." in choice(found, F)


def test_joint_models_that_are_flat_ones_are_named() -> None:
    found = runs(RRSVM=0.8, OneVsRestSVM=0.8)
    found[0].parameters = {"C": 1.0, "pull": "inf"}
    said = sentence(found, [row("flat", "RRSVM", "OneVsRestSVM", 0.0, 1.0)], F)
    assert said.endswith(
        "are equal in hierarchical F1. With the pull that was chosen (inf), RRSVM is a flat model here."
    )
