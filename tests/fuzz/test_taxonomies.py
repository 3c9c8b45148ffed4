"""Every taxonomy reader answers any file with a taxonomy or with an error of ours."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy import checks, formats
from tests.fuzz.mutations import cases, mutated

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
<urn:a> a skos:Concept ; skos:prefLabel "Tiere"@de, "Animals"@en ; skos:notation "1" ; skos:topConceptOf <urn:all> .
<urn:b> a skos:Concept ; skos:prefLabel "Katzen"@de ; skos:broader <urn:a> ; skos:notation "1.1" .
<urn:a> skos:narrower <urn:c>, <urn:b> .
<urn:c> a skos:Concept ; skos:prefLabel "Dogs"@en .
<urn:d> a skos:Concept ; owl:deprecated true ; dct:isReplacedBy <urn:c> .
"""
RDF = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY skos "http://www.w3.org/2004/02/skos/core#"> <!ENTITY x "&skos;&skos;">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="&skos;">
<skos:Concept rdf:about="urn:a"><skos:prefLabel xml:lang="de">K\u00e4se</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="urn:b"><skos:broader rdf:resource="urn:a"/></skos:Concept>
</rdf:RDF>
"""
OBO = """format-version: 1.2
default-namespace: animals

[Term]
id: X:1
name: animal

[Term]
id: X:2
name: cat \\{not a dog\\} ! with a comment
is_a: X:1 {source="me"} ! animal
alt_id: X:9
relationship: part_of X:1

