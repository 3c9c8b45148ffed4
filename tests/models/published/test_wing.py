"""The wing of published variants is entered only through a parameter, and its page lists every file of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIT_ALL = """
import sys, warnings
import numpy as np
from linnaeus import Taxonomy, registry

warnings.simplefilter("ignore")
tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
X = np.abs(np.random.default_rng(0).normal(size=(24, 6)))
y = ["AA", "AB", "B"] * 8
for name in registry.MODELS:
    kind = registry.resolve(name)
    settings = {key: value for key, value in {"max_iter": 2, "random_state": 0}.items() if key in kind().get_params()}
    kind(taxonomy=tax, **settings).fit(X, y).predict(X)
    entered = [module for module in sys.modules if module.startswith("linnaeus.models.published")]
    assert not entered, (name, entered)
"""


def test_a_default_fit_of_every_model_imports_no_published_variant() -> None:
    subprocess.run([sys.executable, "-c", FIT_ALL], check=True, capture_output=True, text=True)


def test_every_parameter_that_leads_to_a_variant_is_on_the_page() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "published-variants.md").read_text()
    values = ["conditional-gradient", "edge", "free", "zero_one", "paths", "additive", "8a", "8b", "minover"]
    assert [value for value in values if f'"{value}"' not in page] == []
