"""Labels of nodes within hyperedges: WHATsNet, CoNHD and `ehnn.IncidenceClassifier` on one protocol.

    python paper/experiments/incidences.py --datasets outsider-cora --seeds 3
    python paper/experiments/incidences.py --datasets stack-biology --models whatsnet conhd-unb

Splits are of hyperedges: ``split`` of the file, and ``split_strict`` of outsider-*, where corrupted copies of
one hyperedge stay together. Micro- and macro-F1 over the test incidences; of a node that is twice in a
hyperedge the first label counts. All models see the unlabelled test incidences, and labels of the training
part alone.

The networks have their authors' layers; epoch and dropout are chosen on the validation part. Two things
differ from their papers: every step takes all hyperedges in place of a batch of them, and the node vectors
that are trained begin with 44 singular vectors of the incidence matrix in place of skip-gram vectors of
random walks. Features of the dataset come beside them.

Finished cells are kept in ``--out``; rows go to ``results/incidences.json`` and ``.csv``.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds
from sklearn.metrics import f1_score
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import ehnn
from ehnn._utils.atomic import atomic_write
from ehnn._utils.untrusted import read_arrays
from ehnn.datasets.locate import data_folder
from ehnn.nn.baselines import CoNHD, WHATsNet
from ehnn_paper.results import origin, provenance, write_rows

RANK = 44
NETS: dict[str, Callable[..., nn.Module]] = {
    "whatsnet": WHATsNet,
    "conhd-isab": partial(CoNHD, diffusion="isab"),
    "conhd-unb": partial(CoNHD, diffusion="unb"),
}
OURS = "incidence-classifier"
DROPOUTS = (0.3, 0.7)
EVERY = 5


def load(name: str, data_dir: str | None) -> tuple[ehnn.Hypergraph, Tensor, dict[str, Tensor]]:
    """The hypergraph, the label of each incidence, and splits of the incidences (0, 1, 2)."""
    folder = data_folder(data_dir)
    if folder is None:
        raise ValueError("data are read from a folder: give --data-dir, or set EHNN_DATA")
    d = read_arrays(folder / "enc" / f"{name}.npz", "labels of incidences")
    n, m = int(d["num_nodes"]), int(d["num_edges"])
    x = None
    if "x_data" in d:
        x = csr_array((d["x_data"], d["x_indices"], d["x_indptr"]), tuple(d["x_shape"])).toarray()
    h = ehnn.Hypergraph.from_incidence((d["node"], d["edge"]), n, m, x=x)
    key, first = np.unique(d["edge"] * n + d["node"], return_index=True)
    node, edge = h.index.numpy()
    label = d["label"][first[np.searchsorted(key, edge * n + node)]].astype(np.int64)
    splits = {
        shown: torch.from_numpy(d[kept][edge].astype(np.int64))
        for shown, kept in (("shipped", "split"), ("strict", "split_strict")) if kept in d
    }  # fmt: skip
    return h, torch.from_numpy(label), splits


def vectors(h: ehnn.Hypergraph) -> Tensor:
    """``[num_nodes, 44]`` standardised left singular vectors of D_v^-½ H D_e^-½."""
    node, edge = h.index.numpy()
    matrix = csr_array((np.ones(len(node)), (node, edge)), (h.num_nodes, h.num_edges))
    of_nodes, of_edges = (diags_array(1 / np.sqrt(np.maximum(t.numpy(), 1))) for t in (h.degrees, h.orders))
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left = svds(of_nodes @ matrix @ of_edges, RANK, v0=start)[0]
    return torch.from_numpy((left - left.mean(0)) / (left.std(0) + 1e-9)).float()


class WithVectors(nn.Module):
    """A model whose node features are trained vectors, and the given features beside them."""

    def __init__(
        self, make: Callable[..., nn.Module], h: ehnn.Hypergraph, start: Tensor, classes: int
    ) -> None:
        super().__init__()
        self.vectors = nn.Parameter(start.clone())
        self.model = make(RANK + (0 if h.x is None else h.x.shape[1]), classes)

    def forward(self, h: ehnn.Hypergraph) -> Tensor:
        x = self.vectors if h.x is None else torch.cat([self.vectors, h.x], 1)
        return self.model(h, x)


def train(
    make: Callable[..., nn.Module], h: ehnn.Hypergraph, y: Tensor, split: Tensor, seed: int, epochs: int
) -> tuple[float, np.ndarray]:
    """Best validation accuracy, and the predictions of that epoch."""
    torch.manual_seed(seed)
    model = WithVectors(make, h, vectors(h), int(y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    rate = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    best, chosen = -1.0, np.zeros(len(y), np.int64)
    for epoch in range(1, epochs + 1):
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(h)[split == 0], y[split == 0]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        if epoch % EVERY == 0:
            model.eval()
            with torch.no_grad():
                found = model(h).argmax(1)
            valid = float((found == y)[split == 1].float().mean())
            if valid > best:
                best, chosen = valid, found.numpy()
    return best, chosen


def predict(
    model: str, h: ehnn.Hypergraph, y: Tensor, split: Tensor, seed: int, epochs: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """The predictions of a model, and what was chosen."""
    if model == OURS:
        shown = [int(label) if part == 0 else None for label, part in zip(y, split, strict=True)]
        fitted = ehnn.IncidenceClassifier(random_state=seed).fit(h, shown)
        return np.asarray(fitted.predict(h)), {}
    made = {p: train(partial(NETS[model], dropout=p), h, y, split, seed, epochs) for p in DROPOUTS}
    chosen = max(made, key=lambda p: made[p][0])
    return made[chosen][1], {"dropout": chosen}


def measure(
    model: str, h: ehnn.Hypergraph, y: Tensor, split: Tensor, seed: int, epochs: int
) -> dict[str, Any]:
    """F1 in percent over the test incidences."""
    found, chosen = predict(model, h, y, split, seed, epochs)
    test = (split == 2).numpy()
    truth = y.numpy()[test]
    scores = {f"{kind}-f1": 100 * f1_score(truth, found[test], average=kind) for kind in ("micro", "macro")}
    return scores | {"chosen": chosen, "origin": origin()}


def kept(path: Path, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is in the file, or else what is computed and written to it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            json.dump(compute(), file)
    return json.loads(path.read_text())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["outsider-cora", "stack-biology"])
    parser.add_argument("--models", nargs="+", choices=[*NETS, OURS], default=[*NETS, OURS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/incidences"), help="folder of finished cells")
    parser.add_argument("--results", default="results", help="folder of the table")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    words = ["--datasets", *given.datasets, "--models", *given.models]
    words += ["--seeds", str(given.seeds), "--epochs", str(given.epochs)]
    command = shlex.join(["python", "paper/experiments/incidences.py", *words])
    for name in given.datasets:
        h, y, splits = load(name, given.data_dir)
        for model in given.models:
            for shown, split in splits.items():
                cells = [
                    kept(
                        given.out / name / shown / f"{model}-{seed}-{given.epochs}.json",
                        partial(measure, model, h, y, split, seed, given.epochs),
                    )
                    for seed in range(given.seeds)
                ]
                write(f"{name}, {shown}", model, cells, command, given.results)


def write(setting: str, model: str, cells: list[dict[str, Any]], command: str, results: str) -> None:
    """One row for each metric."""
    settings = {"chosen": [cell["chosen"] for cell in cells]}
    seeds, runs = range(len(cells)), [cell["origin"] for cell in cells]
    about = provenance(command, seeds=seeds, settings=settings, runs=runs)
    rows = []
    for metric in ("micro-f1", "macro-f1"):
        found = [cell[metric] for cell in cells]
        rows.append({
            "setting": setting, "model": model, "selection": "validation", "metric": metric,
            "mean": statistics.mean(found), "std": statistics.pstdev(found), "runs": len(found),
            "paper": None, **about,
        })  # fmt: skip
        print(f"{setting:24} {model:20} {metric} {rows[-1]['mean']:.1f} ± {rows[-1]['std']:.1f}", flush=True)
    write_rows("incidences", rows, results)


if __name__ == "__main__":
    main()
