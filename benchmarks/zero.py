"""Nodes without documents: descriptors, newsgroups and EC numbers that training lacks, by parents and label texts."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import machine, problems
from benchmarks.lexical import citations, mesh
from benchmarks.problems.base import DATA
from linnaeus import (
    RRSVM,
    HierarchicalPerceptron,
    HierarchicalSVM,
    Hieron,
    LexicalModel,
    Mixture,
    OneVsRestSVM,
    Pipeline,
    Taxonomy,
)
from linnaeus.features.embedding import EmbeddedText
from linnaeus.features.spectrum import SpectrumFeatures
from linnaeus.features.text import TextFeatures
from linnaeus.lexical.model import NOT_FOUND
from linnaeus.lexical.words import as_documents
from linnaeus.metrics.resampling import permutation_test
from linnaeus.models.label_priors import embedding_columns, label_features

TERMS: dict[str, Any] = {"sublinear_tf": True, "min_df": 2, "stop_words": "english", "analyzer": "stems"}
EMBEDDINGS = ("none", "own", "wordllama")
WEIGHT = 0.3  # of the embedding, chosen on training posts
MODELS = ("OneVsRestSVM", "RRSVM", "RRSVM, all", "LexicalModel", "Mixture, flat", "Mixture, all")
WITHOUT_TEXTS = ("OneVsRestSVM", "RRSVM without texts")
LEFT_OUT = ("OneVsRestSVM", "exact labels", "LexicalModel", "RRSVM without texts", "RRSVM, all", "Mixture, flat")
RANKERS = {
    f"{model.__name__}{answer}": model
    for model in (HierarchicalSVM, HierarchicalPerceptron, Hieron)
    for answer in ("", ", all")
}
Scores = tuple[np.ndarray, np.ndarray, float]  # nodes, scores, cut


def first_parents(taxonomy: Taxonomy) -> Taxonomy:
    """The tree in which every node stands below its first parent only."""
    names = [str(name) for name in taxonomy.names]
    edges = [(names[taxonomy.parents(v)[0]], names[v]) for v in range(len(names)) if len(taxonomy.parents(v))]
    return Taxonomy.from_edges(edges, nodes=names, root=None)


class Corpus:
    """Documents and labels in one order of nodes, in training and test parts; terms, and an embedding beside them."""

    def __init__(
        self, taxonomy: Taxonomy, train: list[dict[str, Any]], test: list[dict[str, Any]], embedding: str = "none"
    ) -> None:
        self.taxonomy, self.test, self.unseen_cost = taxonomy, test, 0.01
        self.texts, self.test_texts = ([_whole(d["text"]) for d in part] for part in (train, test))
        self.embedding = embedding
        features = self.features()
        self.X, self.X_test = features.fit_transform(self.texts), features.transform(self.test_texts)
        self.Y, self.Y_test = (taxonomy.indicator([d["labels"] for d in part]) for part in (train, test))
        self.T, self.n_embedding = label_features(features, taxonomy), embedding_columns(features)

    def features(self) -> TextFeatures | EmbeddedText:
        """Features that are not fitted; none learns from labels."""
        terms = TextFeatures(**TERMS)
        return terms if self.embedding == "none" else EmbeddedText(terms, self.embedding, weight=WEIGHT)

    def hidden(self, share: float, seed: int) -> tuple[sparse.csr_array, np.ndarray]:
        """Training labels without those of a share of the nodes, and these nodes."""
        seen = np.unique(self.Y.indices)
        nodes = np.random.default_rng(seed).permutation(seen)[: max(1, round(share * len(seen)))]
        shown = np.ones(self.taxonomy.n_nodes, self.Y.dtype)
        shown[nodes] = 0
        Y = self.Y.copy()
        Y.data = Y.data * shown[Y.indices]
        Y.eliminate_zeros()
        return Y, np.sort(nodes)


class Proteins(Corpus):
    """Sequences with EC numbers, some at random, as substrings of three letters; the numbers have no texts."""

    def __init__(self, documents: int, test: int) -> None:
        problem = problems.load("enzyme_ec")
        self.taxonomy, self.test = problem.taxonomy, []
        rng, features = np.random.default_rng(0), SpectrumFeatures(p=3)
        rows, held = (rng.permutation(len(X))[:n] for X, n in ((problem.X, documents), (problem.X_test, test)))
        self.X = features.fit_transform(problem.X[rows].tolist())
        self.X_test = features.transform(problem.X_test[held].tolist())
        self.Y, self.Y_test = problem.Y[rows], problem.Y_test[held]
        self.T, self.n_embedding = sparse.csr_array((self.taxonomy.n_nodes, self.X.shape[1])), 0


def _whole(text: Any) -> str:
    return text if isinstance(text, str) else f"{text['title']} {text['abstract']}"


def compare(corpus: Corpus, tol: float, models: Sequence[str] = MODELS) -> list[dict[str, Any]]:
    """Flat TF-IDF, the joint model, the same with all nodes, labels found in the text, and mixtures with these."""
    counts = np.bincount(corpus.Y.indices, minlength=corpus.taxonomy.n_nodes)
    gold = corpus.Y_test.toarray() > 0
    rows: list[dict[str, Any]] = []
    before: dict[str, np.ndarray] = {}
    for name in models:
        start = time.process_time()
        nodes, S, cut = _scores(corpus, name, tol)
        seconds = time.process_time() - start
        hits, answers = _best(S, nodes, gold, 10), _answers(S, nodes, gold.shape[1], cut)
        sums = np.column_stack([(answers & gold).sum(axis=1), gold.sum(axis=1), answers.sum(axis=1)])
        row = {"model": name, "seconds": round(seconds, 1), "suggestible": round(len(nodes) / (len(counts)), 4)}
        row["micro_f1"] = round(float(_micro(sums.sum(axis=0))), 4)
        for group, chosen in {"0": counts == 0, "1-5": (counts > 0) & (counts < 6), "more": counts > 5}.items():
            of, found = gold[:, chosen].sum(axis=1), hits[:, chosen].sum(axis=1)
            row |= {
                f"assignments_{group}": int(of.sum()),
                f"recall_at_10_{group}": round(float(found.sum() / of.sum()), 4),
            }
            key = f"recall_{group}"
            if key in before:
                row[f"p_recall_{group}"] = permutation_test(found, before[key]).p_value
            before.setdefault(key, found)
        if "sums" in before:
            row["p_micro_f1"] = permutation_test(sums, before["sums"], statistic=_micro).p_value
        before.setdefault("sums", sums)
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def _micro(totals: np.ndarray) -> np.ndarray:
    return np.asarray(2 * totals[..., 0] / (totals[..., 1] + totals[..., 2]))


def _scores(corpus: Corpus, name: str, tol: float, Y: sparse.csr_array | None = None) -> Scores:
    Y = corpus.Y if Y is None else Y
    if name.startswith("Mixture"):
        joint = RRSVM(answer="all", random_state=0, tol=tol)
        model = joint if name.endswith("all") else OneVsRestSVM(random_state=0, tol=tol)
        sources = [("words", Pipeline(model, corpus.features())), ("labels", LexicalModel())]
        how = {"cv": 3, "learn": "given", "unseen_cost": corpus.unseen_cost}
        mixture = Mixture(sources, corpus.taxonomy, **how).fit(corpus.texts, Y)
        return mixture.nodes_, mixture.decision_function(corpus.test_texts), 0.0
    if name == "LexicalModel":
        lexical = LexicalModel(corpus.taxonomy).fit()
        return lexical.nodes_, lexical.decision_function([d["text"] for d in corpus.test]), lexical.cut_
    if name == "OneVsRestSVM":
        flat = OneVsRestSVM(corpus.taxonomy, random_state=0, tol=tol).fit(corpus.X, Y)
        return flat.nodes_, flat.decision_function(corpus.X_test), 0.0
    joint = RRSVM(corpus.taxonomy, answer="all" if name.endswith("all") else "seen", random_state=0, tol=tol)
    joint.fit(corpus.X, Y, label_features=corpus.T, n_embedding=corpus.n_embedding)
    return joint.nodes_, joint.decision_function(corpus.X_test), 0.0


def _best(S: np.ndarray, nodes: np.ndarray, gold: np.ndarray, k: int) -> np.ndarray:
    """Labels among the k best nodes."""
    best = nodes[np.argpartition(-S, k, axis=1)[:, :k]]
    found = np.zeros_like(gold)
    np.put_along_axis(found, best, True, axis=1)
    return found & gold


def _answers(S: np.ndarray, nodes: np.ndarray, n_nodes: int, cut: float) -> np.ndarray:
    answers = np.zeros((len(S), n_nodes), bool)
    answers[:, nodes] = S > cut
    answers[np.arange(len(S)), nodes[S.argmax(axis=1)]] = True
    return answers


def leave_out(corpus: Corpus, share: float, tol: float, seed: int, models: Sequence[str] = LEFT_OUT) -> dict[str, Any]:
    """Recall of nodes hidden from training among the five best, beside that of the others and their micro-F1."""
    Y, hidden = corpus.hidden(share, seed)
    gold = corpus.Y_test.toarray() > 0
    of_hidden = np.isin(np.arange(gold.shape[1]), hidden)
    seen = np.bincount(Y.indices, minlength=gold.shape[1]) > 0
    asked = gold & of_hidden
    result: dict[str, Any] = {"hidden": len(hidden), "documents": int(asked.any(axis=1).sum())}
    first: dict[str, np.ndarray] = {}
    for model in models:
        for name, (nodes, S, cut) in _without(corpus, model, Y, tol).items():
            unseen = ~seen[nodes]
            found = _best(S, nodes, asked, 5).sum(axis=1)
            answers = _answers(S, nodes, gold.shape[1], cut)
            right = gold & seen
            sums = np.column_stack([(answers & right).sum(axis=1), right.sum(axis=1), answers.sum(axis=1)])
            row = {"all": float(found.sum() / asked.sum())}
            if unseen.sum() > 5:
                row["unseen"] = float(_best(S[:, unseen], nodes[unseen], asked, 5).sum() / asked.sum())
            row["seen_at_10"] = float(_best(S, nodes, right, 10).sum() / right.sum())
            row["seen_micro_f1"] = float(_micro(sums.sum(axis=0)))
            result[name] = {key: round(value, 4) for key, value in row.items()}
            result[name]["p_all"] = permutation_test(found, first.setdefault("found", found)).p_value
            result[name]["p_micro_f1"] = permutation_test(
                sums, first.setdefault("sums", sums), statistic=_micro
            ).p_value
    print(json.dumps(result), flush=True)
    return result


def _without(corpus: Corpus, name: str, Y: sparse.csr_array, tol: float) -> dict[str, Scores]:
    """Scores of the test documents by models that learned from Y; parts of a joint model have entries of their own."""
    texts = [d["text"] for d in corpus.test]
    if name == "exact labels":
        return {name: _exact(corpus, texts)}
    if name == "RRSVM without texts":  # parents alone, with a scale and a raise of their own
        joint = RRSVM(corpus.taxonomy, answer="all", random_state=0, tol=tol)
        joint.fit(corpus.X, Y, label_features=sparse.csr_array(corpus.T.shape))
        return {name: (joint.nodes_, joint.decision_function(corpus.X_test), 0.0)}
    if name != "RRSVM, all" and name not in RANKERS:
        return {name: _scores(corpus, name, tol, Y)}
    answer = "all" if name.endswith("all") else "seen"
    joint: Any = RRSVM(corpus.taxonomy, answer=answer, random_state=0, tol=tol)
    if name in RANKERS:
        joint = RANKERS[name](corpus.taxonomy, attributes="taxonomy+text", answer=answer, random_state=0)
    joint.fit(corpus.X, Y, label_features=corpus.T, n_embedding=corpus.n_embedding)
    S, cut = joint.decision_function(corpus.X_test), 0.0
    if name in RANKERS:
        cut = np.inf  # a ranking has no threshold: only the best node is an answer
    if answer == "seen":
        return {name: (joint.nodes_, S, cut)}
    text = np.asarray((corpus.X_test @ joint.label_weights_).toarray())
    parts = {name: S, f"{name}: parents only": S - text, f"{name}: texts only": text}
    return {part: (joint.nodes_, scores, cut) for part, scores in parts.items()}


def _exact(corpus: Corpus, texts: list[Any]) -> Scores:
    """Names of nodes that stand in the text word by word, with the fixed weights of `LexicalModel`."""
    model = LexicalModel(corpus.taxonomy, analyzer="word").fit()
    found = model._candidates(as_documents(texts))
    whole = found.are_complete & (found.values["scattered"] + found.values["partial"] == 0)
    S = np.full((len(texts), len(model.nodes_)), NOT_FOUND)
    S[found.documents[whole], model._columns()[found.nodes[whole]]] = model._evidence(found)[whole]
    return model.nodes_, S, model.cut_


def newsgroups(documents: int, test: int, embedding: str = "none") -> Corpus:
    """Posts of 20 newsgroups without headers, some at random; the dotted names are the tree and the texts."""
    from benchmarks.defaults import _posts

    rows, held, taxonomy = _posts()
    given = {str(name): str(name).replace(".", " ").replace("misc", "") for name in taxonomy.names}
    parts: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for i in np.random.default_rng(0).permutation(len(rows)).tolist():
        parts[bool(held[i])].append(rows[i])
    return Corpus(taxonomy.with_display_labels(given), parts[0][:documents], parts[1][:test], embedding)


def run(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks zero", description=__doc__)
    parser.add_argument("--documents", type=int, default=30_000, help="training citations, or posts")
    parser.add_argument("--test", type=int, default=3000, help="test citations, or posts")
    parser.add_argument("--tol", type=float, default=0.03)
    parser.add_argument("--share", type=float, default=0.2, help="share of the nodes that are left out")
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=MODELS, help="what is compared, the first with all"
    )
    parser.add_argument(
        "--left-out", nargs="+", choices=(*LEFT_OUT, *RANKERS), default=LEFT_OUT, help="what nodes are hidden from"
    )
    parser.add_argument("--draws", type=int, default=5, help="draws of hidden newsgroups")
    parser.add_argument("--embedding", choices=EMBEDDINGS, default="none", help="beside the terms of documents")
    parser.add_argument("--unseen-cost", type=float, default=0.01, help="of mixtures")
    parser.add_argument("--parts", nargs="+", default=["compare", "leave_out", "newsgroups", "enzymes"])
    options = parser.parse_args(arguments)
    result: dict[str, Any] = {"machine": machine.describe()}
    if {"compare", "leave_out"} & set(options.parts):
        whole = mesh()
        train, test = citations(whole)
        corpus = Corpus(first_parents(whole), train[: options.documents], test[: options.test], options.embedding)
        corpus.unseen_cost = options.unseen_cost
    if "compare" in options.parts:
        result["compare"] = compare(corpus, options.tol, options.models)
    if "leave_out" in options.parts:
        result["leave_out"] = leave_out(corpus, options.share, options.tol, 0, options.left_out)
    if "newsgroups" in options.parts and (DATA / "20newsgroups").exists():
        posts = newsgroups(options.documents, options.test, options.embedding)
        result["newsgroups"] = [
            leave_out(posts, options.share, options.tol, seed, options.left_out) for seed in range(options.draws)
        ]
    if "enzymes" in options.parts and (DATA / "enzyme_ec").exists():
        proteins = Proteins(options.documents, options.test)
        models = [model for model in options.left_out if model in WITHOUT_TEXTS]
        draws = range(options.draws)
        result["enzymes"] = [leave_out(proteins, options.share, options.tol, seed, models) for seed in draws]
    return result
