"""Features for documents as they were read, where the user has said no more than what the documents are."""

from __future__ import annotations

from typing import Any

from linnaeus.errors import ParameterError

__all__ = ["default_features"]


def default_features(kind: str, **options: Any) -> Any:
    """An unfitted transformer for documents of a kind ("text", "sequence", "dense"), or None where X is used as it is.

    ``options`` go to the transformer and override what is usual: for text 1 + ln tf and terms of two documents or more;
    for sequences counts of one to three letters; for dense vectors mean 0 and deviation 1.

    Examples
    --------
    >>> default_features("text", min_df=1).fit_transform(["a cat", "a dog"]).shape
    (2, 2)
    >>> default_features("sparse") is None
    True
    """
    from linnaeus.features.dense import DenseFeatures
    from linnaeus.features.text import TextFeatures

    if kind == "text":
        return TextFeatures(**{"min_df": 2, "sublinear_tf": options.get("weighting") != "log2", **options})
    if kind == "sequence":
        usual = {"analyzer": "char", "ngram_range": (1, 3), "lowercase": False, "min_df": 2, "sublinear_tf": True}
        return TextFeatures(**{**usual, **options})
    if kind == "dense":
        return DenseFeatures(**options)
    if kind == "sparse":
        return None
    raise ParameterError(f"Documents are 'text', 'sequence', 'dense' or 'sparse'; got {kind!r}.")
