"""Labelled documents of an old version, recoded to a new one.

Labels with one new node are recoded by the correspondence (*univocal*). A label with several is decided among exactly
these (`linnaeus.migration.candidates`), if the promised risk allows it; what is left is a queue for people. Cases that
were coded by hand teach the decision and, hidden from it in turn, are what promises and curves are derived from. This
assumes that they are a random sample of the cases, or harder ones, such as the first of the queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from linnaeus.data.matrices import is_sparse
from linnaeus.decoding.probability.risk import check_promise, promised_threshold
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.migration.candidates import (
    DEFAULT_FACTORS,
    Families,
    SplitFamily,
    family_scores,
    fit_factors,
    probabilities,
    without_cases,
)
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, FloatArray

if TYPE_CHECKING:
    from linnaeus.revisions import Correspondence, Diff

__all__ = ["STATUSES", "Case", "CellCount", "HandCodingPoint", "MigratedDocuments", "double_code", "migrate_documents"]

STATUSES = ("univocal", "decided", "hand", "review", "lost")
_FOLDS = 3
_CURVE = (0.0, 0.25, 0.5, 1.0)
_NORMAL = 1.6448536269514722  # 90% of a normal distribution lie within this number of standard deviations


@dataclass(frozen=True)
class Case:
    """A label of a document that has several new nodes.

    Attributes
    ----------
    document : int
        Number of the document.
    old : str
        The old label.
    candidates : tuple of str
        Its new nodes, most probable first.
    probabilities : tuple of float
        Their probabilities.
    by : {"hand", "model", "nobody"}
        Who decided it.
    labels : tuple of str
        What was decided; empty where nobody did.
    """

    document: int
    old: str
    candidates: tuple[str, ...]
    probabilities: tuple[float, ...]
    by: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class HandCodingPoint:
    """Accuracy among candidates, on cases that were hidden, with some number of cases coded by hand."""

    coded: int
    accuracy: float
    tested: int


@dataclass(frozen=True)
class CellCount:
    """Number of documents of a new node, with an interval that contains it in about 90% of cells.

    ``certain`` are those that follow from the table or from codes given by hand.
    """

    node: str
    certain: int
    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class MigratedDocuments:
    """The result of `migrate_documents`.

    Attributes
    ----------
    labels : list of list of str
        New labels of each document, as far as they are decided.
    statuses : list of str
        "univocal", "decided", "hand", "review" (a label is undecided) or "lost" (no label has a new node).
    cases : list of Case
        All labels with several new nodes.
    threshold : float
        Cases of a larger probability were decided.
    calibrated : bool
        Whether probabilities were calibrated on cases coded by hand.
    curve : list of HandCodingPoint
        Accuracy by the number of cases coded by hand.
    lost : Counter
        Old labels without a new node, and how many documents have them.
    notes : list of str
        Assumptions, and what could not be done.
    """

    old: Taxonomy
    new: Taxonomy
    correspondence: Correspondence
    labels: list[list[str]]
    statuses: list[str]
    cases: list[Case]
    threshold: float
    calibrated: bool
    curve: list[HandCodingPoint]
    recoded: Counter[str]
    lost: Counter[str]
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Number of documents by status."""
        found = Counter(self.statuses)
        return {status: found[status] for status in STATUSES if found[status]}

    @cached_property
    def queue(self) -> list[Case]:
        """Undecided cases, most useful first.

        A case is useful if it is uncertain and if many of its family are. With every case taken from a family the next
        ones become less useful: families take turns, in proportion to the errors that are expected in them.
        """
        undecided = [case for case in self.cases if case.by == "nobody"]
        uncertainty = {id(case): 1.0 - case.probabilities[0] for case in undecided}
        errors: dict[str, float] = {}
        for case in undecided:
            errors[case.old] = errors.get(case.old, 0.0) + uncertainty[id(case)]
        place: Counter[str] = Counter()
        useful = []
        for case in sorted(undecided, key=lambda case: (-uncertainty[id(case)], case.document)):
            place[case.old] += 1
            useful.append((-errors[case.old] / place[case.old], case.document, case.old, case))
        return [case for *_, case in sorted(useful, key=lambda entry: entry[:3])]

    @cached_property
    def cells(self) -> list[CellCount]:
        """Numbers of documents of the new nodes, with intervals, in the order of the taxonomy.

        A decision of the model counts as its probabilities, not as certain. The variance is that of independent cases,
        and of the shares of each family, which are known from as many cases as were coded by hand in it.
        """
        certain: Counter[str] = Counter()
        for row in self._certain:
            certain.update(row)
        expected: dict[str, float] = {node: float(n) for node, n in certain.items()}
        variance: dict[str, float] = {}
        by_family: dict[str, list[Case]] = {}
        for case in self.cases:
            by_family.setdefault(case.old, []).append(case)
        for cases in by_family.values():
            n_hand = sum(case.by == "hand" for case in cases)
            total: dict[str, float] = {}
            n_open = len(cases) - n_hand
            for case in cases:
                for node, p in zip(case.candidates, case.probabilities, strict=True) if case.by != "hand" else ():
                    total[node] = total.get(node, 0.0) + p
                    variance[node] = variance.get(node, 0.0) + p * (1 - p)
            for node, sum_ in total.items():
                share = sum_ / n_open
                expected[node] = expected.get(node, 0.0) + sum_
                variance[node] += n_open**2 * share * (1 - share) / (n_hand + len(total) + 1)
        order = sorted(expected, key=self.new.index)
        found = []
        for node in order:
            away, n = _NORMAL * variance.get(node, 0.0) ** 0.5, certain[node]
            most = n + sum(node in case.candidates for case in self.cases if case.by != "hand") if away else n
            low, high = max(float(n), expected[node] - away), min(float(most), expected[node] + away)
            found.append(CellCount(node, n, expected[node], low, high))
        return found

    @property
    def _certain(self) -> list[set[str]]:
        """Labels of each document that are certain."""
        decided: dict[int, set[str]] = {}
        for case in self.cases:
            if case.by == "model":
                decided.setdefault(case.document, set()).update(case.labels)
        return [set(row) - decided.get(d, set()) for d, row in enumerate(self.labels)]

    @property
    def accuracy(self) -> float | None:
        """Accuracy on hidden cases with all others that were coded by hand; None where there are none."""
        return self.curve[-1].accuracy if self.curve else None


