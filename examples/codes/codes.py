"""File patents under a tree of codes, as deep as the risk of a wrong code allows.

    python examples/codes/codes.py

The applications are made up: words of a code, of the code above it, and words that all applications use. Some speak
hardly of what is special about them, and then an honest answer is a code higher up.
"""

import json
from pathlib import Path

import numpy as np

import linnaeus
from linnaeus import OneVsRestLogistic, Pipeline, Taxonomy, metrics
from linnaeus.decoding import LeastCost
from linnaeus.features import TextFeatures

here = Path(__file__).parent
codes = Taxonomy.read(here / "codes.tsv", format="codes")  # A.01.B is below A.01, which is below A
words = {code: entry.split() for code, entry in json.loads((here / "words.json").read_text()).items()}


def applications(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts and their codes."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        code = str(rng.choice(codes.names[codes.leaves]))
        clear = rng.uniform(0.0, 0.3)  # how much of the text is about the code itself
        source = rng.choice([code, code.rpartition(".")[0], ""], size=10, p=[clear, 0.7 - clear, 0.3])
        texts.append(" ".join(rng.choice(words[str(name)]) for name in source))
        labels.append(code)
    return texts, labels


# 1. Learn codes and everything above them; calibrate on applications that the model has not seen.
model = Pipeline(OneVsRestLogistic(codes, learn="closed", random_state=0), TextFeatures(sublinear_tf=True))
model.fit(*applications(600, seed=0))
linnaeus.calibrate(model, *applications(2000, seed=1), cv=None)

# 2. The best leaf for every application is often wrong. With a promised risk answers stop where they become unsure; the
# promise is about the average over all applications, and holds up to the luck of the 1,000 it was fixed on.
texts, right = applications(1000, seed=2)
R = codes.close(codes.indicator(right))
print(f"{'':10} any wrong code  codes on the path")
for risk in (None, 0.2, 0.1, 0.05):
    request = {"decoder": "best_leaf"} if risk is None else {"risk": risk}
    Y = model.answers(texts, closed=True, **request)
    wrong = np.mean((Y > R).sum(axis=1) > 0)
    print(f"{'best leaf' if risk is None else f'risk {risk:g}':10} {wrong:14.1%} {Y.sum(axis=1).mean():18.2f}")

# 3. What comes out for one that is clear and one that is not.
for text in ("rotor and stator with a magnet on a shaft", "a device for a vehicle on the road"):
    answer = model.predict([text], risk=0.05)[0]
    print(f"{text}: {', '.join(f'{code} {codes.display(code)}' for code in answer) or 'nothing that can be promised'}")

# 4. With no promise, but a cost: a wrong code costs thrice what a missing one does.
careful = model.predict(texts, decoder=LeastCost(false_positive=3.0), closed=False)
print("hierarchical precision at least cost:", f"{metrics.hierarchical_precision(right, careful, taxonomy=codes):.3f}")
