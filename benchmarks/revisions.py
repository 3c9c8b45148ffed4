"""How well are changes between versions found: Shopify releases with and without the vendor's rules, STW replacements.

``--pair`` chooses the releases of the Shopify product taxonomy. Where both versions use the same codes, these are
hidden before targets are proposed, and codes that both have count as kept unless a rule says otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from linnaeus import Taxonomy
from linnaeus.revisions import Correspondence, compare
from linnaeus.revisions.propose import propose_pairs
from linnaeus.taxonomy.build import assemble

__all__ = ["run", "shopify", "stw"]

DATA = Path(os.environ.get("LINNAEUS_DATA", "../shared/data"))


def _release(version: str) -> Taxonomy:
    return Taxonomy.read(DATA / "shopify_taxonomy" / f"{version}.full_names.yml.xz")


def _rules(version: str, old: Taxonomy, new: Taxonomy) -> Correspondence:
    folder = DATA / "shopify_taxonomy"
    plain, packed = (folder / f"{version}.to_next.yml{ending}" for ending in ("", ".xz"))
    return Correspondence.read(packed if packed.exists() else plain, old, new)


def _recoded(tax: Taxonomy, prefix: str) -> Taxonomy:
    """The same taxonomy with codes that the other version does not have."""
    shown = [tax.display(v) for v in range(tax.n_nodes)]
    return assemble([prefix + str(name) for name in tax.names], *tax.edges, tax.kind, None, shown)


def shopify(before: str, after: str) -> dict[str, Any]:
    """First proposals and changes for one pair of releases."""
    old, new = _release(before), _release(after)
    rules = _rules(before, old, new)
    gold = {str(name): {str(name)} for name in old.names if name in new.index_of}
    gold |= {name: set(targets) for name, targets in rules.targets.items()}
    start = time.process_time()
    found = propose_pairs(_recoded(old, "o:"), _recoded(new, "n:"))
    seconds = time.process_time() - start
    places = {name: [pair.new[2:] for pair in found[f"o:{name}"]] for name in gold}
    first = sum(bool(places[name]) and places[name][0] in gold[name] for name in gold)
    five = sum(bool(gold[name].intersection(places[name])) for name in gold)
    diff = compare(old, new, rules, propose=False)
    as_given = sum(set(diff.correspondence.targets.get(name, ())) == targets for name, targets in gold.items())
    sources = {target for targets in gold.values() for target in targets}
    added = {change.new[0] for change in diff.of("added")} == {str(n) for n in new.names} - sources
    return {
        "releases": f"{before} to {after}",
        "nodes": len(gold),
        "first_proposal": first / len(gold),
        "in_five": five / len(gold),
        "proposal_cpu_seconds": round(seconds, 1),
        "with_rules": as_given / len(gold),
        "added_are_those_without_a_source": added,
        "changes": diff.counts,
    }


def stw() -> dict[str, Any]:
    """Replacements of deprecated concepts, compared with the statements of the file."""
    import lzma

    import pyoxigraph as ox

    path = DATA / "stw" / "stw-skos.ttl.xz"
    old, new = Taxonomy.read(path, obsolete=True), Taxonomy.read(path)
    diff = compare(old, new, propose=False)
    given: dict[str, set[str]] = {}
    with lzma.open(path) as file:
        content = file.read()
    for quad in ox.parse(content, format=ox.RdfFormat.TURTLE):
        if quad.predicate.value.endswith("isReplacedBy"):
            given.setdefault(quad.subject.value, set()).add(quad.object.value)

    def followed(name: str, seen: frozenset[str]) -> set[str]:
        if name in new.index_of:
            return {name}
        further = given.get(name, set()) - seen
        return set().union(*(followed(other, seen | {name}) for other in further)) if further else set()

    right = sum(diff.correspondence.targets.get(name) == tuple(sorted(followed(name, frozenset()))) for name in given)
    return {"replaced": len(given), "followed": right / len(given), "changes": diff.counts}


def run(arguments: list[str]) -> dict[str, Any]:
    """Measure and print; see ``--help``."""
    parser = argparse.ArgumentParser(prog="revisions", description=__doc__)
    parser.add_argument("--pair", nargs=2, action="append", metavar=("OLD", "NEW"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    pairs = options.pair or [("2022-02", "2024-07"), ("2024-10", "2025-03")]
    result: dict[str, Any] = {"shopify": [shopify(*pair) for pair in pairs], "stw": stw()}
    print(json.dumps(result, indent=None if options.json else 1))
    return result
