"""Claims that hold for every decoder."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import (
    DECODERS,
    BestBranching,
    BestClosure,
    BestSubtree,
    Decoder,
    RCut,
    SCut,
    Threshold,
    decoder,
)
from linnaeus.decoding import base as decoding_base
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.closure import is_closed
from tests.decoding.oracles import exact_scores, renumbered, rows, some_columns
from tests.strategies import taxonomies

EVERY = [
    decoder("best_label"),
    decoder("best_label", close=False),
    decoder("best_label", path_sum=True),
    decoder("best_leaf"),
    decoder("best_leaf", path_sum=True),
    decoder("best_leaf", path_sum=True, close=False),
    decoder("threshold", theta=-0.25),
    decoder("threshold", repair="suppress"),
    decoder("threshold", repair=None, at_least_one=False),
    decoder("top_down", theta=0.25),
    decoder("top_down", leaf_mandatory=False),
    decoder("local_search", theta=-0.25, path_threshold=1.0),
    decoder("local_search", theta=-0.5, r=2, aggregate="mean"),
    decoder("local_search", r_children=1),
    decoder("exact_search"),
    decoder("best_subtree"),
    decoder("best_closure"),
    decoder("best_branching"),
    decoder("best_branching", shared=(0.25, -0.5), stop="anywhere"),
    decoder("rcut", r=1),
    decoder("rcut", r=1, repair="closure"),
    decoder("rcut", r=1.5, theta=0.25, repair="suppress"),
    decoder("rcut", r=1.5, theta=0.25, path_sum=True),
    decoder("rcut", r=1, per="parent"),
    decoder("scut", theta=0.25),
    decoder("scut", theta=-0.25, top=2, repair="suppress"),
    decoder("instance_cut", weights=[0.5, 0.0, 0.0]),
    decoder("instance_cut", weights=[0.5, 0.25, 0.0, 0.0, -0.1], repair="closure"),
    decoder("set_size", weights=[0.25, 0.0, 0.0], constant=-0.75),
    decoder("set_size", method="ridge", weights=[0.0, 0.1, 0.0, 0.2, 0.0], sizes=[1, 4], repair="suppress"),
    decoder("set_size", method="ordinal", weights=[0.5, 0.0, 0.0], cut_points=[2.0, 3.0], sizes=[1, 2, 3]),
]
every = pytest.mark.parametrize("decode", EVERY, ids=repr)


def kinds(decode: Decoder) -> tuple[str, ...]:
    return ("tree",) if isinstance(decode, (BestSubtree, BestBranching)) else ("tree", "dag")


def test_every_registered_decoder_is_tested_here() -> None:
    elsewhere = {"pcut", "least_cost", "least_h_loss"}  # PCut decides batches, the others take probabilities
    elsewhere.add("path_classifier")  # learns about one taxonomy
    elsewhere |= {"best_tree", "best_non_empty"}  # test_best_tree
    elsewhere.add("expected")  # needs curves to decide: cutoffs/test_expected
    assert {decode.name for decode in EVERY} | elsewhere == set(DECODERS)


@every
def test_a_decoder_survives_its_dictionary_and_copies(decode: Decoder) -> None:
    written = json.loads(json.dumps(decode.to_dict()))
    assert decoder(**written) == decode == deepcopy(decode) == pickle.loads(pickle.dumps(decode))
    assert hash(decoder(**written)) == hash(decode)


def test_thresholds_per_node_survive_the_dictionary() -> None:
    decode = Threshold(theta=np.array([0.5, float("inf")]))
    assert decoder(**json.loads(json.dumps(decode.to_dict()))) == decode
    assert decode != Threshold(theta=[0.5, 0.25])


@pytest.mark.parametrize("name", ["threshold", "top_down", "best_subtree", "best_closure"])
def test_theta_is_a_number_or_one_for_each_node(name: str, abc: Taxonomy) -> None:
    for wrong in ("x", float("nan"), [0.0, "x"], [[0.0]], None, [[1.0], [2.0, 3.0]], {}):
        with pytest.raises(ParameterError, match="is not a number or a list of numbers"):
            decoder(name, theta=wrong)
    with pytest.raises(ParameterError, match="3 values, expected one number or one for each of the 7 nodes"):
        decoder(name, theta=[0.0, 1.0, 2.0])(np.zeros((1, 7)), abc)
    per_node = decoder(name, theta=np.zeros(7))
    assert decoder(**json.loads(json.dumps(per_node.to_dict()))) == per_node
    S = np.random.default_rng(0).normal(size=(20, 7))
    assert rows(per_node(S, abc)) == rows(decoder(name)(S, abc))


def test_unknown_names_and_parameters_get_the_nearest() -> None:
    with pytest.raises(ParameterError, match="did you mean 'threshold'"):
        decoder("treshold")
    with pytest.raises(ParameterError, match="did you mean 'theta'"):
        decoder("threshold", thetta=1.0)
    with pytest.raises(ParameterError, match="its parameters are theta"):
        decoder("best_closure", repair="closure")


@every
@settings(max_examples=15)
@given(data=st.data())
def test_answers_are_closed_where_promised_and_never_hold_the_root(decode: Decoder, data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=kinds(decode)))
    S = data.draw(exact_scores(tax.n_nodes))
    before = S.copy()
    Y = decode(S, tax)
    assert Y.shape == S.shape
    assert np.array_equal(S, before)
    if decode.closed:
        assert is_closed(tax, Y)
    if decode.closed and decode.name != "best_label":
        assert all(tax.root not in answer for answer in rows(Y))


@every
@settings(max_examples=15)
@given(data=st.data())
def test_a_batch_is_decoded_as_one_by_one(decode: Decoder, data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=kinds(decode)))
    S = data.draw(exact_scores(tax.n_nodes, max_docs=20))
    together = rows(decode(S, tax))
    assert together == [rows(decode(S[d : d + 1], tax))[0] for d in range(len(S))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding_base, "_BLOCK", 8 * tax.n_nodes)
        assert rows(decode(S, tax)) == together


@every
@settings(max_examples=15)
@given(tax=st.data(), seed=st.integers(0, 1000))
def test_renumbering_nodes_changes_nothing_but_numbers(decode: Decoder, tax: st.DataObject, seed: int) -> None:
    first = tax.draw(taxonomies(kinds=kinds(decode)))
    second = renumbered(first, seed)
    S = np.random.default_rng(seed).normal(size=(3, first.n_nodes))
    same = S[:, [first.index(name) for name in second.names]]
    one, other = first.labels(decode(S, first)), second.labels(decode(same, second))
    assert [set(labels) for labels in one] == [set(labels) for labels in other]


@every
@settings(max_examples=15)
@given(data=st.data())
def test_the_order_of_columns_does_not_matter(decode: Decoder, data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=kinds(decode)))
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    order = np.argsort(columns)

    def answer(S: np.ndarray, columns: np.ndarray) -> object:
        try:
            return rows(decode(S, tax, columns))
        except DataError as error:
            return str(error)

    assert answer(S, columns) == answer(S[:, order], columns[order])


@every
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_single_precision_decides_as_double(decode: Decoder, data: st.DataObject, seed: int) -> None:
    tax = data.draw(taxonomies(kinds=kinds(decode)))
    S = np.random.default_rng(seed).normal(size=(3, tax.n_nodes)).astype(np.float32)
    assert rows(decode(S, tax)) == rows(decode(S.astype(np.float64), tax))


@every
def test_no_documents_give_no_answers(decode: Decoder, abc: Taxonomy) -> None:
    assert decode(np.zeros((0, abc.n_nodes)), abc).shape == (0, abc.n_nodes)
    assert decode(np.zeros((0, 0)), abc, []).shape == (0, abc.n_nodes)


@every
def test_one_node_and_nodes_without_edges(decode: Decoder) -> None:
    one = Taxonomy.flat(["A"])
    assert one.labels(decode([[2.0]], one)) == [["A"]]
    flat = Taxonomy.flat("ABC")
    assert flat.labels(decode([[-1, 2, -1]], flat)) == [["B"]]


@every
def test_an_undirected_graph_has_no_ancestors(decode: Decoder) -> None:
    graph = Taxonomy.from_edges([("A", "B"), ("B", "C")], kind="graph")
    assert graph.labels(decode([[-1.0, -1.0, 1.0]], graph)) == [["C"]]


@every
def test_a_single_answer_is_one_node_and_what_is_above_it(decode: Decoder, diamond: Taxonomy) -> None:
    if not decode.single:
        assert decode.name not in ("best_label", "best_leaf")
        return
    Y = decode(np.random.default_rng(0).normal(size=(30, 5)), diamond)
    assert all(len(labels) == 1 for labels in diamond.labels(diamond.frontier(Y) if decode.closed else Y))


@every
def test_a_score_that_is_not_a_number_is_named(decode: Decoder, abc: Taxonomy) -> None:
    S = np.zeros((3, 7), dtype=np.float32)
    S[1, abc.index("AB")] = np.nan
    S[0, 0] = -np.inf
    with pytest.raises(DataError, match="The score of node 'AB' for document 1 is NaN"):
        decode(S, abc)
    with pytest.raises(DataError, match="node 'AB' for document 0"):
        decode([[0.0, np.nan]], abc, [abc.index("B"), abc.index("AB")])
    with pytest.raises(DataError, match="node 'AB' for document 0"):
        decode([[np.nan, 0.0]], abc, [abc.index("AB"), abc.index("B")])


def test_scores_that_do_not_fit_are_refused(abc: Taxonomy) -> None:
    with pytest.raises(DataError, match="1 dimension"):
        BestClosure()(np.zeros(7), abc)
    with pytest.raises(DataError, match="3 columns, expected 7"):
        BestClosure()(np.zeros((1, 3)), abc)
    with pytest.raises(DataError, match=r"Column number 7 is not a node: .* 0\.\.6"):
        BestClosure()(np.zeros((1, 2)), abc, [1, 7])
    with pytest.raises(DataError, match="'A' has two columns"):
        BestClosure()(np.zeros((1, 2)), abc, [1, 1])


def test_parameters_of_decoders_can_be_written_in_their_name() -> None:
    assert decoder("scut, average=macro, min_positives=3") == SCut(average="macro", min_positives=3)
    assert decoder("threshold,theta=-0.5,repair=none,at_least_one=False") == Threshold(-0.5, None, False)
    assert decoder("rcut,r=2", per="parent") == RCut(2, "parent")
    with pytest.raises(ParameterError, match="'average' is not a parameter; expected name=value"):
        decoder("scut,average")
    with pytest.raises(ParameterError, match="has no parameter 'averag'.*did you mean 'average'"):
        decoder("scut,averag=micro")
    with pytest.raises(ParameterError, match="'r' is given twice"):
        decoder("rcut,r=2", r=3)
    assert decoder("best_branching, shared=[-0.1,-0.5]").shared == (-0.1, -0.5)
    with pytest.raises(ParameterError, match="'skut' is not one of.*did you mean 'scut'"):
        decoder("skut,average=micro")
