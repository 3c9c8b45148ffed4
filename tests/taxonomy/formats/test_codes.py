"""Classifications as offices publish them: codes that nest by steps or by digits, with titles in any language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.taxonomy import formats
from linnaeus.taxonomy.checks import check
from linnaeus.taxonomy.formats.codes import digits_nest


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reader(text: str, name: str = "codes.csv", **options: Any) -> Taxonomy:
        (tmp_path / name).write_text(text)
        return formats.read(tmp_path / name, **options)

    return reader


def parents(tax: Taxonomy) -> dict[str, str]:
    return {tax.names[v]: tax.names[p] for p, v in zip(*tax.edges, strict=True)}


ISCO = [
    ("0", "Armed Forces Occupations"),
    ("01", "Commissioned Officers"),
    ("011", "Commissioned Armed Forces Officers"),
    ("0110", "Commissioned Armed Forces Officers"),
    ("1", "Managers"),
    ("11", "Chief Executives, Senior Officials and Legislators"),
    ("111", "Legislators and Senior Officials"),
    ("1111", "Legislators"),
    ("1112", "Senior Government Officials"),
    ("112", "Managing Directors; Chief Executives"),
    ("1120", "Managing Directors and Chief Executives"),
    ("2", "Professionals"),
    ("21", "Science and Engineering Professionals"),
    ("211", "Physical and Earth Science Professionals"),
    ("2111", "Physicists and Astronomers"),
]
ISCO_PARENTS = {
    "01": "0",
    "011": "01",
    "0110": "011",
    "11": "1",
    "111": "11",
    "1111": "111",
    "1112": "111",
    "112": "11",
    "1120": "112",
    "21": "2",
    "211": "21",
    "2111": "211",
}


def quoted(mark: str, header: str | None = None) -> str:
    lines = [f'"{code}"{mark}"{title}"' for code, title in ISCO]
    return "\n".join([header] * (header is not None) + lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        quoted(";", "Code;Title"),
        quoted(",", "Code,Title"),
        quoted("\t", "ISCO08\tBeruf"),
        quoted(";", "Kodas;Pavadinimas"),
        quoted(";", "コード;名称"),
        quoted(";"),
        "sep=;\n" + quoted(";", "Code;Title"),
        quoted(";", '"Code";"Title"').replace("\n", "\r\n"),
        "\n".join(f"{code}\t{title}" for code, title in ISCO),
        "\n".join(f"{code} {title}" for code, title in ISCO),
        "Code;Title\n" + "\n".join(f'="{code}";{title.replace(";", ",")}' for code, title in reversed(ISCO)),
        "Level;ISCO 08 Code;Title EN;Definition\n"
        + "\n".join(f'{len(code)};{code};"{title}";"A, b; c"' for code, title in ISCO),
        "Nr;Code;Title\n" + "\n".join(f'{i + 1};{code};"{title}"' for i, (code, title) in enumerate(ISCO)),
        '"Title";"Code"\n' + "\n".join(f'"{title}";"{code}"' for code, title in ISCO),
    ],
)
def test_codes_nest_by_digits_and_have_titles_however_the_table_is_dressed(read: Any, text: str) -> None:
    tax = read(text)
    assert parents(tax) == ISCO_PARENTS
    assert tax.n_nodes == len(ISCO)
    assert tax.display("1") == "Managers"
    assert tax.display("11") == "Chief Executives, Senior Officials and Legislators"


def test_a_list_of_bare_codes_nests_by_digits(read: Any) -> None:
    assert parents(read("\n".join(code for code, _ in ISCO), "isco.txt")) == ISCO_PARENTS
    assert parents(read("code\n" + "\n".join(code for code, _ in ISCO), "isco.txt")) == ISCO_PARENTS


def test_titles_may_hold_the_separator_without_quotes(read: Any) -> None:
    tax = read("Code,Title\n1,Managers\n11,Chief executives, senior officials, legislators\n12,Others\n")
    assert tax.display("11") == "Chief executives, senior officials, legislators"


def test_missing_levels_are_bridged_and_reported(read: Any, tmp_path: Path) -> None:
    kldb = ["1", "11", "111", "1110", "11102", "11113", "12", "121", "1210", "12101", "2", "211", "2110", "21101"]
    tax = read("KldB;Bezeichnung\n" + "\n".join(f"{code};Beruf {code}x" for code in kldb))
    found = parents(tax)
    assert (found["11113"], found["211"], found["12101"]) == ("111", "2", "1210")
    report = check(formats.draft(tmp_path / "codes.csv"))
    assert report.find("code-gap").examples == ["11113 (Beruf 11113x)", "211 (Beruf 211x)"]  # type: ignore[union-attr]


HS = {"0101": "01", "0102": "01", "010121": "0101", "010129": "0101", "010221": "0102", "0201": "02", "020110": "0201"}


@pytest.mark.parametrize("dotted", [False, True])
def test_harmonised_system_codes_nest_by_pairs_of_digits(read: Any, dotted: bool) -> None:
    def dress(code: str) -> str:
        return code if not dotted or len(code) == 2 else f"{code[:-2]}.{code[-2:]}"

    lines = [f"{dress(code)};Goods of {code}x" for code in sorted({*HS, "01", "02"})]
    tax = read("HS;Description\n" + "\n".join(lines))
    assert parents(tax) == {dress(child): dress(parent) for child, parent in HS.items()}


NACE = """A;Agriculture, forestry and fishing
01;Crop and animal production
01.1;Growing of non-perennial crops
01.11;Growing of cereals
01.12;Growing of rice
01.2;Growing of perennial crops
01.21;Growing of grapes
02;Forestry and logging
02.1;Silviculture
02.10;Silviculture
B;Mining and quarrying
05;Mining of coal and lignite
05.1;Mining of hard coal
05.10;Mining of hard coal
05.2;Mining of lignite
05.20;Mining of lignite
"""


def test_nace_classes_are_below_their_groups_and_divisions_below_the_letters_in_front_of_them(read: Any) -> None:
    found = parents(read("Code;Name\n" + NACE))
    assert (found["01.11"], found["01.1"], found["01"], found["02.10"]) == ("01.1", "01", "A", "02.1")
    assert (found["05"], found["05.20"]) == ("B", "05.2")
    assert "A" not in found
    without = "\n".join(line for line in NACE.splitlines() if line[0].isdigit())
    assert {code: parent for code, parent in found.items() if parent not in "AB"} == parents(read(without))


def test_groups_without_classes_do_not_hide_that_codes_nest(read: Any) -> None:
    codes = ["A", "01", "01.1", "01.11", "01.12", "01.2", "01.21", "02", "02.1", "02.10", "02.2", "B", "05", "05.1"]
    found = parents(read("Code;Name\n" + "\n".join(f"{code};title of {code}" for code in codes)))
    assert (found["01.11"], found["01.1"], found["01"], found["05.1"], found["05"]) == ("01.1", "01", "A", "05", "B")


@pytest.mark.parametrize("seed", range(5))
def test_steps_with_gaps_stay_steps(read: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = [f"{a}.{b}" for a in range(1, 6) for b in range(1, 40) if rng.random() < 0.4]
    assert not digits_nest([*map(str, range(1, 6)), *steps])


def test_letters_that_do_not_stand_in_front_of_codes_stay_alone(read: Any, tmp_path: Path) -> None:
    lines = NACE.splitlines()
    ordered = sorted(lines, key=lambda line: not line[0].isdigit())
    tax = read("\n".join(ordered))
    assert not len(tax.parents("01"))
    orphans = check(formats.draft(tmp_path / "codes.csv")).find("orphan")
    assert orphans is not None
    assert orphans.count == 2


def test_letters_that_codes_begin_with_are_their_parents(read: Any) -> None:
    tax = read("A\nA01\nA01A\nA01AA\nA01AA01\nA01AA02\nB\nB01\n", "atc.txt")
    assert parents(tax) == {
        "A01": "A",
        "A01A": "A01",
        "A01AA": "A01A",
        "A01AA01": "A01AA",
        "A01AA02": "A01AA",
        "B01": "B",
    }


def test_dotted_steps_stay_steps(read: Any) -> None:
    coicop = read("Code,Title\n01,Food\n01.1,Food\n01.1.1,Bread\n01.1.2,Meat\n01.2,Drinks\n02,Alcohol\n02.1,Wine\n")
    assert parents(coicop) == {"01.1": "01", "01.1.1": "01.1", "01.1.2": "01.1", "01.2": "01", "02.1": "02"}
    enzymes = read("\n".join(f"1.1.1.{n}" for n in range(1, 120)), "ec.txt")
    assert parents(enzymes)["1.1.1.10"] == parents(enzymes)["1.1.1.112"] == "1.1.1"


def test_a_mark_at_the_end_of_codes_is_not_a_step_and_both_spellings_are_labels(read: Any) -> None:
    tax = read("1.\tOne\n1.1.\tTwo\n1.1.1.\tThree\n1.2.\tFour\n2.\tFive\n", "codes.tsv")
    assert parents(tax) == {"1.1": "1", "1.1.1": "1.1", "1.2": "1"}
    assert tax.index("1.1.") == tax.index("1.1")


def test_digits_or_steps_can_be_asked_for(read: Any) -> None:
    assert parents(read("1.1\n1.10\n1.2\n", format="codes", separator="")) == {"1.10": "1.1"}
    assert parents(read("1.1\n1.10\n1.2\n", format="codes", separator=".")) == {"1.1": "1", "1.10": "1", "1.2": "1"}
    assert parents(read("Code;Titel\n5;a\n7;b\n71;c\n", format="codes", separator="")) == {"71": "7"}


@pytest.mark.parametrize(
    "codes",
    [
        [str(n) for n in range(1, 500)],
        [str(n) for n in range(0, 1000, 2)],
        [str(n * n) for n in range(100, 400)],
        ["1", "2", "3", "10", "11"],
        ["car", "cart", "carton"],
        [f"1.{n}" for n in range(1, 30)],
        ["1.1", "11"],
        [],
    ],
)
def test_numbers_and_words_do_not_nest_by_accident(codes: list[str]) -> None:
    assert not digits_nest(codes)


def test_pairs_of_numbers_are_pairs(read: Any) -> None:
    assert parents(read("1\t11\n1\t12\n11\t111\n", "pairs.tsv")) == {"11": "1", "12": "1", "111": "11"}
    assert parents(read("1\t11\n11\t111\n", "pairs.tsv")) == {"11": "1", "111": "11"}


def test_codes_of_one_level_are_flat_and_reported(read: Any, tmp_path: Path) -> None:
    tax = read("Code;Title\n1111;Legislators\n1112;Officials\n2111;Physicists\n")
    assert (tax.n_nodes, tax.n_edges, tax.display("1111")) == (3, 0, "Legislators")
    assert check(formats.draft(tmp_path / "codes.csv")).find("no-edges") is not None


def test_mistakes_in_tables_of_codes_are_named_with_their_line(read: Any) -> None:
    with pytest.raises(TaxonomyError, match=r"codes\.csv:4: the code '11' was already given in line 3"):
        read("Code;Title\n1;A\n11;B\n11;C\n", format="codes")
    with pytest.raises(TaxonomyError, match=r"codes\.csv:3: the line has no code: ' ?B'"):
        read("Code;Title\n1;A\n;B\n11;C\n", format="codes")


def test_codes_by_digits_come_back_equal(read: Any, tmp_path: Path) -> None:
    tax = read("Code;Title\n" + NACE.replace("A;", "A;").replace(".", ""))
    bare = read(quoted(";", "Code;Title"))
    bare.write(tmp_path / "again.codes")
    assert Taxonomy.read(tmp_path / "again.codes") == bare
    assert tax.n_nodes == 16


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
@pytest.mark.parametrize("header", ["Code{}Title\n", "ISCO{}Text of the group\n", ""])
def test_a_repeated_code_is_named_and_does_not_turn_the_table_into_pairs(read: Any, mark: str, header: str) -> None:
    rows = [*ISCO, ("2111", "Astronomers")]
    text = header.format(mark) + "\n".join(f"{code}{mark}{title.replace(',', '')}" for code, title in rows)
    with pytest.raises(TaxonomyError, match=r"code '2111' was already given in line 1\d as 'Phys.* is 'Astro"):
        read(text.replace(";", mark))


def test_a_header_of_codes_and_titles_decides_however_many_codes_repeat(read: Any) -> None:
    stripped = "".join(f"{code.lstrip('0') or '0'};{title}\n" for code, title in ISCO)
    with pytest.raises(TaxonomyError, match=r"the code '1' was already given .* leading zeros"):
        read("Code;Title\n" + stripped)


def test_rows_that_repeat_code_and_title_are_an_error_or_dropped(read: Any) -> None:
    text = "Code;Title\n1;Managers\n11;Chiefs\n111;Legislators\n12;Admin\n12;Admin\n"
    with pytest.raises(TaxonomyError, match=r"csv:6: the code '12' was already given in line 5; duplicates='drop' acc"):
        read(text)
    assert parents(read(text, duplicates="drop")) == {"11": "1", "111": "11", "12": "1"}


def test_empty_rows_are_skipped_and_titles_without_a_code_named(read: Any) -> None:
    text = "Code;Title\n1;Managers\n11;Chiefs\n111;Legislators\n;\n12;Admin\n"
    assert parents(read(text)) == {"11": "1", "111": "11", "12": "1"}
    with pytest.raises(TaxonomyError, match=r"csv:7: the line has no code: ' ?Total'"):
        read(text + ";Total\n")
    assert parents(read("parent,child\nA,AA\n,\nA,AB\n")) == {"AA": "A", "AB": "A"}


def test_dashes_of_incomplete_ec_numbers_stand_for_missing_steps(read: Any) -> None:
    for options in ({}, {"format": "codes", "separator": "."}):
        tax = read("2.5.-.-\n2.5.1.7\n2.7.7.18\n2.7.7.19\n", "ec.codes", **options)
        assert sorted(tax.names) == ["2", "2.5", "2.5.1", "2.5.1.7", "2.7", "2.7.7", "2.7.7.18", "2.7.7.19"]
        assert tax.labels(tax.indicator([["2.5.-.-"], ["2.7.7.-"], ["2.-.-.-"]])) == [["2.5"], ["2.7.7"], ["2"]]
    with pytest.raises(TaxonomyError):
        tax.index("2.9.-.-")


def test_lines_may_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_bytes(b'1 Crops, all\n11 "Wheat", b\r12 Rye, d\r13 Oats, f\n')
    tax = Taxonomy.read(tmp_path / "codes.csv", "codes", separator="")
    assert tax.names.tolist() == ["1", "11", "12", "13"]
