"""Correspondences between two versions of a taxonomy: which new nodes an old node became.

A correspondence is a list of pairs (old, new). An old node with one pair is *univocal*, with several it is
*multivocal*: its documents have to be divided among them. A pair has a kind, as in SKOS: "exact" (same meaning),
"close", "broad" (the new node is broader), "narrow" (the new node covers a part of the old one), or "" if the source
does not say. Its weight is proportional to the share of the documents of the old node that belong to the new one.

How files are read is in `linnaeus.revisions.tables`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from linnaeus.errors import ParameterError
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.findings import EXAMPLES, Finding

__all__ = ["KINDS", "CodePair", "Correspondence"]

KINDS = ("exact", "close", "broad", "narrow", "")
_INVERSE = {"broad": "narrow", "narrow": "broad"}


class CodePair(NamedTuple):
    """One pair of a correspondence.

    Parameters
    ----------
    old : str
        Name of the old node.
    new : str
        Name of the new node.
    kind : str, default=""
        "exact", "close", "broad" (the new node is broader), "narrow", or "" if it is not stated.
    weight : float, default=1.0
        Proportional to the share of the documents of the old node that belong to the new one.
    confidence : float, default=1.0
        How sure the pair is; below 1 for pairs that were proposed.
    origin : str, default="table"
        Where the pair comes from: "table", "id", "replacement", "match" or "proposal".
    """

    old: str
    new: str
    kind: str = ""
    weight: float = 1.0
    confidence: float = 1.0
    origin: str = "table"


@dataclass(frozen=True)
class Correspondence:
    """Pairs of old and new nodes.

    Parameters
    ----------
    pairs : tuple of CodePair
        The pairs, in the order of the source.
    without_target : tuple of str, default=()
        Old nodes that the source lists without a new node.
    source : str, default=None
        Name of the file, for messages.
    notes : tuple of str, default=()
        How the source was read, such as the columns that were taken.

    Examples
    --------
    >>> table = Correspondence.from_pairs([("01", "A1"), ("02", "A1"), ("03", "A2"), ("03", "A3")])
    >>> table.targets["03"], table.sources["A1"], table.multivocal
    (('A2', 'A3'), ('01', '02'), ('03',))
    """

    pairs: tuple[CodePair, ...]
    without_target: tuple[str, ...] = ()
    source: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the pairs, their kinds and weights and the nodes without a target, whatever their order."""
        shown = {weight: f"{weight:.12g}" for weight in {pair.weight for pair in self.pairs}}
        rows = sorted((pair.old, pair.new, pair.kind, shown[pair.weight]) for pair in self.pairs)
        text = json.dumps([rows, sorted(self.without_target)], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @classmethod
    def from_pairs(cls, pairs: Iterable[Sequence[object]], without_target: Iterable[str] = ()) -> Correspondence:
        """Create a correspondence from pairs, optionally with kind and weight; repeated pairs are dropped.

        Parameters
        ----------
        pairs : iterable of (old, new), (old, new, kind) or (old, new, kind, weight)
            Names of nodes; `CodePair` objects are taken as they are.
        without_target : iterable of str, default=()
            Old nodes that have no new node.

        Returns
        -------
        Correspondence
            The correspondence.

        Examples
        --------
        >>> Correspondence.from_pairs([("a", "b", "exact"), ("c", "d", "narrow", 0.3)]).pairs[1].weight
        0.3
        """
        found: dict[tuple[str, str], CodePair] = {}
        for given in pairs:
            pair = given if isinstance(given, CodePair) else _pair(given)
            found.setdefault((pair.old, pair.new), pair)
        return cls(tuple(found.values()), tuple(dict.fromkeys(without_target)))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        old: Taxonomy,
        new: Taxonomy,
        *,
        columns: tuple[str, str] | None = None,
        encoding: str | None = None,
    ) -> Correspondence:
        """Read a table (CSV, TSV, Excel), rules (YAML, JSON) or RDF (SKOS matches, XKOS, replacements).

        Parameters
        ----------
        path : str or path-like
            The file; ``-`` is standard input.
        old, new : Taxonomy
            The two versions. The columns of a table are found by the codes that they contain.
        columns : (str, str), default=None
            Names or numbers (from 1) of the columns of old and new codes, instead of finding them.
        encoding : str, default=None
            The encoding; UTF-8 by default.

        Returns
        -------
        Correspondence
            The pairs as the file gives them; `problems` compares them with the versions.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
        >>> _ = file.write_text("title,NACE 2,NACE 2.1\\nCrops,01,A1\\nFish,02,A1\\n")
        >>> table = Correspondence.read(file, Taxonomy.flat(["01", "02"]), Taxonomy.flat(["A1", "A2"]))
        >>> table.targets
        {'01': ('A1',), '02': ('A1',)}
        """
        from linnaeus.revisions import tables

        return tables.read(path, old, new, columns=columns, encoding=encoding)

    @cached_property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """New nodes of every old node that has some."""
        return _grouped((pair.old, pair.new) for pair in self.pairs)

    @cached_property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """Old nodes of every new node that has some."""
        return _grouped((pair.new, pair.old) for pair in self.pairs)

    @cached_property
    def by_old(self) -> dict[str, list[CodePair]]:
        """The pairs of every old node that has some."""
        found: dict[str, list[CodePair]] = {}
        for pair in self.pairs:
            found.setdefault(pair.old, []).append(pair)
        return found

    @property
    def univocal(self) -> tuple[str, ...]:
        """Old nodes with exactly one new node."""
        return tuple(old for old, news in self.targets.items() if len(news) == 1)

    @property
    def multivocal(self) -> tuple[str, ...]:
        """Old nodes with several new nodes."""
        return tuple(old for old, news in self.targets.items() if len(news) > 1)

    def shares(self, old: str) -> dict[str, float]:
        """Share of the documents of an old node that belongs to each of its new nodes, by the weights.

        Examples
        --------
        >>> Correspondence.from_pairs([("a", "b", "", 3.0), ("a", "c")]).shares("a")
        {'b': 0.75, 'c': 0.25}
        """
        weights = {pair.new: pair.weight for pair in self.by_old.get(old, ())}
        total = sum(weights.values())
        return {new: weight / total if total > 0 else 1 / len(weights) for new, weight in weights.items()}

    def inverse(self) -> Correspondence:
        """The correspondence from the new version to the old one."""
        turned = (
            pair._replace(old=pair.new, new=pair.old, kind=_INVERSE.get(pair.kind, pair.kind)) for pair in self.pairs
        )
        return replace(self, pairs=tuple(turned), without_target=())

    def problems(self, old: Taxonomy, new: Taxonomy) -> list[Finding]:
        """Compare the pairs with the two versions, and with each other.

        Parameters
        ----------
        old, new : Taxonomy
            The two versions.

        Returns
        -------
        list of Finding
            Codes that do not exist, old nodes without a target, cycles, and contradictions; errors first.

        Examples
        --------
        >>> table = Correspondence.from_pairs([("a", "x"), ("q", "x")])
        >>> [f.code for f in table.problems(Taxonomy.flat(["a", "b"]), Taxonomy.flat(["x"]))]
        ['unknown-old-code', 'source-without-target']
        """
        unknown_old = [
            name for name in dict.fromkeys([*self.targets, *self.without_target]) if name not in old.index_of
        ]
        unknown_new = [name for name in self.sources if name not in new.index_of]
        found = [
            *_unknown("unknown-old-code", "codes of the table that are not nodes of the old version", unknown_old, old),
            *_unknown("unknown-new-code", "codes of the table that are not nodes of the new version", unknown_new, new),
        ]
        both = [name for name in self.without_target if name in self.targets]
        found += _finding("error", "contradiction", "old nodes that are listed both with and without a target", both)
        exact = Counter(pair.old for pair in self.pairs if pair.kind == "exact")
        several = [f"{name}: {', '.join(self.targets[name][:5])}" for name in exact if len(self.targets[name]) > 1]
        found += _finding("warning", "exact-and-more", "old nodes with an exact match and further targets", several)
        silent = [
            name
            for name in old.names
            if name not in self.targets and (name in self.without_target or name not in new.index_of)
        ]
        shown = [_shown(old, name) for name in silent]
        found += _finding("warning", "source-without-target", "old nodes without a new node", shown)
        cycles = [" > ".join(cycle) for cycle in self._cycles(old, new)]
        found += _finding(
            "warning",
            "table-cycle",
            "codes that are replaced in a circle (codes were exchanged, or rows are wrong)",
            cycles,
        )
        return sorted(found, key=lambda one: ("error", "warning", "info").index(one.severity))

    def _cycles(self, old: Taxonomy, new: Taxonomy) -> list[list[str]]:
        """Circles of codes that exist in both versions and are each replaced by the next."""
        one = {a: b for a, (b, *more) in self.targets.items() if not more and a != b}
        shared = {a: b for a, b in one.items() if a in old.index_of and b in old.index_of and a in new.index_of}
        found: list[list[str]] = []
        done: set[str] = set()
        for start in shared:
            path: dict[str, None] = {}
            at: str | None = start
            while at is not None and at not in path and at not in done:
                path[at] = None
                at = shared.get(at)
            if at in path:
                names = list(path)
                cycle = names[names.index(str(at)) :]
                found.append([*cycle, cycle[0]])
            done.update(path)
        return found


