"""What documents and a model say about a taxonomy."""

from __future__ import annotations

import numpy as np

from linnaeus import OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.answering.doctor import check_documents, check_model, near_duplicates
from linnaeus.data import Dataset
from linnaeus.features.text import TextFeatures
from linnaeus.taxonomy.findings import Finding

TOPICS = Taxonomy.from_edges(
    [("Top", "Sports"), ("Top", "Science"), ("Sports", "Tennis"), ("Sports", "Squash"), ("Science", "Physics")]
)


def found(labels: list[list[str]], texts: list[str] | None = None) -> dict[str, Finding]:
    texts = texts or [f"document {i}" for i in range(len(labels))]
    data = Dataset(fields={"text": texts}, labels=labels, ids=[f"d{i}" for i in range(len(labels))])
    return {one.code: one for one in check_documents(TOPICS, data, min_examples=2)}


def test_ancestors_beside_descendants_are_counted_by_document() -> None:
    one = found([["Sports", "Tennis"], ["Tennis"], ["Sports", "Squash"], ["Sports"]])["ancestor-beside-descendant"]
    assert one.count == 2
    assert one.examples == ["Sports beside a node below it (2 documents)"]


def test_labels_that_never_occur_alone_name_their_companion() -> None:
    one = found([["Tennis", "Physics"], ["Tennis", "Physics"], ["Physics"], ["Squash"]])["never-alone"]
    assert one.count == 1
    assert one.examples == ["Tennis: with Physics in 2 of 2 documents"]


def test_near_duplicates_with_different_labels_are_reported_with_ids() -> None:
    text = "the final of the tournament was played on grass in front of a large and very loud crowd of people"
    texts = [text, text.upper() + "!", "another document with other words about atoms and light and energy", text]
    one = found([["Tennis"], ["Squash"], ["Physics"], ["Tennis"]], texts)["duplicates-disagree"]
    assert one.count == 2
    assert one.examples[0] == "d0 and d1: {Tennis} and {Squash}"


def test_near_duplicates_are_those_of_a_brute_force_search() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(200)]
    texts = []
    for _ in range(30):
        base = rng.choice(words, 60).tolist()
        texts.append(" ".join(base))
        for position in rng.integers(0, 60, rng.integers(0, 6)).tolist():
            base[position] = "x"
        texts.append(" ".join(base))
    sets = [{tuple(t.split()[k : k + 3]) for k in range(58)} for t in texts]
    expected = [
        (i, j) for i in range(60) for j in range(i + 1, 60) if len(sets[i] & sets[j]) >= 0.8 * len(sets[i] | sets[j])
    ]
    assert 5 < len(expected) < 30
    assert near_duplicates(texts) == expected


class _Fixed:
    """Stands in for a pipeline whose best nodes are given."""

    taxonomy_ = TOPICS

    def __init__(self, answers: list[str]) -> None:
        self.answers = answers

    def top_nodes(self, documents: object, k: int) -> tuple[np.ndarray, np.ndarray]:
        nodes = np.array([[TOPICS.index(name)] for name in self.answers])
        return nodes, np.ones(nodes.shape)

    def matrix(self, documents: object) -> np.ndarray:
        return np.ones((len(self.answers), 2))


def test_confused_siblings_and_nodes_of_another_parent_are_found() -> None:
    labels = [["Tennis"]] * 5 + [["Squash"]] * 5
    answers = ["Tennis"] * 3 + ["Squash"] * 2 + ["Physics"] * 4 + ["Squash"]
    data = Dataset(fields={"text": ["x"] * 10}, labels=labels)
    report = {one.code: one for one in check_model(_Fixed(answers), data)}  # type: ignore[arg-type]
    assert report["confused-siblings"].examples == ["Tennis and Squash: 2 of 10 documents"]
    assert report["other-parent"].examples == ["Squash: 4 of 5 documents look like Science"]


def test_an_answer_that_is_an_ancestor_of_the_label_is_not_wrong() -> None:
    data = Dataset(fields={"text": ["x"] * 6}, labels=[["Tennis"]] * 6)
    assert check_model(_Fixed(["Sports"] * 6), data) == []  # type: ignore[arg-type]


def test_nodes_whose_documents_are_closest_to_those_of_another_branch_are_named() -> None:
    names = ["Tennis", "Squash", "Golf", "Physics", "Optics"]
    edges = [("Top", "Sports"), ("Top", "Science")]
    edges += [
        ("Sports", "Tennis"),
        ("Sports", "Squash"),
        ("Sports", "Optics"),
        ("Science", "Physics"),
        ("Science", "Golf"),
    ]
    labels = [[name] for name in names for _ in range(3)]
    words = {
        "Tennis": "ball racket",
        "Squash": "ball wall",
        "Golf": "ball grass",
        "Physics": "light atom",
        "Optics": "light lens",
    }
    data = Dataset(fields={"text": [words[row[0]] for row in labels]}, labels=labels)
    pipe = Pipeline(OneVsRestSVM(Taxonomy.from_edges(edges), random_state=0), TextFeatures()).fit(
        data.documents, labels
    )
    report = {one.code: one for one in check_model(pipe, data, min_examples=2)}
    assert sorted(line.split(" is ")[0] for line in report["learned-elsewhere"].examples) == [
        "Golf",
        "Optics",
        "Physics",
    ]
    assert any(line.startswith("Optics is closer to Physics than to") for line in report["learned-elsewhere"].examples)
