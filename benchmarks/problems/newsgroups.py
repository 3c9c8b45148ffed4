"""The 15 of the 20 newsgroups that one of the papers arranges in five subjects; posts without their headers."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems.base import DATA, Problem, tree_of_codes
from linnaeus import Taxonomy
from linnaeus.data.readers import read_dataset
from linnaeus.features.text import TextFeatures

SUBJECTS = {
    "computers": [
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.sys.ibm.pc.hardware",
        "comp.sys.mac.hardware",
        "comp.windows.x",
    ],
    "politics": ["talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"],
    "religion": ["alt.atheism", "soc.religion.christian", "talk.religion.misc"],
    "sports": ["rec.sport.baseball", "rec.sport.hockey"],
    "vehicles": ["rec.autos", "rec.motorcycles"],
}


def hierarchy() -> Taxonomy:
    """Root, five subjects, fifteen groups."""
    edges = [("Root", subject) for subject in SUBJECTS]
    return Taxonomy.from_edges([*edges, *((s, group) for s, groups in SUBJECTS.items() for group in groups)])


def posts(headers: str = "strip") -> Any:
    """All posts of the 15 groups with their group and the part of the by-date split, for other ways of splitting."""
    data = read_dataset(DATA / "20newsgroups" / "20news-bydate.tar.xz", headers=headers)
    taxonomy = hierarchy()
    return data.take([row for row, labels in enumerate(data.labels or []) if labels[0] in taxonomy])


def by_date(name: str, taxonomy: Taxonomy, data: Any, features: TextFeatures) -> Problem:
    """Posts in the two parts of the by-date split, with features learned from the training part."""
    train = np.array(data.split) == "train"
    X = features.fit_transform(data.take(train).documents)
    X_test = features.transform(data.take(~train).documents)
    Y = data.indicator(taxonomy)
    return Problem(name, taxonomy, X, Y[train], X_test, Y[~train])


def newsgroups15() -> Problem:
    """The by-date split; tf log2(N/n) of unit length over words of at least two training posts."""
    return by_date("newsgroups15", hierarchy(), posts(), TextFeatures(weighting="log2", norm="l2", min_df=2))


def newsgroups20() -> Problem:
    """All twenty groups, the dots of their names as paths; the by-date split, headers stripped."""
    data = read_dataset(DATA / "20newsgroups" / "20news-bydate.tar.xz", headers="strip")
    taxonomy = tree_of_codes([row[0] for row in data.labels or []], "Usenet")
    return by_date("newsgroups20", taxonomy, data, TextFeatures(sublinear_tf=True, min_df=2))
