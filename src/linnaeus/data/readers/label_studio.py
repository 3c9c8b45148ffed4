"""Tasks of Label Studio: the data of a document, and what people chose for it.

    {"id": 7, "data": {"text": "a late goal"}, "annotations": [{"completed_by": {"email": "anna@example.org"},
     "result": [{"type": "taxonomy", "value": {"taxonomy": [["Sports", "Football"]]}}]}]}

The labels of an annotation are the nodes at the end of the paths of ``taxonomy``, and ``choices``. The labels of the
document are those of the annotation that is the ground truth, otherwise of the last one that was not skipped.
"""

from __future__ import annotations

from typing import NamedTuple

from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import JSON

__all__ = ["Annotation", "annotations_of", "is_task", "plain_record"]

_ANNOTATIONS = ("annotations", "completions")  # the second is the name in versions before 1.0
_VALUES = ("taxonomy", "choices", "labels")


class Annotation(NamedTuple):
    """What a person chose for a document; ``labels`` is None where the task was skipped."""

    coder: str
    labels: list[str] | None
    ground_truth: bool


def is_task(record: JSON) -> bool:
    """Whether a JSON value is a task.

    Examples
    --------
    >>> is_task({"data": {"text": "a goal"}, "annotations": []}), is_task({"text": "a goal", "labels": ["Sports"]})
    (True, False)
    """
    if not isinstance(record, dict) or not isinstance(record.get("data"), dict):
        return False
    return len(record) == 1 or any(isinstance(record.get(key), list) for key in (*_ANNOTATIONS, "predictions"))


def plain_record(task: dict[str, JSON], taxonomy: Taxonomy | None = None) -> dict[str, JSON]:
    """A task as a record of its data, id and labels.

    Examples
    --------
    >>> choice = {"value": {"taxonomy": [["Sports", "Tennis"]]}}
    >>> plain_record({"id": 3, "data": {"text": "a set"}, "annotations": [{"result": [choice]}]})
    {'text': 'a set', 'id': '3', 'labels': ['Tennis']}
    """
    data = task["data"]
    assert isinstance(data, dict)
    record: dict[str, JSON] = {
        key: value for key, value in data.items() if isinstance(value, (str, int, float, list)) or value is None
    }
    others = [value for key, value in record.items() if key not in ("id", "text")]
    if others and all(isinstance(value, str) for value in others) and record.get("text") == "\n".join(map(str, others)):
        del record["text"]  # the fields once more
    if "id" not in record and task.get("id") is not None:
        record["id"] = str(task["id"])
    given = [one for one in annotations_of(task, taxonomy) if one.labels is not None]
    truth = [one for one in given if one.ground_truth] or given
    record["labels"] = list(truth[-1].labels or []) if truth else []
    return record


def annotations_of(task: dict[str, JSON], taxonomy: Taxonomy | None = None) -> list[Annotation]:
    """The annotations of a task, in their order.

    Examples
    --------
    >>> skipped = {"completed_by": 4, "was_cancelled": True, "result": []}
    >>> annotations_of({"data": {"text": "a"}, "annotations": [skipped]})
    [Annotation(coder='4', labels=None, ground_truth=False)]
    """
    found = []
    for key in _ANNOTATIONS:
        held = task.get(key)
        for one in held if isinstance(held, list) else []:
            if isinstance(one, dict):
                labels = None if one.get("was_cancelled") else _labels(one.get("result"), taxonomy)
                found.append(Annotation(_coder(one.get("completed_by")), labels, bool(one.get("ground_truth"))))
    return found


def _labels(result: JSON, taxonomy: Taxonomy | None) -> list[str]:
    labels: dict[str, None] = {}
    for part in result if isinstance(result, list) else []:
        value = part.get("value") if isinstance(part, dict) else None
        for key in _VALUES if isinstance(value, dict) else ():
            held = value.get(key) if isinstance(value, dict) else None
            for choice in held if isinstance(held, list) else []:
                labels[_named(choice, taxonomy)] = None
    labels.pop("", None)
    return list(labels)


def _named(choice: JSON, taxonomy: Taxonomy | None) -> str:
    """A choice, or the node at the end of a path of names or of display labels."""
    if not isinstance(choice, list):
        return "" if choice is None else str(choice)
    steps = [str(step) for step in choice]
    if taxonomy is not None and steps and steps[-1] not in taxonomy:
        node = taxonomy.lookup(" > ".join(steps))
        return steps[-1] if node is None else str(taxonomy.names[node])
    return steps[-1] if steps else ""


def _coder(given: JSON) -> str:
    if isinstance(given, dict):
        name = next((given[key] for key in ("email", "username", "id") if given.get(key) not in (None, "")), "")
        return str(name)
    return "" if given is None else str(given)