def migrate_documents(
    revision: Diff,
    documents: object,
    labels: Sequence[Sequence[str]],
    *,
    hand: Mapping[int, Sequence[str]] | None = None,
    features: object = None,
    risk: float | None = None,
    risk_of: str = "answered",
    confidence: float | None = None,
    random_state: int = 0,
) -> MigratedDocuments:
    """Recode labelled documents from the old version of a taxonomy to the new one.

    Parameters
    ----------
    revision : Diff
        The two versions and their correspondence, of `linnaeus.revisions.compare`.
    documents : sequence of str, mapping of fields, or matrix
        The documents: texts, or features that are not negative.
    labels : sequence of sequence of str
        Labels of the old version.
    hand : mapping of int to sequence of str, default=None
        New labels of documents that were coded by hand, by the number of the document. They decide the old labels whose
        candidates they are; old labels with one new node are recoded as in other documents.
    features : transformer, default=None
        Features of texts; default: `TextFeatures` with words and sublinear frequencies.
    risk : float, default=None
        The largest share of wrong decisions; None decides every case.
    risk_of : {"answered", "all"}, default="answered"
        What the share is of: the cases that are decided, or all cases.
    confidence : float, default=None
        The probability with which the promise holds; see `TaxonomyClassifier.predict`.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    MigratedDocuments
        New labels, undecided cases in the order in which to code them, and counts.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.revisions import Correspondence, compare
    >>> old, new = Taxonomy.flat(["pets", "cars"]), Taxonomy.flat(["cats", "dogs", "cars"])
    >>> table = Correspondence.from_pairs([("pets", "cats"), ("pets", "dogs")])
    >>> texts = ["the cats purr", "dogs bark", "two cats", "an engine"]
    >>> revision = compare(old, new, table, propose=False)
    >>> found = migrate_documents(revision, texts, [["pets"], ["pets"], ["pets"], ["cars"]])
    >>> found.labels, found.counts
    ([['cats'], ['dogs'], ['cats'], ['cars']], {'univocal': 1, 'decided': 3})
    """
    if risk is not None:
        check_promise(risk, risk_of, confidence)
    old, new, table = revision.old, revision.new, revision.correspondence
    given = _checked_labels(labels, old)
    coded = _checked_hand(hand or {}, len(given), new)
    targets = {name: table.targets.get(name, ()) for name in {label for row in given for label in row}}
    notes = list(revision.assumptions)
    lost = Counter(label for row in given for label in row if not targets[label])
    if lost:
        shown = ", ".join(repr(label) for label, _ in lost.most_common(3))
        notes.append(f"{lost.total():,} labels have no new node and are left out: {shown}.")
    families = _families(given, targets, table, new)
    n_docs = _number_of(documents)
    if n_docs != len(given):
        raise DataError(f"There are {n_docs:,} documents and labels of {len(given):,}.")
    X = texts = sparse.csr_array((0, 0))
    if families:
        X, texts = _features(documents, new, features, notes)
    certain = new.indicator(
        [[*coded.get(d, ()), *(targets[v][0] for v in row if len(targets[v]) == 1)] for d, row in enumerate(given)]
    )
    data = Families(families, X, texts, certain)
    covered = {d for d, row in coded.items() if _covers(row, given[d], targets)}
    known, outside = _known_cases(data, coded, covered, new)
    if outside:
        notes.append(
            f"{outside:,} cases coded by hand have no label among their candidates; their labels are kept as they are "
            "and teach nothing."
        )
    factors, hidden, curve = _held_out(data, known, random_state)
    threshold = _threshold(hidden, factors, risk, risk_of, confidence, notes) if families else 0.0
    cases = _decided(data, known, coded, covered, factors, threshold if risk is not None else 0.0, new)
    result, statuses = _recoded(given, targets, coded, cases)
    recoded = Counter(label for d, row in enumerate(given) for label in row if len(targets[label]) == 1)
    return MigratedDocuments(
        old, new, table, result, statuses, cases, threshold if risk is not None else 0.0,
        len(hidden) > 0, curve, recoded, lost, notes,
    )  # fmt: skip


