"""Pictures show what they promise: counts, confusions, frequencies, contributions, weights."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from linnaeus import RRSVM, OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.errors import DataError, LinnaeusError, ParameterError
from linnaeus.features import TextFeatures

pytest.importorskip("matplotlib", reason="pictures need the extra plots")

from matplotlib.figure import Figure

from linnaeus import plots

TAX = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB"), ("B", "AB")])


@pytest.fixture
def ax():
    return Figure().add_subplot()


def texts_of(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_a_node_counts_the_documents_below_it(ax) -> None:
    plots.plot_taxonomy(TAX, [["AA"], ["AB"], ["AA", "B"]], ax=ax)
    assert sorted(texts_of(ax)) == ["A (3)", "AA (2)", "AB (1)", "B (2)", "Root (3)"]
    assert sum(line.get_linestyle() == ":" for line in ax.lines) == 1  # the second parent of AB


def test_what_does_not_fit_is_counted(ax) -> None:
    wide = Taxonomy.from_edges([("Root", f"n{i}") for i in range(4)] + [("n0", f"m{i}") for i in range(100)])
    plots.plot_taxonomy(wide, max_nodes=10, ax=ax)
    assert sorted(texts_of(ax)) == ["Root", "n0 +100", "n1", "n2", "n3"]


def test_values_of_unknown_nodes_are_refused(ax) -> None:
    with pytest.raises(DataError, match="values of 'AC': not a node"):
        plots.plot_taxonomy(TAX, values={"AC": 1.0}, ax=ax)


def test_confusion_counts_pairs_of_missed_and_added_siblings(ax) -> None:
    plots.plot_confusion(["AA", "AA", "AB", "B"], [["AA"], ["AB"], ["AB"], []], TAX, "A", ax=ax)
    shown = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}
    assert shown == {(0, 0): "1", (0, 1): "1", (1, 1): "1"}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["AA", "AB"]
    with pytest.raises(DataError, match="has 0 children"):
        plots.plot_confusion(["AA"], ["AA"], TAX, "AA", ax=ax)


def test_reliability_shows_frequencies(ax) -> None:
    P = np.tile([0.75, 0.25], (4, 1))
    plots.plot_reliability(["A", "A", "A", "B"], P, Taxonomy.flat(["A", "B"]), n_bins=2, ax=ax)
    line = ax.containers[0].lines[0]
    assert line.get_xdata().tolist() == [0.25, 0.75]
    assert line.get_ydata().tolist() == [0.25, 0.75]


def test_learning_curves_take_lists_of_labels_and_repeat(ax) -> None:
    texts, labels = ["cats purr", "dogs bark", "cats and dogs"] * 4, [["A"], ["B"], ["A", "B"]] * 4
    models = {"flat": Pipeline(OneVsRestSVM(random_state=0), TextFeatures())}
    points = plots.learning_curve(models, texts, labels, texts[:3], labels[:3], sizes=[6, 12])
    assert [point.n_documents for point in points] == [6, 12]
    assert points[1].value == 1.0
    assert points == plots.learning_curve(models, texts, labels, texts[:3], labels[:3], sizes=[12, 6])
    plots.plot_learning_curve(points, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == [point.value for point in points]
    with pytest.raises(ParameterError, match="from 1 to 12"):
        plots.learning_curve(models, texts, labels, texts, labels, sizes=[13])


def test_bars_of_an_explanation_sum_to_the_score(ax) -> None:
    tree = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    pipe = Pipeline(RRSVM(taxonomy=tree, random_state=0), TextFeatures())
    pipe.fit(["cats purr loudly", "dogs bark", "birds sing"], [["AA"], ["AB"], ["B"]])
    steps = pipe.explain("cats purr loudly")
    plots.plot_explanation(steps, k=1, ax=ax)
    total = sum(bar.get_width() for bar in ax.patches)
    assert total == pytest.approx(sum(step.score for step in steps), abs=1e-5)
    assert texts_of(ax) == [f"{step.node}: {step.score:+.3f}" for step in steps]


def test_weights_stand_against_those_of_the_parent(ax) -> None:
    tree = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    model = RRSVM(taxonomy=tree, random_state=0).fit(np.eye(3), ["AA", "AB", "B"])
    plots.plot_weights(model, "AA", list("xyz"), k=1, ax=ax)
    offsets = np.asarray(ax.collections[0].get_offsets())
    assert np.allclose(offsets[:, 1], model.node_weights("AA")[0])
    assert np.allclose(offsets[:, 0], model.node_weights("A")[0])
    with pytest.raises(DataError, match="top of the taxonomy"):
        plots.plot_weights(model, "B", ax=ax)
    with pytest.raises(ParameterError, match="has no weights of inner nodes"):
        plots.plot_weights(OneVsRestSVM(), "AA", ax=ax)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(LinnaeusError, match=r"linnaeus\[plots\]"):
        plots.plot_taxonomy(TAX)


def test_other_things_than_axes_are_refused() -> None:
    with pytest.raises(ParameterError, match="expected matplotlib axes"):
        plots.plot_taxonomy(TAX, ax="here")
