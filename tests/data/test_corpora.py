"""The corpus of docstrings: large enough, without the answer in the text, silent, and always the same."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from linnaeus.data.corpora import _cleaned, _dotted_names, _frequent_modules, demo_corpus
from linnaeus.data.dataset import Dataset
from linnaeus.data.describe import describe


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return demo_corpus()


def test_there_are_several_thousand_documents_with_labels_inside_and_at_the_leaves(corpus: Dataset) -> None:
    counts = describe(corpus)
    assert 3000 < counts["n_docs"] < 12000
    assert counts["n_duplicates"] == 0
    assert counts["labels"]["n_unknown"] == counts["labels"]["docs_without"] == 0
    assert counts["labels"]["n_internal_labels"] >= 10
    assert counts["labels"]["per_doc"] > 1.05
    assert counts["taxonomy"]["kind"] == "tree"
    assert min(len(text.split()) for text in corpus.documents) > 20


def test_the_tree_is_that_of_packages_and_modules(corpus: Dataset) -> None:
    tax = corpus.taxonomy
    assert tax is not None
    assert [tax.names[v] for v in tax.ancestors("scipy.sparse.linalg")] == [
        "scipy",
        "scipy.sparse",
        "scipy.sparse.linalg",
    ]
    assert [tax.names[v] for v in tax.ancestors("collections")] == ["python", "collections"]
    labels = dict(zip(corpus.ids or [], corpus.labels or [], strict=True))
    assert labels["numpy.linalg.svd"] == ["numpy.linalg"]
    assert set(labels["scipy.signal.windows.hann"]) >= {"scipy.signal.windows"}


def test_the_text_does_not_name_its_package(corpus: Dataset) -> None:
    names = re.compile(r"\b(numpy|scipy|sklearn|scikit-learn)\b|^\s*>>> (import|from) ", re.IGNORECASE | re.MULTILINE)
    assert not [i for i, text in zip(corpus.ids or [], corpus.documents, strict=True) if names.search(text)]


def test_what_is_stripped_from_a_docstring() -> None:
    dotted = _dotted_names(["scipy.sparse", "json"])
    docstring = """Like `scipy.sparse.linalg.eigs`, or json.loads.

    .. versionadded:: 1.2
       In this version.
    .. note:: Take care.

    >>> import numpy as np
    >>> x = np.array([1])
    >>> x
    array([1])

    The end.
    """
    assert _cleaned(docstring, dotted) == "Like `eigs`, or loads.\n\n\n>>> x = array([1])\n>>> x\n\nThe end."


def test_small_modules_hand_their_documents_up() -> None:
    homes = [{"numpy.a.b"}, {"numpy.a"}, {"numpy.a"}, {"numpy.c"}, {"json"}]
    assert _frequent_modules(homes, 3) == [{"numpy.a"}, {"numpy.a"}, {"numpy.a"}, {"numpy"}, {"python"}]


@pytest.mark.slow
def test_making_it_prints_nothing_and_gives_the_same_every_time(corpus: Dataset) -> None:
    program = (
        "import hashlib, json; from linnaeus.data import demo_corpus; d = demo_corpus();"
        "print(hashlib.sha256(json.dumps([d.ids, d.labels, d.documents]).encode()).hexdigest())"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True) for _ in range(2)]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout.split()) == 1
