"""Labels from a file of their own, and documents without labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.data import Dataset, read_dataset
from linnaeus.data.dataset import keep_labelled, prepare_labels
from linnaeus.data.label_files import join_labels
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy import Deprecated

TERMS = Taxonomy.flat(["GO:1", "GO:2", "GO:3"]).with_replacements({"GO:11": "GO:1"}, {"GO:22": Deprecated(("GO:2",))})
PROTEINS = Dataset(sequences=["MKQ", "MAA", "MLL"], ids=["P1", "P2", "P3"], taxonomy=TERMS, source="p.fasta")


def documents(labels: list[list[str]]) -> Dataset:
    return Dataset(fields={"text": [f"text {i}" for i in range(len(labels))]}, labels=labels, source="docs.csv")


def gaf(*rows: tuple[str, str, str, str]) -> str:
    columns = ("{}", "s", "{}", "{}", "PMID:1", "{}", "", "F", "", "", "protein", "taxon:1", "20200101", "X")
    return "!gaf-version: 2.1\n" + "".join(
        "\t".join(["UniProtKB", *columns]).format(name, qualifier, term, evidence) + "\n"
        for name, qualifier, term, evidence in rows
    )


def test_documents_without_labels_are_refused_with_a_count_or_dropped_or_kept() -> None:
    data = documents([["A"], [], ["B"], []])
    with pytest.raises(DataError, match="2 of 4 documents have no label, the first at docs.csv, document 1; .*'drop'"):
        keep_labelled(data)
    kept = keep_labelled(data, "drop")
    assert (kept.labels, kept.notes["unlabelled"]) == ([["A"], ["B"]], "2 of 4 documents dropped")
    assert keep_labelled(data, "keep") is data
    with pytest.raises(ParameterError, match="unlabelled='dorp'; expected .*did you mean 'drop'"):
        keep_labelled(data, "dorp")
    with pytest.raises(DataError, match="None of the 1 documents"):
        keep_labelled(documents([[]]), "drop")


def test_a_document_that_loses_its_only_label_has_none() -> None:
    data, topics = documents([["A"], ["x"]]), Taxonomy.flat(["A", "B"])
    with pytest.warns(UserWarning, match="1 of 2 labels were dropped"):
        kept, Y = prepare_labels(data, topics, unknown="drop", unlabelled="drop")
    assert (len(kept), Y.toarray().tolist()) == (1, [[1, 0]])
    with pytest.warns(UserWarning, match="dropped: 1 name is"):
        kept, Y = prepare_labels(data, topics, unknown="drop", unlabelled="keep")
    assert (len(kept), Y.toarray().tolist()) == (2, [[1, 0], [0, 0]])
    with pytest.warns(UserWarning, match="1 of 2 documents has no other label and is left out"):
        kept, Y = prepare_labels(data, topics, unknown="drop")
    assert (len(kept), Y.toarray().tolist()) == (1, [[1, 0]])


@pytest.mark.filterwarnings("ignore:.*labels were dropped")
def test_a_document_that_never_had_a_label_is_refused_also_where_unknown_labels_are_dropped() -> None:
    topics = Taxonomy.flat(["A", "B"])
    with pytest.raises(DataError, match="1 of 3 documents have no label, the first at docs.csv, document 2"):
        prepare_labels(documents([["A"], ["x"], []]), topics, unknown="drop")
    with pytest.raises(DataError, match="None of the 2 documents of docs.csv has a label that is in the taxonomy"):
        prepare_labels(documents([["x"], ["x"]]), topics, unknown="drop")


def test_annotations_are_joined_by_id(tmp_path: Path) -> None:
    path = tmp_path / "go.tsv"
    path.write_text("protein\tterm\nP1\tGO:1\nP1\tGO:2\nP3\tGO:3\nP9\tGO:3\n")
    joined = join_labels(PROTEINS, path)
    assert joined.labels == [["GO:1", "GO:2"], [], ["GO:3"]]
    assert joined.notes["labels_file"] == "2 of 3 documents found; 1 of 3 entries name no document"
    assert joined.columns["labels"] == (str(path),)


def test_a_gaf_gives_the_terms_without_those_that_are_denied(tmp_path: Path) -> None:
    path = tmp_path / "go.gaf"
    path.write_text(
        gaf(
            ("P1", "involved_in", "GO:1", "IEA"),
            ("P1", "NOT|enables", "GO:2", "IDA"),
            ("P1", "involved_in", "GO:1", "IDA"),
            ("P2", "enables", "GO:3", "ND"),
            ("P3", "", "GO:3", "TAS"),
        )
    )
    assert join_labels(PROTEINS, path).labels == [["GO:1"], [], ["GO:3"]]
    path.write_text("!gaf-version: 2.1\nUniProtKB\tP1\n")
    with pytest.raises(DataError, match=r"go\.gaf:2 has 2 columns; an annotation"):
        join_labels(PROTEINS, path)
    path.write_text(gaf(("P1", "", "GO:1", "IEA")))
    with pytest.raises(DataError, match=r"contains annotations \(GAF\), not documents; .*labels_file="):
        read_dataset(path)


def test_alternative_and_replaced_terms_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "go.tsv"
    path.write_text("id\tlabel\nP1\tGO:11\nP2\tGO:22\n")
    joined = join_labels(PROTEINS, path)
    assert joined.labels == [["GO:1"], ["GO:2"], []]
    assert joined.notes["replaced"] == "1 deprecated labels by their replacements"
    (tmp_path / "docs.csv").write_text("text,label\na goal,GO:11\n")
    assert read_dataset(tmp_path / "docs.csv", taxonomy=TERMS).labels == [["GO:1"]]


def test_ids_that_do_not_meet_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "go.tsv"
    path.write_text("id\tlabel\nX1\tGO:1\n")
    with pytest.raises(DataError, match=r"No document of p\.fasta is named in .*'P1' were looked for, and it has 'X1'"):
        join_labels(PROTEINS, path)
    with pytest.raises(DataError, match="has no ids to find in .*name their column with id="):
        join_labels(documents([[]]), path)


def test_equal_documents_may_be_dropped_in_reading(tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text("text,label\na goal,A\nA goal,B\n")
    assert len(read_dataset(tmp_path / "docs.csv")) == 2
    data = read_dataset(tmp_path / "docs.csv", duplicates="merge", unlabelled="error")
    assert (data.labels, data.notes["duplicates"]) == ([["A", "B"]], "1 of 2 documents dropped")
