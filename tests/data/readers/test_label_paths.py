"""Labels of tables that are category paths, and commas that are part of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linnaeus import Taxonomy
from linnaeus.data import Dataset, read_dataset

COMMA = "Electronics > Print, Copy, Scan & Fax > Scanners"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reader(cells: list[str], **options: Any) -> Dataset:
        rows = "".join(f'text {i},"{cell}"\n' for i, cell in enumerate(cells))
        (tmp_path / "docs.csv").write_text("text,category\n" + rows)
        return read_dataset(tmp_path / "docs.csv", **options)

    return reader


def test_commas_in_category_paths_do_not_separate_labels(read: Any) -> None:
    data = read(["Home > Kitchen", "Electronics > Audio"] * 20 + [COMMA])
    assert data.labels[-1] == [COMMA]
    assert "',' is read as part of the labels in 1 of 41 cells" in data.notes["labels"]
    assert "--label-separator" in data.notes["labels"]
    assert read([COMMA, "Home > Kitchen"] * 5).labels[0] == [COMMA]


def test_rare_commas_in_names_do_not_separate_labels(read: Any) -> None:
    assert read(["Sports", "Politics"] * 20 + ["Print, Copy & Scan"]).labels[-1] == ["Print, Copy & Scan"]
    assert read(["Sports", "Politics"] * 20 + ["Managers; Chiefs"]).labels[-1] == ["Managers; Chiefs"]


def test_rare_commas_between_labels_of_other_documents_do(read: Any) -> None:
    data = read(["Sports", "Politics"] * 20 + ["Sports, Politics"])
    assert data.labels[-1] == ["Sports", "Politics"]
    assert not data.notes
    data = read(["Home > Kitchen", "Electronics > Audio"] * 20 + ["Home > Garden, Electronics > Video"])
    assert data.labels[-1] == ["Home > Garden", "Electronics > Video"]


def test_a_separator_that_is_given_is_used(read: Any) -> None:
    data = read(["Sports", "Politics"] * 20 + ["Print, Copy & Scan"], label_separator=",")
    assert data.labels[-1] == ["Print", "Copy & Scan"]


def test_a_taxonomy_that_knows_the_names_decides_without_a_note(read: Any) -> None:
    tax = Taxonomy.flat(["Print, Copy & Scan", "Sports"])
    data = read(["Sports"] * 20 + ["Print, Copy & Scan"], taxonomy=tax)
    assert data.labels[-1] == ["Print, Copy & Scan"]
    assert not data.notes


@pytest.mark.parametrize("mark", [" > ", "/", "|", "::"])
def test_labels_that_are_paths_of_the_taxonomy_are_read_as_its_nodes(read: Any, mark: str) -> None:
    tax = Taxonomy.from_paths([["Home", "Kitchen"], ["Electronics", "Print, Copy", "Scanners"]])
    data = read([mark.join(["Home", "Kitchen"]), mark.join(["Electronics", "Print, Copy", "Scanners"])], taxonomy=tax)
    assert data.labels == [["Kitchen"], ["Scanners"]]


def test_a_part_of_paths_can_be_chosen(read: Any) -> None:
    cells = ["Home > Kitchen", COMMA, "Home"] * 4
    assert read(cells, label_part="last").labels[:3] == [["Kitchen"], ["Scanners"], ["Home"]]
    assert read(cells, label_part="path").labels[:2] == [["Home/Kitchen"], [COMMA.replace(" > ", "/")]]
