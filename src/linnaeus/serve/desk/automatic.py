"""Documents that the model may code by itself: at most a promised share of its answers is wrong.

A promise is derived from documents that are a random sample: the control documents that people have decided, once there
are enough of them, before that the documents that the model was calibrated with; these only fix the sequence of
thresholds later. Documents chosen by usefulness are never used, since they are the difficult ones. Control and
double-coded documents are left for people.

A control document in which the coder made a mistake counts as a wrong answer of the model. That is not corrected for:
the rate of mistakes of documents coded twice is that of all documents, and those that the model is certain of are the
easy ones, on which people make fewer mistakes, so that a correction would promise too much.

The verdicts of one run have the coder ``model:BATCH``; they are taken back by verdicts "undo", as those of people are.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.decoding.probability.risk import CONFIDENCE, RiskControl, fit_risk
from linnaeus.errors import ParameterError
from linnaeus.serve.answers import check_time
from linnaeus.serve.progress import control_decisions
from linnaeus.serve.scoring import dataset_of
from linnaeus.serve.store.documents import document_row, preview
from linnaeus.serve.store.verdicts import NewVerdict

if TYPE_CHECKING:
    from linnaeus.serve.models import ServedModel
    from linnaeus.serve.review import Review
    from linnaeus.serve.store.database import Row
    from linnaeus.typing import Matrix

__all__ = ["AutomaticCoding", "MachinePromise"]

ENOUGH = 100  # decided control documents from which promises are derived
_AT_ONCE = 500  # documents that are answered together
_CODER = "model:"


@dataclass(frozen=True)
class MachinePromise:
    """What the model would code at a risk."""

    risk: float
    remaining: int  # below the subtree, where one is given
    labels: dict[str, list[str]]  # of the documents that it would code, by id
    text: str  # what is promised, for people


@dataclass
class AutomaticCoding:
    """Answers of the model to remaining documents, with what was computed for the slider before."""

    _features: tuple[object, Matrix] | None = field(default=None, repr=False)
    _controls: tuple[object, RiskControl] | None = field(default=None, repr=False)

    def promise(
        self, served: ServedModel, review: Review, risk: float, deadline: float, subtree: str | None = None
    ) -> MachinePromise:
        """Which of the remaining documents the model would code.

        Parameters
        ----------
        served : ServedModel
            A calibrated model.
        review : Review
            The store of its queue.
        risk : float
            The largest share of wrong answers among those of the model.
        deadline : float
            Value of `time.monotonic` at which the work is abandoned.
        subtree : str, default=None
            Only documents whose suggestions are at or below this node; the risk is that of all documents.

        Returns
        -------
        MachinePromise
        """
        estimator = copy.copy(served.model.estimator)
        if estimator.calibrator_ is None:
            raise ParameterError(
                f"The model {served.name!r} has no probabilities, so that nothing can be promised; run `linnaeus "
                "calibrate MODEL UNSEEN` with documents that it has not seen."
            )
        with review.read() as transaction:
            rows = transaction.rows(
                "SELECT d.number, d.id, t.content, d.control, d.double, CASE WHEN ? = '' OR EXISTS (SELECT 1 FROM "
                "answer_nodes a WHERE a.document = d.number AND a.node = ?) THEN 1 ELSE 0 END AS inside "
                "FROM documents d JOIN texts t ON t.document = d.number WHERE d.queue = ? AND d.pending = 1 "
                "ORDER BY d.number",
                (subtree or "", subtree or "", served.name),
            )
            decided = control_decisions(transaction, served.name)
        estimator.risk_control_, text = self._control(served, review, decided)
        waiting = [row for row in rows if not row["control"] and not row["double"]]
        labels: dict[str, list[str]] = {}
        if waiting:
            X = self._matrix(served, waiting)
            for start in range(0, len(waiting), _AT_ONCE):
                check_time(deadline)
                part = waiting[start : start + _AT_ONCE]
                found = estimator.decisions(
                    X[start : start + len(part)], risk, risk_of="answered", confidence=CONFIDENCE, k=1
                )
                answers = found.Y if estimator.closed_ else served.taxonomy.frontier(found.Y)
                coded = zip(part, served.taxonomy.labels(answers), strict=True)
                labels.update({row["id"]: list(answer) for row, answer in coded if len(answer) and row["inside"]})
        if subtree is not None:
            text += " The share is that of all documents together; it may be larger in one subtree."
        return MachinePromise(risk, sum(row["inside"] for row in rows), labels, text)

    def _control(self, served: ServedModel, review: Review, decided: list[Row]) -> tuple[RiskControl, str]:
        """What promises are derived from, in numbers and in words."""
        estimator, taxonomy = served.model.estimator, served.taxonomy
        held = f"Holds with {CONFIDENCE:.0%} confidence for documents like the {{}}"
        if len(decided) < ENOUGH:
            if estimator.risk_control_ is None:
                raise ParameterError(
                    f"{len(decided)} control documents are decided; {ENOUGH} are needed before a risk can be promised "
                    "for this model, which was not calibrated with unseen documents."
                )
            source = held.format(f"{estimator.risk_control_.n:,} that the model was calibrated with")
            return estimator.risk_control_, f"{source}; control documents replace them once {ENOUGH} are decided."
        key = (served.fingerprint, tuple((row["number"], tuple(row["labels"])) for row in decided))
        if self._controls is None or self._controls[0] != key:
            with review.read() as transaction:
                contents = [
                    transaction.rows("SELECT content FROM texts WHERE document = ?", (row["number"],))
                    for row in decided
                ]
            kept = [(row, found[0]["content"]) for row, found in zip(decided, contents, strict=True) if found]
            X = served.model.matrix(dataset_of(served, [json.loads(content) for _, content in kept]).documents)
            curve = estimator.calibrator_
            assert curve is not None
            S = np.concatenate(list(estimator.score_blocks(X)))
            P = curve(S, taxonomy, estimator.nodes_)
            P[estimator.known_terms(X) == 0] = 0.0
            gold = taxonomy.close(taxonomy.indicator([row["labels"] for row, _ in kept]), keep_root=False)
            # Documents of the calibration fix the sequence of thresholds, so that all control documents test it.
            before, single = estimator.risk_control_, estimator.single_label
            self._controls = key, fit_risk(P, gold, curve.nodes, ordered_by=before, single=single)
        return self._controls[1], held.format(f"{len(decided):,} control documents of this queue") + "."

    def _matrix(self, served: ServedModel, waiting: list[Row]) -> Matrix:
        """Features of the remaining documents, kept while neither they nor the model change."""
        key = (served.fingerprint, tuple(row["number"] for row in waiting))
        if self._features is None or self._features[0] != key:
            contents = [json.loads(row["content"]) for row in waiting]
            self._features = key, served.model.matrix(dataset_of(served, contents).documents)
        return self._features[1]


def preview_of(served: ServedModel, review: Review, promise: MachinePromise, limit: int) -> list[dict[str, object]]:
    """The first documents that the model would code, with their labels and the beginning of their texts."""
    ids = list(promise.labels)[:limit]
    with review.read() as transaction:
        rows = [document_row(transaction, served.name, id_) for id_ in ids]
    return [
        {
            "id": row["id"],
            "labels": promise.labels[row["id"]],
            "names": [served.taxonomy.display(label) for label in promise.labels[row["id"]]],
            "preview": preview(row),
        }
        for row in rows
    ]


def code(served: ServedModel, review: Review, promise: MachinePromise, batch: str, by: str) -> int:
    """Store the answers of the model as verdicts; returns how many. The same batch again stores nothing new."""
    shown = [{"risk": promise.risk, "by": by, "promise": promise.text}]
    verdicts = [
        NewVerdict(
            key=f"{_CODER}{batch}:{id_}",
            document=id_,
            coder=f"{_CODER}{batch}",
            kind="accept",
            labels=labels,
            shown=shown,
            taxonomy=served.taxonomy.fingerprint,
        )
        for id_, labels in promise.labels.items()
    ]
    for start in range(0, len(verdicts), _AT_ONCE):
        review.verdicts(served, verdicts[start : start + _AT_ONCE])
    return len(verdicts)


def take_back(served: ServedModel, review: Review, batch: str) -> int:
    """Take back the verdicts of a batch; returns how many."""
    coder = f"{_CODER}{batch}"
    with review.read() as transaction:
        rows = transaction.rows(
            "SELECT d.id FROM decisions x JOIN documents d ON d.number = x.document WHERE d.queue = ? AND x.coder = ?",
            (served.name, coder),
        )
    undo = [NewVerdict(key=f"{coder}:{row['id']}:undo", document=row["id"], coder=coder, kind="undo") for row in rows]
    for start in range(0, len(undo), _AT_ONCE):
        review.verdicts(served, undo[start : start + _AT_ONCE])
    return len(undo)


def batches(served: ServedModel, review: Review) -> list[dict[str, object]]:
    """What the model has coded, newest first."""
    with review.read() as transaction:
        rows = transaction.rows(
            "SELECT v.coder, MIN(v.shown) AS shown, COUNT(*) AS coded, MAX(v.number) AS last, "
            "COUNT(x.document) AS kept FROM verdicts v JOIN documents d ON d.number = v.document LEFT JOIN decisions x "
            "ON x.document = v.document AND x.coder = v.coder WHERE d.queue = ? AND v.kind = 'accept' "
            f"AND v.coder LIKE '{_CODER}%' GROUP BY v.coder ORDER BY last DESC",
            (served.name,),
        )
    found = []
    for row in rows:
        shown = json.loads(row["shown"])[0]
        batch = row["coder"].removeprefix(_CODER)
        undone = not row["kept"]
        found.append(
            {"batch": batch, "coded": row["coded"], "risk": shown["risk"], "coder": shown["by"], "undone": undone}
        )
    return found
