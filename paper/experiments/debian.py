"""Debian packages: in which of 58 sections is a package, by what it depends on?

    python paper/experiments/debian.py
    python paper/experiments/debian.py --models majority roles --budget 30

A hyperedge is the line ``Depends`` of a package. Its nodes have roles: 0 the package itself, 1 what it needs,
2 one of several alternatives (``a | b``). Labels of the training and validation part of the file are known;
the split is by source package. ``structure`` ignores roles, ``roles`` sees them, ``roles-words`` also reads
words of the description and sizes. Accuracy and macro-F1 over the test packages; rows go to
``results/debian.json``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import ehnn
from ehnn._utils.untrusted import read_arrays
from ehnn.datasets.locate import data_folder
from ehnn_paper.cells import Cell, rows_of, run_cells
from ehnn_paper.results import write_rows

MODELS = ("majority", "structure", "roles", "roles-words")
METRICS = ("accuracy", "macro-f1")
DEPENDS = 0
ITSELF, NEEDED, ALTERNATIVE = 0, 1, 2


def dependencies(d: dict[str, np.ndarray], words: bool) -> ehnn.Hypergraph:
    """A hyperedge for each package that depends on others, with three roles."""
    chosen = d["kind"][d["edge"]] == DEPENDS
    node, edge, side = (d[name][chosen].astype(np.int64) for name in ("node", "edge", "side"))
    _, group, count = np.unique(
        np.stack([edge, d["group"][chosen], side]), axis=1, return_inverse=True, return_counts=True
    )
    roles = np.where(side < 0, ITSELF, np.where(count[group.ravel()] > 1, ALTERNATIVE, NEEDED))
    n = int(d["num_nodes"])
    key, first = np.unique(edge * n + node, return_index=True)  # of a name that is there twice, the first
    edges, place = np.unique(key // n, return_inverse=True)
    x = None
    if words:
        matrix = csr_matrix((d["x_data"], d["x_indices"], d["x_indptr"]), tuple(d["x_shape"])).toarray()
        x = torch.from_numpy(np.concatenate([matrix, d["num_x"]], 1)).float()
    return ehnn.Hypergraph.from_incidence((key % n, place), n, len(edges), x=x, roles=roles[first])


def measure(model: str, seed: int, budget: str | float, data_dir: str | None) -> dict[str, Any]:
    """Accuracy and macro-F1 in percent over the test packages."""
    from sklearn.metrics import f1_score

    torch.set_num_threads(1)
    folder = data_folder(data_dir)
    if folder is None:
        raise ValueError("data are read from a folder: give --data-dir, or set EHNN_DATA")
    d = read_arrays(folder / "scale" / "debian-packages.npz", "Debian packages")
    y, split = d["y"].astype(np.int64), d["split"]
    test, known = (y >= 0) & (split == 2), (y >= 0) & (split < 2)
    chosen: dict[str, Any] = {}
    if model == "majority":
        found = np.full(len(y), np.bincount(y[known]).argmax())
    else:
        h = dependencies(d, words=model == "roles-words")
        h = h.replace(roles=None) if model == "structure" else h
        fitted = ehnn.NodeClassifier(budget=budget, random_state=seed)
        fitted.fit(h, [int(c) if k else None for c, k in zip(y, known, strict=True)])
        chosen = {row["member"]: row["weight"] for row in fitted.leaderboard_[:-1] if row.get("weight")}
        found = np.asarray(fitted.predict(h))
    f1 = f1_score(y[test], found[test], average="macro")
    return {"accuracy": 100 * float((found == y)[test].mean()), "macro-f1": 100 * float(f1), "chosen": chosen}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", default="fast", help="fast, default or best")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/debian"), help="folder of finished cells")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args(arguments)
    words = ["--seeds", str(given.seeds), "--budget", given.budget]
    command, rows = shlex.join(["python", "paper/experiments/debian.py", *words]), []
    for model in given.models:
        cells = {
            s: Cell(given.out / f"{model}-{s}.json", partial(measure, model, s, given.budget, given.data_dir))
            for s in range(given.seeds)
        }
        run_cells(list(cells.values()))
        found = {s: cell.found() for s, cell in cells.items()}
        rows += rows_of("sections", model, METRICS, found, command)
    write_rows("debian", rows, given.results)
    for row in rows:
        print(f"{row['model']:12} {row['metric']:9} {row['mean']:.1f} ({row['runs']})")


if __name__ == "__main__":
    main()
