"""The estimators of numbers as they come, against simple answers and networks, five splits of each set.

    python paper/experiments/regression.py --data-dir DATA
    python paper/experiments/regression.py --data-dir DATA --datasets effects noise --models default ridge

Half of the rows are for training, a quarter for validation and a quarter for the test. ``default`` is
`NodeRegressor()` (or `HyperedgeRegressor()`, `HypergraphRegressor()`) with nothing set; it gets the numbers
of training and validation. So does each of the others after a search of three settings on the validation
rows.

- ``mean``; ``neighbours``: the mean known number of the co-members.
- ``ridge``: features, degrees, and means of co-members; of whole hypergraphs their sizes. Three penalties.
- ``boosting``: scikit-learn's trees on the same columns; three learning rates.
- ``hgnn``, ``all-set-transformer``: networks on features, or on degrees and spectral features where there
  are none; three learning rates and dropouts, as in `defaults.py`.

The sets:

- ``diabetes-…``: a table of scikit-learn; hyperedges as in `defaults_unseen.py`.
- ``…-atoms``: the logarithm of the number of atoms of a metabolite, from the reactions that it is in, without
  features. ``…-reactions``: the same of all metabolites of a reaction.
- ``friedman-…``: a made table; with bins, without features.
- ``effects``: a node's number is the mean of hidden numbers of its hyperedges. ``sums``: a hyperedge's number
  is the sum of hidden numbers of its nodes. Both are made, with noise.
- ``overlaps``: how many pairs of hyperedges of a random hypergraph share two nodes.
- ``noise``: numbers that depend on nothing.

Finished cells are kept in ``--out``, with their commit and machine. The table goes to
``results/regression.json`` and ``.csv``: R² on the test rows, and in the ``settings`` of ``default`` the
margin to the best of the others, with the larger standard error of the two means.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import defaults_data as sets
from defaults_models import SEARCH
from defaults_unseen import bins, near

import ehnn
from ehnn.estimators.portfolio.graph_table import GraphTable
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output
from ehnn.hypergraph import dual
from ehnn_paper.cells import Cell, run_cells
from ehnn_paper.results import provenance, summary, write_rows

Array = np.ndarray
KINDS = {
    "nodes": ehnn.NodeRegressor,
    "hyperedges": ehnn.HyperedgeRegressor,
    "hypergraphs": ehnn.HypergraphRegressor,
}
NETWORKS = ("hgnn", "all-set-transformer")
MODELS = ("default", "mean", "neighbours", "ridge", "boosting", *NETWORKS)
PENALTIES, RATES = (0.1, 10.0, 1000.0), (0.03, 0.1, 0.3)

# ---------------------------------------------------------------------- sets


def _diabetes(shape: Callable[[Array, Array], sets.Data]) -> sets.Data:
    from sklearn import datasets

    return shape(*datasets.load_diabetes(return_X_y=True))


def _friedman(shape: Callable[[Array, Array], sets.Data], features: bool) -> sets.Data:
    from sklearn import datasets

    data = shape(*datasets.make_friedman1(600, 10, noise=1.0, random_state=5))
    return data if features else sets.Data(data.task, data.h.replace(x=None), data.y)


def _atoms(name: str, task: str, data_dir: str) -> sets.Data:
    with np.load(Path(data_dir) / "metabolic" / f"{name}.npz") as d:
        node, edge, atoms = d["node"], d["edge"], d["x"].sum(1)
        h = ehnn.Hypergraph.from_incidence((node, edge), int(d["num_nodes"]), int(d["num_edges"]))
    every = atoms if task == "nodes" else np.bincount(edge, atoms[node], h.num_edges)
    return sets.Data(task, h, np.log1p(every).astype(np.float64))


def _pairs(random: np.random.Generator) -> ehnn.Hypergraph:
    """6000 random incidences of 1500 nodes and 700 hyperedges; some are drawn twice."""
    found = np.unique(random.integers(0, 1500, 6000) * 700 + random.integers(0, 700, 6000))
    return ehnn.Hypergraph.from_incidence((found // 700, found % 700), 1500, 700)


def _effects() -> sets.Data:
    random = np.random.default_rng(3)
    h, hidden = _pairs(random), random.standard_normal(700)
    node, edge = h.index.numpy()
    total = np.bincount(node, hidden[edge], 1500) / np.maximum(h.degrees.numpy(), 1)
    return sets.Data("nodes", h, total + 0.3 * random.standard_normal(1500))


def _sums() -> sets.Data:
    random = np.random.default_rng(4)
    h, hidden = _pairs(random), random.standard_normal(1500)
    node, edge = h.index.numpy()
    return sets.Data(
        "hyperedges", h, np.bincount(edge, hidden[node], 700) + 0.3 * random.standard_normal(700)
    )


def _overlaps() -> sets.Data:
    random = np.random.default_rng(6)
    members, counts = [], []
    for _ in range(300):
        edges = [
            random.choice(14, random.integers(2, 7), replace=False).tolist()
            for _ in range(random.integers(4, 13))
        ]
        h = ehnn.Hypergraph.from_edges(edges, 14)
        shared = ehnn.io.to_scipy(h).T @ ehnn.io.to_scipy(h)
        members.append(h)
        counts.append(float((shared.toarray()[np.triu_indices(h.num_edges, 1)] >= 2).sum()))
    return sets.Data("hypergraphs", members, np.array(counts))


def _noise() -> sets.Data:
    random = np.random.default_rng(7)
    return near(random.standard_normal((300, 6)), random.standard_normal(300))


SETS: dict[str, Callable[[str], sets.Data]] = {
    "diabetes-near": lambda _: _diabetes(near),
    "diabetes-bins": lambda _: _diabetes(bins),
    "friedman-near": lambda _: _friedman(near, True),
    "friedman-bins": lambda _: _friedman(bins, False),
    "iAF692-atoms": partial(_atoms, "iAF692", "nodes"),
    "iJO1366-atoms": partial(_atoms, "iJO1366", "nodes"),
    "iAF692-reactions": partial(_atoms, "iAF692", "hyperedges"),
    "iJO1366-reactions": partial(_atoms, "iJO1366", "hyperedges"),
    "effects": lambda _: _effects(),
    "sums": lambda _: _sums(),
    "overlaps": lambda _: _overlaps(),
    "noise": lambda _: _noise(),
}


@cache
def load(name: str, data_dir: str) -> sets.Data:
    """A set by name, once for each process."""
    return SETS[name](data_dir)


def split(count: int, seed: int) -> tuple[Array, Array, Array]:
    """Row numbers of half, a quarter and a quarter of ``count`` rows."""
    order = np.random.default_rng([11, seed]).permutation(count)
    return order[: count // 2], order[count // 2 : count * 3 // 4], order[count * 3 // 4 :]


def r2(y: Array, predicted: Array) -> float:
    """1 for perfect predictions, 0 for the mean of ``y``."""
    return float(1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())


# ---------------------------------------------------------------------- models


def estimated(data: sets.Data, rows: Array, settings: dict[str, Any]) -> tuple[Array, Any]:
    """Predictions of all rows by an estimator, and the estimator."""
    model = KINDS[data.task](**settings)
    if data.task == "hypergraphs":
        model.fit([data.h[i] for i in rows], data.y[rows])
    else:
        known = np.full(len(data.y), np.nan)
        known[rows] = data.y[rows]
        model.fit(data.h, known)
    return np.asarray(model.predict(data.h), np.float64).reshape(len(data.y)), model


def network(model: str, data: sets.Data, both: Array, seed: int) -> Array:
    """A network with the best of the settings on its own validation rows."""
    found: tuple[float, Array] | None = None
    for setting in SEARCH:
        fit = {
            "epochs": 200,
            "patience": 40,
            "validation_fraction": 1 / 3,
            "random_state": seed,
            "device": "cpu",
        }
        predicted, fitted = estimated(data, both, {"model": model, **fit, **setting})
        reached = fitted.history_[fitted.best_epoch_ - 1]["valid"]
        found = (reached, predicted) if found is None or reached > found[0] else found
    assert found is not None
    return found[1]


def columns(data: sets.Data, rows: Array, blocks: Sequence[str]) -> Array:
    """``[rows, columns]`` of simple models; the numbers of ``rows`` are known, standardised."""
    if data.task == "hypergraphs":
        return GraphTable(data.h).matrix(("sizes",))
    h = dual(data.h) if data.task == "hyperedges" else data.h
    known = np.full((len(data.y), 1), np.nan)
    known[rows, 0] = (data.y[rows] - data.y[rows].mean()) / max(data.y[rows].std(), 1e-12)
    found = NodeTable(h).with_known(Output("numbers", 1), known, np.zeros(1)).matrix(tuple(blocks))
    return found.toarray() if hasattr(found, "toarray") else found


def simple(model: str, data: sets.Data, train: Array, valid: Array) -> Array | None:
    """Predictions of all rows; None where the model is not for the task."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    both, y = np.concatenate([train, valid]), data.y
    if model == "mean":
        return np.full(len(y), y[both].mean())
    if model == "neighbours":
        if data.task == "hypergraphs":
            return None
        return columns(data, both, ("count",))[:, 0] * y[both].std() + y[both].mean()
    makers: list[Callable[[], Any]] = (
        [lambda a=a: make_pipeline(StandardScaler(), Ridge(alpha=a)) for a in PENALTIES]
        if model == "ridge"
        else [lambda r=r: HistGradientBoostingRegressor(learning_rate=r, random_state=0) for r in RATES]
    )
    blocks = ("x", "degree", "count", "vote")
    part, whole = columns(data, train, blocks), columns(data, both, blocks)
    reached = [r2(y[valid], make().fit(part[train], y[train]).predict(part[valid])) for make in makers]
    return makers[int(np.argmax(reached))]().fit(whole[both], y[both]).predict(whole)


