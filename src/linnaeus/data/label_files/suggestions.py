"""Suggestions of other tools for documents, from label files with scores: sources of a `Mixture`.

A file is of any format that `read_label_file` reads. A folder holds the suggestions of Annif for one document per
file, as ``annif index`` writes them: ``d1.annif`` are those of the document d1, also where its id is ``d1.txt``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePath
from typing import NamedTuple

from linnaeus.data.dataset import Dataset
from linnaeus.data.label_files import annif, read_label_file
from linnaeus.data.label_files.content import LabelFile
from linnaeus.errors import DataError, nearest, place
from linnaeus.files import InputFile
from linnaeus.taxonomy import Taxonomy

__all__ = ["FoundSuggestions", "join_suggestions", "read_suggestions"]

_ENDINGS = (".annif", ".tsv")


class FoundSuggestions(NamedTuple):
    """Suggestions of every document (None where the file does not name it), and how many documents were found."""

    suggestions: list[dict[str, float] | None]
    note: str


def read_suggestions(
    path: str | PathLike[str],
    ids: Sequence[str] | None,
    n_docs: int,
    *,
    taxonomy: Taxonomy | None = None,
    encoding: str | None = None,
) -> FoundSuggestions:
    """The suggestions of a label file for documents.

    Parameters
    ----------
    path : str or path-like
        A label file with scores, or a folder with a file of Annif for every document.
    ids : sequence of str or None
        Ids of the documents. None, or a file without ids: one entry per document, in their order.
    n_docs : int
        The number of documents.
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; labels that it lacks are refused. Alternative and replaced ids become its nodes.
    encoding : str, default=None
        Encoding of the file.

    Returns
    -------
    FoundSuggestions
        What is suggested for every document.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "d1.annif").write_text("<http://ex.org/football>\\tFootball\\t0.91\\n")
    >>> read_suggestions(folder, ["d1", "d2"], 2)
    FoundSuggestions(suggestions=[{'http://ex.org/football': 0.91}, None], note='1 of 2 documents found')
    """
    known = None if taxonomy is None else taxonomy.index_of
    folder = Path(path).is_dir()
    file = _read_folder(Path(path), encoding) if folder else read_label_file(path, known=known, encoding=encoding)
    if file.scores is None:
        raise DataError(f"{file.source} has labels without scores; a source of a mixture needs a score per label.")
    rows = [_row(file, i, taxonomy) for i in range(len(file))]
    if file.ids is None:
        if len(file) != n_docs:
            raise DataError(
                f"{file.source} has no ids and {len(file):,} entries for {n_docs:,} documents; without ids there is "
                "one entry per document."
            )
        return FoundSuggestions(list(rows), f"{n_docs:,} documents in the order of the file")
    if ids is None:
        raise DataError(f"The documents have no ids to find in {file.source}; name their column with id=...")
    by_id = dict(zip(file.ids, rows, strict=True))
    found = [by_id.get(PurePath(name).stem if folder and name not in by_id else name) for name in ids]
    n_found = sum(row is not None for row in found)
    if not n_found:
        raise DataError(
            f"No document is named in {file.source}: ids such as {ids[0]!r} were looked for, and it has "
            f"{file.ids[0]!r}{nearest(ids[0], file.ids)}"
        )
    return FoundSuggestions(found, f"{n_found:,} of {n_docs:,} documents found")


def _row(file: LabelFile, i: int, taxonomy: Taxonomy | None) -> dict[str, float]:
    """The labels of one entry with the largest of their scores."""
    row: dict[str, float] = {}
    for label, score in zip(file.labels[i], (file.scores or [])[i], strict=True):
        name = label
        if taxonomy is not None:
            v = taxonomy.lookup(label, replace=True)
            if v is None:
                hint = taxonomy.hint(label) or "."
                raise DataError(f"Label {label!r} ({place(file.source, file.lines[i])}) is not in the taxonomy{hint}")
            name = str(taxonomy.names[v])
        row[name] = max(score, row.get(name, score))
    return row


def _read_folder(folder: Path, encoding: str | None) -> LabelFile:
    """The files of a folder as the entries of one, by the names of the files without their endings."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in _ENDINGS)
    if not paths:
        raise DataError(f"{folder} has no file of suggestions; expected one per document, as d1.annif or d1.tsv.")
    labels, scores = [], []
    for path in paths:
        given = [(at, line.rstrip("\r\n")) for at, line in InputFile(path).lines(encoding)]
        suggested = annif.read([line for line in given if line[1].strip()], str(path))
        if suggested.scores is None and any(suggested.labels):
            raise DataError(f"{path} has labels without scores; a source of a mixture needs a score per label.")
        labels.append([label for row in suggested.labels for label in row])
        scores.append([score for row in suggested.scores or [] for score in row])
    return LabelFile(str(folder), labels, [0] * len(paths), [path.stem for path in paths], scores)


def join_suggestions(
    data: Dataset,
    files: Mapping[str, str | PathLike[str]],
    *,
    taxonomy: Taxonomy | None = None,
    encoding: str | None = None,
) -> Dataset:
    """Documents with the suggestions that label files have for them by id.

    Parameters
    ----------
    data : Dataset
        Documents with ids.
    files : dict of paths by the name of the source
        Label files with scores, in any format that `read_label_file` reads, or folders of Annif.
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None takes that of the data set.
    encoding : str, default=None
        Encoding of the files.

    Returns
    -------
    Dataset
        The same documents; ``documents`` are `SuggestedDocuments`, and notes count those that were found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "suggested.tsv")
    >>> _ = path.write_text("d2\\tSports\\t0.9\\n")
    >>> data = join_suggestions(Dataset(sequences=["a vote", "a goal"], ids=["d1", "d2"]), {"annif": path})
    >>> data.documents.suggestions["annif"].tolist(), data.notes
    ([None, {'Sports': 0.9}], {'suggestions of annif': '1 of 2 documents found'})
    """
    given, notes = dict(data.suggestions), dict(data.notes)
    for name, path in files.items():
        found = read_suggestions(path, data.ids, len(data), taxonomy=taxonomy or data.taxonomy, encoding=encoding)
        given[name], notes[f"suggestions of {name}"] = found.suggestions, found.note
    return replace(data, suggestions=given, notes=notes)