# -- input -------------------------------------------------------------------------------------------------------------


def _checked_labels(labels: Sequence[Sequence[str]], old: Taxonomy) -> list[list[str]]:
    found = [[row] if isinstance(row, str) else [str(label) for label in row] for row in labels]
    for d, row in enumerate(found):
        for label in row:
            if label not in old:
                raise DataError(f"Label {label!r} of document {d} is not in the old version{nearest(label, old.names)}")
    return [list(dict.fromkeys(row)) for row in found]


def _checked_hand(hand: Mapping[int, Sequence[str]], n_docs: int, new: Taxonomy) -> dict[int, list[str]]:
    found = {}
    for d, row in hand.items():
        if not 0 <= d < n_docs:
            raise DataError(f"hand has document {d}; expected numbers from 0 to {n_docs - 1}.")
        for label in row:
            if label not in new:
                raise DataError(
                    f"Label {label!r} coded by hand for document {d} is not in the new version"
                    f"{nearest(label, new.names)}"
                )
        found[int(d)] = list(dict.fromkeys(row))
    return found


def _families(
    given: list[list[str]], targets: Mapping[str, tuple[str, ...]], table: Correspondence, new: Taxonomy
) -> list[SplitFamily]:
    rows: dict[str, list[int]] = {}
    for d, row in enumerate(given):
        for label in row:
            if len(targets[label]) > 1:
                rows.setdefault(label, []).append(d)
    found = []
    for label in sorted(rows):
        shares = table.shares(label)
        numbers = np.array([new.index(name) for name in targets[label]], dtype=np.int64)
        share = np.array([shares[name] for name in targets[label]])
        found.append(SplitFamily(label, numbers, share, np.array(rows[label], dtype=np.int64)))
    return found


def _number_of(documents: Any) -> int:
    """Number of documents in a matrix, a mapping of fields, or a list."""
    if isinstance(documents, Mapping):
        return len(next(iter(documents.values()), ()))
    return int(documents.shape[0]) if hasattr(documents, "shape") else len(documents)


