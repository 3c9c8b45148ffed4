"""Documents about animals and machines, drawn from words, for the pictures of the gallery."""

from __future__ import annotations

import numpy as np

from linnaeus import Taxonomy

WORDS = {
    "Animals": "fur legs eats lives born wild forest",
    "Machines": "metal built parts engine oil repair factory",
    "Birds": "wing feather nest song",
    "Mammals": "milk warm paw tail",
    "Vehicles": "wheel road brake seat",
    "Tools": "handle grip steel bench",
    "Owls": "night hunt silent",
    "Ducks": "pond swim bread",
    "Cats": "purr whisker mouse",
    "Dogs": "bark leash bone",
    "Cars": "petrol window motorway",
    "Bicycles": "pedal chain saddle",
    "Saws": "teeth timber cut",
    "Hammers": "nail hit anvil",
}
FAMILIES = {
    "Root": "Animals Machines",
    "Animals": "Birds Mammals",
    "Machines": "Vehicles Tools",
    "Birds": "Owls Ducks",
    "Mammals": "Cats Dogs",
    "Vehicles": "Cars Bicycles",
    "Tools": "Saws Hammers",
}
TAXONOMY = Taxonomy.from_edges([(parent, child) for parent, below in FAMILIES.items() for child in below.split()])


def sample(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts with words of a leaf, of the nodes above it, and of anything; and their leaves."""
    rng = np.random.default_rng(seed)
    leaves = TAXONOMY.names[TAXONOMY.leaves]
    shares = 1.0 / np.arange(1, len(leaves) + 1)
    texts, labels = [], []
    for leaf in rng.choice(leaves, size=n, p=shares / shares.sum()):
        path = [str(TAXONOMY.names[v]) for v in TAXONOMY.path(str(leaf)) if TAXONOMY.names[v] != "Root"]
        source = rng.choice([*path, "any"], size=9, p=[0.16, 0.14, 0.1, 0.6])
        words = [WORDS[str(rng.choice(list(WORDS))) if name == "any" else name].split() for name in source]
        texts.append(" ".join(str(rng.choice(some)) for some in words))
        labels.append(str(leaf))
    return texts, labels