[Term]
id: X:4
is_obsolete: true
replaced_by: X:2
consider: X:1
"""
NOTE = '# linnaeus {"format": "edges", "kind": "dag", "root": null, "order": ["A", "B", "C"]}\n'
FILES = {
    "turtle": SKOS,
    "n-triples": "".join(
        f"<urn:{child}> <http://www.w3.org/2004/02/skos/core#broader> <urn:{parent}> .\n"
        for child, parent in ("ba", "ca", "dc", "ed")
    )
    + '<urn:a> <http://www.w3.org/2004/02/skos/core#prefLabel> "A"@en .\n',
    "rdf-xml": RDF,
    "json-ld": '{"@graph": [{"@id": "urn:b", "http://www.w3.org/2004/02/skos/core#broader": [{"@id": "urn:a"}], '
    '"http://www.w3.org/2004/02/skos/core#altLabel": [{"@language": "de", "@value": "B"}]}, '
    '{"@id": "urn:a", "http://www.w3.org/2004/02/skos/core#prefLabel": [{"@value": "A"}]}]}',
    "labels": "@prefix s: <http://www.w3.org/2004/02/skos/core#> . @prefix l: <http://www.w3.org/2008/05/skos-xl#> .\n"
    '<urn:a> a s:Concept ; l:prefLabel [ l:literalForm "A"@en ] ; s:note "n"@de , "m" ; s:notation "1" .\n'
    '<urn:b> a s:Concept ; s:broader <urn:a> ; l:altLabel <urn:l> . <urn:l> l:literalForm "B"@de .\n',
    "obo": OBO,
    "synonyms": '[Term]\nid: X:1\nname: a\nsynonym: "b \\" c" EXACT [x] {language="de"}\ndef: "d" []\ncomment: e\n'
    'property_value: skos:example "f" xsd:string\n[Term]\nid: X:2\nis_a: X:1\n',
    "texts": 'id,parent,altLabel@de,definition\nA,,x | y\\|z,"long, text"\nB,A,v; w,\n',
    "edges": NOTE + 'parent\tchild\tlabel\n\tA\tOne\nA\tB\t"Two\nlines"\nA\tC\tThree\nB\tD\tFour\n',
    "csv": "id,parent,name\nA,,One\nB,A,Two\nC,A,Three\nD,B,Four\n",
    "paths": "Sports,Ball games,Tennis\nSports,Ball games,Football\nSports,Chess\nScience,Physics\n",
    "indented": "Sports\n    Tennis\n        Double\n    Football\nScience\n    Physics\n",
    "json": '{"linnaeus": {"root": null}, "children": [{"id": 1, "name": "S", "children": [{"id": 2, "name": "T"}]}]}',
    "records": '[{"id": "S", "parent": null}, {"id": "T", "parent": "S", "name": "x"}, {"id": "U", "parent": ["T"]}]',
    "dictionary": '{"Sports": {"Tennis": {}, "Football": ["A", "B"]}, "Science": "Physics"}',
    "yaml": "---\n- id: 1\n  full_name: Sports\n- id: 2\n  full_name: 'Sports > Tennis'\n  altLabel: {de: [x]} # z\n",
    "lshtc": "1 2\n1 3\n2 4\n3 4\n",
    "children": "Root\tA\tB\nA\tC\tD\nB\tE\n",
    "codes": "comp.sys.mac\tApple\ncomp.sys.ibm\nalt.atheism\n",
    "digits": "sep=;\nCode;Titel\n1;Eins\n11;Elf\n111;Viele\n12;Zwei, drei\n2;Zwei\n21;Mehr\n",
    "mesh": "Body Regions;A01\nBreast;A01.236\nHead;A01.456\nEye;A01.456.505\n",
    "arff": "@RELATION x\n@ATTRIBUTE a numeric\n@ATTRIBUTE class hierarchical 01,01/01,01/02,02\n@DATA\n1,01/02\n",
}
WORDS = [
    *(b"parent", b"child", b"A", b"B", b" > ", b"id: X:1\n", b"is_a: X:4\n", b"[Term]\n", b"replaced_by: X:4\n"),
    *(b"&x;" * 50, b"<!ENTITY y '&x;&x;&x;'>", b"\\ud800", b"\\u0000", b'"children":', b'"parent": "T"', b"{}" * 3000),
    *(b"{" * 3000, b"01/" * 3000, b"1." * 3000, b"1" * 6000, b" " * 3000, b"\t" * 300, b'# linnaeus {"order": [[]]}\n'),
]
OPTIONS = [
    *({}, {}, {}, {}, {"names": "path"}, {"names": "notation"}, {"names": "label"}, {"separator": ""}),
    *({"header": True}, {"language": "de"}, {"obsolete": True}, {"duplicates": "drop"}, {"kind": "graph"}),
    *({"relations": ["part_of"]}, {"namespaces": ["animals"]}, {"root": "A"}, {"encoding": "latin-1"}),
]


def answer(rng: random.Random, folder: Path) -> None:
    """Read one mutated file in one way; whatever is not an error of ours is raised."""
    name = rng.choice(list(FILES))
    file = folder / rng.choice(("file", "file.csv", "file.txt", "file.json"))
    file.write_bytes(mutated(FILES[name].encode(), rng, WORDS))
    format = name if name in formats.FORMATS and rng.random() < 0.4 else None
    options = rng.choice(OPTIONS)
    with contextlib.suppress(LinnaeusError):
        tax = Taxonomy.read(file, format, **options)
        assert tax.fingerprint
        assert len(tax.depth) == tax.n_nodes
        tax.hint("1" * 300)
        tax.hint("Bx")
        tax.find("Bx")
        assert len(list(tax.texts)) == len(tax.texts)
    if rng.random() < 0.3:
        given = {key: value for key, value in options.items() if key not in ("kind", "root")}
        with contextlib.suppress(LinnaeusError):
            checks.check(formats.draft(file, format, **given), [["A", "X:9"], ["B"]])  # type: ignore[arg-type]


def test_mutated_taxonomies_are_read_or_refused(tmp_path: Path) -> None:
    for rng in cases("taxonomies", 1000):
        answer(rng, tmp_path)


def test_every_sample_is_read_unchanged(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        assert Taxonomy.read(tmp_path / name).n_nodes >= 2, name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("deep.json", '{"a":' * 10_000 + "1" + "}" * 10_000, "nested too deeply"),
        ("deep.json", "[" * 100_000, "nested too deeply"),
        ("long.json", '{"id": ' + "9" * 5000 + "}", "not JSON that can be read: Exceeds the limit"),
        ("half.json", '{"\\ud800": "B"}', "half of a surrogate pair"),
        ("steps.codes", "1" + ".1" * 50_000 + "\n1\n", "has 100,001 characters"),
        ("long.nt", "_:" + "a <b> . " * 20_000 + "\n", "long.nt"),
        ("not.json", 'x "linnaeus" {"a": 1}\ny z "linnaeus"\n', "name it with format"),
        ("braces.obo", "[Term]\nid: X:1\nname: " + "{" * 200_000 + "\n[Term]\nid: X:1\n", "was already given"),
        (
            "laughs.rdf",
            '<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [<!ENTITY a "' + "x" * 1000 + '">'
            + "".join(f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
            + ']>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">&i;</rdf:RDF>',
            r"laughs\.rdf:2: the entities .* expand",
        ),
    ],
)  # fmt: skip
def test_files_made_to_exhaust_a_reader_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(LinnaeusError, match=message):
        Taxonomy.read(tmp_path / name)


def test_very_long_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_text("Root\tA" + "".join(f"\t{n}" for n in range(200_000)) + "\nA\tB\n")
    assert Taxonomy.read(tmp_path / "wide.txt").n_nodes == 200_003
