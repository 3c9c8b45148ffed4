"""Features and string kernels by name, as the command line spells them.

    spectrum:4                      substrings of four tokens
    spectrum:2-4                    of two to four
    subsequence:3,decay=0.7         gap-weighted subsequences of three tokens
    spectrum:4,max_gap=1,decay=0.5  substrings that may leave out one token
    spectrum:2,unit=word            pairs of words
    hashed, hashed:20,signed=False  hashed words of texts, in 2**18 or 2**20 columns
    rbf                             an RBF map of the usual vectors
    rbf:800,gamma=0.5               with 800 components and this width
    profiles                        vectors relative to their own mean and length
    rbf:800,profiles=true           a map of these
    rbf+rbf:800,profiles=true       two of these side by side
    own, wordllama, path/to/model   an embedding beside the words of texts
    own,weight=0.5,dimension=64     with this weight and length of vectors

Any parameter of the class may follow as name=value.
"""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

from linnaeus.errors import ParameterError, nearest

if TYPE_CHECKING:
    from linnaeus.features.dense import DenseFeatures
    from linnaeus.features.embedding import EmbeddedText
    from linnaeus.features.hashed import HashedText
    from linnaeus.features.kernel_map import KernelMap
    from linnaeus.features.side_by_side import SideBySide
    from linnaeus.features.spectrum import SpectrumFeatures
    from linnaeus.features.string_kernel import StringKernel

T = TypeVar("T")
F = TypeVar("F", bound="EmbeddedText | HashedText")

__all__ = [
    "PROFILES",
    "embedded_text",
    "hashed_text",
    "is_hashed",
    "is_kernel_map",
    "is_profiles",
    "is_side_by_side",
    "is_string_kernel",
    "kernel_map",
    "kernel_map_name",
    "name_of",
    "plain_value",
    "profiles_of",
    "side_by_side",
    "string_features",
    "string_kernel",
]

_KERNELS = ("spectrum", "subsequence")
PROFILES = "profiles"  # of dense vectors, instead of standardised ones


def string_features(text: str, **usual: object) -> SpectrumFeatures:
    """Features of sequences by name; ``usual`` are the parameters that the name does not set.

    Examples
    --------
    >>> string_features("spectrum:2-4")
    SpectrumFeatures(q=2)
    """
    from linnaeus.features.spectrum import SpectrumFeatures

    return _made(SpectrumFeatures, text, _name(text, ("spectrum",)), usual)


def is_kernel_map(text: str) -> bool:
    """Whether a value names a kernel map.

    Examples
    --------
    >>> is_kernel_map("rbf:800"), is_kernel_map("spectrum:4")
    (True, False)
    """
    return text.partition(":")[0].strip() == "rbf"


def kernel_map(text: str, features: Any = None, **usual: Any) -> KernelMap:
    """A kernel map by name, of vectors that ``features`` make; ``usual`` are the parameters that the name does not set.

    Examples
    --------
    >>> made = kernel_map("rbf:800,gamma=0.5")
    >>> made.n_components, made.gamma, made.landmarks
    (800, 0.5, 'kmeans')
    """
    from linnaeus.features.kernel_map import KernelMap

    known = [key for key in inspect.signature(KernelMap).parameters if key != "features"]
    given = _parameters(text, [*known, PROFILES], "n_components")
    profiles = given.pop(PROFILES, False)
    if not isinstance(profiles, bool):
        raise ParameterError(f"{text!r}: profiles={profiles!r}; expected true or false.")
    made = KernelMap(profiles_of(features) if profiles else features, **{**usual, **given})
    made._check_parameters()
    return made


def is_profiles(text: str) -> bool:
    """Whether a value names profiles of dense vectors.

    Examples
    --------
    >>> is_profiles("profiles"), is_profiles("rbf")
    (True, False)
    """
    return text.strip() == PROFILES


def profiles_of(features: DenseFeatures | None = None) -> DenseFeatures:
    """The same features of dense vectors as profiles; None: of vectors as they are.

    Examples
    --------
    >>> profiles_of()
    DenseFeatures(profiles=True)
    """
    from sklearn.base import clone

    from linnaeus.features.dense import DenseFeatures

    if features is None:
        return DenseFeatures(profiles=True)
    if not isinstance(features, DenseFeatures):
        raise ParameterError("Profiles are of dense vectors.")
    return clone(features).set_params(profiles=True)