def _pair(given: Sequence[object]) -> CodePair:
    if not 2 <= len(given) <= 4 or isinstance(given, str):
        raise ParameterError(
            f"{given!r} is not a pair; expected (old, new), with a kind and a weight if they are known."
        )
    kind = str(given[2]) if len(given) > 2 else ""
    weight = float(str(given[3])) if len(given) > 3 else 1.0
    if kind not in KINDS:
        raise ParameterError(f"{kind!r} is not a kind of pair; expected one of {', '.join(filter(None, KINDS))}.")
    if not 0 <= weight < float("inf"):
        raise ParameterError(f"The weight {weight!r} of {given[0]!r} > {given[1]!r} is not a number from 0.")
    return CodePair(str(given[0]), str(given[1]), kind, weight)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for key, value in pairs:
        found.setdefault(key, {})[value] = None
    return {key: tuple(values) for key, values in found.items()}


def _shown(taxonomy: Taxonomy, name: str) -> str:
    label = taxonomy.display(name)
    return name if label == name else f"{name} ({label})"


def _finding(severity: str, code: str, message: str, examples: list[str]) -> list[Finding]:
    return [Finding(severity, code, message, len(examples), examples[:EXAMPLES])] if examples else []


def _unknown(code: str, message: str, names: list[str], taxonomy: Taxonomy) -> list[Finding]:
    hints = [name + taxonomy.hint(name).removesuffix(".") for name in names[:EXAMPLES]]
    return [Finding("error", code, message, len(names), hints)] if names else []
