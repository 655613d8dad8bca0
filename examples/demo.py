"""Which module of SciPy does a function belong to? A classifier on a hypergraph, beside simple baselines.

Nodes are the public functions of the installed SciPy. A hyperedge is a word: the name of a parameter, or a
word of the first lines of the docstring. It joins the functions that use it. The module of every fifth
function is known; the others are predicted.

Run it with ``make demo``, or ``python examples/demo.py`` with ehnn, scikit-learn and matplotlib. It
prints a table and writes a picture to ``demo.png``, in about half a minute on two cores.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import ehnn

KNOWN = 5
"""Every fifth function has a known module."""
Labels = np.ndarray


def majority(members: Any, labels: Labels, known: Labels) -> Labels:
    """The most frequent module for every function."""
    (most, _), *_ = Counter(labels[known]).most_common()
    return np.full(len(labels), most)


def vote(members: Any, labels: Labels, known: Labels) -> Labels:
    """Each word votes with the shares of the modules among the known functions that use it."""
    classes, number = np.unique(labels[known], return_inverse=True)
    counts = members[known].T @ np.eye(len(classes))[number]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return classes[(members @ shares).argmax(1)]


def logistic_regression(members: Any, labels: Labels, known: Labels) -> Labels:
    """A linear model on the words of a function, which does not see the other functions."""
    return LogisticRegression(max_iter=1000).fit(members[known], labels[known]).predict(members)


def accuracies(predicted: dict[str, Labels], labels: Labels, asked: Labels) -> dict[str, float]:
    return {name: 100 * float((found[asked] == labels[asked]).mean()) for name, found in predicted.items()}


def by_module(predicted: Labels, labels: Labels, asked: Labels) -> dict[str, float]:
    rows = {module: asked & (labels == module) for module in np.unique(labels[asked])}
    return {module: 100 * float((predicted[row] == module).mean()) for module, row in rows.items()}


def draw(predicted: dict[str, Labels], labels: Labels, asked: Labels, path: Path) -> None:
    """Accuracy of all, and of the last two by module."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    overall = accuracies(predicted, labels, asked)
    colours = ["0.6"] * (len(overall) - 2) + ["tab:orange", "tab:blue"]
    left.scatter(list(overall.values()), list(overall), c=colours, s=70, zorder=2)
    for name, value in overall.items():
        left.annotate(f"{value:.1f}", (value, name), (0, 9), textcoords="offset points", ha="center")
    left.set(xlabel="accuracy on functions with unknown module, %", xlim=(0, 100))
    left.margins(y=0.2)
    for name, colour in zip(list(overall)[-2:], colours[-2:], strict=True):
        share = by_module(predicted[name], labels, asked)
        right.scatter(list(share.values()), list(share), color=colour, s=45, label=name, zorder=2)
    right.set(xlabel="accuracy by module, %", xlim=(-3, 103))
    right.legend(loc="lower left")
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="the picture")
    parser.add_argument("--budget", default="default", help="of NodeClassifier: fast, default or best")
    given = parser.parse_args()

    h, module = ehnn.datasets.scipy_functions()
    names, labels = np.array(h.node_names), np.array(list(module.values()))
    known = np.arange(h.num_nodes) % KNOWN == 0
    asked = ~known
    print(h)
    print(
        f"Known modules: {known.sum()} functions of {len(set(labels))} modules. To predict: {asked.sum()}.\n"
    )

    members = ehnn.io.to_scipy(h)
    simple = (majority, vote, logistic_regression)
    predicted = {f.__name__.replace("_", " "): f(members, labels, known) for f in simple}
    start = time.perf_counter()
    model = ehnn.NodeClassifier(budget=given.budget).fit(
        h, dict(zip(names[known], labels[known], strict=True))
    )
    predicted["NodeClassifier"] = np.asarray(model.predict(h))
    seconds = time.perf_counter() - start

    for name, value in accuracies(predicted, labels, asked).items():
        print(f"{name:20} {value:5.1f} % of the unknown modules are right")
    print(f"\nehnn.NodeClassifier() took {seconds:.0f} s. It averages these members, by their weight:")
    for row in sorted(model.leaderboard_[:-1], key=lambda row: -row["weight"]):
        if row["weight"]:
            print(
                f"  {row['member']:20} {row['weight']:.2f}   {100 * row['accuracy']:.1f} % on held-out labels"
            )
    print("Some of its answers:")
    sure = model.predict_proba(h).max(1)
    for v in np.flatnonzero(asked)[:: asked.sum() // 6]:
        right = "right" if predicted["NodeClassifier"][v] == labels[v] else f"wrong, it is {labels[v]}"
        print(f"  {names[v]:22} {predicted['NodeClassifier'][v]:18} {sure[v]:.2f}  {right}")
    draw(predicted, labels, asked, given.out)
    print(f"\nPicture: {given.out}")
    print("""
Next:
  ehnn data example functions.csv      the same data as a table, to try `ehnn train`, `predict` and `report`
  docs/own-data.md                     your own table
  docs/tutorial.md                     the same steps in Python, ten minutes""")


if __name__ == "__main__":
    main()
