"""linnaeus as a backend of Annif: trained, evaluated and served like any other project.

    [my-linnaeus]
    name=linnaeus
    language=en
    backend=linnaeus
    vocab=my-vocab
    model=RRSVM
    C=10
    limit=50

Annif finds backends of other packages by the patch beside this file (entry points of the group ``annif.backends``).
Until it has such a hook, ``python annif_linnaeus.py train my-linnaeus corpus.tsv`` runs Annif with this backend.
The broader relations of the vocabulary are read from Annif's own SKOS file, so that joint models know the hierarchy.
"""

from __future__ import annotations

import os.path
from typing import Any, ClassVar

import annif.backend
from annif.backend.backend import AnnifBackend
from annif.exception import NotInitializedException, NotSupportedException
from annif.suggestion import SubjectSuggestion, SuggestionBatch

import linnaeus
from linnaeus import Pipeline, Taxonomy, calibrate
from linnaeus.features import TextFeatures
from linnaeus.registry import find_model, resolve

BROADER = "http://www.w3.org/2004/02/skos/core#broader"


class LinnaeusBackend(AnnifBackend):
    """Suggestions with calibrated probabilities as scores."""

    name = "linnaeus"
    MODEL = "linnaeus-model"
    DEFAULT_PARAMETERS: ClassVar[dict[str, Any]] = {"model": "RRSVM", "C": 10.0, "min_df": 1, "limit": 50}

    _model: Any = None

    @property
    def _folder(self) -> str:
        return os.path.join(self.datadir, self.MODEL)

    def initialize(self, parallel: bool = False) -> None:
        if self._model is None:
            if not os.path.isdir(self._folder):
                raise NotInitializedException(f"model {self._folder} not found", backend_id=self.backend_id)
            self._model = linnaeus.load(self._folder)

    def _taxonomy(self) -> Taxonomy:
        """The broader relations between subjects; subjects without one stand at the top."""
        from rdflib import URIRef

        known = {subject.uri for subject in self.project.subjects if subject is not None}
        pairs = self.project.vocab.as_graph().subject_objects(URIRef(BROADER))
        edges = [(str(above), str(below)) for below, above in pairs if str(above) in known and str(below) in known]
        placed = {below for _, below in edges}
        tops = sorted(known - placed)
        return Taxonomy.from_edges([("linnaeus:root", top) for top in tops] + sorted(edges))

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached" or corpus.is_empty():
            raise NotSupportedException("training linnaeus needs documents", backend_id=self.backend_id)
        texts, labels = [], []
        for document in corpus.documents:
            uris = [self.project.subjects[number].uri for number in document.subject_set]
            if uris:
                texts.append(document.text)
                labels.append(uris)
        kind = resolve(find_model(params["model"]))
        model = kind(self._taxonomy(), C=float(params["C"]), n_jobs=jobs or -1, random_state=0)
        pipe = Pipeline(model, TextFeatures(sublinear_tf=True, min_df=int(params["min_df"]))).fit(texts, labels)
        calibrate(pipe, texts, labels)
        linnaeus.save(pipe, self._folder)
        self._model = pipe

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> SuggestionBatch:
        limit = int(params["limit"])
        names, shares = self._model.top([document.text for document in documents], k=limit, probabilities=True)
        index = self.project.subjects
        rows = []
        for uris, values in zip(names, shares, strict=True):
            found = ((index.by_uri(str(uri)), float(value)) for uri, value in zip(uris, values, strict=True))
            rows.append([SubjectSuggestion(subject_id=i, score=p) for i, p in found if i is not None and p > 0])
        return SuggestionBatch.from_sequence(rows, index, limit=limit)


def register() -> None:
    """Make the backend known to this process."""
    annif.backend._backend_fns["linnaeus"] = lambda: LinnaeusBackend


if __name__ == "__main__":
    from annif.cli import cli

    register()
    cli()