def kernel_map_name(made: KernelMap) -> str:
    """The name of a map with the width and the clipping that were given or, where it is fitted, chosen.

    Examples
    --------
    >>> kernel_map_name(kernel_map("rbf:800,gamma=0.5,landmarks=uniform"))
    'rbf:800,gamma=0.5,landmarks=uniform'
    """
    from linnaeus.features.kernel_map import KernelMap

    values = {key: getattr(made, key) for key in inspect.signature(KernelMap).parameters if key not in _GIVEN_OTHERWISE}
    values |= {key: vars(made)[f"{key}_"] for key in ("gamma", "clip") if f"{key}_" in vars(made)}
    usual = {key: one.default for key, one in inspect.signature(KernelMap).parameters.items()}
    if values["gamma"] != usual["gamma"] and values["clip"] is None:  # nothing is clipped where gamma is given
        values["clip"] = usual["clip"]
    size = values.pop("n_components")
    parts = [f"{key}={value}" for key, value in values.items() if value != usual[key]]
    parts += [f"{PROFILES}=true"] if getattr(made.features, PROFILES, False) else []
    return ",".join([f"rbf:{size}", *parts])


def name_of(features: object) -> str | None:
    """The name of a map, of profiles, or of these side by side; None for other features.

    Examples
    --------
    >>> name_of(kernel_map("rbf:800,gamma=0.5")), name_of(side_by_side("rbf+profiles")), name_of(None)
    ('rbf:800,gamma=0.5', 'rbf:600+profiles', None)
    """
    from linnaeus.features.kernel_map import KernelMap

    parts = getattr(features, "parts", None)
    if parts is not None:
        names = [name_of(part) for part in parts]
        return "+".join(name for name in names if name is not None) if all(names) else None
    if isinstance(features, KernelMap):
        return kernel_map_name(features)
    return PROFILES if getattr(features, PROFILES, False) else None


def is_side_by_side(text: str) -> bool:
    """Whether a value names several features of dense vectors side by side.

    Examples
    --------
    >>> is_side_by_side("rbf:800+profiles"), is_side_by_side("rbf:800"), is_side_by_side("my+folder")
    (True, False, False)
    """
    first, *others = _parts(text)
    return bool(others) and (is_kernel_map(first) or is_profiles(first))


def _parts(text: str) -> list[str]:
    """What stands side by side; a "+" before a digit is that of a number, as in "rbf:60,gamma=1e+1"."""
    return re.split(r"\+(?!\d)", text)


def side_by_side(text: str, features: DenseFeatures | None = None, **usual: Any) -> SideBySide:
    """Maps and profiles side by side by name; ``usual`` are the parameters of maps that the name does not set.

    Examples
    --------
    >>> side_by_side("rbf:800,gamma=0.5+profiles").parts
    [KernelMap(gamma=0.5, n_components=800), DenseFeatures(profiles=True)]
    """
    from linnaeus.features.side_by_side import SideBySide

    parts: list[Any] = []
    for part in _parts(text):
        if not is_kernel_map(part) and not is_profiles(part):
            known = ("rbf", PROFILES)
            raise ParameterError(f"{text!r}: {part.strip()!r} is not rbf or {PROFILES}{nearest(part.strip(), known)}")
        parts.append(kernel_map(part, features, **usual) if is_kernel_map(part) else profiles_of(features))
    return SideBySide(parts)


def is_hashed(text: str) -> bool:
    """Whether a value names hashed features.

    Examples
    --------
    >>> is_hashed("hashed:20"), is_hashed("rbf")
    (True, False)
    """
    return text.partition(":")[0].strip() == "hashed"


def hashed_text(text: str, **usual: Any) -> HashedText:
    """Hashed features by name; ``usual`` are the parameters that the name does not set.

    Examples
    --------
    >>> made = hashed_text("hashed:20,signed=False")
    >>> made.bits, made.signed
    (20, False)
    """
    from linnaeus.features.hashed import HashedText

    known = list(inspect.signature(HashedText).parameters)
    return _checked(text, HashedText(**{**usual, **_parameters(text, known, "bits")}))


