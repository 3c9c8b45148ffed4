"""Labels for documents: from a file of their own, and what happens to documents that have none.

A document without labels is a legal example of nothing; a few empty cells in a table of codes, read so, teach a model
to answer nothing. So they are counted, and the user says whether they are an error, left out or kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR

__all__ = ["UNLABELLED", "join_labels", "keep_labelled", "prepare_labels"]

UNLABELLED = ("error", "drop", "keep")


def keep_labelled(data: Dataset, unlabelled: str = "error") -> Dataset:
    """The data set without documents that have no label.

    Parameters
    ----------
    data : Dataset
        Documents with labels.
    unlabelled : {"error", "drop", "keep"}, default="error"
        "error" refuses them with their number and the place of the first, "drop" leaves them out and notes their number
        in ``data.notes``, "keep" returns the data set as it is.

    Returns
    -------
    data : Dataset
        The documents that remain.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a goal", "a vote"]}, labels=[["Sports"], []])
    >>> kept = keep_labelled(data, "drop")
    >>> kept.documents, kept.notes
    (['a goal'], {'unlabelled': '1 of 2 documents dropped'})
    """
    if data.labels is None:
        _check_choice(unlabelled)
        return data
    return _kept(data, np.array([bool(row) for row in data.labels]), unlabelled)


def prepare_labels(
    data: Dataset, taxonomy: Taxonomy, *, unknown: str = "error", unlabelled: str = "error"
) -> tuple[Dataset, CSR]:
    """Documents with their labels as 0/1 rows over a taxonomy, ready for training.

    Parameters
    ----------
    data : Dataset
        Documents with labels.
    taxonomy : Taxonomy
        Where the labels stand.
    unknown : str, default="error"
        What happens to labels that are not in the taxonomy, see `Dataset.indicator`.
    unlabelled : {"error", "drop", "keep"}, default="error"
        What happens to documents without a label, also those whose only label was dropped, see `keep_labelled`.

    Returns
    -------
    data : Dataset
        The documents that remain.
    Y : CSR array of shape (n_docs, n_nodes)
        Their labels.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a goal", "a vote"]}, labels=[["Sports"], []])
    >>> kept, Y = prepare_labels(data, Taxonomy.flat(["Sports"]), unlabelled="drop")
    >>> len(kept), Y.toarray().tolist()
    (1, [[1]])
    """
    _check_choice(unlabelled)
    Y = data.indicator(taxonomy, unknown=unknown)
    labelled = np.diff(Y.indptr) > 0
    return _kept(data, labelled, unlabelled), Y if unlabelled == "keep" else Y[np.flatnonzero(labelled)]


def _kept(data: Dataset, labelled: np.ndarray, unlabelled: str) -> Dataset:
    _check_choice(unlabelled)
    n_without = int((~labelled).sum())
    if unlabelled == "keep" or not n_without:
        return data
    if unlabelled == "error":
        first = int(np.argmin(labelled))
        raise DataError(
            f"{n_without:,} of {len(data):,} documents have no label, the first at {data.place(first)}; leave them out "
            f"with unlabelled='drop', or use them as documents without labels with unlabelled='keep'."
        )
    if n_without == len(data):
        raise DataError(f"None of the {len(data):,} documents of {data.source or 'this data set'} has a label.")
    notes = {**data.notes, "unlabelled": f"{n_without:,} of {len(data):,} documents dropped"}
    return replace(data.take(labelled), notes=notes)


def _check_choice(unlabelled: str) -> None:
    if unlabelled not in UNLABELLED:
        expected = ", ".join(map(repr, UNLABELLED))
        raise ParameterError(f"unlabelled={unlabelled!r}; expected {expected}{nearest(str(unlabelled), UNLABELLED)}")


def join_labels(
    data: Dataset, path: str | PathLike[str], *, labels: str | None = None, encoding: str | None = None
) -> Dataset:
    """Documents with the labels that a file of labels gives them by id.

    Parameters
    ----------
    data : Dataset
        Documents with ids; labels that it has are replaced.
    path : str or path-like
        File of labels in any format that `read_label_file` reads, such as a table of ids and labels or a GAF.
    labels : str, default=None
        Key or column of the labels in that file, where it has no usual name.
    encoding : str, default=None
        Encoding of that file.

    Returns
    -------
    data : Dataset
        The same documents. A document that the file does not name has no label; ``notes["labels_file"]`` counts these,
        and the entries that name no document. Alternative ids of the taxonomy are read as its nodes, and deprecated
        ones that have one replacement as this.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "annotations.tsv")
    >>> _ = path.write_text("P1\\tGO:2\\nP1\\tGO:3\\nP9\\tGO:4\\n")
    >>> joined = join_labels(Dataset(sequences=["MKQ", "MAA"], ids=["P1", "P2"]), path)
    >>> joined.labels, joined.notes["labels_file"]
    ([['GO:2', 'GO:3'], []], '1 of 2 documents found; 1 of 2 entries name no document')
    """
    from linnaeus.data.label_files import read_label_file

    known = None if data.taxonomy is None else data.taxonomy.index_of
    file = read_label_file(path, known=known, labels=labels, encoding=encoding)
    if file.ids is None:
        if len(file) != len(data):
            raise DataError(
                f"{file.source} has no ids and {len(file):,} entries for {len(data):,} documents; without ids there is "
                f"one entry per document."
            )
        given, note = file.labels, f"{len(data):,} documents in the order of the file"
    else:
        if data.ids is None:
            raise DataError(
                f"{data.source or 'The data set'} has no ids to find in {file.source}; name their column with id=..."
            )
        rows = dict(zip(file.ids, file.labels, strict=True))
        given = [list(rows.get(identity, [])) for identity in data.ids]
        n_found = sum(identity in rows for identity in data.ids)
        n_unused = len(rows.keys() - set(data.ids))
        if not n_found:
            raise DataError(
                f"No document of {data.source or 'the data set'} is named in {file.source}: ids such as "
                f"{data.ids[0]!r} were looked for, and it has {file.ids[0]!r}{nearest(data.ids[0], file.ids)}"
            )
        note = f"{n_found:,} of {len(data):,} documents found; {n_unused:,} of {len(rows):,} entries name no document"
    notes = {**data.notes, "labels_file": note}
    if data.taxonomy is not None:
        given, replaced = _followed(data.taxonomy, given)
        if replaced:
            notes["replaced"] = f"{replaced:,} deprecated labels by their replacements"
    columns = {**{role: names for role, names in data.columns.items() if role != "labels"}, "labels": (file.source,)}
    ignored = (*data.columns.get("labels", ()), *data.columns.get("ignored", ()))
    return replace(data, labels=given, notes=notes, columns={**columns, **({"ignored": ignored} if ignored else {})})


def _followed(taxonomy: Taxonomy, rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], int]:
    """Labels with alternative and deprecated ids replaced by the nodes that they mean, and how many were deprecated."""
    found, counts = taxonomy.replaced(rows)
    return found, counts.total()
