"""Sizes of label sets for ranking models: how many of the best classes a document is given.

Scores of a ranking model order the classes of one document; 0 has no meaning. Set-size regression (`decoding.SetSize`)
predicts the number of labels from the scores. It is learned from documents that the model has not seen, because scores
of training documents are further apart than others: one fifth is held out and scored by a model of the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from linnaeus.data.check import LabelCodec
from linnaeus.data.splits import train_test_split
from linnaeus.decoding import Decoder, RCut, SetSize
from linnaeus.decoding import decoder as make_decoder
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["SET_SIZES", "SetSizes", "set_size_decoder", "stored_decoder"]

SET_SIZES = ("held_out", "training", "mean")
_SHARE = 0.2
_FEWEST = 20  # documents, to hold some of them out


def set_size_decoder(
    how: str,
    Y: CSR,
    taxonomy: Taxonomy,
    nodes: IntArray,
    scores: Callable[[IntArray | None, IntArray | None], FloatArray],
) -> Decoder:
    """A decoder that takes as many of the best classes as similar documents have.

    Parameters
    ----------
    how : {"held_out", "training", "mean"}
        From scores of held-out or of training documents, or the same number for all.
    Y : sparse array of shape (n_docs, n_nodes)
        Labels of the training documents.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    nodes : ndarray of int
        Numbers of the nodes that are scored.
    scores : callable
        ``scores(train, test)`` are those of the documents ``test`` by a model of ``train``, test x len(nodes);
        ``scores(None, None)`` those of all documents by the model of all.

    Returns
    -------
    Decoder
        An `RCut` or a fitted `SetSize`.

    Examples
    --------
    >>> tax = Taxonomy.flat("ABC")
    >>> Y = tax.indicator([["A", "B"], ["C"], ["A", "B", "C"]])
    >>> set_size_decoder("mean", Y, tax, np.arange(3), lambda train, test: np.zeros((3, 3))).r
    2
    """
    sizes = np.diff(Y.indptr)
    least = 0 if (sizes == 0).any() else 1
    if how == "mean":
        return RCut(max(1, round(float(sizes.mean()))))
    if how == "training" or len(sizes) < _FEWEST:
        S, gold = scores(None, None), Y
    else:
        train, test = train_test_split(Y, _SHARE, random_state=0)
        if not Y[train].nnz:
            return RCut(max(1, round(float(sizes.mean()))))
        S, gold = scores(train, test), Y[test]
    return SetSize(at_least_one=bool(least)).fit(S, gold, taxonomy, nodes)


class SetSizes:
    """Mixin for models with the parameter ``set_size``: learns how many labels to answer with."""

    set_size: str
    set_size_: dict[str, object] | None = None
    nodes_: IntArray
    one_label_: bool
    codec_: LabelCodec

    def _train_with_sizes(
        self,
        Y: CSR,
        taxonomy: Taxonomy,
        train: Callable[[], None],
        scores: Callable[[IntArray | None, IntArray | None], FloatArray],
        stop: Callable[[], None] | None = None,
    ) -> None:
        """Call ``train`` for the model of all documents; ``scores`` as in `set_size_decoder`.

        With ``stop``, which ends both early, held-out scores are learned in a second thread meanwhile.
        """
        several = not (self.one_label_ or self.codec_.single_label)
        self.set_size_ = None

        def learned() -> dict[str, object]:
            return set_size_decoder(self.set_size, Y, taxonomy, self.nodes_, scores).to_dict()

        if not (several and self.set_size == "held_out" and Y.shape[0] >= _FEWEST):
            train()
            self.set_size_ = learned() if several else None
        elif stop is None:
            sizes = learned()
            train()
            self.set_size_ = sizes
        else:
            with ThreadPoolExecutor(1) as second:
                found = second.submit(learned)
                try:
                    train()
                except BaseException:  # Ctrl-C reaches this thread only
                    stop()
                    raise
                self.set_size_ = found.result()

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is None and self.set_size_ is not None:
            return stored_decoder(self.set_size_)
        decoder: Decoder = super()._decoder(given)  # type: ignore[misc]
        return decoder


def stored_decoder(values: dict[str, object]) -> Decoder:
    """The decoder that ``to_dict`` describes, as in a stored model."""
    return make_decoder(str(values["name"]), **{key: value for key, value in values.items() if key != "name"})
