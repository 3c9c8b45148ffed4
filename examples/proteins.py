"""Predict EC-like numbers of proteins from their sequences, with a string kernel and with counted substrings.

    python examples/proteins.py

The proteins are made up: a random chain with the motifs of its enzyme class, which mutate. Some have two functions.
"""

import numpy as np

import linnaeus
from linnaeus import HM3, RRSVM, Pipeline, Taxonomy, metrics
from linnaeus.data import read_dataset, train_test_split
from linnaeus.features import SpectrumFeatures, SpectrumKernel

AMINO_ACIDS = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
NUMBERS = [f"{a}.{b}.{c}" for a in (1, 2, 3) for b in (1, 2) for c in (1, 2, 3)]
PREFIXES = ["", *NUMBERS, *{n[:1] for n in NUMBERS}, *{n[:3] for n in NUMBERS}]


def write_fasta(path: str, n: int) -> None:
    """Proteins whose header holds an id and one or two numbers: >P0001 1.2.3;2.1.1"""
    rng = np.random.default_rng(0)
    motif = {prefix: "".join(rng.choice(AMINO_ACIDS, size=8)) for prefix in sorted(PREFIXES)}
    with open(path, "w", encoding="ascii") as file:
        for i in range(n):
            numbers = rng.choice(NUMBERS, size=1 + (rng.random() < 0.2), replace=False)
            chain = list(rng.choice(AMINO_ACIDS, size=rng.integers(60, 120)))
            for piece in (motif[number[:length]] for number in numbers for length in (1, 3, 5)):
                at = rng.integers(0, len(chain) - len(piece))
                chain[at : at + len(piece)] = [a if rng.random() < 0.85 else rng.choice(AMINO_ACIDS) for a in piece]
            print(f">P{i:04} {';'.join(sorted(numbers))}\n{''.join(chain)}", file=file)


write_fasta("proteins.fasta", 400)
ec = Taxonomy.from_paths([number.split(".") for number in NUMBERS], separator=".")  # 1.2.3 is below 1.2 is below 1
proteins = read_dataset("proteins.fasta", taxonomy=ec)
train, test = train_test_split(proteins, 0.25, random_state=0)
print(f"{len(train)} proteins to learn from, {len(test)} to test on; {ec}")

# A Markov tree over the numbers that sees sequences through a kernel: equal substrings of three amino acids.
tree = HM3(ec, kernel=SpectrumKernel(p=3), C=10.0, random_state=0).fit(train.documents, train.labels)
print(f"HM3, spectrum kernel:    hierarchical F1 {tree.score(test.documents, test.labels):.3f}")

# The same substrings as features of a linear model, with and without gaps. Features can be explained.
for name, features in (("substrings of 3", SpectrumFeatures(p=3)), ("of 4, one gap", SpectrumFeatures(p=4, max_gap=1))):
    linear = Pipeline(RRSVM(ec, C=10.0, random_state=0), features).fit(train.documents, train.labels)
    answers = linear.predict(test.documents)
    f1 = metrics.hierarchical_f1(test.labels, answers, taxonomy=ec)
    print(f"RRSVM, {name:15}:  hierarchical F1 {f1:.3f}")
print(f"{test.ids[0]} is {test.labels[0]}; answered {answers[0]}, because of:")
print(linear.explain(test.documents[0], k=5)[-1])

linnaeus.save(tree, "ec-model")  # keeps the support sequences; no pickle
again = linnaeus.load("ec-model")
assert again.predict(test.documents[:5]) == tree.predict(test.documents[:5])
