"""What new data cost: accuracy on nodes and sets that were not there in training.

    python paper/experiments/new_data.py cora-coauthorship.npz contact-primary-school.npz

A fifth of the nodes have hidden labels. They are predicted (1) in a hypergraph that has them, (2) as new
nodes in known sets, by a model that has never seen them, and (3) as known nodes, by a model that has seen
half of the sets: before and after the other half comes as a later table. Nodes in no late set do not count.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ehnn
from ehnn.tables import Source, read
from ehnn.tables.later import ask


def model(budget: str) -> ehnn.NodeClassifier:
    return ehnn.NodeClassifier(budget=budget, device="cpu")


def later(fitted: Any, table: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Names and predictions of the nodes of a table that comes later."""
    asked = ask(fitted.reader_, Source(table, layout=fitted.reader_.layout))
    return [name for (name,) in asked.names], fitted.predict(asked)


def measure(path: Path, budget: str, seed: int) -> dict[str, float]:
    """Accuracy on the nodes with hidden labels."""
    data = np.load(path)
    rows = pd.DataFrame({"node": [f"n{i}" for i in data["node"]], "edge": [f"e{i}" for i in data["edge"]]})
    label = {f"n{i}": f"c{data['y'][i]}" for i in np.unique(data["node"])}
    draw, names = np.random.default_rng(seed), sorted(label)
    hidden = set(draw.choice(names, len(names) // 5, replace=False))
    people = pd.DataFrame({"node": names, "label": [None if n in hidden else label[n] for n in names]})
    late = rows["edge"].isin(
        set(draw.choice(rows["edge"].unique(), rows["edge"].nunique() // 2, replace=False))
    )
    asked = hidden & set(rows["node"][late])

    def accuracy(found: Iterable[str], predicted: np.ndarray) -> float:
        return float(np.mean([p == label[n] for n, p in zip(found, predicted, strict=True) if n in asked]))

    whole = read(rows, "label", nodes=people)
    known = people[~people["node"].isin(hidden)]
    without = model(budget).fit(read(rows[~rows["node"].isin(hidden)], "label", nodes=known))
    half = read(rows[~late], "label", nodes=people)
    fitted = model(budget).fit(half)
    return {
        "in training": accuracy(whole.h.node_names, model(budget).fit(whole).predict(whole.h)),
        "new nodes in known sets": accuracy(*later(without, rows[rows["node"].isin(hidden)])),
        "half of the sets": accuracy(half.h.node_names, fitted.predict(half.h)),
        "and the other half as new sets": accuracy(*later(fitted, rows[late])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, help="npz files with node, edge and y")
    parser.add_argument("--budget", default="fast")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # notes on what was not there in training
    for path in given.files:
        for name, value in measure(path, given.budget, given.seed).items():
            print(f"{path.stem}: {name}: {100 * value:.1f} %", flush=True)


if __name__ == "__main__":
    main()
