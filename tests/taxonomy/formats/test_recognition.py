"""The format is recognised by content."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy.formats import FORMATS, HEAD, knows, read, recognise

SAMPLES = [
    ("turtle", "# a comment\n@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"),
    ("turtle", "PREFIX skos: <http://www.w3.org/2004/02/skos/core#>\n"),
    ("n-triples", "<urn:a> <http://www.w3.org/2004/02/skos/core#broader> <urn:b> .\n"),
    ("json-ld", '[{"@id": "urn:a", "http://www.w3.org/2004/02/skos/core#broader": [{"@id": "urn:b"}]}]\n'),
    ("turtle", "<http://e/a> a <http://www.w3.org/2004/02/skos/core#Concept> .\n"),
    ("turtle", "# a comment\n<urn:a>\n  <http://www.w3.org/2004/02/skos/core#broader> <urn:b> , <urn:c> .\n"),
    ("rdf-xml", '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>\n'),
    ("obo", "format-version: 1.2\n\n[Term]\nid: X\n"),
    ("obo", "[Term]\nid: X\n"),
    ("json", ' \n {"A": {}}'),
    ("json", '["A", "B"]'),
    ("yaml", "---\n- id: 1\n  full_name: Sports\n"),
    ("yaml", "- id: S\n  parent:\n"),
    ("arff", "% comment\n@relation x\n"),
    ("edges", "parent\tchild\nA\tB\n"),
    ("edges", "id,parent,name\nA,,x\n"),
    ("edges", "A\tB\nB\tC\n"),
    ("edges", "dog.01\tpug.02\nanimal.03\tdog.01\n"),
    ("edges", "1\t2\n2\t3\n"),
    ("lshtc", "1 2\n2 3\n"),
    ("children", "Root\tA\tB\nA\tC\n"),
    ("children", "Root A B\nA AA AB\n"),
    ("children", "Root A\nRoot B\nA C-1\n"),
    ("indented", "Ball games\nScience\n"),
    ("paths", "A,B,C\nA,D\n"),
    ("paths", "level 1,level 2\nA,B\n"),
    ("indented", "A\n\tB\n\t\tC\n"),
    ("indented", "A, all of it\n    B, a part\n"),
    ("indented", "A\nB\nC\n"),
    ("codes", "comp.sys.mac\ncomp.os\nalt.atheism\n"),
    ("codes", "1\tOne\n1.1\tOne one\n1.2\tOne two\n"),
    ("codes", "1\n11\n111\n12\n2\n21\n"),
    ("codes", "Kennung;Titel\n1;Eins\n11;Elf\n12;Zwölf\n"),
    ("codes", "1 Managers\n11 Chief executives, senior officials\n12 Others\n"),
    ("mesh", "Body Regions;A01\nMammary Glands, Human;A01.236\n"),
]


@pytest.mark.parametrize(("format", "text"), SAMPLES)
def test_content_says_the_format(format: str, text: str, tmp_path: Path) -> None:
    assert recognise(text.encode()) == format
    file = tmp_path / "file.misleading.json"
    file.write_text(text)
    assert recognise(file) == format


def test_every_format_is_recognised_somewhere() -> None:
    assert {format for format, _ in SAMPLES} == set(FORMATS)


def test_what_is_not_recognised_is_an_error_that_lists_the_formats() -> None:
    with pytest.raises(TaxonomyError, match="one of turtle, rdf-xml"):
        recognise(b"<html><body>Not found</body></html>")


@pytest.mark.parametrize("text", ["<html>\n<body>\n", "<a:b>\n<c>", "Ball games\nNatural science\n", "Root A B\n"])
def test_what_may_be_several_things_is_not_guessed(text: str) -> None:
    with pytest.raises(TaxonomyError, match=r"name it with format=\.\.\. \(one of turtle"):
        recognise(text.encode())


@pytest.mark.parametrize("text", ["parent,child\nA,B\nA, C\n A,D\nB,E\n", "A,B\nA, C\n A,D\nB,E\n"])
def test_a_stray_space_does_not_make_an_outline_of_a_table(text: str, tmp_path: Path) -> None:
    (tmp_path / "sp.csv").write_text(text)
    assert recognise(tmp_path / "sp.csv") == "edges"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.txt", "A,B\nA,C\n A,D\nB,E\n", r"t\.txt: .*may be a table \('edges'.*\(line 3\) an outline \('indented'\)"),
        ("t.csv", "A, all\n  B, one\n  C, two\n", r"t\.csv: .*may be a table .*\(line 2\) an outline"),
        ("t.csv", "A,B\nC,D\nE,F\n", r"a parent and its child \('edges'\) or a code and its title \('codes'\)"),
    ],
)
def test_two_readings_are_an_error_that_names_both(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TaxonomyError, match=message + r".*name it with format=\.\.\."):
        recognise(tmp_path / name)


def test_a_header_outvotes_indentation_whatever_the_ending() -> None:
    assert recognise(b"parent,child\nA,B\n A,C\n B,D\n") == "edges"
    assert recognise(b"level1;level2\nA;B\n A;C\n") == "paths"


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;", "sep=;\r"])
def test_the_separator_line_of_spreadsheets_names_the_delimiter(line: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{line}\nparent;child\nA, B and C;D, E\n", newline="")
    tax = read(tmp_path / "t.csv")
    assert list(tax.names) == ["A, B and C", "D, E"]


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "1", "text": "a goal", "labels": ["Football"]}\n',
        '{"text": "a goal"}\n{"text": "a vote"}\n',
        '[{"title": "A goal", "abstract": "It was late.", "mesh": []}]',
        "id,text,labels\n1,a goal,Football\n",
        "label\ttext\nFootball\ta goal\n",
        "3,7 1:0.5 9:1\n4 2:1\n",
    ],
)
def test_documents_are_no_taxonomy(text: str) -> None:
    with pytest.raises(TaxonomyError, match="this looks like documents"):
        recognise(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        '{"text": "Media", "video": "Media"}',
        '[{"id": "1", "text": "Media", "parent": null}]',
        '{"text": {"abstract": {}}}',
        "text,abstract\ntext,body\n",
        "id,parent,label,text\nA,,a,b\n",
    ],
)
def test_a_taxonomy_may_speak_of_texts(text: str) -> None:
    assert recognise(text.encode()) in ("json", "edges")


def test_a_long_file_is_recognised_from_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_text("parent\tchild\n" + "".join(f"ä{v // 10}\tä{v}\n" for v in range(1, 20_000)))
    assert recognise(file) == "edges"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("shift", range(4))
def test_a_cut_inside_a_character_is_no_wrong_byte(tmp_path: Path, encoding: str, shift: int) -> None:
    file = tmp_path / "long"
    text = "parent\tchild\n" + "R" * shift + "".join(f"\U0001f40d{v // 10}\t\U0001f40d{v}\n" for v in range(1, 20_000))
    file.write_bytes(text.encode(encoding))
    assert len(file.read_bytes()) > HEAD
    assert recognise(file, encoding=None if encoding == "utf-16" else encoding) == "edges"


def test_the_encoding_is_used_to_recognise_a_format(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes("parent\tchild\nTiere\tVögel\n".encode("latin-1"))
    assert recognise(file, encoding="latin-1") == recognise(file.read_bytes(), encoding="latin-1") == "edges"
    assert not knows("language", file, encoding="latin-1")
    with pytest.raises(TaxonomyError, match="is not UTF-8"):
        knows("language", file)


def test_a_wrong_byte_far_from_the_cut_is_still_named(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_bytes(b"parent\tchild\nA\t\xff\n" + b"A\tB\n" * 20_000)
    with pytest.raises(TaxonomyError, match="long:2: byte 0xff is not UTF-8"):
        recognise(file)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("rcv1v2/rcv1.taxonomy", "children"),
        ("medline_mesh/mtrees2014.csv.gz", "mesh"),
        ("wordnet_nouns/taxonomy.tsv.xz", "edges"),
        ("yeast/seq_GO.train.arff.gz", "arff"),
    ],
)
def test_real_files_are_recognised(data_dir: Path, name: str, format: str) -> None:
    assert recognise(data_dir / name) == format


def test_fasta_files_are_not_taxonomies(tmp_path: Path) -> None:
    path = tmp_path / "proteins.fasta"
    path.write_text(">sp|Q0P887|A_CAMJE Some protein OS=X\nMKKLLAV\nMAAQ\n>sp|P12345|B_RABIT Another\nMAAQ\n")
    with pytest.raises(TaxonomyError, match="this looks like documents .FASTA sequences."):
        read(path)
