"""Exact counts of more terms than fit into memory.

Counts grow in a dictionary. When it holds too many terms, it is written to a file, sorted by term, and emptied. In the
end the files are merged, term by term: the result is exact, and memory holds one dictionary and a block of each
file, whatever the number of documents.
"""

from __future__ import annotations

import heapq
import pickle
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

__all__ = ["SpilledCounter"]

_BLOCK = 10_000  # terms that are read from a file at a time


class SpilledCounter:
    """A counter of strings that moves to disk where it becomes large.

    Parameters
    ----------
    folder : Path
        Existing folder for its files, which belongs to this counter alone.
    max_terms : int
        Number of terms in memory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counter = SpilledCounter(Path(folder), max_terms=2)
    ...     for text in ("b a b", "c a", "b"):
    ...         counter.counts.update(text.split())
    ...         counter.spill_if_large()
    ...     list(counter.items()), len(counter.runs)
    ([('a', 2), ('b', 3), ('c', 1)], 1)
    """

    def __init__(self, folder: Path, max_terms: int) -> None:
        self.folder, self.max_terms = folder, max_terms
        self.counts: Counter[str] = Counter()
        self.runs: list[Path] = []

    def spill_if_large(self) -> None:
        """Write the counts to disk if there are too many; called from time to time, such as after a batch."""
        if len(self.counts) <= self.max_terms:
            return
        path = self.folder / f"{len(self.runs)}.run"
        with path.open("wb") as file:
            ordered = self._sorted()
            while block := list(islice(ordered, _BLOCK)):
                pickle.dump(block, file, protocol=5)
        self.runs.append(path)
        self.counts.clear()  # the same object: analysers may hold it

    def _sorted(self) -> Iterator[tuple[str, int]]:
        for term in sorted(self.counts):
            yield term, self.counts[term]

    def items(self) -> Iterator[tuple[str, int]]:
        """Terms in their order, each once with its count."""
        if not self.runs:
            yield from self._sorted()
            return
        merged = heapq.merge(*map(_read, self.runs), self._sorted(), key=itemgetter(0))
        for term, same in groupby(merged, key=itemgetter(0)):
            yield term, sum(count for _, count in same)


def _read(path: Path) -> Iterator[tuple[str, int]]:
    with path.open("rb") as file:
        while True:
            try:
                block = pickle.load(file)  # written above, in a folder of this process
            except EOFError:
                return
            yield from block