def embedded_text(text: str, features: Any = None, **usual: Any) -> EmbeddedText:
    """An embedding by name, beside the terms of ``features``; ``usual`` are the parameters that the name does not set.

    Examples
    --------
    >>> made = embedded_text("my,folder,weight=0.5")
    >>> made.embedding, made.weight
    ('my,folder', 0.5)
    """
    from linnaeus.features.embedding import EmbeddedText

    known = [key for key in inspect.signature(EmbeddedText).parameters if key not in _GIVEN_OTHERWISE]
    first, *entries = text.split(",")
    while entries and "=" not in entries[0]:  # a comma of the folder
        first = f"{first},{entries.pop(0)}"
    made = EmbeddedText(
        features, first.strip(), **{**usual, **_parameters(f"embedding:{','.join(entries)}", known, "")}
    )
    return _checked(text, made)


def _checked(text: str, made: F) -> F:
    """Features with valid parameters; an error begins with the name that they were made from."""
    try:
        made._check_parameters()
    except ParameterError as error:
        raise ParameterError(f"{text!r}: {error}") from error
    return made


_GIVEN_OTHERWISE = ("features", "embedding", "texts")


def _parameters(text: str, known: list[str], first: str) -> dict[str, Any]:
    """``name:400,gamma=0.5`` as parameters; a value without a name is of the parameter ``first``."""
    found: dict[str, Any] = {}
    name, _, entries = text.partition(":")
    for entry in filter(None, (part.strip() for part in entries.split(","))):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            key, value = first, entry
        if key not in known:
            raise ParameterError(f"{text!r}: {name} has the parameters {', '.join(known)}{nearest(key, known)}")
        found[key] = plain_value(value)
    return found


def string_kernel(text: str, **usual: object) -> StringKernel:
    """A string kernel by name.

    Examples
    --------
    >>> kernel = string_kernel("subsequence:3,decay=0.7")
    >>> kernel.p, kernel.decay
    (3, 0.7)
    """
    from linnaeus.features.spectrum import SpectrumKernel
    from linnaeus.features.subsequence import SubsequenceKernel

    name = _name(text, _KERNELS)
    return _made(SpectrumKernel if name == "spectrum" else SubsequenceKernel, text, name, usual)


def is_string_kernel(text: object) -> bool:
    """Whether a value names a string kernel, possibly misspelt.

    Examples
    --------
    >>> is_string_kernel("spectrum:4"), is_string_kernel("rbf")
    (True, False)
    """
    return isinstance(text, str) and text.partition(":")[0].strip() in _KERNELS


def _name(text: str, known: tuple[str, ...]) -> str:
    name = text.partition(":")[0].strip()
    if name not in known:
        expected = " or ".join(f"{kind}:N" for kind in known)
        raise ParameterError(
            f"{text!r}: expected {expected}, for example {known[0]}:4 for substrings of 4 tokens{nearest(name, known)}"
        )
    return name


def _made(kind: type[T], text: str, name: str, usual: dict[str, object]) -> T:
    known = [key for key in inspect.signature(kind).parameters if key != "engine"]
    parameters = dict(usual)
    for entry in filter(None, (part.strip() for part in text.partition(":")[2].split(","))):
        key, equals, value = entry.partition("=")
        if not equals:
            parameters |= _lengths(entry, text)
        elif key in known:
            parameters[key] = plain_value(value)
        else:
            raise ParameterError(f"{text!r}: {name} has the parameters {', '.join(known)}{nearest(key, known)}")
    return kind(**parameters)


def _lengths(entry: str, text: str) -> dict[str, int]:
    """``4`` as p, ``2-4`` as q and p."""
    first, dash, last = entry.partition("-")
    try:
        return {"q": int(first), "p": int(last)} if dash else {"p": int(first)}
    except ValueError:
        raise ParameterError(f"{text!r}: {entry!r} is not a length such as 4, or lengths such as 2-4.") from None


def plain_value(value: str) -> object:
    """What a value on the command line means: a number, a list, a constant of Python, otherwise the text itself.

    Examples
    --------
    >>> plain_value("0.5"), plain_value("inf"), plain_value("None"), plain_value("word")
    (0.5, inf, None, 'word')
    """
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None, "inf": float("inf")}.get(value, value)
