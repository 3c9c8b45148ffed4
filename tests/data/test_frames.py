"""Documents and labels as pandas objects: the order of rows, one column of labels, missing texts, wrong indicators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from linnaeus import OneVsRestLogistic, OneVsRestSVM, Pipeline, Taxonomy, store
from linnaeus.errors import LinnaeusError
from linnaeus.features import TextFeatures

pd = pytest.importorskip("pandas")

TAX = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
LABELS = ["AA", "AB", "BA", "BB"] * 5
X = np.eye(4)[np.arange(20) % 4]


def test_one_column_of_labels_comes_back_as_one_column(tmp_path) -> None:
    frame = pd.DataFrame({"subject": LABELS}, index=[f"d{i}" for i in range(20)])
    model = OneVsRestSVM(TAX).fit(pd.DataFrame(X, index=frame.index), frame)
    pd.testing.assert_frame_equal(model.predict(pd.DataFrame(X, index=frame.index)), frame)
    store.save(model, tmp_path / "model")
    assert store.load(tmp_path / "model").predict(X)["subject"].tolist() == LABELS
    with pytest.warns(UserWarning, match="column-vector y"):
        assert OneVsRestSVM(TAX).fit(X, np.array(LABELS)[:, None]).predict(X).tolist() == LABELS


@pytest.mark.parametrize("frame", [True, False])
def test_an_indicator_with_other_entries_than_0_and_1_is_named_as_one(frame: bool) -> None:
    counts = TAX.indicator(LABELS).toarray() * 2
    with pytest.raises(LinnaeusError, match="An indicator of labels has the entries 0 and 1; got 2"):
        OneVsRestSVM(TAX).fit(X, pd.DataFrame(counts, columns=TAX.names) if frame else counts)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_text_behind_a_missing_value_is_recognised_as_text(missing: object) -> None:
    texts = pd.Series([missing, *["red shoe"] * 19], dtype=object)
    for given in (texts, texts.to_frame("text"), texts.tolist()):
        with pytest.raises(LinnaeusError, match=r"holds text \('red shoe'\); models take numbers"):
            Pipeline(OneVsRestSVM(TAX)).fit(given, LABELS)


def test_the_same_index_in_another_order_is_warned_about() -> None:
    documents = pd.DataFrame(X, index=range(100, 120))
    labels = pd.Series(LABELS, index=documents.index)
    with pytest.warns(UserWarning, match=r"same index in a different order.*y\.loc\[X\.index\]"):
        OneVsRestSVM(TAX).fit(documents, labels[::-1])
    texts = pd.Series([f"word{i % 4}" for i in range(20)], index=documents.index)
    with pytest.warns(UserWarning, match="same index in a different order"):
        Pipeline(OneVsRestSVM(TAX), TextFeatures(min_df=1)).fit(texts, labels[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneVsRestSVM(TAX).fit(documents, labels)
        OneVsRestSVM(TAX).fit(documents, labels.reset_index(drop=True))
        OneVsRestSVM(TAX).fit(documents, labels[::-1].loc[documents.index])


def test_numbered_labels_of_cross_val_predict_are_explained() -> None:
    from sklearn.model_selection import cross_val_predict

    with pytest.raises(LinnaeusError, match=r"cross_val_predict with any method except 'predict'.*held_out_scores"):
        cross_val_predict(OneVsRestLogistic(TAX), X, LABELS, cv=3, method="predict_proba")
