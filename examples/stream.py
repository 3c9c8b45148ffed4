"""Learn from a stream: predict first, then learn (prequential evaluation); save, and go on later.

    python examples/stream.py

Half-way a new label appears and one changes its words: what was learned before is not enough, and the error tells.
"""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

import linnaeus
from linnaeus import HierarchicalPerceptron, Taxonomy, metrics

desk = Taxonomy.from_paths(
    [
        *(["Accounts", topic] for topic in ("Password", "Invoice")),
        *(["Devices", topic] for topic in ("Printer", "Phone", "Tablet")),
    ]
)
WORDS = {
    "Password": "login forgot reset locked code",
    "Invoice": "bill paid amount tax refund",
    "Printer": "paper toner jam print ink",
    "Phone": "call ring battery charger sim",
    "Tablet": "screen pen touch battery charger",
}
COMMON = ["please", "help", "my", "new", "since", "yesterday", "the", "is", "again", "it"]


def tickets(n: int, seed: int, later: bool = False) -> tuple[list[str], list[list[str]]]:
    """Tickets of one day; later there are tablets, and passwords have become fingerprints."""
    rng = np.random.default_rng(seed)
    words = {**WORDS, "Password": "finger scan camera face locked"} if later else WORDS
    texts, labels = [], []
    for _ in range(n):
        label = str(rng.choice(list(words)[: 5 if later else 4]))
        own, common = rng.choice(words[label].split(), size=3), rng.choice(COMMON, size=4)
        texts.append(" ".join([*own, *common]))
        labels.append([label])
    return texts, labels


# Words are hashed: a stream has no vocabulary to begin with.
model = HierarchicalPerceptron(desk, random_state=0)
hashed = HashingVectorizer(n_features=2**12, alternate_sign=False)


def one_day(model, day: int, later: bool) -> float:
    """Hierarchical F1 of answers given before the labels were seen; then the model learns from them."""
    texts, labels = tickets(50, seed=day, later=later)
    X = hashed.transform(texts)
    f1 = metrics.hierarchical_f1(labels, model.predict(X), taxonomy=desk) if hasattr(model, "classes_") else 0.0
    model.partial_fit(X, labels)
    return f1


for day in range(6):
    print(f"day {day}: hierarchical F1 {one_day(model, day, later=False):.3f}")
linnaeus.save(model, "stream-model")  # the process may end here

model = linnaeus.load("stream-model")
print(f"tablets so far: {'Tablet' in model.classes_}")
for day in range(6, 12):
    print(f"day {day}: hierarchical F1 {one_day(model, day, later=True):.3f}")
print(f"tablets now: {'Tablet' in model.classes_}; {model.n_updates_} mistakes learned from in {model.n_docs_} tickets")
linnaeus.save(model, "stream-model")  # replaced in one step
