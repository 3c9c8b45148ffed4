"""`linnaeus train --model Mixture --sources RRSVM,LexicalModel`: several models as one, on the command line.

A source is a model, or NAME=MODEL where one model occurs twice. Sources that take vectors share the features of the
options; where one of them takes texts as they are, the features are learned with each of the others. So they are where
label files of other tools are sources (`--suggestions annif=suggested.tsv`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from linnaeus.cli import training
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.mixture import Mixture
    from linnaeus.pipeline import Transformer
    from linnaeus.taxonomy import Taxonomy

__all__ = ["MIXTURE", "check_sources", "make_mixture", "sources_of", "takes_documents"]

MIXTURE = "Mixture"
_USUAL = "OneVsRestSVM,RRLogistic"


def sources_of(given: str | None, suggested: Collection[str] = ()) -> dict[str, str]:
    """Models by the names of the sources; ``suggested`` are the names of other tools, which are sources as well.

    Examples
    --------
    >>> sources_of("rrsvm,words=LexicalModel")
    {'RRSVM': 'RRSVM', 'words': 'LexicalModel'}
    """
    from linnaeus.registry import find_model

    found: dict[str, str] = {}
    for entry in (_USUAL if given is None else given).split(","):
        name, equals, model = entry.strip().rpartition("=")
        model = find_model(model.strip())
        name = name.strip() if equals else model
        if name in found:
            raise ParameterError(f"--sources has {name!r} twice; name one of them, as other={model}.")
        if not name or "__" in name:
            raise ParameterError(f"--sources {entry.strip()}: expected MODEL or NAME=MODEL, a name without '__'.")
        found[name] = model
    both = next((name for name in suggested if name in found), None)
    if both is not None:
        raise ParameterError(f"--suggestions has {both!r}, which is a source of --sources; give it another name.")
    if len(found) + len(suggested) < 2:
        raise ParameterError(f"--sources {given}: a mixture has at least two sources, as in RRSVM,LexicalModel.")
    return found


def takes_documents(sources: dict[str, str]) -> bool:
    """Whether a source takes texts as they are."""
    from linnaeus.registry import DOCUMENT_MODELS

    return any(model in DOCUMENT_MODELS for model in sources.values())


def _divided(sources: dict[str, str], settings: list[str]) -> dict[str, list[str]]:
    """Settings of the sources by name, those of the mixture itself under ''."""
    found: dict[str, list[str]] = {"": [], **{name: [] for name in sources}}
    for entry in settings:
        name, inside, rest = entry.partition("=")[0].partition("__")
        if inside and name not in sources:
            raise ParameterError(f"--set {entry}: {name!r} is not a source; there are {', '.join(sources)}.")
        found[name if inside else ""].append(entry[len(name) + 2 :] if rest else entry)
    return found


def check_sources(sources: dict[str, str], settings: list[str]) -> None:
    """Refuse parameters that a source or the mixture does not have, before anything is read."""
    for name, own in _divided(sources, settings).items():
        known = training.parse_settings(sources[name] if name else MIXTURE, own)
        if not name and "sources" in known:
            raise ParameterError("Give the sources with --sources, not with --set sources=...")


def make_mixture(
    sources: dict[str, str],
    settings: list[str],
    features: Transformer | None,
    *,
    taxonomy: Taxonomy,
    random_state: int,
    suggested: Sequence[str] = (),
    **usual: Any,
) -> tuple[Mixture, Transformer | None]:
    """The mixture, and the features in front of it: None where they are part of the sources.

    ``suggested`` are sources that are other tools, ``usual`` are parameters of those sources that have them.
    """
    from linnaeus.mixture import Mixture
    from linnaeus.models.suggestions import SuggestionModel
    from linnaeus.pipeline import Pipeline

    inside = takes_documents(sources) or bool(suggested)
    own = _divided(sources, settings)
    made: list[tuple[str, Any]] = []
    for name, kind in sources.items():
        model = training.make_model(kind, own[name], taxonomy=taxonomy, random_state=random_state, **usual)
        if getattr(model, "answer", "seen") == "all" and not (inside and features is not None):
            raise ParameterError(
                f"--set {name}__answer=all: sources that answer all nodes need the texts of the taxonomy; add the "
                "source LexicalModel, or train the model alone with --answer all."
            )
        alone = not inside or features is None or model.takes_documents
        made.append((name, model if alone else Pipeline(model, features)))
    made += [(name, SuggestionModel()) for name in suggested]
    parameters: dict[str, Any] = {"random_state": random_state, **training.parse_settings(MIXTURE, own[""])}
    mixture = Mixture(made, taxonomy, **parameters)
    return mixture, None if inside else features
