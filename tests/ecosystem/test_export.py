"""A predictor of one file has the scores of the model, and needs nothing but NumPy."""

from __future__ import annotations

import runpy
import subprocess
import sys

import numpy as np
import pytest

from linnaeus import RRSVM, OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.errors import DataError
from linnaeus.export import write_predictor
from linnaeus.features import DenseFeatures, TextFeatures

TAX = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "Cats"), ("A", "Dogs"), ("B", "Trees")])
TEXTS = ["cats purr and cats sleep", "the dogs bark", "old trees grow", "cats and dogs play", "a tree with dogs"]
LABELS = [["Cats"], ["Dogs"], ["Trees"], ["Cats", "Dogs"], ["Trees", "Dogs"]]


@pytest.mark.parametrize(
    "features",
    [
        TextFeatures(),
        TextFeatures(sublinear_tf=True, ngram_range=(1, 2), stop_words=["the", "and"]),
        TextFeatures(weighting="log2", lowercase=False),
    ],
    ids=["plain", "pairs without stop words", "log2"],
)
def test_scores_are_those_of_the_model(features, tmp_path) -> None:
    pipe = Pipeline(RRSVM(taxonomy=TAX, random_state=0), features).fit(TEXTS, LABELS)
    write_predictor(pipe, tmp_path / "predictor.py")
    made = runpy.run_path(str(tmp_path / "predictor.py"))
    new = [*TEXTS, "Unknown words only", "Cats, cats & cats!"]
    assert np.allclose([made["scores"](text) for text in new], pipe.decision_function(new), atol=1e-5)
    assert [sorted(made["labels"](text)) for text in TEXTS] == [sorted(labels) for labels in pipe.predict(TEXTS)]
    assert [name for name, _, _ in made["top"](TEXTS[0], 2)] == list(pipe.top(TEXTS[:1], k=2)[0][0])


def test_scores_are_the_weights_of_the_model_summed_in_double_precision(tmp_path) -> None:
    pipe = Pipeline(RRSVM(taxonomy=TAX, random_state=0), TextFeatures(sublinear_tf=True)).fit(TEXTS, LABELS)
    write_predictor(pipe, tmp_path / "predictor.py")
    made = runpy.run_path(str(tmp_path / "predictor.py"))
    X, W = (matrix.astype(np.float64) for matrix in (pipe.matrix(TEXTS), pipe.estimator.coef_))
    exact = X @ W.T + pipe.estimator.intercept_
    scores = np.array([made["scores"](text) for text in TEXTS])
    assert abs(scores - exact).max() < 2e-7 * abs(exact).max(), "one rounding of each feature"


def test_one_label_stays_one_label(tmp_path) -> None:
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(TEXTS[:3], ["c", "d", "t"])
    write_predictor(pipe, tmp_path / "predictor.py")
    made = runpy.run_path(str(tmp_path / "predictor.py"))
    assert [made["labels"](text) for text in TEXTS[:3]] == [["c"], ["d"], ["t"]]


def test_it_runs_as_a_program_without_linnaeus(tmp_path) -> None:
    pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(TEXTS[:3], ["c", "d", "t"])
    write_predictor(pipe.prune(0.01), tmp_path / "predictor.py")
    code = "import sys, runpy; sys.modules.update(dict.fromkeys(('linnaeus', 'scipy', 'sklearn')));"
    code += "sys.argv = ['predictor.py', 'cats purr']; runpy.run_path('predictor.py', run_name='__main__')"
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0].split("\t")[1] == "c"


def test_what_does_not_fit_into_one_file_is_refused(tmp_path) -> None:
    target = tmp_path / "predictor.py"
    stems = Pipeline(OneVsRestSVM(random_state=0), TextFeatures(analyzer="stems")).fit(TEXTS[:2], ["c", "d"])
    with pytest.raises(DataError, match="The terms are stems"):
        write_predictor(stems, target)
    fields = {"title": TEXTS[:2], "abstract": TEXTS[1:3]}
    both = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(fields, ["c", "d"])
    with pytest.raises(DataError, match="needs one text field"):
        write_predictor(both, target)
    dense = Pipeline(OneVsRestSVM(random_state=0), DenseFeatures()).fit(np.eye(2), ["c", "d"])
    with pytest.raises(DataError, match="DenseFeatures"):
        write_predictor(dense, target)
    assert not target.exists()
