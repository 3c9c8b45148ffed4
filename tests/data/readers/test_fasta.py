"""FASTA files."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.data import read_dataset
from linnaeus.errors import DataError

CONTENT = ">P1 1.1.1.1;2.3.4.5 an enzyme\nMKQ\nAA*\n\n>P2 1.1.1.2\nMAA\n"


def test_ids_labels_and_wrapped_sequences_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.fasta").write_text(CONTENT)
    data = read_dataset(tmp_path / "a.fasta")
    assert data.sequences == ["MKQAA", "MAA"]
    assert data.labels == [["1.1.1.1", "2.3.4.5"], ["1.1.1.2"]]
    assert data.ids == ["P1", "P2"]
    assert data.place(1).endswith("a.fasta:5")
    assert len(read_dataset(tmp_path / "a.fasta", limit=1)) == 1


UNIPROT = (
    ">sp|Q0P887|Y123_CAMJE Uncharacterized protein OS=Campylobacter jejuni EC=1.1.1.1\nMKQ\n"
    ">tr|A0A024|A_HUMAN Another protein\nMAA\n"
)


def test_the_id_of_uniprot_is_the_accession_and_its_description_is_not_a_label(tmp_path: Path) -> None:
    (tmp_path / "a.fasta").write_text(UNIPROT)
    data = read_dataset(tmp_path / "a.fasta")
    assert (data.ids, data.labels) == (["Q0P887", "A0A024"], None)
    assert data.columns == {"id": ("the accession",), "ignored": ("description in the header",)}
    assert read_dataset(tmp_path / "a.fasta", labels="EC=").labels == [["1.1.1.1"], []]


def test_a_description_is_not_a_label_unless_the_taxonomy_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.fasta").write_text(">P1 Putative kinase\nMKQ\n>P2 Oxidase, heavy chain\nMAA\n")
    assert read_dataset(tmp_path / "a.fasta").labels is None
    taxonomy = Taxonomy.flat(["Putative"])
    assert read_dataset(tmp_path / "a.fasta", taxonomy=taxonomy).labels == [["Putative"], ["Oxidase"]]
    (tmp_path / "b.fasta").write_text(">P1 kinase\nMKQ\n>P2 oxidase\nMAA\n")
    assert read_dataset(tmp_path / "b.fasta").labels == [["kinase"], ["oxidase"]]


def test_labels_can_stand_behind_a_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(">P1 some enzyme EC=1.1.1.1,2.2.2.2 OS=Mouse\nMKQ\n>P2 none\nMM\n")
    assert read_dataset(tmp_path / "a", labels="EC=").labels == [["1.1.1.1", "2.2.2.2"], []]


def test_sequences_without_labels_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(">P1\nMKQ\n")
    assert read_dataset(tmp_path / "a").labels is None


@pytest.mark.parametrize(
    ("content", "message"), [("MKQ\n>P1\nA\n", "a:1: a FASTA"), (">P1\n>P2\nMK\n", "a:1: the header is followed by no")]
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a").write_text(content)
    with pytest.raises(DataError, match=message):
        read_dataset(tmp_path / "a", "fasta")


def test_residues_in_lower_case_are_read_in_upper_case(tmp_path: Path) -> None:
    (tmp_path / "p.fasta").write_text(">a 1.1\nacgtACGT\n>b 1.2\nacgt\n")
    assert read_dataset(tmp_path / "p.fasta").sequences == ["ACGTACGT", "ACGT"]
    (tmp_path / "p.csv").write_text("sequence,labels\nacgt,A\nACGT,B\naCgT,C\n")
    assert read_dataset(tmp_path / "p.csv").sequences == ["ACGT", "ACGT", "aCgT"]
    (tmp_path / "p.jsonl").write_text('{"sequence": "acgt", "labels": ["A"]}\n')
    assert read_dataset(tmp_path / "p.jsonl").sequences == ["ACGT"]
