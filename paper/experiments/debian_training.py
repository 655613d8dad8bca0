"""The type of a file from its package, directory and stem: EHNN-MLP on 19.7 million incidences.

Inputs are the labels of training files, of which a random part is hidden in every step; the loss is that of
the hidden ones. Validation and test files never show theirs. The epoch is chosen on validation files::

    python paper/experiments/debian_training.py --data DATA/scale --device cuda --width 64 --steps 300
    python paper/experiments/debian_training.py --data DATA/scale --packages 0.03  # a slice, on a CPU
    python paper/experiments/debian_training.py --data DATA/scale --sampled 1024 --steps 1000  # on CPU cores
    python paper/experiments/debian_training.py --data DATA/scale --votes          # without learning
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
import torch.nn.functional as F
from debian_files import KINDS, incidences, parts_of
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP
from ehnn.ops import bounded_memory
from ehnn.parallel.sampling import sample
from ehnn.sharding.steps import peak_memory
from ehnn_paper.results import provenance, write_rows

CLASSES = 42


def main(arguments: list[str] | None = None) -> None:
    """The command; prints a line per evaluation, and writes rows of ``results/scale-real.json``."""
    given = options().parse_args(arguments)
    h, part = load(given.data, given.packages)
    print(h, flush=True)
    if given.votes:
        found = votes(h, part)
        for name, values in found.items():
            print(name, values, flush=True)
        write(given, {name: scores["test"] for name, scores in found.items()}, "none")
        return
    if given.sampled:
        result = train_sampled(h, part, given)
        print(json.dumps(result), flush=True)
        name = f"EHNN-MLP, width {given.width}, samples of {given.sampled}, {given.scored} test files"
        write(given, {name: result["test"]}, "validation", result)
        return
    result = train(h.to(given.device), part.to(given.device), given)
    print(json.dumps(result), flush=True)
    write(given, {f"EHNN-MLP, width {given.width}": result["test"]}, "validation", result)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--packages", type=float, default=1.0, help="share of the packages")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=180, help="no step begins later")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument(
        "--warm-up", type=float, default=0.1, help="part of the steps in which the rate rises"
    )
    parser.add_argument("--hidden", type=float, default=0.2, help="part of the training labels to predict")
    parser.add_argument("--evaluate-every", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2**21, help="rows of bounded_memory")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sampled", type=int, default=0, help="seeds of a mini-batch; 0: full batches")
    parser.add_argument(
        "--scored", type=int, default=100_000, help="validation and test files, with --sampled"
    )
    parser.add_argument("--votes", action="store_true")
    parser.add_argument("--out", default=None, help="folder of the rows")
    return parser


def load(data: Path, share: float) -> tuple[Hypergraph, Tensor]:
    """The hypergraph, with the kind of a hyperedge as ``edge_x`` and the type as ``y``; and the parts."""
    d = np.load(data / "debian-files.npz")
    node, edge, kind = incidences(d)
    y, part = d["y"].astype(np.int64), parts_of(len(d["y"]))
    if share < 1:
        keep = (np.random.default_rng(1).random(int(d["num_packages"])) < share)[d["package"]]
        number = np.cumsum(keep) - 1
        here = keep[node]
        node, edge, kind = number[node[here]], edge[here], kind[here]
        y, part = y[keep], part[keep]
    sizes = [int(d[name]) for name in ("num_packages", "num_directories", "num_stems")]
    edge = edge.astype(np.int64) + np.concatenate([[0], np.cumsum(sizes)])[kind]
    used, edge = np.unique(edge, return_inverse=True)
    kinds = np.searchsorted(np.cumsum(sizes), used, side="right")
    pairs = torch.from_numpy(np.stack([node.astype(np.int64), edge]))
    kind_x = F.one_hot(torch.from_numpy(kinds), len(KINDS)).float()
    h = Hypergraph.from_incidence(pairs, len(y), len(used), y=torch.from_numpy(y), edge_x=kind_x)
    return h, torch.from_numpy(part.astype(np.int64))


class Model(nn.Module):
    """nodes → hyperedges → nodes, several times, with the kind of each hyperedge and residuals."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.embed = nn.Linear(CLASSES + 1, width)
        self.kind = nn.ModuleList(nn.Linear(len(KINDS), width) for _ in range(rounds))
        self.up = nn.ModuleList(EHNNMLP(width, width) for _ in range(rounds))
        self.down = nn.ModuleList(EHNNMLP(width, width) for _ in range(rounds))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * rounds + 1))
        self.classify = nn.Linear(width, CLASSES)

    def forward(self, h: Hypergraph, shown: Tensor) -> Tensor:
        """``shown [n]``: the label that a node shows, or `CLASSES`. Returns ``[n, CLASSES]``."""
        x = self.embed(F.one_hot(shown, CLASSES + 1).float())
        e = 0
        for i, (up, down, kind) in enumerate(zip(self.up, self.down, self.kind, strict=True)):
            e = e + up(self.norms[2 * i](x), h.overlap("nodes", "edges")) + kind(h.edge_x)
            x = x + down(self.norms[2 * i + 1](e), h.overlap("edges", "nodes"))
        return self.classify(self.norms[-1](x))