def measure(name: str, model: str, seed: int, data_dir: str) -> dict[str, Any]:
    """R² of a model on the test rows of a split; nothing where it is not for the task."""
    torch.set_num_threads(1)
    threadpool_limits(1)
    data = load(name, data_dir)
    train, valid, test = split(len(data.y), seed)
    both = np.concatenate([train, valid])
    if model == "default":
        predicted: Array | None = estimated(data, both, {"random_state": seed})[0]
    elif model in NETWORKS:
        predicted = network(model, data, both, seed)
    else:
        predicted = simple(model, data, train, valid)
    return {} if predicted is None else {"r2": r2(data.y[test], predicted[test])}


# ---------------------------------------------------------------------- the table


def rows_of(name: str, found: dict[str, dict[int, dict[str, Any]]], command: str) -> list[dict[str, Any]]:
    """A row for each model of a set; that of ``default`` has its margin to the best of the others."""
    values = {m: np.array([one["r2"] for one in cells.values()]) for m, cells in found.items()}
    made = []
    for model, cells in found.items():
        settings: dict[str, Any] = {"by_split": [round(v, 4) for v in values[model]]}
        others = [m for m in found if m != "default" and found[m].keys() == cells.keys()]
        if model == "default" and others:
            best = max(others, key=lambda m: values[m].mean())
            error = max(_error(values[model]), _error(values[best]))
            margin = float(values[model].mean() - values[best].mean())
            settings |= {
                "best_other": best,
                "margin": margin,
                "standard_error": error,
                "holds": margin >= -error,
            }
        about = provenance(
            command, seeds=list(cells), settings=settings, runs=[c["origin"] for c in cells.values()]
        )
        selection = "none" if model in ("mean", "neighbours") else "validation"
        made.append(
            {"setting": name, "model": model, "selection": selection, "metric": "r2", "paper": None}
            | summary(values[model].tolist()) | about
        )  # fmt: skip
    return made


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--datasets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/regression"), help="folder of finished cells")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args(arguments)
    cells = {
        (name, model, seed): Cell(
            given.out / name / model / f"split-{seed}.json",
            partial(measure, name, model, seed, given.data_dir),
        )
        for name in given.datasets
        for model in given.models
        for seed in range(given.splits)
    }
    run_cells(list(cells.values()), jobs=given.jobs)
    table = []
    for name in given.datasets:
        kept = {m: {s: cells[name, m, s].found() for s in range(given.splits)} for m in given.models}
        done = {m: {s: one for s, one in every.items() if one and "r2" in one} for m, every in kept.items()}
        command = f"python paper/experiments/regression.py --data-dir DATA --splits {given.splits}"
        table += rows_of(name, {m: every for m, every in done.items() if every}, command)
    write_rows("regression", table, given.results)
    for row in table:
        told = row["settings"]
        margin = (
            f"{told['margin']:+.3f} ± {told['standard_error']:.3f} {told['best_other']}"
            if "margin" in told
            else ""
        )
        print(f"{row['setting']:18} {row['model']:20} {row['mean']:6.3f} ({row['runs']})  {margin}")


if __name__ == "__main__":
    main()
