"""The splits that the data page gives come out as it says, made of the general tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.data import drop_duplicates, drop_overlap, hash_split, read_dataset
from linnaeus.data.splits import first_occurrence
from linnaeus.errors import UnknownLabelError
from linnaeus.features import FillMissing, TextFeatures

pytestmark = pytest.mark.data


def test_rcv1v2_splits_into_14401_and_13212_documents(data_dir: Path) -> None:
    data = read_dataset(data_dir / "rcv1v2" / "rcv1v2_subsets_30000.npz")
    np.testing.assert_array_equal(first_occurrence(data), data.extra["dup_of"])
    subset, half = data.extra["subset"], data.extra["half"]
    in_train = ((subset < 5) & (half == 0)) | ((subset == 5) & (half == 1))
    train = drop_duplicates(data.take(in_train))
    test = drop_duplicates(drop_overlap(train, data.take(~in_train)))
    assert (len(train), len(test)) == (14_401, 13_212)


def test_labels_of_medline_find_their_names_in_the_tree(data_dir: Path) -> None:
    folder = data_dir / "medline_mesh"
    tree = Taxonomy.read(folder / "mtrees2014.csv.gz")
    data = read_dataset(folder / "medline_pubmed20n0014.jsonl.xz", taxonomy=tree, categorical="journal", limit=2000)
    assert data.fields is not None
    assert list(data.fields) == ["title", "abstract", "journal"]
    with pytest.raises(UnknownLabelError, match=r"jsonl\.xz:10\) is not in the taxonomy; did you mean"):
        data.indicator()
    with pytest.warns(UserWarning, match="labels were dropped"):
        assert data.indicator(unknown="drop").nnz > 15_000
    features = TextFeatures({"title": 2.0, "abstract": 1.0}, categorical=("journal",), min_df=2)
    X = features.fit_transform(data.documents)
    assert X.shape[0] == 2000
    assert any(name.startswith("journal=") for name in features.get_feature_names_out())


def test_the_hash_of_the_entry_splits_the_enzymes(data_dir: Path) -> None:
    data = read_dataset(data_dir / "enzyme_ec" / "split10.csv.gz")
    share = hash_split(data.ids or [], 5).mean()
    assert 0.18 < share < 0.22


def test_20_newsgroups_lose_the_header_that_names_the_group(data_dir: Path) -> None:
    path = data_dir / "20newsgroups" / "20news-bydate.tar.xz"
    stripped, kept = (read_dataset(path, headers=how, limit=300).documents for how in ("strip", "keep"))
    for body, whole in zip(stripped, kept, strict=True):
        assert whole.endswith(body)
        assert "Subject:" in whole[: len(whole) - len(body)]


def test_yeast_files_make_one_data_set_whose_gaps_can_be_filled(data_dir: Path) -> None:
    names = [data_dir / "yeast" / f"seq_FUN.{part}.arff.gz" for part in ("train", "valid")]
    data = read_dataset(names)
    assert data.X.shape == (1_701 + 879, 529)
    assert data.taxonomy is not None
    assert np.isnan(data.X).any()
    assert not np.isnan(FillMissing().fit(data.X).transform(data.X)).any()
