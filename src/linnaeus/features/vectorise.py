"""Documents of any number to vectors on disk, at constant memory.

    pass 1    count in how many documents every term occurs (`TextFeatures.fit_batches`); not needed for hashed features
    pass 2    weigh the terms of some documents at a time and append the rows to the arrays of the folder

Memory holds the vocabulary, the names of the labels, some documents and a number per document; counts that do not fit
move to disk. The result is what `TextFeatures.fit_transform` gives for all documents at once. The folder is a data set
(see `linnaeus.data.mapped`) which also holds the features, so that they can be applied to other documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnaeus.data.convert import MappedWriter
from linnaeus.data.dataset import Dataset
from linnaeus.data.mapped import is_mapped
from linnaeus.errors import DataError
from linnaeus.features.hashed import HashedText
from linnaeus.features.text import TextFeatures

if TYPE_CHECKING:
    from linnaeus.typing import Array

__all__ = ["Vectorised", "load_features", "vectorise"]

VALUES, ARRAYS = "features.json", "features.safetensors"
_KINDS: dict[str, type[TextFeatures] | type[HashedText]] = {"TextFeatures": TextFeatures, "HashedText": HashedText}


@dataclass(frozen=True)
class Vectorised:
    """What was written.

    Parameters
    ----------
    n_docs : int
        Number of documents.
    n_features : int
        Number of columns.
    labelled : bool
        Whether the documents have labels.
    """

    n_docs: int
    n_features: int
    labelled: bool


def vectorise(
    batches: Callable[[], Iterable[Dataset]],
    output: str | PathLike[str],
    features: TextFeatures | HashedText,
    *,
    fitted: bool = False,
    advance: Callable[[int], None] = lambda n: None,
) -> Vectorised:
    """Write documents as vectors into a folder, reading them in one or two passes.

    Parameters
    ----------
    batches : callable
        Gives the documents from the beginning, some at a time, such as ``lambda: read_batches("docs.jsonl")``.
    output : str or path-like
        Folder to write, which is new, empty or a converted data set.
    features : TextFeatures or HashedText
        How texts become vectors; they are fitted here.
    fitted : bool, default=False
        Whether the features are used as they were fitted.
    advance : callable, default=ignored
        Called with the number of documents after each batch of each pass.

    Returns
    -------
    Vectorised
        Numbers of documents and features.

    Examples
    --------
    >>> import tempfile
    >>> docs = [Dataset(fields={"text": ["a cat", "a dog"]}), Dataset(fields={"text": ["the cat"]})]
    >>> vectorise(lambda: docs, Path(tempfile.mkdtemp()), TextFeatures())
    Vectorised(n_docs=3, n_features=3, labelled=False)
    """
    writer = MappedWriter(Path(output))
    try:
        if not fitted and isinstance(features, TextFeatures):
            features.fit_batches(_documents(batches(), advance))
        return _write(batches, features, writer, fitted, advance)
    except BaseException:
        writer.discard()
        raise


def _documents(batches: Iterable[Dataset], advance: Callable[[int], None]) -> Iterable[object]:
    for batch in batches:
        yield batch.documents
        advance(len(batch))


def _write(
    batches: Callable[[], Iterable[Dataset]],
    features: TextFeatures | HashedText,
    writer: MappedWriter,
    fitted: bool,
    advance: Callable[[int], None],
) -> Vectorised:
    learning = isinstance(features, HashedText) and not fitted
    n_docs, first = 0, None
    for batch in batches():
        if first is None:
            first = batch
        elif (batch.labels is None) != (first.labels is None):
            raise DataError(f"{batch.source} and {first.source} differ: one of them has labels, the other has none.")
        documents = batch.documents
        if learning:
            assert isinstance(features, HashedText)
            X = features.partial_fit_transform(documents)
        else:
            X = features.transform(documents)
        writer.add_rows(X, batch.labels)
        writer.add_strings("ids", batch.ids)
        writer.add_strings("split", batch.split)
        n_docs += len(batch)
        advance(len(batch))
    if first is None:
        raise DataError("There are no documents to convert.")
    names = [str(name) for name in features.get_feature_names_out()]
    _save(features, writer.folder)
    writer.finish(Dataset(fields={"": []}, source=first.source, taxonomy=first.taxonomy), (n_docs, len(names)), names)
    return Vectorised(n_docs, len(names), first.labels is not None)


def _save(features: TextFeatures | HashedText, folder: Path) -> None:
    from safetensors.numpy import save_file

    values, arrays = features.state()
    (folder / VALUES).write_text(json.dumps({"kind": type(features).__name__, **values}, ensure_ascii=False), "utf-8")
    save_file({name: array.copy() for name, array in arrays.items()}, folder / ARRAYS)


def load_features(folder: str | PathLike[str]) -> TextFeatures | HashedText | None:
    """The features that a folder of `vectorise` was made with.

    Parameters
    ----------
    folder : str or path-like
        A converted data set.

    Returns
    -------
    TextFeatures, HashedText or None
        Fitted features; None where the folder holds vectors from elsewhere.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    place = Path(folder)
    if not is_mapped(place) or not (place / VALUES).is_file():
        return None
    try:
        values: dict[str, Any] = json.loads((place / VALUES).read_text("utf-8"))
        arrays: dict[str, Array] = load_file(place / ARRAYS)
        return _KINDS[values.pop("kind")].from_state(values, arrays)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, SafetensorError) as error:
        raise DataError(f"{place} has no readable features ({error}); convert the documents again.") from error
