"""
A shoot-out, read again
=======================

``linnaeus shootout`` compares tuned models under the same conditions. Its result is a file that can be read again;
this one is 20 newsgroups with a taxonomy of 39 nodes. Bars are 95 % intervals over test documents.
"""

import json
from pathlib import Path

from matplotlib import pyplot as plt

from linnaeus import metrics

here = Path.cwd()
folder = next(parent for parent in (here, *here.parents) if (parent / "docs" / "results").is_dir())
result = json.loads((folder / "docs" / "results" / "shootout" / "20newsgroups.json").read_text("utf-8"))
print(result["sentence"])
measure = "hierarchical_f1"
assert hasattr(metrics, measure)
runs = [run for run in result["runs"] if run["measures"].get(measure) is not None]
runs = sorted(runs, key=lambda run: -run["measures"][measure])[:12]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for row, run in enumerate(runs):
    value = run["measures"][measure]
    low, high = run.get("intervals", {}).get(measure, (value, value))
    axes.errorbar(value, row, xerr=[[value - low], [high - value]], fmt="o", color="#1f5a99", capsize=2)
axes.set_yticks(range(len(runs)), [run["model"] for run in runs])
axes.invert_yaxis()
axes.set_xlabel(measure.replace("_", " "))
