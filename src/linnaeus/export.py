"""A model as one Python file that needs nothing but NumPy, for places where nothing can be installed.

The file holds terms, weights and names, packed and encoded as text, and some forty lines that compute

    s_v = b_v + sum_j x_j w_jv,    x = tf(text) * idf / |tf(text) * idf|.

It has scores, rankings and the nodes above 0; decoders that were learned, rules, calibration and explanations stay
behind. Weights are stored as they are, in single precision. The file sums in double precision, the model in single
precision, with an order of additions that depends on the processor: scores agree up to this rounding of the model.
"""

from __future__ import annotations

import base64
import io
import json
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from linnaeus.errors import DataError
from linnaeus.files import replace_file

if TYPE_CHECKING:
    from linnaeus.features.text import TextFeatures
    from linnaeus.pipeline import Pipeline

__all__ = ["write_predictor"]

_PROGRAM = '''"""{title}

Made by linnaeus {version}; needs NumPy.

    python {name} "some text"                     the five best labels
    from {module} import labels, scores, top      in Python
"""

import base64
import io
import json
import re
import sys

import numpy as np

SETTINGS = json.loads({settings!r})
_arrays = np.load(io.BytesIO(base64.b64decode("""
{data}
""")), allow_pickle=False)
TERMS = {{term: j for j, term in enumerate(bytes(_arrays["terms"]).decode("utf-8").split("\\n"))}}
NAMES = bytes(_arrays["names"]).decode("utf-8").split("\\n")
TITLES = bytes(_arrays["titles"]).decode("utf-8").split("\\n")
_scale, _intercept = _arrays["scale"], _arrays["intercept"]
_indptr, _nodes, _weights = _arrays["indptr"], _arrays["indices"], _arrays["data"]
_word = re.compile(SETTINGS["pattern"])
_stop = frozenset(SETTINGS["stop_words"])


def _terms(text):
    words = [w for w in _word.findall(text.lower() if SETTINGS["lowercase"] else text) if w not in _stop]
    low, high = SETTINGS["ngrams"]
    return [" ".join(words[i : i + n]) for n in range(low, high + 1) for i in range(len(words) - n + 1)]


def scores(text):
    """Scores of all nodes in the order of NAMES; above 0 means yes."""
    counts = {{}}
    for term in _terms(text):
        j = TERMS.get(term)
        if j is not None:
            counts[j] = counts.get(j, 0) + 1
    found = _intercept.astype(np.float64)
    if not counts:
        return found
    columns = np.array(sorted(counts))
    x = np.array([counts[j] for j in columns], dtype=np.float64)
    x = (np.log(x) + 1 if SETTINGS["sublinear"] else x) * _scale[columns]
    if SETTINGS["unit_length"]:
        x /= np.sqrt((x * x).sum()) or 1.0
    for j, value in zip(columns, x):
        part = slice(_indptr[j], _indptr[j + 1])
        found[_nodes[part]] += value * _weights[part]
    return found


def top(text, k=5):
    """The k best nodes: (name, title, score)."""
    found = scores(text)
    order = np.argsort(-found, kind="stable")[:k]
    return [(NAMES[v], TITLES[v], float(found[v])) for v in order]


def labels(text):
    """Names of the nodes above 0, or of the best one."""
    found = scores(text)
    chosen = [int(found.argmax())] if SETTINGS["one_label"] or not (found > 0).any() else np.flatnonzero(found > 0)
    return [NAMES[v] for v in chosen]


if __name__ == "__main__":
    for name, title, score in top(" ".join(sys.argv[1:]) or sys.stdin.read()):
        print(f"{{score:+.3f}}\\t{{name}}\\t{{title}}")
'''


def write_predictor(model: Pipeline, path: str | PathLike[str]) -> int:
    """Write a pipeline of text features and a linear model as one Python file that needs only NumPy.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline of `TextFeatures` with one text field, words as terms, and a linear model.
    path : str or path
        The file, such as ``predictor.py``.

    Returns
    -------
    int
        Its size in bytes. Prune the model before if it is too large.

    Examples
    --------
    >>> import runpy, tempfile, os
    >>> from linnaeus import OneVsRestSVM, Pipeline
    >>> from linnaeus.features import TextFeatures
    >>> pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    >>> file = os.path.join(tempfile.mkdtemp(), "predictor.py")
    >>> _ = write_predictor(pipe, file)
    >>> runpy.run_path(file)["labels"]("a cat purrs: cats")
    ['cat']
    """
    from linnaeus import __version__
    from linnaeus.features.text import TextFeatures

    inner, features = model.estimator, model.features_
    if type(features) is not TextFeatures:
        kind = "no features" if features is None else type(features).__name__
        raise DataError(f"The model has {kind}; a predictor of one file needs TextFeatures.")
    name = _only_field(features)
    coef = getattr(inner, "coef_", None)
    if coef is None:
        raise DataError(
            f"{type(inner).__name__} has no weights of features; a predictor of one file needs a linear model."
        )
    tax, nodes = inner.taxonomy_, inner.nodes_
    W = sparse.csr_array(coef).T.tocsr()
    stop = features.analyser().stop_words
    settings = {
        "pattern": features.token_pattern,
        "lowercase": features.lowercase,
        "ngrams": list(features.ngram_range),
        "stop_words": sorted(_stop_words(stop)),
        "sublinear": features.sublinear_tf,
        "unit_length": features.norm == "l2" or (features.norm == "auto" and features.weighting != "log2"),
        "one_label": bool(inner.one_label_),
    }
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        terms=_packed(features.vocabulary_[name].tolist()),
        names=_packed([str(tax.names[v]) for v in nodes]),
        titles=_packed([tax.display(int(v)).replace("\n", " ") for v in nodes]),
        scale=(features.idf_[name] * features.weights_[name]).astype(np.float32),
        intercept=np.asarray(inner.intercept_, dtype=np.float32),
        indptr=W.indptr.astype(np.int64),
        indices=W.indices.astype(np.int32),
        data=W.data.astype(np.float32),
    )
    data = base64.encodebytes(buffer.getvalue()).decode("ascii").strip()
    file = str(path).replace("\\", "/").rpartition("/")[2]
    title = f"{type(inner).__name__} with {len(nodes):,} labels and {W.shape[0]:,} terms."
    module = file.removesuffix(".py")
    text = _PROGRAM.format(
        title=title, version=__version__, name=file, module=module, settings=json.dumps(settings), data=data
    )
    replace_file(path, text.encode("utf-8"))
    return len(text.encode("utf-8"))


def _only_field(features: TextFeatures) -> str:
    """The name of the text field; other features are refused."""
    if features.analyzer != "word":
        raise DataError(f"The terms are {features.analyzer}; a predictor of one file needs words.")
    if len(features.vocabulary_) != 1 or features.kinds_:
        fields = ", ".join(features.vocabulary_)
        raise DataError(f"The model reads the fields {fields}; a predictor of one file needs one text field.")
    return next(iter(features.vocabulary_))


def _stop_words(given: object) -> frozenset[str]:
    if given is None:
        return frozenset()
    if isinstance(given, str):
        from linnaeus.features.stop_words import stop_words_of

        return frozenset(stop_words_of(given) or ())
    return frozenset(str(word) for word in given)  # type: ignore[attr-defined]


def _packed(texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.frombuffer("\n".join(texts).encode("utf-8"), dtype=np.uint8)