def train(h: Hypergraph, part: Tensor, given: Any) -> dict[str, Any]:
    """Full batches; the parameters of the evaluation with the best validation accuracy are scored on test."""
    torch.manual_seed(given.seed)
    device = h.device
    model = Model(given.width, given.rounds).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=given.lr * rate(0.0, given.warm_up))
    generator = torch.Generator(device).manual_seed(given.seed)
    training, y = part == 0, h.y
    assert y is not None
    every = torch.where(training, y, CLASSES)
    best: dict[str, Any] = {"valid": 0.0}
    start = time.perf_counter()
    for step in range(1, given.steps + 1):
        hide = training & (torch.rand(h.num_nodes, generator=generator, device=device) < given.hidden)
        with bounded_memory(given.rows):
            logits = model(h, torch.where(hide, CLASSES, every))
            loss = F.cross_entropy(logits[hide], y[hide])
            descend(model, optimizer, loss)
        now = time.perf_counter() - start
        schedule(given, optimizer, step, now)
        last = step == given.steps or now > given.seconds
        if step % given.evaluate_every == 0 or last:
            with torch.no_grad(), bounded_memory(given.rows):
                right = (model(h, every).argmax(1) == y).double()
            scores = {name: 100 * float(right[part == i].mean()) for i, name in ((1, "valid"), (2, "test"))}
            if scores["valid"] > best["valid"]:
                best = scores | {"step": step}
            shown = f"step {step}: loss {loss.item():.4f}, valid {scores['valid']:.2f}"
            print(f"{shown}, {time.perf_counter() - start:.1f} s", flush=True)
        if last:
            break
    best |= {"steps": step, "seconds": round(time.perf_counter() - start, 1)}
    if device.type == "cuda":
        best["memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    return best


FAN_OUT = (4, 32)
"""Hyperedges of a node, and nodes of a hyperedge, that are drawn for each round of the model."""
WATCHED = 20_000
"""Validation files on which the step is chosen."""


def train_sampled(h: Hypergraph, part: Tensor, given: Any) -> dict[str, Any]:
    """Mini-batches around training files, which alone hide their labels. Approximate: see `sample`.

    Parameters are chosen on `WATCHED` random validation files, and scored on ``given.scored`` validation and
    test files.
    """
    torch.manual_seed(given.seed)
    model = Model(given.width, given.rounds)
    optimizer = torch.optim.Adam(model.parameters(), lr=given.lr * rate(0.0, given.warm_up))
    generator = torch.Generator().manual_seed(given.seed)
    assert h.y is not None
    every = torch.where(part == 0, h.y, CLASSES)
    training = (part == 0).nonzero().squeeze(1)
    fan_out = [FAN_OUT] * given.rounds

    def logits_of(seeds: Tensor, generator: torch.Generator) -> Tensor:
        s = sample(h, seeds, fan_out, generator)
        shown = every[s.node_ids]
        shown[: s.num_seeds] = CLASSES
        return model(s, shown)[: s.num_seeds]

    def accuracy(which: int, count: int) -> float:
        draws = torch.Generator().manual_seed(1)  # the same files and samples every time
        some = (part == which).nonzero().squeeze(1)
        some = some[torch.randperm(len(some), generator=draws)[:count]]
        with torch.no_grad():
            right = [(logits_of(s, draws).argmax(1) == h.y[s]).double() for s in some.split(given.sampled)]
        return 100 * float(torch.cat(right).mean())

    best, kept, start = {"valid": 0.0, "step": 0}, {}, time.perf_counter()
    for step in range(1, given.steps + 1):
        seeds = training[torch.randint(len(training), (given.sampled,), generator=generator)].unique()
        loss = F.cross_entropy(logits_of(seeds, generator), h.y[seeds])
        descend(model, optimizer, loss)
        now = time.perf_counter() - start
        schedule(given, optimizer, step, now)
        last = step == given.steps or now > given.seconds
        if step % given.evaluate_every == 0 or last:
            valid = accuracy(1, WATCHED)
            print(f"step {step}: loss {loss.item():.4f}, valid {valid:.2f}, {now:.1f} s", flush=True)
            if valid > best["valid"]:
                best = {"valid": valid, "step": step}
                kept = {name: value.clone() for name, value in model.state_dict().items()}
        if last:
            break
    best |= {"steps": step, "seconds": round(time.perf_counter() - start, 1)}
    model.load_state_dict(kept)
    best |= {"valid": accuracy(1, given.scored), "test": accuracy(2, given.scored), "scored": given.scored}
    return best | {"memory_gb": round(peak_memory() / 1e9, 2)}


def descend(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step along the clipped gradient."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def schedule(given: argparse.Namespace, optimizer: torch.optim.Optimizer, step: int, now: float) -> None:
    """The learning rate after ``step`` steps and ``now`` seconds, whichever is nearer to its end."""
    progress = max(step / given.steps, now / given.seconds)
    optimizer.param_groups[0]["lr"] = given.lr * rate(progress, given.warm_up)


def rate(progress: float, warm_up: float) -> float:
    """The learning rate at a part of the steps, or of the time if that is further: up, then a cosine to 0."""
    if progress < warm_up:
        return 0.05 + 0.95 * progress / warm_up
    return 0.5 + 0.5 * math.cos(math.pi * min((progress - warm_up) / (1 - warm_up), 1.0))


def votes(h: Hypergraph, part: Tensor) -> dict[str, dict[str, float]]:
    """Predictions from the counts of training labels in the hyperedges of a node, without learning.

    For each kind the commonest label, and for all together the sum of the logarithms of smoothed shares.
    """
    assert h.y is not None
    assert h.edge_x is not None
    kind, edge, node = h.edge_x.argmax(1), h.incidence.rows, h.incidence.index
    label = torch.where(part == 0, h.y, -1)[node]
    known = label >= 0
    counts = torch.zeros(h.num_edges, CLASSES)
    flat = edge[known] * CLASSES + label[known]
    counts.view(-1).index_add_(0, flat, torch.ones(len(flat)))
    prior = counts.sum(0) / counts.sum()
    shares = (counts + prior) / (counts.sum(1, keepdim=True) + 1)
    tables = {f"vote of the {name}": shares * (kind == i).unsqueeze(1) for i, name in enumerate(KINDS)}
    tables["sum of log shares"] = shares.log()
    found = {}
    for name, table in tables.items():
        scores = prior.expand(h.num_nodes, -1) * 1e-6
        scores = scores.index_add(0, node, table[edge])
        right = (scores.argmax(1) == h.y).double()
        found[name] = {p: 100 * float(right[part == i].mean()) for i, p in ((1, "valid"), (2, "test"))}
    return found


def write(given: Any, means: dict[str, float], selection: str, result: dict[str, Any] | None = None) -> None:
    """Rows with the test accuracy; what was measured beside it is in ``settings``."""
    if given.out is None:
        return
    command = shlex.join(["python", "paper/experiments/debian_training.py", *sys.argv[1:]])
    setting = "debian-files" if given.packages == 1 else f"debian-files, {given.packages} of the packages"
    seeds = [given.seed] if selection == "validation" else None
    about = provenance(command, seeds=seeds, settings=result)
    row = {
        "setting": setting,
        "selection": selection,
        "metric": "accuracy",
        "std": None,
        "runs": 1,
        "paper": None,
    }
    write_rows("scale-real", [row | about | {"model": k, "mean": v} for k, v in means.items()], given.out)


if __name__ == "__main__":
    main()
