"""Proposals where nobody names the new node."""

from __future__ import annotations

from linnaeus import Taxonomy
from linnaeus.revisions import Correspondence
from linnaeus.revisions.propose import propose_pairs
from linnaeus.taxonomy import Texts


def shop(prefix: str, *paths: str) -> Taxonomy:
    """A tree with codes as names and labels of the last steps."""
    whole = Taxonomy.from_paths([path.split("/") for path in paths], separator="/")
    codes = {str(name): f"{prefix}{v}" for v, name in enumerate(whole.names)}
    above, below = whole.edges
    return Taxonomy.from_edges(
        [(codes[whole.names[p]], codes[whole.names[c]]) for p, c in zip(above, below, strict=True)],
        nodes=codes.values(),
        root=None,
        display_labels={codes[str(name)]: whole.display(v) for v, name in enumerate(whole.names)},
    )


def first(old: Taxonomy, new: Taxonomy, **options: object) -> dict[str, str]:
    found = propose_pairs(old, new, **options)  # type: ignore[arg-type]
    return {_path(old, name): _path(new, pairs[0].new) for name, pairs in found.items() if pairs}


def _path(tax: Taxonomy, name: str) -> str:
    return "/".join(tax.display(int(v)) for v in tax.path(name))


def test_equal_labels_are_told_apart_by_their_paths() -> None:
    old = shop("o", "Cats/Food", "Dogs/Food", "Cats/Beds")
    new = shop("n", "Dogs/Food", "Cats/Food", "Cats/Beds")
    assert first(old, new) == {name: name for name in ("Cats", "Dogs", "Cats/Food", "Dogs/Food", "Cats/Beds")}


def test_a_renamed_parent_is_found_by_its_children() -> None:
    old = shop("o", "Pets/Leashes", "Pets/Aquariums", "Office/Pens")
    new = shop("n", "Animals/Leashes", "Animals/Aquariums", "Office/Pens", "Gardens/Hoses")
    assert first(old, new)["Pets"] == "Animals"


def test_a_node_without_a_similar_label_is_proposed_what_its_parent_became() -> None:
    old = shop("o", "Pets/Leashes", "Pets/Zzyzx")
    found = propose_pairs(old, shop("n", "Pets/Leashes", "Garden/Hoses"))
    pair = next(pairs[0] for name, pairs in found.items() if old.display(name) == "Zzyzx")
    assert (pair.new, pair.kind) == ("n0", "broad")
    assert pair.confidence < 0.5


def test_an_alternative_label_of_the_other_version_is_found() -> None:
    old = Taxonomy.from_edges([("a", "b")], display_labels={"a": "Diseases", "b": "Heart attack"})
    new = Taxonomy.from_edges(
        [("x", "y"), ("x", "z")], display_labels={"x": "Diseases", "y": "Infarction", "z": "Heart"}
    )
    new = new.with_texts(
        Texts.from_entries(
            [(1, "preferred", "", "Infarction"), (1, "alternative", "", "Heart attack"), (2, "preferred", "", "Heart")]
        )
    )
    assert propose_pairs(old, new)["b"][0].new == "y"


def test_shared_documents_decide_where_texts_do_not() -> None:
    old, new = Taxonomy.flat(["k1", "k2"]), Taxonomy.flat(["p", "q", "r"])
    labels = [["k1"]] * 5 + [["k2"]] * 5, [["r"]] * 5 + [["p"]] * 5
    found = propose_pairs(old, new, documents=labels)
    assert [found[name][0].new for name in ("k1", "k2")] == ["r", "p"]


def test_known_pairs_of_relatives_are_evidence() -> None:
    old = shop("o", "A/Other", "B/Other")
    new = shop("n", "X/Other", "Y/Other")
    names = {_path(old, str(name)): str(name) for name in old.names}
    others = {_path(new, str(name)): str(name) for name in new.names}
    known = Correspondence.from_pairs([(names["A"], others["Y"]), (names["B"], others["X"])])
    assert first(old, new, known=known) == {"A/Other": "Y/Other", "B/Other": "X/Other"}
