"""Names of nodes: what is suggested for unknown ones."""

from __future__ import annotations

from linnaeus import Taxonomy


def test_codes_that_were_read_as_numbers_are_suggested() -> None:
    tax = Taxonomy.flat(["5321", "0211", "9999"])
    assert tax.hint("5321.0") == "; did you mean '5321'? It was perhaps read as a number."
    assert tax.hint("211") == tax.hint("211.0") == "; did you mean '0211'? It was perhaps read as a number."
    assert tax.hint("5322") == ""
