"""The built-in corpus: docstrings of the standard library, numpy, scipy and scikit-learn, collected at run time.

A document is the docstring of a public function or class. The taxonomy is the tree of packages and modules, such as
scipy > scipy.sparse > scipy.sparse.linalg; the modules of the standard library are below a node ``python``. The labels
are the modules that export the object, so a document may have several, at any depth. The documents of a module with
fewer than ``min_docs`` documents are labelled with its package instead.

The text should not contain its labels. From each docstring are removed: lines that import something, the output of
examples, the names of the packages and their usual short names, the path before a dotted name
(``scipy.sparse.linalg.eigs`` becomes ``eigs``), and lines that begin with ``..`` (versions would reveal the package).
The rest must have more than 20 words.

Synthetic documents with labels from a tree, for tests, examples and experiments with a known solution.

A perfect tree of ``fan_out`` children per node and ``depth`` levels below the root. Every node has a random vector,
w_v ~ N(0, 2^-depth(v) I), deeper ones smaller; a leaf has the sum along its path, the root's included. A document is
x ~ N(0, I); its labels are all leaves y with W_y'x > 0, and it is kept if it has at least one and fewer than the square
root of all. So siblings are similar, and labels overlap. Based on the experiments in Cai's thesis (2008), which does
not specify the variances, the minimum number of labels, and the scaling of documents.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import math
import pkgutil
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.system_corpora import manual_pages, package_descriptions
from linnaeus.errors import check_choice, check_number
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = ["demo_corpus", "overlapping", "perfect_tree"]

PACKAGES = ("numpy", "scipy", "sklearn")
STANDARD = "python"  # the node above the modules of the standard library

# Modules that open windows, print, start something, or have no documentation of their own.
LEFT_OUT = frozenset(
    (
        "antigravity",
        "array_api_compat",
        "array_api_extra",
        "conftest",
        "core",
        "distutils",
        "encodings",
        "ensurepip",
        "experimental",
        "externals",
        "f2py",
        "idlelib",
        "lib2to3",
        "matlib",
        "msilib",
        "nt",
        "nturl2path",
        "pip",
        "posix",
        "pydoc_data",
        "readline",
        "rlcompleter",
        "setup",
        "test",
        "tests",
        "this",
        "tkinter",
        "turtle",
        "turtledemo",
        "typing_extensions",
        "venv",
    )
)
MIN_WORDS = 21

IMPORT = re.compile(r"(?:>>>|\.\.\.)\s*(?:import|from)\s|import \w|from [\w.]+ import ")
DIRECTIVE = re.compile(r"\.\.( |$)")
VERSION_NOTE = re.compile(r"\.\. (?:versionadded|versionchanged|deprecated)::")
PACKAGE_NAME = re.compile(r"\b(?:numpy|scipy|sklearn|scikit-learn|np|sp|plt)\b\.?", re.IGNORECASE)


CORPORA = ("docstrings", "manuals", "packages")


def demo_corpus(min_docs: int = 5, *, corpus: str = "docstrings") -> Dataset:
    """Hundreds to thousands of short technical texts with labels from a taxonomy, made from what is installed.

    Parameters
    ----------
    min_docs : int, default=5
        Minimum number of documents of a label; documents of rarer ones are labelled with the node above it.
    corpus : {"docstrings", "manuals", "packages"}, default="docstrings"
        Docstrings of Python packages with their modules, manual pages of this computer with their manual and section,
        or descriptions of installed Debian packages with their source package and section. The first is always there.

    Returns
    -------
    Dataset
        A data set with the field ``text``, the taxonomy, and the names of the objects, pages or packages as ids. The
        documents depend on what is installed; their order is always the same.

    Examples
    --------
    >>> corpus = demo_corpus()
    >>> len(corpus) > 2000, "scipy.sparse.linalg" in corpus.taxonomy
    (True, True)
    """
    check_choice("corpus", corpus, CORPORA)
    if corpus == "manuals":
        return manual_pages(min_docs=min_docs)
    if corpus == "packages":
        return package_descriptions(min_docs=min_docs)
    with _quietly():
        modules = {name: module for name in _module_names() if (module := _imported(name)) is not None}
        exported = _exports(modules)
    documents = _unique_documents(exported, _dotted_names(modules))
    labels = _frequent_modules([homes for _, _, homes in documents], min_docs)
    return Dataset(
        fields={"text": [text for text, _, _ in documents]},
        labels=[sorted(row) for row in labels],
        ids=[identifier for _, identifier, _ in documents],
        taxonomy=_tree({label for row in labels for label in row}),
        source="docstrings of installed packages",
    )


def _unique_documents(
    exported: list[tuple[str, str, set[str]]], dotted: re.Pattern[str]
) -> list[tuple[str, str, set[str]]]:
    """(text, qualified name, modules) by name; an alias with the same text only adds its modules."""
    found: dict[str, tuple[str, str, set[str]]] = {}
    for identifier, docstring, homes in sorted(exported, key=lambda document: document[0]):
        text = _cleaned(docstring, dotted)
        words = text.casefold().split()
        if len(words) >= MIN_WORDS:
            found.setdefault(" ".join(words), (text, identifier, set()))[2].update(homes)
    return list(found.values())


# -- modules and what they export --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Importing must not print or warn."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def _public(name: str) -> bool:
    return not name.startswith("_") and name not in LEFT_OUT


def _module_names() -> Iterator[str]:
    """Names of public modules, parents before children."""
    for top in (*sorted(filter(_public, sys.stdlib_module_names)), *PACKAGES):
        waiting = [top]
        while waiting:
            name = waiting.pop(0)
            yield name
            module = sys.modules.get(name)
            inner = pkgutil.iter_modules(getattr(module, "__path__", ()))
            waiting += [f"{name}.{info.name}" for info in sorted(inner, key=lambda m: m.name) if _public(info.name)]


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit):  # modules of another platform, or with missing optional parts
        return None


def _exports(modules: dict[str, ModuleType]) -> list[tuple[str, str, set[str]]]:
    """(qualified name, docstring, modules that export it) of every public function and class."""
    found: dict[int, tuple[object, str, str, set[str]]] = {}  # the objects are kept so that their ids stay unique
    for module_name, module in modules.items():
        for name, value in _members(module):
            docstring = getattr(value, "__doc__", None)
            if _is_documented(value) and isinstance(docstring, str):
                found.setdefault(id(value), (value, f"{module_name}.{name}", docstring, set()))[3].add(module_name)
    return [(identifier, docstring, homes) for _, identifier, docstring, homes in found.values()]


def _members(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The names in ``__all__``, or without it the public names defined in the module."""
    listed = getattr(module, "__all__", None)
    for name in sorted(listed if listed is not None else vars(module)):
        if name.startswith("_"):
            continue
        value = _attribute(module, name)
        if listed is not None or getattr(value, "__module__", None) == module.__name__:
            yield name, value


