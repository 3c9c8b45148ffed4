"""Deprecated ids come back from tables and JSON, and formats that do not hold them say so."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from linnaeus import Taxonomy
from linnaeus.taxonomy import Deprecated

HOLDING = ["tsv", "csv", "codes", "json", "yaml", "obo"]
OTHERS = ["paths", "indented", "children"]
PAIRS = [("1", "1.1"), ("1", "1.2"), ("1.1", "1.1.1")]
DEPRECATED = {
    "1.3": Deprecated(("1.1",), label="Old; one | two"),
    "9": Deprecated(("1.1", "1.2"), ("1.1.1",)),
    "1.1.7": Deprecated(),
    "a|b;c": Deprecated(consider=("1.2",), label='"quoted", with a comma'),
}


def taxonomy(labels: dict[str, str] | None = None, root: str | None = None) -> Taxonomy:
    return Taxonomy.from_edges(PAIRS, root=root, display_labels=labels).with_replacements(None, DEPRECATED)


@pytest.mark.parametrize("format", HOLDING)
@pytest.mark.parametrize("labels", [None, {"1": "One", "1.1": "Two"}], ids=["names", "labels"])
@pytest.mark.parametrize("root", [None, "1"])
def test_deprecated_ids_come_back(tmp_path: Path, format: str, labels: dict[str, str] | None, root: str | None) -> None:
    """Tables and JSON dropped them without a message."""
    written = taxonomy(labels, root)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written.write(tmp_path / "file", format)
        back = Taxonomy.read(tmp_path / "file", None if format == "codes" else format)
    assert back == written
    assert back.deprecated == DEPRECATED
    assert [back.display(v) for v in range(4)] == [written.display(v) for v in range(4)]


@pytest.mark.parametrize("format", HOLDING)
def test_deprecated_ids_are_nodes_on_request(tmp_path: Path, format: str) -> None:
    taxonomy(root="1").write(tmp_path / "file", format)
    kept = Taxonomy.read(tmp_path / "file", format, obsolete=True, root=None)
    assert not kept.deprecated
    assert {"1.3", "9", "1.1.7"} <= set(kept.names)


@pytest.mark.parametrize("format", OTHERS)
def test_formats_without_deprecated_ids_say_once_that_they_are_left_out(tmp_path: Path, format: str) -> None:
    with pytest.warns(UserWarning, match=f"'{format}' does not hold 4 deprecated ids such as '1.3'") as caught:
        taxonomy().write(tmp_path / "file", format)
    assert len(caught) == 1
    assert not Taxonomy.read(tmp_path / "file", format).deprecated


def test_what_skos_does_not_say_of_a_deprecated_id_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="'turtle' does not hold everything about 2 deprecated ids such as '9'"):
        taxonomy().write(tmp_path / "file.ttl")


TABLE = """\
id,parent,name,is_obsolete,Replaced by
S,,Sports,no,
T,S,Tennis,,
L,S,Lawn tennis,yes,M
M,S,Real tennis,TRUE,T
W,L,Wimbledon,0,
"""
OBJECTS = """[
{"id": "S", "name": "Sports", "children": [
    {"id": "T", "name": "Tennis"},
    {"id": "L", "name": "Lawn tennis", "obsolete": true, "replacedBy": "M",
     "children": [{"id": "W", "deprecated": false}]},
    {"id": "M", "name": "Real tennis", "deprecated": true, "replaced_by": ["T"]}]}]
"""
REFERENCES = """
- {id: S, parent: null}
- {id: T, parent: S}
- {id: L, parent: S, label: Lawn tennis, deprecated: true, replaced_by: M}
- {id: M, parent: S, label: Real tennis, deprecated: true, replaced_by: [T]}
- {id: W, parent: L}
"""


@pytest.mark.parametrize(
    ("name", "text"), [("x.csv", TABLE), ("x.json", OBJECTS), ("x.yaml", REFERENCES)], ids=["table", "JSON", "YAML"]
)
def test_rows_and_objects_that_are_marked_are_left_out_and_followed(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    tax = Taxonomy.read(tmp_path / name)
    assert tax.deprecated == {
        "L": Deprecated(("T",), label="Lawn tennis"),
        "M": Deprecated(("T",), label="Real tennis"),
    }
    assert sorted(tax.names) == ["S", "T", "W"]
    assert len(tax.parents("W")) == 0, "its only parent was left out"
    assert len(Taxonomy.read(tmp_path / name, obsolete=True)) == 5


def test_the_rows_of_a_deprecated_node_with_several_parents_are_all_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("parent\tchild\tdeprecated\n\tA\t\n\tB\t\nA\told\ttrue\nB\told\t\nA\tnew\t\n")
    tax = Taxonomy.read(tmp_path / "x.tsv")
    assert (sorted(tax.names), list(tax.deprecated)) == (["A", "B", "new"], ["old"])


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_deprecated_descriptors_of_stw_come_back(tmp_path: Path, data_dir: Path, ending: str) -> None:
    tax = Taxonomy.read(data_dir / "stw" / "stw-skos.ttl.xz")
    assert len(tax.deprecated) == 1151
    tax.write(tmp_path / f"stw.{ending}")
    assert Taxonomy.read(tmp_path / f"stw.{ending}").deprecated == tax.deprecated
