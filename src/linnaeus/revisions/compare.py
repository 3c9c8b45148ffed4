"""What changed between two versions of a taxonomy, in the words of statistical classifications (UNECE GSIM).

Every old node o has *targets* T(o), the new nodes that it became: by a correspondence table, by its id, by a
replacement that the new version names, or proposed. S(n) are the old nodes with target n. A pair (o, n) is the *same*
node if the code is the same, or if nothing else is known to be involved: T(o) = {n} and S(n) = {o}; where several old
nodes became one, the one with the same label continues, and likewise where one became several. Then

    unchanged, recoded, renamed, moved      o and n are the same: other code, other label, other parents
    added, removed                          S(n) is empty, T(o) is empty
    merged                                  several o ended in a new n
    taken over                              o ended in an n that continues another node
    split                                   o ended in several n
    split off, transferred                  o continues, but a part of it became a new node, or went to another one that
                                            continues

A node may be recoded, renamed and moved at once, which are three changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from linnaeus.revisions.correspondence import CodePair, Correspondence
from linnaeus.revisions.similarity import label_similarity
from linnaeus.revisions.tables import Resolver
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.findings import EXAMPLES, Finding
from linnaeus.taxonomy.names import PATH_MARKS
from linnaeus.taxonomy.search import fold

__all__ = ["CHANGES", "Change", "Diff", "compare"]

CHANGES = (
    "added",
    "removed",
    "merged",
    "taken over",
    "split",
    "split off",
    "transferred",
    "moved",
    "renamed",
    "recoded",
)
OTHER_MEANING = 0.3  # similarity of labels below which a kept code is reported as reused


@dataclass(frozen=True)
class Change:
    """One change: its kind, the old and new nodes, and what else is known.

    Parameters
    ----------
    kind : str
        One of `CHANGES`.
    old : tuple of str
        Names of the old nodes; empty for added nodes.
    new : tuple of str
        Names of the new nodes; empty for removed nodes.
    detail : str, default=""
        What changed, in words.
    confidence : float, default=1.0
        Below 1 if it follows from pairs that were proposed.
    """

    kind: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    detail: str = ""
    confidence: float = 1.0


@dataclass(frozen=True)
class Diff:
    """The changes between two versions.

    Parameters
    ----------
    old, new : Taxonomy
        The versions.
    correspondence : Correspondence
        All pairs that were used: of the table, by equal codes, by replacements, and proposed ones.
    same : mapping of str to str
        New names of the old nodes that continue.
    changes : tuple of Change
        The changes, ordered by kind as in `CHANGES`, then by node.
    findings : tuple of Finding
        Problems of the table, and codes that were reused with another meaning.
    assumptions : tuple of str
        What was assumed where the input does not say.

    Examples
    --------
    >>> old = Taxonomy.from_edges([("A", "A1"), ("A", "A2"), ("B", "B1")], root=None)
    >>> new = Taxonomy.from_edges([("A", "A1"), ("B", "A2"), ("B", "B2")], root=None)
    >>> diff = compare(old, new, Correspondence.from_pairs([("B1", "B2")]), propose=False)
    >>> diff.counts
    {'moved': 1, 'renamed': 1}
    """

    old: Taxonomy
    new: Taxonomy
    correspondence: Correspondence
    same: Mapping[str, str]
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of changes of each kind that occurs."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in CHANGES if found[kind]}

    @property
    def versions(self) -> dict[str, str]:
        """Fingerprints of the old and of the new taxonomy, and of the table of all pairs."""
        return {
            "old_taxonomy": self.old.fingerprint,
            "new_taxonomy": self.new.fingerprint,
            "table": self.correspondence.fingerprint,
        }

    @property
    def n_unchanged(self) -> int:
        """Number of old nodes that no change mentions."""
        touched = {name for change in self.changes for name in change.old}
        return sum(name not in touched for name in self.old.names)

    def of(self, kind: str) -> list[Change]:
        """The changes of one kind."""
        return [change for change in self.changes if change.kind == kind]

    @cached_property
    def by_old(self) -> dict[str, list[Change]]:
        """The changes that mention each old node."""
        found: dict[str, list[Change]] = {}
        for change in self.changes:
            for name in change.old:
                found.setdefault(name, []).append(change)
        return found

    @property
    def proposals(self) -> list[CodePair]:
        """The pairs that were proposed and should be confirmed, least sure first."""
        return sorted(
            (pair for pair in self.correspondence.pairs if pair.origin == "proposal"), key=lambda p: p.confidence
        )

    @property
    def ok(self) -> bool:
        """Whether there are no errors among the findings."""
        return not any(finding.severity == "error" for finding in self.findings)


def compare(
    old: Taxonomy,
    new: Taxonomy,
    correspondence: Correspondence | None = None,
    *,
    propose: bool = True,
    least_confidence: float = 0.5,
    documents: tuple[Iterable[Iterable[str]], Iterable[Iterable[str]]] | None = None,
) -> Diff:
    """Compare two versions of a taxonomy.

    Parameters
    ----------
    old, new : Taxonomy
        The versions.
    correspondence : Correspondence, default=None
        A table from old to new nodes. Old nodes that it does not mention are taken by their code, then by replacements.
    propose : bool, default=True
        Whether targets of old nodes that have none are proposed from texts and structure.
    least_confidence : float, default=0.5
        Proposals that are less sure are not used.
    documents : (iterable of label lists, iterable of label lists), default=None
        Labels of the same documents in the old and in the new version, in the same order, as evidence for proposals.

    Returns
    -------
    Diff
        The changes.

    Examples
    --------
    >>> old = Taxonomy.from_edges([("Top", "Ball games"), ("Ball games", "Tennis"), ("Ball games", "Footbal")])
    >>> new = Taxonomy.from_edges([("Top", "Ball sports"), ("Ball sports", "Tennis"), ("Ball sports", "Football")])
    >>> [(change.kind, change.old, change.new) for change in compare(old, new).changes]
    [('renamed', ('Ball games',), ('Ball sports',)), ('renamed', ('Footbal',), ('Football',))]
    """
    table = Correspondence(()) if correspondence is None else correspondence
    known, findings, assumptions = _known_pairs(old, new, table, correspondence is not None)
    if propose:
        from linnaeus.revisions.propose import propose_pairs

        settled = {pair.old for pair in known} | set(table.without_target)
        open_nodes = [str(name) for name in old.names if name not in settled]
        proposed = propose_pairs(old, new, Correspondence(tuple(known)), open_nodes, documents=documents)
        taken = [pairs[0] for pairs in proposed.values() if pairs and pairs[0].confidence >= least_confidence]
        if taken:
            assumptions.append(
                f"{len(taken):,} old nodes were paired with new ones by texts and structure; these proposals should be "
                "confirmed."
            )
        known += taken
    pairs = Correspondence(tuple(known), table.without_target, table.source, table.notes)
    changes, same = _Changes(old, new, pairs).all()
    return Diff(old, new, pairs, same, changes, tuple(findings), tuple(assumptions))


def _known_pairs(
    old: Taxonomy, new: Taxonomy, table: Correspondence, given: bool
) -> tuple[list[CodePair], list[Finding], list[str]]:
    """The pairs that are not proposed, problems, and assumptions."""
    findings = table.problems(old, new) if given else []
    assumptions = list(table.notes)
    valid = [pair for pair in table.pairs if pair.old in old.index_of and pair.new in new.index_of]
    if len(valid) < len(table.pairs):
        assumptions.append(f"{len(table.pairs) - len(valid):,} pairs of the table with unknown codes are left out.")
    in_table = {pair.old for pair in valid}
    ended = set(table.without_target) - in_table
    pairs = list(valid)
    by_code = [str(name) for name in old.names if name in new.index_of and name not in in_table and name not in ended]
    if given and by_code:
        assumptions.append(
            f"{len(by_code):,} codes that the table does not mention are in both versions and taken as kept."
        )
    reused = _reused(old, new, by_code)
    findings += _finding_reused(old, new, reused)
    labels = _unique_labels(new)
    elsewhere = {name: labels.get(fold(old.display(name))) for name in reused}
    moved_on = {name: target for name, target in elsewhere.items() if target is not None and target not in old.index_of}
    if moved_on:
        assumptions.append(
            f"{len(moved_on):,} codes have another meaning in the new version; their old labels are at other codes "
            "there, which are taken."
        )
    for name in by_code:
        target = moved_on.get(name, name)
        pairs.append(CodePair(name, target, origin="id" if target == name else "match"))
    other_form = _other_form(old, new, in_table | ended)
    if other_form:
        assumptions.append(
            f"{len(other_form):,} codes of one version are the last steps of IRIs in the other and taken as kept."
        )
    pairs += [CodePair(name, target, origin="id") for name, target in other_form.items()]
    for name in map(str, old.names):
        if name in in_table or name in ended or name in new.index_of or name in other_form:
            continue
        targets: tuple[str, ...] = (new.aliases[name],) if name in new.aliases else ()
        if name in new.deprecated:
            targets = new.deprecated[name].replaced_by
        pairs += [CodePair(name, target, origin="replacement") for target in targets]
    if _named_by_paths(old) and _named_by_paths(new):
        assumptions.append("Names are whole paths: a node below a renamed or moved one has another name, too.")
    if (old.kind == "dag") or (new.kind == "dag"):
        assumptions.append("Where nodes have several parents, one more or one fewer counts as moved.")
    return pairs, findings, assumptions


def _other_form(old: Taxonomy, new: Taxonomy, settled: set[str]) -> dict[str, str]:
    """Old codes that are codes of the new version if IRIs count by their last steps; only if most nodes are such."""
    resolve = Resolver(new)
    missing = [str(name) for name in old.names if name not in new.index_of]
    found = {name: target for name in missing if (target := resolve.code(name)) and name not in new.aliases}
    enough = len(set(found.values())) == len(found) and 2 * len(found) >= min(old.n_nodes, new.n_nodes)
    return {name: target for name, target in found.items() if name not in settled} if enough else {}


def _reused(old: Taxonomy, new: Taxonomy, names: list[str]) -> list[str]:
    """Codes in both versions whose labels have nothing in common, also not their alternative labels."""
    found = []
    for name in names:
        before, after = old.display(name), new.display(name)
        if before != after and name not in (before, after) and label_similarity(before, after) < OTHER_MEANING:
            texts = [entry.text for entry in new.texts.of(new.index_of[name], ("preferred", "alternative", "hidden"))]
            texts_before = [
                entry.text for entry in old.texts.of(old.index_of[name], ("preferred", "alternative", "hidden"))
            ]
            if not {fold(text) for text in texts} & {fold(text) for text in texts_before}:
                found.append(name)
    return found


def _finding_reused(old: Taxonomy, new: Taxonomy, names: list[str]) -> list[Finding]:
    if not names:
        return []
    shown = [f"{name}: {old.display(name)!r} was, {new.display(name)!r} is" for name in names[:EXAMPLES]]
    return [Finding("warning", "code-reused", "codes with another text in the new version", len(names), shown)]


def _unique_labels(taxonomy: Taxonomy) -> dict[str, str]:
    count = Counter(fold(taxonomy.display(v)) for v in range(taxonomy.n_nodes))
    return {
        fold(taxonomy.display(v)): str(name)
        for v, name in enumerate(taxonomy.names)
        if count[fold(taxonomy.display(v))] == 1
    }


def _named_by_paths(taxonomy: Taxonomy) -> bool:
    """Whether most names below the top begin with the name of their parent and a mark of paths."""
    below = [(str(name), taxonomy.parents(v)) for v, name in enumerate(taxonomy.names) if len(taxonomy.parents(v))][
        :1000
    ]
    starts = [
        any(name.startswith(str(taxonomy.names[p]) + mark) for p in parents for mark in PATH_MARKS)
        for name, parents in below
    ]
    return sum(starts) > 0.9 * len(starts) > 0


class _Changes:
    """The changes that follow from the pairs."""

    def __init__(self, old: Taxonomy, new: Taxonomy, pairs: Correspondence) -> None:
        self.old, self.new, self.pairs = old, new, pairs
        self.targets, self.sources = pairs.targets, pairs.sources
        self.confidence = {pair[:2]: pair.confidence for pair in pairs.pairs}
        self.kind = {pair[:2]: pair.kind for pair in pairs.pairs}
        self.same = self._same()
        self.continued = {new: old for old, new in self.same.items()}
        self.old_root, self.new_root = self._roots()

    def all(self) -> tuple[tuple[Change, ...], dict[str, str]]:
        found = [*self._ended(), *self._added(), *self._continued()]
        order = {kind: i for i, kind in enumerate(CHANGES)}
        return tuple(sorted(found, key=lambda change: order[change.kind])), self.same

    def _roots(self) -> tuple[int | None, int | None]:
        """The roots, which do not count as parents; a root that is an ordinary node in the other version counts."""
        old, new = self.old.root, self.new.root
        became = set() if old is None else set(self.targets.get(str(self.old.names[old]), ()))
        was = set() if new is None else set(self.sources.get(str(self.new.names[new]), ()))
        only_old = became <= (set() if new is None else {str(self.new.names[new])})
        only_new = was <= (set() if old is None else {str(self.old.names[old])})
        return (old if only_old else None), (new if only_new else None)

    def _same(self) -> dict[str, str]:
        targets, sources = self.targets, self.sources
        same: dict[str, str] = {}
        taken: set[str] = set()

        def take(o: str, n: str) -> None:
            if o not in same and n not in taken:
                same[o] = n
                taken.add(n)

        for o in targets:
            if o in targets[o]:
                take(o, o)
        for (o, n), kind in self.kind.items():
            if kind == "exact":
                take(o, n)
        for o, news in targets.items():
            if len(news) == 1 and len(sources[news[0]]) == 1:
                take(o, news[0])
        for n, olds in sources.items():
            if n in taken or len(olds) == 1:
                continue
            whole = [o for o in olds if o not in same and len(targets[o]) == 1]
            alike = [o for o in whole if self._same_label(o, n)]
            if len(alike) == 1 or (len(whole) == 1 and not alike):
                take((alike or whole)[0], n)
        for o, news in targets.items():
            alike = [n for n in news if n not in taken and self._same_label(o, n)] if o not in same else []
            if len(alike) == 1:
                take(o, alike[0])
        return same

    def _same_label(self, o: str, n: str) -> bool:
        return fold(self.old.display(o)) == fold(self.new.display(n))

    def _sure(self, olds: Iterable[str], news: Iterable[str]) -> float:
        news = tuple(news)
        return min((self.confidence.get((o, n), 1.0) for o in olds for n in news), default=1.0)

    def _ended(self) -> Iterator[Change]:
        """What became of old nodes that do not continue, and of the parts that continuing ones gave away."""
        merged: dict[str, list[str]] = {}
        for o in map(str, self.old.names):
            news = self.targets.get(o, ())
            rest = tuple(n for n in news if n != self.same.get(o))
            if not news:
                yield Change("removed", (o,), (), self._place(o))
            elif o in self.same:
                fresh = tuple(n for n in rest if n not in self.continued)
                if fresh:
                    yield Change("split off", (o,), fresh, f"of {self.same[o]}", self._sure([o], fresh))
                for n in rest:
                    if n in self.continued:
                        yield Change(
                            "transferred",
                            (o,),
                            (n,),
                            f"a part, to what was {self._named(self.old, self.continued[n])}",
                            self._sure([o], [n]),
                        )
            elif len(news) > 1:
                yield Change("split", (o,), news, f"into {len(news)}", self._sure([o], news))
            elif news[0] in self.continued:
                detail = f"by what was {self._named(self.old, self.continued[news[0]])}"
                yield Change("taken over", (o,), news, detail, self._sure([o], news))
            else:
                merged.setdefault(news[0], []).append(o)
        for n, olds in merged.items():
            yield Change("merged", tuple(olds), (n,), f"{len(olds)} into one", self._sure(olds, [n]))

    def _place(self, o: str) -> str:
        """Where the node was: its parents that continue."""
        above = [self.same[str(self.old.names[p])] for p in self.old.parents(o) if str(self.old.names[p]) in self.same]
        return f"was below {', '.join(self._named(self.new, name) for name in above[:3])}" if above else ""

    def _added(self) -> Iterator[Change]:
        for v, n in enumerate(self.new.names):
            if n not in self.sources:
                above = [
                    self._named(self.new, str(self.new.names[p])) for p in self.new.parents(v) if p != self.new_root
                ]
                yield Change("added", (), (str(n),), f"below {', '.join(above[:3])}" if above else "at the top")

    def _continued(self) -> Iterator[Change]:
        for o, n in self.same.items():
            sure = self._sure([o], [n])
            before, after = self.old.display(o), self.new.display(n)
            shown = before != o or after != n  # nodes without labels are shown by their names
            if o != n and shown:
                yield Change("recoded", (o,), (n,), f"{o} is {n}", sure)
            if before != after:
                spelling = " (spelling)" if fold(before) == fold(after) else ""
                yield Change("renamed", (o,), (n,), f"{before!r} is {after!r}{spelling}", sure)
            moved = self._moved(o, n)
            if moved:
                yield Change("moved", (o,), (n,), moved, sure)

    def _moved(self, o: str, n: str) -> str:
        """What changed about the parents; empty if they correspond."""
        above = [str(self.old.names[p]) for p in self.old.parents(o) if p != self.old_root]
        now = [str(self.new.names[p]) for p in self.new.parents(n) if p != self.new_root]
        images = {p: self.targets.get(p, ()) for p in above}
        reached = {q for image in images.values() for q in image}
        gained = [q for q in now if q not in reached]
        lost = [p for p, image in images.items() if not set(image) & set(now)]
        said = []
        if lost:
            said.append(f"from {', '.join(self._named(self.old, p) for p in lost[:3])}")
        elif gained and above:
            said.append("also")
        if gained:
            said.append(f"to {', '.join(self._named(self.new, q) for q in gained[:3])}")
        elif lost and now:
            said.append("(the other parents are kept)")
        elif lost:
            said.append("to the top")
        elif gained and not above:
            said.insert(0, "from the top")
        return " ".join(said)

    @staticmethod
    def _named(taxonomy: Taxonomy, name: str) -> str:
        label = taxonomy.display(name)
        return name if label == name else f"{name} ({label})"