def _attribute(module: ModuleType, name: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # deprecated names are left out
        try:
            return getattr(module, name)
        except Exception:
            return None


def _is_documented(value: object) -> bool:
    return inspect.isroutine(value) or inspect.isclass(value) or type(value).__name__ == "ufunc"


# -- text --------------------------------------------------------------------------------------------------------------


def _dotted_names(modules: Iterable[str]) -> re.Pattern[str]:
    """A module path in front of a name: everything up to the last dot."""
    tops = sorted({name.split(".")[0] for name in modules} | {"np", "sp", "plt"}, key=len, reverse=True)
    # The lookahead for a dot avoids the long alternation for most words and saves half of the time.
    return re.compile(r"\b(?=\w+\.)(?:" + "|".join(map(re.escape, tops)) + r")\.(?:\w+\.)*(?=\w)")


def _cleaned(docstring: str, dotted: re.Pattern[str]) -> str:
    return PACKAGE_NAME.sub("", dotted.sub("", "\n".join(_kept_lines(docstring)))).strip()


def _kept_lines(docstring: str) -> Iterator[str]:
    """Lines without imports, directives, notes on versions, and output of examples (some of it is random)."""
    in_output, note = False, -1  # note: indentation of a note on versions, while inside it
    for line in inspect.cleandoc(docstring).splitlines():
        text = line.lstrip()
        indentation = len(line) - len(text)
        if note >= 0 and (not text or indentation > note):
            continue
        note = indentation if VERSION_NOTE.match(text) else -1
        in_output = bool(text) and (in_output or text.startswith(">>>"))
        prompt = text.startswith((">>>", "..."))
        if not (IMPORT.match(text) or DIRECTIVE.match(text) or (in_output and not prompt)):
            yield line


# -- labels ------------------------------------------------------------------------------------------------------------


def _parent(module: str) -> str | None:
    if "." in module:
        return module.rsplit(".", 1)[0]
    return None if module in (*PACKAGES, STANDARD) else STANDARD


def _frequent_modules(homes: list[set[str]], min_docs: int) -> list[set[str]]:
    """Labels of every document; modules with too few documents are replaced by their parent, the deepest first."""
    labels = [set(row) for row in homes]
    counts = Counter(label for row in labels for label in row)
    for depth in range(max((label.count(".") for label in counts), default=0), -1, -1):
        counts = Counter(label for row in labels for label in row)
        rare = {n for n in counts if n.count(".") == depth and counts[n] < min_docs and _parent(n) is not None}
        labels = [{(_parent(n) or n) if n in rare else n for n in row} for row in labels]
    return labels


def _tree(labels: set[str]) -> Taxonomy:
    edges = set()
    for label in labels:
        node: str | None = label
        while node is not None and (above := _parent(node)) is not None:
            edges.add((above, node))
            node = above
    return Taxonomy.from_edges(sorted(edges), nodes=sorted(labels), root=None)


_BATCH = 1024


def perfect_tree(fan_out: int = 3, depth: int = 3) -> Taxonomy:
    """A tree with ``fan_out`` children at every inner node, named by their path from the root.

    Examples
    --------
    >>> perfect_tree(2, 2).names.tolist()
    ['root', '0', '1', '0.0', '0.1', '1.0', '1.1']
    """
    check_number("fan_out", fan_out, least=1, whole=True)
    check_number("depth", depth, least=1, whole=True)
    edges, level = [], [""]
    for _ in range(depth):
        below = [(node, f"{node}.{i}".lstrip(".")) for node in level for i in range(fan_out)]
        edges += [(parent or "root", child) for parent, child in below]
        level = [child for _, child in below]
    return Taxonomy.from_edges(edges, root="root")


def overlapping(
    n_docs: int = 200,
    *,
    fan_out: int = 3,
    depth: int = 3,
    n_features: int = 20,
    seed: int | np.random.Generator | None = None,
) -> tuple[FloatArray, list[list[str]], Taxonomy]:
    """Documents (n_docs x n_features), their labels, and the tree.

    Examples
    --------
    >>> X, labels, tax = overlapping(50, seed=0)
    >>> X.shape, tax, max(map(len, labels))
    ((50, 20), Taxonomy(tree, 40 nodes, 27 leaves, depth 3), 5)
    """
    check_number("n_docs", n_docs, least=1, whole=True)
    check_number("n_features", n_features, least=1, whole=True)
    rng = np.random.default_rng(seed)
    tax = perfect_tree(fan_out, depth)
    w = rng.normal(size=(tax.n_nodes, n_features)) * 2.0 ** (-0.5 * tax.depth[:, None])
    leaves = tax.leaves
    W = np.array([w[tax.ancestors(int(leaf))].sum(axis=0) for leaf in leaves]) + w[tax.root]
    most = math.sqrt(len(leaves))
    kept: list[FloatArray] = []
    labels: list[list[str]] = []
    while len(labels) < n_docs:
        drawn = rng.normal(size=(_BATCH, n_features))
        positive = drawn @ W.T > 0
        count = positive.sum(axis=1)
        for i in np.flatnonzero((count >= 1) & (count < most)):
            kept.append(drawn[i])
            labels.append([str(name) for name in tax.names[leaves[positive[i]]]])
    return np.array(kept[:n_docs]), labels[:n_docs], tax
