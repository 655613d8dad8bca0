"""The demo on other draws: the modules of a random fifth of SciPy's functions are known.

    python paper/experiments/demo_draws.py
    python paper/experiments/demo_draws.py --draws 3

``make demo`` knows the module of every fifth function, which is one draw of many (setting ``every fifth``, a
single run). Here each seed draws another fifth (setting ``random fifths``). Accuracy is over the functions
whose module is not known; ``ahead`` is the accuracy of a model minus that of logistic regression on the same
draw. The functions and their words are those of the installed SciPy.

Finished draws are kept in ``--out``; rows go to ``results/demo-draws.json`` and ``.csv``.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import ehnn
from demo import KNOWN, accuracies, logistic_regression, majority, vote
from ehnn_paper.cells import Cell, run_cells
from ehnn_paper.results import provenance, summary, write_rows

SIMPLE = {"majority": majority, "vote": vote, "lr-features": logistic_regression}
OURS = "node-classifier"
MODELS = (*SIMPLE, OURS)
AGAINST = "lr-features"
DEMO = -1
"""The draw of the demo itself: every fifth function."""


def drawn(draw: int, count: int) -> np.ndarray:
    """``[count]``: which functions have a known module; as many in every draw."""
    known = np.arange(count) % KNOWN == 0
    return known if draw == DEMO else np.random.default_rng(draw).permutation(known)


def measure(draw: int, budget: str) -> dict[str, Any]:
    """Accuracy in percent of each model over the functions that are asked for."""
    torch.set_num_threads(1)
    h, module = ehnn.datasets.scipy_functions()
    names, labels = np.array(h.node_names), np.array(list(module.values()))
    known = drawn(draw, h.num_nodes)
    predicted = {name: f(ehnn.io.to_scipy(h), labels, known) for name, f in SIMPLE.items()}
    model = ehnn.NodeClassifier(budget=budget, random_state=max(draw, 0))
    model.fit(h, dict(zip(names[known], labels[known], strict=True)))
    predicted[OURS] = np.asarray(model.predict(h))
    return {"accuracy": accuracies(predicted, labels, ~known)}


def rows(setting: str, found: dict[int, dict[str, Any]], command: str) -> list[dict[str, Any]]:
    """Accuracy of each model, and how far it is ahead of logistic regression; means over draws."""
    about = provenance(
        command, seeds=[max(draw, 0) for draw in found], runs=[one["origin"] for one in found.values()]
    )
    made = []
    for model in MODELS:
        right = [one["accuracy"][model] for one in found.values()]
        ahead = [one["accuracy"][model] - one["accuracy"][AGAINST] for one in found.values()]
        selection = "validation" if model == OURS else "none"
        same = {"setting": setting, "model": model, "selection": selection, "paper": None, **about}
        made += [same | {"metric": "accuracy", **summary(right)}]
        made += [same | {"metric": "ahead", **summary(ahead)}] if model != AGAINST else []
    return made


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--budget", default="default", help="fast, default or best")
    parser.add_argument("--out", type=Path, default=Path("runs/demo-draws"), help="folder of finished draws")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args(arguments)
    command = f"python paper/experiments/demo_draws.py --draws {given.draws} --budget {given.budget}"
    cells = {
        draw: Cell(given.out / f"{given.budget}-{draw}.json", partial(measure, draw, given.budget))
        for draw in (DEMO, *range(given.draws))
    }
    run_cells(list(cells.values()))
    found = {draw: one for draw, cell in cells.items() if (one := cell.found()) is not None}
    demo = {draw: one for draw, one in found.items() if draw == DEMO}
    others = {draw: one for draw, one in found.items() if draw != DEMO}
    table = [
        row
        for setting, part in (("every fifth", demo), ("random fifths", others))
        if part
        for row in rows(setting, part, command)
    ]
    write_rows("demo-draws", table, given.results)
    for row in table:
        print(f"{row['setting']:14} {row['model']:16} {row['metric']:9} {row['mean']:.1f} ({row['runs']})")


if __name__ == "__main__":
    main()
