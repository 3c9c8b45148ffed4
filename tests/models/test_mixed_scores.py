"""Scores of several sources become one, whatever shape the taxonomy and the scores have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax

from linnaeus import SourceScores, Taxonomy, fit_mixture
from linnaeus.data.label_files import LabelFile, read_label_file
from linnaeus.decoding import Threshold, TopScores
from linnaeus.errors import LinnaeusError
from linnaeus.models import mixed_scores
from linnaeus.models.mixed_scores import MixtureWeights

TREE = Taxonomy.from_edges(
    [("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB"), ("AA", "AAA"), ("AA", "AAB")]
)


def labelled(tax: Taxonomy, n_docs: int, seed: int = 0) -> tuple[np.ndarray, list[list[str]]]:
    """Closed truth over all nodes, and the labels behind it."""
    rng = np.random.default_rng(seed)
    leaves = tax.leaves
    rows = [
        [str(tax.names[v]) for v in rng.choice(leaves, size=rng.integers(1, 3), replace=False)] for _ in range(n_docs)
    ]
    return tax.close(tax.indicator(rows)).toarray() > 0, rows


def noisy(truth: np.ndarray, noise: float, seed: int, nodes: np.ndarray | None = None) -> SourceScores:
    rng = np.random.default_rng(seed)
    S = truth + noise * rng.normal(size=truth.shape)
    nodes = np.arange(truth.shape[1]) if nodes is None else nodes
    return SourceScores(S[:, nodes], nodes, nested=True)


def log_loss(S: np.ndarray, truth: np.ndarray) -> float:
    return float((np.logaddexp(0, S) - truth * S).mean())


def influence(mixture: MixtureWeights, sources: dict[str, SourceScores], tax: Taxonomy) -> np.ndarray:
    """How much the contributions of every source vary over the documents, labels x sources."""
    whole = slice(0, len(next(iter(sources.values())).S))
    scores = [source.over(whole, tax, mixture.nodes, closed=not mixture.single) for source in sources.values()]
    spread = [mixture.weights[:, s] * Z.std(axis=0) for s, Z in enumerate(mixture.log_odds(scores))]
    return np.abs(np.column_stack(spread))


def test_a_useless_source_has_little_influence_and_a_better_one_more() -> None:
    truth, rows = labelled(TREE, 600)
    sources = {"good": noisy(truth, 0.4, 1), "fair": noisy(truth, 0.8, 2), "useless": noisy(truth * 0, 1.0, 3)}
    good, fair, useless = influence(fit_mixture(sources, rows, TREE), sources, TREE).T
    assert (good > fair).all()
    assert (useless < 0.1 * good).all()


def test_the_mixture_of_two_sources_predicts_new_documents_better_than_either() -> None:
    truth, rows = labelled(TREE, 900)
    sources = {"a": noisy(truth, 0.6, 1), "b": noisy(truth, 0.7, 2)}
    first, rest = np.arange(300), np.arange(300, 900)

    def loss(names: str) -> float:
        part = {name: sources[name] for name in names}
        seen = {name: SourceScores(s.S[first], s.nodes, True) for name, s in part.items()}
        unseen = {name: SourceScores(s.S[rest], s.nodes, True) for name, s in part.items()}
        mixture = fit_mixture(seen, rows[:300], TREE)
        return log_loss(mixture(unseen, TREE), truth[rest][:, mixture.nodes])

    assert loss("ab") < 0.9 * min(loss("a"), loss("b"))


def rare_labels(
    n_docs: int = 400, n_nodes: int = 900, seed: int = 0
) -> tuple[Taxonomy, np.ndarray, dict[str, SourceScores]]:
    """Two frequent labels and a rare one for every document; one source knows labels of others, one knows all nodes."""
    rng = np.random.default_rng(seed)
    tax = Taxonomy.from_edges([(f"p{v % 30}", f"n{v}") for v in range(n_nodes)])
    leaves = np.array([tax.index(f"n{v}") for v in range(n_nodes)])
    truth = np.zeros((n_docs, tax.n_nodes), bool)
    for row in truth:
        row[leaves[rng.choice(20, 2, replace=False)]] = True
        row[leaves[20 + rng.integers(n_nodes - 20)]] = True
    seen = np.flatnonzero(truth.any(axis=0))
    found = truth & (rng.random(truth.shape) < 0.7) | (rng.random(truth.shape) < 0.003)
    labels = np.where(found, -1.0 + rng.normal(size=truth.shape), -9.0)
    words = truth * np.isin(np.arange(tax.n_nodes), leaves[:20]) + 0.4 * rng.normal(size=truth.shape)
    return tax, truth, {"words": SourceScores(words[:, seen], seen), "labels": SourceScores(labels[:, leaves], leaves)}


def test_nodes_without_documents_share_one_curve_and_keep_the_order_of_their_source() -> None:
    tax, truth, sources = rare_labels()
    mixture = fit_mixture(sources, truth.astype(int), tax, learn="given")
    new = ~truth.any(axis=0)[mixture.nodes]
    assert new.sum() > 100
    assert (mixture.weights[new] == [0.0, 1.0]).all()  # of labels all, since words have no score
    for curve in (mixture.slope, mixture.offset, mixture.intercept, mixture.raised):
        assert len(np.unique(curve[new], axis=0)) == 1
    S = mixture(sources, tax)[:, new]
    labels = sources["labels"].over(slice(0, len(S)), tax, mixture.nodes[new], closed=False)
    np.testing.assert_array_equal(np.argsort(S, axis=None, kind="stable"), np.argsort(labels, axis=None, kind="stable"))


def test_log_odds_of_nodes_without_documents_expect_as_many_labels_as_occurred_once() -> None:
    tax, truth, sources = rare_labels()
    mixture = fit_mixture(sources, truth.astype(int), tax, learn="given")
    counts, labels = truth.sum(axis=0), sources["labels"]
    new = counts[mixture.nodes] == 0
    once = labels.S[truth[:, labels.nodes] & (counts[labels.nodes] == 1)]
    constant = mixture.intercept[new][0] - mixture.raised[new][0]
    expected = expit(mixture(sources, tax)[:, new] - mixture.raised[new]).sum()
    expected += expit(mixture.slope[new][0, 1] * once + constant).sum()  # labels that are new to their documents
    assert expected == pytest.approx(len(once), rel=0.02)


def test_nodes_without_documents_are_raised_while_the_best_ten_keep_their_labels() -> None:
    tax, truth, sources = rare_labels()
    mixture = fit_mixture(sources, truth.astype(int), tax, learn="given")
    seen = truth.any(axis=0)[mixture.nodes]
    assert 0 < mixture.raised[~seen].max() <= 4
    assert (mixture.raised[seen] == 0).all()

    def labels_among_ten(S: np.ndarray, nodes: np.ndarray) -> int:
        best = nodes[np.argsort(-S, axis=1)[:, :10]]
        return int(np.take_along_axis(truth, best, 1).sum())

    alone = max(labels_among_ten(source.S, source.nodes) for source in sources.values())
    assert labels_among_ten(mixture(sources, tax), mixture.nodes) >= alone


def test_nodes_without_documents_are_raised_as_far_as_their_cost_allows() -> None:
    tax, truth, sources = rare_labels()
    seen = truth.any(axis=0)
    raised, kept = [], []
    for cost in (0.0, 0.01, 0.2, 1.0):
        mixture = fit_mixture(sources, truth.astype(int), tax, learn="given", unseen_cost=cost)
        best = mixture.nodes[np.argsort(-mixture(sources, tax), axis=1)[:, :10]]
        raised.append(float(mixture.raised.max()))
        kept.append(int((np.take_along_axis(truth, best, 1) & seen[best]).sum()))
    assert raised[0] <= raised[1] < raised[2] < raised[3] == 12.0
    assert kept[0] >= kept[1] > kept[2] > kept[3]
    assert kept[2] >= 0.8 * kept[0]
    with pytest.raises(LinnaeusError, match="unseen_cost"):
        fit_mixture(sources, truth.astype(int), tax, learn="given", unseen_cost=-0.1)


def test_nodes_with_few_documents_share_a_curve_that_learns_which_source_knows_them() -> None:
    tax, truth, sources = rare_labels()
    mixture = fit_mixture(sources, truth.astype(int), tax, learn="given")
    counts = truth.sum(axis=0)[mixture.nodes]
    few, frequent = (counts > 0) & (counts < 3), counts > 19
    assert few.sum() > 100
    assert frequent.sum() == 20
    for curve in (mixture.slope, mixture.offset, mixture.weights, mixture.intercept, mixture.prior):
        assert len(np.unique(curve[few], axis=0)) == 1
    words, labels = (mixture.slope * mixture.weights).T
    assert labels[few][0] > 0.5
    assert words[few][0] < 0.1 * words[frequent].min()
    S = mixture(sources, tax)
    found = np.sort(S[:, few][truth[:, mixture.nodes[few]]])
    assert found[len(found) // 2] > np.quantile(S[:, few], 0.99)


def test_scores_of_models_that_do_not_know_a_node_do_not_count_against_others_like_it() -> None:
    tax, truth, sources = rare_labels()
    once = np.flatnonzero(truth.sum(axis=0) == 1)
    labels = sources["labels"]
    lower = np.isin(labels.nodes, once) & truth[:, labels.nodes] & (labels.S < -5)
    lowered = {**sources, "labels": SourceScores(np.where(lower, -60.0, labels.S), labels.nodes)}
    slopes = [
        (mixture.slope * mixture.weights)[mixture.nodes == once[0], 1][0]
        for mixture in (fit_mixture(given, truth.astype(int), tax, learn="given") for given in (sources, lowered))
    ]
    assert slopes[1] == pytest.approx(slopes[0], rel=0.5)


def test_a_node_without_documents_has_exactly_the_weights_of_its_parents() -> None:
    truth, rows = labelled(TREE, 100)
    grown = Taxonomy.from_edges(
        [(TREE.names[p], TREE.names[v]) for v in range(TREE.n_nodes) for p in TREE.parents(v)]
        + [("AA", "new"), ("new", "newer"), ("A", "both"), ("B", "both")]
    )
    at = np.array([grown.index(str(name)) for name in TREE.names])
    sources = {f"s{i}": SourceScores(noisy(truth, i, i).S, at, nested=True) for i in (1, 2)}
    mixture = fit_mixture(sources, rows, grown)
    assert mixture.of_node("newer", grown) == mixture.of_node("new", grown) == mixture.of_node("AA", grown)
    a, b = (np.array(list(mixture.of_node(name, grown).values())) for name in "AB")
    np.testing.assert_array_equal(list(mixture.of_node("both", grown).values()), np.mean([a, b], axis=0))


def test_nodes_that_only_a_source_knows_are_mixed_with_the_weights_of_their_parents() -> None:
    truth, rows = labelled(TREE, 300)
    keep = [i for i, row in enumerate(rows) if not {"AAB", "BB"} & set(row)]
    sources = {f"s{i}": noisy(truth[keep], 0.3 * i, i) for i in (1, 2)}
    mixture = fit_mixture(sources, [rows[i] for i in keep], TREE)
    assert set(TREE.names[mixture.nodes]) == set(TREE.names) - {"R"}
    for name, parent in (("AAB", "AA"), ("BB", "B")):
        assert mixture.of_node(name, TREE) == mixture.of_node(parent, TREE)
        at = int(np.flatnonzero(mixture.nodes == TREE.index(name))[0])
        np.testing.assert_allclose(mixture.weights[at], list(mixture.of_node(parent, TREE).values()))
    sources["s1"].S[0, TREE.index("BB")] += 30
    S = mixture(sources, TREE)
    assert TREE.names[mixture.nodes[S[0].argmax()]] == "BB"
    assert not (S[1:, mixture.nodes == TREE.index("BB")] > 0).any()


@pytest.mark.parametrize("single", [False, True])
def test_nodes_without_documents_are_expected_as_often_as_nodes_with_one_document_are_found(single) -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat(f"n{i}" for i in range(30))
    target = np.where(np.arange(200) < 5, np.arange(200), 5 + rng.integers(0, 10, 200))  # five nodes have one document
    truth = np.eye(30)[target] > 0
    if not single:
        truth[5:, 14] |= rng.random(195) < 0.5
    sources = {n: SourceScores(3 * truth + rng.normal(size=truth.shape), np.arange(30)) for n in "ab"}
    mixture = fit_mixture(sources, truth.astype(np.int8), tax)
    S = mixture(sources, tax)
    P = softmax(S, axis=1) if single else expit(S)
    assert mixture.single is single
    np.testing.assert_allclose(P[:, 15:].sum(axis=1).mean(), 5 / 201, rtol=0.02)


def test_label_sets_can_be_mixed_as_they_are_given() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("A", "AA"), ("A", "AB"), ("B", "BA")], root=None)
    truth = rng.random((300, tax.n_nodes)) < 0.4
    sources = {n: SourceScores(truth + 0.3 * rng.normal(size=truth.shape), np.arange(5)) for n in "ab"}
    given = fit_mixture(sources, truth.astype(np.int8), tax, learn="given")
    assert not given.lifts
    assert ((given(sources, tax) > 0) == truth[:, given.nodes]).mean() > 0.95
    with pytest.raises(LinnaeusError, match="learn='all'; expected 'closed', 'given' or 'first'"):
        fit_mixture(sources, truth.astype(np.int8), tax, learn="all")


def rare_and_frequent() -> tuple[Taxonomy, np.ndarray, dict[str, SourceScores], np.ndarray]:
    """Documents whose label is frequent, or has no training document: one source knows the former, one finds all."""
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat([f"n{i:02}" for i in range(40)])
    label = np.where(rng.random(400) < 0.7, rng.integers(0, 20, 400), rng.integers(20, 40, 400))
    truth = np.eye(40)[label]
    truth[:40, 1] = 1.0  # some have two labels
    known = truth[:, :20] * 2 + rng.normal(size=(400, 20))
    found = truth * 2 + np.where(np.arange(40) < 20, 2.0, 0.7) * rng.normal(size=truth.shape) - 3 * (np.arange(40) > 19)
    sources = {"words": SourceScores(known, np.arange(20)), "names": SourceScores(found, np.arange(40))}
    return tax, truth, sources, np.where(np.arange(40) < 20, 30, 0)


def test_what_comes_first_is_learned_for_nodes_with_and_without_documents() -> None:
    tax, truth, sources, met = rare_and_frequent()
    rows = np.arange(400)
    train = {name: SourceScores(source.S[:300], source.nodes) for name, source in sources.items()}
    Y = tax.indicator([[f"n{j:02}" for j in np.flatnonzero(row)] for row in truth])
    limits = 0.3, None, 1e-6, 100
    mixture = mixed_scores.learn_first(train, Y[:300], tax, np.arange(40), *limits, learned_from=met)
    assert mixture.single
    assert mixture.gap <= 1e-6 * mixture.objective
    assert (mixture.weights[20:, 0] == 0).all()  # a source without scores of a group says nothing about it
    assert len(np.unique(mixture.weights, axis=0)) == 2
    right = {name: truth[rows, source.S.argmax(axis=1)][300:].mean() for name, source in sources.items()}
    first = truth[rows, mixture(sources, tax).argmax(axis=1)][300:]
    assert first.mean() > max(right.values()) + 0.05
    assert first[truth[300:, 20:].any(axis=1)].mean() > 0.5
    public = fit_mixture(sources, Y, tax, learn="first")
    assert public.single
    assert not public.closed


def test_nodes_with_few_documents_are_nearer_to_their_parents_than_others() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("R", "A"), ("A", "rare"), ("A", "frequent"), ("A", "other")])
    at = np.array([tax.index(v) for v in ("A", "other", "frequent", "rare")])
    truth = rng.random((3000, 4)) < [0.0, 0.3, 0.3, 0.004]
    truth[:, 0] = truth[:, 1:].any(axis=1)
    # Both sources know about A; the first one else only about "other", the second about the two below it.
    informed = np.array([[1, 1, 0, 0], [1, 0, 1, 1]])
    sources = {
        name: SourceScores(2 * truth * informed[i] + rng.normal(size=truth.shape), at, True)
        for i, name in enumerate("ab")
    }
    rows = [[str(tax.names[v]) for v in at[row]] for row in truth]
    found = fit_mixture(sources, rows, tax, C=0.03)
    A, frequent, rare = (np.array(list(found.of_node(v, tax).values())) for v in ("A", "frequent", "rare"))
    assert np.linalg.norm(rare - A) < 0.5 * np.linalg.norm(frequent - A)


def test_single_labels_are_mixed_by_a_soft_max() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    leaves = tax.leaves
    target = rng.integers(0, 4, 500)
    S = [np.eye(4)[target] * size + rng.normal(size=(500, 4)) for size in (1.0, 1.5, 0.0)]
    sources = {name: SourceScores(part, leaves) for name, part in zip("abc", S, strict=True)}
    mixture = fit_mixture(sources, tax.names[leaves][target], tax)
    mixed = mixture(sources, tax)
    assert mixture.single
    assert (mixed.argmax(axis=1) == target).mean() > max((part.argmax(axis=1) == target).mean() for part in S)
    assert (influence(mixture, sources, tax)[:, 2] < 0.1 * influence(mixture, sources, tax)[:, 1]).all()


def test_scores_of_leaves_are_lifted_to_inner_nodes_of_label_sets() -> None:
    truth, rows = labelled(TREE, 300)
    leaves = TREE.leaves
    sources = {"leaves": SourceScores(noisy(truth, 0.3, 1).S[:, leaves], leaves)}
    mixture = fit_mixture(sources, rows, TREE)
    S = mixture(sources, TREE)
    assert set(TREE.names[mixture.nodes]) == set(TREE.names) - {"R"}
    assert (np.sign(S) == np.where(truth[:, mixture.nodes], 1, -1)).mean() > 0.9


@pytest.mark.parametrize("single", [False, True])
def test_labels_that_a_source_does_not_know_are_mixed_from_the_others(single) -> None:
    tax = Taxonomy.flat("ABC")
    rng = np.random.default_rng(0)
    target = rng.integers(0, 3, 300)
    truth = np.eye(3)[target] > 0
    y = tax.names[target] if single else truth.astype(int)
    if not single:
        y[::50] = 1
    whole = SourceScores(truth + 0.4 * rng.normal(size=truth.shape), np.arange(3))
    partial = SourceScores(truth[:, :2] + 0.4 * rng.normal(size=(300, 2)), np.arange(2))
    sources = {"whole": whole, "partial": partial}
    mixture = fit_mixture(sources, y, tax)
    S = mixture(sources, tax)
    assert np.isfinite(S).all()
    assert (S.argmax(axis=1) == target).mean() > 0.9


def test_folds_that_did_not_know_a_label_teach_nothing_about_it() -> None:
    truth, rows = labelled(TREE, 200)
    source = noisy(truth, 0.5, 1)
    S = source.S.copy()
    S[:50, TREE.index("BB")] = -np.inf
    mixture = fit_mixture({"a": SourceScores(S, source.nodes, True), "b": noisy(truth, 0.5, 2)}, rows, TREE)
    assert np.isfinite(mixture.vertex_weights).all()
    assert np.isfinite(mixture({"a": SourceScores(S, source.nodes, True), "b": noisy(truth, 0.5, 2)}, TREE)).all()


@pytest.mark.parametrize("single", [False, True])
def test_the_best_candidates_of_many_teach_nearly_the_same_weights(single, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat(f"n{i}" for i in range(40))
    target = rng.integers(0, 40, 400)
    truth = np.eye(40)[target] > 0
    if not single:
        truth |= np.eye(40)[rng.integers(0, 40, 400)] > 0
    y = truth.astype(np.int8)
    sources = {
        n: SourceScores(truth + s * rng.normal(size=truth.shape), np.arange(40)) for n, s in (("a", 0.3), ("b", 0.5))
    }
    whole = fit_mixture(sources, y, tax)
    monkeypatch.setattr(mixed_scores, "_PAIRS", 400 * 12 * 2)
    few = fit_mixture(sources, y, tax)
    np.testing.assert_allclose(few.vertex_weights[0, :2], whole.vertex_weights[0, :2], atol=0.15)
    top = {n: SourceScores(TopScores.of(s.S, 15), s.nodes) for n, s in sources.items()}
    mixed = fit_mixture(top, y, tax)(top, tax)
    assert (truth[np.arange(400), mixed.argmax(axis=1)]).mean() > 0.95


def test_suggestions_of_another_tool_are_mixed_with_scores_of_a_model(tmp_path) -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")])
    leaves = tax.leaves
    chosen = rng.random((200, len(leaves))) < 0.4
    gold = [[str(tax.names[v]) for v in leaves[row]] for row in chosen]
    path = tmp_path / "suggested.tsv"
    with path.open("w") as file:
        for d, row in enumerate(chosen):
            for j, value in enumerate(np.clip(0.6 * row + 0.4 * rng.random(len(leaves)), 0, 1)):
                if value > 0.2:
                    file.write(f"d{d}\t{tax.names[leaves[j]]}\t{value:.3f}\n")
    file = read_label_file(path, known=set(tax.names))
    assert len(file) < 200  # documents without suggestions are not in it
    suggested = SourceScores.of_labels(file, tax, [f"d{d}" for d in range(200)])
    ours = SourceScores(chosen + 0.8 * rng.normal(size=chosen.shape), leaves)
    mixture = fit_mixture({"suggested": suggested, "ours": ours}, gold, tax)
    S = mixture({"suggested": suggested, "ours": ours}, tax)
    answers = Threshold(0.0, at_least_one=False)(S, tax, mixture.nodes)
    assert (answers != tax.close(tax.indicator(gold), keep_root=False)).sum() < 0.02 * answers.shape[0] * len(leaves)


def test_errors_name_the_source() -> None:
    tax = Taxonomy.flat("AB")
    S = SourceScores(np.zeros((3, 2)), np.arange(2))
    with pytest.raises(LinnaeusError, match="at least one source"):
        fit_mixture({}, [["A"]], tax)
    with pytest.raises(LinnaeusError, match="different numbers of documents: a 3, b 2"):
        fit_mixture({"a": S, "b": SourceScores(np.zeros((2, 2)), np.arange(2))}, [["A"], ["B"], []], tax)
    mixture = fit_mixture({"ours": S}, [["A"], ["B"], []], tax)
    with pytest.raises(LinnaeusError, match="'ours' is missing; did you mean 'our'"):
        mixture({"our": S}, tax)
    with pytest.raises(LinnaeusError, match=r"'C' \(predicted.tsv:4\) is not in the taxonomy"):
        SourceScores.of_labels(LabelFile("predicted.tsv", [["C"]], [4], scores=[[0.1]]), tax)
    with pytest.raises(LinnaeusError, match="labels without scores"):
        SourceScores.of_labels(LabelFile("predicted.tsv", [["A"]], [4]), tax)


def test_rare_labels_of_many_nodes_are_ranked_as_the_sources_rank_them(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.flat(f"n{i:03}" for i in range(300))
    truth = np.zeros((300, 300), bool)
    np.put_along_axis(truth, rng.integers(0, 300, (300, 3)) ** 2 // 300, True, axis=1)
    nodes = np.arange(300)

    def scored(noise: float) -> SourceScores:
        noticed = truth & (rng.random(truth.shape) < 0.4)  # most labels look like the other nodes
        return SourceScores(noticed + noise * rng.normal(size=truth.shape), nodes)

    def recall(S: np.ndarray) -> float:
        best = np.argsort(-S, axis=1)[:, :5]
        return float(np.take_along_axis(truth, best, axis=1).sum() / truth.sum())

    sources, new = ({"a": scored(0.2), "b": scored(0.3)} for _ in range(2))
    monkeypatch.setattr(mixed_scores, "_PAIRS", 300 * 2 * 12)
    mixture = fit_mixture(sources, truth.astype(np.int8), tax, learn="given")
    mixed = recall(mixture(new, tax))
    alone = [recall(np.asarray(source.S)[:, mixture.nodes]) for source in new.values()]
    assert mixed > max(alone)
