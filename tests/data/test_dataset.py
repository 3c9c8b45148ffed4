"""Documents of every kind, their labels, and messages that say where a wrong label stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.data.dataset import Dataset, concatenate
from linnaeus.errors import DataError, ParameterError, UnknownLabelError
from tests.strategies import label_sets, taxonomies

SHAPES = {
    "sparse": {"X": sparse.csr_array(np.eye(3, dtype=np.float32))},
    "dense": {"X": np.eye(3)},
    "text": {"fields": {"text": ["a", "b", "c"]}},
    "sequence": {"sequences": ["A", "C", "G"]},
}


@pytest.mark.parametrize("kind", SHAPES)
def test_a_data_set_knows_its_kind_and_length(kind: str) -> None:
    data = Dataset(**SHAPES[kind])
    assert (data.kind, len(data)) == (kind, 3)


@pytest.mark.parametrize("kind", SHAPES)
def test_take_keeps_documents_labels_and_lines_together(kind: str) -> None:
    data = Dataset(
        **SHAPES[kind],
        labels=[["x"], ["y"], ["z"]],
        ids=["0", "1", "2"],
        lines=np.array([5, 6, 7]),
        split=["train", "test", "train"],
        extra={"year": np.array([1, 2, 3])},
    )
    part = data.take([2, 0])
    assert part.labels == [["z"], ["x"]]
    assert part.ids == ["2", "0"]
    assert part.lines is not None
    assert part.lines.tolist() == [7, 5]
    assert part.extra["year"].tolist() == [3, 1]
    if kind in ("sparse", "dense"):
        rows = part.X.toarray() if kind == "sparse" else part.X
        assert rows.tolist() == [[0, 0, 1], [1, 0, 0]]
    else:
        assert part.documents == [data.documents[2], data.documents[0]]
    assert data.take(np.array([False, True, False])).ids == ["1"]


def test_documents_are_texts_for_one_field_and_fields_for_several() -> None:
    assert Dataset(fields={"body": ["a"]}).documents == ["a"]
    assert Dataset(fields={"title": ["t"], "body": ["a"]}).documents == {"title": ["t"], "body": ["a"]}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"fields": {}},
        {"sequences": ["A"], "fields": {"text": ["a"]}},
        {"sequences": ["A"], "labels": []},
        {"sequences": ["A"], "ids": ["1", "2"]},
        {"fields": {"title": ["a"], "body": []}},
        {"X": np.eye(2), "feature_names": ["a"]},
        {"X": np.eye(2), "extra": {"year": [1]}},
    ],
)
def test_columns_that_do_not_fit_are_refused(wrong: dict) -> None:
    with pytest.raises(DataError):
        Dataset(**wrong)


@settings(max_examples=50)
@given(st.data())
def test_indicator_gives_back_the_labels(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    labels = data.draw(label_sets(tax))
    Y = Dataset(sequences=["A"] * len(labels), labels=labels).indicator(tax)
    assert [set(row) for row in tax.labels(Y)] == [set(row) for row in labels]


def test_an_unknown_label_is_named_with_place_and_nearest_node() -> None:
    tax = Taxonomy.flat(["Sports", "Politics"])
    data = Dataset(sequences=["A", "C"], labels=[["Sports"], ["Sprots"]], source="docs.jsonl", lines=np.array([16, 17]))
    with pytest.raises(UnknownLabelError) as error:
        data.indicator(tax)
    assert str(error.value) == "Label 'Sprots' (docs.jsonl:17) is not in the taxonomy; did you mean 'Sports'?"


def test_a_display_label_is_told_from_a_name() -> None:
    tax = Taxonomy.from_edges([("m", "m1"), ("m", "m2")], display_labels={"m1": "Opera", "m2": "Ballet"})
    with pytest.raises(UnknownLabelError) as error:
        Dataset(sequences=["A"], labels=[["Opera"]]).indicator(tax)
    assert str(error.value).endswith("display label of node 'm1'. Label the documents with the names of nodes.")
    with pytest.raises(UnknownLabelError) as other:
        Dataset(sequences=["A"], labels=[["Jazz"]]).indicator(tax)
    assert "names=" not in str(other.value)


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("t.csv", "id,label,parent\nm,Music,\nm1,Opera,m\n", "Label the documents with the names of nodes"),
        ("t.json", '[{"id": "m1", "label": "Opera"}]', "Label the documents with the names of nodes"),
        ("t.paths.csv", "Music > Opera\nMusic > Ballet\nArt > Prints\n", "--names name"),
        (
            "t.ttl",
            "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
            '<http://x/m1> a skos:Concept ; skos:prefLabel "Opera"@en .\n',
            "--names label",
        ),
    ],
)
def test_the_advice_about_display_labels_works_in_the_format_of_the_taxonomy(tmp_path, name, text, advice) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UnknownLabelError, match=advice) as error:
        Dataset(sequences=["A"], labels=[["Opera"]]).indicator(Taxonomy.read(tmp_path / name))
    assert str(error.value).count("display label of") == 1
    if advice.startswith("--names "):
        named = Taxonomy.read(tmp_path / name, names=advice.removeprefix("--names "))
        assert "Opera" in named
        Dataset(sequences=["A"], labels=[["Opera"]]).indicator(named)


def test_many_unknown_labels_are_counted_and_the_most_frequent_shown() -> None:
    labels = [[f"x{i}" for i in range(20)]] + [["x3"]] * 4
    data = Dataset(sequences=["A"] * 5, labels=labels)
    with pytest.raises(
        UnknownLabelError, match=r"In all 20 names with 24 occurrences are unknown, most often 'x3' \(5\)"
    ):
        data.indicator(Taxonomy.flat(["Sports"]))


def test_dropping_unknown_labels_warns_how_many() -> None:
    data = Dataset(sequences=["A", "C"], labels=[["a", "x"], ["x", "y"]])
    with pytest.warns(UserWarning, match=r"3 of 4 labels were dropped: 2 names"):
        Y = data.indicator(Taxonomy.flat(["a"]), unknown="drop")
    assert Y.toarray().tolist() == [[1], [0]]
    assert data.unknown_labels(Taxonomy.flat(["a"])) == {"x": 2, "y": 1}


def test_labels_and_a_taxonomy_are_needed_for_an_indicator() -> None:
    with pytest.raises(DataError, match="no labels"):
        Dataset(sequences=["A"]).indicator(Taxonomy.flat(["a"]))
    with pytest.raises(DataError, match="taxonomy is needed"):
        Dataset(sequences=["A"], labels=[[]]).indicator()
    with pytest.raises(ParameterError):
        Dataset(sequences=["A"], labels=[[]]).indicator(Taxonomy.flat(["a"]), unknown="ignore")


def test_concatenated_files_remember_where_each_document_stood() -> None:
    first = Dataset(fields={"text": ["a"]}, labels=[["x"]], source="one", lines=np.array([1]))
    second = Dataset(fields={"text": ["b"], "title": ["t"]}, labels=[["y"]], source="two", lines=np.array([9]))
    both = concatenate([first, second])
    assert both.documents == {"text": ["a", "b"], "title": ["", "t"]}
    assert [both.place(0), both.place(1)] == ["one:1", "two:9"]
    assert both.labels == [["x"], ["y"]]
    assert concatenate([first]) is first


def test_documents_without_lines_are_counted_in_their_own_file() -> None:
    one, two = (Dataset(sequences=["A", "C"], source=name) for name in ("one", "two"))
    both = concatenate([one, two])
    assert [both.place(i) for i in (1, 2, 3)] == ["one, document 1", "two, document 0", "two, document 1"]
    own = Dataset(sequences=["A", "C"], source="folder", files=["folder/a", "folder/b"])
    assert concatenate([one, own]).place(3) == "folder/b"


def test_sparse_files_are_widened_and_dense_ones_must_agree() -> None:
    narrow = Dataset(X=sparse.csr_array(np.ones((1, 2))))
    wide = Dataset(X=sparse.csr_array(np.ones((1, 3))))
    assert concatenate([narrow, wide]).X.toarray().tolist() == [[1, 1, 0], [1, 1, 1]]
    with pytest.raises(DataError, match="same number of features"):
        concatenate([Dataset(X=np.ones((1, 2))), Dataset(X=np.ones((1, 3)))])
    with pytest.raises(DataError, match="same kind"):
        concatenate([narrow, Dataset(sequences=["A"])])


def test_labels_are_in_all_files_or_in_none() -> None:
    labelled, bare = Dataset(sequences=["A"], labels=[["x"]], source="one"), Dataset(sequences=["C"], source="two")
    with pytest.raises(DataError, match="two has no labels, but one has"):
        concatenate([labelled, bare])
    assert concatenate([bare, bare]).labels is None


def test_files_with_different_taxonomies_are_not_one_data_set() -> None:
    parts = [Dataset(sequences=["A"], taxonomy=Taxonomy.flat([name])) for name in "ab"]
    with pytest.raises(DataError, match="different taxonomies"):
        concatenate(parts)
