"""Documents recoded to a new version of a taxonomy: what is certain, what is decided, and what is left to people."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import LinnaeusError
from linnaeus.migration import MigratedDocuments, double_code, migrate_documents
from linnaeus.revisions import Correspondence, compare

WORDS = {
    "cats": "purr whisker kitten claw",
    "dogs": "leash puppy fetch bark",
    "birds": "feather wing nest beak",
    "cars": "engine wheel brake road",
}
OLD = Taxonomy.flat(["pets", "cars", "vans", "ghosts"])
NEW = Taxonomy.flat(["cats", "dogs", "birds", "cars"])
TABLE = Correspondence.from_pairs(
    [("pets", "cats"), ("pets", "dogs"), ("pets", "birds"), ("vans", "cars")], without_target=["ghosts"]
)
REVISION = compare(OLD, NEW, TABLE, propose=False)


def corpus(n: int, seed: int = 0, named: float = 0.5) -> tuple[list[str], list[str]]:
    """Texts with two words of their topic among common ones; some name it."""
    rng = np.random.default_rng(seed)
    topics = rng.choice(list(WORDS), size=n, p=[0.5, 0.2, 0.1, 0.2]).tolist()
    texts = []
    for topic in topics:
        words = [*rng.choice(WORDS[topic].split(), 2), *rng.choice(["thing", "day", "home", "walk"], 3)]
        texts.append(" ".join([*words, topic] if rng.random() < named else words))
    return texts, topics


def old_labels(topics: list[str]) -> list[list[str]]:
    return [["cars"] if topic == "cars" else ["pets"] for topic in topics]


def migrated(n: int = 300, n_hand: int = 0, **how: object) -> tuple[MigratedDocuments, list[str]]:
    texts, topics = corpus(n)
    pets = [d for d, topic in enumerate(topics) if topic != "cars"]
    chosen = np.random.default_rng(1).permutation(pets)[:n_hand].tolist()
    hand = {d: [topics[d]] for d in chosen}
    return migrate_documents(REVISION, texts, old_labels(topics), hand=hand, **how), topics


def test_labels_with_one_new_node_are_recoded_and_counted() -> None:
    found = migrate_documents(REVISION, ["a", "b", "c", "d"], [["cars"], ["vans"], ["vans", "cars"], ["ghosts"]])
    assert found.labels == [["cars"], ["cars"], ["cars"], []]
    assert found.statuses == ["univocal", "univocal", "univocal", "lost"]
    assert found.recoded == Counter(vans=2, cars=2)
    assert found.lost == Counter(ghosts=1)
    assert any("no new node" in note for note in found.notes)


def test_cases_are_decided_among_the_candidates_of_the_table_only() -> None:
    found, topics = migrated()
    assert all(set(case.candidates) == {"cats", "dogs", "birds"} for case in found.cases)
    assert all(label in ("cats", "dogs", "birds") for case in found.cases for label in case.labels)
    for (label,), topic in zip(found.labels, topics, strict=True):
        assert (label == "cars") == (topic == "cars")


def test_words_that_go_with_a_label_decide_documents_that_do_not_name_it() -> None:
    found, topics = migrated()
    right = np.mean([row == [topic] for row, topic in zip(found.labels, topics, strict=True)])
    assert right > 0.8  # half of them name it, and half of the others are cats
    assert not found.calibrated


def test_documents_coded_by_hand_teach_where_labels_say_nothing() -> None:
    texts, topics = corpus(400, named=0.0)
    labels = old_labels(topics)
    pets = [d for d, topic in enumerate(topics) if topic != "cars"]
    hand = {d: [topics[d]] for d in pets[:60]}
    accuracy = []
    for coded in ({}, hand):
        found = migrate_documents(REVISION, texts, labels, hand=coded)
        accuracy.append(np.mean([found.labels[d] == [topics[d]] for d in pets[60:]]))
    assert accuracy[1] > max(0.9, accuracy[0] + 0.2)


def test_documents_coded_by_hand_keep_their_labels() -> None:
    found, topics = migrated(n_hand=40)
    coded = [case for case in found.cases if case.by == "hand"]
    assert len(coded) == 40
    assert all(found.labels[case.document] == [topics[case.document]] for case in coded)
    assert Counter(found.statuses)["hand"] == 40


def test_the_curve_has_the_accuracy_on_hidden_cases() -> None:
    found, _ = migrated(n_hand=90)
    assert [point.coded for point in found.curve] == [0, 15, 30, 60]
    assert all(point.tested == 30 and 0 <= point.accuracy <= 1 for point in found.curve)


def test_a_promised_risk_is_kept_and_the_rest_is_a_queue() -> None:
    texts, topics = corpus(1200, named=0.1)
    noisy = np.random.default_rng(5).random(1200) < 0.3  # a third of the texts say nothing
    texts = ["thing day home" if noise else text for text, noise in zip(texts, noisy, strict=True)]
    pets = [d for d, topic in enumerate(topics) if topic != "cars"]
    hand = {d: [topics[d]] for d in np.random.default_rng(2).permutation(pets)[:250].tolist()}
    found = migrate_documents(REVISION, texts, old_labels(topics), hand=hand, risk=0.1)
    machine = [case for case in found.cases if case.by == "model"]
    assert np.mean([case.labels == (topics[case.document],) for case in machine]) >= 0.9
    assert len(machine) > 300
    assert Counter(found.statuses)["review"] == len(found.queue) > 100
    assert all(found.labels[case.document] == [] for case in found.queue)


def test_without_coded_cases_no_risk_is_promised_and_all_cases_are_queued() -> None:
    found, topics = migrated(risk=0.1)
    assert len(found.queue) == sum(topic != "cars" for topic in topics)
    assert any("Nothing is decided by the model" in note for note in found.notes)


def test_the_queue_begins_with_uncertain_cases_of_families_with_many_of_them() -> None:
    found, _ = migrated(risk=0.1)
    uncertainties = [1 - case.probabilities[0] for case in found.queue]
    assert uncertainties == sorted(uncertainties, reverse=True)  # one family


def test_counts_of_cells_have_intervals_around_the_truth() -> None:
    found, topics = migrated(n_hand=60)
    truth = Counter(topics)
    for cell in found.cells:
        assert cell.low <= cell.expected <= cell.high
        assert cell.low - 3 <= truth[cell.node] <= cell.high + 3
    assert sum(cell.expected for cell in found.cells) == pytest.approx(len(topics))
    cars = next(cell for cell in found.cells if cell.node == "cars")
    assert cars.low == cars.high == truth["cars"]


def test_both_versions_of_an_answer_are_a_pair_of_the_table() -> None:
    rng = np.random.default_rng(0)
    P_old, P_new = rng.dirichlet(np.ones(4), 50), rng.dirichlet(np.ones(4), 50)
    pairs = {(pair.old, pair.new): 0.0 for pair in TABLE.pairs}
    for (old, new), p, q in zip(double_code(P_old, P_new, OLD, NEW, TABLE), P_old, P_new, strict=True):
        best = max(pairs, key=lambda pair: p[OLD.index(pair[0])] * q[NEW.index(pair[1])])
        assert (old, new) == best


def test_the_same_seed_gives_the_same_result() -> None:
    first, second = (migrated(n_hand=60, risk=0.2)[0] for _ in range(2))
    assert first.cases == second.cases


@pytest.mark.parametrize(
    ("labels", "hand", "words"),
    [
        ([["pots"]], {}, "did you mean 'pets'"),
        ([["pets"]], {0: ["cuts"]}, "did you mean 'cats'"),
        ([["pets"]], {4: ["cats"]}, "expected numbers from 0 to 0"),
        ([["pets"], ["pets"]], {}, "There are 1 documents"),
    ],
)
def test_what_does_not_fit_is_refused(labels: list, hand: dict, words: str) -> None:
    with pytest.raises(LinnaeusError, match=words):
        migrate_documents(REVISION, ["purr"], labels, hand=hand)


def test_a_code_by_hand_outside_the_table_is_kept_and_counted() -> None:
    found = migrate_documents(REVISION, ["purr", "bark"], [["pets"], ["pets"]], hand={0: ["cars"]})
    assert found.labels[0] == ["cars"]
    assert any("no label among their candidates" in note for note in found.notes)


def test_codes_by_hand_decide_their_cases_and_leave_the_other_labels_of_a_document() -> None:
    old = Taxonomy.flat(["pets", "plants", "cars"])
    new = Taxonomy.flat(["cats", "dogs", "trees", "herbs", "cars"])
    pairs = [("pets", "cats"), ("pets", "dogs"), ("plants", "trees"), ("plants", "herbs")]
    revision = compare(old, new, Correspondence.from_pairs(pairs), propose=False)
    labels = [["pets", "cars"], ["pets", "plants"], ["plants"]]
    hand = {0: ["cats"], 1: ["dogs"]}
    found = migrate_documents(revision, ["one pet", "two plants", "three plants"], labels, hand=hand, risk=0.1)
    assert [set(row) for row in found.labels] == [{"cats", "cars"}, {"dogs"}, set()]
    assert found.statuses == ["hand", "review", "review"]
    assert {(case.document, case.old) for case in found.queue} == {(1, "plants"), (2, "plants")}
