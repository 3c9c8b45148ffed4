"""The problems that benchmarks and data tests share, read from the folder of real data sets as the files are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.problems import demo, enzymes, hmc, mesh, newsgroups, reuters, wordnet
from benchmarks.problems.base import DATA, Problem, leaves_only

__all__ = ["DATA", "NAMES", "Problem", "leaves_only", "load"]

_LOADERS: dict[str, Callable[[], Problem]] = {
    "rcv1v2": reuters.rcv1v2,
    "rcv1v2_ccat": reuters.rcv1v2_ccat,
    "imclef07a": hmc.imclef07a,
    "enron_hmc": hmc.enron_hmc,
    "wordnet_nouns": wordnet.wordnet_nouns,
    "mesh_d01": mesh.mesh_d01,
    "mesh_d01_split": partial(mesh.mesh_d01, split=True),
    "medline_mesh": partial(mesh.branch, "MeSH", name="medline_mesh"),
    "medline_mesh3": partial(mesh.branch, "MeSH", levels=3, name="medline_mesh3"),
    "newsgroups15": newsgroups.newsgroups15,
    "newsgroups20": newsgroups.newsgroups20,
    "demo": demo.demo,
    "enzyme_ec": enzymes.enzyme_ec,
    **{name: partial(hmc.yeast, name) for name in hmc.YEAST},
    **{f"mesh_{letter.lower()}": partial(mesh.branch, letter) for letter in "ABCDEFGHIJKLMNZ"},
}
NAMES = list(_LOADERS)


def load(name: str) -> Problem:
    """A problem by its name, one of `NAMES`."""
    if name not in _LOADERS:
        raise ValueError(f"No problem {name!r}; there are {', '.join(NAMES)}.")
    return _LOADERS[name]()