def _features(documents: object, new: Taxonomy, features: object, notes: list[str]) -> tuple[CSR, CSR]:
    """Documents, and texts of the new nodes in the same features (none for a matrix)."""
    from linnaeus.features.text import TextFeatures
    from linnaeus.models.label_priors import embedding_columns, label_features

    if is_sparse(documents) or isinstance(documents, np.ndarray):
        X = sparse.csr_array(documents)
        if X.nnz and X.data.min() < 0:
            raise DataError("The features have negative values; migration takes frequencies or texts.")
        texts = sparse.csr_array((new.n_nodes, X.shape[1]))
    else:
        maker = features if features is not None else TextFeatures(sublinear_tf=True, min_df=1)
        X = sparse.csr_array(maker.fit_transform(documents))  # type: ignore[attr-defined]
        if embedding_columns(maker):
            raise ParameterError(f"features are {type(maker).__name__}; migration takes TextFeatures or HashedText.")
        try:
            texts = label_features(maker, new)
        except DataError as error:
            notes.append(f"Label texts are not used: {error}")
            texts = sparse.csr_array((new.n_nodes, X.shape[1]))
    return X, texts


def _covers(row: Sequence[str], old_labels: Sequence[str], targets: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether labels that were given by hand decide one of the cases of a document."""
    return any(label in targets[old] for old in old_labels if len(targets[old]) > 1 for label in row)


def _known_cases(
    data: Families, coded: Mapping[int, list[str]], covered: set[int], new: Taxonomy
) -> tuple[dict[int, FloatArray], int]:
    """Shares of the candidates of cases that are coded by hand, and how many have none of their candidates."""
    known, outside, case = {}, 0, 0
    for family in data.families:
        for d in family.rows.tolist():
            if d in coded:
                inside = np.isin(family.candidates, [new.index(label) for label in coded[d]])
                if inside.any():
                    known[case] = inside / inside.sum()
                else:
                    outside += d not in covered
            case += 1
    return known, outside


# -- decisions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Hidden:
    """Terms and truth of a case that was hidden from the model."""

    terms: FloatArray
    truth: FloatArray

    def result(self, factors: Sequence[float]) -> tuple[float, bool]:
        """The probability of the best candidate, and whether it is right."""
        P = probabilities(self.terms[None], factors)[0]
        best = int(P.argmax())
        return float(P[best]), bool(self.truth[best] > 0)


def _held_out(
    data: Families, known: dict[int, FloatArray], seed: int
) -> tuple[tuple[float, float, float], list[_Hidden], list[HandCodingPoint]]:
    """Factors, hidden cases in a random order, and the curve of accuracy by the number of coded cases."""
    cases = np.random.default_rng(seed).permutation(np.array(sorted(known), dtype=np.int64))
    if len(cases) < 2 * _FOLDS:
        return DEFAULT_FACTORS, [], []
    found: dict[int, _Hidden] = {}
    for fold in range(_FOLDS):
        test = cases[fold::_FOLDS].tolist()
        found |= _scored(data, known, test, test)
    hidden = [found[case] for case in cases.tolist()]
    order = hidden[::2]  # the other half tests the promise
    factors = fit_factors([one.terms for one in order], [one.truth for one in order])
    test, rest = cases[::_FOLDS].tolist(), [case for i, case in enumerate(cases.tolist()) if i % _FOLDS]
    curve = []
    for share in _CURVE:
        kept = rest[: round(share * len(rest))]
        scored = found if share == 1 else _scored(data, known, test, [*test, *rest[len(kept) :]])
        right = [scored[case].result(factors)[1] for case in test]
        curve.append(HandCodingPoint(len(kept), float(np.mean(right)), len(test)))
    return factors, hidden, curve


def _scored(data: Families, known: dict[int, FloatArray], test: list[int], hide: list[int]) -> dict[int, _Hidden]:
    """Terms of the cases of ``test``, while those of ``hide`` are not known."""
    of_case, starts = data.of_case, pointers([len(family.rows) for family in data.families])
    only = np.unique(of_case[np.array(test, dtype=np.int64)])
    terms = family_scores(data, without_cases(known, set(hide)), only=only.tolist())
    found = {}
    for case in test:
        family = int(of_case[case])
        found[case] = _Hidden(terms[family][case - int(starts[family])], known[case])
    return found


def _threshold(
    hidden: list[_Hidden],
    factors: Sequence[float],
    risk: float | None,
    risk_of: str,
    confidence: float | None,
    notes: list[str],
) -> float:
    """The threshold of the promise; 1 where nothing can be promised."""
    if risk is None:
        notes.append("No risk was promised: every case is decided, however uncertain.")
        return 0.0
    results = [case.result(factors) for case in hidden]
    highest = np.array([p for p, _ in results])
    wrong = np.array([0.0 if right else p for p, right in results])
    ordering = np.arange(len(results)) % 2 == 0
    try:
        return promised_threshold(highest, wrong, ordering, ~ordering, risk, of=risk_of, confidence=confidence)
    except ParameterError as error:
        notes.append(f"Nothing is decided by the model: {error} Code cases of the queue by hand first.")
        return 1.0


def _decided(
    data: Families,
    known: Mapping[int, FloatArray],
    coded: Mapping[int, list[str]],
    covered: set[int],
    factors: Sequence[float],
    threshold: float,
    new: Taxonomy,
) -> list[Case]:
    """All cases; labels given by hand may decide some cases of a document and leave the others."""
    found = []
    for family, terms in zip(data.families, family_scores(data, known), strict=True):
        P = probabilities(terms, factors)
        order = np.argsort(-P, axis=1, kind="stable")
        for i, d in enumerate(family.rows.tolist()):
            names = tuple(str(name) for name in new.names[family.candidates[order[i]]])
            values = tuple(P[i, order[i]].tolist())
            own = tuple(label for label in coded.get(d, ()) if label in names)
            if own or (d in coded and d not in covered):
                found.append(Case(d, family.old, names, values, "hand", own))
            elif values[0] > threshold:
                found.append(Case(d, family.old, names, values, "model", names[:1]))
            else:
                found.append(Case(d, family.old, names, values, "nobody", ()))
    return found


def _recoded(
    given: list[list[str]], targets: Mapping[str, tuple[str, ...]], coded: Mapping[int, list[str]], cases: list[Case]
) -> tuple[list[list[str]], list[str]]:
    """New labels and status of each document."""
    of_label = {(case.document, case.old): case for case in cases}
    result, statuses = [], []
    for d, row in enumerate(given):
        found: list[str] = []
        chosen = [of_label[d, label] for label in row if len(targets[label]) > 1]
        for label in row:
            found += targets[label] if len(targets[label]) == 1 else []
            found += of_label[d, label].labels if len(targets[label]) > 1 else []
        found = [*coded.get(d, ()), *found]
        if any(case.by == "nobody" for case in chosen):
            status = "review"
        elif d in coded:
            status = "hand"
        elif chosen:
            status = "decided"
        else:
            status = "univocal" if found or not row else "lost"
        result.append(list(dict.fromkeys(found)))
        statuses.append(status)
    return result, statuses


# -- both versions at once ---------------------------------------------------------------------------------------------


def double_code(
    P_old: FloatArray, P_new: FloatArray, old: Taxonomy, new: Taxonomy, correspondence: Correspondence
) -> list[tuple[str, str]]:
    """One label in each version for every document, consistent with the correspondence.

    Parameters
    ----------
    P_old : ndarray of shape (n_docs, n_old_nodes)
        Probabilities of the nodes of the old version.
    P_new : ndarray of shape (n_docs, n_new_nodes)
        Probabilities of the nodes of the new version.
    old, new : Taxonomy
        The two versions.
    correspondence : Correspondence
        The pairs that are allowed.

    Returns
    -------
    list of (str, str)
        The pair of largest product of probabilities for each document.

    Examples
    --------
    >>> from linnaeus.revisions import Correspondence
    >>> old, new = Taxonomy.flat(["a", "b"]), Taxonomy.flat(["x", "y"])
    >>> table = Correspondence.from_pairs([("a", "x"), ("b", "y")])
    >>> double_code(np.array([[0.6, 0.4]]), np.array([[0.1, 0.9]]), old, new, table)
    [('b', 'y')]
    """
    pairs = [pair for pair in correspondence.pairs if pair.old in old and pair.new in new]
    if not pairs:
        raise ParameterError("The correspondence has no pair of nodes of the two versions.")
    first = np.array([old.index(pair.old) for pair in pairs])
    second = np.array([new.index(pair.new) for pair in pairs])
    with np.errstate(divide="ignore"):
        L_old, L_new = np.log(P_old), np.log(P_new)
    best = np.array([int((a[first] + b[second]).argmax()) for a, b in zip(L_old, L_new, strict=True)], dtype=np.int64)
    return [(pairs[i].old, pairs[i].new) for i in best.tolist()]
